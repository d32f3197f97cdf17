//! The advisor: rules over a snapshot of a server, and expert configurations to start a search from.
//!
//! This crate is pure. It never talks to a server, and nothing in it asks for durability, corruption safety or the
//! meaning of statements to be given up. [`advise`] turns a [`Snapshot`] into a [`Report`]; [`Format`] writes it down.

#![forbid(unsafe_code)]

mod context;
mod engine;
mod finding;
mod lifecycle;
mod output;
mod rules;
mod seeds;
mod snapshot;
mod vulnerabilities;

pub use engine::advise;
pub use finding::{Finding, MemoryFigures, Recommendation, Report, Severity, Window};
pub use output::Format;
pub use rules::catalogue;
pub use seeds::{Seed, WorkloadFacts, seeds};
pub use snapshot::{
    Account, Counters, Digest, EngineUse, MachineSource, Missing, ReplicaChannel, SNAPSHOT_SCHEMA,
    SchemaFacts, Snapshot,
};
