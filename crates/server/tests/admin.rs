//! What a session reads from and does to servers of every installed flavour.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use knobs::{Flavour, Value};
use server::fixture::{self, Running};
use server::{Admin, AdminErrorKind, ConnectOptions, Endpoint, Secret, SslMode, TrxMonitor};
use std::collections::BTreeMap;

async fn enabled_counters(admin: &mut Admin) -> BTreeMap<String, bool> {
    admin.innodb_metrics().await.unwrap().into_iter().map(|(name, m)| (name, m.enabled)).collect()
}

#[tokio::test]
async fn exactly_the_committed_transactions_are_counted() {
    for binary in fixture::servers() {
        let running = Running::start(&binary, &[("innodb_stats_auto_recalc", "0")]).await;
        let mut admin = running.admin().await;
        let (mut client, mut rival) = (running.admin().await, running.admin().await);
        client.execute("CREATE DATABASE d").await.unwrap();
        client.execute("CREATE TABLE d.t (a INT PRIMARY KEY, b INT) ENGINE=InnoDB").await.unwrap();
        client.execute("INSERT INTO d.t VALUES (-1, 0), (-2, 0)").await.unwrap();
        let monitor = TrxMonitor::enable(&mut admin).await.unwrap();
        // InnoDB commits something of its own now and then, which may fall between two samples but not always does.
        let mut counted = Vec::new();
        while counted.last() != Some(&(16, 3)) {
            assert!(counted.len() < 10, "{binary}: {counted:?}");
            let before = monitor.sample(&mut admin).await.unwrap();
            sixteen_commits_and_three_roll_backs(&mut client, &mut rival).await;
            let counts = monitor.sample(&mut admin).await.unwrap().since(&before);
            assert!(counts.commits() >= 16, "{binary}: {counts:?}");
            counted.push((counts.commits(), counts.rollbacks));
        }
        monitor.restore(&mut admin).await.unwrap();
    }
}

async fn sixteen_commits_and_three_roll_backs(client: &mut Admin, rival: &mut Admin) {
    for a in 0..5 {
        client.execute(&format!("INSERT INTO d.t VALUES ({a}, 0)")).await.unwrap();
    }
    client.execute("DELETE FROM d.t WHERE a >= 0").await.unwrap();
    for _ in 0..3 {
        client.execute("START TRANSACTION READ ONLY").await.unwrap();
        client.execute("SELECT * FROM d.t WHERE a = -1").await.unwrap();
        client.execute("COMMIT").await.unwrap();
    }
    for _ in 0..5 {
        client.execute("SELECT * FROM d.t WHERE a = -1").await.unwrap();
    }
    client.execute("BEGIN").await.unwrap();
    client.execute("UPDATE d.t SET b = b + 1 WHERE a = -1").await.unwrap();
    client.execute("ROLLBACK").await.unwrap();
    // A statement that fails by itself.
    client.execute("INSERT INTO d.t VALUES (-1, 0)").await.unwrap_err();
    // A deadlock: one of the two is rolled back by the server, and the other commits.
    for (session, first) in [(&mut *client, -1), (&mut *rival, -2)] {
        session.execute("BEGIN").await.unwrap();
        session.execute(&format!("UPDATE d.t SET b = b + 1 WHERE a = {first}")).await.unwrap();
    }
    let (one, two) = tokio::join!(
        client.execute("UPDATE d.t SET b = b + 1 WHERE a = -2"),
        rival.execute("UPDATE d.t SET b = b + 1 WHERE a = -1"),
    );
    let victims = [one, two].into_iter().filter_map(Result::err).map(|e| e.server_code());
    assert_eq!(victims.collect::<Vec<_>>(), [Some(1213)]);
    client.execute("COMMIT").await.unwrap();
    rival.execute("COMMIT").await.unwrap();
    // The one after the other: no matter who was the victim, one more commit.
    client.execute("UPDATE d.t SET b = 0").await.unwrap();
}

