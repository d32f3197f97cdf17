//! Faults in the middle of a run, on both flavours: the books add up, the run ends in time, nothing in the data is lost.

#![expect(clippy::unwrap_used, reason = "a helper of a test that fails has no better way to say so")]

mod common;

use common::{
    Play, SETTINGS, admin, assert_books, broken, events, number, on_both, prepare_sysbench, signal, status,
    wait_for,
};
use server::fixture::{Running, servers};
use server::{ConnectOptions, PrivateServer, Secret, StartOptions};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tunesmith_load::engine::{Arrivals, EngineOptions, LiveCounters, Observer, Quiet, SecondStats};
use tunesmith_load::sysbench::{self, Kind, ScriptName, Tables};
use tunesmith_load::tpcc::{self, DataSet, Mix, RunOptions};
use tunesmith_load::{LoadObserver, LoadOptions};

/// An account to which `read_only` applies.
fn mortal(connect: &ConnectOptions, database: &str) -> ConnectOptions {
    let mut admin = admin(connect);
    admin.query_blocking("CREATE USER mortal@'%' IDENTIFIED BY 'secret'").unwrap();
    admin.query_blocking(&format!("GRANT ALL ON {database}.* TO mortal@'%'")).unwrap();
    ConnectOptions {
        user: "mortal".into(),
        password: Some(Secret::new("secret")),
        ..connect.clone().with_database(database)
    }
}

/// A run of four terminals that a [`Play`] ends.
fn until_the_play_ends(seed: u64) -> RunOptions {
    RunOptions::new(4, Duration::from_secs(120), Duration::ZERO, seed)
}

fn retried(counters: &LiveCounters) -> u64 {
    counters.retried.load(Relaxed)
}

fn failed(counters: &LiveCounters) -> u64 {
    counters.failed.load(Relaxed)
}

/// Waits until the terminals work again.
fn goes_on(counters: &LiveCounters) {
    let before = counters.committed.load(Relaxed);
    wait_for("the run goes on", || counters.committed.load(Relaxed) > before + 20);
}

/// 1213: takes the districts and then the warehouse, which a Payment takes the other way round. The many rows that it
/// has changed before make the Payment the cheaper victim.
fn deadlock(connect: &ConnectOptions, counters: &LiveCounters) {
    let mut admin = admin(connect);
    admin.query_blocking("CREATE TABLE ballast (id INT PRIMARY KEY, v INT)").unwrap();
    let rows: Vec<String> = (0..200).map(|n| format!("({n}, 0)")).collect();
    admin.query_blocking(&format!("INSERT INTO ballast VALUES {}", rows.join(", "))).unwrap();
    let before = retried(counters);
    wait_for("1213", || {
        admin.query_blocking("BEGIN").unwrap();
        admin.query_blocking("UPDATE ballast SET v = v + 1").unwrap();
        // It may be our turn to be the victim all the same: then the next round has another.
        let _ = admin.query_blocking("UPDATE district SET d_ytd = d_ytd WHERE d_w_id = 1");
        std::thread::sleep(Duration::from_millis(50));
        let _ = admin.query_blocking("UPDATE warehouse SET w_ytd = w_ytd WHERE w_id = 1");
        admin.query_blocking("ROLLBACK").unwrap();
        retried(counters) > before
    });
}

/// 1205: a lock that is not given up before somebody has waited too long for it.
fn lock_wait_timeout(connect: &ConnectOptions, counters: &LiveCounters) {
    let mut admin = admin(connect);
    let before = retried(counters);
    admin.query_blocking("BEGIN").unwrap();
    admin.query_blocking("UPDATE warehouse SET w_ytd = w_ytd WHERE w_id = 1").unwrap();
    // A deadlock may still be counted late; the second wait of one second is a timeout for certain.
    let held = Instant::now();
    wait_for("1205", || held.elapsed() > Duration::from_millis(2500) && retried(counters) > before);
    admin.query_blocking("ROLLBACK").unwrap();
}

/// 1290: the server is read-only for a while, as in a failover.
fn read_only(connect: &ConnectOptions, counters: &LiveCounters) {
    let mut admin = admin(connect);
    let before = failed(counters);
    admin.query_blocking("SET GLOBAL read_only = 1").unwrap();
    wait_for("1290", || failed(counters) > before);
    admin.query_blocking("SET GLOBAL read_only = 0").unwrap();
}

/// 2006 and 2013: connections that are gone from one moment to the other.
fn kill_connections(connect: &ConnectOptions, counters: &LiveCounters) {
    let mut admin = admin(connect);
    let before = failed(counters);
    wait_for("a lost connection", || {
        let sql = "SELECT id FROM information_schema.processlist WHERE user = 'mortal' LIMIT 2";
        let ids: Vec<i64> = admin.query_blocking(sql).unwrap().rows().map(|mut r| r.int().unwrap()).collect();
        for id in ids {
            // One may have ended by itself.
            let _ = admin.query_blocking(&format!("KILL {id}"));
        }
        failed(counters) > before
    });
}

