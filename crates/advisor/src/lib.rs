//! The advisor: rules over a snapshot of a server, and expert configurations to start a search from.
//!
//! This crate is pure. It never talks to a server, and nothing in it asks for durability, corruption safety or the
//! meaning of statements to be given up.

#![forbid(unsafe_code)]

mod seeds;

pub use seeds::{Seed, WorkloadFacts, seeds};
