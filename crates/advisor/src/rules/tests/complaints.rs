//! 37 groups of complaints about rule scripts, turned into what is right (docs/advisor.md numbers them).

use crate::rules::tests_support::Fixture;
use crate::{Severity, Snapshot, advise};
use knobs::{Bytes, Flavour, Identity, Platform, Registry, Value};

const DAY: u64 = 86_400;

fn mysql() -> Fixture {
    Fixture::mysql("9.7.4")
}

fn mariadb() -> Fixture {
    Fixture::mariadb("10.11.19")
}

fn writing(fixture: Fixture, hourly: Bytes) -> Fixture {
    fixture.uptime(DAY).status("innodb_os_log_written", hourly.0 * 24)
}

#[test]
fn c01_redo_does_not_depend_on_the_pool() {
    let small = writing(mysql(), Bytes::gib(2)).number("innodb_redo_log_capacity");
    let large = writing(mysql().var("innodb_buffer_pool_size", "214748364800"), Bytes::gib(2));
    assert_eq!(large.number("innodb_redo_log_capacity"), small);
    let flood = writing(mysql(), Bytes::gib(900)).number("innodb_redo_log_capacity").unwrap();
    assert!(flood <= 32 << 30, "there is a largest sensible size: {flood}");
}

#[test]
fn c02_the_old_redo_knob_is_not_advised_where_it_is_ignored() {
    let fixture = writing(
        Fixture::mysql("8.0.33")
            .var("innodb_log_file_size", "50331648")
            .var("innodb_log_files_in_group", "2"),
        Bytes::gib(2),
    );
    assert_eq!(fixture.recommends("innodb_log_file_size"), None);
    assert!(fixture.recommends("innodb_redo_log_capacity").is_some());
}

#[test]
fn c03_ratios_are_printed_as_what_they_are() {
    use crate::context::percent;
    assert_eq!(percent(15.0 / 60.0), "25%");
    assert_eq!(percent(0.004), "0.4%");
    assert_eq!(percent(0.0), "0%");
}

#[test]
fn c04_the_log_buffer_grows_only_while_somebody_waits_for_it() {
    let old_waits = mysql().status("innodb_log_waits", 5000).sampled(60.0, &[("innodb_log_waits", 5000)]);
    assert!(!old_waits.fires("redo.log-waits"));
    let waiting = mysql().status("innodb_log_waits", 5000).sampled(60.0, &[("innodb_log_waits", 1000)]);
    assert_eq!(waiting.number("innodb_log_buffer_size"), Some(128 << 20));
}

#[test]
fn c05_joins_without_an_index_get_an_index_and_no_buffer() {
    let fixture =
        mysql().status("select_full_join", 10_000_000).digest("SELECT * FROM a JOIN b", 100, 500.0, 100);
    let finding = fixture.finding("session.joins-without-index").unwrap();
    assert!(finding.advice.unwrap().contains("SELECT * FROM a JOIN b"));
    assert_eq!(fixture.recommends("join_buffer_size"), None);
    let huge = mysql().var("join_buffer_size", "314572800");
    assert!(huge.number("join_buffer_size").unwrap() <= 4 << 20, "too large a buffer goes down");
    assert!(!mysql().status("select_full_join", 10).fires("session.joins-without-index"));
}

#[test]
fn c06_a_knob_is_advised_once() {
    for fixture in [mysql(), mariadb()] {
        let report = fixture
            .memory_gib(16)
            .solid_state(true)
            .innodb_gib(100)
            .engine("MyISAM", 5, 8 << 30)
            .status("key_read_requests", 1_000_000)
            .status("key_reads", 500_000)
            .status("innodb_buffer_pool_read_requests", 1_000_000)
            .status("innodb_buffer_pool_reads", 500_000)
            .report();
        let mut knobs: Vec<&str> = report.recommendations().map(|r| r.knob.as_str()).collect();
        let all = knobs.len();
        knobs.sort_unstable();
        knobs.dedup();
        assert_eq!(knobs.len(), all);
    }
}

#[test]
fn c07_no_myisam_table_means_silence_about_its_buffer() {
    assert_eq!(mysql().engine("InnoDB", 10, 1 << 30).finding("myisam.key-buffer"), None);
    assert_eq!(mariadb().engine("InnoDB", 10, 1 << 30).finding("myisam.key-buffer"), None);
    let missing = mysql()
        .engine("MyISAM", 5, 8 << 30)
        .status("key_read_requests", 1_000_000)
        .status("key_reads", 500_000);
    assert!(missing.fires("myisam.key-buffer"));
}

