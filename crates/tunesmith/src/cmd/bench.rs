//! `tunesmith bench`.

use crate::cli::Globals;
use crate::failure::{Failure, Kind};

/// Arguments of `tunesmith bench`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_args: Args, _globals: &Globals) -> Result<(), Failure> {
    Err(Failure::new(Kind::Bug, "bench is not built yet"))
}
