//! The engine against real servers of both flavours: counters that must agree, faults that must not lose anything.

#![expect(clippy::unwrap_used, reason = "a helper of a test that fails has no better way to say so")]

use server::fixture::{Running, servers};
use server::{ConnectOptions, Secret};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tunesmith_load::engine::{Arrivals, EngineOptions, LiveCounters, Observer, Quiet, RunResult, StopReason};
use tunesmith_load::sysbench::{self, Distribution, Kind, Legacy, ScriptName, SysbenchOptions, Tables};
use tunesmith_load::tpcc::{self, DataSet, RunOptions};
use tunesmith_load::wire::{Connection, Connector, Protocol};
use tunesmith_load::{LoadMethod, LoadOptions};

const SETTINGS: [(&str, &str); 4] = [
    ("local_infile", "ON"),
    ("innodb_flush_log_at_trx_commit", "2"),
    ("innodb_buffer_pool_size", "512M"),
    ("max_connections", "1200"),
];

/// Runs `test` on a fresh server of each flavour.
async fn on_both(settings: &[(&str, &str)], test: impl Fn(&ConnectOptions, &Running)) {
    for binary in servers() {
        let settings: Vec<_> = SETTINGS.iter().chain(settings).copied().collect();
        let running = Running::start(&binary, &settings).await;
        test(&running.server.connect_options(), &running);
    }
}

fn admin(connect: &ConnectOptions) -> Connection {
    Connector::new(connect, [].into(), Protocol::Text).unwrap().connect_blocking().unwrap()
}

fn number(admin: &mut Connection, sql: &str) -> i64 {
    admin.query_blocking(sql).unwrap_or_else(|e| panic!("{sql}: {e}")).single_int().unwrap()
}

fn status(admin: &mut Connection, name: &str) -> u64 {
    let reply = admin.query_blocking(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).unwrap();
    let mut row = reply.row().unwrap();
    row.text().unwrap();
    row.text().unwrap().unwrap().parse().unwrap()
}

fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
}

fn events(kind: Kind, terminals: usize, events: u64) -> SysbenchOptions {
    let mut options = SysbenchOptions::new(kind);
    options.engine.terminals = terminals;
    options.engine.time = None;
    options.engine.events = Some(events);
    options.tables.table_size = 1000;
    options
}

fn prepare_sysbench(connect: &ConnectOptions, tables: &Tables) {
    let report =
        sysbench::prepare(connect, tables, Distribution::Uniform, &LoadOptions::default(), &Quiet).unwrap();
    assert!(report.loaded && report.rows == u64::from(tables.tables) * tables.table_size);
}

/// Books of the window: every transaction that began has one place.
fn assert_books(run: &RunResult) {
    let sum: u64 = run.by_type.values().map(|t| t.books.ok + t.books.rolled_back).sum();
    assert_eq!(sum, run.transactions);
    assert_eq!(run.latency_us.count, run.transactions, "each ended transaction has one latency");
    let failed: u64 = run.errors.values().sum();
    let all_failed: u64 = run.totals.by_type.values().map(|b| b.failed).sum();
    assert_eq!(failed, all_failed, "each failure has its error");
}

