//! The command line: global options, and which command runs.

use crate::cmd;
use crate::failure::{Failure, Kind};
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Tunes MySQL and MariaDB by machine learning, proves the gain by measurement, and says what to buy.
#[derive(Debug, Parser)]
#[command(name = "tunesmith", version, disable_help_flag = true, args_override_self = true)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

/// Options that every command takes. Connection options follow the habits of the `mysql` client.
#[derive(Debug, clap::Args)]
pub struct Globals {
    /// Print one JSON document on standard output.
    #[arg(long, global = true)]
    pub json: bool,
    /// Seed of every random choice.
    #[arg(long, global = true, default_value_t = 1)]
    pub seed: u64,
    /// Say less.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// The studies' database file.
    #[arg(long, global = true, value_name = "PATH")]
    pub store: Option<PathBuf>,
    /// Skip confirmations.
    #[arg(long, global = true)]
    pub yes: bool,
    /// Print help.
    #[arg(long, global = true, action = clap::ArgAction::Help)]
    help: Option<bool>,
    /// Where the server is and how to log in.
    #[command(flatten)]
    pub connection: cmd::connection::ConnectionArgs,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What the rules say about a server, and how to apply it.
    Advise(cmd::advise::Args),
    /// Load a workload's data and run it.
    Bench(cmd::bench::Args),
    /// Contenders measured against each other, on one or more machines.
    Compare(cmd::compare::Args),
    /// What this machine allows, what is missing and how to get it.
    Doctor(cmd::doctor::Args),
    /// The knob registry, against a live server or a flavour and version.
    Knobs(cmd::knobs::Args),
    /// Experiments that are written down: recipes.
    Lab(cmd::lab::Args),
    /// What a machine costs a year, and which gives most for the money.
    Price(cmd::price::Args),
    /// Private servers by hand.
    Sandbox(cmd::sandbox::Args),
    /// One self-contained file about a study.
    Report(cmd::report::Args),
    /// The optimiser alone.
    Search(cmd::search::Args),
    /// What is stored.
    Studies(cmd::studies::Args),
    /// Throughput over numbers of threads, on one or more machines, and its knee.
    Sweep(cmd::sweep::Args),
    /// Find a better configuration, and prove that it is better.
    Tune(cmd::tune::Args),
}

/// Reads a command line that was written down: the command first, no program's name.
pub fn parse(line: &[String]) -> Result<(Command, Globals), clap::Error> {
    let cli = Cli::try_parse_from(std::iter::once("tunesmith").chain(line.iter().map(String::as_str)))?;
    Ok((cli.command, cli.globals))
}

/// Parses the arguments and runs the command on a single-threaded runtime: private servers are bound to the
/// life of the thread that starts them, which so is the process's main thread.
pub fn run() -> Result<(), Failure> {
    cmd::connection::hide_passwords();
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::caused(Kind::Bug, "start the runtime", e))?;
    let globals = &cli.globals;
    runtime.block_on(async {
        match cli.command {
            Command::Advise(args) => cmd::advise::run(args, globals).await,
            Command::Bench(args) => cmd::bench::run(args, globals).await,
            Command::Compare(args) => cmd::compare::run(args, globals).await,
            Command::Doctor(args) => cmd::doctor::run(args, globals).await,
            Command::Knobs(args) => cmd::knobs::run(args, globals).await,
            Command::Lab(args) => cmd::lab::run(args, globals).await,
            Command::Price(args) => cmd::price::run(args, globals).await,
            Command::Sandbox(args) => cmd::sandbox::run(args, globals).await,
            Command::Report(args) => cmd::report::run(args, globals).await,
            Command::Search(args) => cmd::search::run(args, globals).await,
            Command::Studies(args) => cmd::studies::run(args, globals).await,
            Command::Sweep(args) => cmd::sweep::run(args, globals).await,
            Command::Tune(args) => cmd::tune::run(args, globals).await,
        }
    })
}
