//! Bars with the intervals of their values.

use super::scale::{Scale, ticks};
use super::{Plot, Width, svg, text_width, title, x_labels};
use crate::experiment::Bar;
use crate::markup::{Markup, Px};
use crate::units;

const ROW: f64 = 34.0;

/// Draws a row for each bar; on a phone the label stands above its bar.
pub(crate) fn bars(m: &mut Markup, unit: &str, bars: &[Bar], width: Width) {
    let highest =
        bars.iter().filter_map(|b| Some(b.interval.map_or(b.value?, |i| i.1.max(b.value.unwrap_or(0.0)))));
    let high = highest.fold(0.0, f64::max);
    let range = (0.0, if high > 0.0 { high * 1.02 } else { 1.0 });
    let above = width == Width::Phone;
    let row = if above { ROW + 16.0 } else { ROW };
    let labels = bars.iter().map(|b| text_width(&b.label)).fold(0.0, f64::max) + 14.0;
    let left = if above { 2.0 } else { labels.min(width.px() * 0.45) };
    let bottom = bars.len() as f64 * row + 6.0;
    svg(m, width, bottom + 44.0, &format!("{unit} of each"), |m| {
        let plot = Plot { left, right: width.px() - 64.0, top: 4.0, bottom };
        let x = Scale::linear(range, plot.left, plot.right);
        let shown = ticks(range, if above { 3 } else { 5 });
        for tick in &shown {
            let at = Px(x.at(*tick));
            m.leaf(
                "line",
                &[("class", &"grid"), ("x1", &at), ("x2", &at), ("y1", &Px(plot.top)), ("y2", &Px(bottom))],
            );
        }
        for (n, bar) in bars.iter().enumerate() {
            let y = n as f64 * row + 6.0 + if above { 16.0 } else { 0.0 };
            let middle = y + 11.0;
            if above {
                m.line("text", &[("class", &"tick"), ("x", &Px(left)), ("y", &Px(y - 4.0))], &bar.label);
            } else {
                let place = [
                    ("class", &"tick end" as &dyn std::fmt::Display),
                    ("x", &Px(left - 8.0)),
                    ("y", &Px(middle + 4.0)),
                ];
                m.line("text", &place, &bar.label);
            }
            let Some(value) = bar.value else {
                m.line(
                    "text",
                    &[("class", &"bad"), ("x", &Px(left + 6.0)), ("y", &Px(middle + 4.0))],
                    "failed",
                );
                continue;
            };
            let text = match bar.interval {
                Some((low, high)) => format!(
                    "{}: {} {unit} ({} to {})",
                    bar.label,
                    units::rate(value),
                    units::rate(low),
                    units::rate(high)
                ),
                None => format!("{}: {} {unit}", bar.label, units::rate(value)),
            };
            let size = [
                ("class", &"bar" as &dyn std::fmt::Display),
                ("x", &Px(left)),
                ("y", &Px(y)),
                ("width", &Px((x.at(value) - left).max(0.0))),
                ("height", &22),
            ];
            m.el("rect", &size, title(text));
            let mut end = x.at(value);
            if let Some((low, high)) = bar.interval {
                let (from, to) = (x.at(low.max(0.0)), x.at(high.max(0.0)));
                let d = format!(
                    "M{} {}H{}M{} {}v8M{} {}v8",
                    Px(from),
                    Px(middle),
                    Px(to),
                    Px(from),
                    Px(middle - 4.0),
                    Px(to),
                    Px(middle - 4.0)
                );
                m.leaf("path", &[("class", &"whisker"), ("d", &d)]);
                end = end.max(to);
            }
            m.line(
                "text",
                &[("class", &"value"), ("x", &Px(end + 8.0)), ("y", &Px(middle + 4.0))],
                units::rate(value),
            );
        }
        let labels: Vec<(f64, String)> = shown.iter().map(|t| (x.at(*t), units::rate(*t))).collect();
        x_labels(m, plot, &labels, unit);
    });
}
