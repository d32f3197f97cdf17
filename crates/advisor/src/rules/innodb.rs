//! The rest of InnoDB.

use crate::context::{Context, DAY, Draft, percent};
use knobs::{Bytes, Value};

/// History that purge has fallen behind with (100,000 warns in the exporters' alert rules at 50,000; a choice).
const LONG_HISTORY: f64 = 100_000.0;

pub(super) fn history_list(context: &Context<'_>) -> Option<Draft> {
    // MariaDB tells it in the status, MySQL only in INNODB_METRICS.
    let Some(length) =
        context.count("innodb_history_list_length").or_else(|| context.metric("trx_rseg_history_len"))
    else {
        return Some(Draft::not_enough("the history list's length needs the privilege PROCESS here"));
    };
    let evidence = format!("{length} transactions in the history list");
    if length < LONG_HISTORY {
        return Some(Draft::fine("purge keeps up", evidence));
    }
    let draft = Draft::warning("purge has fallen behind", evidence)
        .advice("look for a transaction that has been open for long; it keeps every old row version alive");
    let threads = context.int("innodb_purge_threads").unwrap_or(4);
    Some(if threads < 4 {
        draft.set("innodb_purge_threads", Value::Int(4), "old row versions go sooner")
    } else {
        draft
    })
}

pub(super) fn adaptive_hash(context: &Context<'_>) -> Option<Draft> {
    if context.on("innodb_adaptive_hash_index") != Some(true) {
        return None;
    }
    let (hits, misses) =
        (context.metric("adaptive_hash_searches")?, context.metric("adaptive_hash_searches_btree")?);
    if hits + misses < 100_000.0 {
        return Some(Draft::not_enough("fewer than 100000 lookups of index pages counted"));
    }
    let share = hits / (hits + misses);
    let evidence = format!("{} of lookups were served by the adaptive hash index", percent(share));
    if share >= 0.5 {
        return Some(Draft::fine("the adaptive hash index is of use", evidence));
    }
    Some(Draft::notice("the adaptive hash index costs more than it serves", evidence).set(
        "innodb_adaptive_hash_index",
        Value::Bool(false),
        "no latch contention for it; the change itself clears the index",
    ))
}

pub(super) fn change_buffering(context: &Context<'_>) -> Option<Draft> {
    if context.is_aurora() {
        return None;
    }
    let mode = context.text("innodb_change_buffering")?;
    // Only rotating storage gains from it; it lengthens recovery and shutdown, and MariaDB took it out for damage
    // that it caused.
    if mode.eq_ignore_ascii_case("none") || context.snapshot.solid_state == Some(false) {
        return Some(Draft::fine("change buffering", format!("innodb_change_buffering {mode}")));
    }
    Some(
        Draft::notice(
            "changes to secondary indexes are put off",
            format!("innodb_change_buffering {mode}: gains on rotating disks only"),
        )
        .set("innodb_change_buffering", Value::Text("none".into()), "shorter recovery and shutdown"),
    )
}

/// Many pages read ahead and evicted unread: the threshold must go *up*, because a lower one reads ahead more.
pub(super) fn read_ahead(context: &Context<'_>) -> Option<Draft> {
    let share =
        context.ratio("innodb_buffer_pool_read_ahead_evicted", "innodb_buffer_pool_read_ahead", 1000.0)?;
    let evidence = format!("{} of pages read ahead were evicted unread {}", percent(share), context.period());
    if share <= 0.2 {
        return Some(Draft::fine("reading ahead serves its purpose", evidence));
    }
    let draft = Draft::notice("pages are read ahead for nothing", evidence);
    Some(if context.on("innodb_random_read_ahead") == Some(true) {
        draft.set("innodb_random_read_ahead", Value::Bool(false), "fewer useless reads")
    } else {
        draft.set("innodb_read_ahead_threshold", Value::Int(64), "only whole extents are read ahead")
    })
}

pub(super) fn thread_concurrency(context: &Context<'_>) -> Option<Draft> {
    let limit = context.int("innodb_thread_concurrency")?;
    let cores = i64::from(context.snapshot.machine.cores?);
    (limit > 0 && limit < cores).then(|| {
        Draft::warning(
            "fewer threads are let into InnoDB than there are cores",
            format!("{limit} of {cores}"),
        )
        .set("innodb_thread_concurrency", Value::Int(0), "all cores can work")
    })
}

pub(super) fn row_lock_waits(context: &Context<'_>) -> Option<Draft> {
    let waited = context.gain("innodb_row_lock_time")? / 1000.0;
    let window = context.window();
    if window < 60.0 {
        return None;
    }
    // Seconds of waiting for each second of the clock: sessions that always wait.
    let always = waited / window;
    let evidence = format!("{always:.1} sessions waiting for row locks at any moment {}", context.period());
    Some(if always >= 2.0 {
        Draft::notice("sessions wait for each other's rows", evidence).advice(
            "shorter transactions, rows in the same order everywhere, indexes for the conditions of updates",
        )
    } else {
        Draft::fine("waits for row locks", evidence)
    })
}

pub(super) fn deadlocks(context: &Context<'_>) -> Option<Draft> {
    let count = context.gain("innodb_deadlocks").or_else(|| context.metric("lock_deadlocks"))?;
    let window = context.window();
    if window < 60.0 {
        return None;
    }
    let hourly = count / window * 3600.0;
    let evidence = format!("{hourly:.1} deadlocks an hour {}", context.period());
    Some(if hourly > 60.0 {
        Draft::notice("many deadlocks", evidence)
            .advice("touch rows in the same order everywhere; retry is right, but not as a habit")
    } else {
        Draft::fine("deadlocks are rare", evidence)
    })
}

pub(super) fn stats_on_metadata(context: &Context<'_>) -> Option<Draft> {
    (context.on("innodb_stats_on_metadata")?).then(|| {
        Draft::warning("looking at metadata recounts statistics", "innodb_stats_on_metadata is on").set(
            "innodb_stats_on_metadata",
            Value::Bool(false),
            "information_schema answers fast, and plans stay stable",
        )
    })
}

pub(super) fn file_per_table(context: &Context<'_>) -> Option<Draft> {
    (!context.on("innodb_file_per_table")?).then(|| {
        Draft::notice("new tables share one file that never shrinks", "innodb_file_per_table is off").set(
            "innodb_file_per_table",
            Value::Bool(true),
            "dropped tables give their space back",
        )
    })
}

pub(super) fn force_recovery(context: &Context<'_>) -> Option<Draft> {
    let level = context.int("innodb_force_recovery")?;
    (level > 0).then(|| {
        Draft::critical("the server runs in forced recovery", format!("innodb_force_recovery {level}"))
            .suggest("innodb_force_recovery", Value::Int(0), "writes work again; dump the data first")
    })
}

pub(super) fn numa(context: &Context<'_>) -> Option<Draft> {
    let nodes = *context.snapshot.system.get("numa_nodes")?;
    let large = context.memory()? > Bytes::gib(32);
    (nodes > 1 && large && context.on("innodb_numa_interleave") == Some(false)).then(|| {
        Draft::notice("the buffer pool may fill one memory node", format!("{nodes} nodes")).set(
            "innodb_numa_interleave",
            Value::Bool(true),
            "no swapping while another node has memory",
        )
    })
}

/// Shared by rules that need a day of life before they speak.
pub(super) fn is_settled(context: &Context<'_>) -> bool {
    context.uptime() >= DAY
}
