//! `tunesmith studies`.

use crate::cli::Globals;
use crate::failure::{Failure, Kind};
use crate::studying::{self, Which};
use comfy_table::{Table, presets};
use std::path::PathBuf;
use store::StudyId;

/// What is stored.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// All studies, the newest first.
    List,
    /// One study with its trials.
    Show {
        /// Its number.
        study: StudyId,
    },
    /// Go on with a study that was interrupted or killed.
    Resume {
        /// Its number.
        study: StudyId,
        /// Write the HTML report here.
        #[arg(long, value_name = "FILE")]
        report: Option<PathBuf>,
    },
    /// One study as one JSON document, for another machine or program.
    Export {
        /// Its number.
        study: StudyId,
    },
    /// Delete a study with all its trials.
    Delete {
        /// Its number.
        study: StudyId,
    },
}

/// Runs the command.
pub async fn run(args: Args, globals: &Globals) -> Result<(), Failure> {
    let mut store = studying::open_store(globals)?;
    match args.action {
        Action::List => list(&store, globals),
        Action::Show { study } => {
            known(&store, study)?;
            let ended = studying::Ended { id: Some(study), outcome: Ok(()) };
            studying::present(&store, globals, ended, None)
        }
        Action::Resume { study, report } => {
            known(&store, study)?;
            let ended = studying::study(&mut store, globals, Which::Stored(study)).await;
            studying::present(&store, globals, ended, report.as_deref())
        }
        Action::Export { study } => {
            known(&store, study)?;
            let document = tuner::document(&store, study).map_err(unreadable)?;
            print!("{}", report::render::json(&document));
            Ok(())
        }
        Action::Delete { study } => {
            known(&store, study)?;
            confirm(&format!("delete study {study} with all its measurements?"), globals)?;
            let lease = store.lease(study).map_err(unreadable)?;
            store.delete_study(study).map_err(unreadable)?;
            drop(lease);
            if !globals.quiet {
                eprintln!("study {study} is deleted");
            }
            Ok(())
        }
    }
}

fn unreadable(error: store::StoreError) -> Failure {
    Failure::caused(Kind::Usage, "can't use the studies' database", error)
}

fn known(store: &store::Store, study: StudyId) -> Result<(), Failure> {
    store.study(study).map(|_| ()).map_err(unreadable)
}

fn confirm(question: &str, globals: &Globals) -> Result<(), Failure> {
    use std::io::{BufRead, IsTerminal, Write};
    if globals.yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(
            Failure::new(Kind::Usage, format!("not confirmed: {question}")).hint("confirm with --yes")
        );
    }
    eprint!("{question} [y/N] ");
    let _ = std::io::stderr().flush();
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    if read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes") {
        Ok(())
    } else {
        Err(Failure::new(Kind::Usage, "not confirmed, nothing was changed"))
    }
}

fn list(store: &store::Store, globals: &Globals) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for study in store.studies().map_err(unreadable)? {
        let document = tuner::document(store, study.id).map_err(unreadable)?;
        rows.push(document);
    }
    if globals.json {
        let list: Vec<_> = rows
            .iter()
            .map(|d| {
                serde_json::json!({
                    "study": d.study, "name": d.name, "question": d.question, "created": d.created, "state": d.state,
                    "verdict": d.verdict, "gain": d.gain.as_ref().map(|g| [g.ratio, g.low, g.high]), "trials": d.trials.len(),
                })
            })
            .collect();
        println!("{}", serde_json::json!({ "schema": "tunesmith.studies/1", "studies": list }));
        return Ok(());
    }
    if rows.is_empty() {
        eprintln!(
            "no studies in {} yet; `tunesmith tune --sandbox` makes one",
            studying::store_path(globals)?.display()
        );
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["study", "name", "created", "server", "workload", "trials", "state", "gain (95 %)"]);
    for d in &rows {
        let gain = d.gain.as_ref().map_or_else(
            || "-".to_owned(),
            |g| {
                format!(
                    "{:+.1} % ({:+.1} .. {:+.1})",
                    100.0 * (g.ratio - 1.0),
                    100.0 * (g.low - 1.0),
                    100.0 * (g.high - 1.0)
                )
            },
        );
        let server = format!("{} {}", d.server.flavour, d.server.version);
        table.add_row([
            d.study.clone(),
            d.name.clone(),
            d.created.clone(),
            server,
            d.workload.name.clone(),
            d.trials.len().to_string(),
            d.state.to_string(),
            gain,
        ]);
    }
    println!("{table}");
    Ok(())
}
