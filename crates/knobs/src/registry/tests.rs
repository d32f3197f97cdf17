use super::*;
use crate::knob::{Area, Kind};

fn builtin() -> &'static Registry {
    Registry::builtin()
}

#[test]
fn every_row_makes_sense_on_its_own() {
    for knob in builtin().iter() {
        assert!(knob.what.ends_with('.') && knob.what.len() > 15, "{}: says nothing", knob.name);
        assert!(!knob.history.is_empty(), "{}: no flavour has it", knob.name);
        for (flavour, since, fate) in &knob.history {
            let Fate::Present(facts) = fate else { continue };
            let place = format!("{} on {flavour} {since}", knob.name);
            if let (Some(min), Some(max)) = (facts.min, facts.max) {
                assert!(min < max, "{place}: {min} to {max} is no range");
            }
            match knob.kind {
                Kind::Enum | Kind::Choice => assert!(facts.options.len() > 1, "{place}: a choice of one"),
                Kind::Int | Kind::Float => {
                    assert!(facts.min.is_some(), "{place}: a number without a lower end");
                }
                Kind::Bool | Kind::Text => {}
            }
            let Some(default) = &facts.default else { continue };
            if let Some(x) = default.as_f64() {
                let special = knob.specials.iter().any(|(n, _)| *n as f64 == x);
                let low = facts.min.is_none_or(|min| min <= x);
                let high = facts.max.is_none_or(|max| x <= max);
                assert!(special || (low && high), "{place}: its default {x} is out of its range");
            }
            if knob.kind == Kind::Enum {
                let word = default.to_cnf();
                assert!(facts.options.contains(&word), "{place}: its default {word} is none of its words");
            }
        }
    }
}

#[test]
fn versions_of_a_flavour_ascend() {
    for knob in builtin().iter() {
        for pair in knob.history.windows(2) {
            assert!(pair[0].0 != pair[1].0 || pair[0].1 < pair[1].1, "{}: out of order", knob.name);
        }
    }
}

#[test]
fn successors_are_knobs() {
    for knob in builtin().iter() {
        for (.., fate) in &knob.history {
            if let Fate::Gone(Some(successor)) = fate {
                assert!(builtin().get(successor).is_some(), "{}: gone to unknown {successor}", knob.name);
            }
        }
    }
}

#[test]
fn durability_and_semantics_are_never_searched() {
    for knob in builtin().iter().filter(|knob| !knob.risk.may_be_automatic()) {
        assert_eq!(knob.tune, None, "{}", knob.name);
    }
    for name in ["innodb_flush_log_at_trx_commit", "sync_binlog", "innodb_doublewrite", "innodb_flush_method"]
    {
        assert!(!builtin().get(name).unwrap().risk.may_be_automatic(), "{name}");
    }
}

#[test]
fn the_published_experiments_knobs_are_all_there_to_search() {
    for name in [
        "innodb_adaptive_flushing_lwm",
        "innodb_adaptive_hash_index",
        "innodb_adaptive_max_sleep_delay",
        "innodb_buffer_pool_instances",
        "innodb_buffer_pool_size",
        "innodb_change_buffering",
        "innodb_io_capacity",
        "innodb_log_file_size",
        "innodb_redo_log_capacity",
        "innodb_max_dirty_pages_pct",
        "innodb_max_dirty_pages_pct_lwm",
        "innodb_sync_array_size",
        "innodb_thread_concurrency",
        "innodb_thread_sleep_delay",
        "max_heap_table_size",
        "thread_cache_size",
        "tmp_table_size",
        "innodb_io_capacity_max",
        "innodb_log_buffer_size",
        "innodb_lru_scan_depth",
        "innodb_flush_neighbors",
        "innodb_purge_threads",
        "innodb_read_io_threads",
        "innodb_write_io_threads",
        "table_open_cache",
    ] {
        assert!(builtin().get(name).is_some_and(|knob| knob.tune.is_some()), "{name}");
    }
}

#[test]
fn redo_has_one_name_on_each_side() {
    let on = |flavour, major, minor, patch, name| {
        matches!(
            builtin().resolve_for(flavour, Version::new(major, minor, patch), name),
            Resolution::Present(..)
        )
    };
    assert!(on(Flavour::MySql, 8, 0, 30, "innodb_redo_log_capacity"));
    assert!(!on(Flavour::MySql, 8, 0, 29, "innodb_redo_log_capacity"));
    assert!(!on(Flavour::MariaDb, 11, 4, 0, "innodb_redo_log_capacity"));
    assert!(on(Flavour::MariaDb, 11, 4, 0, "innodb_log_file_size"));
    assert_eq!(
        builtin().resolve_for(Flavour::MySql, Version::new(9, 7, 0), "innodb-log-file-size"),
        Resolution::Removed(builtin().get("innodb_log_file_size").unwrap(), Some("innodb_redo_log_capacity")),
    );
}

#[test]
fn percona_has_what_mysql_has() {
    let version = Version::new(8, 0, 36);
    assert!(matches!(
        builtin().resolve_for(Flavour::Percona, version, "innodb_io_capacity"),
        Resolution::Present(..)
    ));
}

#[test]
fn a_slip_of_the_pen_finds_its_knob() {
    assert_eq!(builtin().nearest("innodb_bufer_pool_size"), Some("innodb_buffer_pool_size"));
    assert_eq!(builtin().nearest("frobnicate"), None);
}

#[test]
fn a_bad_line_is_named_by_its_number() {
    for (table, line) in [
        ("knob\n  | What it does.\n  is flushing int count performance\n  mysql 5.7 sometimes 1..2 = 1\n", 4),
        ("knob\n  | What it does.\n  is flushing int bananas performance\n", 3),
        ("  mysql 5.7 dyn 1..2 = 1\n", 1),
        ("knob\n  | What it does.\n  is flushing int count performance\n  mysql 5.7 dyn 1..2 = x\n", 4),
    ] {
        assert_eq!(Registry::parse(table).unwrap_err().line, line, "{table}");
    }
}

#[test]
fn every_area_of_the_durability_family_is_marked_by_its_risk() {
    for knob in builtin().iter().filter(|knob| knob.area == Area::Durability) {
        assert!(!knob.risk.may_be_automatic(), "{}", knob.name);
    }
}
