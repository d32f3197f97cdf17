//! One HTML file, with its style inside and nothing from the network.

use super::text::{change, mark, memory, notes, window};
use crate::finding::{Report, Severity};
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}\
h1{font-size:1.4rem}article{border-left:4px solid #bbb;padding:.2rem 1rem;margin:1rem 0}\
.critical{border-color:#b00020}.warning{border-color:#d97706}.notice{border-color:#2563eb}.fine{border-color:#15803d}\
code{background:#f3f4f6;padding:.1rem .3rem}small{color:#555}\
@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}code{background:#222}small{color:#aaa}}";

/// Text inside an element or a quoted attribute.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

fn class(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "critical",
        Severity::Warning => "warning",
        Severity::Notice => "notice",
        Severity::Fine => "fine",
        Severity::NotEnoughData => "unknown",
    }
}

pub(super) fn write(report: &Report) -> String {
    let who = escape(&report.identity.to_string());
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Advice for {who}</title>\n\
         <style>{STYLE}</style></head><body>\n<h1>Advice for {who}</h1>\n<p>{}<br>{}</p>\n",
        escape(&window(report)),
        escape(&memory(report))
    );
    for finding in &report.findings {
        let _ = writeln!(
            out,
            "<article class=\"{}\"><strong>{}</strong> <small>{} · {}</small><br>{}",
            class(finding.severity),
            escape(&finding.title),
            mark(finding.severity),
            escape(&finding.rule),
            escape(&finding.evidence)
        );
        if let Some(recommendation) = &finding.recommendation {
            let _ = writeln!(
                out,
                "<br><code>{}</code> <small>{}</small><br><small>{} · back: <code>{}</code></small>",
                escape(&change(recommendation)),
                escape(&notes(recommendation)),
                escape(&recommendation.effect),
                escape(&recommendation.rollback)
            );
        }
        if let Some(advice) = &finding.advice {
            let _ = writeln!(out, "<br>{}", escape(advice));
        }
        out.push_str("</article>\n");
    }
    for missing in &report.missing {
        let _ = writeln!(
            out,
            "<p><small>not read: {}: {}</small></p>",
            escape(&missing.what),
            escape(&missing.why)
        );
    }
    out.push_str("</body></html>\n");
    out
}
