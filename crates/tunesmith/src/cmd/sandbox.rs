//! `tunesmith sandbox`.

use crate::cli::Globals;
use crate::failure::{Failure, Kind};

/// Arguments of `tunesmith sandbox`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), Failure> {
    Err(Failure::new(Kind::Bug, "sandbox is not built yet"))
}