#[test]
fn c08_the_query_cache_gets_one_size() {
    let on = mariadb().var("query_cache_type", "ON").var("query_cache_size", "67108864").cores(32);
    assert_eq!(on.number("query_cache_size"), Some(0));
    assert_eq!(on.recommends("query_cache_type").unwrap().value, Value::Text("OFF".into()));
    assert!(!mariadb().fires("query-cache.on"), "off by default although its size is not 0");
}

#[test]
fn c09_a_hit_of_mariadbs_query_cache_is_counted_once() {
    let cached = |fixture: Fixture| {
        fixture
            .var("query_cache_type", "ON")
            .var("query_cache_size", "67108864")
            .cores(32)
            .status("qcache_hits", 8400)
            .status("com_select", 10_000)
            .finding("query-cache.on")
            .unwrap()
            .evidence
    };
    assert!(cached(mariadb()).contains("84%"), "{}", cached(mariadb()));
    let old = cached(Fixture::mysql("5.7.44"));
    assert!(old.contains("46%"), "{old}");
}

#[test]
fn c10_instances_are_not_advised_where_they_do_not_exist() {
    let fixture = mariadb().memory_gib(64).cores(32).var("innodb_buffer_pool_size", "51539607552");
    assert_eq!(fixture.finding("pool.instances"), None);
    assert_eq!(fixture.recommends("innodb_buffer_pool_instances"), None);
}

#[test]
fn c11_instances_are_bounded_by_cores_and_pool() {
    let many = mysql()
        .memory_gib(64)
        .cores(8)
        .var("innodb_buffer_pool_size", "51539607552")
        .var("innodb_buffer_pool_instances", "48");
    assert!(many.number("innodb_buffer_pool_instances").unwrap() <= 8);
    assert_eq!(many.finding("pool.instances").unwrap().severity, Severity::Notice);
    assert!(!mysql().memory_gib(64).cores(8).fires("pool.instances"));
}

#[test]
fn c12_instances_count_as_used_and_not_as_printed() {
    let fixture = Fixture::mysql("5.7.44").memory_gib(4).cores(2).var("innodb_buffer_pool_instances", "8");
    let finding = fixture.finding("pool.instances").unwrap();
    assert!(finding.evidence.starts_with("1 in use"), "{}", finding.evidence);
}

#[test]
fn c13_missing_and_zero_variables_never_break_anything() {
    let names: Vec<String> = mysql().0.variables.keys().cloned().collect();
    for name in names.iter().filter(|name| name.starts_with("innodb") || name.contains("size")) {
        let _ = mysql().memory_gib(16).innodb_gib(4).without(name).report();
        let _ = mysql().memory_gib(16).innodb_gib(4).var(name, "0").report();
        let _ = mysql().memory_gib(16).innodb_gib(4).var(name, "").report();
    }
    let empty =
        Snapshot::offline(Identity::of(Flavour::MariaDb, "10.6.1".parse().unwrap()), [].into(), [].into());
    assert!(advise(&empty).findings.len() < 5);
}

#[test]
fn c14_an_uptime_of_nothing_is_survived() {
    for fixture in [mysql(), mariadb()] {
        let fixture = fixture.uptime(0).status("opened_tables", 500).status("threads_created", 9);
        assert!(fixture.report().worst() <= Severity::Notice, "{:?}", fixture.report().findings[0]);
    }
}

#[test]
fn c15_just_after_a_restart_there_is_not_enough_data() {
    let young = mysql()
        .memory_gib(16)
        .uptime(10)
        .status("innodb_buffer_pool_read_requests", 900)
        .status("innodb_buffer_pool_reads", 800)
        .status("created_tmp_tables", 10)
        .status("created_tmp_disk_tables", 9)
        .status("innodb_os_log_written", 50_000_000)
        .status("threads_created", 5);
    for rule in [
        "pool.misses",
        "temp.on-disk",
        "redo.size",
        "connections.thread-cache",
        "session.joins-without-index",
    ] {
        assert!(!young.fires(rule), "{rule}: {:?}", young.finding(rule));
    }
    assert!(young.not_enough("pool.misses") && young.not_enough("redo.size"));
}

