//! How the search went: each trial in its turn.

use super::scale::{Scale, domain, log_ticks, range, ticks};
use super::{
    Marker, Plot, Width, axis_value, cross, diamond, dot, legend, polyline, svg, text_width, title, x_labels,
    y_grid,
};
use crate::document::{StudyDocument, TrialRow};
use crate::markup::{Markup, Px};
use crate::{summary, units};

/// Draws every trial: a dot for each measured one, a cross for each failed one, the best so far as a stepped line, and the
/// interval of the baseline as a band.
pub(crate) fn convergence(m: &mut Markup, study: &StudyDocument, width: Width) {
    let values = study
        .trials
        .iter()
        .filter_map(|t| t.objective)
        .chain(study.baseline.iter().flat_map(|b| [b.low, b.high]));
    let Some((range, log)) = y_range(values) else { return };
    let any = |kind: Kind| study.trials.iter().any(|t| t.objective.is_some() && Kind::of(t) == kind);
    let failed = study.trials.iter().any(|t| t.state.is_failure());
    let suggested = study.trials.iter().any(|t| t.origin.starts_with("suggested"));
    let seed = if suggested { "seed or suggestion" } else { "expert seed" };
    let mut entries = Vec::new();
    for (kind, name) in [
        (Kind::Baseline, "baseline"),
        (Kind::Seed, seed),
        (Kind::Search, "search"),
        (Kind::Best, "best, repeated and proven"),
    ] {
        if any(kind) {
            let class = kind.class();
            entries
                .push((if kind == Kind::Seed { Marker::Diamond(class) } else { Marker::Dot(class) }, name));
        }
    }
    if failed {
        entries.push((Marker::Cross, "failed"));
    }
    let steps = incumbents(study);
    if !steps.is_empty() {
        entries.push((Marker::Line("line best"), "best so far"));
    }
    if study.baseline.is_some() {
        entries.push((Marker::Band("band"), "baseline, with interval"));
    }

    let height = if width == Width::Phone { 330.0 } else { 340.0 };
    svg(m, width, height, "Every trial in its turn", |m| {
        let label = |v: f64| axis_value(v, &study.objective);
        let ticks_y = if log { log_ticks(range) } else { ticks(range, 5) };
        let margin = ticks_y.iter().map(|&t| text_width(&label(t))).fold(0.0, f64::max) + 10.0;
        let used = legend(m, width.px(), 2.0, &entries);
        let plot = Plot { left: margin, right: width.px() - 10.0, top: used + 8.0, bottom: height - 44.0 };
        // Failed trials have no value; they get a lane of their own under the data.
        let floor = if failed { plot.bottom - 22.0 } else { plot.bottom };
        let y = if log { Scale::log(range, floor, plot.top) } else { Scale::linear(range, floor, plot.top) };
        let first = study.trials.first().map_or(1, |t| t.id) as f64;
        let last = study.trials.last().map_or(1, |t| t.id) as f64;
        let x = Scale::linear((first, last), plot.left + 12.0, plot.right - 8.0);

        if let Some(b) = &study.baseline {
            let (top, bottom) = (y.at(b.high), y.at(b.low));
            m.leaf(
                "rect",
                &[
                    ("class", &"band"),
                    ("x", &Px(plot.left)),
                    ("width", &Px(plot.right - plot.left)),
                    ("y", &Px(top)),
                    ("height", &Px((bottom - top).max(1.5))),
                ],
            );
        }
        y_grid(m, plot, &y, &ticks_y, label);
        let trial_ticks: Vec<(f64, String)> = ticks((first, last), 12)
            .into_iter()
            .filter(|t| t.fract() == 0.0)
            .map(|t| (x.at(t), t.to_string()))
            .collect();
        x_labels(m, plot, &trial_ticks, "trial");

        let mut path: Vec<(f64, f64)> = Vec::new();
        for &(id, value) in &steps {
            if let Some(&(_, before)) = path.last() {
                path.push((x.at(id as f64), before));
            }
            path.push((x.at(id as f64), y.at(value)));
        }
        if let Some(&(_, level)) = path.last() {
            path.push((plot.right, level));
            polyline(m, "line best", &path);
        }
        for trial in &study.trials {
            let at = x.at(trial.id as f64);
            match trial.objective.filter(|v| v.is_finite()) {
                Some(value) if !trial.state.is_failure() => {
                    let kind = Kind::of(trial);
                    let text = format!(
                        "trial {} ({}): {}",
                        trial.id,
                        trial.origin,
                        units::objective(value, &study.objective)
                    );
                    if kind == Kind::Seed {
                        diamond(m, kind.class(), at, y.at(value), kind.radius(), title(text));
                    } else {
                        dot(m, kind.class(), at, y.at(value), kind.radius(), title(text));
                    }
                }
                _ if trial.state.is_failure() => {
                    let why = trial.failure.as_deref().unwrap_or(trial.state.as_str());
                    cross(
                        m,
                        at,
                        plot.bottom - 11.0,
                        title(format!("trial {} ({}): {why}", trial.id, trial.origin)),
                    );
                }
                _ => {}
            }
        }
    });
}

/// Values more than this factor above the smallest get a logarithmic axis: one bad latency would flatten all the others.
const FLATTENED: f64 = 12.0;

/// The range of the vertical axis, and whether it is logarithmic.
fn y_range(values: impl Iterator<Item = f64> + Clone) -> Option<((f64, f64), bool)> {
    let (low, high) = range(values.clone())?;
    if low > 0.0 && high > low * FLATTENED {
        return Some(((low / 1.2, high * 1.2), true));
    }
    domain(values).map(|range| (range, false))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Baseline,
    Seed,
    Search,
    Best,
}

impl Kind {
    fn of(trial: &TrialRow) -> Self {
        if summary::is_baseline(trial) {
            Self::Baseline
        } else if trial.origin.starts_with("seed") || trial.origin.starts_with("suggested") {
            Self::Seed
        } else if trial.origin.starts_with("repeat") || trial.origin.starts_with("proof") {
            Self::Best
        } else {
            Self::Search
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Baseline => "dot base",
            Self::Seed => "dot seed",
            Self::Search => "dot search",
            Self::Best => "dot best",
        }
    }

    fn radius(self) -> f64 {
        if self == Self::Seed { 6.0 } else { 5.0 }
    }
}

/// Where the best measured candidate changes: (trial, value).
fn incumbents(study: &StudyDocument) -> Vec<(u64, f64)> {
    let mut steps: Vec<(u64, f64)> = Vec::new();
    for (trial, value) in summary::competitors(study) {
        if steps.last().is_none_or(|&(_, best)| summary::is_better(study, value, best)) {
            steps.push((trial.id, value));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_latency_does_not_flatten_the_others() {
        let (range, log) = y_range([20e3, 25e3, 4e6].into_iter()).unwrap();
        assert!(log && range.0 < 20e3 && range.1 > 4e6);
        assert!(!y_range([400.0, 950.0].into_iter()).unwrap().1);
        assert!(!y_range([0.0, 950.0].into_iter()).unwrap().1, "0 has no place on a logarithmic axis");
    }
}
