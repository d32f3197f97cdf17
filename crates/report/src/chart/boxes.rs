//! Repeated runs as boxes.

use super::scale::{Scale, domain, ticks};
use super::{Plot, Width, svg, text_width, title, x_labels};
use crate::markup::{Markup, Px};
use crate::units;

const ROW: f64 = 34.0;

/// Draws a box from the first to the third quartile with the median, lines to the least and the greatest value, and each value as a dot.
pub(crate) fn boxes(m: &mut Markup, unit: &str, boxes: &[(String, Vec<f64>)], width: Width) {
    let Some(range) = domain(boxes.iter().flat_map(|(_, values)| values.iter().copied())) else { return };
    let above = width == Width::Phone;
    let row = if above { ROW + 16.0 } else { ROW };
    let labels = boxes.iter().map(|(label, _)| text_width(label)).fold(0.0, f64::max) + 14.0;
    let left = if above { 2.0 } else { labels.min(width.px() * 0.45) };
    let bottom = boxes.len() as f64 * row + 6.0;
    svg(m, width, bottom + 44.0, &format!("{unit} of repeated runs"), |m| {
        let plot = Plot { left, right: width.px() - 14.0, top: 4.0, bottom };
        let x = Scale::linear(range, plot.left + 6.0, plot.right - 6.0);
        let shown = ticks(range, if above { 3 } else { 6 });
        for tick in &shown {
            let at = Px(x.at(*tick));
            m.leaf(
                "line",
                &[("class", &"grid"), ("x1", &at), ("x2", &at), ("y1", &Px(plot.top)), ("y2", &Px(bottom))],
            );
        }
        for (n, (label, values)) in boxes.iter().enumerate() {
            let y = n as f64 * row + 6.0 + if above { 16.0 } else { 0.0 };
            let middle = y + 11.0;
            let (class, at) =
                if above { ("tick", (left, y - 4.0)) } else { ("tick end", (left - 8.0, middle + 4.0)) };
            m.line("text", &[("class", &class), ("x", &Px(at.0)), ("y", &Px(at.1))], label);
            let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
            sorted.sort_by(f64::total_cmp);
            let Some(five) = five_numbers(&sorted) else {
                m.line(
                    "text",
                    &[("class", &"bad"), ("x", &Px(left + 6.0)), ("y", &Px(middle + 4.0))],
                    "failed",
                );
                continue;
            };
            let [least, first, median, third, most] = five.map(|v| x.at(v));
            let d = format!(
                "M{} {y1}H{}M{} {y1}H{}M{} {y0}v8M{} {y0}v8",
                Px(least),
                Px(first),
                Px(third),
                Px(most),
                Px(least),
                Px(most),
                y1 = Px(middle),
                y0 = Px(middle - 4.0)
            );
            m.leaf("path", &[("class", &"whisker"), ("d", &d)]);
            let [a, _, b, _, c] = five.map(units::rate);
            let text = format!("{label}: median {b} {unit}, from {a} to {c}, {} runs", sorted.len());
            let place = [
                ("class", &"box" as &dyn std::fmt::Display),
                ("x", &Px(first)),
                ("y", &Px(y)),
                ("width", &Px((third - first).max(1.0))),
                ("height", &22),
            ];
            m.el("rect", &place, title(text));
            let line = [
                ("class", &"median" as &dyn std::fmt::Display),
                ("x1", &Px(median)),
                ("x2", &Px(median)),
                ("y1", &Px(y)),
                ("y2", &Px(y + 22.0)),
            ];
            m.leaf("line", &line);
            for value in &sorted {
                super::dot(m, "dot base", x.at(*value), middle, 2.5, |_| {});
            }
        }
        let labels: Vec<(f64, String)> = shown.iter().map(|t| (x.at(*t), units::rate(*t))).collect();
        x_labels(m, plot, &labels, unit);
    });
}

/// Least, first quartile, median, third quartile, greatest; quartiles by linear interpolation. `None` without values.
fn five_numbers(sorted: &[f64]) -> Option<[f64; 5]> {
    let last = sorted.len().checked_sub(1)?;
    let at = |share: f64| {
        let place = share * last as f64;
        let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        low + (high - low) * place.fract()
    };
    Some([0.0, 0.25, 0.5, 0.75, 1.0].map(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_five_numbers_of_a_known_sample() {
        assert_eq!(five_numbers(&[1.0, 2.0, 3.0, 4.0, 5.0]), Some([1.0, 2.0, 3.0, 4.0, 5.0]));
        assert_eq!(five_numbers(&[1.0, 2.0]), Some([1.0, 1.25, 1.5, 1.75, 2.0]));
        assert_eq!(five_numbers(&[7.0]), Some([7.0; 5]));
        assert_eq!(five_numbers(&[]), None);
    }
}
