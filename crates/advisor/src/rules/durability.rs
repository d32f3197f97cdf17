//! Durability: reported as the trade-off that it is, never changed by us.

use crate::context::{Context, Draft};
use knobs::Value;

pub(super) fn commit(context: &Context<'_>) -> Option<Draft> {
    let mode = context.int("innodb_flush_log_at_trx_commit")?;
    if mode == 1 || mode == 3 {
        return Some(Draft::fine("each commit is flushed", format!("innodb_flush_log_at_trx_commit {mode}")));
    }
    let loses = if mode == 0 { "when the server dies" } else { "when the machine dies" };
    let cluster = context.on("wsrep_on") == Some(true);
    let evidence = format!("innodb_flush_log_at_trx_commit {mode} loses up to a second of commits {loses}");
    let draft = if cluster {
        Draft::notice(
            "commits are not flushed at once: a trade-off that Galera's other nodes can cover",
            evidence,
        )
    } else {
        Draft::warning("committed transactions can be lost", evidence)
    };
    Some(draft.suggest(
        "innodb_flush_log_at_trx_commit",
        Value::Int(1),
        "no committed transaction is lost; commits wait for the disk",
    ))
}

pub(super) fn binlog(context: &Context<'_>) -> Option<Draft> {
    if context.on("log_bin") != Some(true) {
        return None;
    }
    let every = context.int("sync_binlog")?;
    let evidence = format!("sync_binlog {every}");
    if every == 1 {
        return Some(Draft::fine("the binary log is flushed with each commit", evidence));
    }
    Some(Draft::notice("a crash can leave replicas with other data than this server", evidence).suggest(
        "sync_binlog",
        Value::Int(1),
        "replicas never differ after a crash; commits wait for the disk",
    ))
}

pub(super) fn doublewrite(context: &Context<'_>) -> Option<Draft> {
    if context.is_aurora() {
        return None;
    }
    let mode = context.text("innodb_doublewrite")?;
    let off = matches!(mode.to_ascii_uppercase().as_str(), "OFF" | "0" | "DETECT_ONLY");
    off.then(|| {
        Draft::warning("a crash can tear pages beyond repair", format!("innodb_doublewrite {mode}")).suggest(
            "innodb_doublewrite",
            Value::Text("ON".into()),
            "torn pages are repaired",
        )
    })
}

pub(super) fn flush_method(context: &Context<'_>) -> Option<Draft> {
    let method = context.text("innodb_flush_method")?;
    method.eq_ignore_ascii_case("nosync").then(|| {
        Draft::critical("nothing is ever flushed to disk", format!("innodb_flush_method {method}")).suggest(
            "innodb_flush_method",
            Value::Text("O_DIRECT".into()),
            "data survive a crash",
        )
    })
}
