//! TPC-C: schema, population, transactions, audit and consistency conditions.
//!
//! The results are TPC-C-*like*: they follow the clauses, but no auditor has seen them.

mod audit;
mod benchbase;
mod check;
mod generate;
mod input;
mod prepare;
mod schema;
mod statements;
mod transactions;
mod workload;

pub use audit::{Audit, AuditRow};
pub use benchbase::benchbase_output;
pub use check::{Condition, check};
pub use input::Mix;
pub use prepare::{DATABASE, cleanup, find, prepare};
pub use schema::{DataSet, Layout};
pub use workload::{Isolation, RunOptions, ServerCheck, TpccError, TpccResult, run};
