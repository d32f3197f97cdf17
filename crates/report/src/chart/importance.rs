//! How much each knob matters.

use super::scale::{Scale, range, ticks};
use super::{Plot, Width, svg, title, x_labels};
use crate::document::{Importance, StudyDocument};
use crate::markup::{Markup, Px};
use crate::units;

/// Knobs in the chart; the rest would be bars too short to see.
const SHOWN: usize = 8;
const ROW: f64 = 38.0;

/// Draws a bar for each knob, the longest first, with one standard deviation to both sides.
pub(crate) fn importance(m: &mut Markup, study: &StudyDocument, width: Width) {
    let mut knobs: Vec<&Importance> = study.importance.iter().filter(|k| k.share.is_finite()).collect();
    knobs.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.knob.cmp(&b.knob)));
    knobs.truncate(SHOWN);
    let Some((_, high)) = range(knobs.iter().map(|k| (k.share + finite(k.sd)).min(1.0))) else { return };
    let height = 4.0 + knobs.len() as f64 * ROW + 44.0;
    svg(m, width, height, "How much each knob matters", |m| {
        let plot = Plot { left: 2.0, right: width.px() - 14.0, top: 4.0, bottom: height - 40.0 };
        let x = Scale::linear((0.0, high.max(0.01)), plot.left, plot.right - 44.0);
        let labels: Vec<(f64, String)> = ticks((0.0, high.max(0.01)), 5)
            .into_iter()
            .skip(1)
            .map(|t| (x.at(t), format!("{:.0} %", t * 100.0)))
            .collect();
        for (at, _) in &labels {
            m.leaf(
                "line",
                &[
                    ("class", &"grid"),
                    ("x1", &Px(*at)),
                    ("x2", &Px(*at)),
                    ("y1", &Px(plot.top)),
                    ("y2", &Px(plot.bottom)),
                ],
            );
        }
        for (i, knob) in knobs.iter().enumerate() {
            let top = plot.top + i as f64 * ROW;
            let (end, sd) = (x.at(knob.share.max(0.0)), finite(knob.sd));
            m.line("text", &[("class", &"key"), ("x", &Px(plot.left)), ("y", &Px(top + 10.0))], &knob.knob);
            m.el(
                "rect",
                &[
                    ("class", &"bar"),
                    ("x", &Px(plot.left)),
                    ("width", &Px((end - plot.left).max(1.0))),
                    ("y", &Px(top + 16.0)),
                    ("height", &10),
                    ("rx", &2),
                ],
                title(format!(
                    "{}: {}, standard deviation {}",
                    knob.knob,
                    units::percent(knob.share),
                    units::percent(sd)
                )),
            );
            let (low, high) = (x.at((knob.share - sd).max(0.0)), x.at(knob.share + sd));
            let y = top + 21.0;
            let d = format!("M{0} {y}H{1}M{0} {2}v6M{1} {2}v6", Px(low), Px(high), y - 3.0);
            m.leaf("path", &[("class", &"whisker"), ("d", &d)]);
            let text = units::percent(knob.share);
            m.line("text", &[("class", &"value"), ("x", &Px(high + 7.0)), ("y", &Px(y + 4.0))], text);
        }
        x_labels(m, plot, &labels, "share of the differences that it explains");
    });
}

fn finite(sd: f64) -> f64 {
    if sd.is_finite() { sd.max(0.0) } else { 0.0 }
}