/// Loses its connections once, in the middle of the rows.
struct BreakOff(ConnectOptions, AtomicBool);

impl LoadObserver for BreakOff {
    fn progress(&self, rows: u64, _of: u64) {
        if rows < 120_000 || self.1.swap(true, Relaxed) {
            return;
        }
        let mut admin = admin(&self.0);
        let own = number(&mut admin, "SELECT CONNECTION_ID()");
        let sql = format!(
            "SELECT id FROM information_schema.processlist WHERE user = 'root' AND db = 'tpcc' AND id <> {own}"
        );
        let ids: Vec<i64> =
            admin.query_blocking(&sql).unwrap().rows().map(|mut r| r.int().unwrap()).collect();
        for id in ids {
            let _ = admin.query_blocking(&format!("KILL {id}"));
        }
    }
}

#[tokio::test]
async fn errors_in_the_middle_of_a_run_lose_nothing() {
    on_both(&[("innodb_lock_wait_timeout", "1")], |connect, _| {
        // A load that breaks off says so, and the next one makes it whole.
        let set = DataSet::new(1, 5);
        let observer = BreakOff(connect.clone(), AtomicBool::new(false));
        let error = tpcc::prepare(connect, &set, &LoadOptions::default(), &observer).unwrap_err();
        assert!(observer.1.load(Relaxed), "{error}");
        let report = tpcc::prepare(connect, &set, &LoadOptions::default(), &Quiet).unwrap();
        assert!(report.loaded);
        assert_eq!(broken(connect, true), [0u8; 0]);

        let mortal = mortal(connect, "tpcc");
        let root = connect.clone().with_database("tpcc");
        let play = Play::new({
            let root = root.clone();
            move |counters| {
                deadlock(&root, &counters);
                lock_wait_timeout(&root, &counters);
                read_only(&root, &counters);
                goes_on(&counters);
                kill_connections(&root, &counters);
                goes_on(&counters);
            }
        });
        let run = tpcc::run(&mortal, &until_the_play_ends(2), &play).unwrap();
        play.end();
        assert_books(&run);
        for code in [1205, 1213] {
            assert!(run.retries.get(&code).is_some_and(|&n| n > 0), "no {code}: {:?}", run.retries);
        }
        // A killed session may still say so (1317, 1927) before its connection is closed (2013).
        assert!(run.errors.get(&1290).is_some_and(|&n| n > 0), "no 1290: {:?}", run.errors);
        assert!([2013, 1927, 1317].iter().any(|code| run.errors.contains_key(code)), "{:?}", run.errors);
        assert!(run.reconnects > 0);
        assert!(run.tpcc.as_ref().unwrap().server_check.ok, "{:?} {:?}", run.tpcc, run.errors);
        assert_eq!(broken(&root, false), [0u8; 0]);
        let mut admin = admin(&root);
        wait_for("statements are gone with their connections", || {
            status(&mut admin, "Prepared_stmt_count") == 0
        });

        // A deadlock or a lock wait in every attempt: the end of the run is looked at between attempts.
        admin.query_blocking("BEGIN").unwrap();
        admin.query_blocking("UPDATE warehouse SET w_ytd = w_ytd WHERE w_id = 1").unwrap();
        let mut options = RunOptions::new(2, Duration::from_secs(2), Duration::ZERO, 3);
        options.mix = Mix::Weights([0.0, 1.0, 0.0, 0.0, 0.0]);
        let begun = Instant::now();
        let run = tpcc::run(&root, &options, &Quiet).unwrap();
        let took = begun.elapsed();
        admin.query_blocking("ROLLBACK").unwrap();
        assert!(took < Duration::from_secs(2) + options.engine.grace + Duration::from_secs(1), "{took:?}");
        assert_eq!((run.transactions, run.books.cut), (0, 2), "{:?}", run.books);
        assert_eq!(broken(&root, false), [0u8; 0]);
    })
    .await;
}

/// Kills a server as a power cut of its process would, and starts it again in the same place.
fn restart(server: &Mutex<Option<PrivateServer>>, binary: &server::Binary, settings: &[(String, String)]) {
    let old = server.lock().unwrap().take().unwrap();
    let socket_dir = old.socket().parent().unwrap().to_owned();
    let mut options = StartOptions::new(old.datadir(), socket_dir);
    options.settings = settings.to_vec();
    old.kill();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let new = runtime.block_on(PrivateServer::start(binary, &options)).unwrap();
    *server.lock().unwrap() = Some(new);
}

