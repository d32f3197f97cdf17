//! The proof: each pair of runs, and the interval of the gain.

use super::scale::{Scale, domain, range, ticks};
use super::{Marker, Plot, Width, axis_value, dot, legend, svg, text_width, title, x_labels};
use crate::document::{Better, Gain, Pair, StudyDocument};
use crate::markup::{Markup, Px};
use crate::{summary, units};

const ROW: f64 = 28.0;

/// Draws a row for each pair, from the baseline to the candidate, and under them the gain of each pair with the interval of the mean.
pub(crate) fn proof(m: &mut Markup, study: &StudyDocument, width: Width) {
    let Some(gain) = &study.gain else { return };
    let Some(values) = domain(gain.pairs.iter().flat_map(|p| [p.baseline, p.candidate])) else { return };
    let ratios: Vec<f64> =
        gain.pairs.iter().map(|p| ratio(p, study.objective.better)).filter(|r| r.is_finite()).collect();
    let rows = gain.pairs.len() as f64 * ROW;
    let height = 28.0 + rows + 46.0 + 96.0;
    svg(m, width, height, "Pairs of the proof and the interval of the gain", |m| {
        let used = legend(
            m,
            width.px(),
            2.0,
            &[(Marker::Dot("dot base"), "baseline"), (Marker::Dot("dot best"), "candidate")],
        );
        let pair_label =
            |i: usize| if width == Width::Phone { format!("{}", i + 1) } else { format!("pair {}", i + 1) };
        let left = text_width(&pair_label(9)) + 14.0;
        let plot = Plot { left, right: width.px() - 66.0, top: used + 2.0, bottom: used + 2.0 + rows };
        let x = Scale::linear(values, plot.left + 6.0, plot.right - 8.0);
        for tick in ticks(values, 4) {
            let at = x.at(tick);
            m.leaf(
                "line",
                &[
                    ("class", &"grid"),
                    ("x1", &Px(at)),
                    ("x2", &Px(at)),
                    ("y1", &Px(plot.top)),
                    ("y2", &Px(plot.bottom)),
                ],
            );
        }
        for (i, pair) in gain.pairs.iter().enumerate() {
            let y = plot.top + (i as f64 + 0.5) * ROW;
            let (a, b) = (x.at(pair.baseline), x.at(pair.candidate));
            m.line(
                "text",
                &[("class", &"tick end"), ("x", &Px(left - 8.0)), ("y", &Px(y + 4.0))],
                pair_label(i),
            );
            m.leaf(
                "line",
                &[("class", &"link"), ("x1", &Px(a)), ("x2", &Px(b)), ("y1", &Px(y)), ("y2", &Px(y))],
            );
            dot(
                m,
                "dot base",
                a,
                y,
                5.0,
                title(format!("baseline: {}", units::objective(pair.baseline, &study.objective))),
            );
            dot(
                m,
                "dot best",
                b,
                y,
                5.0,
                title(format!("candidate: {}", units::objective(pair.candidate, &study.objective))),
            );
            let text = units::gain(ratio(pair, study.objective.better), study.objective.better);
            m.line(
                "text",
                &[("class", &"value end"), ("x", &Px(width.px() - 2.0)), ("y", &Px(y + 4.0))],
                text,
            );
        }
        let labels: Vec<(f64, String)> =
            ticks(values, 4).into_iter().map(|t| (x.at(t), axis_value(t, &study.objective))).collect();
        x_labels(m, plot, &labels, "");
        interval(
            m,
            study,
            gain,
            &ratios,
            Plot { top: plot.bottom + 36.0, bottom: plot.bottom + 88.0, ..plot },
        );
    });
}

/// The lower panel: the gain of each pair, their mean with its interval, and where no gain would be.
fn interval(m: &mut Markup, study: &StudyDocument, gain: &Gain, ratios: &[f64], plot: Plot) {
    let better = study.objective.better;
    // The axis shows the change of the objective itself, which for a latency is the other way round.
    let change = |ratio: f64| match better {
        Better::Higher => ratio,
        Better::Lower => 1.0 / ratio,
    };
    let (a, b) = (change(gain.low).min(change(gain.high)), change(gain.low).max(change(gain.high)));
    let Some((low, high)) = range(ratios.iter().map(|&r| change(r)).chain([1.0, a, b])) else { return };
    if ![a, b, change(gain.ratio)].iter().all(|v| v.is_finite()) {
        return;
    }
    let pad = (high - low).max(0.01) * 0.06;
    let (low, high) = (low - pad, high + pad);
    let x = Scale::linear((low, high), plot.left + 6.0, plot.right - 8.0);
    let middle = plot.top + 22.0;
    let labels: Vec<(f64, String)> = ticks((low, high), 4).into_iter().map(|t| (x.at(t), short(t))).collect();
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
    m.leaf(
        "line",
        &[
            ("class", &"zero"),
            ("x1", &Px(x.at(1.0))),
            ("x2", &Px(x.at(1.0))),
            ("y1", &Px(plot.top)),
            ("y2", &Px(plot.bottom)),
        ],
    );
    for ratio in ratios {
        let at = x.at(change(*ratio));
        m.leaf(
            "line",
            &[
                ("class", &"rug"),
                ("x1", &Px(at)),
                ("x2", &Px(at)),
                ("y1", &Px(plot.bottom - 9.0)),
                ("y2", &Px(plot.bottom - 1.0)),
            ],
        );
    }
    let (a, b) = (x.at(a), x.at(b));
    m.leaf(
        "rect",
        &[
            ("class", &"interval"),
            ("x", &Px(a)),
            ("width", &Px((b - a).max(2.0))),
            ("y", &Px(middle - 6.0)),
            ("height", &12),
            ("rx", &3),
        ],
    );
    let (from, to) = summary::interval(gain, better);
    let text = format!(
        "{} ({} interval {from} to {to})",
        units::gain(gain.ratio, better),
        summary::confidence(gain.confidence)
    );
    dot(m, "dot best", x.at(change(gain.ratio)), middle, 4.0, title(text));
    let mean = units::gain(gain.ratio, better);
    m.line("text", &[("class", &"value end"), ("x", &Px(plot.right + 64.0)), ("y", &Px(middle + 4.0))], mean);
    let name = format!("difference, with its {} interval", summary::confidence(gain.confidence));
    x_labels(m, plot, &labels, &name);
}

/// Above 1 is better.
fn ratio(pair: &Pair, better: Better) -> f64 {
    match better {
        Better::Higher => pair.candidate / pair.baseline,
        Better::Lower => pair.baseline / pair.candidate,
    }
}

/// A round change on the axis.
fn short(change: f64) -> String {
    units::signed_percent(change).replace(".0 %", " %").replace("+0 %", "0")
}
