//! sysbench's OLTP scripts (1.0) and the built-in test of 0.4.12, to the statement.

mod event;
mod ids;
mod options;
mod prepare;
mod report;
mod workload;

pub use ids::Distribution;
pub use options::{Counts, Kind, Legacy, LegacyMode, NonTrx, ScriptName, SysbenchOptions, Tables};
pub use prepare::{DATABASE, cleanup, prepare};
pub use report::{final_report, interval_line, legacy_report};
pub use workload::{SysbenchError, run};
