//! The engine against real servers of both flavours: counters that must agree, data that must be what it should.

#![expect(clippy::unwrap_used, reason = "a helper of a test that fails has no better way to say so")]

mod common;

use common::{
    Play, admin, assert_books, broken, events, number, on_both, prepare_sysbench, status, wait_for,
};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tunesmith_load::engine::{LiveCounters, Observer, Quiet, StopReason};
use tunesmith_load::sysbench::{self, Distribution, Kind, Legacy, ScriptName, SysbenchOptions, Tables};
use tunesmith_load::tpcc::{self, DataSet, Isolation, Mix, RunOptions};
use tunesmith_load::wire::{Connection, Protocol};
use tunesmith_load::{LoadMethod, LoadOptions};

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
        // Without transactions a DELETE and an INSERT of the same id by several terminals meet: the key is there twice,
        // the event has failed, the run goes on.
        let mut race = events(Kind::Script(ScriptName::OltpWriteOnly), 8, 2000);
        (race.counts.skip_trx, race.tables.table_size) = (true, 4);
        let run = sysbench::run(connect, &race, &Quiet).unwrap();
        assert_books(&run);
        assert_eq!(run.books.ok + run.books.failed, 2000);
        assert!(run.errors.keys().eq([&1062]) && run.reconnects == 0, "{:?}", run.errors);
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

        // Enough transactions for an audit, whatever time they take.
        let mut options = RunOptions::new(4, Duration::from_secs(1), Duration::ZERO, 9);
        options.engine.time = None;
        options.engine.events = Some(11_000);
        let run = tpcc::run(connect, &options, &Quiet).unwrap();
        assert_books(&run);
        let check = run.tpcc.as_ref().unwrap().server_check;
        assert!(check.ok && check.d_next_o_id_change == Some(check.committed_new_orders as i64), "{check:?}");
        assert!(run.tpmc.unwrap() > 0.0 && run.books.failed == 0, "{:?}", run.errors);
        let audit = run.audit.as_ref().unwrap();
        assert!(audit.enough && audit.ok, "{:#?}", audit.rows.iter().filter(|r| !r.ok).collect::<Vec<_>>());

        // Deliveries that meet at the same oldest orders: none waits for ever, none delivers an order twice.
        for isolation in [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable] {
            options.engine.events = Some(24);
            options.isolation = isolation;
            options.mix = Mix::Weights([0.0, 0.0, 0.0, 1.0, 0.0]);
            let run = tpcc::run(connect, &options, &Quiet).unwrap();
            assert_eq!((run.books.ok, run.books.failed), (24, 0), "{isolation:?} {:?}", run.errors);
        }
        assert_eq!(broken(connect, false), [0u8; 0]);

        // Faults in the data are found, each by its condition, in whichever warehouse they are.
        let mut admin = admin(&connect.clone().with_database("tpcc"));
        for sql in [
            // 1 and 8; 9
            "UPDATE warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 2",
            "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_w_id = 1 AND d_id = 3",
            // 2
            "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 2 AND d_id = 3",
            // 4 and 6
            "DELETE FROM order_line WHERE ol_w_id = 2 AND ol_d_id = 10 AND ol_o_id = 7 AND ol_number = 1",
            // 5 and 3
            "DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 8 AND no_o_id = 2990",
            // 7
            "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 2 AND ol_d_id = 1 AND ol_o_id = 5 AND ol_number = 1",
            // 10 and 12
            "UPDATE customer SET c_balance = c_balance + 1 WHERE c_w_id = 2 AND c_d_id = 1 AND c_id = 1",
            "UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_w_id = 2 AND c_d_id = 1 AND c_id = 2",
        ] {
            assert_eq!(admin.query_blocking(sql).unwrap().affected, 1, "{sql}");
        }
        let found: Vec<(u8, u64)> =
            tpcc::check(connect, false).unwrap().into_iter().map(|c| (c.id, c.violations)).collect();
        // Lines of orders that were delivered before the load are worth nothing: no customer owes more or less for them.
        assert_eq!(
            found,
            [(1, 2), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (7, 1), (8, 1), (9, 1), (10, 1), (12, 2)]
        );
    })
    .await;
}

