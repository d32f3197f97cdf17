//! A run's result: the JSON that `bench … run --json` promises.

use super::observer::{SecondStats, StopReason};
use super::record::{Books, Recorder};
use super::run::{Measured, SLICE};
use super::schedule::Arrivals;
use super::workload::Tally;
use crate::wire::Protocol;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// Version of the JSON's shape.
pub const SCHEMA: &str = "tunesmith.bench/1";

/// A client that uses this share of one of its threads may itself be the bottleneck.
const SATURATED: f64 = 0.8;

/// The result of a run.
#[derive(Debug, Clone, Serialize)]
pub struct RunResult {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// `tpcc` or `sysbench:SCRIPT`.
    pub workload: String,
    /// The server's own version string.
    pub server_version: String,
    /// Connections.
    pub terminals: usize,
    /// Seed of all draws.
    pub seed: u64,
    /// Prepared or text.
    pub protocol: Protocol,
    /// Closed loop, or the rate.
    pub arrivals: Arrivals,
    /// Warm-up before the window, seconds.
    pub warmup_seconds: f64,
    /// The measured window, seconds.
    pub seconds: f64,
    /// Transactions that ended well in the window: committed or rolled back as intended.
    pub transactions: u64,
    /// Statements of the window's transactions.
    pub statements: u64,
    /// The same by class.
    pub statements_by_class: ByClass,
    /// Transactions per second.
    pub throughput: Throughput,
    /// Latency from the begin of the first attempt, retries included; ended transactions only.
    pub latency_us: LatencyUs,
    /// Latency from the intended begin; open loop only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intended_latency_us: Option<LatencyUs>,
    /// How late idle terminals began: the client's own error. Open loop only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_error_us: Option<LatencyUs>,
    /// Transactions that were due and not begun. Open loop only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog: Option<Backlog>,
    /// How all transactions of the window ended.
    pub books: BooksJson,
    /// By transaction type.
    pub by_type: BTreeMap<String, TypeResult>,
    /// Failed transactions by error number; 2013 is a lost connection, as in the `mysql` client.
    pub errors: BTreeMap<u16, u64>,
    /// Retries by error number.
    pub retries: BTreeMap<u16, u64>,
    /// Connections opened again.
    pub reconnects: u64,
    /// The load generator itself.
    pub client: Client,
    /// How evenly the terminals were served.
    pub fairness: Fairness,
    /// The whole run, warm-up and time of grace included: what the server's counters must agree with.
    pub totals: Totals,
    /// Second by second, warm-up included.
    pub series: Vec<SecondStats>,
    /// Why the run ended before its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<StopReason>,
    /// What a reader must know before using the figures.
    pub warnings: Vec<String>,
    /// TPC-C only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpcc: Option<crate::tpcc::TpccResult>,
    /// TPC-C only: New-Orders per minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tpmc: Option<f64>,
    /// TPC-C only: shares against the clauses' bands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit: Option<crate::tpcc::Audit>,
}

/// Statements by class, as sysbench counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ByClass {
    /// `SELECT`.
    pub read: u64,
    /// `INSERT`, `UPDATE`, `DELETE`.
    pub write: u64,
    /// Transaction control.
    pub other: u64,
}

impl From<[u64; 3]> for ByClass {
    fn from([read, write, other]: [u64; 3]) -> Self {
        Self { read, write, other }
    }
}

impl ByClass {
    /// All statements.
    pub fn total(self) -> u64 {
        self.read + self.write + self.other
    }
}

/// Transactions per second with the 95 % interval of their mean; no interval below two slices of 100 ms.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Throughput {
    /// Mean over the window.
    pub per_second: f64,
    /// Lower bound.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
}

/// Latencies in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct LatencyUs {
    /// Number of observations.
    pub count: u64,
    /// Smallest.
    pub min: u64,
    /// Mean.
    pub mean: f64,
    /// 25th percentile.
    pub p25: u64,
    /// Median.
    pub p50: u64,
    /// 75th percentile.
    pub p75: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Largest.
    pub max: u64,
}

impl LatencyUs {
    /// Summary of a histogram of microseconds.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        if histogram.is_empty() {
            return Self::default();
        }
        let at = |q| histogram.value_at_quantile(q);
        Self {
            count: histogram.len(),
            min: histogram.min(),
            mean: histogram.mean(),
            p25: at(0.25),
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: histogram.max(),
        }
    }
}

/// Books as JSON; `attempts` of the window = ok + rolled_back + failed + cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct BooksJson {
    /// Committed.
    pub ok: u64,
    /// Rolled back as intended.
    pub rolled_back: u64,
    /// Attempts repeated; no transactions of their own.
    pub retried: u64,
    /// Given up.
    pub failed: u64,
    /// On their way when the window closed.
    pub cut: u64,
}

impl From<&Books> for BooksJson {
    fn from(b: &Books) -> Self {
        Self { ok: b.ok, rolled_back: b.rolled_back, retried: b.retried, failed: b.failed, cut: b.cut }
    }
}

