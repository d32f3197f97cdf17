//! The ask/tell optimiser: few, noisy, expensive trials over mixed knobs. Pure and deterministic by seed.
#![forbid(unsafe_code)]

pub mod bench;
mod explain;
mod history;
mod model;
mod optimizer;
mod propose;
mod rng;
pub mod serve;
mod space;

pub use explain::{Effect, Expected, Importance, Smallest};
pub use history::{Origin, Outcome, Trial, TrialId};
pub use optimizer::{
    Best, Direction, Gain, Optimizer, OptimizerError, STATE_VERSION, Safe, Settings, State, Suggestion,
};
pub use space::{Condition, Kind, Param, Relation, Space, SpaceError, SpaceErrorKind, Term, Value, Values};
