//! The binary log.

use crate::context::{Context, Draft, percent};
use knobs::{Bytes, Value};

pub(super) fn cache(context: &Context<'_>) -> Option<Draft> {
    if context.on("log_bin") != Some(true) {
        return None;
    }
    let size = context.int("binlog_cache_size")?;
    let share = context.ratio("binlog_cache_disk_use", "binlog_cache_use", 1000.0)?;
    let evidence = format!(
        "{} of transactions did not fit {} {}",
        percent(share),
        Bytes(size.unsigned_abs()),
        context.period()
    );
    if share <= 0.05 {
        return Some(Draft::fine("transactions fit the binary log's cache", evidence));
    }
    // It is taken for each connection: doubled, up to 1 MiB, not raised by megabytes.
    let most = 1 << 20;
    let draft = Draft::notice("transactions go through a file on their way to the binary log", evidence);
    Some(if size < most {
        draft.set("binlog_cache_size", Value::Int(size.saturating_mul(2).min(most)), "fewer temporary files")
    } else {
        draft.advice("smaller transactions; the cache is large already")
    })
}

pub(super) fn expiry(context: &Context<'_>) -> Option<Draft> {
    if context.on("log_bin") != Some(true) {
        return None;
    }
    let seconds = context.int("binlog_expire_logs_seconds").unwrap_or(0);
    let days = context.text("expire_logs_days").and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    let known = context.has("binlog_expire_logs_seconds") || context.has("expire_logs_days");
    (known && seconds == 0 && days == 0.0).then(|| {
        Draft::warning("binary logs are never removed", "no expiry is set").advice(
            "set binlog_expire_logs_seconds to what replicas and restores need, before the disk is full",
        )
    })
}

pub(super) fn format(context: &Context<'_>) -> Option<Draft> {
    if context.on("log_bin") != Some(true) {
        return None;
    }
    let format = context.text("binlog_format")?;
    format.eq_ignore_ascii_case("STATEMENT").then(|| {
        Draft::notice("replicas run statements again and may get other results", "binlog_format STATEMENT")
            .suggest("binlog_format", Value::Text("ROW".into()), "replicas get the same rows")
    })
}
