//! `tunesmith search`: the optimiser alone.

use crate::cli::Globals;
use crate::failure::{Failure, Kind};
use search::bench;
use search::serve::Session;
use std::io::{BufRead, Write};

/// Arguments of `tunesmith search`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Ask and tell as JSON lines on standard input and output (docs/optimiser.md).
    Serve,
    /// Measure the optimiser on tasks whose optimum is known.
    Bench(BenchArgs),
}

#[derive(Debug, clap::Args)]
struct BenchArgs {
    /// Studies per task, each with a seed of its own.
    #[arg(long, default_value_t = 20)]
    seeds: u64,
    /// First seed.
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// Only tasks whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Added to the seeds that the synthetic tasks are drawn from: other tasks of the same kinds.
    #[arg(long, default_value_t = 0)]
    shift: u64,
}

/// Runs the command.
pub async fn run(args: Args, globals: &Globals) -> Result<(), Failure> {
    match args.command {
        Command::Serve => serve(),
        Command::Bench(args) => bench(&args, globals),
    }
}

fn serve() -> Result<(), Failure> {
    let mut session = Session::new();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| Failure::caused(Kind::Usage, "read a line of standard input", e))?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = session.answer(&line);
        // A reader that has gone away is the end of the conversation, not a failure.
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            break;
        }
    }
    Ok(())
}

fn bench(args: &BenchArgs, globals: &Globals) -> Result<(), Failure> {
    let plan = bench::Plan {
        seeds: args.first_seed..args.first_seed + args.seeds,
        only: args.only.clone(),
        shift: args.shift,
    };
    let report = bench::run(&plan, |progress| {
        if !globals.quiet {
            eprintln!("{progress}");
        }
    });
    if globals.json {
        let text = serde_json::to_string_pretty(&report)
            .map_err(|e| Failure::caused(Kind::Bug, "write the report as JSON", e))?;
        println!("{text}");
    } else {
        print!("{report}");
    }
    Ok(())
}
