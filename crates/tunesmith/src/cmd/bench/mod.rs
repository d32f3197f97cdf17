//! `tunesmith bench`: loads a workload's data, runs it, checks it, compares two runs.

mod compare;
mod place;
mod sysbench;
mod tpcc;

pub use sysbench::options_from_text as sysbench_options;

use crate::cli::Globals;
use crate::failure::Failure;
use clap::Subcommand;

/// Load a workload's data, run it, check it, compare two runs.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// TPC-C: results are TPC-C-like and not audited.
    #[command(subcommand)]
    Tpcc(tpcc::Command),
    /// sysbench's OLTP scripts, and the built-in test of 0.4.12 (--legacy).
    #[command(subcommand)]
    Sysbench(Box<sysbench::Command>),
    /// Compare two results saved with --json.
    Compare(compare::Args),
}

/// Runs the command.
pub async fn run(args: Args, globals: &Globals) -> Result<(), Failure> {
    match args.command {
        Command::Tpcc(command) => tpcc::run(command, globals).await,
        Command::Sysbench(command) => sysbench::run(*command, globals).await,
        Command::Compare(args) => compare::run(&args, globals),
    }
}
