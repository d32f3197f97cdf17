//! Errors of the store.

use std::path::PathBuf;

/// An operation of the store failed.
#[derive(Debug, thiserror::Error)]
#[error("{operation}")]
pub struct StoreError {
    operation: &'static str,
    #[source]
    kind: StoreErrorKind,
}

impl StoreError {
    pub(crate) fn new(operation: &'static str, kind: impl Into<StoreErrorKind>) -> Self {
        Self { operation, kind: kind.into() }
    }

    /// What went wrong.
    pub fn kind(&self) -> &StoreErrorKind {
        &self.kind
    }
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The database engine says no.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The file system says no.
    #[error("{path}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A stored document does not have the shape that is expected of it.
    #[error("a stored document can't be read")]
    Document(#[from] serde_json::Error),
    /// The file was written by a newer tunesmith.
    #[error("{path} was written by a newer tunesmith (schema {found}, this one knows {known}); use that one")]
    Newer {
        /// The database file.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// No such study.
    #[error("there is no study {0}; `tunesmith studies list` shows those there are")]
    NoStudy(String),
    /// No such trial.
    #[error("study {0} has no trial {1}")]
    NoTrial(i64, u32),
    /// Another process works on the study.
    #[error("process {pid} is working on study {study}; wait for it, or stop it first")]
    Busy {
        /// The study.
        study: i64,
        /// The process, as it wrote it down.
        pid: String,
    },
    /// A step that a trial can't take from where it is.
    #[error("a trial can't go from {from} to {to}")]
    Transition {
        /// Its state.
        from: &'static str,
        /// The state asked for.
        to: &'static str,
    },
    /// A name of a state that this program does not know.
    #[error("unknown state {0:?}")]
    UnknownState(String),
}