#[tokio::test]
async fn looking_does_not_count() {
    for binary in fixture::servers() {
        let running = Running::start(&binary, &[]).await;
        let mut admin = running.admin().await;
        let monitor = TrxMonitor::enable(&mut admin).await.unwrap();
        let first = monitor.sample(&mut admin).await.unwrap();
        for _ in 0..20 {
            monitor.sample(&mut admin).await.unwrap();
        }
        let counts = monitor.sample(&mut admin).await.unwrap().since(&first);
        assert_eq!(counts.commits(), 0, "{binary}: {counts:?}");
    }
}

#[tokio::test]
async fn counters_are_put_back_exactly_as_they_were_found() {
    for binary in fixture::servers() {
        let running = Running::start(&binary, &[]).await;
        let mut admin = running.admin().await;
        // One of the module was switched on by somebody, and must stay on.
        admin.execute("SET GLOBAL innodb_monitor_enable = 'trx_rollbacks'").await.unwrap();
        let found = enabled_counters(&mut admin).await;
        assert!(found["trx_rollbacks"] && !found["trx_rw_commits"]);

        let monitor = TrxMonitor::enable(&mut admin).await.unwrap();
        assert!(enabled_counters(&mut admin).await["trx_rw_commits"]);
        monitor.restore(&mut admin).await.unwrap();
        assert_eq!(enabled_counters(&mut admin).await, found, "{binary}");

        // All on already: nothing is switched, and nothing put back.
        admin.execute("SET GLOBAL innodb_monitor_enable = 'module_trx'").await.unwrap();
        let found = enabled_counters(&mut admin).await;
        TrxMonitor::enable(&mut admin).await.unwrap().restore(&mut admin).await.unwrap();
        assert_eq!(enabled_counters(&mut admin).await, found, "{binary}");
    }
}

#[tokio::test]
async fn the_server_tells_ranges_and_types_of_its_variables() {
    for binary in fixture::servers() {
        let running = Running::start(&binary, &[]).await;
        let variables = running.admin().await.variables().await.unwrap();
        let io = &variables["innodb_io_capacity"];
        assert_eq!(
            (io.value.as_str(), io.min.as_deref()),
            if binary.flavour == Flavour::MariaDb { ("200", Some("100")) } else { ("10000", Some("100")) }
        );
        assert!(io.max.as_deref().unwrap().parse::<u64>().unwrap() >= 4_294_967_295);
        assert!(!io.type_name.is_empty());
        let method = &variables["innodb_flush_method"];
        assert_eq!((&method.min, &method.max), (&None, &None), "{binary}: no range of a text");
        if binary.flavour == Flavour::MariaDb {
            assert_eq!(method.read_only, Some(true));
            assert!(method.options.contains(&"O_DIRECT".to_owned()));
            assert_eq!(io.read_only, Some(false));
        }
    }
}

#[tokio::test]
async fn a_value_that_the_server_clamps_comes_with_its_warning() {
    for binary in fixture::servers() {
        let running = Running::start(&binary, &[]).await;
        let mut admin = running.admin().await;
        assert_eq!(admin.set_global("innodb_io_capacity", &Value::Int(300)).await.unwrap(), []);
        assert_eq!(admin.global("innodb_io_capacity").await.unwrap().as_deref(), Some("300"));
        let warnings = admin.set_global("innodb_io_capacity", &Value::Int(1)).await.unwrap();
        assert!(
            warnings.iter().any(|w| w.code == 1292 && w.message.contains("innodb_io_capacity")),
            "{warnings:?}"
        );
        assert_eq!(admin.global("innodb_io_capacity").await.unwrap().as_deref(), Some("100"));
    }
}

