//! What can go wrong, as the user sees it: a text that says what to do next, and the exit code.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

/// The documented exit codes (README, "Exit codes").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Our own bug.
    Bug = 1,
    /// Wrong usage or a bad input file.
    Usage = 2,
    /// No connection, or a privilege is missing.
    Connect = 3,
    /// The measurement is invalid.
    Invalid = 4,
    /// A trial or an apply failed and was reverted.
    Reverted = 5,
    /// It could not be reverted; the text says exactly what is where.
    Unreverted = 6,
    /// `advise --fail-on`: there is a finding at least that severe.
    Findings = 7,
    /// Interrupted; results are kept.
    Interrupted = 130,
}

/// A failed command.
#[derive(Debug)]
pub struct Failure {
    kind: Kind,
    attempted: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    hint: Option<String>,
}

impl Failure {
    /// A failure with a text of its own.
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, attempted: text.into(), source: None, hint: None }
    }

    /// A failure of `attempted` ("load the data set"), caused by `source`.
    pub fn caused(
        kind: Kind,
        attempted: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { kind, attempted: attempted.into(), source: Some(source.into()), hint: None }
    }

    /// Adds what the user can do about it.
    #[must_use]
    pub fn hint(mut self, next_step: impl Into<String>) -> Self {
        self.hint = Some(next_step.into());
        self
    }

    /// Whether the user stopped it.
    pub fn is_interrupt(&self) -> bool {
        self.kind == Kind::Interrupted
    }

    /// The process's exit code.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind as u8)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tunesmith: {}", self.attempted)?;
        let mut cause: Option<&(dyn Error + 'static)> = self.source.as_deref().map(|e| e as _);
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

impl Error for Failure {}
