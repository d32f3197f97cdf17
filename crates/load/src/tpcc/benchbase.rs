//! BenchBase's `summary.json` and `results.csv`, under its key names.

use crate::engine::RunResult;
use serde_json::json;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// The two files' texts.
pub fn benchbase_output(run: &RunResult, warehouses: u32, started: SystemTime) -> (String, String) {
    let millis = |t: SystemTime| t.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
    let l = &run.latency_us;
    let isolation = run.tpcc.as_ref().map(|t| t.isolation);
    let flavour = if run.server_version.contains("MariaDB") { "MARIADB" } else { "MYSQL" };
    let goodput = if run.seconds > 0.0 { run.books.ok as f64 / run.seconds } else { 0.0 };
    let summary = json!({
        "Start timestamp (milliseconds)": millis(started),
        "Current Timestamp (milliseconds)": millis(SystemTime::now()),
        "Elapsed Time (nanoseconds)": (run.seconds * 1e9) as u64,
        "DBMS Type": flavour,
        "DBMS Version": run.server_version,
        "Benchmark Type": "tpcc",
        "Final State": "EXIT",
        "Measured Requests": run.transactions,
        "isolation": isolation,
        "scalefactor": warehouses.to_string(),
        "terminals": run.terminals.to_string(),
        "Latency Distribution": {
            "Minimum Latency (microseconds)": l.min,
            "25th Percentile Latency (microseconds)": l.p25,
            "Median Latency (microseconds)": l.p50,
            "Average Latency (microseconds)": l.mean as u64,
            "75th Percentile Latency (microseconds)": l.p75,
            "90th Percentile Latency (microseconds)": l.p90,
            "95th Percentile Latency (microseconds)": l.p95,
            "99th Percentile Latency (microseconds)": l.p99,
            "Maximum Latency (microseconds)": l.max,
        },
        "Throughput (requests/second)": run.throughput.per_second,
        "Goodput (requests/second)": goodput,
    });
    (format!("{summary:#}\n"), results_csv(run))
}

/// One line a second; what a second does not keep is left empty.
fn results_csv(run: &RunResult) -> String {
    let mut csv = String::from(
        "Time (seconds),Throughput (requests/second),Average Latency (millisecond),Minimum Latency (millisecond),\
         25th Percentile Latency (millisecond),Median Latency (millisecond),75th Percentile Latency (millisecond),\
         90th Percentile Latency (millisecond),95th Percentile Latency (millisecond),\
         99th Percentile Latency (millisecond),Maximum Latency (millisecond),tp (req/s) scaled\n",
    );
    let ms = |us: f64| us / 1000.0;
    for (n, s) in run.series.iter().filter(|s| s.measured).enumerate() {
        let count = s.committed + s.rolled_back;
        // Writing to a string cannot fail.
        let _ = writeln!(
            csv,
            "{n},{count}.000,{:.3},,,{:.3},,,{:.3},{:.3},,",
            ms(s.mean_us),
            ms(s.p50_us as f64),
            ms(s.p95_us as f64),
            ms(s.p99_us as f64)
        );
    }
    csv
}
