//! The 21 defects found in the best-known script, turned into what is right (docs/advisor.md numbers them).

use crate::rules::tests_support::Fixture;
use crate::{MachineSource, SNAPSHOT_SCHEMA, Severity};
use knobs::{Bytes, Flavour, Identity, LiveVariable, Platform, Value};
use std::collections::BTreeMap;

const HOURS: u64 = 3600;

/// A server that has written this much redo per hour for a day.
fn writing(fixture: Fixture, hourly: Bytes) -> Fixture {
    fixture.uptime(24 * HOURS).status("innodb_os_log_written", hourly.0 * 24)
}

#[test]
fn d01_redo_is_sized_on_mariadb_by_its_own_knob() {
    let busy = writing(Fixture::mariadb("10.11.19"), Bytes::gib(2));
    assert_eq!(busy.number("innodb_log_file_size"), Some(2 << 30));
    assert_eq!(busy.recommends("innodb_redo_log_capacity"), None);
    let idle = writing(Fixture::mariadb("10.11.19"), Bytes::mib(1));
    assert_eq!(idle.number("innodb_log_file_size"), None);
}

#[test]
fn d02_a_version_without_its_last_part_is_still_mariadb() {
    let vars = BTreeMap::new();
    for version in ["10.11.6-MariaDB", "10.11.6-MariaDB-log", "10.11.6-MariaDB-0+deb12u1"] {
        let identity = Identity::parse(version, "", "/usr", &vars).unwrap();
        assert_eq!(identity.flavour, Flavour::MariaDb, "{version}");
    }
    assert_eq!(Identity::parse("8.0.36", "", "/usr", &vars).unwrap().flavour, Flavour::MySql);
}

#[test]
fn d03_a_calendar_version_of_mysql_is_treated_as_mysql() {
    let new = writing(Fixture::mysql("26.7.0"), Bytes::gib(2));
    assert_eq!(new.number("innodb_redo_log_capacity"), Some(2 << 30));
    assert!(!new.fires("security.end-of-life"), "an unknown series is not a dead one");
    assert!(Fixture::mysql("5.7.44").fires("security.end-of-life"));
}

#[test]
fn d04_tls_is_judged_without_have_ssl() {
    let fixture = Fixture::mysql("9.7.4").var("skip_networking", "OFF").var("bind_address", "*");
    let finding = fixture.finding("security.tls").unwrap();
    assert!(finding.severity < Severity::Warning, "{finding:?}");
    assert!(fixture.var("tls_version", "").fires("security.tls"));
}

#[test]
fn d05_purge_lag_is_seen_on_mysql_too() {
    let fixture = Fixture::mysql("9.7.4").metric("trx_rseg_history_len", 2_000_000);
    assert!(fixture.fires("innodb.history-list"));
    assert!(
        Fixture::mariadb("10.11.19")
            .status("innodb_history_list_length", 2_000_000)
            .fires("innodb.history-list")
    );
    assert!(!Fixture::mysql("9.7.4").metric("trx_rseg_history_len", 20).fires("innodb.history-list"));
    assert!(Fixture::mysql("9.7.4").not_enough("innodb.history-list"), "not readable is not zero");
}

#[test]
fn d06_workers_of_replicas_have_the_flavours_name() {
    let maria = Fixture::mariadb("10.11.19").replica(true, Some(900), "");
    assert!(maria.recommends("slave_parallel_threads").is_some());
    assert_eq!(maria.recommends("replica_parallel_workers"), None);
    let mysql = Fixture::mysql("9.7.4").var("replica_parallel_workers", "1").replica(true, Some(900), "");
    assert!(mysql.recommends("replica_parallel_workers").is_some());
    assert!(!Fixture::mariadb("10.11.19").replica(true, Some(0), "").fires("replication.parallel"));
}

#[test]
fn d07_statements_set_only_what_can_be_set() {
    let fixture = Fixture::mariadb("10.11.19").memory_gib(16).innodb_gib(4);
    let report = fixture.report();
    let restart = report.recommendations().find(|r| r.knob == "performance_schema").unwrap();
    assert!(restart.restart && !restart.automatic);
    let sql = crate::Format::Sql.write(&report);
    assert!(!sql.lines().any(|line| line.starts_with("SET") && line.contains("performance_schema")), "{sql}");
    assert!(sql.lines().any(|line| line.starts_with("SET GLOBAL innodb_buffer_pool_size")), "{sql}");
}

