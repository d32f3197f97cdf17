//! The trial table of the page.

use crate::document::{Latency, StudyDocument, TrialRow};
use crate::markup::{Attr, Markup};
use crate::{summary, units};

/// The table with a body for each trial: its row, and a second one with the reason where it failed. Bodies move as one when sorted.
pub(super) fn table(m: &mut Markup, study: &StudyDocument) {
    m.el("div", &[("class", &"card scroll trials")], |m| {
        m.el("table", &[("class", &"sortable")], |m| {
            m.el("thead", &[], |m| {
                m.el("tr", &[], |m| {
                    for (name, numeric) in head(study) {
                        let class: &[Attr<'_>] = if numeric { &[("class", &"num")] } else { &[] };
                        m.el("th", class, |m| m.line("button", &[("type", &"button")], name));
                    }
                    m.line("th", &[], "configuration");
                });
            });
            for trial in &study.trials {
                m.el("tbody", &[], |m| row(m, study, trial));
            }
        });
    });
}

/// Heading of each column that can be sorted, and whether it holds numbers.
fn head(study: &StudyDocument) -> Vec<(&str, bool)> {
    [
        ("#", true),
        ("origin", false),
        ("state", false),
        (summary::short_objective(study), true),
        ("gain", true),
    ]
    .into_iter()
    .chain([("p50", true), ("p95", true), ("p99", true), ("max", true), ("errors", true), ("restart", false)])
    .chain([("began", true), ("took", true)])
    .collect()
}

fn row(m: &mut Markup, study: &StudyDocument, trial: &TrialRow) {
    let best = study.best.as_ref().is_some_and(|b| b.trial == trial.id);
    let class = match (best, trial.failure.is_some()) {
        (true, _) => "best",
        (_, true) => "has-why",
        _ => "",
    };
    m.el("tr", &[("class", &class)], |m| {
        number(m, trial.id, trial.id.to_string());
        cell(m, "", &trial.origin, &trial.origin);
        cell(m, &format!("state-{}", trial.state), trial.state.as_str(), trial.state.as_str());
        match trial.objective {
            None => number(m, "", "-".to_owned()),
            Some(value) => m.el("td", &[("class", &"num"), ("data-v", &value)], |m| {
                m.text(units::objective(value, &study.objective));
                if let (Some(low), Some(high)) = (trial.low, trial.high) {
                    m.text(" ");
                    let text = format!(
                        "{} to {}",
                        units::objective(low, &study.objective),
                        units::objective(high, &study.objective)
                    );
                    m.line("small", &[("title", &text)], format!("±{}", half(low, high, value)));
                }
            }),
        }
        match trial.objective.and_then(|v| summary::against_baseline(study, v)) {
            Some(ratio) => number(m, ratio, units::gain(ratio, study.objective.better)),
            None => number(m, "", "-".to_owned()),
        }
        let picks: [fn(&Latency) -> u64; 4] = [|l| l.p50, |l| l.p95, |l| l.p99, |l| l.max];
        for pick in picks {
            match trial.latency_us.as_ref().map(pick) {
                Some(us) => number(m, us, units::micros(us as f64)),
                None => number(m, "", "-".to_owned()),
            }
        }
        number(m, trial.errors, units::count(trial.errors));
        let restarted = if trial.restarted { "yes" } else { "no" };
        cell(m, "", restarted, restarted);
        number(m, trial.at_seconds, units::duration(trial.at_seconds));
        number(m, trial.seconds, units::duration(trial.seconds));
        m.el("td", &[], |m| configuration(m, study, trial));
    });
    if let Some(failure) = &trial.failure {
        m.el("tr", &[("class", &"why")], |m| {
            m.line("td", &[], "");
            m.el("td", &[("colspan", &"13")], |m| m.line("pre", &[], failure));
        });
    }
}

fn configuration(m: &mut Markup, study: &StudyDocument, trial: &TrialRow) {
    if trial.configuration.is_empty() {
        m.line("small", &[], "as found");
        return;
    }
    m.el("details", &[], |m| {
        let n = trial.configuration.len();
        m.line("summary", &[], if n == 1 { "1 knob".to_owned() } else { format!("{n} knobs") });
        let lines: Vec<String> = trial
            .configuration
            .iter()
            .map(|(knob, value)| {
                format!("{knob} = {}", units::knob_value(value, study.units.get(knob).map(String::as_str)))
            })
            .collect();
        m.line("pre", &[], lines.join("\n"));
    });
}

fn cell(m: &mut Markup, class: &str, sort: &str, text: &str) {
    m.line("td", &[("class", &class), ("data-v", &sort)], text);
}

fn number(m: &mut Markup, sort: impl std::fmt::Display, text: String) {
    m.line("td", &[("class", &"num"), ("data-v", &sort)], text);
}

/// Half of an interval as a share of the value.
fn half(low: f64, high: f64, value: f64) -> String {
    units::percent((high - low) / 2.0 / value)
}
