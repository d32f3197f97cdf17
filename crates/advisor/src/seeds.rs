//! Expert configurations: what a DBA would try first, sized for the machine and the workload at hand.

use knobs::{Bytes, Configuration, Domain, Relation, Tunable, Value, repair};

/// What is known of the workload. Everything is optional; what is missing is replaced by a cautious choice.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WorkloadFacts {
    /// Size of the data set on disk.
    pub data_bytes: Option<u64>,
    /// Share of transactions that write, 0 to 1.
    pub write_share: Option<f64>,
    /// Connections that work at the same time.
    pub connections: Option<u64>,
    /// Random write operations per second that the storage sustains.
    pub storage_iops: Option<u64>,
}

/// A configuration with a name and a reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Seed {
    /// Short name, used in reports.
    pub name: &'static str,
    /// Why somebody would try it, one sentence.
    pub why: &'static str,
    /// The values; only knobs of the search are in it.
    pub configuration: Configuration,
}

/// Storage that nobody has measured is taken for one modest SSD.
const UNKNOWN_IOPS: u64 = 2000;

/// The expert seeds for a search over `tunables`, best guess first. Each keeps every relation, and none is the
/// same as what the server has now or as an earlier one.
pub fn seeds(tunables: &[Tunable], relations: &[Relation], facts: &WorkloadFacts) -> Vec<Seed> {
    let draft = Draft { tunables, facts };
    let memory = draft.memory();
    let mut balanced = memory.clone();
    draft.extend(&mut balanced, draft.flushing(1.0));
    draft.extend(&mut balanced, draft.caches());

    // What won the published experiment on provisioned storage: let dirty pages and redo pile up, flush late.
    let mut lazy = balanced.clone();
    draft.extend(&mut lazy, draft.lazy_flushing());

    // The opposite school: plenty of background writing, short checkpoints.
    let mut eager = balanced.clone();
    draft.extend(&mut eager, draft.flushing(4.0));
    draft.extend(
        &mut eager,
        vec![
            ("innodb_max_dirty_pages_pct_lwm", Value::Float(10.0)),
            ("innodb_lru_scan_depth", Value::Int(2048)),
        ],
    );

    let candidates = [
        Seed {
            name: "balanced",
            why: "memory to the buffer pool, redo for the writes of an hour, background writing fit to the storage",
            configuration: balanced,
        },
        Seed {
            name: "lazy-flushing",
            why: "large redo and late flushing, so that a page changed often is written once: what won on \
                  provisioned storage",
            configuration: lazy,
        },
        Seed {
            name: "memory-only",
            why: "only buffer pool and redo: most of what can be gained, with the least change",
            configuration: memory,
        },
        Seed {
            name: "eager-flushing",
            why: "much background writing, so that no statement ever waits for a free page or a checkpoint",
            configuration: eager,
        },
    ];
    let now: Configuration = tunables.iter().map(|t| (t.name.clone(), t.current.clone())).collect();
    let mut kept: Vec<Seed> = Vec::new();
    for mut seed in candidates {
        // Relations look at every knob, so the server's own values stand in for what the seed leaves alone.
        let mut whole = now.clone();
        whole.0.extend(seed.configuration.0.clone());
        let whole = repair(tunables, relations, &whole);
        let named: Vec<String> = seed.configuration.0.keys().cloned().collect();
        seed.configuration = whole
            .iter()
            .filter(|(name, value)| {
                named.iter().any(|n| n == name) || now.get(name).is_some_and(|own| !own.same(value))
            })
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect();
        let moves =
            seed.configuration.iter().any(|(name, value)| now.get(name).is_none_or(|own| !own.same(value)));
        let twin = kept.iter().any(|other| other.configuration == seed.configuration);
        if moves && !twin {
            kept.push(seed);
        }
    }
    kept
}

struct Draft<'a> {
    tunables: &'a [Tunable],
    facts: &'a WorkloadFacts,
}

