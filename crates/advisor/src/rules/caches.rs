//! Caches of tables, definitions and files.

use crate::context::{Context, Draft};
use knobs::Value;

pub(super) fn table_open(context: &Context<'_>) -> Option<Draft> {
    let size = context.int("table_open_cache")?;
    let evicted = context.gain("table_open_cache_overflows");
    let opened = context.per_second("opened_tables")?;
    if context.window() < 60.0 {
        return Some(Draft::not_enough(format!("only {:.0} s counted", context.window())));
    }
    let full = context.count("open_tables").unwrap_or(0.0) >= size as f64 * 0.95;
    let overflows = evicted.is_none_or(|count| count >= 100.0);
    let evidence = format!(
        "{opened:.1} tables opened a second {}, {} open, cache of {size}",
        context.period(),
        context.count("open_tables").unwrap_or(0.0)
    );
    if opened < 1.0 || !full || !overflows {
        return Some(Draft::fine("open tables are reused", evidence));
    }
    let draft = Draft::warning("tables are opened again and again", evidence);
    // Two files for each table, one for each connection: a larger cache must fit the limit of files.
    let files = context.int("open_files_limit").unwrap_or(i64::MAX);
    let most = (files - context.int("max_connections").unwrap_or(151) - 32) / 2;
    let wanted = size.saturating_mul(2).min(most);
    Some(if wanted > size {
        draft.set("table_open_cache", Value::Int(wanted), "tables stay open")
    } else {
        draft.advice(format!("raise open_files_limit first: {files} files allow no more than {most} tables"))
    })
}

pub(super) fn table_definitions(context: &Context<'_>) -> Option<Draft> {
    let size = context.int("table_definition_cache")?;
    let facts = context.snapshot.schema_facts.as_ref()?;
    let tables = i64::try_from(facts.tables).ok()?;
    let rate = context.per_second("opened_table_definitions").unwrap_or(0.0);
    let evidence = format!("{tables} tables, cache of {size} definitions, {rate:.1} read a second");
    if size < 0 || size >= tables || rate < 1.0 {
        return Some(Draft::fine("definitions of tables are kept", evidence));
    }
    // A number on both flavours: -1 means "automatic" on MySQL only, and turns into the largest on MariaDB.
    Some(Draft::notice("definitions of tables are read again and again", evidence).set(
        "table_definition_cache",
        Value::Int((tables + tables / 10).clamp(400, 20_000)),
        "statements start sooner",
    ))
}

pub(super) fn open_files(context: &Context<'_>) -> Option<Draft> {
    let limit = context.int("open_files_limit").filter(|limit| *limit > 0)?;
    let open = context.count("open_files")?;
    let evidence = format!("{open} files open, limit {limit}");
    Some(if open > limit as f64 * 0.85 {
        Draft::warning("open files are near their limit", evidence).suggest(
            "open_files_limit",
            Value::Int(limit.saturating_mul(2)),
            "no statement fails for want of a file; the service's own limit must allow it",
        )
    } else {
        Draft::fine("open files stay below their limit", evidence)
    })
}
