//! What the tests on real servers share.

#![allow(dead_code, clippy::allow_attributes, reason = "each test program uses its part of it")]

use server::ConnectOptions;
use server::fixture::{Running, servers};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tunesmith_load::LoadOptions;
use tunesmith_load::engine::{LiveCounters, Observer, Quiet, RunResult, StopReason};
use tunesmith_load::sysbench::{self, Distribution, Kind, SysbenchOptions, Tables};
use tunesmith_load::tpcc;
use tunesmith_load::wire::{Connection, Connector, Protocol};

/// Nothing is slow for the sake of durability; a killed server process still loses nothing.
pub const SETTINGS: [(&str, &str); 5] = [
    ("local_infile", "ON"),
    ("innodb_flush_log_at_trx_commit", "2"),
    ("sync_binlog", "0"),
    ("innodb_buffer_pool_size", "512M"),
    ("max_connections", "1200"),
];

/// How long a scene of a [`Play`] waits for what it provokes: the slowest machine that is still of use.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `test` on a fresh server of each flavour.
pub async fn on_both(settings: &[(&str, &str)], test: impl Fn(&ConnectOptions, &Running)) {
    for binary in servers() {
        let settings: Vec<_> = SETTINGS.iter().chain(settings).copied().collect();
        let running = Running::start(&binary, &settings).await;
        test(&running.server.connect_options(), &running);
    }
}

/// A blocking session that executes SQL text.
pub fn admin(connect: &ConnectOptions) -> Connection {
    Connector::new(connect, [].into(), Protocol::Text).unwrap().connect_blocking().unwrap()
}

/// The one number that a statement returns.
pub fn number(admin: &mut Connection, sql: &str) -> i64 {
    admin.query_blocking(sql).unwrap_or_else(|e| panic!("{sql}: {e}")).single_int().unwrap()
}

/// A global status counter.
pub fn status(admin: &mut Connection, name: &str) -> u64 {
    let reply = admin.query_blocking(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).unwrap();
    let mut row = reply.row().unwrap();
    row.text().unwrap();
    row.text().unwrap().unwrap().parse().unwrap()
}

/// Sends a signal to a process.
pub fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
}

/// A sysbench run that ends by its number of events.
pub fn events(kind: Kind, terminals: usize, events: u64) -> SysbenchOptions {
    let mut options = SysbenchOptions::new(kind);
    options.engine.terminals = terminals;
    options.engine.time = None;
    options.engine.events = Some(events);
    options.tables.table_size = 1000;
    options
}

/// Creates and fills sysbench's tables.
pub fn prepare_sysbench(connect: &ConnectOptions, tables: &Tables) {
    let report =
        sysbench::prepare(connect, tables, Distribution::Uniform, &LoadOptions::default(), &Quiet).unwrap();
    assert!(report.loaded && report.rows == u64::from(tables.tables) * tables.table_size);
}

/// Books of the window: every transaction that began has one place.
pub fn assert_books(run: &RunResult) {
    let sum: u64 = run.by_type.values().map(|t| t.books.ok + t.books.rolled_back).sum();
    assert_eq!(sum, run.transactions);
    assert_eq!(run.latency_us.count, run.transactions, "each ended transaction has one latency");
    let failed: u64 = run.errors.values().sum();
    let all_failed: u64 = run.totals.by_type.values().map(|b| b.failed).sum();
    assert_eq!(failed, all_failed, "each failure has its error");
}

/// Numbers of the consistency conditions that do not hold.
pub fn broken(connect: &ConnectOptions, fresh: bool) -> Vec<u8> {
    let conditions = tpcc::check(connect, fresh).unwrap();
    assert_eq!(conditions.len(), if fresh { 12 } else { 11 });
    conditions.into_iter().filter(|c| !c.ok).map(|c| c.id).collect()
}

/// Waits until `done`; what it waits for is in the message if it never comes.
pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < until, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What is done to a server while a run goes on, on a thread of its own; the run ends when it is done. So no step
/// depends on how fast the machine is.
pub struct Play<F> {
    scenes: Mutex<Option<F>>,
    actor: Mutex<Option<JoinHandle<()>>>,
    done: Arc<AtomicBool>,
}

impl<F: FnOnce(Arc<LiveCounters>) + Send + 'static> Play<F> {
    pub fn new(scenes: F) -> Self {
        Self { scenes: Mutex::new(Some(scenes)), actor: Mutex::new(None), done: Arc::default() }
    }

    /// Fails as the actor did.
    pub fn end(self) {
        if let Some(actor) = self.actor.into_inner().unwrap() {
            actor.join().unwrap_or_else(|e| std::panic::resume_unwind(e));
        }
    }
}

impl<F: FnOnce(Arc<LiveCounters>) + Send + 'static> Observer for Play<F> {
    fn started(&self, counters: &Arc<LiveCounters>) {
        let scenes = self.scenes.lock().unwrap().take().expect("a play is given once");
        let (counters, done) = (Arc::clone(counters), Arc::clone(&self.done));
        *self.actor.lock().unwrap() = Some(std::thread::spawn(move || {
            /// Ends the run also when a scene fails.
            struct Curtain(Arc<AtomicBool>);
            impl Drop for Curtain {
                fn drop(&mut self) {
                    self.0.store(true, Relaxed);
                }
            }
            let _curtain = Curtain(done);
            scenes(counters);
        }));
    }

    fn should_stop(&self) -> Option<StopReason> {
        self.done.load(Relaxed).then(|| StopReason("the play is over".into()))
    }
}
