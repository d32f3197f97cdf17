//! `run`: TPC-C on the engine, and what is reported besides the engine's own result.

use super::audit::AuditTally;
use super::input::{Constants, Draws, Input, KINDS, Mix};
use super::prepare::{DATABASE, find};
use super::schema::{DataSet, Layout};
use super::statements::{ROLLBACK, statements};
use super::transactions::{delivery, new_order, order_status, payment, stock_level};
use crate::engine::{
    About, Ending, EngineOptions, Next, Observer, RunError, RunResult, Script, Workload, result,
    run as run_engine,
};
use crate::loading::{LoadError, open_database};
use crate::random::Random;
use crate::session::{Session, Statement, StatementId};
use crate::wire::{Connection, Connector, WireError};
use serde::{Deserialize, Serialize};
use server::ConnectOptions;
use std::sync::Arc;
use std::time::Duration;

/// Keying times of the five types in seconds (clause 5.2.5.7).
const KEYING: [u64; 5] = [18, 3, 2, 2, 2];
/// Mean think times in seconds.
const THINK: [f64; 5] = [12.0, 12.0, 10.0, 5.0, 5.0];
/// Stream of the run's NURand constants.
const CONSTANTS_STREAM: u64 = 3 << 32;

/// Isolation level of the sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// What the server gives.
    #[default]
    Server,
    /// READ COMMITTED.
    ReadCommitted,
    /// REPEATABLE READ.
    RepeatableRead,
    /// SERIALIZABLE.
    Serializable,
}

impl Isolation {
    /// Its name in BenchBase's configuration and results; `None` is what the server gives.
    pub(super) fn jdbc_name(self) -> Option<&'static str> {
        match self {
            Self::Server => None,
            Self::ReadCommitted => Some("TRANSACTION_READ_COMMITTED"),
            Self::RepeatableRead => Some("TRANSACTION_REPEATABLE_READ"),
            Self::Serializable => Some("TRANSACTION_SERIALIZABLE"),
        }
    }

    fn sql(self) -> Option<&'static str> {
        Some(match self {
            Self::Server => return None,
            Self::ReadCommitted => "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            Self::RepeatableRead => "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            Self::Serializable => "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
        })
    }
}

/// How TPC-C runs.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Terminals, time, warm-up, arrivals, seed and the rest.
    pub engine: EngineOptions,
    /// Isolation level.
    pub isolation: Isolation,
    /// How types are drawn.
    pub mix: Mix,
    /// Whether terminals key and think (clause 5.2.5); without, they go at full speed.
    pub think_time: bool,
}

impl RunOptions {
    /// Full speed, the server's isolation level, the usual mix.
    pub fn new(terminals: usize, time: Duration, warmup: Duration, seed: u64) -> Self {
        Self {
            engine: EngineOptions { terminals, time: Some(time), warmup, seed, ..EngineOptions::default() },
            isolation: Isolation::Server,
            mix: Mix::default(),
            think_time: false,
        }
    }
}

/// A run failed.
#[derive(Debug, thiserror::Error)]
pub enum TpccError {
    /// There is no complete data set.
    #[error("database {0} holds no complete TPC-C data set; run `tunesmith bench tpcc prepare` first")]
    NoData(String),
    /// The data set could not be looked at.
    #[error("cannot read the data set")]
    Data(#[from] LoadError),
    /// The engine failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// What TPC-C adds to a result.
#[derive(Debug, Clone, Serialize)]
pub struct TpccResult {
    /// Always this, wherever a figure is shown.
    pub disclaimer: &'static str,
    /// The data set.
    pub data_set: DataSet,
    /// Isolation level asked for.
    pub isolation: Isolation,
    /// How types were drawn.
    pub mix: Mix,
    /// Keying and think times.
    pub think_time: bool,
    /// With think times: tpmC as a share of the 12.86 that one warehouse can give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<f64>,
    /// Committed New-Orders per minute, without the intended rollbacks that tpmC counts.
    pub committed_new_orders_per_minute: f64,
    /// The server's own count.
    pub server_check: ServerCheck,
}

/// The change of `sum(d_next_o_id)` over the whole run against the client's committed New-Orders.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ServerCheck {
    /// Counted by the client, warm-up and grace included.
    pub committed_new_orders: u64,
    /// New-Orders that got no answer: the server may have committed them.
    pub uncertain: u64,
    /// Counted by the server; `None` if it could not be asked (it hangs, or is gone).
    pub d_next_o_id_change: Option<i64>,
    /// Equal, or larger by no more than the uncertain ones.
    pub ok: bool,
}

impl ServerCheck {
    /// What is wrong where it is not [`ok`](Self::ok).
    pub fn complaint(&self) -> &'static str {
        match self.d_next_o_id_change {
            Some(_) => "the server's count of New-Orders differs from the client's; see server_check",
            None => "the server could not be asked for its count of New-Orders",
        }
    }
}

