//! The seam between workloads and servers.

use crate::wire::{Reply, Value, WireError};
use std::time::Duration;

/// What a statement does, as sysbench counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// `SELECT`.
    Read,
    /// `INSERT`, `UPDATE`, `DELETE`.
    Write,
    /// `BEGIN`, `COMMIT`, `ROLLBACK`.
    Other,
}

/// A statement of a workload.
#[derive(Debug, Clone)]
pub struct Statement {
    /// SQL text with `?` for each parameter.
    pub sql: String,
    /// What it does.
    pub class: Class,
    /// Whether it is prepared where the protocol allows (transaction control is not).
    pub prepare: bool,
}

impl Statement {
    /// A `SELECT`.
    pub fn read(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), class: Class::Read, prepare: true }
    }

    /// A statement that changes rows.
    pub fn write(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), class: Class::Write, prepare: true }
    }

    /// Transaction control, sent as text.
    pub fn control(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), class: Class::Other, prepare: false }
    }
}

/// Index into the workload's list of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementId(pub usize);

/// Executes a workload's statements, one at a time.
pub trait Session {
    /// Executes a statement and waits for the whole reply.
    fn execute(
        &mut self,
        id: StatementId,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Reply<'_>, WireError>>;

    /// Waits, as a user between two statements does.
    fn pause(&mut self, time: Duration) -> impl Future<Output = ()>;
}

/// Answers every statement at once, with nothing: what remains is the generator itself.
#[derive(Debug, Default)]
pub struct NullSession;

impl Session for NullSession {
    async fn execute(&mut self, _: StatementId, _: &[Value<'_>]) -> Result<Reply<'_>, WireError> {
        Ok(Reply::done(1))
    }

    async fn pause(&mut self, _: Duration) {}
}
