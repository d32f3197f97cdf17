use super::*;
use crate::{Version, relations, repair};
use proptest::prelude::*;

/// A server as it reports itself: name, value, min, max.
fn live(rows: &[(&str, &str, &str, &str)]) -> BTreeMap<String, LiveVariable> {
    rows.iter()
        .map(|(name, value, min, max)| {
            let mut variable = LiveVariable::new(*name, *value);
            if !min.is_empty() {
                (variable.min, variable.max) = (Some((*min).into()), Some((*max).into()));
            }
            ((*name).to_owned(), variable)
        })
        .collect()
}

fn mysql() -> (Identity, BTreeMap<String, LiveVariable>) {
    let vars = live(&[
        ("innodb_adaptive_flushing_lwm", "10", "0", "70"),
        ("innodb_adaptive_hash_index", "OFF", "0", "0"),
        ("innodb_buffer_pool_chunk_size", "134217728", "", ""),
        ("innodb_buffer_pool_instances", "1", "0", "64"),
        ("innodb_buffer_pool_size", "134217728", "5242880", "9223372036854775807"),
        ("innodb_change_buffering", "all", "0", "0"),
        ("innodb_flush_log_at_trx_commit", "1", "0", "2"),
        ("innodb_flush_neighbors", "0", "0", "2"),
        ("innodb_io_capacity", "10000", "100", "4294967295"),
        ("innodb_io_capacity_max", "20000", "100", "4294967295"),
        ("innodb_log_buffer_size", "67108864", "262144", "4294967295"),
        ("innodb_max_dirty_pages_pct", "90.000000", "0", "99"),
        ("innodb_max_dirty_pages_pct_lwm", "10.000000", "0", "99"),
        ("innodb_redo_log_capacity", "104857600", "8388608", "549755813888"),
        ("innodb_thread_concurrency", "0", "0", "1000"),
        ("internal_tmp_mem_storage_engine", "TempTable", "0", "0"),
        ("max_connections", "151", "1", "100000"),
        ("max_heap_table_size", "16777216", "16384", "18446744073709550592"),
        ("open_files_limit", "20000", "0", "4294967295"),
        ("table_open_cache", "4000", "1", "524288"),
        ("temptable_max_ram", "1073741824", "2097152", "18446744073709551615"),
        ("thread_cache_size", "9", "0", "16384"),
        ("tmp_table_size", "16777216", "1024", "18446744073709551615"),
    ]);
    (Identity::of(Flavour::MySql, Version::new(9, 7, 4)), vars)
}

fn on(memory: Bytes, cores: u32) -> Machine {
    Machine { memory: Some(memory), cores: Some(cores) }
}

fn all(machine: &Machine, selection: &Selection) -> Vec<Tunable> {
    let (identity, live) = mysql();
    tunable(Registry::builtin(), &identity, &live, machine, selection)
}

fn domain_of<'a>(all: &'a [Tunable], name: &str) -> &'a Domain {
    &all.iter().find(|t| t.name == name).unwrap_or_else(|| panic!("{name} is not tunable")).domain
}

#[test]
fn what_the_server_does_not_have_does_not_exist() {
    let names: Vec<_> =
        all(&on(Bytes::gib(4), 2), &Selection::default()).into_iter().map(|t| t.name).collect();
    assert!(!names.iter().any(|name| name == "innodb_log_file_size" || name == "innodb_lru_scan_depth"));
    assert!(names.iter().any(|name| name == "innodb_redo_log_capacity"));
}

#[test]
fn durability_is_not_for_sale() {
    let tunables = all(&on(Bytes::gib(4), 2), &Selection::default());
    assert!(tunables.iter().all(|t| t.knob.risk.may_be_automatic()));
    assert!(!tunables.iter().any(|t| t.name == "innodb_flush_log_at_trx_commit"));
    let asked =
        Selection { names: Some(vec!["innodb_flush_log_at_trx_commit".into()]), ..Selection::default() };
    assert!(all(&on(Bytes::gib(4), 2), &asked).is_empty());
}

#[test]
fn the_servers_word_on_read_only_counts_more_than_the_registrys() {
    let (identity, mut live) = mysql();
    live.get_mut("innodb_io_capacity").unwrap().read_only = Some(true);
    let selection = Selection { dynamic_only: true, ..Selection::default() };
    let names: Vec<_> = tunable(Registry::builtin(), &identity, &live, &on(Bytes::gib(4), 2), &selection)
        .into_iter()
        .map(|t| t.name)
        .collect();
    assert!(!names.contains(&"innodb_io_capacity".to_owned()));
    assert!(!names.contains(&"innodb_buffer_pool_instances".to_owned()));
    assert!(names.contains(&"innodb_buffer_pool_size".to_owned()));
}

