//! `tunesmith report`.

use crate::cli::Globals;
use crate::failure::{Failure, Kind};
use crate::studying;
use std::path::PathBuf;
use store::StudyId;

/// One self-contained file about a study.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The study's number.
    study: StudyId,
    /// What kind of file.
    #[arg(long, default_value = "html", value_parser = ["html", "json", "csv", "md"])]
    format: String,
    /// Where to write it; standard output otherwise.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub async fn run(args: Args, globals: &Globals) -> Result<(), Failure> {
    let store = studying::open_store(globals)?;
    let document = tuner::document(&store, args.study)
        .map_err(|e| Failure::caused(Kind::Usage, format!("can't report on study {}", args.study), e))?;
    let format = if globals.json { "json" } else { args.format.as_str() };
    let text = match format {
        "json" => report::render::json(&document),
        "csv" => report::render::csv(&document),
        "md" => report::render::markdown(&document),
        _ => report::render::html(&document),
    };
    match &args.output {
        Some(path) => std::fs::write(path, text)
            .map_err(|e| Failure::caused(Kind::Usage, format!("can't write {}", path.display()), e)),
        None => {
            print!("{text}");
            Ok(())
        }
    }
}
