//! `tunesmith search serve` and `search bench` without the rest of the binary: `serve`, or `serve bench [ONLY] [SEEDS]`.

use std::io::{BufRead, Write};
use tunesmith_search::{bench, serve::Session};

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|a| a == "bench") {
        let seeds = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(5);
        let plan = bench::Plan { seeds: 1..1 + seeds, only: args.get(1).cloned(), shift: 0 };
        print!("{}", bench::run(&plan, |_| ()));
        return Ok(());
    }
    let mut session = Session::new();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        writeln!(out, "{}", session.answer(&line?))?;
        out.flush()?;
    }
    Ok(())
}
