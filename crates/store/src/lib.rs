//! Studies on disk.
//!
//! One SQLite file holds every study, every trial and every step of every trial. A step is written **before** it
//! is taken, so whatever is killed at whatever moment, the next start can tell what may have been changed.
//!
//! What this crate does not do: it knows nothing of servers, knobs or measurements. Their documents pass through as
//! JSON whose shape belongs to the crate that writes them.

#![forbid(unsafe_code)]

mod error;
mod lease;
mod schema;
mod state;
mod study;
mod trial;

pub use error::{StoreError, StoreErrorKind};
pub use lease::Lease;
pub use schema::Store;
pub use state::{StudyState, TrialState};
pub use study::{NewStudy, StudyId, StudyRow};
pub use trial::{NewTrial, Step, TrialId, TrialRow};
