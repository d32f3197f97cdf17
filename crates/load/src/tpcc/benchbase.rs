//! BenchBase's `summary.json` and `results.csv`, under its key names.

use crate::engine::RunResult;
use serde_json::json;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

/// The two files' texts.
pub fn benchbase_output(run: &RunResult, warehouses: u32, started: SystemTime) -> (String, String) {
    let millis = |t: SystemTime| t.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
    let l = &run.latency_us;
    let isolation = run.tpcc.as_ref().and_then(|t| t.isolation.jdbc_name());
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

/// One line a second.
fn results_csv(run: &RunResult) -> String {
    let mut csv = String::from(
        "Time (seconds),Throughput (requests/second),Average Latency (millisecond),Minimum Latency (millisecond),\
         25th Percentile Latency (millisecond),Median Latency (millisecond),75th Percentile Latency (millisecond),\
         90th Percentile Latency (millisecond),95th Percentile Latency (millisecond),\
         99th Percentile Latency (millisecond),Maximum Latency (millisecond),tp (req/s) scaled\n",
    );
    for (n, s) in run.series.iter().filter(|s| s.measured).enumerate() {
        let _ = write!(csv, "{n},{}.000,{:.3}", s.committed + s.rolled_back, s.mean_us / 1000.0);
        for us in [s.min_us, s.p25_us, s.p50_us, s.p75_us, s.p90_us, s.p95_us, s.p99_us, s.max_us] {
            // Writing to a string cannot fail.
            let _ = write!(csv, ",{:.3}", us as f64 / 1000.0);
        }
        // BenchBase's last column: what one terminal would do with this mean latency, in units of 1,000 a second.
        let scaled = if s.mean_us > 0.0 { 1000.0 / s.mean_us } else { 0.0 };
        let _ = writeln!(csv, ",{scaled:.3}");
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{SecondStats, sample_result};

    #[test]
    fn the_files_have_benchbase_s_keys_and_columns() {
        let mut run = sample_result();
        let second = |measured, committed| SecondStats {
            measured,
            committed,
            rolled_back: 1,
            mean_us: 4000.0,
            min_us: 1500,
            p25_us: 2000,
            p50_us: 3500,
            p75_us: 5000,
            p90_us: 6000,
            p95_us: 7000,
            p99_us: 8000,
            max_us: 9250,
            ..SecondStats::default()
        };
        run.series = vec![second(false, 5), second(true, 249)];
        let (summary, csv) = benchbase_output(&run, 3, UNIX_EPOCH);
        let summary: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&summary).unwrap();
        let mut keys: Vec<&str> = summary.keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(
            keys,
            [
                "Benchmark Type",
                "Current Timestamp (milliseconds)",
                "DBMS Type",
                "DBMS Version",
                "Elapsed Time (nanoseconds)",
                "Final State",
                "Goodput (requests/second)",
                "Latency Distribution",
                "Measured Requests",
                "Start timestamp (milliseconds)",
                "Throughput (requests/second)",
                "isolation",
                "scalefactor",
                "terminals",
            ]
        );
        assert_eq!(summary["scalefactor"], "3");
        assert_eq!(summary["Latency Distribution"].as_object().unwrap().len(), 9);
        assert_eq!(summary["Latency Distribution"]["Minimum Latency (microseconds)"], 1700);
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 2, "the warm-up is not in it");
        assert_eq!(lines[0].split(',').count(), 12);
        assert_eq!(lines[1], "0,250.000,4.000,1.500,2.000,3.500,5.000,6.000,7.000,8.000,9.250,0.250");
    }
}
