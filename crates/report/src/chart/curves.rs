//! Throughput over threads, and over time.

use super::scale::{Scale, range, ticks};
use super::{Marker, Plot, Width, cross, dot, legend, polyline, svg, text_width, title, x_labels, y_grid};
use crate::experiment::Curve;
use crate::markup::{Markup, Px};
use crate::units;

const LINES: [&str; 6] = ["line s0", "line s1", "line s2", "line s3", "line s4", "line s5"];
const DOTS: [&str; 6] = ["dot s0", "dot s1", "dot s2", "dot s3", "dot s4", "dot s5"];

/// Draws each run as a dot, each failed run as a cross on the axis, the fitted law as a line, and its knee as a dashed line down.
pub(crate) fn curves(m: &mut Markup, across: &str, unit: &str, curves: &[Curve], width: Width) {
    let all = || curves.iter().flat_map(|c| c.points.iter().map(|p| p.0).chain(c.failed.iter().map(|f| f.0)));
    let Some(ends) = range(all().filter(|n| *n > 0.0)) else { return };
    let high = range(curves.iter().flat_map(|c| &c.points).map(|p| p.1)).map_or(1.0, |r| r.1.max(1e-9));
    let height = 340.0;
    svg(m, width, height, &format!("{unit} over {across}"), |m| {
        let mut entries: Vec<(Marker, &str)> =
            curves.iter().enumerate().map(|(n, c)| (Marker::Dot(DOTS[n % 6]), c.name.as_str())).collect();
        if curves.iter().any(|c| !c.failed.is_empty()) {
            entries.push((Marker::Cross, "failed"));
        }
        let used = legend(m, width.px(), 2.0, &entries);
        let range_y = (0.0, high * 1.08);
        let ticks_y = ticks(range_y, 5);
        let margin = ticks_y.iter().map(|&t| text_width(&units::rate(t))).fold(0.0, f64::max) + 12.0;
        let plot = Plot { left: margin, right: width.px() - 14.0, top: used + 6.0, bottom: height - 44.0 };
        let y = Scale::linear(range_y, plot.bottom, plot.top);
        let x = Scale::log((ends.0 / 1.2, ends.1 * 1.2), plot.left, plot.right);
        y_grid(m, plot, &y, &ticks_y, units::rate);
        let mut places: Vec<f64> = all().collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let labels: Vec<(f64, String)> = places.iter().map(|n| (x.at(*n), format!("{n}"))).collect();
        x_labels(m, plot, &labels, across);
        for (n, curve) in curves.iter().enumerate() {
            let line = if curve.fitted.is_empty() { means(&curve.points) } else { curve.fitted.clone() };
            let path: Vec<(f64, f64)> = line.iter().map(|p| (x.at(p.0), y.at(p.1))).collect();
            polyline(m, LINES[n % 6], &path);
            if let Some(knee) = curve.knee.filter(|k| (ends.0..=ends.1).contains(k)) {
                let at = Px(x.at(knee));
                let place = [
                    ("class", &"zero" as &dyn std::fmt::Display),
                    ("x1", &at),
                    ("x2", &at),
                    ("y1", &Px(plot.top)),
                    ("y2", &Px(plot.bottom)),
                ];
                m.el("line", &place, title(format!("{}: the knee is at {knee:.1}", curve.name)));
            }
            for (threads, value) in &curve.points {
                let text = format!("{}: {} {unit} with {threads}", curve.name, units::rate(*value));
                dot(m, DOTS[n % 6], x.at(*threads), y.at(*value), 4.0, title(text));
            }
            for (threads, why) in &curve.failed {
                cross(
                    m,
                    x.at(*threads),
                    plot.bottom - 8.0,
                    title(format!("{} with {threads}: {why}", curve.name)),
                );
            }
        }
    });
}

/// Draws a value for each second.
pub(crate) fn seconds(m: &mut Markup, unit: &str, series: &[(String, Vec<f64>)], width: Width) {
    let Some((_, high)) = range(series.iter().flat_map(|s| s.1.iter().copied())) else { return };
    let longest = series.iter().map(|s| s.1.len()).max().unwrap_or(0);
    let height = 300.0;
    svg(m, width, height, &format!("{unit} over time"), |m| {
        let entries: Vec<(Marker, &str)> =
            series.iter().enumerate().map(|(n, s)| (Marker::Line(LINES[n % 6]), s.0.as_str())).collect();
        let used = legend(m, width.px(), 2.0, &entries);
        let range_y = (0.0, high.max(1.0) * 1.08);
        let ticks_y = ticks(range_y, 5);
        let margin = ticks_y.iter().map(|&t| text_width(&units::rate(t))).fold(0.0, f64::max) + 12.0;
        let plot = Plot { left: margin, right: width.px() - 14.0, top: used + 6.0, bottom: height - 44.0 };
        let y = Scale::linear(range_y, plot.bottom, plot.top);
        let x = Scale::linear((0.0, longest as f64), plot.left, plot.right);
        y_grid(m, plot, &y, &ticks_y, units::rate);
        let labels: Vec<(f64, String)> =
            ticks((0.0, longest as f64), 6).into_iter().map(|t| (x.at(t), format!("{t} s"))).collect();
        x_labels(m, plot, &labels, "time since the window opened");
        for (n, (_, values)) in series.iter().enumerate() {
            // The count of a second belongs to its middle.
            let path: Vec<(f64, f64)> =
                values.iter().enumerate().map(|(s, &v)| (x.at(s as f64 + 0.5), y.at(v))).collect();
            polyline(m, LINES[n % 6], &path);
        }
    });
}

/// The mean of the values at each place, by place.
fn means(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let groups = sorted.chunk_by(|a, b| a.0 == b.0);
    groups.map(|g| (g[0].0, g.iter().map(|p| p.1).sum::<f64>() / g.len() as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_runs_are_joined_by_their_means() {
        assert_eq!(means(&[(8.0, 4.0), (2.0, 1.0), (8.0, 6.0)]), [(2.0, 1.0), (8.0, 5.0)]);
    }
}