#[test]
fn d08_values_are_typed_and_never_what_is_there_already() {
    for fixture in [Fixture::mysql("9.7.4"), Fixture::mariadb("10.11.19")] {
        let fixture =
            fixture.memory_gib(32).solid_state(true).innodb_gib(20).status("max_used_connections", 150);
        let report = fixture.report();
        assert!(report.recommendations().count() > 0);
        for recommendation in report.recommendations() {
            assert!(!recommendation.value.same(&recommendation.current), "{recommendation:?}");
            assert!(
                std::mem::discriminant(&recommendation.value)
                    == std::mem::discriminant(&recommendation.current),
                "{recommendation:?}"
            );
        }
    }
}

#[test]
fn d09_old_tls_is_found_in_both_spellings() {
    let open = |fixture: Fixture| fixture.var("skip_networking", "OFF").var("bind_address", "*");
    for old in ["TLSv1,TLSv1.2", "TLSv1.0,TLSv1.2", "TLSv1.1,TLSv1.2"] {
        let finding = open(Fixture::mysql("5.7.44")).var("tls_version", old).finding("security.tls").unwrap();
        assert_eq!(finding.severity, Severity::Warning, "{old}");
    }
    let finding =
        open(Fixture::mysql("9.7.4")).var("tls_version", "TLSv1.2,TLSv1.3").finding("security.tls").unwrap();
    assert!(!finding.title.contains("old"));
}

#[test]
fn d10_useless_read_ahead_raises_the_threshold() {
    let fixture = Fixture::mysql("9.7.4")
        .status("innodb_buffer_pool_read_ahead", 100_000)
        .status("innodb_buffer_pool_read_ahead_evicted", 60_000);
    let threshold = fixture.number("innodb_read_ahead_threshold").unwrap();
    assert!(threshold > 56, "lower would read ahead more: {threshold}");
    let useful = Fixture::mysql("9.7.4")
        .status("innodb_buffer_pool_read_ahead", 100_000)
        .status("innodb_buffer_pool_read_ahead_evicted", 100);
    assert!(!useful.fires("innodb.read-ahead"));
}

#[test]
fn d11_galera_does_not_cost_durability() {
    let cluster = Fixture::mariadb("10.11.19")
        .var("wsrep_on", "ON")
        .status("wsrep_cluster_size", 3)
        .status("wsrep_cluster_status", "Primary")
        .status("wsrep_ready", "ON");
    assert_eq!(cluster.recommends("innodb_flush_log_at_trx_commit"), None);
    let relaxed = cluster.var("innodb_flush_log_at_trx_commit", "0");
    let finding = relaxed.finding("durability.commit").unwrap();
    assert_eq!(finding.severity, Severity::Notice);
    assert!(!finding.recommendation.unwrap().automatic);
}

#[test]
fn d12_tags_in_transaction_sets_are_no_gaps() {
    let source = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    let tagged = Fixture::mysql("9.7.4").replica(true, Some(0), &format!("{source}:1-5:backup:1-3"));
    assert!(!tagged.fires("replication.gtid-gaps"));
    assert!(
        Fixture::mysql("9.7.4")
            .replica(true, Some(0), &format!("{source}:1-5:9"))
            .fires("replication.gtid-gaps")
    );
}

#[test]
fn d13_storage_that_is_not_known_is_not_guessed() {
    let unknown = Fixture::mariadb("10.11.19");
    assert!(!unknown.fires("flushing.io-capacity") && !unknown.fires("flushing.neighbors"));
    let solid = Fixture::mariadb("10.11.19").solid_state(true);
    assert_eq!(solid.number("innodb_flush_neighbors"), Some(0));
    assert!(solid.number("innodb_io_capacity").unwrap() >= 1000);
    assert!(!Fixture::mariadb("10.11.19").solid_state(false).fires("flushing.neighbors"));
}

#[test]
fn d14_amounts_are_told_in_their_own_unit() {
    let fixture = Fixture::mysql("9.7.4").memory_gib(16).innodb_gib(8);
    let text = crate::Format::Text { verbose: false }.write(&fixture.report());
    assert!(text.contains("innodb_buffer_pool_size 128M ->"), "{text}");
    assert!(!text.contains("134217728"), "{text}");
}

#[test]
fn d15_advice_is_a_function_of_the_snapshot_and_touches_nothing() {
    let fixture = Fixture::mysql("9.7.4").memory_gib(16).innodb_gib(8).var("innodb_stats_on_metadata", "ON");
    let before = fixture.0.clone();
    let (first, second) = (fixture.report(), fixture.report());
    assert_eq!(first, second);
    assert_eq!(fixture.0, before);
    // It is advice, where the script switches the variable itself.
    assert_eq!(fixture.recommends("innodb_stats_on_metadata").unwrap().value, Value::Bool(false));
    assert_eq!(before.schema, SNAPSHOT_SCHEMA);
}

