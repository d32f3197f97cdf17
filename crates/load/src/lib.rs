//! Workloads (TPC-C, sysbench OLTP) and the engine that executes them.
//!
//! Three layers, each usable without the one above: [`wire`] speaks the protocol, [`reactor`] drives many
//! connections on one thread, [`engine`] turns a workload into a measurement. The workloads are [`tpcc`] and
//! [`sysbench`].
#![forbid(unsafe_code)]

pub mod engine;
mod loading;
mod random;
pub mod reactor;
mod rows;
pub mod session;
pub mod sysbench;
pub mod tpcc;
pub mod wire;

pub use loading::{LoadError, LoadObserver, LoadOptions, LoadReport};
pub use random::Random;
pub use rows::LoadMethod;
