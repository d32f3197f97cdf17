//! `tunesmith bench compare A.json B.json`.

use super::place::print_json;
use crate::cli::Globals;
use crate::failure::{Failure, Kind};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Two saved results.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The first result.
    a: PathBuf,
    /// The second, whose change against the first is shown.
    b: PathBuf,
}

/// The comparison as JSON.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    throughput: stats::Comparison,
    /// Percentile, A, B (microseconds).
    latency_us: Vec<(String, f64, f64)>,
    /// Options that differ, which may be all that the difference shows.
    differences: Vec<String>,
}

pub fn run(args: &Args, globals: &Globals) -> Result<(), Failure> {
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    let (series_a, series_b) = (series(&a, &args.a)?, series(&b, &args.b)?);
    let throughput = stats::compare(&series_a, &series_b, 0.95).ok_or_else(|| {
        Failure::new(Kind::Usage, "each result needs at least two measured seconds with transactions")
    })?;
    let percentile = |run: &Value, name: &str| run["latency_us"][name].as_f64().unwrap_or(0.0);
    let latency_us = ["mean", "p50", "p95", "p99", "p999"]
        .map(|p| (p.to_owned(), percentile(&a, p), percentile(&b, p)))
        .into();
    let differences = ["workload", "terminals", "protocol", "arrivals", "server_version"]
        .iter()
        .filter(|key| a[**key] != b[**key])
        .map(|key| format!("{key}: {} and {}", a[*key], b[*key]))
        .collect();
    let document = Document { schema: "tunesmith.bench-compare/1", throughput, latency_us, differences };
    if globals.json {
        return print_json(&document);
    }
    let t = &document.throughput;
    println!("throughput  A {:.1}/s  B {:.1}/s", t.a, t.b);
    println!(
        "B / A = {:.3} (95 %: {:.3} to {:.3}): {}",
        t.ratio.estimate,
        t.ratio.low,
        t.ratio.high,
        if t.significant { "a difference" } else { "no difference that the noise would not make" }
    );
    for (name, a, b) in &document.latency_us {
        println!("latency {name:>5}  A {:>9.2} ms  B {:>9.2} ms", a / 1000.0, b / 1000.0);
    }
    for difference in &document.differences {
        println!("differs: {difference}");
    }
    println!(
        "two runs one after the other cannot tell a difference from the host's mood; interleave pairs to prove one"
    );
    Ok(())
}

fn read(path: &Path) -> Result<Value, Failure> {
    let failed = |e: Box<dyn std::error::Error + Send + Sync>| {
        Failure::caused(Kind::Usage, format!("read {}", path.display()), e)
            .hint("save a result with `tunesmith bench … run --json > FILE`")
    };
    let text = std::fs::read_to_string(path).map_err(|e| failed(e.into()))?;
    serde_json::from_str(&text).map_err(|e| failed(e.into()))
}

/// Transactions of each measured second.
fn series(run: &Value, path: &Path) -> Result<Vec<f64>, Failure> {
    let seconds =
        run["series"].as_array().filter(|_| run["schema"] == load::engine::SCHEMA).ok_or_else(|| {
            Failure::new(Kind::Usage, format!("{} is not a result of `bench … run --json`", path.display()))
        })?;
    let measured = seconds.iter().filter(|s| s["measured"] == Value::Bool(true));
    let count = |s: &Value, key: &str| s[key].as_f64().unwrap_or(0.0);
    Ok(measured.map(|s| count(s, "committed") + count(s, "rolled_back")).collect())
}
