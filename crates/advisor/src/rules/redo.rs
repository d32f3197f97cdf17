//! The redo log: sized from how fast it is written, never from the pool.

use crate::context::{Context, Draft, HOUR, percent, round_up};
use knobs::{Bytes, Value};

/// Least size that is advised for a server that writes at all.
const LEAST: Bytes = Bytes::gib(1);
/// Most that is advised: beyond it, recovery takes longer than the writes saved are worth. A choice.
const MOST: Bytes = Bytes::gib(32);
/// A checkpoint age above this share of its limit makes writers wait soon (PMM's rule is 80 %).
const AGE_LIMIT: f64 = 0.75;

/// The knob of this server and its total capacity now.
fn capacity(context: &Context<'_>) -> Option<(&'static str, i64, i64)> {
    // The flavour decides, not the number of the version: MariaDB has no innodb_redo_log_capacity.
    if !context.is_mariadb() && context.has("innodb_redo_log_capacity") {
        return Some(("innodb_redo_log_capacity", context.int("innodb_redo_log_capacity")?, 1));
    }
    let files = context.int("innodb_log_files_in_group").unwrap_or(1).max(1);
    let size = context.int("innodb_log_file_size")?;
    Some(("innodb_log_file_size", size.saturating_mul(files), files))
}

/// Bytes of redo per hour over the window.
fn hourly(context: &Context<'_>) -> Option<f64> {
    let written = context.per_second("innodb_os_log_written").or_else(|| {
        // MariaDB's position in the log is the amount written.
        context.is_sampled().then(|| context.per_second("innodb_lsn_current"))?
    })?;
    Some(written * HOUR)
}

fn checkpoint_age(context: &Context<'_>) -> Option<f64> {
    let (age, most) = (context.count("innodb_checkpoint_age"), context.count("innodb_checkpoint_max_age"));
    if let (Some(age), Some(most)) = (age, most) {
        return (most > 0.0).then_some(age / most);
    }
    let used = context
        .count("innodb_redo_log_current_lsn")
        .zip(context.count("innodb_redo_log_checkpoint_lsn"))
        .map(|(now, checkpoint)| now - checkpoint)
        .or_else(|| context.metric("log_lsn_checkpoint_age"))?;
    let (_, capacity, _) = capacity(context)?;
    (capacity > 0).then(|| used / capacity as f64)
}

pub(super) fn size(context: &Context<'_>) -> Option<Draft> {
    if context.is_aurora() || context.on("innodb_dedicated_server") == Some(true) {
        return None;
    }
    let (knob, now, files) = capacity(context)?;
    let capacity = Bytes(u64::try_from(now).ok()?);
    let age = checkpoint_age(context);
    let Some(hourly) = hourly(context) else {
        return Some(Draft::not_enough("how much redo is written per hour is not known"));
    };
    let hour = Bytes(hourly as u64);
    let told = age.map_or(String::new(), |age| format!(", checkpoint age at {}", percent(age)));
    let evidence = format!("redo {capacity}, {hour} written per hour {}{told}", context.period());
    let pressed = age.is_some_and(|age| age > AGE_LIMIT);
    // A minute of load, or an hour of life, before an average means anything.
    let judged = (context.is_sampled() && context.window() >= 5.0) || context.uptime() >= HOUR;
    if !judged && !pressed {
        return Some(Draft::not_enough(format!(
            "{evidence}: an hour of uptime or a sampled window is needed"
        )));
    }
    let wanted = round_up(hour.clamp(LEAST, MOST), Bytes::mib(256));
    // Below this a larger log changes nothing that anybody could measure.
    let writes = hour > Bytes::mib(64);
    let small = writes && (capacity.0 as f64) < wanted.0 as f64 * 0.9;
    if !(small || pressed) {
        return Some(Draft::fine(
            "the redo log holds an hour of writes, or hardly anything is written",
            evidence,
        ));
    }
    let wanted = if pressed { wanted.max(Bytes(capacity.0.saturating_mul(2))).min(MOST) } else { wanted };
    if wanted <= capacity {
        return Some(Draft::fine("the redo log is as large as is sensible", evidence));
    }
    Some(Draft::warning("the redo log is small for the rate of writes", evidence).set(
        knob,
        Value::Int(wanted.as_i64() / files),
        "fewer page writes at checkpoints; a crash recovers a little slower",
    ))
}

pub(super) fn log_waits(context: &Context<'_>) -> Option<Draft> {
    let waits = context.gain("innodb_log_waits")?;
    let buffer = context.int("innodb_log_buffer_size")?;
    let evidence = format!("{waits} waits for the log buffer {}", context.period());
    // Waits count while they happen: old ones of a server that was sampled now are not in the gain.
    let rate = context.per_second("innodb_log_waits").unwrap_or(0.0);
    if waits < 1.0 || (!context.is_sampled() && rate < 0.01) {
        return Some(Draft::fine("nobody waits for the log buffer", evidence));
    }
    let most = 256 << 20;
    if buffer >= most {
        return Some(
            Draft::notice("waits for a log buffer that is already large", evidence)
                .advice("look for large transactions, and at the storage of the redo log"),
        );
    }
    Some(Draft::warning("writers wait for the log buffer", evidence).set(
        "innodb_log_buffer_size",
        Value::Int(buffer.saturating_mul(2).clamp(32 << 20, most)),
        "large transactions no longer wait for their redo",
    ))
}
