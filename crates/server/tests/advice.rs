//! Snapshots of real servers in awkward states: useful, without a crash, and without a trace on the server.

use advisor::{Severity, Snapshot, advise};
use knobs::{Flavour, Live};
use server::fixture::{Running, servers};
use server::{Admin, ConnectOptions, Scope, Secret, collect};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Counters that tell of a change made from outside; reads and logins move others.
const TRACES: [&str; 8] = [
    "com_flush",
    "com_set_option_global",
    "flush_commands",
    "com_reset",
    "com_alter_user",
    "com_kill",
    "aborted_connects",
    "handler_delete",
];

async fn variables(admin: &mut Admin) -> BTreeMap<String, String> {
    let mut all = admin.global_variables().await.unwrap_or_else(|e| panic!("{e}"));
    // These move by themselves.
    all.retain(|name, _| !name.starts_with("gtid") && name != "timestamp" && !name.contains("rand_seed"));
    all
}

async fn traces(admin: &mut Admin) -> Vec<Option<String>> {
    let status = admin.status().await.unwrap_or_else(|e| panic!("{e}"));
    TRACES.iter().map(|name| status.get(*name).cloned()).collect()
}

/// Takes a snapshot between two looks at the server, which must be equal.
async fn untouched(admin: &mut Admin, collector: &mut Admin, scope: &Scope) -> Snapshot {
    let before = (variables(admin).await, traces(admin).await);
    let start = Instant::now();
    let snapshot = collect(collector, scope).await.unwrap_or_else(|e| panic!("{e}"));
    let spent = start.elapsed();
    let after = (variables(admin).await, traces(admin).await);
    assert_eq!(before, after, "advice left a trace");
    assert!(spent <= scope.time_limit + scope.window + Duration::from_secs(20), "{spent:?}");
    snapshot
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_just_started_is_not_judged_by_its_counters() {
    for binary in servers() {
        let running = Running::start(&binary, &[("performance_schema", "OFF")]).await;
        let (mut admin, mut collector) = (running.admin().await, running.admin().await);
        let snapshot = untouched(&mut admin, &mut collector, &Scope::default()).await;
        assert!(snapshot.machine.memory.is_some(), "the server runs here");
        assert!(snapshot.schema_facts.is_some() && snapshot.accounts.is_some());
        assert!(
            snapshot.missing.iter().any(|missing| missing.what == "statements"),
            "{:?}",
            snapshot.missing
        );
        let report = advise(&snapshot);
        let unknown = report.findings.iter().filter(|f| f.severity == Severity::NotEnoughData).count();
        assert!(unknown >= 2, "{:?}", report.findings);
        let rules: Vec<&str> = report.findings.iter().map(|f| f.rule.as_str()).collect();
        assert!(rules.contains(&"observe.performance-schema"), "{rules:?}");
        assert!(
            !report.findings.iter().any(|f| f.rule.starts_with("temp") && f.severity >= Severity::Notice)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_without_rights_still_gets_advice() {
    for binary in servers() {
        let running = Running::start(&binary, &[("performance_schema", "ON")]).await;
        let mut admin = running.admin().await;
        for sql in ["CREATE USER poor@localhost IDENTIFIED BY 'poor'", "GRANT USAGE ON *.* TO poor@localhost"]
        {
            admin.execute(sql).await.unwrap_or_else(|e| panic!("{e}"));
        }
        let options = ConnectOptions {
            password: Some(Secret::new("poor")),
            ..ConnectOptions::local(running.server.socket(), "poor")
        };
        let mut poor = Admin::connect(&options).await.unwrap_or_else(|e| panic!("{e}"));
        let snapshot = untouched(&mut admin, &mut poor, &Scope::default()).await;
        assert_eq!(snapshot.accounts, None);
        for what in ["accounts", "InnoDB's metrics"] {
            assert!(
                snapshot.missing.iter().any(|missing| missing.what == what),
                "{what}: {:?}",
                snapshot.missing
            );
        }
        let report = advise(&snapshot);
        assert!(!report.findings.is_empty());
        assert!(report.findings.iter().all(|finding| !finding.rule.starts_with("security.no-password")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_has_stopped_is_the_first_thing_said() {
    for binary in servers() {
        let running = Running::start(&binary, &[("server_id", "7")]).await;
        let (mut admin, mut collector) = (running.admin().await, running.admin().await);
        let sql = match binary.flavour {
            Flavour::MariaDb => {
                "CHANGE MASTER TO MASTER_HOST='192.0.2.1', MASTER_USER='r', MASTER_PASSWORD='r'"
            }
            _ => "CHANGE REPLICATION SOURCE TO SOURCE_HOST='192.0.2.1', SOURCE_USER='r', SOURCE_PASSWORD='r'",
        };
        admin.execute(sql).await.unwrap_or_else(|e| panic!("{e}"));
        let snapshot = untouched(&mut admin, &mut collector, &Scope::default()).await;
        assert_eq!(snapshot.replicas.as_ref().map(Vec::len), Some(1));
        let report = advise(&snapshot);
        assert_eq!(report.findings[0].rule, "replication.stopped");
        assert_eq!(report.findings[0].severity, Severity::Critical);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_samples_make_a_window_and_tables_are_seen() {
    for binary in servers() {
        let running = Running::start(&binary, &[]).await;
        let (mut admin, mut collector) = (running.admin().await, running.admin().await);
        for sql in [
            "CREATE DATABASE shop",
            "CREATE TABLE shop.no_key (a INT, b INT) ENGINE=InnoDB",
            "CREATE TABLE shop.near_end (id TINYINT UNSIGNED AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB AUTO_INCREMENT=250",
            "INSERT INTO shop.near_end VALUES ()",
            "CREATE TABLE shop.old (a INT) ENGINE=MyISAM",
            "ANALYZE TABLE shop.near_end, shop.no_key",
        ] {
            admin.execute(sql).await.unwrap_or_else(|e| panic!("{e}"));
        }
        let scope = Scope { window: Duration::from_secs(1), ..Scope::default() };
        let snapshot = untouched(&mut admin, &mut collector, &scope).await;
        assert!(snapshot.before.is_some() && snapshot.window_seconds.is_some_and(|s| s >= 1.0));
        let facts = snapshot.schema_facts.as_ref().unwrap_or_else(|| panic!("{:?}", snapshot.missing));
        assert_eq!((facts.tables, facts.complete), (3, true));
        assert_eq!(facts.without_primary_key, ["shop.no_key"]);
        assert!(facts.innodb_file_bytes.is_some_and(|bytes| bytes > 0));
        let report = advise(&snapshot);
        for rule in ["schema.no-primary-key", "schema.auto-increment", "schema.old-engines"] {
            let found = report.findings.iter().find(|f| f.rule == rule && f.severity >= Severity::Notice);
            assert!(found.is_some(), "{rule}: {facts:?}");
        }
        // What was saved gives the same advice elsewhere.
        let json = serde_json::to_string(&snapshot).unwrap_or_else(|e| panic!("{e}"));
        let read: Snapshot = serde_json::from_str(&json).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(advise(&read), report);
        assert_eq!(snapshot.variables.switch("skip_networking"), Some(true));
    }
}
