//! Tables and indexes.

use super::innodb::is_settled;
use crate::context::{Context, Draft, percent};
use knobs::Bytes;

/// The first few of a list, and how many more there are.
fn some(list: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<&str> = list.iter().take(SHOWN).map(String::as_str).collect();
    match list.len() {
        0..=SHOWN => shown.join(", "),
        all => format!("{} and {} more", shown.join(", "), all - SHOWN),
    }
}

pub(super) fn no_primary_key(context: &Context<'_>) -> Option<Draft> {
    let facts = context.snapshot.schema_facts.as_ref()?;
    if facts.without_primary_key.is_empty() {
        return facts
            .complete
            .then(|| Draft::fine("every table has a primary key", format!("{} tables", facts.tables)));
    }
    Some(
        Draft::warning(
            "tables without a primary key",
            format!("{}: {}", facts.without_primary_key.len(), some(&facts.without_primary_key)),
        )
        .advice("a replica searches such a table from end to end for each changed row; add a key"),
    )
}

pub(super) fn auto_increment(context: &Context<'_>) -> Option<Draft> {
    let facts = context.snapshot.schema_facts.as_ref()?;
    let near: Vec<String> = facts
        .auto_increment
        .iter()
        .filter(|(_, share)| *share >= 0.75)
        .map(|(table, share)| format!("{table} at {}", percent(*share)))
        .collect();
    if near.is_empty() {
        return None;
    }
    let worst = facts.auto_increment.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    let draft = if worst >= 0.9 { Draft::critical } else { Draft::warning };
    Some(
        draft("AUTO_INCREMENT".to_owned() + " nears its end", some(&near))
            .advice("change the column to BIGINT before inserts fail"),
    )
}

pub(super) fn old_engines(context: &Context<'_>) -> Option<Draft> {
    // Tables of MEMORY are meant to be what they are.
    let myisam = context.engine("MyISAM").filter(|engine| engine.tables > 0)?;
    Some(
        Draft::notice(
            "tables of MyISAM are lost or damaged by a crash",
            format!("{} tables, {}", myisam.tables, Bytes(myisam.data_bytes + myisam.index_bytes)),
        )
        .advice("ALTER TABLE … ENGINE=InnoDB, after a look at what depends on MyISAM"),
    )
}

pub(super) fn fragmented(context: &Context<'_>) -> Option<Draft> {
    let facts = context.snapshot.schema_facts.as_ref()?;
    // InnoDB always keeps some free extents: only large space that is a large share is worth a rebuild.
    let worth: Vec<String> = facts
        .fragmented
        .iter()
        .filter(|(_, bytes, share)| *bytes >= 1 << 30 && *share >= 0.3)
        .map(|(table, bytes, share)| format!("{table} {} ({})", Bytes(*bytes), percent(*share)))
        .collect();
    (!worth.is_empty()).then(|| {
        Draft::notice("tables hold much free space", some(&worth))
            .advice("if they will not grow again, ALTER TABLE … FORCE gives it back; figures may be a day old (information_schema_stats_expiry)")
    })
}

pub(super) fn redundant_indexes(context: &Context<'_>) -> Option<Draft> {
    let facts = context.snapshot.schema_facts.as_ref()?;
    (!facts.redundant_indexes.is_empty()).then(|| {
        Draft::notice("indexes that another covers", some(&facts.redundant_indexes))
            .advice("each costs a write for every change; make them invisible first, drop them later")
    })
}

pub(super) fn unused_indexes(context: &Context<'_>) -> Option<Draft> {
    let facts = context.snapshot.schema_facts.as_ref()?;
    if facts.unused_indexes.is_empty() {
        return None;
    }
    // A month's report may need what a week did not.
    if !is_settled(context) {
        return Some(Draft::not_enough("indexes count as unused only after a day of uptime"));
    }
    Some(
        Draft::notice("indexes that nothing has read since the start", some(&facts.unused_indexes))
            .advice("wait for a whole period of the business, then make them invisible, then drop them"),
    )
}
