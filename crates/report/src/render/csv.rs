//! One line per trial and one column per knob, as RFC 4180 has it.

use crate::document::StudyDocument;
use serde_json::Value;
use std::collections::BTreeSet;

/// The trials as CSV: a header, CRLF line ends, raw numbers in base units. A knob that a trial did not set is an empty field.
pub fn csv(study: &StudyDocument) -> String {
    let knobs: BTreeSet<&str> =
        study.trials.iter().flat_map(|t| t.configuration.keys()).map(String::as_str).collect();
    let mut out = String::new();
    let fixed = [
        "trial",
        "origin",
        "state",
        "objective",
        "low",
        "high",
        "p50_us",
        "p95_us",
        "p99_us",
        "max_us",
        "errors",
        "restarted",
        "at_seconds",
        "seconds",
        "failure",
    ];
    record(&mut out, fixed.into_iter().chain(knobs.iter().copied()));
    for t in &study.trials {
        let number = |v: Option<f64>| v.map(|v| v.to_string()).unwrap_or_default();
        let latency = |pick: fn(&crate::Latency) -> u64| {
            t.latency_us.as_ref().map(|l| pick(l).to_string()).unwrap_or_default()
        };
        let fixed = [
            t.id.to_string(),
            t.origin.clone(),
            t.state.to_string(),
            number(t.objective),
            number(t.low),
            number(t.high),
            latency(|l| l.p50),
            latency(|l| l.p95),
            latency(|l| l.p99),
            latency(|l| l.max),
            t.errors.to_string(),
            t.restarted.to_string(),
            t.at_seconds.to_string(),
            t.seconds.to_string(),
            t.failure.clone().unwrap_or_default(),
        ];
        let values = knobs.iter().map(|knob| t.configuration.get(*knob).map(scalar).unwrap_or_default());
        record(&mut out, fixed.into_iter().chain(values));
    }
    out
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn record<S: AsRef<str>>(out: &mut String, fields: impl Iterator<Item = S>) {
    for (i, field) in fields.enumerate() {
        if i > 0 {
            out.push(',');
        }
        let field = field.as_ref();
        if field.contains([',', '"', '\r', '\n']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(field);
        }
    }
    out.push_str("\r\n");
}
