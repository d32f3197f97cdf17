//! Errors of applying a configuration.

use std::path::PathBuf;

/// A step of applying failed.
#[derive(Debug, thiserror::Error)]
#[error("{operation}")]
pub struct TargetError {
    operation: String,
    // Boxed: errors are rare, and every result would be as large as the largest of them.
    #[source]
    kind: Box<TargetErrorKind>,
}

impl TargetError {
    pub(crate) fn new(operation: impl Into<String>, kind: impl Into<TargetErrorKind>) -> Self {
        Self { operation: operation.into(), kind: Box::new(kind.into()) }
    }

    /// What went wrong.
    pub fn kind(&self) -> &TargetErrorKind {
        &self.kind
    }

    /// The server's own words, where the failure is its own.
    pub fn error_log(&self) -> Option<&str> {
        match &*self.kind {
            TargetErrorKind::Start(start) if start.server_errors().is_empty() => Some(start.log_tail()),
            TargetErrorKind::Start(start) => Some(start.server_errors()),
            _ => None,
        }
    }

    /// Whether it is the configuration's fault rather than the machine's or ours: the next one may well work.
    pub fn blames_configuration(&self) -> bool {
        match &*self.kind {
            TargetErrorKind::Start(start) => {
                matches!(start.kind(), server::StartErrorKind::Died(_) | server::StartErrorKind::NotReady(_))
            }
            TargetErrorKind::NotApplied { .. }
            | TargetErrorKind::ReadOnly(_)
            | TargetErrorKind::Unknown(_) => true,
            TargetErrorKind::Admin(e) => e.server_code().is_some(),
            _ => false,
        }
    }
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetErrorKind {
    /// The server does not start with the configuration.
    #[error(transparent)]
    Start(#[from] server::StartError),
    /// The server can't be asked, or refuses.
    #[error(transparent)]
    Admin(#[from] server::AdminError),
    /// A value was accepted and is not there.
    #[error("{knob} was set to {asked} and the server reports {reported}")]
    NotApplied {
        /// The knob.
        knob: String,
        /// What was asked for.
        asked: String,
        /// What the server says.
        reported: String,
    },
    /// The knob can't be changed while the server runs.
    #[error("{0} can't be changed without a restart, and this server is not ours to restart")]
    ReadOnly(String),
    /// The server has no such knob.
    #[error("the server has no variable {0}")]
    Unknown(String),
    /// Somebody else tunes the server.
    #[error(
        "another tuner is at work on this server (it holds the lock 'tunesmith'); wait for it, or stop it"
    )]
    Busy,
    /// The file system says no.
    #[error("{path}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Too little room for another copy of the data.
    #[error(
        "{path} has {free} bytes free and a trial needs {needed}; free some, or set TUNESMITH_CACHE_DIR to a larger disk"
    )]
    DiskFull {
        /// Where the copy would go.
        path: PathBuf,
        /// What is there.
        free: u64,
        /// What is needed.
        needed: u64,
    },
}