struct Tpcc {
    set: DataSet,
    statements: Arc<[Statement]>,
    constants: Constants,
    isolation: Isolation,
    mix: Mix,
    think_time: bool,
    terminals: usize,
}

impl Workload for Tpcc {
    type Script = Terminal;
    type Tally = AuditTally;

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn statements(&self) -> Arc<[Statement]> {
        Arc::clone(&self.statements)
    }

    fn session_setup(&self) -> Vec<String> {
        self.isolation.sql().map(str::to_owned).into_iter().collect()
    }

    fn rollback(&self) -> Option<StatementId> {
        Some(ROLLBACK)
    }

    fn script(&self, terminal: usize, random: Random) -> Terminal {
        let warehouses = i64::from(self.set.warehouses);
        let mut draws = Draws::new(random, self.constants, warehouses, terminal, self.terminals, self.mix);
        Terminal { input: draws.next(), draws, skipped: 0, think_time: self.think_time }
    }
}

struct Terminal {
    draws: Draws,
    input: Input,
    skipped: u32,
    think_time: bool,
}

impl Script for Terminal {
    type Tally = AuditTally;

    fn draw(&mut self) -> Next {
        self.input = self.draws.next();
        let kind = self.input.kind();
        if !self.think_time {
            return Next { kind, ..Next::default() };
        }
        // Clause 5.2.5.4: negative exponential, cut at ten times the mean.
        let think = self.draws.random().exponential(THINK[kind]).min(10.0 * THINK[kind]);
        Next { kind, keying: Duration::from_secs(KEYING[kind]), think: Duration::from_secs_f64(think) }
    }

    async fn attempt<S: Session>(&mut self, session: &mut S) -> Result<Ending, WireError> {
        match &self.input {
            Input::NewOrder(input) => new_order(session, input).await,
            Input::Payment(input) => payment(session, input).await,
            &Input::OrderStatus { warehouse, district, who } => {
                order_status(session, warehouse, district, who).await
            }
            &Input::Delivery { warehouse, carrier } => {
                self.skipped = delivery(session, warehouse, carrier).await?;
                Ok(Ending::Committed)
            }
            &Input::StockLevel { warehouse, district, threshold } => {
                stock_level(session, warehouse, district, threshold).await
            }
        }
    }

    fn tally(&self, ending: Ending, tally: &mut AuditTally) {
        tally.count(&self.input, ending, self.skipped);
    }
}

/// Runs TPC-C. Blocks the calling thread until the window and the time of grace are over.
pub fn run(
    connect: &ConnectOptions,
    options: &RunOptions,
    observer: &dyn Observer,
) -> Result<RunResult, TpccError> {
    let database = connect.database.clone().unwrap_or_else(|| DATABASE.to_owned());
    let (set, complete) = find(connect)?.ok_or_else(|| TpccError::NoData(database.clone()))?;
    if !complete {
        return Err(TpccError::NoData(database));
    }
    let (connect, mut admin) = open_database(connect, DATABASE)?;
    let mut random = Random::stream(options.engine.seed, CONSTANTS_STREAM);
    let constants = match set.layout {
        Layout::BenchBase => Constants { name: set.c_run(), customer: 259, item: 7911 },
        Layout::Standard => {
            Constants { name: set.c_run(), customer: random.range(0, 1023), item: random.range(0, 8191) }
        }
    };
    let statements = statements(set.layout);
    let connector = Connector::new(&connect, Arc::clone(&statements), options.engine.protocol)
        .map_err(RunError::Connect)?;
    let workload = Arc::new(Tpcc {
        set: set.clone(),
        statements,
        constants,
        isolation: options.isolation,
        mix: options.mix,
        think_time: options.think_time,
        terminals: options.engine.terminals,
    });
    let before = next_orders(&mut admin)?;
    let measured = run_engine(connector, workload, options.engine.clone(), observer)?;
    let mut run = result(
        About {
            workload: "tpcc".into(),
            server_version: admin.version().to_owned(),
            terminals: options.engine.terminals,
            seed: options.engine.seed,
            protocol: options.engine.protocol,
            arrivals: options.engine.arrivals,
            warmup: options.engine.warmup,
            kinds: &KINDS,
        },
        &measured,
    );
    let minutes = run.seconds / 60.0;
    let per_minute = |n: u64| if minutes > 0.0 { n as f64 / minutes } else { 0.0 };
    let new_orders = &run.by_type[KINDS[0]].books;
    let tpmc = per_minute(new_orders.ok + new_orders.rolled_back);
    let committed = per_minute(new_orders.ok);
    run.audit = Some(measured.recorder.tally.audit(set.warehouses, options.mix == Mix::default()));
    run.tpcc = Some(TpccResult {
        disclaimer: "TPC-C-like; not audited, not comparable with published TPC-C results",
        isolation: options.isolation,
        mix: options.mix,
        think_time: options.think_time,
        efficiency: options.think_time.then(|| tpmc / (12.86 * f64::from(set.warehouses))),
        committed_new_orders_per_minute: committed,
        server_check: server_check(&connect, before, &run),
        data_set: set,
    });
    run.tpmc = Some(tpmc);
    if let Some(check) = run.tpcc.as_ref().map(|t| t.server_check).filter(|c| !c.ok) {
        run.warnings.push(check.complaint().into());
    }
    Ok(run)
}