#[tokio::test]
async fn each_refusal_has_its_kind() {
    for binary in fixture::servers() {
        let running = Running::start(&binary, &[]).await;
        let mut admin = running.admin().await;
        let one = Value::Int(1);
        let kind = |r: Result<Vec<server::Warning>, server::AdminError>| r.unwrap_err().kind();
        assert_eq!(kind(admin.set_global("no_such_knob", &one).await), AdminErrorKind::UnknownVariable);
        assert_eq!(kind(admin.set_global("innodb_page_size", &one).await), AdminErrorKind::ReadOnlyVariable);
        let text = Value::Text("fast".into());
        assert_eq!(kind(admin.set_global("innodb_io_capacity", &text).await), AdminErrorKind::BadValue);
        assert_eq!(admin.global("no_such_knob").await.unwrap(), None);

        admin.execute("CREATE USER ann@localhost IDENTIFIED BY 'right'").await.unwrap();
        let mut as_ann = ConnectOptions { user: "ann".into(), ..running.server.connect_options() };
        as_ann.password = Some(Secret::new("wrong"));
        let error = Admin::connect(&as_ann).await.unwrap_err();
        assert_eq!(error.kind(), AdminErrorKind::AccessDenied);
        assert!(!format!("{error:?} {error}").contains("wrong"), "the password is nobody's business");
        as_ann.password = Some(Secret::new("right"));
        let mut ann = Admin::connect(&as_ann).await.unwrap();
        assert_eq!(
            kind(ann.set_global("innodb_io_capacity", &Value::Int(300)).await),
            AdminErrorKind::MissingPrivilege
        );
        assert_eq!(ann.innodb_metrics().await.unwrap_err().kind(), AdminErrorKind::MissingPrivilege);
        // Needs no privilege at all.
        assert!(ann.status().await.unwrap().contains_key("uptime"));
        assert!(ann.variables().await.unwrap().contains_key("innodb_io_capacity"));
    }
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_unreachable() {
    let tcp = |host: &str| Endpoint::Tcp { host: host.into(), port: 1 };
    let socket = tempfile::tempdir().unwrap();
    for endpoint in
        [tcp("127.0.0.1"), tcp("no-such-host.invalid"), Endpoint::Socket(socket.path().join("none"))]
    {
        let options = ConnectOptions { endpoint, ..ConnectOptions::local("", "root") };
        let error = Admin::connect(&options).await.unwrap_err();
        assert_eq!(
            error.kind(),
            AdminErrorKind::Unreachable,
            "{error} {:?}",
            std::error::Error::source(&error)
        );
    }
}

#[tokio::test]
async fn over_tcp_tls_is_used_where_the_server_offers_it() {
    for binary in fixture::servers() {
        // The one test that opens a port: of this machine only, and one that the system picks.
        let port =
            std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
        let settings = [("skip_networking", "0"), ("port", port.as_str()), ("bind_address", "127.0.0.1")];
        let running = Running::start(&binary, &settings).await;
        let mut admin = running.admin().await;
        admin.execute("CREATE USER ann@'127.0.0.1' IDENTIFIED BY 'right'").await.unwrap();
        let endpoint = Endpoint::Tcp { host: "127.0.0.1".into(), port: port.parse().unwrap() };
        let options = ConnectOptions {
            endpoint,
            user: "ann".into(),
            password: Some(Secret::new("right")),
            ssl_mode: SslMode::Preferred,
            ..running.server.connect_options()
        };
        let mut ann = Admin::connect(&options).await.unwrap();
        let cipher: Vec<(String, String)> = ann.rows("SHOW SESSION STATUS LIKE 'Ssl_cipher'").await.unwrap();
        // MySQL makes itself a certificate, MariaDB 10.11 has none.
        let offers = binary.flavour != Flavour::MariaDb;
        assert_eq!(!cipher[0].1.is_empty(), offers, "{binary}");
        let settled = if offers { SslMode::Required } else { SslMode::Disabled };
        assert_eq!(ann.connect_options().ssl_mode, settled);
        let required =
            Admin::connect(&ConnectOptions { ssl_mode: SslMode::Required, ..options.clone() }).await;
        assert_eq!(required.is_ok(), offers);
        if !offers {
            assert_eq!(required.unwrap_err().kind(), AdminErrorKind::NoTls);
        }
    }
}
