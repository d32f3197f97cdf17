//! `tunesmith`: arguments in, text out.

mod cli;
mod cmd;
mod emulation;
mod experiment;
mod failure;
mod progress;
mod studying;
mod units;

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    end_quietly_when_nobody_reads();
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(std::io::stderr(), "{failure}");
            failure.exit_code()
        }
    }
}

/// A reader that has seen enough (`| head`) closes the pipe, and `println!` panics: no error of ours. What runs long or changes a
/// server writes with `writeln!` and does not care who reads.
fn end_quietly_when_nobody_reads() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload().downcast_ref::<String>().map_or("", String::as_str);
        if text.starts_with("failed printing to stdout") && text.contains("Broken pipe") {
            std::process::exit(0);
        }
        usual(panic);
    }));
}
