//! One terminal's life: connect, wait for the start, then one transaction after the other.

use super::errors::{Verdict, login_may_succeed_later};
use super::record::Ended;
use super::run::Shared;
use super::schedule::Schedule;
use super::workload::{Ending, Script, Workload};
use crate::random::Random;
use crate::reactor::Reactor;
use crate::session::{Session, Statement, StatementId};
use crate::wire::{Connection, Reply, Value, WireError};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// First and longest pause between attempts to reconnect.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// Random streams of schedules and back-offs, apart from those of the scripts.
const SCHEDULE_STREAM: u64 = 1 << 32;
const BACKOFF_STREAM: u64 = 2 << 32;

/// Counts the statements that were answered, by class.
pub(crate) struct Counting<S> {
    pub inner: S,
    statements: Arc<[Statement]>,
    counts: [u64; 3],
}

impl<S> Counting<S> {
    pub fn new(inner: S, statements: Arc<[Statement]>) -> Self {
        Self { inner, statements, counts: [0; 3] }
    }

    pub fn take(&mut self) -> [u64; 3] {
        std::mem::take(&mut self.counts)
    }
}

impl<S: Session> Session for Counting<S> {
    async fn execute(&mut self, id: StatementId, values: &[Value<'_>]) -> Result<Reply<'_>, WireError> {
        if let Some(statement) = self.statements.get(id.0) {
            self.counts[statement.class as usize] += 1;
        }
        self.inner.execute(id, values).await
    }

    async fn pause(&mut self, time: Duration) {
        self.inner.pause(time).await;
    }
}

/// How a transaction ended, for the terminal.
enum Fate {
    Ended(Ending),
    /// Given up, with the error's number.
    Failed(u16),
    /// The run was over before it could be tried again.
    Cut,
}

pub(crate) struct Terminal<W: Workload> {
    pub shared: Arc<Shared<W>>,
    pub reactor: Rc<Reactor>,
    pub worker: usize,
    pub index: usize,
}

impl<W: Workload> Terminal<W> {
    /// The whole life.
    pub async fn run(self) {
        let shared = &*self.shared;
        let mut script =
            shared.workload.script(self.index, Random::stream(shared.options.seed, self.index as u64));
        let mut connection = match self.connect().await {
            Ok(connection) => Some(connection),
            Err(error) => return shared.abort(error),
        };
        shared.connected.fetch_add(1, Relaxed);
        let Some(start) = self.wait_for_start().await else { return };
        let mut schedule = Schedule::new(
            shared.options.arrivals,
            self.index,
            shared.options.terminals,
            start,
            Random::stream(shared.options.seed, SCHEDULE_STREAM + self.index as u64),
        );
        let mut backoff = Random::stream(shared.options.seed, BACKOFF_STREAM + self.index as u64);
        // The clock is read twice for each transaction of the closed loop: at its begin and at its end.
        let mut now = Instant::now();
        while !shared.over_at(now) {
            let next = script.draw();
            if !next.keying.is_zero() {
                self.sleep(Instant::now() + next.keying).await;
            }
            let due = match schedule.as_mut() {
                Some(schedule) => match self.wait_until_due(schedule).await {
                    Some(due) => Some(due),
                    None => break,
                },
                None => None,
            };
            let waited = due.is_some() || !next.keying.is_zero();
            if (waited && shared.over()) || !shared.take_event() {
                break;
            }
            let mut session = match connection.take() {
                Some(session) => session,
                None => match self.reconnect(&mut backoff).await {
                    Some(session) => session,
                    None => break,
                },
            };
            let (keep, ended) = self.transaction(next.kind, due, &mut script, &mut session).await;
            if keep {
                connection = Some(session);
            }
            now = ended;
            if !next.think.is_zero() {
                self.sleep(ended + next.think).await;
                now = Instant::now();
            }
        }
    }

    async fn connect(&self) -> Result<Counting<Connection>, WireError> {
        let shared = &*self.shared;
        let mut connection = shared.connector.connect(&self.reactor).await?;
        for sql in shared.workload.session_setup() {
            connection.query(&sql).await?;
        }
        Ok(Counting::new(connection, shared.workload.statements()))
    }

    /// Connects again until it works; `None` when the run is over, or the server will not have us.
    async fn reconnect(&self, random: &mut Random) -> Option<Counting<Connection>> {
        let mut pause = BACKOFF.0;
        loop {
            // Full jitter: a thousand terminals must not come back in step.
            self.sleep(Instant::now() + pause.mul_f64(0.5 + random.unit() / 2.0)).await;
            if self.shared.over() {
                return None;
            }
            match self.connect().await {
                Ok(session) => {
                    self.shared.recorder(self.worker).reconnected();
                    return Some(session);
                }
                Err(error) if login_may_succeed_later(&error) => pause = (pause * 2).min(BACKOFF.1),
                Err(error) => {
                    self.shared.abort(error);
                    return None;
                }
            }
        }
    }

    /// All terminals start together. `None` if the run was given up before.
    async fn wait_for_start(&self) -> Option<Instant> {
        loop {
            if let Some(start) = self.shared.start.get() {
                self.reactor.sleep_until(*start).await;
                return Some(*start);
            }
            if self.shared.over() {
                return None;
            }
            self.reactor.sleep_until(Instant::now() + Duration::from_millis(2)).await;
        }
    }

    /// Sleeps until `when`, or until the run is over.
    async fn sleep(&self, when: Instant) {
        self.reactor.sleep_until(when.min(self.shared.stop_at())).await;
    }

    /// The intended begin of the next transaction, once it has come. `None` if it lies behind the end.
    async fn wait_until_due(&self, schedule: &mut Schedule) -> Option<Instant> {
        let now = Instant::now();
        let due = schedule.due();
        self.shared.gauges[self.index].due(self.shared.since_base(due));
        if due >= self.shared.stop_at() {
            self.sleep(due).await;
            // The end may have been moved, never forward.
            return None;
        }
        if due > now {
            self.sleep(due).await;
            let now = Instant::now();
            if now >= due {
                self.shared.recorder(self.worker).began_late(now, now - due);
            }
        }
        schedule.advance();
        Some(due)
    }

    /// Executes one transaction to its end; it is `due` at its begin in the closed loop. Returns whether the connection
    /// can be kept, and the end.
    async fn transaction(
        &self,
        kind: usize,
        due: Option<Instant>,
        script: &mut W::Script,
        session: &mut Counting<Connection>,
    ) -> (bool, Instant) {
        let shared = &*self.shared;
        let gauge = &shared.gauges[self.index];
        gauge.begin(kind);
        let begun = Instant::now();
        let mut attempts = 1;
        let (fate, keep) = loop {
            let error = match script.attempt(session).await {
                Ok(ending) => break (Fate::Ended(ending), true),
                Err(error) => error,
            };
            let code = error.number();
            match shared.options.errors.judge(&error) {
                Verdict::Retry | Verdict::Fail if self.roll_back(session).await.is_err() => {
                    break (Fate::Failed(code), false);
                }
                Verdict::Retry if shared.over() => break (Fate::Cut, true),
                Verdict::Retry if attempts < shared.options.max_attempts => {
                    attempts += 1;
                    shared.live.retried.fetch_add(1, Relaxed);
                    shared.recorder(self.worker).retried(kind, code, Instant::now());
                }
                Verdict::Retry | Verdict::Fail => break (Fate::Failed(code), true),
                Verdict::Reconnect => break (Fate::Failed(code), false),
                Verdict::Abort => {
                    shared.abort(error);
                    break (Fate::Failed(code), false);
                }
            }
        };
        let ended = Instant::now();
        let ending = match fate {
            Fate::Ended(ending) => Some(ending),
            Fate::Failed(_) | Fate::Cut => None,
        };
        let live = &shared.live;
        match fate {
            Fate::Ended(Ending::Committed) => live.committed.fetch_add(1, Relaxed),
            Fate::Ended(Ending::RolledBack) => live.rolled_back.fetch_add(1, Relaxed),
            Fate::Failed(_) => live.failed.fetch_add(1, Relaxed),
            Fate::Cut => 0,
        };
        let event = Ended {
            kind,
            begun,
            ended,
            service: ended - begun,
            intended: ended - due.unwrap_or(begun),
            ending,
            cut: matches!(fate, Fate::Cut),
        };
        let statements = session.take();
        let mut recorder = shared.recorder(self.worker);
        recorder.ended(&event, statements, |tally| {
            if let Some(ending) = ending {
                script.tally(ending, tally);
            }
        });
        if let Fate::Failed(code) = fate {
            recorder.error(code);
        }
        let measured = recorder.measured(ended);
        drop(recorder);
        gauge.end(measured.then_some(ended - begun));
        shared.sample_cpu(self.worker, ended);
        (keep, ended)
    }

    /// After an error inside a transaction. Also after 1205: it has undone only the statement, and a `BEGIN`
    /// would commit the half that is left.
    async fn roll_back(&self, session: &mut Counting<Connection>) -> Result<(), WireError> {
        match self.shared.workload.rollback() {
            Some(id) => session.execute(id, &[]).await.map(drop),
            None => Ok(()),
        }
    }
}