#[tokio::test]
async fn the_server_counts_the_same_statements() {
    on_both(&[("max_prepared_stmt_count", "100000")], |connect, _| {
        prepare_sysbench(connect, &Tables { tables: 2, table_size: 1000, ..Tables::default() });
        let counters = ["Com_select", "Com_insert", "Com_update", "Com_delete", "Com_begin", "Com_commit"];
        let mut admin = admin(connect);
        let mut check = |options: &SysbenchOptions, expected: [u64; 6]| {
            let before = counters.map(|c| status(&mut admin, c));
            // The engine's own preparations, without any event: what they cost is not the workload's.
            let run = sysbench::run(connect, options, &Quiet).unwrap();
            let after = counters.map(|c| status(&mut admin, c));
            let mut change: Vec<u64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
            // `SELECT @@max_prepared_stmt_count` before the run.
            change[0] -= u64::from(options.engine.protocol == Protocol::Prepared);
            let n = run.totals.by_type["event"].ok;
            assert_eq!(Some(n), options.engine.events, "exactly the events asked for");
            assert_eq!(run.totals.by_type["event"].retried, 0, "nothing that would blur the counts");
            assert_eq!(change, expected.map(|e| e * n), "{:?}", options.kind);
            let [reads, writes, others] =
                [expected[0], expected[1] + expected[2] + expected[3], expected[4] + expected[5]];
            let s = run.totals.statements;
            assert_eq!([s.read, s.write, s.other], [reads * n, writes * n, others * n]);
        };
        let mut read_write = events(Kind::Script(ScriptName::OltpReadWrite), 1, 200);
        read_write.tables.tables = 2;
        check(&read_write, [14, 1, 2, 1, 1, 1]);
        read_write.engine.protocol = Protocol::Text;
        check(&read_write, [14, 1, 2, 1, 1, 1]);
        check(&events(Kind::Script(ScriptName::OltpPointSelect), 4, 500), [1, 0, 0, 0, 0, 0]);
        check(&events(Kind::Script(ScriptName::OltpReadOnly), 3, 90), [14, 0, 0, 0, 1, 1]);
        check(&events(Kind::Script(ScriptName::SelectRandomRanges), 2, 50), [1, 0, 0, 0, 0, 0]);
        check(&events(Kind::Script(ScriptName::OltpUpdateIndex), 1, 100), [0, 0, 1, 0, 0, 0]);
        sysbench::cleanup(connect, 2).unwrap();
        prepare_sysbench(connect, &Tables { table_size: 1000, legacy: true, ..Tables::default() });
        // 0.4.12: the extra UPDATE makes three.
        check(&events(Kind::Legacy(Legacy::default()), 1, 100), [14, 1, 3, 1, 1, 1]);
        assert_eq!(status(&mut admin, "Prepared_stmt_count"), 0, "no statement outlives its connection");
    })
    .await;
}

#[tokio::test]
async fn tpcc_agrees_with_the_server_and_stays_consistent() {
    on_both(&[], |connect, _| {
        let set = DataSet::new(2, 5);
        let report = tpcc::prepare(connect, &set, &LoadOptions::default(), &Quiet).unwrap();
        assert!(report.loaded && report.method == LoadMethod::LoadData);
        let again = tpcc::prepare(connect, &set, &LoadOptions::default(), &Quiet).unwrap();
        assert!(!again.loaded, "a data set that is there is not loaded again");
        let other = tpcc::prepare(connect, &DataSet::new(3, 5), &LoadOptions::default(), &Quiet);
        assert!(other.unwrap_err().to_string().contains("another data set"));
        assert_eq!(broken(connect, true), [0u8; 0]);

        let run = tpcc::run(
            connect,
            &RunOptions::new(4, Duration::from_secs(4), Duration::from_secs(1), 9),
            &Quiet,
        )
        .unwrap();
        assert_books(&run);
        let check = run.tpcc.as_ref().unwrap().server_check;
        assert!(check.ok, "{check:?}");
        assert!(run.tpmc.unwrap() > 0.0 && run.books.failed == 0, "{:?}", run.errors);
        assert_eq!(broken(connect, false), [0u8; 0]);

        // Faults in the data are found.
        let mut admin = admin(&connect.clone().with_database("tpcc"));
        for (sql, condition) in [
            ("UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2", 1),
            ("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 2 AND d_id = 3", 2),
            (
                "DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 10 AND ol_o_id = 7 AND ol_number = 1",
                6,
            ),
            (
                "UPDATE customer SET c_balance = c_balance + 1 WHERE c_w_id = 2 AND c_d_id = 1 AND c_id = 1",
                10,
            ),
        ] {
            admin.query_blocking(sql).unwrap();
            assert!(broken(connect, false).contains(&condition), "{sql}");
        }
    })
    .await;
}

/// Numbers of the conditions that do not hold.
fn broken(connect: &ConnectOptions, fresh: bool) -> Vec<u8> {
    let conditions = tpcc::check(connect, fresh).unwrap();
    assert_eq!(conditions.len(), if fresh { 12 } else { 11 });
    conditions.into_iter().filter(|c| !c.ok).map(|c| c.id).collect()
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
    fn second(&self, second: &tunesmith_load::engine::SecondStats) {
        if second.second == 1 && !self.done.swap(true, Relaxed) {
            (self.act)();
        }
    }
}

