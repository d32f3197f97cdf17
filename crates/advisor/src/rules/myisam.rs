//! MyISAM and Aria.

use crate::context::{Context, Draft, percent};
use knobs::{Bytes, Value};

/// Kept for system and temporary tables: never 0.
const LEAST_KEY_BUFFER: i64 = 8 << 20;

pub(super) fn key_buffer(context: &Context<'_>) -> Option<Draft> {
    let size = context.int("key_buffer_size")?;
    let facts = context.snapshot.schema_facts.as_ref().filter(|facts| facts.complete)?;
    let myisam = context.engine("MyISAM").filter(|engine| engine.tables > 0);
    let shown = Bytes(size.unsigned_abs());
    let Some(myisam) = myisam else {
        // The default of either flavour is no reason to speak.
        if size <= 128 << 20 {
            return None;
        }
        return Some(
            Draft::notice(
                "a large key buffer for no MyISAM table",
                format!("{shown}, {} tables, none of MyISAM", facts.tables),
            )
            .set(
                "key_buffer_size",
                Value::Int(LEAST_KEY_BUFFER * 4),
                "memory for the buffer pool",
            ),
        );
    };
    let miss = context.ratio("key_reads", "key_read_requests", 10_000.0)?;
    let evidence = format!(
        "{shown} for {} of MyISAM indexes, {} of key reads missed {}",
        Bytes(myisam.index_bytes),
        percent(miss),
        context.period()
    );
    if miss <= 0.05 || size.unsigned_abs() >= myisam.index_bytes {
        return Some(Draft::fine("the key buffer holds what is read", evidence));
    }
    Some(Draft::notice("key reads of MyISAM go to disk", evidence).set(
        "key_buffer_size",
        Value::Int(Bytes(myisam.index_bytes.min(4 << 30)).as_i64()),
        "fewer reads from disk",
    ))
}

pub(super) fn aria_page_cache(context: &Context<'_>) -> Option<Draft> {
    let size = context.int("aria_pagecache_buffer_size")?;
    let miss = context.ratio("aria_pagecache_reads", "aria_pagecache_read_requests", 100_000.0)?;
    let evidence = format!(
        "{} of Aria's reads (temporary tables on disk among them) missed its {} {}",
        percent(miss),
        Bytes(size.unsigned_abs()),
        context.period()
    );
    if miss <= 0.05 || size >= 1 << 30 {
        return Some(Draft::fine("Aria's page cache holds what is read", evidence));
    }
    Some(Draft::notice("Aria's page cache is small", evidence).set(
        "aria_pagecache_buffer_size",
        Value::Int(size.saturating_mul(2).min(1 << 30)),
        "temporary tables on disk are read from memory",
    ))
}
