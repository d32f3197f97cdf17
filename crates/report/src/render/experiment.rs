//! An experiment as one self-contained page: no request leaves it, no script is in it.

use crate::chart::{self, Width};
use crate::experiment::{Chart, Experiment, Figure, Section, Table};
use crate::markup::Markup;

const STYLE: &str = include_str!("style.css");
const OURS: &str = include_str!("experiment.css");

/// SHA-256 of both style sheets, in base64; a test says what to put here when one changes.
const OURS_HASH: &str = "sy0LaTQpbks/cKvMhMhXb+wjcnu5LWOxQNl+m1jm4Uw=";

/// The page.
pub fn experiment(page: &Experiment) -> String {
    let policy = format!(
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-{}' 'sha256-{OURS_HASH}'",
        super::html::STYLE_HASH
    );
    let mut m = Markup::html5();
    m.el("html", &[("lang", &"en")], |m| {
        m.el("head", &[], |m| {
            m.leaf("meta", &[("charset", &"utf-8")]);
            m.leaf("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &policy)]);
            m.leaf("meta", &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")]);
            m.leaf("meta", &[("name", &"referrer"), ("content", &"no-referrer")]);
            m.line("title", &[], format!("{} - Tunesmith", page.title));
            m.el("style", &[], |m| m.verbatim(STYLE));
            m.el("style", &[], |m| m.verbatim(OURS));
        });
        m.el("body", &[], |m| {
            m.el("header", &[("class", &"top")], |m| m.line("b", &[], "Tunesmith"));
            m.el("main", &[], |m| {
                about(m, page);
                for part in &page.sections {
                    section(m, part);
                }
            });
            m.el("footer", &[], |m| m.text("Measured by Tunesmith. Every run is in the tables; failed runs are kept with their reason."));
        });
    });
    m.finish()
}

fn about(m: &mut Markup, page: &Experiment) {
    m.el("section", &[("class", &"card about")], |m| {
        m.line("h1", &[], &page.title);
        for paragraph in page.about.split("\n\n").filter(|p| !p.trim().is_empty()) {
            m.line("p", &[], paragraph.trim());
        }
        if !page.published.is_empty() {
            m.line("h3", &[], "Published");
            list(m, "", &page.published);
        }
    });
}

fn section(m: &mut Markup, part: &Section) {
    m.line("h2", &[], &part.title);
    m.line("p", &[("class", &"lead")], &part.lead);
    list(m, "findings", &part.findings);
    list(m, "warnings", &part.warnings);
    if !part.figures.is_empty() {
        m.el("div", &[("class", &"figures")], |m| {
            for figure in &part.figures {
                draw(m, figure);
            }
        });
    }
    if !part.table.rows.is_empty() {
        m.el("div", &[("class", &"card numbers")], |m| table(m, &part.table));
    }
}

fn list(m: &mut Markup, class: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    m.el("ul", &[("class", &class)], |m| {
        for sentence in sentences {
            m.line("li", &[], sentence);
        }
    });
}

fn draw(m: &mut Markup, figure: &Figure) {
    let width = if figure.wide { Width::Full } else { Width::Half };
    chart::figure(m, width, &figure.title, &figure.caption, |m, w| match &figure.chart {
        Chart::Bars { unit, bars } => chart::bars(m, unit, bars, w),
        Chart::Curves { across, unit, curves } => chart::curves(m, across, unit, curves, w),
        Chart::Boxes { unit, boxes } => chart::boxes(m, unit, boxes, w),
        Chart::Seconds { unit, series } => chart::seconds(m, unit, series, w),
    });
}

fn table(m: &mut Markup, table: &Table) {
    let class = |n: usize| if n == 0 { "" } else { "num" };
    m.el("table", &[], |m| {
        m.el("thead", &[], |m| {
            m.el("tr", &[], |m| {
                for (n, text) in table.head.iter().enumerate() {
                    m.line("th", &[("class", &class(n))], text);
                }
            });
        });
        m.el("tbody", &[], |m| {
            for row in &table.rows {
                m.el("tr", &[], |m| {
                    for (n, text) in row.iter().enumerate() {
                        m.line("td", &[("class", &class(n))], text);
                    }
                });
            }
        });
    });
}
