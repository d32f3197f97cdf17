//! The file of what was measured: a line for each run, written when the run is over, so that nothing is lost and an experiment goes on where it
//! stopped.

use super::seat::Run;
use crate::failure::{Failure, Kind};
use knobs::Configuration;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Line {
    /// The first: what the experiment is. Runs of another one do not belong here.
    Experiment(serde_json::Value),
    /// What a cell runs with.
    Cell { name: String, book: Book },
    /// A run of a cell.
    Run { cell: String, round: u32, run: Run },
}

/// What is remembered of a cell besides its runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Book {
    /// What its servers run with.
    pub configuration: Configuration,
    /// How that came about, sentences for the report.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// An open file of measurements, or none: then everything is only remembered.
#[derive(Debug)]
pub struct Journal {
    file: Option<(PathBuf, File)>,
    cells: BTreeMap<String, Book>,
    runs: BTreeMap<(String, u32), Run>,
}

impl Journal {
    /// Opens the file and reads what is in it; a last line that was cut off by a crash is taken away.
    ///
    /// # Errors
    /// If it can't be used, or belongs to another experiment.
    pub fn open(path: Option<&Path>, experiment: &serde_json::Value) -> Result<Self, Failure> {
        let mut journal = Self { file: None, cells: BTreeMap::new(), runs: BTreeMap::new() };
        let Some(path) = path else { return Ok(journal) };
        let failed =
            |e: std::io::Error| Failure::caused(Kind::Usage, format!("can't use {}", path.display()), e);
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(failed(e)),
        };
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        for (number, line) in text[..whole].lines().enumerate() {
            let line: Line = serde_json::from_str(line).map_err(|e| {
                Failure::caused(Kind::Usage, format!("{}, line {}", path.display(), number + 1), e)
                    .hint("it is no file of measurements; name another with --results")
            })?;
            match line {
                Line::Experiment(found) if found != *experiment => {
                    let text = format!("{} holds the runs of another experiment: {found}", path.display());
                    return Err(Failure::new(Kind::Usage, text)
                        .hint("name another file with --results, or ask for the same again"));
                }
                Line::Experiment(_) => {}
                Line::Cell { name, book } => {
                    journal.cells.insert(name, book);
                }
                Line::Run { cell, round, run } => {
                    journal.runs.insert((cell, round), run);
                }
            }
        }
        let file = File::options().create(true).truncate(false).write(true).open(path).map_err(failed)?;
        file.set_len(whole as u64).map_err(failed)?;
        let mut file = file;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        journal.file = Some((path.to_owned(), file));
        if whole == 0 {
            journal.write(&Line::Experiment(experiment.clone()))?;
        }
        Ok(journal)
    }

    /// How many runs are in it.
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// What a cell runs with, if that was settled before.
    pub fn book(&self, cell: &str) -> Option<&Book> {
        self.cells.get(cell)
    }

    /// Remembers what a cell runs with.
    pub fn settle(&mut self, cell: &str, book: &Book) -> Result<(), Failure> {
        self.write(&Line::Cell { name: cell.to_owned(), book: book.clone() })?;
        self.cells.insert(cell.to_owned(), book.clone());
        Ok(())
    }

    /// A run of a cell, if it was made before.
    pub fn run(&self, cell: &str, round: u32) -> Option<&Run> {
        self.runs.get(&(cell.to_owned(), round))
    }

    /// Remembers a run.
    pub fn record(&mut self, cell: &str, round: u32, run: &Run) -> Result<(), Failure> {
        self.write(&Line::Run { cell: cell.to_owned(), round, run: run.clone() })?;
        self.runs.insert((cell.to_owned(), round), run.clone());
        Ok(())
    }

    fn write(&mut self, line: &Line) -> Result<(), Failure> {
        let Some((path, file)) = &mut self.file else { return Ok(()) };
        let failed =
            |e: std::io::Error| Failure::caused(Kind::Connect, format!("can't write {}", path.display()), e);
        let mut text =
            serde_json::to_string(line).map_err(|e| Failure::caused(Kind::Bug, "write JSON", e))?;
        text.push('\n');
        file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knobs::Value;
    use serde_json::json;

    fn run(per_second: f64) -> Run {
        serde_json::from_value(json!({"per_second": per_second, "interval": null, "p95_us": 9, "failure": null, "reset_seconds": 0.5}))
            .unwrap()
    }

    #[test]
    fn what_was_measured_is_there_again_and_half_a_line_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        let experiment = json!({"threads": [2, 4]});
        let mut configuration = Configuration::default();
        configuration.set("innodb_io_capacity", Value::Int(100));
        let book = Book { configuration, notes: vec!["n".into()] };
        let mut journal = Journal::open(Some(&path), &experiment).unwrap();
        journal.settle("a", &book).unwrap();
        journal.record("a", 0, &run(10.5)).unwrap();
        drop(journal);
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"{\"run\":{\"cell\":\"a\",\"rou").unwrap();

        let mut journal = Journal::open(Some(&path), &experiment).unwrap();
        assert_eq!((journal.book("a"), journal.run("a", 0)), (Some(&book), Some(&run(10.5))));
        assert_eq!((journal.run("a", 1), journal.len()), (None, 1));
        journal.record("a", 1, &run(11.0)).unwrap();
        assert_eq!(Journal::open(Some(&path), &experiment).unwrap().len(), 2);
    }

    #[test]
    fn runs_of_another_experiment_are_not_taken_for_these() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.jsonl");
        Journal::open(Some(&path), &json!(1)).unwrap();
        let failure = Journal::open(Some(&path), &json!(2)).unwrap_err().to_string();
        assert!(failure.contains("another experiment") && failure.contains("--results"), "{failure}");
        std::fs::write(&path, "nonsense\n").unwrap();
        assert!(Journal::open(Some(&path), &json!(1)).is_err());
    }

    #[test]
    fn without_a_file_it_remembers_all_the_same() {
        let mut journal = Journal::open(None, &json!(1)).unwrap();
        journal.record("a", 0, &run(1.0)).unwrap();
        assert!(journal.run("a", 0).is_some());
    }
}