/// One transaction type.
#[derive(Debug, Clone, Serialize)]
pub struct TypeResult {
    /// Its books.
    pub books: BooksJson,
    /// Service latency.
    pub latency_us: LatencyUs,
    /// Latency from the intended begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intended_latency_us: Option<LatencyUs>,
}

/// Transactions due and not begun.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Backlog {
    /// When the window closed.
    pub end: u64,
    /// At the end of the worst second.
    pub max: u64,
}

/// What the load generator cost.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Client {
    /// OS threads that drive the connections.
    pub threads: usize,
    /// CPU time of these threads in the window, user and system, for each statement.
    pub cpu_us_per_statement: f64,
    /// CPU time for each transaction.
    pub cpu_us_per_transaction: f64,
    /// CPU time / window: 1.0 is one core.
    pub cpu_share: f64,
}

/// Transactions and time of the terminals: mean and standard deviation.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Fairness {
    /// Transactions of a terminal.
    pub events_mean: f64,
    /// Their standard deviation.
    pub events_stddev: f64,
    /// Seconds that a terminal spent in transactions.
    pub execution_mean_s: f64,
    /// Their standard deviation.
    pub execution_stddev_s: f64,
}

impl Fairness {
    fn of(terminals: &[(u64, f64)]) -> Self {
        let spread = |values: &dyn Fn(&(u64, f64)) -> f64| {
            let n = terminals.len().max(1) as f64;
            let mean = terminals.iter().map(values).sum::<f64>() / n;
            let variance = terminals.iter().map(|t| (values(t) - mean).powi(2)).sum::<f64>() / n;
            (mean, variance.sqrt())
        };
        let (events_mean, events_stddev) = spread(&|t| t.0 as f64);
        let (execution_mean_s, execution_stddev_s) = spread(&|t| t.1);
        Self { events_mean, events_stddev, execution_mean_s, execution_stddev_s }
    }
}

/// The whole run.
#[derive(Debug, Clone, Serialize)]
pub struct Totals {
    /// By transaction type.
    pub by_type: BTreeMap<String, BooksJson>,
    /// Statements answered.
    pub statements: ByClass,
    /// Transactions whose fate the server did not tell: unanswered at the end of the grace.
    pub unanswered: u64,
}

/// The parts of a result that the engine does not know.
pub(crate) struct About {
    pub workload: String,
    pub server_version: String,
    pub terminals: usize,
    pub seed: u64,
    pub protocol: Protocol,
    pub arrivals: Arrivals,
    pub warmup: Duration,
    pub kinds: &'static [&'static str],
}

/// Puts a measurement into words.
pub(crate) fn result<T: Tally>(about: About, measured: &Measured<T>) -> RunResult {
    let recorder = &measured.recorder;
    let seconds = measured.window.as_secs_f64();
    let mut books = Books::default();
    let mut service = super::record::latency_histogram();
    let mut intended = super::record::latency_histogram();
    for kind in &recorder.kinds {
        books.add(&kind.books);
        // Constant bounds everywhere: the sums cannot fail.
        let _ = service.add(&kind.service);
        if let Some(histogram) = &kind.intended {
            let _ = intended.add(histogram);
        }
    }
    let transactions = books.ok + books.rolled_back;
    let statements = ByClass::from(recorder.statements);
    let by_type = about.kinds.iter().zip(&recorder.kinds).map(|(name, kind)| {
        let result = TypeResult {
            books: (&kind.books).into(),
            latency_us: LatencyUs::of(&kind.service),
            intended_latency_us: kind.intended.as_ref().map(LatencyUs::of),
        };
        ((*name).to_owned(), result)
    });
    let open = about.arrivals.is_open();
    let cpu_us = measured.cpu.as_secs_f64() * 1e6;
    let client = Client {
        threads: measured.threads,
        cpu_us_per_statement: per(cpu_us, statements.total()),
        cpu_us_per_transaction: per(cpu_us, transactions),
        cpu_share: if seconds > 0.0 { cpu_us / 1e6 / seconds } else { 0.0 },
    };
    let backlog = Backlog {
        end: measured.backlog_at_end,
        max: measured.seconds.iter().map(|s| s.backlog).max().unwrap_or(0).max(measured.backlog_at_end),
    };
    let unanswered = measured.unanswered.iter().sum();
    RunResult {
        schema: SCHEMA,
        throughput: throughput(transactions, seconds, &recorder.slices),
        warnings: warnings(&client, &books, unanswered, open.then_some(backlog)),
        workload: about.workload,
        server_version: about.server_version,
        terminals: about.terminals,
        seed: about.seed,
        protocol: about.protocol,
        arrivals: about.arrivals,
        warmup_seconds: about.warmup.as_secs_f64(),
        seconds,
        transactions,
        statements: statements.total(),
        statements_by_class: statements,
        latency_us: LatencyUs::of(&service),
        intended_latency_us: open.then(|| LatencyUs::of(&intended)),
        schedule_error_us: open.then(|| LatencyUs::of(&recorder.schedule_error)),
        backlog: open.then_some(backlog),
        books: (&books).into(),
        by_type: by_type.collect(),
        errors: recorder.errors.clone(),
        retries: recorder.retries.clone(),
        reconnects: recorder.reconnects,
        client,
        fairness: Fairness::of(&measured.terminals),
        totals: totals(about.kinds, recorder, unanswered),
        series: measured.seconds.clone(),
        stopped: measured.stopped.clone(),
        tpcc: None,
        tpmc: None,
        audit: None,
    }
}

