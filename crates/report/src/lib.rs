//! Reports of a study: one HTML file with charts, JSON, CSV, Markdown, and the table on the terminal.
//!
//! [`StudyDocument`] is what a study says, [`experiment::Experiment`] what several contenders beside each other say; [`render`] has a function for each format; [`units`] formats every number that a person
//! reads. Nothing here reads or writes anything: documents go in, strings come out.
#![forbid(unsafe_code)]

mod chart;
mod document;
pub mod experiment;
mod markup;
pub mod render;
mod summary;
pub mod units;

pub use document::*;