#[tokio::test]
async fn faults_in_the_middle_of_a_run_lose_nothing() {
    on_both(&[("innodb_lock_wait_timeout", "1")], |connect, running| {
        tpcc::prepare(connect, &DataSet::new(1, 5), &LoadOptions::default(), &Quiet).unwrap();
        let connect = connect.clone().with_database("tpcc");

        // 1205: a lock that nobody gives up for two seconds. And connections that are killed.
        let locker = || {
            let connect = connect.clone();
            std::thread::spawn(move || {
                let mut admin = admin(&connect);
                admin.query_blocking("BEGIN").unwrap();
                admin.query_blocking("UPDATE warehouse SET w_ytd = w_ytd WHERE w_id = 1").unwrap();
                std::thread::sleep(Duration::from_millis(1800));
                admin.query_blocking("ROLLBACK").unwrap();
            });
        };
        let run = tpcc::run(&connect, &RunOptions::new(4, Duration::from_secs(4), Duration::ZERO, 2), &Later::new(locker)).unwrap();
        assert_books(&run);
        assert!(run.retries.get(&1205).is_some_and(|&n| n > 0), "no 1205: {:?}", run.retries);
        assert!(run.tpcc.as_ref().unwrap().server_check.ok, "{:?}", run.tpcc);
        assert_eq!(broken(&connect, false), [0u8; 0]);

        let killer = || {
            let mut admin = admin(&connect);
            let own = number(&mut admin, "SELECT CONNECTION_ID()");
            let sql = format!(
                "SELECT id FROM information_schema.processlist WHERE db = 'tpcc' AND id <> {own} ORDER BY id DESC LIMIT 3"
            );
            let ids: Vec<i64> = admin.query_blocking(&sql).unwrap().rows().map(|mut r| r.int().unwrap()).collect();
            for id in ids {
                // One may have ended by itself.
                let _ = admin.query_blocking(&format!("KILL {id}"));
            }
        };
        let run = tpcc::run(&connect, &RunOptions::new(4, Duration::from_secs(4), Duration::ZERO, 3), &Later::new(killer)).unwrap();
        assert_books(&run);
        assert!(run.reconnects > 0 && run.series.last().unwrap().committed > 0, "no terminal came back");
        assert!(run.tpcc.as_ref().unwrap().server_check.ok, "{:?} {:?}", run.tpcc, run.errors);
        assert_eq!(broken(&connect, false), [0u8; 0]);

        // A server that hangs: the run ends in time, with its result, and says what is unanswered.
        let pid = running.server.pid();
        let mut options = RunOptions::new(4, Duration::from_secs(3), Duration::ZERO, 4);
        options.engine.grace = Duration::from_millis(500);
        let begun = Instant::now();
        let run = tpcc::run(&connect, &options, &Later::new(|| signal(pid, "STOP"))).unwrap();
        let took = begun.elapsed();
        signal(pid, "CONT");
        assert!(took < Duration::from_secs(3) + options.engine.grace + Duration::from_secs(1), "{took:?}");
        assert!(run.totals.unanswered > 0 && run.transactions > 0, "{:?}", run.totals);
        assert_eq!(broken(&connect, false), [0u8; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_read_only_server_is_left_and_found_again() {
    on_both(&[], |connect, _| {
        prepare_sysbench(connect, &Tables { table_size: 1000, ..Tables::default() });
        let mut admin = admin(connect);
        admin.query_blocking("CREATE USER mortal@'%' IDENTIFIED BY 'secret'").unwrap();
        admin.query_blocking("GRANT ALL ON sbtest.* TO mortal@'%'").unwrap();
        let mortal = ConnectOptions {
            user: "mortal".into(),
            password: Some(Secret::new("secret")),
            ..connect.clone().with_database("sbtest")
        };
        let mut options = events(Kind::Script(ScriptName::OltpUpdateIndex), 2, u64::MAX);
        options.engine.time = Some(Duration::from_secs(4));
        options.engine.events = None;
        let toggle = || {
            let connect = connect.clone();
            std::thread::spawn(move || {
                let mut admin = self::admin(&connect);
                admin.query_blocking("SET GLOBAL read_only = 1").unwrap();
                std::thread::sleep(Duration::from_millis(800));
                admin.query_blocking("SET GLOBAL read_only = 0").unwrap();
            });
        };
        let run = sysbench::run(&mortal, &options, &Later::new(toggle)).unwrap();
        assert_books(&run);
        assert!(run.errors.get(&1290).is_some_and(|&n| n > 0), "no 1290: {:?}", run.errors);
        assert!(run.series.last().unwrap().committed > 0, "no work after the server was writable again");
    })
    .await;
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

#[tokio::test]
async fn loading_falls_back_resumes_and_counts() {
    on_both(&[], |connect, _| {
        let mut admin = admin(connect);
        admin.query_blocking("SET GLOBAL local_infile = 0").unwrap();
        let tables = Tables { tables: 3, table_size: 2500, ..Tables::default() };
        let load = |workers| {
            let options = LoadOptions { workers, method: None };
            sysbench::prepare(connect, &tables, Distribution::Uniform, &options, &Quiet)
        };
        for workers in [1, 2, 8] {
            let report = load(workers).unwrap();
            assert_eq!((report.method, report.rows), (LoadMethod::Insert, 7500));
            for n in 1..=3 {
                assert_eq!(number(&mut admin, &format!("SELECT COUNT(*) FROM sbtest.sbtest{n}")), 2500);
            }
            sysbench::cleanup(connect, 3).unwrap();
        }
        // Broken off after the second table.
        load(2).unwrap();
        admin
            .query_blocking("DELETE FROM sbtest.tunesmith_load WHERE part IN ('complete', 'sbtest3 0')")
            .unwrap();
        admin.query_blocking("DELETE FROM sbtest.sbtest3").unwrap();
        let report = load(2).unwrap();
        assert_eq!((report.rows, report.resumed_parts), (2500, 2));
    })
    .await;
}

#[tokio::test]
async fn a_caller_can_stop_a_run_and_watch_it() {
    struct Stop(std::sync::Mutex<Vec<String>>, std::sync::OnceLock<Arc<LiveCounters>>);
    impl Stop {
        fn say(&self, what: &str) {
            self.0.lock().unwrap().push(what.into());
        }
    }
    impl Observer for Stop {
        fn started(&self, counters: &Arc<LiveCounters>) {
            self.say("started");
            self.1.set(Arc::clone(counters)).unwrap();
        }
        fn window_opened(&self) {
            self.say("opened");
        }
        fn window_closed(&self) {
            self.say("closed");
        }
        fn should_stop(&self) -> Option<StopReason> {
            let committed = self.1.get().map_or(0, |c| c.committed.load(Relaxed));
            (committed > 500).then(|| StopReason("enough".into()))
        }
    }
    on_both(&[], |connect, _| {
        prepare_sysbench(connect, &Tables { table_size: 1000, ..Tables::default() });
        let mut options = events(Kind::Script(ScriptName::OltpPointSelect), 2, 0);
        options.engine.events = None;
        options.engine.time = Some(Duration::from_secs(60));
        let stop = Stop(Default::default(), Default::default());
        let run = sysbench::run(connect, &options, &stop).unwrap();
        assert_eq!(run.stopped, Some(StopReason("enough".into())));
        assert!(run.transactions >= 500 && run.seconds < 60.0);
        assert_eq!(*stop.0.lock().unwrap(), ["started", "opened", "closed"]);
    })
    .await;
}

#[tokio::test]
async fn too_many_prepared_statements_become_text() {
    on_both(&[("max_prepared_stmt_count", "5")], |connect, _| {
        prepare_sysbench(connect, &Tables { table_size: 1000, ..Tables::default() });
        let run =
            sysbench::run(connect, &events(Kind::Script(ScriptName::OltpReadWrite), 2, 20), &Quiet).unwrap();
        assert_eq!(run.protocol, Protocol::Text);
        assert_eq!(run.books.ok, 20);
    })
    .await;
}