impl Draft<'_> {
    fn find(&self, name: &str) -> Option<&Tunable> {
        self.tunables.iter().find(|tunable| tunable.name == name)
    }

    fn largest(&self, name: &str) -> Option<i64> {
        match self.find(name)?.domain {
            Domain::Int { max, .. } => Some(max),
            _ => None,
        }
    }

    /// Adds the values whose knobs are part of the search, moved into their domains.
    fn extend(&self, configuration: &mut Configuration, values: Vec<(&str, Value)>) {
        for (name, value) in values {
            if let Some(tunable) = self.find(name) {
                let value = tunable.domain.snap(&value);
                if tunable.domain.contains(&value) {
                    configuration.set(name, value);
                }
            }
        }
    }

    fn memory(&self) -> Configuration {
        let mut configuration = Configuration::new();
        if let Some(max) = self.largest("innodb_buffer_pool_size") {
            // Beyond the data there is nothing to cache; half again leaves room for growth during the study.
            let wanted = self
                .facts
                .data_bytes
                .map_or(max, |data| Bytes(data).share(1.5).max(Bytes::mib(512)).as_i64());
            self.extend(&mut configuration, vec![("innodb_buffer_pool_size", Value::Int(wanted.min(max)))]);
        }
        for name in ["innodb_redo_log_capacity", "innodb_log_file_size"] {
            if let Some(max) = self.largest(name) {
                // Half of the largest sensible log: a crash recovers in minutes, checkpoints come seldom.
                self.extend(&mut configuration, vec![(name, Value::Int((max / 2).max(1 << 30).min(max)))]);
            }
        }
        self.extend(&mut configuration, vec![("innodb_log_buffer_size", Value::Int(64 << 20))]);
        configuration
    }

    /// Background writing at this multiple of half of what the storage sustains.
    fn flushing(&self, pressure: f64) -> Vec<(&'static str, Value)> {
        let iops = self.facts.storage_iops.unwrap_or(UNKNOWN_IOPS) as f64;
        let capacity = (iops / 2.0 * pressure).clamp(100.0, 20_000.0) as i64;
        vec![
            ("innodb_io_capacity", Value::Int(capacity)),
            ("innodb_io_capacity_max", Value::Int(capacity * 2)),
            ("innodb_flush_neighbors", Value::Int(0)),
            ("innodb_max_dirty_pages_pct", Value::Float(90.0)),
            ("innodb_adaptive_hash_index", Value::Bool(false)),
            ("innodb_change_buffering", Value::Text("none".into())),
        ]
    }

    fn lazy_flushing(&self) -> Vec<(&'static str, Value)> {
        let mut values = vec![
            ("innodb_io_capacity", Value::Int(100)),
            ("innodb_io_capacity_max", Value::Int(2000)),
            ("innodb_max_dirty_pages_pct", Value::Float(98.0)),
            ("innodb_max_dirty_pages_pct_lwm", Value::Float(50.0)),
            ("innodb_adaptive_flushing_lwm", Value::Int(50)),
        ];
        for name in ["innodb_redo_log_capacity", "innodb_log_file_size"] {
            if let Some(max) = self.largest(name) {
                values.push((name, Value::Int(max)));
            }
        }
        values
    }

    fn caches(&self) -> Vec<(&'static str, Value)> {
        let connections = i64::try_from(self.facts.connections.unwrap_or(64)).unwrap_or(64);
        vec![
            ("thread_cache_size", Value::Int(connections.clamp(16, 256))),
            ("table_open_cache", Value::Int(4000)),
            ("innodb_purge_threads", Value::Int(4)),
            ("tmp_table_size", Value::Int(32 << 20)),
            ("max_heap_table_size", Value::Int(32 << 20)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knobs::{Flavour, Identity, LiveVariable, Machine, Registry, Selection, Version, relations, tunable};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn server(rows: &[(&str, &str)]) -> BTreeMap<String, LiveVariable> {
        rows.iter().map(|(name, value)| ((*name).to_owned(), LiveVariable::new(*name, *value))).collect()
    }

    fn mysql() -> (Identity, BTreeMap<String, LiveVariable>) {
        let live = server(&[
            ("innodb_adaptive_hash_index", "OFF"),
            ("innodb_buffer_pool_chunk_size", "134217728"),
            ("innodb_buffer_pool_size", "134217728"),
            ("innodb_change_buffering", "all"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_flush_neighbors", "0"),
            ("innodb_io_capacity", "10000"),
            ("innodb_io_capacity_max", "20000"),
            ("innodb_max_dirty_pages_pct", "90"),
            ("innodb_max_dirty_pages_pct_lwm", "10"),
            ("innodb_redo_log_capacity", "104857600"),
            ("max_connections", "151"),
            ("sync_binlog", "1"),
        ]);
        (Identity::of(Flavour::MySql, Version::new(9, 7, 4)), live)
    }

    fn of(gib: u64, facts: &WorkloadFacts) -> (Vec<Tunable>, Vec<Relation>, Vec<Seed>) {
        let (identity, live) = mysql();
        let machine = Machine { memory: Some(Bytes::gib(gib)), cores: Some(2) };
        let selection = Selection { data_bytes: facts.data_bytes, ..Selection::default() };
        let tunables = tunable(Registry::builtin(), &identity, &live, &machine, &selection);
        let rules = relations(&tunables, &identity, &live, &machine);
        let seeds = seeds(&tunables, &rules, facts);
        (tunables, rules, seeds)
    }

    #[test]
    fn the_first_seed_gives_the_memory_to_the_pool_and_room_to_the_redo() {
        let (_, _, seeds) = of(16, &WorkloadFacts { data_bytes: Some(64 << 30), ..WorkloadFacts::default() });
        let first = &seeds[0].configuration;
        assert!(first.get("innodb_buffer_pool_size").unwrap().as_i64().unwrap() >= 10 << 30);
        assert!(first.get("innodb_redo_log_capacity").unwrap().as_i64().unwrap() >= 1 << 30);
        assert_eq!(first.get("innodb_change_buffering"), Some(&Value::Text("none".into())));
    }

    #[test]
    fn a_pool_is_not_made_much_larger_than_the_data() {
        let (_, _, seeds) = of(64, &WorkloadFacts { data_bytes: Some(2 << 30), ..WorkloadFacts::default() });
        for seed in seeds {
            assert!(seed.configuration.get("innodb_buffer_pool_size").unwrap().as_i64().unwrap() <= 3 << 30);
        }
    }

    #[test]
    fn no_seed_trades_durability() {
        let (_, _, seeds) = of(16, &WorkloadFacts::default());
        for seed in &seeds {
            for name in ["innodb_flush_log_at_trx_commit", "sync_binlog", "innodb_doublewrite"] {
                assert_eq!(seed.configuration.get(name), None, "{}", seed.name);
            }
        }
        assert!(seeds.len() >= 3);
    }

    #[test]
    fn background_writing_follows_the_storage() {
        let slow = WorkloadFacts { storage_iops: Some(400), ..WorkloadFacts::default() };
        let (_, _, seeds) = of(16, &slow);
        assert_eq!(seeds[0].configuration.get("innodb_io_capacity"), Some(&Value::Int(200)));
    }

    #[test]
    fn nothing_to_search_means_no_seeds() {
        assert_eq!(seeds(&[], &[], &WorkloadFacts::default()), []);
    }

    proptest! {
        #[test]
        fn every_seed_keeps_every_relation_and_domain(
            gib in 1u64..512,
            data in proptest::option::of(1u64 << 20..1 << 42),
            iops in proptest::option::of(1u64..1_000_000),
            connections in proptest::option::of(1u64..100_000),
        ) {
            let facts = WorkloadFacts { data_bytes: data, storage_iops: iops, connections, write_share: None };
            let (tunables, rules, seeds) = of(gib, &facts);
            for seed in seeds {
                for rule in &rules {
                    prop_assert!(rule.check(&seed.configuration).is_ok(), "{}: {rule:?}", seed.name);
                }
                for (name, value) in seed.configuration.iter() {
                    let tunable = tunables.iter().find(|t| t.name == name).unwrap();
                    prop_assert!(tunable.domain.contains(value), "{}: {name}={value}", seed.name);
                }
            }
        }
    }
}
