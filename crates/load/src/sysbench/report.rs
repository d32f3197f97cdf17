//! The reports that other programs parse: sysbench 1.0's and 0.4.12's final texts, letter by letter.

use crate::engine::{RunResult, SecondStats};
use std::fmt::Write as _;

/// 1.0's final report. `percentile` is one of 50, 75, 90, 95, 99, 99.9; others show the 95th.
pub fn final_report(run: &RunResult, percentile: f64) -> String {
    let c = run.statements_by_class;
    let per = |n: u64| per_second(n, run.seconds);
    let ignored = run.books.retried + run.books.failed;
    let ms = |us: f64| us / 1000.0;
    let l = &run.latency_us;
    let (label, value) = percentile_of(run, percentile);
    let f = &run.fairness;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "SQL statistics:
    queries performed:
        read:                            {}
        write:                           {}
        other:                           {}
        total:                           {}
    transactions:                        {:<6} ({:.2} per sec.)
    queries:                             {:<6} ({:.2} per sec.)
    ignored errors:                      {:<6} ({:.2} per sec.)
    reconnects:                          {:<6} ({:.2} per sec.)

General statistics:
    total time:                          {:.4}s
    total number of events:              {}

Latency (ms):
         min:                              {:>10.2}
         avg:                              {:>10.2}
         max:                              {:>10.2}
        {label:>3}th percentile:                  {:>10.2}
         sum:                              {:>10.2}

Threads fairness:
    events (avg/stddev):           {:.4}/{:.2}
    execution time (avg/stddev):   {:.4}/{:.2}

",
        c.read,
        c.write,
        c.other,
        c.total(),
        run.transactions,
        per(run.transactions),
        c.total(),
        per(c.total()),
        ignored,
        per(ignored),
        run.reconnects,
        per(run.reconnects),
        run.seconds,
        run.transactions,
        ms(l.min as f64),
        ms(l.mean),
        ms(l.max as f64),
        ms(value as f64),
        ms(l.mean * l.count as f64),
        f.events_mean,
        f.events_stddev,
        f.execution_mean_s,
        f.execution_stddev_s,
    );
    out
}

/// 0.4.12's final report.
pub fn legacy_report(run: &RunResult) -> String {
    let c = run.statements_by_class;
    let per = |n: u64| per_second(n, run.seconds);
    let ms = |us: f64| us / 1000.0;
    let l = &run.latency_us;
    let f = &run.fairness;
    let busy = l.mean * l.count as f64 / 1e6;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "OLTP test statistics:
    queries performed:
        read:                            {}
        write:                           {}
        other:                           {}
        total:                           {}
    transactions:                        {:<6} ({:.2} per sec.)
    deadlocks:                           {:<6} ({:.2} per sec.)
    read/write requests:                 {:<6} ({:.2} per sec.)
    other operations:                    {:<6} ({:.2} per sec.)

Test execution summary:
    total time:                          {:.4}s
    total number of events:              {}
    total time taken by event execution: {busy:.4}
    per-request statistics:
         min:                            {:>10.2}ms
         avg:                            {:>10.2}ms
         max:                            {:>10.2}ms
         approx.  95 percentile:         {:>10.2}ms

Threads fairness:
    events (avg/stddev):           {:.4}/{:.2}
    execution time (avg/stddev):   {:.4}/{:.2}

",
        c.read,
        c.write,
        c.other,
        c.total(),
        run.transactions,
        per(run.transactions),
        run.books.retried,
        per(run.books.retried),
        c.read + c.write,
        per(c.read + c.write),
        c.other,
        per(c.other),
        run.seconds,
        run.transactions,
        ms(l.min as f64),
        ms(l.mean),
        ms(l.max as f64),
        ms(l.p95 as f64),
        f.events_mean,
        f.events_stddev,
        f.execution_mean_s,
        f.execution_stddev_s,
    );
    out
}

/// 1.0's line for one second.
pub fn interval_line(s: &SecondStats, threads: usize, open_loop: bool) -> String {
    let [r, w, o] = s.statements;
    let mut line = format!(
        "[ {}s ] thds: {threads} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat (ms,95%): {:.2} err/s: {:.2} reconn/s: {:.2}",
        s.second,
        s.committed as f64,
        (r + w + o) as f64,
        r as f64,
        w as f64,
        o as f64,
        s.p95_us as f64 / 1000.0,
        (s.retried + s.failed) as f64,
        s.reconnects as f64
    );
    if open_loop {
        let _ = write!(line, "\n[ {}s ] queue length: {}, concurrency: {}", s.second, s.backlog, s.in_flight);
    }
    line
}

fn per_second(n: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { n as f64 / seconds } else { 0.0 }
}

fn percentile_of(run: &RunResult, percentile: f64) -> (&'static str, u64) {
    let l = &run.latency_us;
    [
        (50.0, "50", l.p50),
        (75.0, "75", l.p75),
        (90.0, "90", l.p90),
        (99.0, "99", l.p99),
        (99.9, "99.9", l.p999),
    ]
    .into_iter()
    .find(|(p, ..)| (p - percentile).abs() < 1e-9)
    .map_or(("95", l.p95), |(_, label, value)| (label, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::sample_result;

    #[test]
    fn the_final_report_is_1_0_s() {
        let expected = "SQL statistics:
    queries performed:
        read:                            28
        write:                           10
        other:                           4
        total:                           42
    transactions:                        2      (0.20 per sec.)
    queries:                             42     (4.20 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          10.0000s
    total number of events:              2

Latency (ms):
         min:                                    1.70
         avg:                                    3.69
         max:                                    5.68
         99th percentile:                        5.68
         sum:                                    7.38

Threads fairness:
    events (avg/stddev):           2.0000/0.00
    execution time (avg/stddev):   0.0074/0.00

";
        assert_eq!(final_report(&sample_result(), 99.0), expected);
    }

    /// As the released 0.4.12 prints it: its head version of 2016 said "General statistics" and "response time".
    #[test]
    fn the_legacy_report_is_0_4_12_s() {
        let expected = "OLTP test statistics:
    queries performed:
        read:                            28
        write:                           10
        other:                           4
        total:                           42
    transactions:                        2      (0.20 per sec.)
    deadlocks:                           0      (0.00 per sec.)
    read/write requests:                 38     (3.80 per sec.)
    other operations:                    4      (0.40 per sec.)

Test execution summary:
    total time:                          10.0000s
    total number of events:              2
    total time taken by event execution: 0.0074
    per-request statistics:
         min:                                  1.70ms
         avg:                                  3.69ms
         max:                                  5.68ms
         approx.  95 percentile:               5.68ms

Threads fairness:
    events (avg/stddev):           2.0000/0.00
    execution time (avg/stddev):   0.0074/0.00

";
        assert_eq!(legacy_report(&sample_result()), expected);
    }

    #[test]
    fn a_second_is_shown_as_sysbench_shows_it() {
        let second = SecondStats {
            second: 2,
            committed: 49,
            statements: [686, 196, 98],
            p95_us: 25_280,
            ..SecondStats::default()
        };
        assert_eq!(
            interval_line(&second, 1, false),
            "[ 2s ] thds: 1 tps: 49.00 qps: 980.00 (r/w/o: 686.00/196.00/98.00) lat (ms,95%): 25.28 err/s: 0.00 reconn/s: 0.00"
        );
    }
}
