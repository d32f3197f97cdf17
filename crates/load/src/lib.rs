//! Workloads (TPC-C, sysbench OLTP) and the engine that executes them.
#![forbid(unsafe_code)]

pub mod reactor;
pub mod session;
pub mod wire;
