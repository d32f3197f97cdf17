//! What the engine executes.

use crate::random::Random;
use crate::session::{Session, Statement};
use crate::wire::WireError;
use std::sync::Arc;
use std::time::Duration;

/// A workload: its statements and a script for each terminal.
pub trait Workload: Sync {
    /// One terminal's script.
    type Script: Script<Tally = Self::Tally>;
    /// What the workload counts about its own transactions (the audit).
    type Tally: Tally;

    /// Names of the transaction types, by index.
    fn kinds(&self) -> &'static [&'static str];

    /// All statements; the engine prepares them on first use.
    fn statements(&self) -> Arc<[Statement]>;

    /// SQL for each new connection.
    fn session_setup(&self) -> Vec<String> {
        Vec::new()
    }

    /// Index of the `ROLLBACK` statement, if transactions have more than one statement.
    fn rollback(&self) -> Option<crate::session::StatementId>;

    /// The script of terminal number `terminal`.
    fn script(&self, terminal: usize, random: Random) -> Self::Script;
}

/// Sums that can be added up over the threads.
pub trait Tally: Default + Send {
    /// Adds another thread's sums.
    fn add(&mut self, other: &Self);
}

impl Tally for () {
    fn add(&mut self, (): &Self) {}
}

/// How a transaction ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Committed.
    Committed,
    /// Rolled back because the workload says so (TPC-C's 1 %).
    RolledBack,
}

/// The next transaction of a terminal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Next {
    /// Index of its type.
    pub kind: usize,
    /// Waits before it.
    pub keying: Duration,
    /// Waits after it.
    pub think: Duration,
}

/// One terminal: draws transactions and executes them.
pub trait Script {
    /// See [`Workload::Tally`].
    type Tally;

    /// Draws all inputs of the next transaction. They do not depend on the server's answers, so the same
    /// seed draws the same transactions.
    fn draw(&mut self) -> Next;

    /// Executes the drawn transaction. After an error the engine rolls back and may call again: the inputs
    /// stay the same.
    fn attempt<S: Session>(&mut self, session: &mut S) -> impl Future<Output = Result<Ending, WireError>>;

    /// Adds the transaction that has just ended to the sums.
    fn tally(&self, ending: Ending, tally: &mut Self::Tally);
}
