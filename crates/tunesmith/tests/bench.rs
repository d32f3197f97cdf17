//! `bench`, as a user runs it: results, reports, exit codes. How fast anything is plays no part.

#![expect(clippy::unwrap_used, reason = "a helper of a test that fails has no better way to say so")]

#[expect(dead_code, reason = "another test program uses the rest")]
mod common;

use common::{Tunesmith, flavours};
use serde_json::Value;
use server::fixture::{Running, servers};
use std::process::Command;
use std::time::{Duration, Instant};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}:\n{text}"))
}

/// The fields that scripts may rely on.
fn assert_promised(result: &Value) {
    assert_eq!(result["schema"], "tunesmith.bench/1");
    for path in [
        "/transactions",
        "/statements",
        "/throughput/per_second",
        "/latency_us/mean",
        "/latency_us/p50",
        "/latency_us/p90",
        "/latency_us/p95",
        "/latency_us/p99",
        "/latency_us/p999",
        "/latency_us/max",
        "/books/ok",
        "/books/rolled_back",
        "/books/retried",
        "/books/failed",
        "/books/cut",
        "/client/cpu_us_per_statement",
        "/client/cpu_share",
    ] {
        assert!(result.pointer(path).is_some_and(Value::is_number), "{path}: {result:#}");
    }
}

#[test]
fn benchbase_s_mode_on_a_server_of_our_own() {
    let Some(flavour) = flavours().into_iter().next() else { return };
    let tunesmith = Tunesmith::new();
    let folder = tunesmith.folder().join("benchbase");
    let mut command = tunesmith.command();
    command.args([&format!("--sandbox={flavour}"), "--json", "-q", "bench", "tpcc", "run", "--benchbase"]);
    command.args([
        "--warehouses",
        "1",
        "--terminals",
        "2",
        "--time",
        "2s",
        "--warmup",
        "1s",
        "--benchbase-output",
    ]);
    let run = tunesmith.run({
        command.arg(&folder);
        command
    });
    assert_eq!(run.code, 0, "{}", run.stderr);
    let result = json(&run.stdout);
    assert_promised(&result);
    assert!(result["tpmc"].is_number() && result["audit"]["rows"].is_array());
    assert_eq!(result["tpcc"]["isolation"], "serializable");
    assert_eq!(result["tpcc"]["data_set"]["layout"], "benchbase");
    let summary = json(&std::fs::read_to_string(folder.join("summary.json")).unwrap());
    assert_eq!(summary["isolation"], "TRANSACTION_SERIALIZABLE");
    assert_eq!(summary["Measured Requests"], result["transactions"]);
    let csv = std::fs::read_to_string(folder.join("results.csv")).unwrap();
    assert!(csv.starts_with("Time (seconds),Throughput (requests/second),"), "{csv}");
    assert!(csv.lines().count() > 1, "{csv}");
    tunesmith.assert_nothing_left();
}

#[test]
fn reports_comparison_and_a_server_that_hangs() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for binary in servers() {
        let running = runtime.block_on(Running::start(&binary, &[]));
        let tunesmith = Tunesmith::new();
        let bench = |verb: &str, args: &[&str]| {
            let mut command = tunesmith.command();
            command.arg("-S").arg(running.server.socket()).args(["-u", "root", "bench", "sysbench", verb]);
            command.args(args);
            command
        };
        // 0.4.12's test with its report, on its own table.
        let prepared = tunesmith.run(bench("prepare", &["--legacy", "--oltp-table-size=1000"]));
        assert_eq!(prepared.code, 0, "{}", prepared.stderr);
        let legacy = tunesmith.run(bench(
            "run",
            &[
                "--legacy",
                "--oltp-table-size=1000",
                "--num-threads=1",
                "--max-requests=50",
                "--oltp-test-mode=complex",
            ],
        ));
        assert_eq!(legacy.code, 0, "{}", legacy.stderr);
        for line in [
            "OLTP test statistics:",
            "        read:                            700",
            "        write:                           250",
            "        other:                           100",
            "Test execution summary:",
            "    total number of events:              50",
        ] {
            assert!(legacy.stdout.lines().any(|l| l == line), "{line}\n{}", legacy.stdout);
        }
        tunesmith.run(bench("cleanup", &[]));

        // Two runs of the same work, compared.
        let table = ["--table-size=1000", "--threads=2"];
        assert_eq!(tunesmith.run(bench("prepare", &table)).code, 0);
        let saved = ["a.json", "b.json"].map(|name| {
            let mut command = bench("run", &table);
            command.args(["--script", "oltp_read_only", "--time=3", "--json", "-q"]);
            let run = tunesmith.run(command);
            assert_eq!(run.code, 0, "{}", run.stderr);
            assert_promised(&json(&run.stdout));
            let path = tunesmith.folder().join(name);
            std::fs::write(&path, &run.stdout).unwrap();
            path.to_str().unwrap().to_owned()
        });
        let compared = tunesmith.run_args(&["bench", "compare", &saved[0], &saved[1], "--json"]);
        assert_eq!(compared.code, 0, "{}", compared.stderr);
        let compared = json(&compared.stdout);
        assert_eq!(compared["schema"], "tunesmith.bench-compare/1");
        let ratio = &compared["throughput"]["ratio"];
        let bound = |name: &str| ratio[name].as_f64().unwrap();
        assert!(bound("low") <= bound("estimate") && bound("estimate") <= bound("high"), "{compared:#}");
        let broken = tunesmith.folder().join("broken.json");
        std::fs::write(&broken, "{}").unwrap();
        let refused = tunesmith.run_args(&["bench", "compare", &saved[0], broken.to_str().unwrap()]);
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains("bench"), "{}", refused.stderr);

        // The server hangs: the run ends in time, the result is printed, the exit code says that it is not valid. One
        // connection, which waits in the socket itself.
        let mut command = bench("run", &["--table-size=1000", "--threads=1"]);
        command.args([
            "--script",
            "oltp_point_select",
            "--time=3",
            "--grace=500ms",
            "--report-interval=1",
            "--json",
        ]);
        let begun = Instant::now();
        let mut run = tunesmith.spawn(command);
        run.wait_for("[ 1s ]", Duration::from_secs(60));
        let started = begun.elapsed();
        signal(running.server.pid(), "STOP");
        let hung = run.finish();
        let took = begun.elapsed();
        signal(running.server.pid(), "CONT");
        assert_eq!(hung.code, 4, "{}", hung.stderr);
        // One second of the three is over when it hangs; then grace, and at most a second more.
        assert!(took < started + Duration::from_millis(2000 + 500 + 1000), "{took:?}");
        let result = json(&hung.stdout);
        assert!(result["totals"]["unanswered"].as_u64().unwrap() > 0);
        assert!(hung.stderr.contains("the server hangs"), "{}", hung.stderr);
    }
}

fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
}
