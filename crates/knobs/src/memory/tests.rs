use super::*;
use crate::{Value, Version};
use proptest::prelude::*;

fn vars(pairs: &[(&str, &str)]) -> BTreeMap<String, LiveVariable> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), LiveVariable::new(*name, *value))).collect()
}

fn mysql() -> (Identity, BTreeMap<String, LiveVariable>) {
    let live = vars(&[
        ("innodb_buffer_pool_size", "134217728"),
        ("innodb_log_buffer_size", "67108864"),
        ("max_connections", "151"),
        ("sort_buffer_size", "262144"),
        ("join_buffer_size", "262144"),
        ("read_buffer_size", "131072"),
        ("read_rnd_buffer_size", "262144"),
        ("thread_stack", "1048576"),
        ("tmp_table_size", "16777216"),
        ("max_heap_table_size", "16777216"),
        ("temptable_max_ram", "1073741824"),
        ("internal_tmp_mem_storage_engine", "TempTable"),
        ("key_buffer_size", "8388608"),
    ]);
    (Identity::of(Flavour::MySql, Version::new(9, 7, 4)), live)
}

#[test]
fn temporary_tables_share_one_bound_with_temptable() {
    let (identity, live) = mysql();
    let model = MemoryModel::new(&identity, &live);
    let large = Configuration::from_iter([("tmp_table_size".to_owned(), Value::Int(1 << 30))]);
    let grown = model.estimate(&large).worst.0 - model.estimate(&Configuration::new()).worst.0;
    assert!(grown <= 1 << 30, "151 connections times 1 GiB would be wrong: {grown}");
}

#[test]
fn unknown_memory_is_no_reason_to_refuse() {
    let (identity, live) = mysql();
    let huge = Configuration::from_iter([("innodb_buffer_pool_size".to_owned(), Value::Int(1 << 40))]);
    let model = MemoryModel::new(&identity, &live);
    assert!(check_budget(&model, &huge, &Machine::default()).is_ok());
    let small = Machine { memory: Some(Bytes::gib(4)), cores: None };
    let error = check_budget(&model, &huge, &small).unwrap_err();
    assert!(error.to_string().contains("innodb_buffer_pool_size"), "{error}");
}

/// Test vectors of Amazon's rule with the defaults of RDS for MySQL 8.0: m5.large (8 GiB, 682 connections).
#[test]
fn the_rule_of_rds_gives_its_published_figures() {
    let memory = 8u64 << 30;
    let base = [
        ("innodb_buffer_pool_size", (memory * 3 / 4).to_string()),
        ("innodb_log_buffer_size", "8388608".into()),
        ("key_buffer_size", "16777216".into()),
        ("tmp_table_size", "16777216".into()),
        ("max_connections", "682".into()),
        ("binlog_cache_size", "32768".into()),
        ("join_buffer_size", "262144".into()),
        ("read_buffer_size", "262144".into()),
        ("read_rnd_buffer_size", "524288".into()),
        ("sort_buffer_size", "262144".into()),
        ("thread_stack", "262144".to_owned()),
    ];
    let mut live: BTreeMap<String, LiveVariable> = base
        .iter()
        .map(|(name, value)| ((*name).to_owned(), LiveVariable::new(*name, value.clone())))
        .collect();
    let ratio = |configuration: &Configuration, live: &BTreeMap<String, LiveVariable>| {
        rds_potential(configuration, live).0 as f64 / memory as f64
    };
    let none = Configuration::new();
    assert_eq!(rds_potential(&none, &live), Bytes(7_579_435_008));
    assert!((ratio(&none, &live) - 0.8824).abs() < 1e-4);
    let sort = Configuration::from_iter([("sort_buffer_size".to_owned(), Value::Int(4 << 20))]);
    assert!((ratio(&sort, &live) - 1.1946).abs() < 1e-4);
    live.insert("performance_schema".into(), LiveVariable::new("performance_schema", "ON"));
    assert!((ratio(&none, &live) - 0.9165).abs() < 1e-4);
}

proptest! {
    #[test]
    fn the_three_figures_are_in_order_and_grow_with_every_buffer(
        pool in 5u64 << 20..1 << 40,
        sort in 32_768u64..1 << 32,
        connections in 1u64..100_000,
        used in proptest::option::of(0u64..200_000),
        more in 1u64..1 << 30,
    ) {
        let (identity, mut live) = mysql();
        for (name, value) in
            [("innodb_buffer_pool_size", pool), ("sort_buffer_size", sort), ("max_connections", connections)]
        {
            live.insert(name.into(), LiveVariable::new(name, value.to_string()));
        }
        let mut model = MemoryModel::new(&identity, &live);
        if let Some(used) = used {
            model = model.used_connections(used);
        }
        let before = model.estimate(&Configuration::new());
        prop_assert!(before.minimum <= before.realistic && before.realistic <= before.worst);
        for name in ["innodb_buffer_pool_size", "sort_buffer_size", "join_buffer_size", "key_buffer_size"] {
            let value = Value::Int(i64::try_from(live.bytes(name).unwrap().0 + more).unwrap());
            let after = model.estimate(&Configuration::from_iter([(name.to_owned(), value)]));
            prop_assert!(after.worst > before.worst, "{name}");
        }
    }

    #[test]
    fn absent_variables_never_break_the_model(present in proptest::collection::vec(any::<bool>(), 13)) {
        let (identity, live) = mysql();
        let some: BTreeMap<_, _> =
            live.into_iter().zip(present).filter_map(|(pair, keep)| keep.then_some(pair)).collect();
        let estimate = MemoryModel::new(&identity, &some).estimate(&Configuration::new());
        prop_assert!(estimate.minimum <= estimate.worst);
    }
}