#[test]
fn the_pool_grows_to_a_large_share_of_the_memory_and_no_further() {
    for gib in [4u64, 16, 64, 256] {
        let tunables = all(&on(Bytes::gib(gib), 8), &Selection::default());
        let Domain::Int { max, log, .. } = domain_of(&tunables, "innodb_buffer_pool_size") else { panic!() };
        let share = *max as f64 / Bytes::gib(gib).0 as f64;
        assert!(*log && share <= 0.75 && share > 0.25, "{gib} GiB: {share}");
    }
}

#[test]
fn unknown_memory_gives_a_small_pool_instead_of_a_guess() {
    let tunables = all(&Machine::default(), &Selection::default());
    let Domain::Int { max, .. } = domain_of(&tunables, "innodb_buffer_pool_size") else { panic!() };
    assert!(*max < 2 << 30);
}

#[test]
fn zero_that_means_unlimited_is_a_value_of_its_own() {
    let tunables = all(&on(Bytes::gib(4), 2), &Selection::default());
    let Domain::Int { min, specials, .. } = domain_of(&tunables, "innodb_thread_concurrency") else {
        panic!()
    };
    assert!(*min > 0 && specials == &[0]);
}

#[test]
fn a_fixed_partner_bounds_the_other() {
    let selection = Selection { names: Some(vec!["innodb_io_capacity".into()]), ..Selection::default() };
    let tunables = all(&on(Bytes::gib(4), 2), &selection);
    let Domain::Int { max, .. } = domain_of(&tunables, "innodb_io_capacity") else { panic!() };
    assert!(*max <= 20_000, "innodb_io_capacity_max stays at 20000");
    let selection = Selection { names: Some(vec!["innodb_io_capacity_max".into()]), ..Selection::default() };
    let tunables = all(&on(Bytes::gib(4), 2), &selection);
    let Domain::Int { min, .. } = domain_of(&tunables, "innodb_io_capacity_max") else { panic!() };
    assert!(*min >= 10_000, "innodb_io_capacity stays at 10000");
}

#[test]
fn the_table_cache_fits_the_limit_of_files() {
    let tunables = all(&on(Bytes::gib(4), 2), &Selection::default());
    let Domain::Int { max, .. } = domain_of(&tunables, "table_open_cache") else { panic!() };
    // mysqld 9.7.4 lowers a cache of 20000 to 9919 with this limit, mariadbd 10.11.19 to 9909.
    assert_eq!(*max, 9908);
}

#[test]
fn where_the_server_stands_is_part_of_the_space() {
    for tunable in all(&on(Bytes::gib(1), 1), &Selection::default()) {
        assert!(tunable.domain.contains(&tunable.current), "{}: {:?}", tunable.name, tunable.current);
    }
}

#[test]
fn mysql_before_redo_log_capacity_splits_the_redo_over_its_files() {
    let vars = live(&[
        ("innodb_log_file_size", "50331648", "", ""),
        ("innodb_log_files_in_group", "2", "", ""),
        ("innodb_log_buffer_size", "16777216", "", ""),
    ]);
    let identity = Identity::of(Flavour::MySql, Version::new(8, 0, 20));
    let selection = Selection { data_bytes: Some(4 << 30), ..Selection::default() };
    let tunables = tunable(Registry::builtin(), &identity, &vars, &on(Bytes::gib(8), 2), &selection);
    let Domain::Int { max, .. } = domain_of(&tunables, "innodb_log_file_size") else { panic!() };
    assert_eq!(*max, 3 << 30, "half of one and a half times 4 GiB");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn every_repaired_draw_keeps_every_relation_and_the_budget(
        positions in proptest::collection::vec(0.0f64..1.0, 64),
        memory in 1u64..512,
        cores in 1u32..128,
        data in proptest::option::of(1u64 << 20..1 << 42),
    ) {
        let (identity, live) = mysql();
        let machine = on(Bytes::gib(memory), cores);
        let selection = Selection { data_bytes: data, ..Selection::default() };
        let tunables = tunable(Registry::builtin(), &identity, &live, &machine, &selection);
        let rules = relations(&tunables, &identity, &live, &machine);
        let drawn: Configuration = tunables
            .iter()
            .zip(&positions)
            .map(|(t, position)| (t.name.clone(), t.domain.at(t.knob, *position)))
            .collect();
        let fixed = repair(&tunables, &rules, &drawn);
        for relation in &rules {
            prop_assert!(relation.check(&fixed).is_ok(), "{:?} in {fixed}", relation.check(&fixed));
        }
        for t in &tunables {
            prop_assert!(t.domain.contains(fixed.get(&t.name).unwrap()), "{} in {fixed}", t.name);
        }
        let model = MemoryModel::new(&identity, &live);
        prop_assert!(crate::check_budget(&model, &fixed, &machine).is_ok());
        prop_assert_eq!(repair(&tunables, &rules, &fixed).to_string(), fixed.to_string());
    }
}
