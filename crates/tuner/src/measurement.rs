//! What one trial observed.

use crate::spec::Objective;
use crate::validity::Counts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use target::Coercion;

/// Service latency of committed transactions, microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// The slowest.
    pub max: u64,
}

/// What the server had put off at the end of the window: work that a longer run would have to pay for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Deferred {
    /// Redo written since the last checkpoint, bytes.
    pub checkpoint_age: Option<u64>,
    /// How much of it came up during the window, bytes.
    pub checkpoint_age_growth: Option<i64>,
    /// Redo that may be written before a checkpoint is forced, bytes.
    pub redo_capacity: Option<u64>,
}

/// The observation of one trial, stored before it is judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// When the window began, seconds since 1970.
    pub at: f64,
    /// Seconds from planned to measured.
    pub seconds: f64,
    /// What was counted.
    pub counts: Counts,
    /// How long transactions took.
    pub latency_us: Latency,
    /// (percentile, microseconds), for the chart.
    pub curve: Vec<(f64, u64)>,
    /// Commits in each second from the first of the warm-up on.
    pub series: Vec<u64>,
    /// How many seconds of `series` are warm-up.
    pub warmup: usize,
    /// Transactions made again after a deadlock or a lock wait timeout.
    pub retried: u64,
    /// Transactions rolled back on purpose (1 % of New-Orders).
    pub rolled_back: u64,
    /// What the server made of the configuration.
    pub coercions: Vec<Coercion>,
    /// Whether the server was restarted for it.
    pub restarted: bool,
    /// Variables that decide about durability and results, as read back.
    pub guarded: BTreeMap<String, String>,
    /// Work put off.
    pub deferred: Deferred,
    /// The load generator's share of one core.
    pub client_cpu_share: f64,
}

impl Measurement {
    /// The objective's value.
    pub fn value(&self, objective: Objective) -> f64 {
        match objective {
            Objective::Tps => self.counts.per_second(),
            Objective::P95 => self.latency_us.p95 as f64,
            Objective::P99 => self.latency_us.p99 as f64,
        }
    }
}

/// Variables that must read the same in every trial of a study: what is durable, and what a statement means.
pub const GUARDED: [&str; 14] = [
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_log_at_timeout",
    "innodb_doublewrite",
    "innodb_checksum_algorithm",
    "innodb_fast_shutdown",
    "innodb_force_recovery",
    "sync_binlog",
    "log_bin",
    "binlog_format",
    "sql_mode",
    "transaction_isolation",
    "tx_isolation",
    "autocommit",
    "innodb_snapshot_isolation",
];