#[tokio::test]
async fn a_server_that_dies_comes_back_or_hangs_holds_nothing_up() {
    for binary in servers() {
        let Running { server, work } = Running::start(&binary, &SETTINGS).await;
        let connect = server.connect_options().with_database("tpcc");
        tpcc::prepare(&connect, &DataSet::new(1, 5), &LoadOptions::default(), &Quiet).unwrap();
        let settings: Vec<(String, String)> = SETTINGS.map(|(n, v)| (n.into(), v.into())).into();
        let server = Arc::new(Mutex::new(Some(server)));

        // Killed and started again: the terminals come back, on statements that they prepare anew.
        let play = Play::new({
            let (server, binary, settings) = (Arc::clone(&server), binary.clone(), settings.clone());
            move |counters: Arc<LiveCounters>| {
                goes_on(&counters);
                restart(&server, &binary, &settings);
                goes_on(&counters);
            }
        });
        let run = tpcc::run(&connect, &until_the_play_ends(4), &play).unwrap();
        play.end();
        assert_books(&run);
        assert!(run.reconnects > 0, "no terminal came back");
        assert!(run.errors.get(&2013).is_some_and(|&n| n > 0), "{:?}", run.errors);
        assert!(run.tpcc.as_ref().unwrap().server_check.ok, "{:?} {:?}", run.tpcc, run.errors);
        assert_eq!(broken(&connect, false), [0u8; 0]);

        // A server that hangs: the run ends in time, with its result, and says what is unanswered.
        let pid = server.lock().unwrap().as_ref().unwrap().pid();
        let mut options = RunOptions::new(4, Duration::from_secs(3), Duration::ZERO, 4);
        options.engine.grace = Duration::from_millis(500);
        let begun = Instant::now();
        let run = tpcc::run(&connect, &options, &Later::new(move || signal(pid, "STOP"))).unwrap();
        let took = begun.elapsed();
        signal(pid, "CONT");
        assert!(took < Duration::from_secs(3) + options.engine.grace + Duration::from_secs(1), "{took:?}");
        assert!(run.totals.unanswered > 0 && run.transactions > 0, "{:?}", run.totals);
        assert_eq!(broken(&connect, false), [0u8; 0]);

        // One that is gone for good.
        let play = Play::new({
            let server = Arc::clone(&server);
            move |counters: Arc<LiveCounters>| {
                goes_on(&counters);
                server.lock().unwrap().take().unwrap().kill();
                wait_for("the loss is noticed", || failed(&counters) > 0);
            }
        });
        let run = tpcc::run(&connect, &until_the_play_ends(5), &play).unwrap();
        play.end();
        assert_books(&run);
        let check = run.tpcc.as_ref().unwrap().server_check;
        assert!(!check.ok && check.d_next_o_id_change.is_none(), "{check:?}");
        drop(work);
    }
}

/// Calls a function once, two seconds into the run.
struct Later<F: Fn() + Sync> {
    act: F,
    done: AtomicBool,
}

impl<F: Fn() + Sync> Later<F> {
    fn new(act: F) -> Self {
        Self { act, done: AtomicBool::new(false) }
    }
}

impl<F: Fn() + Sync> Observer for Later<F> {
    fn second(&self, second: &SecondStats) {
        if second.second == 1 && !self.done.swap(true, Relaxed) {
            (self.act)();
        }
    }
}

#[tokio::test]
async fn a_stall_shows_in_the_intended_latency() {
    on_both(&[], |connect, running| {
        prepare_sysbench(connect, &Tables { table_size: 1000, ..Tables::default() });
        let pid = running.server.pid();
        let mut options = events(Kind::Script(ScriptName::OltpPointSelect), 4, 0);
        options.engine = EngineOptions {
            terminals: 4,
            time: Some(Duration::from_secs(4)),
            arrivals: Arrivals::Constant(200.0),
            ..options.engine
        };
        options.engine.events = None;
        let stall = move || {
            std::thread::spawn(move || {
                signal(pid, "STOP");
                std::thread::sleep(Duration::from_secs(1));
                signal(pid, "CONT");
            });
        };
        let run = sysbench::run(connect, &options, &Later::new(stall)).unwrap();
        let intended = run.intended_latency_us.unwrap();
        // A quarter of the transactions were due in the stall; four of them saw it from the inside.
        assert!(intended.p90 > 300_000, "{intended:?}");
        assert!(run.latency_us.p90 < 300_000, "{:?}", run.latency_us);
        // The schedule's own error is a figure of its own, and the stall is not in it: a terminal that waits for an
        // answer is not late by itself.
        let own = run.schedule_error_us.unwrap();
        assert!(own.count > 300 && own.max < intended.max / 2, "{own:?} {intended:?}");
        // 200 were due in the stall. One may be due in the very moment that the run ends, and a busy machine is behind by a few.
        let left = run.backlog.unwrap().end;
        assert!(left < 100, "the backlog is worked off: {left}");
        assert!(run.transactions + left + run.books.cut >= 780, "nothing is dropped: {}", run.transactions);

        // Twice what the server can do: no abort, but a backlog.
        options.engine.arrivals = Arrivals::Poisson(5_000_000.0);
        options.engine.time = Some(Duration::from_secs(1));
        let run = sysbench::run(connect, &options, &Quiet).unwrap();
        assert!(run.backlog.unwrap().end > 1000 && run.transactions > 100, "{:?}", run.backlog);
        assert!(run.warnings.iter().any(|w| w.contains("overload")));
    })
    .await;
}
