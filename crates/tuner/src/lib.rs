//! Studies and trials: the state machine that applies, measures and judges configurations.
//!
//! The flow of a study is decided by a pure function ([`agenda`]) from what is in the store; each trial is carried out
//! by one writer of state ([`study`]). What this crate does not do: it starts no server (that is `target`), sends no
//! transaction (`load`), and proposes no point (`search`).

#![forbid(unsafe_code)]

mod agenda;
mod cancel;
mod context;
mod dataset;
mod document;
mod drift;
mod error;
mod events;
mod fault;
mod judge;
mod measure;
mod measurement;
mod plan;
mod reduce;
mod space;
mod spec;
mod study;
mod validity;
mod verdict;

pub use agenda::expected_trials;
pub use cancel::Cancel;
pub use context::{Context, Importance, TunedKnob};
pub use dataset::{DataSet, DatasetError, Loader, prepare_data};
pub use document::document;
pub use error::{StudyError, StudyErrorKind};
pub use events::{Ending, Event, Events, Silent};
pub use measurement::{Latency, Measurement};
pub use plan::{Arm, Plan, Purpose};
pub use spec::{Objective, SpecError, Suggested, TargetSpec, TuneSpec, Workload};
pub use study::{begin, conduct};
pub use validity::{Counts, Invalid};
pub use verdict::{Answer, Gain, Verdict};