#[test]
fn c16_a_pool_of_whole_chunks_is_left_alone() {
    let chunk = 128i64 << 20;
    for (pool, instances, odd) in [(8 * chunk, 8, false), (9 * chunk, 8, true), (9 * chunk, 1, false)] {
        let fixture = mysql()
            .var("innodb_buffer_pool_size", &pool.to_string())
            .var("innodb_buffer_pool_instances", &instances.to_string());
        assert_eq!(fixture.fires("pool.chunks"), odd, "{pool} {instances}");
    }
}

#[test]
fn c17_temporary_tables_share_one_amount_with_temptable() {
    let fixture = mysql().memory_gib(16).var("tmp_table_size", "1073741824").var("max_connections", "2000");
    let worst = fixture.report().memory.now.worst;
    assert!(worst < Bytes::gib(10), "2000 times 1 GiB would be wrong: {worst}");
}

#[test]
fn c18_three_figures_instead_of_one_frightening_one() {
    let fixture = mysql().memory_gib(16).var("max_connections", "20000");
    let memory = fixture.report().memory.now;
    assert!(memory.minimum < memory.realistic && memory.realistic < memory.worst);
    assert!(fixture.fires("memory.realistic") || fixture.fires("memory.worst"));
    let seen = mysql()
        .memory_gib(16)
        .var("max_connections", "4000")
        .uptime(9 * DAY)
        .status("max_used_connections", 40);
    assert_eq!(seen.finding("memory.realistic").unwrap().severity, Severity::Fine);
}

#[test]
fn c19_memory_has_a_source_or_is_unknown() {
    let unknown = mysql().innodb_gib(100);
    assert!(unknown.not_enough("memory.unknown"));
    assert_eq!(unknown.recommends("innodb_buffer_pool_size"), None);
    assert_eq!(mysql().memory_gib(64).finding("memory.unknown"), None);
}

#[test]
fn c20_the_pool_never_exceeds_what_the_machine_has() {
    for gib in [1u64, 2, 4, 8, 64] {
        let fixture = Fixture::mysql("8.0.36").memory_gib(gib).innodb_gib(1000).on(Platform::Rds);
        if let Some(pool) = fixture.number("innodb_buffer_pool_size") {
            assert!(pool as u64 <= (gib << 30) * 3 / 4, "{gib} GiB: {pool}");
        }
    }
}

#[test]
fn c21_shrinking_is_advice_too() {
    let tight = mysql()
        .memory_gib(16)
        .innodb_gib(1)
        .var("innodb_buffer_pool_size", "13958643712")
        .var("max_connections", "1000");
    let pool = tight.number("innodb_buffer_pool_size").unwrap();
    assert!(pool < 4 << 30, "{pool}");
    let roomy = mysql().memory_gib(64).innodb_gib(1).var("innodb_buffer_pool_size", "13958643712");
    assert_eq!(roomy.recommends("innodb_buffer_pool_size"), None);
}

#[test]
fn c22_the_cache_of_definitions_is_a_number() {
    for fixture in [mariadb(), mysql()] {
        let many = fixture.facts(|facts| facts.tables = 9000).status("opened_table_definitions", 10_000_000);
        assert!(many.number("table_definition_cache").unwrap() > 9000);
    }
    assert!(
        !mysql()
            .var("table_definition_cache", "-1")
            .facts(|f| f.tables = 9000)
            .fires("caches.table-definitions")
    );
}

#[test]
fn c23_open_tables_and_open_files_are_judged_together() {
    let full = |files: &str| {
        mysql()
            .var("open_files_limit", files)
            .status("open_tables", 4000)
            .status("opened_tables", 10_000_000)
            .status("table_open_cache_overflows", 1_000_000)
    };
    assert_eq!(full("100000").number("table_open_cache"), Some(8000));
    let finding = full("8000").finding("caches.table-open").unwrap();
    assert!(finding.advice.unwrap().contains("open_files_limit"));
}

#[test]
fn c24_a_pool_of_threads_is_sized_by_product() {
    let pooled = |fixture: Fixture| {
        fixture.cores(8).var("thread_handling", "pool-of-threads").var("thread_pool_size", "36")
    };
    assert_eq!(pooled(mariadb()).number("thread_pool_size"), Some(8));
    assert_eq!(pooled(Fixture::percona("8.0.36")).number("thread_pool_size"), Some(8));
    assert_eq!(pooled(mysql()).finding("connections.thread-pool"), None);
    let cached = pooled(mariadb()).status("threads_created", 10_000_000);
    assert_eq!(cached.finding("connections.thread-cache"), None, "there is nothing to cache with a pool");
}

