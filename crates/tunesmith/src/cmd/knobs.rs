//! `tunesmith knobs`.

use crate::cli::Globals;
use crate::failure::{Failure, Kind};

/// Arguments of `tunesmith knobs`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), Failure> {
    Err(Failure::new(Kind::Bug, "knobs is not built yet"))
}
