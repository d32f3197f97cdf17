//! Knobs: one typed record for each configuration variable, and everything that is derived from it.
//!
//! This crate is pure: it knows what a server may be told, never how to tell it. What a live server reports about
//! itself ([`LiveVariable`]) always overrides the built-in [`Registry`]; a knob that the server does not have does
//! not exist. Units are types or are named in the record, and are formatted in one place ([`Bytes`]).

#![forbid(unsafe_code)]

mod check;
mod configuration;
mod domain;
mod identity;
mod knob;
mod live;
mod memory;
mod registry;
mod relation;
mod tunable;
mod units;
mod value;

pub use check::{Fault, Remark, check};
pub use configuration::{Change, Configuration};
pub use domain::Domain;
pub use identity::{Flavour, Identity, Platform, Version};
pub use knob::{Area, Change as ChangeMode, Facts, Fate, Kind, Knob, Risk, Scope, Support, TuneHint};
pub use live::{Live, LiveVariable, Machine};
pub use memory::{Estimate, MemoryModel, OverBudget, check_budget, rds_potential};
pub use registry::{Registry, RegistryError, Resolution};
pub use relation::{Relation, Term, Violation, relations, repair};
pub use tunable::{Selection, Tunable, tunable};
pub use units::{Bytes, Unit};
pub use value::{Value, ValueError};
