//! The end of `tune` on a terminal.

use crate::document::StudyDocument;
use crate::summary::{self, Outcome};
use crate::units;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};

/// The narrowest width that the table is laid out for.
const NARROWEST: usize = 40;

/// The headline, what to change, and what became of the trials, for a terminal of `width` columns. Without `color` there are no escape
/// sequences, whatever the environment says.
pub fn terminal(study: &StudyDocument, width: usize, color: bool) -> String {
    let mut page = Page { text: String::new(), width: width.max(NARROWEST), color };
    let outcome = summary::outcome(study);
    if !study.changes.is_empty() {
        let heading = match outcome {
            Outcome::Improved => "What to change",
            Outcome::NoImprovement => "The best candidate (not recommended: its gain is not proven)",
            Outcome::Open | Outcome::Failed => "The best configuration so far (not proven)",
        };
        page.paragraph(heading, Style::Bold);
        page.text.push_str(&changes(study, page.width));
        page.text.push_str("\n\n");
    }
    let headline = match outcome {
        Outcome::Improved => Style::Good,
        Outcome::NoImprovement | Outcome::Open => Style::Bold,
        Outcome::Failed => Style::Bad,
    };
    page.paragraph(&summary::headline(study), headline);
    for sentence in summary::explanation(study) {
        page.paragraph(&sentence, Style::Plain);
    }
    if let Some((command, does)) = summary::next_step(study) {
        page.paragraph(&format!("{command} {does}"), Style::Bold);
    }
    page.paragraph(&summary::measured_on(study), Style::Plain);
    if matches!(outcome, Outcome::Improved | Outcome::NoImprovement) {
        page.paragraph(&summary::trial_count(study), Style::Plain);
    }
    for (why, trials) in failures(study) {
        let which = if trials.len() == 1 { "trial" } else { "trials" };
        page.paragraph(&format!("{which} {}: {why}", trials.join(", ")), Style::Failure);
    }
    for warning in &study.warnings {
        page.paragraph(&format!("warning: {warning}"), Style::Warning);
    }
    if let Some(text) = summary::disclaimer(study) {
        page.paragraph(text, Style::Faint);
    }
    page.text
}

#[derive(Debug, Clone, Copy)]
enum Style {
    Plain,
    Bold,
    Faint,
    Good,
    Bad,
    Failure,
    Warning,
}

impl Style {
    /// The parameters of the SGR sequence (ECMA-48, 8.3.117).
    fn sgr(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bold => Some("1"),
            Self::Faint => Some("2"),
            Self::Good => Some("1;32"),
            Self::Bad => Some("1;31"),
            Self::Failure => Some("31"),
            Self::Warning => Some("33"),
        }
    }
}

struct Page {
    text: String,
    width: usize,
    color: bool,
}

impl Page {
    fn paragraph(&mut self, text: &str, style: Style) {
        for line in wrap(&clean(text), self.width) {
            match style.sgr().filter(|_| self.color) {
                Some(sgr) => self.text.push_str(&format!("\u{1b}[{sgr}m{line}\u{1b}[0m")),
                None => self.text.push_str(&line),
            }
            self.text.push('\n');
        }
    }
}

/// Breaks at spaces. A word longer than the width gets a line of its own: better too long than unfit to copy.
fn wrap(text: &str, width: usize) -> Vec<String> {
    // A percent sign stays on the line of its number.
    let glued = text.replace(" %", "\u{a0}%");
    let mut lines = vec![String::new()];
    for word in glued.split(' ').filter(|word| !word.is_empty()) {
        let Some(line) = lines.last_mut() else { continue };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| line.replace('\u{a0}', " ")).collect()
}

/// Without control characters: a server's error text must not steer the terminal.
fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { if c.is_whitespace() { ' ' } else { '\u{fffd}' } } else { c })
        .collect()
}

/// The trials that failed by the first line of the reason, in the order in which each reason came up.
fn failures(study: &StudyDocument) -> Vec<(&str, Vec<String>)> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for trial in study.trials.iter().filter(|t| t.state.is_failure()) {
        let why = trial.failure.as_deref().and_then(|f| f.lines().next()).unwrap_or(trial.state.as_str());
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, trials)) => trials.push(trial.id.to_string()),
            None => groups.push((why, vec![trial.id.to_string()])),
        }
    }
    groups
}

fn changes(study: &StudyDocument, width: usize) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.set_header(["knob", "from", "to", "importance", "takes effect"]);
    for c in &study.changes {
        table.add_row([
            clean(&c.knob),
            clean(&units::knob_value(&c.from, c.unit.as_deref())),
            clean(&units::knob_value(&c.to, c.unit.as_deref())),
            c.matters.map_or("-".to_owned(), units::percent),
            if c.restart { "after a restart" } else { "at once" }.to_owned(),
        ]);
    }
    for column in [1, 2, 3] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}
