//! The ask/tell optimiser: few, noisy, expensive trials over mixed knobs. Pure and deterministic by seed.
#![forbid(unsafe_code)]
#![expect(dead_code, reason = "the explanations and the stopping rule that use it come next")]

mod history;
mod model;
mod optimizer;
mod propose;
mod rng;
mod space;

pub use history::{Origin, Outcome, Trial, TrialId};
pub use optimizer::{Best, Direction, Optimizer, OptimizerError, STATE_VERSION, Settings, State, Suggestion};
pub use space::{Condition, Kind, Param, Relation, Space, SpaceError, SpaceErrorKind, Term, Value, Values};