/// Isolation levels of the transactions that are under way and have changed something.
fn isolation_levels(admin: &mut Connection) -> Vec<String> {
    // The server renews this table only for those who have not looked at it for a tenth of a second.
    std::thread::sleep(Duration::from_millis(150));
    let sql =
        "SELECT DISTINCT trx_isolation_level FROM information_schema.innodb_trx WHERE trx_rows_modified > 0";
    let reply = admin.query_blocking(sql).unwrap();
    reply.rows().filter_map(|mut r| r.text().unwrap()).collect()
}

#[tokio::test]
async fn benchbase_s_tables_mix_and_isolation() {
    on_both(&[], |connect, _| {
        let connect = connect.clone().with_database("benchbase");
        let set = DataSet::benchbase(1, 5);
        assert!(tpcc::prepare(&connect, &set, &LoadOptions::default(), &Quiet).unwrap().loaded);
        let mut admin = admin(&connect);
        let reply = admin
            .query_blocking("SELECT table_name FROM information_schema.tables WHERE table_schema = 'benchbase' ORDER BY 1")
            .unwrap();
        let tables: Vec<String> = reply.rows().map(|mut r| r.text().unwrap().unwrap()).collect();
        assert_eq!(
            tables,
            [
                "customer", "district", "history", "item", "new_order", "oorder", "order_line", "stock", "tunesmith_load",
                "warehouse"
            ]
        );
        let sql = "SELECT COUNT(*) FROM information_schema.referential_constraints WHERE constraint_schema = 'benchbase' \
                   AND delete_rule = 'CASCADE'";
        assert_eq!(number(&mut admin, sql), 10);
        // The keys were added without a look at the rows; two that would show a wrong one.
        for (child, columns, parent, keys) in [
            ("order_line", "ol_w_id, ol_d_id, ol_o_id", "oorder", "o_w_id, o_d_id, o_id"),
            ("history", "h_c_w_id, h_c_d_id, h_c_id", "customer", "c_w_id, c_d_id, c_id"),
        ] {
            let sql = format!("SELECT COUNT(*) FROM {child} WHERE ({columns}) NOT IN (SELECT {keys} FROM {parent})");
            assert_eq!(number(&mut admin, &sql), 0, "{child}");
        }

        let mut options = RunOptions::new(4, Duration::from_secs(120), Duration::ZERO, 7);
        options.isolation = Isolation::Serializable;
        let root = connect.clone();
        let play = Play::new(move |_| {
            let mut admin = common::admin(&root);
            wait_for("a transaction is seen", || {
                let levels = isolation_levels(&mut admin);
                assert!(levels.iter().all(|l| l == "SERIALIZABLE"), "{levels:?}");
                !levels.is_empty()
            });
            // The series has whole seconds only.
            std::thread::sleep(Duration::from_secs(2));
        });
        let begun = std::time::SystemTime::now();
        let run = tpcc::run(&connect, &options, &play).unwrap();
        play.end();
        assert_books(&run);
        assert!(run.transactions > 0 && run.tpcc.as_ref().unwrap().server_check.ok, "{:?}", run.tpcc);
        assert_eq!(broken(&connect, false), [0u8; 0]);

        let (summary, csv) = tpcc::benchbase_output(&run, 1, begun);
        let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
        assert_eq!(summary["Measured Requests"], run.transactions);
        assert_eq!(summary["isolation"], "TRANSACTION_SERIALIZABLE");
        let per_second: f64 = csv.lines().skip(1).map(|l| l.split(',').nth(1).unwrap().parse::<f64>().unwrap()).sum();
        let seconds = csv.lines().count() - 1;
        assert!(seconds >= 2 && per_second <= run.transactions as f64, "{csv}");
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
        // Whatever character set a new database gets.
        for charset in ["latin1", "utf8mb3", "utf8mb4"] {
            admin.query_blocking(&format!("SET GLOBAL character_set_server = {charset}")).unwrap();
            admin.query_blocking("DROP DATABASE sbtest").unwrap();
            let mut options = events(Kind::Script(ScriptName::OltpReadWrite), 2, 20);
            options.tables.table_size = 100;
            prepare_sysbench(connect, &options.tables);
            assert_eq!(sysbench::run(connect, &options, &Quiet).unwrap().books.ok, 20, "{charset}");
        }
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
