//! The connection options shared by all commands.

use std::path::PathBuf;

/// Where the server is and how to log in.
#[derive(Debug, clap::Args)]
pub struct ConnectionArgs {
    /// Use a private server that tunesmith starts and stops itself.
    #[arg(long, global = true, value_name = "FLAVOUR", num_args = 0..=1, require_equals = true, default_missing_value = "any")]
    pub sandbox: Option<String>,
    /// Unix socket of the server.
    #[arg(short = 'S', long, global = true, value_name = "PATH")]
    pub socket: Option<PathBuf>,
}