fn next_orders(admin: &mut Connection) -> Result<i64, LoadError> {
    admin
        .query_blocking("SELECT SUM(d_next_o_id) FROM district")
        .and_then(|r| r.single_int())
        .map_err(LoadError::server("read d_next_o_id"))
}

/// A fresh connection: the old one may have died with the server during the run.
fn server_check(connect: &ConnectOptions, before: i64, run: &RunResult) -> ServerCheck {
    let totals = &run.totals.by_type[KINDS[0]];
    // A failed New-Order may have been committed if the connection broke at its COMMIT.
    let uncertain = totals.cut
        + run.errors.iter().filter(|(code, _)| matches!(code, 2006 | 2013 | 2026)).map(|e| e.1).sum::<u64>();
    let committed = totals.ok;
    let hung = run.totals.unanswered > 0;
    let after = if hung {
        None
    } else {
        open_database(connect, DATABASE).ok().and_then(|(_, mut a)| next_orders(&mut a).ok())
    };
    let change = after.map(|after| after - before);
    ServerCheck {
        committed_new_orders: committed,
        uncertain,
        d_next_o_id_change: change,
        ok: change.is_some_and(|n| n >= committed as i64 && n <= (committed + uncertain) as i64),
    }
}

#[cfg(test)]
mod tests {
    use super::super::statements::{ITEM, PAY_CUSTOMER};
    use super::*;
    use crate::reactor::block_on;
    use crate::wire::{Format, Reply, Value, write_query};

    /// Remembers the bytes that would have been sent, and answers as a data set would in which everything is 1.
    struct Canned {
        statements: Arc<[Statement]>,
        sent: Vec<u8>,
    }

    /// Sixteen text columns; a customer with bad credit has "BC" in the first.
    const COLUMNS: [u8; 16] = [253; 16];
    const ROW: &[u8] =
        b"\x20\0\0\x01\x011\x011\x011\x011\x011\x011\x011\x011\x011\x011\x011\x011\x011\x011\x011\x011";
    const BAD_CREDIT: &[u8] = b"\x03\0\0\x01\x02BC";

    impl Session for Canned {
        async fn execute(&mut self, id: StatementId, values: &[Value<'_>]) -> Result<Reply<'_>, WireError> {
            write_query(&self.statements[id.0].sql, values, &mut self.sent);
            let rows: &[u8] = match id {
                ITEM if values == [Value::Int(100_001)] => &[],
                PAY_CUSTOMER if self.sent.len().is_multiple_of(2) => BAD_CREDIT,
                _ => ROW,
            };
            Ok(Reply { affected: 1, warnings: 0, format: Format::Text, columns: &COLUMNS, rows })
        }

        async fn pause(&mut self, _: Duration) {}
    }

    /// What terminal `terminal` sends in 500 transactions.
    fn stream(seed: u64, terminal: usize) -> Vec<u8> {
        let statements = statements(Layout::Standard);
        let workload = Tpcc {
            set: DataSet::new(3, 1),
            statements: Arc::clone(&statements),
            constants: Constants { name: 10, customer: 20, item: 30 },
            isolation: Isolation::Server,
            mix: Mix::default(),
            think_time: false,
            terminals: 6,
        };
        let mut script = workload.script(terminal, Random::stream(seed, terminal as u64));
        let mut session = Canned { statements, sent: Vec::new() };
        for _ in 0..500 {
            script.draw();
            block_on(script.attempt(&mut session)).unwrap();
        }
        session.sent
    }

    #[test]
    fn the_same_seed_sends_the_same_bytes() {
        let sent = stream(7, 0);
        assert!(sent == stream(7, 0), "the same seed and terminal");
        assert!(sent != stream(8, 0), "another seed");
        assert!(sent != stream(7, 1), "another terminal");
        // Also on another machine and with another build (FNV-1a). A change of this number makes earlier runs
        // unrepeatable: it belongs into the change log.
        let hash = sent.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        assert_eq!(hash, 0x803a_36c2_fe2c_a53e, "{} bytes, hash {hash:#x}", sent.len());
    }
}
