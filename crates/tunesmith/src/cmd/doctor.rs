//! `tunesmith doctor`.

use crate::cli::Globals;
use crate::failure::{Failure, Kind};

/// Arguments of `tunesmith doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), Failure> {
    Err(Failure::new(Kind::Bug, "doctor is not built yet"))
}
