//! Latency over percentiles.

use super::scale::{Scale, log_ticks, range};
use super::{Marker, Plot, Width, dot, legend, polyline, svg, text_width, title, x_labels, y_grid};
use crate::document::StudyDocument;
use crate::markup::Markup;
use crate::units;

/// The percentiles that are worth a label.
const LABELLED: [f64; 7] = [50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999];

/// Draws both curves: percentiles spaced by their number of nines, as in plots of HdrHistogram, against latency on a log scale.
pub(crate) fn latency(m: &mut Markup, study: &StudyDocument, width: Width) {
    let usable = |curve: &[(f64, u64)]| -> Vec<(f64, u64)> {
        curve.iter().copied().filter(|&(p, us)| (0.0..100.0).contains(&p) && us > 0).collect()
    };
    let curves = [
        ("base", "baseline", usable(&study.latency.baseline)),
        ("best", "best", usable(&study.latency.best)),
    ];
    let points = || curves.iter().flat_map(|c| c.2.iter());
    let Some((low, high)) = range(points().map(|&(_, us)| us as f64)) else { return };
    let Some((first, last)) = range(points().map(|&(p, _)| nines(p))) else { return };
    let range = (low * 0.85, high * 1.2);
    let height = 300.0;
    svg(m, width, height, "Latency over percentiles", |m| {
        let entries: Vec<(Marker, &str)> = curves
            .iter()
            .filter(|c| !c.2.is_empty())
            .map(|c| (Marker::Line(if c.0 == "base" { "line base" } else { "line best" }), c.1))
            .collect();
        let used = legend(m, width.px(), 2.0, &entries);
        let ticks = log_ticks(range);
        let margin = ticks.iter().map(|&t| text_width(&units::round_micros(t))).fold(0.0, f64::max) + 10.0;
        let plot = Plot { left: margin, right: width.px() - 14.0, top: used + 6.0, bottom: height - 44.0 };
        let y = Scale::log(range, plot.bottom, plot.top);
        let x = Scale::linear((first, last), plot.left + 4.0, plot.right - 4.0);
        y_grid(m, plot, &y, &ticks, units::round_micros);
        let labels: Vec<(f64, String)> = LABELLED
            .iter()
            .filter(|&&p| (first..=last + 1e-9).contains(&nines(p)))
            .map(|&p| (x.at(nines(p)), format!("{p}")))
            .collect();
        x_labels(m, plot, &labels, "percentile of transactions");
        for (class, name, curve) in &curves {
            let path: Vec<(f64, f64)> =
                curve.iter().map(|&(p, us)| (x.at(nines(p)), y.at(us as f64))).collect();
            if path.is_empty() {
                continue;
            }
            let (line, mark) =
                if *class == "base" { ("line base", "dot base") } else { ("line best", "dot best") };
            polyline(m, line, &path);
            for (&(p, us), &(px, py)) in curve.iter().zip(&path) {
                if LABELLED.iter().any(|l| (l - p).abs() < 1e-6) {
                    dot(
                        m,
                        mark,
                        px,
                        py,
                        4.0,
                        title(format!("{name}, percentile {p}: {}", units::micros(us as f64))),
                    );
                }
            }
        }
    });
}

/// 90 is 1, 99 is 2, 99.9 is 3.
fn nines(percentile: f64) -> f64 {
    -(1.0 - percentile / 100.0).log10()
}
