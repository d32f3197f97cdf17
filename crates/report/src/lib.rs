//! Reports of a study: one HTML file with charts, JSON, CSV, Markdown, and the table on the terminal.
#![forbid(unsafe_code)]

mod document;

pub use document::*;