#[test]
fn c25_what_could_not_be_asked_is_missing_and_not_wrong() {
    let blind = mysql();
    assert_eq!(blind.0.replicas, None);
    for rule in ["replication.stopped", "replication.lag", "security.no-password", "schema.no-primary-key"] {
        assert_eq!(blind.finding(rule), None, "{rule}");
    }
    assert!(mysql().replica(false, None, "").fires("replication.stopped"));
}

#[test]
fn c26_galera_says_each_thing_once() {
    let cluster = mariadb()
        .var("wsrep_on", "ON")
        .var("binlog_format", "STATEMENT")
        .status("wsrep_cluster_size", 3)
        .status("wsrep_cluster_status", "non-Primary")
        .status("wsrep_ready", "OFF")
        .status("wsrep_flow_control_paused", 0.4);
    let report = cluster.report();
    for rule in ["galera.state", "galera.flow-control", "galera.requirements"] {
        assert_eq!(report.findings.iter().filter(|finding| finding.rule == rule).count(), 1, "{rule}");
    }
    assert!(!mariadb().fires("galera.state"));
}

#[test]
fn c27_a_little_free_space_is_no_fragmentation() {
    let of = |bytes: u64, share: f64| {
        mysql().facts(|facts| facts.fragmented = vec![("shop.orders".into(), bytes, share)])
    };
    assert!(!of(300 << 20, 0.5).fires("schema.fragmented") && !of(4 << 30, 0.05).fires("schema.fragmented"));
    let finding = of(20 << 30, 0.5).finding("schema.fragmented").unwrap();
    assert!(finding.advice.unwrap().contains("information_schema_stats_expiry"));
}

#[test]
fn c28_holes_of_one_product_are_not_those_of_another() {
    // Lifetimes are looked up by product and series; a managed platform repairs on its own schedule.
    assert!(Fixture::mysql("5.7.44").fires("security.end-of-life"));
    assert!(!Fixture::mysql("5.7.44").on(Platform::Aurora).fires("security.end-of-life"));
    assert!(!Fixture::mariadb("10.11.19").fires("security.end-of-life"));

    // Holes too, and by the release that closes them.
    assert!(Fixture::mysql("8.0.44").fires("security.known-holes"));
    assert!(!Fixture::mysql("8.0.45").fires("security.known-holes"));
    assert!(!Fixture::mysql("8.0.44").on(Platform::Rds).fires("security.known-holes"));
    // A node of a cluster only.
    assert!(Fixture::mariadb("10.11.16").var("wsrep_on", "ON").fires("security.known-holes"));
    assert!(!Fixture::mariadb("10.11.16").fires("security.known-holes"));
    assert!(!Fixture::mariadb("10.11.17").var("wsrep_on", "ON").fires("security.known-holes"));
}

#[test]
fn c29_a_fresh_series_is_not_dead() {
    for version in ["11.8.2", "12.3.1", "13.1.0"] {
        assert!(!Fixture::mariadb(version).fires("security.end-of-life"), "{version}");
    }
    assert!(Fixture::mariadb("10.5.20").fires("security.end-of-life"));
}

#[test]
fn c30_accounts_of_the_operating_system_need_no_password() {
    let socket = mariadb().account("root", "localhost", "unix_socket", false);
    assert!(!socket.fires("security.no-password"));
    let open = mariadb().var("skip_networking", "OFF").account("app", "%", "mysql_native_password", true);
    let finding = open.finding("security.no-password").unwrap();
    assert_eq!((finding.severity, finding.evidence.as_str()), (Severity::Critical, "app@%"));
}

#[test]
fn c31_names_are_looked_at_before_name_resolution_is_switched_off() {
    let by_name = mysql().account("app", "web1.example.org", "caching_sha2_password", false);
    assert!(!by_name.fires("connections.name-resolution"));
    let by_address = mysql().account("app", "10.0.0.%", "caching_sha2_password", false);
    let recommendation = by_address.recommends("skip_name_resolve").unwrap();
    assert!(!recommendation.automatic);
    for on in ["ON", "1"] {
        let off =
            mysql().var("skip_name_resolve", on).account("app", "10.0.0.%", "caching_sha2_password", false);
        assert!(!off.fires("connections.name-resolution"), "{on}");
    }
    assert_eq!(mysql().finding("connections.name-resolution"), None, "accounts unknown: silence");
}

