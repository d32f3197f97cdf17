//! For a terminal: the worst first, quiet about what is fine.

use crate::finding::{Recommendation, Report, Severity};
use knobs::{Bytes, Registry};
use std::fmt::Write;

pub(super) fn mark(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "CRITICAL",
        Severity::Warning => "warning",
        Severity::Notice => "notice",
        Severity::NotEnoughData => "unknown",
        Severity::Fine => "fine",
    }
}

/// The change, with units: `innodb_io_capacity 200 ops/s -> 2000 ops/s`.
pub(super) fn change(recommendation: &Recommendation) -> String {
    let unit = Registry::builtin().get(&recommendation.knob).map_or(knobs::Unit::None, |knob| knob.unit);
    format!(
        "{} {} -> {}",
        recommendation.knob,
        recommendation.current.show(unit),
        recommendation.value.show(unit)
    )
}

pub(super) fn notes(recommendation: &Recommendation) -> String {
    let mut notes = vec![if recommendation.restart { "restart" } else { "at once" }.to_owned()];
    notes.push(format!("risk: {}", format!("{:?}", recommendation.risk).to_lowercase()));
    if !recommendation.automatic {
        notes.push("for you to decide".into());
    }
    notes.join(", ")
}

/// Rounded to what is worth saying.
fn about(bytes: u64) -> Bytes {
    let mib = bytes >> 20;
    if mib >= 10_240 { Bytes::gib(mib.div_ceil(1024)) } else { Bytes::mib(mib.max(1)) }
}

pub(super) fn window(report: &Report) -> String {
    let seconds = report.window.seconds;
    let kind = if report.window.sampled { "sampled for" } else { "counters of" };
    match seconds {
        s if s < 120.0 => format!("{kind} {s:.0} s"),
        s if s < 7200.0 => format!("{kind} {:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{kind} {:.1} h", s / 3600.0),
        s => format!("{kind} {:.1} days", s / 86_400.0),
    }
}

pub(super) fn memory(report: &Report) -> String {
    let machine = report.memory.machine.map_or("unknown".to_owned(), |memory| about(memory).to_string());
    let now = report.memory.now;
    let then = report.memory.then;
    let mut line = format!(
        "memory: machine {machine}; this configuration takes about {} ({} at least, {} at worst)",
        about(now.realistic.0),
        about(now.minimum.0),
        about(now.worst.0)
    );
    if then != now {
        let _ = write!(line, "; with the advice about {}", about(then.realistic.0));
    }
    line
}

pub(super) fn write(report: &Report, verbose: bool) -> String {
    let mut out = format!("{} ({})\n{}\n", report.identity, window(report), memory(report));
    let mut last = String::new();
    for finding in &report.findings {
        if finding.severity <= Severity::NotEnoughData && !verbose {
            continue;
        }
        // One heading for all changes of a finding.
        let heading = format!("{} {} {}", finding.rule, finding.title, finding.evidence);
        if heading != last {
            let _ = write!(
                out,
                "\n[{}] {}: {}\n    {}\n",
                mark(finding.severity),
                finding.rule,
                finding.title,
                finding.evidence
            );
            last = heading;
        }
        if let Some(recommendation) = &finding.recommendation {
            let _ = writeln!(out, "    {} ({})", change(recommendation), notes(recommendation));
            if !recommendation.effect.is_empty() {
                let _ = writeln!(out, "        {}", recommendation.effect);
            }
        }
        if let Some(advice) = &finding.advice {
            let _ = writeln!(out, "    {advice}");
        }
    }
    for missing in &report.missing {
        let _ = write!(out, "\n[not read] {}: {}\n", missing.what, missing.why);
    }
    let count = |severity| report.findings.iter().filter(|finding| finding.severity == severity).count();
    let _ = write!(
        out,
        "\n{} critical, {} warnings, {} notices, {} not to be judged yet, {} fine{}\n",
        count(Severity::Critical),
        count(Severity::Warning),
        count(Severity::Notice),
        count(Severity::NotEnoughData),
        count(Severity::Fine),
        if verbose { "" } else { " (-v tells them all)" }
    );
    out
}
