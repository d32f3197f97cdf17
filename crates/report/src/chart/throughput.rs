//! Throughput over time.

use super::scale::{Scale, range, ticks};
use super::{Marker, Plot, Width, legend, polyline, svg, text_width, x_labels, y_grid};
use crate::document::StudyDocument;
use crate::markup::{Markup, Px};
use crate::units;

/// Draws the transactions of each second of one run of each configuration; the warm-up is shaded.
pub(crate) fn throughput(m: &mut Markup, study: &StudyDocument, width: Width) {
    let series = &study.series;
    let Some((_, high)) = range(series.baseline.iter().chain(&series.best).copied()) else { return };
    let range = (0.0, high.max(1.0) * 1.08);
    let seconds = series.baseline.len().max(series.best.len());
    let height = 300.0;
    svg(m, width, height, "Transactions in each second", |m| {
        let mut entries = vec![(Marker::Line("line base"), "baseline"), (Marker::Line("line best"), "best")];
        if series.warmup > 0 {
            entries.push((Marker::Band("shade"), "warm-up, not counted"));
        }
        let used = legend(m, width.px(), 2.0, &entries);
        let ticks_y = ticks(range, 5);
        let margin = ticks_y.iter().map(|&t| text_width(&units::rate(t))).fold(0.0, f64::max) + 12.0;
        let plot = Plot { left: margin, right: width.px() - 14.0, top: used + 6.0, bottom: height - 44.0 };
        let y = Scale::linear(range, plot.bottom, plot.top);
        let x = Scale::linear((0.0, seconds as f64), plot.left, plot.right);
        if series.warmup > 0 {
            let end = x.at(series.warmup.min(seconds) as f64);
            m.leaf(
                "rect",
                &[
                    ("class", &"shade"),
                    ("x", &Px(plot.left)),
                    ("width", &Px(end - plot.left)),
                    ("y", &Px(plot.top)),
                    ("height", &Px(plot.bottom - plot.top)),
                ],
            );
        }
        y_grid(m, plot, &y, &ticks_y, units::rate);
        let labels: Vec<(f64, String)> =
            ticks((0.0, seconds as f64), 6).into_iter().map(|t| (x.at(t), format!("{t} s"))).collect();
        x_labels(m, plot, &labels, "time since the start of the run");
        for (class, values) in [("line base", &series.baseline), ("line best", &series.best)] {
            // The count of a second belongs to its middle.
            let path: Vec<(f64, f64)> = values
                .iter()
                .enumerate()
                .filter(|(_, v)| v.is_finite())
                .map(|(s, &v)| (x.at(s as f64 + 0.5), y.at(v)))
                .collect();
            polyline(m, class, &path);
        }
    });
}