#[test]
fn c32_a_cloud_that_hides_variables_is_survived() {
    let mut aurora =
        Fixture::mysql("5.7.12").on(Platform::Aurora).memory_gib(16).solid_state(true).innodb_gib(100);
    let hidden: Vec<String> =
        aurora.0.variables.keys().filter(|name| name.starts_with("innodb_log")).cloned().collect();
    for name in hidden {
        aurora.0.variables.remove(&name);
    }
    let report = aurora.report();
    for inert in ["innodb_io_capacity", "innodb_flush_neighbors", "innodb_change_buffering"] {
        assert!(!report.recommendations().any(|r| r.knob == inert), "{inert} does nothing on Aurora");
    }
}

#[test]
fn c33_json_is_always_written() {
    let empty =
        Snapshot::offline(Identity::of(Flavour::MySql, "8.4.0".parse().unwrap()), [].into(), [].into());
    let json: serde_json::Value = serde_json::from_str(&crate::Format::Json.write(&advise(&empty))).unwrap();
    assert!(json["findings"].is_array());
}

#[test]
fn c34_tables_that_were_not_all_looked_at_say_nothing_about_the_whole() {
    let cut = mysql().memory_gib(64).innodb_gib(1).facts(|facts| {
        facts.complete = false;
        facts.tables = 300_000;
    });
    assert_eq!(cut.recommends("innodb_buffer_pool_size"), None);
    assert_eq!(cut.finding("schema.no-primary-key"), None, "no news is no good news");
}

#[test]
fn c35_tables_in_memory_are_meant_to_be() {
    assert!(!mysql().engine("MEMORY", 10, 1 << 20).fires("schema.old-engines"));
    assert!(mysql().engine("MyISAM", 10, 1 << 20).fires("schema.old-engines"));
}

#[test]
fn c36_every_name_that_is_advised_exists_on_the_server() {
    for fixture in [mysql(), mariadb()] {
        let fixture = fixture
            .memory_gib(16)
            .cores(8)
            .solid_state(true)
            .innodb_gib(100)
            .replica(true, Some(900), "")
            .status("max_used_connections", 150)
            .status("created_tmp_tables", 1_000_000)
            .status("created_tmp_disk_tables", 900_000);
        let report = fixture.report();
        assert!(report.recommendations().count() >= 4);
        for recommendation in report.recommendations() {
            assert!(fixture.0.variables.contains_key(&recommendation.knob), "{}", recommendation.knob);
            assert!(Registry::builtin().get(&recommendation.knob).is_some());
        }
    }
}

#[test]
fn c37_temporary_tables_get_the_memory_that_the_evidence_asks_for() {
    let spilling = |fixture: Fixture, share: u64| {
        fixture
            .memory_gib(64)
            .status("created_tmp_tables", 1_000_000)
            .status("created_tmp_disk_tables", 10_000 * share)
    };
    let maria = spilling(mariadb(), 50);
    assert_eq!(
        (maria.number("tmp_table_size"), maria.number("max_heap_table_size")),
        (Some(64 << 20), Some(64 << 20))
    );
    let larger =
        spilling(mariadb().var("tmp_table_size", "67108864").var("max_heap_table_size", "67108864"), 50);
    assert_eq!(larger.number("tmp_table_size"), Some(256 << 20));
    let largest =
        spilling(mariadb().var("tmp_table_size", "268435456").var("max_heap_table_size", "268435456"), 50);
    assert_eq!(largest.number("tmp_table_size"), None);
    assert!(!spilling(mariadb(), 2).fires("temp.on-disk"));
}

#[test]
fn growth_shares_one_budget() {
    let hungry = mariadb()
        .memory_gib(2)
        .innodb_gib(100)
        .var("max_connections", "800")
        .uptime(9 * DAY)
        .status("max_used_connections", 700)
        .status("created_tmp_tables", 1_000_000)
        .status("created_tmp_disk_tables", 900_000)
        .status("sort_merge_passes", 100_000_000);
    let report = hungry.report();
    let then = report.memory.then.realistic.0.max(report.memory.now.realistic.0);
    assert!(
        report.memory.then.realistic <= Bytes::gib(2).share(0.85) || then == report.memory.now.realistic.0,
        "{:?}",
        report.memory
    );
}
