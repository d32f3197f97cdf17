//! Errors that end a study, as against those that end a trial.

use crate::spec::SpecError;

/// A study could not go on. What was measured is in the store.
#[derive(Debug, thiserror::Error)]
#[error("{operation}")]
pub struct StudyError {
    operation: String,
    #[source]
    kind: StudyErrorKind,
}

impl StudyError {
    pub(crate) fn new(operation: impl Into<String>, kind: impl Into<StudyErrorKind>) -> Self {
        Self { operation: operation.into(), kind: kind.into() }
    }

    /// What went wrong.
    pub fn kind(&self) -> &StudyErrorKind {
        &self.kind
    }
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyErrorKind {
    /// The study can't be asked.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The store can't be read or written.
    #[error(transparent)]
    Store(store::StoreError),
    /// The server can't be changed, and not because of a configuration.
    #[error(transparent)]
    Target(target::TargetError),
    /// The server can't be put back to what was found.
    #[error("the server could not be put back to these values, which were found: {knobs}")]
    NotHome {
        /// The knobs, with the values found.
        knobs: String,
        /// What went wrong.
        source: target::TargetError,
    },
    /// The server can't be asked.
    #[error(transparent)]
    Admin(#[from] server::AdminError),
    /// The knobs do not make a space to search.
    #[error(transparent)]
    Space(#[from] search::SpaceError),
    /// The optimiser refuses what it was told.
    #[error(transparent)]
    Optimiser(#[from] search::OptimizerError),
    /// Nothing can be tuned.
    #[error("no knob is left to tune{0}")]
    NothingToTune(String),
    /// A suggested configuration is not allowed.
    #[error("{name}: {why}")]
    Suggested {
        /// Where the configuration comes from.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The baseline could not be measured; without it there is nothing to compare with.
    #[error("the server's own configuration could not be measured: {0}")]
    NoBaseline(String),
    /// The user asked to stop.
    #[error("interrupted; what was measured is kept, and `tunesmith studies resume {0}` goes on")]
    Interrupted(store::StudyId),
}

impl From<store::StoreError> for StudyErrorKind {
    fn from(error: store::StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<target::TargetError> for StudyErrorKind {
    fn from(error: target::TargetError) -> Self {
        Self::Target(error)
    }
}
