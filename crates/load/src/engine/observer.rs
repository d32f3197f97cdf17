//! What a caller sees while a run goes on.

use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Transactions since the start of the run (warm-up included), to be sampled at any time.
#[derive(Debug, Default)]
pub struct LiveCounters {
    /// Committed.
    pub committed: AtomicU64,
    /// Rolled back as intended.
    pub rolled_back: AtomicU64,
    /// Attempts repeated after a deadlock or a lock wait timeout.
    pub retried: AtomicU64,
    /// Given up.
    pub failed: AtomicU64,
}

impl LiveCounters {
    /// (committed, rolled back, retried, failed)
    pub fn sample(&self) -> (u64, u64, u64, u64) {
        (
            self.committed.load(Relaxed),
            self.rolled_back.load(Relaxed),
            self.retried.load(Relaxed),
            self.failed.load(Relaxed),
        )
    }
}

/// One second of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SecondStats {
    /// Seconds since the start of the run, at the end of this slice.
    pub second: u32,
    /// Whether it lies in the measured window.
    pub measured: bool,
    /// Transactions committed.
    pub committed: u64,
    /// Transactions rolled back as intended.
    pub rolled_back: u64,
    /// Attempts repeated.
    pub retried: u64,
    /// Transactions given up.
    pub failed: u64,
    /// Connections opened again.
    pub reconnects: u64,
    /// Statements: reads, writes, transaction control.
    pub statements: [u64; 3],
    /// Mean service latency in microseconds.
    pub mean_us: f64,
    /// Smallest service latency in microseconds.
    pub min_us: u64,
    /// 25th percentile in microseconds.
    pub p25_us: u64,
    /// Median service latency in microseconds.
    pub p50_us: u64,
    /// 75th percentile in microseconds.
    pub p75_us: u64,
    /// 90th percentile in microseconds.
    pub p90_us: u64,
    /// 95th percentile in microseconds.
    pub p95_us: u64,
    /// 99th percentile in microseconds.
    pub p99_us: u64,
    /// Largest service latency in microseconds.
    pub max_us: u64,
    /// Open loop: transactions that are due but not begun.
    pub backlog: u64,
    /// Transactions on their way.
    pub in_flight: u64,
}

/// Why a run ended before its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopReason(pub String);

/// Watches a run. All methods are called on the engine's control thread, so they should return soon.
pub trait Observer: Sync {
    /// All connections are open; the run begins.
    fn started(&self, _counters: &Arc<LiveCounters>) {}

    /// The measured window begins now.
    fn window_opened(&self) {}

    /// The measured window ends now.
    fn window_closed(&self) {}

    /// A second is over.
    fn second(&self, _second: &SecondStats) {}

    /// Asked at least ten times a second: a reason ends the run at once.
    fn should_stop(&self) -> Option<StopReason> {
        None
    }
}

/// Watches nothing.
pub struct Quiet;

impl Observer for Quiet {}
