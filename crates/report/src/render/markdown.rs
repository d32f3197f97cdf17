//! The report for a ticket or a pull request.

use crate::document::StudyDocument;
use crate::summary::{self, Outcome};
use crate::units;

/// The report as GitHub-flavoured Markdown.
pub fn markdown(study: &StudyDocument) -> String {
    let mut out = String::new();
    let outcome = summary::outcome(study);
    let mut line = |text: &str| {
        out.push_str(text);
        out.push('\n');
    };
    let title = if study.name.is_empty() { &study.study } else { &study.name };
    line(&format!("# Tunesmith: study {}\n", inline(title)));
    line(&format!("**{}**\n", inline(&summary::headline(study))));
    for sentence in summary::explanation(study) {
        line(&inline(&sentence));
    }
    if let Some((command, does)) = summary::next_step(study) {
        line(&format!("{} {does}", code(&command)));
    }
    line(&format!("\n{}\n", inline(&summary::measured_on(study))));
    if let Some(text) = summary::disclaimer(study) {
        line(&format!("{text}\n"));
    }
    for warning in &study.warnings {
        line(&format!("> Warning: {}\n", inline(warning)));
    }

    if !study.changes.is_empty() {
        line(match outcome {
            Outcome::Improved => "## What to change\n",
            Outcome::NoImprovement => "## The best candidate (not recommended: its gain is not proven)\n",
            Outcome::Open | Outcome::Failed => "## The best configuration so far (not proven)\n",
        });
        line("| knob | from | to | takes effect | why |\n|---|---|---|---|---|");
        for c in &study.changes {
            line(&format!(
                "| {} | {} | {} | {} | {} |",
                inline(&c.knob),
                inline(&units::knob_value(&c.from, c.unit.as_deref())),
                inline(&units::knob_value(&c.to, c.unit.as_deref())),
                if c.restart { "after a restart" } else { "at once" },
                inline(&c.why)
            ));
        }
        line("");
    }
    if outcome == Outcome::Improved {
        let apply = &study.apply;
        for (name, language, text) in [
            ("my.cnf", "ini", &apply.cnf),
            ("SET PERSIST", "sql", &apply.set_persist),
            ("SET GLOBAL", "sql", &apply.set_global),
            ("Roll back", "sql", &apply.rollback),
        ] {
            if !text.is_empty() {
                let fence = fence(text);
                line(&format!("### {name}\n\n{fence}{language}\n{}\n{fence}\n", text.trim_end()));
            }
        }
    }
    if !study.trials.is_empty() {
        line(&format!("## Every trial\n\n{}\n", summary::trial_count(study)));
        line(&format!(
            "| # | origin | state | {} | gain | p99 | errors | failure |\n|--:|---|---|--:|--:|--:|--:|---|",
            inline(summary::short_objective(study))
        ));
        for t in &study.trials {
            line(&format!(
                "| {} | {} | {} | {} | {} | {} | {} | {} |",
                t.id,
                inline(&t.origin),
                t.state,
                t.objective.map_or("-".to_owned(), |v| inline(&units::objective(v, &study.objective))),
                t.objective
                    .and_then(|v| summary::against_baseline(study, v))
                    .map_or("-".to_owned(), |r| units::gain(r, study.objective.better)),
                t.latency_us.map_or("-".to_owned(), |l| units::micros(l.p99 as f64)),
                units::count(t.errors),
                inline(t.failure.as_deref().unwrap_or_default())
            ));
        }
        line("");
    }
    line("## How it was measured\n");
    for sentence in super::method_sentences(study) {
        line(&format!("- {}", inline(&sentence)));
    }
    out
}

/// Text that means itself: Markdown's marks are escaped, line ends become spaces.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// One line of code, between backticks that it can't close.
fn code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// A fence longer than any run of backticks in the text.
fn fence(text: &str) -> String {
    let (mut longest, mut run) = (0, 0);
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat((longest + 1).max(3))
}
