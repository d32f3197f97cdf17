//! Logs and counters.

use super::session::short;
use crate::context::{Context, Draft};
use knobs::Value;

pub(super) fn performance_schema(context: &Context<'_>) -> Option<Draft> {
    if context.on("performance_schema")? {
        return Some(Draft::fine("the performance schema counts", "performance_schema is on"));
    }
    Some(Draft::notice("nobody counts what statements cost", "performance_schema is off").suggest(
        "performance_schema",
        Value::Bool(true),
        "advice about statements; takes memory and some percent of speed",
    ))
}

pub(super) fn slow_log(context: &Context<'_>) -> Option<Draft> {
    let on = context.on("slow_query_log")?;
    let limit = context.text("long_query_time")?.parse::<f64>().ok()?;
    if on && limit <= 10.0 {
        return Some(Draft::fine("slow statements are logged", format!("from {limit} s on")));
    }
    if context.on("performance_schema") == Some(true) && !on {
        return Some(Draft::fine(
            "statements are counted by the performance schema",
            "slow_query_log is off",
        ));
    }
    let draft = Draft::notice(
        "slow statements leave no trace",
        format!("slow_query_log {on}, long_query_time {limit}"),
    );
    let draft = if on {
        draft
    } else {
        draft.suggest("slow_query_log", Value::Bool(true), "a list of what to improve")
    };
    Some(if limit > 10.0 {
        draft.suggest("long_query_time", Value::Float(1.0), "statements of seconds are listed too")
    } else {
        draft
    })
}

pub(super) fn statements(context: &Context<'_>) -> Option<Draft> {
    let worst = context.snapshot.digests.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let all: f64 = context.snapshot.digests.iter().map(|digest| digest.seconds).sum();
    if all < 60.0 {
        return Some(Draft::not_enough("statements have run for less than a minute in total"));
    }
    let share = worst.seconds / all;
    let evidence =
        format!("{:.0}% of the time of the costliest statements: {}", share * 100.0, short(&worst.text));
    Some(if worst.no_index * 2 > worst.count && share > 0.2 {
        Draft::warning("the costliest statement uses no index", evidence)
            .advice("EXPLAIN it, and index its conditions")
    } else if share > 0.5 {
        Draft::notice("one kind of statement costs most of the time", evidence)
    } else {
        Draft::fine("no single statement dominates", evidence)
    })
}

pub(super) fn error_log(context: &Context<'_>) -> Option<Draft> {
    let lines = &context.snapshot.error_log;
    if lines.is_empty() {
        return None;
    }
    const SIGNS: [(&str, &str); 6] = [
        ("out of memory", "the server ran out of memory"),
        ("semaphore wait", "threads waited very long for a latch"),
        ("too many open files", "the limit of open files was reached"),
        ("corrupt", "damaged pages or tables"),
        ("no space left", "the disk was full"),
        ("table is full", "a disk or a tablespace was full"),
    ];
    let found: Vec<String> = SIGNS
        .iter()
        .filter_map(|(sign, meaning)| {
            let count = lines.iter().filter(|line| line.to_ascii_lowercase().contains(sign)).count();
            (count > 0).then(|| format!("{meaning} ({count} lines)"))
        })
        .collect();
    Some(if found.is_empty() {
        Draft::fine("the error log has no alarm in it", format!("last {} lines", lines.len()))
    } else {
        Draft::warning("the error log has alarms in it", found.join(", "))
    })
}

pub(super) fn log_level(context: &Context<'_>) -> Option<Draft> {
    let (knob, level) = if let Some(level) = context.int("log_error_verbosity") {
        ("log_error_verbosity", level)
    } else {
        ("log_warnings", context.int("log_warnings")?)
    };
    (level < 2).then(|| {
        Draft::notice("the error log keeps warnings to itself", format!("{knob} {level}")).set(
            knob,
            Value::Int(2),
            "warnings are seen",
        )
    })
}
