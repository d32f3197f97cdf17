//! Intervals, comparisons, warm-up detection and the knee of a curve. Pure: no I/O, no clock, no global state.
//!
//! Every function takes plain numbers and returns plain numbers; randomness comes from a seed argument.
#![forbid(unsafe_code)]

mod bootstrap;
mod compare;
mod interval;
mod scalability;
mod series;

pub use bootstrap::percentile_interval;
pub use compare::{Comparison, compare, paired_difference, paired_ratio};
pub use interval::{Interval, mean_interval, student_quantile};
pub use scalability::{Scalability, ScalabilityFit, scalability};
pub use series::{autocorrelation_time, throughput_interval, warmup_end};
