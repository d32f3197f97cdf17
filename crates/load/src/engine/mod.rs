//! The engine: many connections on few threads, a measured window with exact edges, books that add up.

mod errors;
mod observer;
mod options;
mod record;
mod result;
mod run;
mod schedule;
mod terminal;
mod workload;

pub use errors::{ErrorPolicy, Verdict};
pub use observer::{LiveCounters, Observer, Quiet, SecondStats, StopReason};
pub use options::EngineOptions;
pub use result::{
    Backlog, BooksJson, ByClass, Client, Fairness, LatencyUs, RunResult, SCHEMA, Throughput, Totals,
    TypeResult,
};
pub use run::RunError;
pub use schedule::Arrivals;
pub use workload::{Ending, Next, Script, Tally, Workload};

#[cfg(test)]
pub(crate) use result::sample_result;
pub(crate) use result::{About, result};
pub(crate) use run::run;
