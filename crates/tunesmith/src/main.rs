//! `tunesmith`: arguments in, text out.

mod cli;
mod cmd;
mod emulation;
mod failure;
mod progress;
mod studying;
mod units;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit_code()
        }
    }
}
