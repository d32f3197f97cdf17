//! `run`: sysbench's events on the engine.

use super::event::{Events, ROLLBACK, statements};
use super::options::{Kind, Legacy, LegacyMode, NonTrx, SysbenchOptions};
use super::prepare::DATABASE;
use crate::engine::{
    About, Ending, EngineOptions, Next, Observer, RunError, RunResult, Script, Workload, result,
    run as run_engine,
};
use crate::loading::{LoadError, open_database};
use crate::random::Random;
use crate::session::{Session, Statement, StatementId};
use crate::wire::{Connection, Connector, Protocol, WireError};
use server::ConnectOptions;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

struct Sysbench {
    options: SysbenchOptions,
    statements: Arc<[Statement]>,
    /// The next id that no other terminal gets (inserts without AUTO_INCREMENT, 0.4.12's deletes).
    unique: Arc<AtomicI64>,
}

impl Workload for Sysbench {
    type Script = Terminal;
    type Tally = ();

    fn kinds(&self) -> &'static [&'static str] {
        &["event"]
    }

    fn statements(&self) -> Arc<[Statement]> {
        Arc::clone(&self.statements)
    }

    fn rollback(&self) -> Option<StatementId> {
        let probe = Events::new(&self.options, Random::stream(0, 0), Arc::clone(&self.unique));
        probe.transactional().then_some(ROLLBACK)
    }

    fn script(&self, _terminal: usize, random: Random) -> Terminal {
        Terminal { events: Events::new(&self.options, random, Arc::clone(&self.unique)) }
    }
}

struct Terminal {
    events: Events,
}

impl Script for Terminal {
    type Tally = ();

    fn draw(&mut self) -> Next {
        self.events.draw();
        Next::default()
    }

    async fn attempt<S: Session>(&mut self, session: &mut S) -> Result<Ending, WireError> {
        self.events.execute(session).await.map(|()| Ending::Committed)
    }

    fn tally(&self, _ending: Ending, (): &mut ()) {}
}

/// A run failed.
#[derive(Debug, thiserror::Error)]
pub enum SysbenchError {
    /// The server could not be asked.
    #[error("cannot look at the server")]
    Look(#[from] LoadError),
    /// The engine failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Runs sysbench's events. Blocks the calling thread until the window and the time of grace are over.
pub fn run(
    connect: &ConnectOptions,
    options: &SysbenchOptions,
    observer: &dyn Observer,
) -> Result<RunResult, SysbenchError> {
    let (connect, mut admin) = open_database(connect, DATABASE)?;
    let statements = statements(options);
    let mut options = options.clone();
    let mut notes = Vec::new();
    if options.engine.protocol == Protocol::Prepared
        && let Some(note) = too_many_prepared(&mut admin, &options, &statements)
    {
        options.engine.protocol = Protocol::Text;
        notes.push(note);
    }
    if matches!(options.kind, Kind::Legacy(Legacy { mode: LegacyMode::NonTrx(NonTrx::Insert), .. })) {
        admin.query_blocking("TRUNCATE TABLE sbtest").map_err(LoadError::server("empty the table"))?;
    }
    let connector = Connector::new(&connect, Arc::clone(&statements), options.engine.protocol)
        .map_err(RunError::Connect)?;
    let first_unique = match options.kind {
        Kind::Legacy(_) => 1,
        Kind::Script(_) => options.tables.table_size as i64 + 1,
    };
    let workload = Arc::new(Sysbench {
        options: options.clone(),
        statements,
        unique: Arc::new(AtomicI64::new(first_unique)),
    });
    let measured = run_engine(connector, workload, options.engine.clone(), observer)?;
    let name = match options.kind {
        Kind::Script(script) => format!("sysbench:{script}"),
        Kind::Legacy(_) => "sysbench:legacy".into(),
    };
    let mut run = result(about(name, admin.version(), &options.engine), &measured);
    run.warnings.extend(notes);
    Ok(run)
}

fn about(workload: String, version: &str, engine: &EngineOptions) -> About {
    About {
        workload,
        server_version: version.to_owned(),
        terminals: engine.terminals,
        seed: engine.seed,
        protocol: engine.protocol,
        arrivals: engine.arrivals,
        warmup: engine.warmup,
        kinds: &["event"],
    }
}

/// Whether the run could meet error 1461 on its way: then text is the better protocol from the beginning.
fn too_many_prepared(
    admin: &mut Connection,
    options: &SysbenchOptions,
    statements: &[Statement],
) -> Option<String> {
    // An event meets at most so many different statements of each table.
    let per_table = match options.kind {
        Kind::Script(script) if script.transactional() => 9,
        Kind::Legacy(Legacy { mode: LegacyMode::Complex, .. }) => 9,
        _ => 1,
    };
    let prepared =
        statements.iter().filter(|s| s.prepare).count().min(per_table * options.tables.tables as usize);
    let needed = prepared as i64 * options.engine.terminals as i64;
    let limit = admin.query_blocking("SELECT @@max_prepared_stmt_count").and_then(|r| r.single_int()).ok()?;
    (needed > limit).then(|| {
        format!("{needed} prepared statements would exceed max_prepared_stmt_count = {limit}: statements travel as text")
    })
}
