//! Why a private server did not come up.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// What kind of failure it was.
#[derive(Debug)]
pub enum StartErrorKind {
    /// The program could not be run, or a file of ours not be written.
    Io(io::Error),
    /// The socket's path would be longer than the system allows.
    SocketPathTooLong(PathBuf),
    /// The server ended before it was ready: mostly a setting that it refuses.
    Died(ExitStatus),
    /// The server ended for want of disk space.
    DiskFull(ExitStatus),
    /// The server ran, but did not let anyone log in for this long.
    NotReady(Duration),
}

/// A private server that did not come up. Nothing of it is left running.
#[derive(Debug)]
pub struct StartError {
    pub(crate) attempted: String,
    pub(crate) kind: StartErrorKind,
    pub(crate) server_errors: String,
    pub(crate) log_tail: String,
}

impl StartError {
    pub(crate) fn io(attempted: impl Into<String>, source: io::Error) -> Self {
        Self::new(attempted, StartErrorKind::Io(source))
    }

    pub(crate) fn new(attempted: impl Into<String>, kind: StartErrorKind) -> Self {
        Self { attempted: attempted.into(), kind, server_errors: String::new(), log_tail: String::new() }
    }

    /// What kind of failure it was.
    pub fn kind(&self) -> &StartErrorKind {
        &self.kind
    }

    /// The server's own errors, a line each; empty where it said nothing.
    pub fn server_errors(&self) -> &str {
        &self.server_errors
    }

    /// The whole of what the server logged during this start (at most its last 64 KiB).
    pub fn log_tail(&self) -> &str {
        &self.log_tail
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}", self.attempted)?;
        match &self.kind {
            StartErrorKind::Io(_) => Ok(()),
            StartErrorKind::SocketPathTooLong(path) => write!(
                f,
                ": the socket's path is too long for the system ({} of 107 bytes): {}",
                path.as_os_str().len(),
                path.display()
            ),
            StartErrorKind::Died(status) => write!(f, ": the server ended ({status})"),
            StartErrorKind::DiskFull(_) => f.write_str(": the disk is full"),
            StartErrorKind::NotReady(after) => write!(f, ": not ready after {} s", after.as_secs()),
        }?;
        if self.server_errors.is_empty() { Ok(()) } else { write!(f, "; it says:\n{}", self.server_errors) }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            StartErrorKind::Io(e) => Some(e),
            _ => None,
        }
    }
}
