//! How a run goes.

use super::errors::ErrorPolicy;
use super::schedule::Arrivals;
use crate::wire::Protocol;
use std::time::Duration;

/// How a run goes, whatever the workload.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Connections.
    pub terminals: usize,
    /// Length of the measured window; `None` ends by `events` only.
    pub time: Option<Duration>,
    /// Runs before the window opens; not measured.
    pub warmup: Duration,
    /// Transactions after which the run ends, over all terminals.
    pub events: Option<u64>,
    /// Closed or open loop.
    pub arrivals: Arrivals,
    /// How long transactions on their way may go on after the window; then their connections are cut.
    pub grace: Duration,
    /// OS threads; `None`: half the cores, at least one.
    pub threads: Option<usize>,
    /// Prepared or text.
    pub protocol: Protocol,
    /// What errors mean.
    pub errors: ErrorPolicy,
    /// Attempts before a transaction is given up.
    pub max_attempts: u32,
    /// Seed of all draws.
    pub seed: u64,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            terminals: 1,
            time: Some(Duration::from_secs(60)),
            warmup: Duration::ZERO,
            events: None,
            arrivals: Arrivals::Closed,
            grace: Duration::from_millis(750),
            threads: None,
            protocol: Protocol::Prepared,
            errors: ErrorPolicy::default(),
            max_attempts: 1000,
            seed: 1,
        }
    }
}

impl EngineOptions {
    /// The number of OS threads that this run uses.
    pub fn thread_count(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or((cores / 2).max(1)).clamp(1, self.terminals.max(1))
    }
}
