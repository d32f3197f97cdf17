//! A machine that could not be made.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

/// A step that failed while a machine was made.
#[derive(Debug)]
pub struct EmulateError {
    attempted: String,
    source: io::Error,
}

impl EmulateError {
    pub(super) fn new(attempted: impl Into<String>, source: io::Error) -> Self {
        Self { attempted: attempted.into(), source }
    }

    pub(super) fn at(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let attempted = format!("{what} {}", path.display());
        move |source| Self { attempted, source }
    }
}

impl fmt::Display for EmulateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}", self.attempted)
    }
}

impl Error for EmulateError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}
