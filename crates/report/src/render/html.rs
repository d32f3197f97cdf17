//! One self-contained page: no request leaves it, and it reads well on paper, on a phone, and in the dark.

use super::trials;
use crate::chart::{self, Width};
use crate::document::{Change, StudyDocument};
use crate::markup::Markup;
use crate::summary::{self, Outcome};
use crate::units;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// SHA-256 of the style sheet and of the script, in base64, for the policy; a test says what to put here when a file changes.
pub(super) const STYLE_HASH: &str = "lUZRhrJBwm1CDdAk8QaTqOj4PUxj+JCqbtoI7n4D0SQ=";
const SCRIPT_HASH: &str = "GrYIz1BZsdBHwbOCCPYEq+BOG67iQ0tWZYQ/V3pPeAM=";

/// Nothing may be loaded from anywhere, and only this very style sheet and script may act.
fn policy() -> String {
    format!(
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-{STYLE_HASH}'; script-src 'sha256-{SCRIPT_HASH}'"
    )
}

/// The report of a study as one HTML page.
pub fn html(study: &StudyDocument) -> String {
    let mut m = Markup::html5();
    m.el("html", &[("lang", &"en")], |m| {
        m.el("head", &[], |m| {
            m.leaf("meta", &[("charset", &"utf-8")]);
            m.leaf("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &policy())]);
            m.leaf("meta", &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")]);
            m.leaf("meta", &[("name", &"referrer"), ("content", &"no-referrer")]);
            m.line("title", &[], format!("{} - Tunesmith", title(study)));
            m.el("style", &[], |m| m.verbatim(STYLE));
        });
        m.el("body", &[], |m| {
            top(m, study);
            m.el("main", &[], |m| {
                hero(m, study);
                changes(m, study);
                charts(m, study);
                if !study.trials.is_empty() {
                    m.line("h2", &[], "Every trial");
                    m.line("p", &[("class", &"lead")], trials_lead(study));
                    trials::table(m, study);
                }
                method(m, study);
            });
            m.el("footer", &[], |m| {
                let version = study.method.as_ref().map(|m| format!(" {}", m.tunesmith)).unwrap_or_default();
                m.text(format!(
                    "Tunesmith{version}, study {}. Document schema {}.",
                    study.study, study.schema
                ));
            });
            m.el("script", &[], |m| m.verbatim(SCRIPT));
        });
    });
    m.finish()
}

fn title(study: &StudyDocument) -> &str {
    if study.name.is_empty() { &study.study } else { &study.name }
}

fn top(m: &mut Markup, study: &StudyDocument) {
    m.el("header", &[("class", &"top")], |m| {
        m.line("b", &[], "Tunesmith");
        m.line("span", &[], format!("study {}", title(study)));
        m.line("span", &[], summary::product(study));
        m.line("span", &[("class", &"when")], study.created.replace('T', " "));
    });
}

fn hero(m: &mut Markup, study: &StudyDocument) {
    let outcome = summary::outcome(study);
    m.el("section", &[("class", &"card hero")], |m| {
        m.el("div", &[], |m| {
            let (class, word) = match outcome {
                Outcome::Improved => ("word improved", "improved, and proven"),
                Outcome::NoImprovement => ("word", "no improvement"),
                Outcome::Open => ("word", "not finished"),
                Outcome::Failed => ("word failed", "failed"),
            };
            m.line("span", &[("class", &class)], word);
            if let (Outcome::Improved, Some(gain)) = (outcome, &study.gain) {
                m.line("p", &[("class", &"figure-big")], units::gain(gain.ratio, study.objective.better));
            }
            m.line("h1", &[], glued(&summary::headline(study)));
            let explanation = summary::explanation(study);
            if !explanation.is_empty() {
                m.line("p", &[], glued(&explanation.join(" ")));
            }
            if let Some((command, does)) = summary::next_step(study) {
                m.el("p", &[("class", &"on")], |m| {
                    m.line("code", &[], command);
                    m.text(format!(" {does}"));
                });
            }
            m.line("p", &[("class", &"on")], summary::measured_on(study));
            if let Some(text) = summary::disclaimer(study) {
                m.line("p", &[], text);
            }
        });
        facts(m, study);
    });
    if !study.warnings.is_empty() {
        m.el("ul", &[("class", &"warnings")], |m| {
            for warning in &study.warnings {
                m.line("li", &[], warning);
            }
        });
    }
}

/// The numbers beside the headline.
fn facts(m: &mut Markup, study: &StudyDocument) {
    m.el("dl", &[("class", &"facts")], |m| {
        let show = |v: f64| units::objective(v, &study.objective);
        if let Some(b) = &study.baseline {
            fact(
                m,
                "baseline",
                &show(b.mean),
                &format!("{} to {}, {} runs", show(b.low), show(b.high), b.runs.len()),
            );
        }
        if let Some(b) = &study.best {
            let name = if summary::outcome(study) == Outcome::Improved { "best" } else { "best candidate" };
            fact(m, name, &show(b.mean), &format!("{} to {}, trial {}", show(b.low), show(b.high), b.trial));
        }
        if let Some((before, after)) = p99(study) {
            fact(
                m,
                "p99 latency",
                &format!("{} → {}", units::micros(before), units::micros(after)),
                "baseline to best",
            );
        }
        fact(m, "trials", &study.trials.len().to_string(), &failures(study));
        if let Some(seconds) = summary::took(study) {
            fact(m, "took", &units::duration(seconds), "");
        }
    });
}

fn fact(m: &mut Markup, name: &str, value: &str, note: &str) {
    m.el("div", &[], |m| {
        m.line("dt", &[], name);
        m.el("dd", &[], |m| {
            m.text(value);
            if !note.is_empty() {
                m.line("small", &[], note);
            }
        });
    });
}

fn failures(study: &StudyDocument) -> String {
    match study.trials.iter().filter(|t| t.state.is_failure()).count() {
        0 => "none failed".to_owned(),
        n => format!("{n} failed"),
    }
}

/// The 99th percentiles of both latency curves.
fn p99(study: &StudyDocument) -> Option<(f64, f64)> {
    let at =
        |curve: &[(f64, u64)]| curve.iter().find(|(p, _)| (p - 99.0).abs() < 1e-6).map(|&(_, us)| us as f64);
    Some((at(&study.latency.baseline)?, at(&study.latency.best)?))
}

fn changes(m: &mut Markup, study: &StudyDocument) {
    let outcome = summary::outcome(study);
    if study.changes.is_empty() {
        return;
    }
    let (heading, lead) = match outcome {
        Outcome::Improved => ("What to change", restart_sentence(&study.changes)),
        Outcome::NoImprovement => (
            "The best candidate",
            "Not a recommendation: its gain is not proven. It is here so that nobody has to try it again."
                .to_owned(),
        ),
        Outcome::Open | Outcome::Failed => (
            "The best configuration so far",
            "Not a recommendation yet: the proof against the baseline is missing.".to_owned(),
        ),
    };
    m.line("h2", &[], heading);
    m.line("p", &[("class", &"lead")], lead);
    let shares = study.changes.iter().any(|c| c.matters.is_some());
    m.el("div", &[("class", &"card scroll")], |m| {
        m.el("table", &[("class", &"changes")], |m| {
            m.el("thead", &[], |m| {
                m.el("tr", &[], |m| {
                    for name in ["knob", "from", "to", "why"] {
                        m.line("th", &[], name);
                    }
                    if shares {
                        m.line("th", &[("class", &"num")], "importance");
                    }
                    m.line("th", &[], "takes effect");
                });
            });
            m.el("tbody", &[], |m| {
                for change in &study.changes {
                    change_row(m, change, shares);
                }
            });
        });
    });
    if outcome == Outcome::Improved {
        copies(m, study);
    }
}

fn change_row(m: &mut Markup, change: &Change, shares: bool) {
    m.el("tr", &[], |m| {
        m.el("td", &[], |m| m.line("code", &[], &change.knob));
        m.line("td", &[("class", &"from")], units::knob_value(&change.from, change.unit.as_deref()));
        m.line("td", &[("class", &"to")], units::knob_value(&change.to, change.unit.as_deref()));
        m.line("td", &[("class", &"why")], &change.why);
        if shares {
            let share = change.matters.map_or_else(|| "-".to_owned(), units::percent);
            m.line("td", &[("class", &"num share")], share);
        }
        let (class, word) =
            if change.restart { ("tag restart", "after a restart") } else { ("tag", "at once") };
        m.el("td", &[], |m| m.line("span", &[("class", &class)], word));
    });
}

fn restart_sentence(changes: &[Change]) -> String {
    match (changes.iter().filter(|c| c.restart).count(), changes.len()) {
        (0, _) => "No restart is needed.".to_owned(),
        (n, all) if n == all => "The server has to be restarted for them.".to_owned(),
        (n, all) => format!("{n} of {all} need a restart of the server; the others are in effect at once."),
    }
}

fn copies(m: &mut Markup, study: &StudyDocument) {
    let apply = &study.apply;
    m.el("div", &[("class", &"copies")], |m| {
        for (name, note, text) in [
            ("my.cnf", "then restart", &apply.cnf),
            ("SET PERSIST", "survives a restart", &apply.set_persist),
            ("SET GLOBAL", "until the next restart", &apply.set_global),
            ("Roll back", "to the values found", &apply.rollback),
        ] {
            if text.is_empty() {
                continue;
            }
            m.el("section", &[("class", &"card copyable")], |m| {
                m.el("div", &[], |m| {
                    m.el("h3", &[], |m| {
                        m.text(name);
                        m.text(" ");
                        m.line("span", &[], note);
                    });
                    m.line("button", &[("class", &"copy"), ("type", &"button")], "copy");
                });
                m.line("pre", &[], text);
            });
        }
    });
}

fn charts(m: &mut Markup, study: &StudyDocument) {
    let trials = study.trials.iter().any(|t| t.objective.is_some());
    let latency = !study.latency.baseline.is_empty() || !study.latency.best.is_empty();
    let series = !study.series.baseline.is_empty() || !study.series.best.is_empty();
    let proof = study.gain.as_ref().is_some_and(|g| !g.pairs.is_empty());
    if !trials && !latency && !series && !proof && study.importance.is_empty() {
        return;
    }
    m.line("h2", &[], "What was measured");
    m.el("div", &[("class", &"figures")], |m| {
        if trials {
            let caption = format!("{} of each trial, in the order in which they ran. Point at a mark for its trial.", upper(&summary::what(study)));
            chart::figure(m, Width::Full, "The search", &caption, |m, w| chart::convergence(m, study, w));
        }
        if proof {
            let caption = "Baseline and candidate were run in turn, on the same machine, within minutes of each other.";
            chart::figure(m, Width::Half, "The proof", caption, |m, w| chart::proof(m, study, w));
        }
        if !study.importance.is_empty() {
            let caption = "How much of the differences between trials each knob explains, plus or minus one standard deviation.";
            chart::figure(m, Width::Half, "Which knobs matter", caption, |m, w| chart::importance(m, study, w));
        }
        if latency {
            let caption = "How long the slowest transactions took. Both axes are stretched: each step right is ten times rarer.";
            chart::figure(m, Width::Half, "Latency", caption, |m, w| chart::latency(m, study, w));
        }
        if series {
            let caption = "Transactions committed in each second of one run of each configuration.";
            chart::figure(m, Width::Half, "Throughput over time", caption, |m, w| chart::throughput(m, study, w));
        }
    });
}

fn trials_lead(study: &StudyDocument) -> String {
    let mut text = summary::trial_count(study);
    text.push_str(" Click a heading to sort.");
    if study.trials.iter().any(|t| t.failure.is_some()) {
        text.push_str(" A failed trial shows the server's own words, or the check that it did not pass.");
    }
    text
}

fn method(m: &mut Markup, study: &StudyDocument) {
    m.line("h2", &[], "How it was measured");
    m.line("p", &[("class", &"lead")], &study.question);
    m.el("section", &[("class", &"card method")], |m| {
        m.el("ul", &[], |m| {
            for sentence in super::method_sentences(study) {
                m.line("li", &[], sentence);
            }
        });
        m.el("dl", &[], |m| {
            let server = &study.server;
            let mut rows = vec![
                ("server".to_owned(), server.version.clone()),
                ("target".to_owned(), server.target.clone()),
            ];
            rows.extend(server.cores.map(|n| ("cores".to_owned(), n.to_string())));
            rows.extend(server.memory_bytes.map(|b| ("memory".to_owned(), units::memory(b))));
            rows.push(("workload".to_owned(), study.workload.name.clone()));
            rows.extend(study.workload.parameters.iter().map(|(k, v)| (k.clone(), v.clone())));
            rows.extend(study.method.iter().map(|m| ("seed".to_owned(), m.seed.to_string())));
            rows.extend(study.environment.iter().map(|n| (n.name.clone(), n.value.clone())));
            for (name, value) in rows {
                m.el("div", &[], |m| {
                    m.line("dt", &[], name);
                    m.line("dd", &[], value);
                });
            }
        });
    });
}

/// With percent signs kept on the line of their number.
fn glued(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

fn upper(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