#[test]
fn d16_the_binary_logs_cache_grows_by_kilobytes() {
    let spilling = |share: u64| {
        Fixture::mysql("9.7.4")
            .status("binlog_cache_use", 100_000)
            .status("binlog_cache_disk_use", 1000 * share)
    };
    assert_eq!(spilling(20).number("binlog_cache_size"), Some(64 << 10));
    assert_eq!(spilling(20).var("binlog_cache_size", "1048576").number("binlog_cache_size"), None);
    assert!(!spilling(1).fires("binlog.cache"));
}

#[test]
fn d17_the_pool_is_bounded_by_the_memory_and_may_shrink() {
    let large_data = Fixture::mysql("9.7.4").memory_gib(16).innodb_gib(500);
    let pool = large_data.number("innodb_buffer_pool_size").unwrap();
    assert!((8 << 30..=12 << 30).contains(&pool), "{pool}");
    let too_large =
        Fixture::mysql("9.7.4").memory_gib(16).innodb_gib(500).var("innodb_buffer_pool_size", "17179869184");
    let shrunk = too_large.number("innodb_buffer_pool_size").unwrap();
    assert!(shrunk <= 12 << 30, "{shrunk}");
    let fitting =
        Fixture::mysql("9.7.4").memory_gib(16).innodb_gib(2).var("innodb_buffer_pool_size", "4294967296");
    assert_eq!(fitting.number("innodb_buffer_pool_size"), None);
}

#[test]
fn d18_unknown_lag_is_unknown() {
    let fixture = Fixture::mysql("9.7.4").replica(true, None, "");
    assert!(fixture.not_enough("replication.lag") && !fixture.fires("replication.parallel"));
    assert!(Fixture::mysql("9.7.4").replica(true, Some(900), "").fires("replication.lag"));
}

#[test]
fn d19_rates_are_those_of_the_window() {
    // Much was written in the past; in the window nearly nothing.
    let quiet = Fixture::mysql("9.7.4")
        .status("innodb_os_log_written", 1u64 << 42)
        .sampled(60.0, &[("innodb_os_log_written", (1 << 42) - 1000)]);
    assert_eq!(quiet.number("innodb_redo_log_capacity"), None);
    let busy = Fixture::mysql("9.7.4")
        .status("innodb_os_log_written", 1u64 << 30)
        .sampled(60.0, &[("innodb_os_log_written", (1 << 30) - (100 << 20))]);
    let capacity = busy.number("innodb_redo_log_capacity").unwrap();
    assert!((5i64 << 30..=7 << 30).contains(&capacity), "100 MiB a minute are 6 GiB an hour: {capacity}");
}

#[test]
fn d20_advice_on_the_table_cache_has_no_stale_warning() {
    let full = Fixture::mysql("9.7.4")
        .status("open_tables", 4000)
        .status("opened_tables", 10_000_000)
        .status("table_open_cache_overflows", 1_000_000);
    let finding = full.finding("caches.table-open").unwrap();
    assert!(finding.advice.is_none() && full.number("table_open_cache").unwrap() > 4000);
    assert!(!full.status("open_tables", 100).fires("caches.table-open"));
}

#[test]
fn d21_the_key_buffer_shrinks_when_no_table_needs_it_and_never_to_nothing() {
    let none = Fixture::mysql("9.7.4").engine("InnoDB", 10, 1 << 30).var("key_buffer_size", "4294967296");
    let size = none.number("key_buffer_size").unwrap();
    assert!((8 << 20..=64 << 20).contains(&size), "{size}");
    let used = Fixture::mysql("9.7.4")
        .engine("MyISAM", 10, 4 << 30)
        .var("key_buffer_size", "4294967296")
        .status("key_read_requests", 1_000_000)
        .status("key_reads", 10);
    assert_eq!(used.number("key_buffer_size"), None);
}

#[test]
fn memory_of_another_machine_is_never_assumed() {
    let remote = Fixture::mysql("9.7.4").innodb_gib(8).on(Platform::Rds);
    assert_eq!(remote.0.machine_source, MachineSource::Unknown);
    assert_eq!(remote.number("innodb_buffer_pool_size"), None);
    let mut named = Fixture::mysql("9.7.4");
    named.0.variables.insert("x".into(), LiveVariable::new("x", "1"));
    assert!(named.not_enough("memory.unknown"));
}