fn totals<T>(kinds: &[&str], recorder: &Recorder<T>, unanswered: u64) -> Totals {
    Totals {
        by_type: kinds.iter().zip(&recorder.totals).map(|(k, b)| ((*k).to_owned(), b.into())).collect(),
        statements: recorder.total_statements.into(),
        unanswered,
    }
}

fn per(sum: f64, n: u64) -> f64 {
    if n == 0 { 0.0 } else { sum / n as f64 }
}

/// The mean is exact; the interval comes from slices, whose last, incomplete one is left out.
fn throughput(transactions: u64, seconds: f64, slices: &[u64]) -> Throughput {
    let per_second = if seconds > 0.0 { transactions as f64 / seconds } else { 0.0 };
    let whole = (seconds / SLICE.as_secs_f64() + 1e-6) as usize;
    let mut rates: Vec<f64> = slices.iter().map(|&n| n as f64 / SLICE.as_secs_f64()).collect();
    // A slice at the end without transactions is a slice all the same.
    rates.resize(whole, 0.0);
    // Long runs: a minute of autocorrelation is enough, and lags are quadratic.
    if whole > 6000 {
        rates = rates.chunks_exact(10).map(|c| c.iter().sum::<f64>() / 10.0).collect();
    }
    let interval = stats::throughput_interval(&rates, 0.95);
    Throughput {
        per_second,
        low: interval.map(|i| (per_second - (i.estimate - i.low)).max(0.0)),
        high: interval.map(|i| per_second + (i.high - i.estimate)),
    }
}

fn warnings(client: &Client, books: &Books, unanswered: u64, backlog: Option<Backlog>) -> Vec<String> {
    let mut warnings = Vec::new();
    if client.cpu_share >= SATURATED * client.threads as f64 {
        warnings.push(format!(
            "the client used {:.0} % of its {} thread(s): it may be the bottleneck; use more --client-threads",
            client.cpu_share / client.threads as f64 * 100.0,
            client.threads
        ));
    }
    if unanswered > 0 {
        warnings.push(format!("{unanswered} transaction(s) got no answer within the time of grace"));
    }
    if books.failed > 0 {
        warnings.push(format!("{} transaction(s) failed; see errors", books.failed));
    }
    if let Some(backlog) = backlog.filter(|b| b.end > 0) {
        warnings.push(format!("overload: {} transactions were due and not begun at the end", backlog.end));
    }
    warnings
}

/// Two read-write events in ten seconds, for tests of what is made from a result.
#[cfg(test)]
pub(crate) fn sample_result() -> RunResult {
    use super::record::Ended;
    use super::workload::Ending;
    let from = std::time::Instant::now();
    let mut recorder = Recorder::<()>::new(1, false);
    recorder.set_window(from, from + Duration::from_secs(10));
    for (at, us) in [(1, 1700), (2, 5680)] {
        let (begun, service) = (from + Duration::from_secs(at), Duration::from_micros(us));
        let event = Ended {
            kind: 0,
            begun,
            ended: begun + service,
            service,
            intended: service,
            ending: Some(Ending::Committed),
            cut: false,
        };
        recorder.ended(&event, [14, 5, 2], |()| {});
    }
    let measured = Measured {
        recorder,
        seconds: Vec::new(),
        window: Duration::from_secs(10),
        cpu: Duration::from_micros(420),
        threads: 1,
        stopped: None,
        unanswered: vec![0],
        backlog_at_end: 0,
        terminals: vec![(2, 0.00738)],
    };
    let about = About {
        workload: "sysbench:legacy".into(),
        server_version: "10.11.19-MariaDB".into(),
        terminals: 1,
        seed: 1,
        protocol: Protocol::Prepared,
        arrivals: Arrivals::Closed,
        warmup: Duration::ZERO,
        kinds: &["event"],
    };
    result(about, &measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_between_the_extremes() {
        let mut h = crate::engine::record::latency_histogram();
        for us in [3u64, 40_000, 130_000_000] {
            h.record(us).unwrap();
        }
        let l = LatencyUs::of(&h);
        assert!(l.min <= l.p50 && l.p50 <= l.p999 && l.p999 <= l.max, "{l:?}");
        // 130 s are 130 s, to three digits.
        assert!((l.max as f64 / 130e6 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn the_throughput_interval_surrounds_the_exact_mean() {
        let slices: Vec<u64> = (0..50).map(|i| 100 + i % 7).collect();
        let n = slices.iter().sum();
        let t = throughput(n, 5.0, &slices);
        assert!(t.low.unwrap() < t.per_second && t.per_second < t.high.unwrap());
        assert!((t.per_second - n as f64 / 5.0).abs() < 1e-9);
        assert!(throughput(7, 0.05, &[7]).low.is_none());
    }
}
