//! Internal temporary tables.

use crate::context::{Context, Draft, percent};
use knobs::{Bytes, Value};

/// Beyond this a temporary table is a matter of the statement, not of memory.
const LARGEST: i64 = 256 << 20;

pub(super) fn on_disk(context: &Context<'_>) -> Option<Draft> {
    context.gain("created_tmp_tables")?;
    // On disk is counted within all (adding the two would count those twice).
    let Some(share) = context.ratio("created_tmp_disk_tables", "created_tmp_tables", 1000.0) else {
        return Some(Draft::not_enough(format!("fewer than 1000 temporary tables {}", context.period())));
    };
    let rate = context.per_second("created_tmp_disk_tables").unwrap_or(0.0);
    let evidence = format!(
        "{} of temporary tables went to disk, {rate:.1} a second {}",
        percent(share),
        context.period()
    );
    if share <= 0.1 || rate < 0.1 {
        return Some(Draft::fine("temporary tables stay in memory", evidence));
    }
    let temptable =
        context.text("internal_tmp_mem_storage_engine").is_some_and(|e| e.eq_ignore_ascii_case("temptable"));
    let tmp = context.int("tmp_table_size")?;
    let heap = context.int("max_heap_table_size").unwrap_or(tmp);
    let now = if temptable { tmp } else { tmp.min(heap) };
    let draft = Draft::warning("temporary tables go to disk", evidence);
    if now >= LARGEST {
        return Some(draft.advice(
            "they are large already: return fewer rows and columns, and no BLOBs where sorted or grouped",
        ));
    }
    let wanted = now.saturating_mul(4).clamp(64 << 20, LARGEST);
    let effect = "fewer temporary tables on disk";
    let draft = draft.set("tmp_table_size", Value::Int(wanted), effect);
    Some(if temptable {
        let pool = context.int("temptable_max_ram").unwrap_or(1 << 30);
        // All sessions share one amount with TempTable: it must hold a few such tables.
        if pool < wanted * 4 { draft.set("temptable_max_ram", Value::Int(wanted * 4), effect) } else { draft }
    } else if heap < wanted {
        draft.set("max_heap_table_size", Value::Int(wanted), effect)
    } else {
        draft
    })
}

pub(super) fn mmap(context: &Context<'_>) -> Option<Draft> {
    let size = context.int("temptable_max_mmap").filter(|size| *size > 0)?;
    // Mapped files were the default until 8.3 and are gone from it since: they fill the folder of temporary files.
    context.identity().mysql_at_least(8, 0, 23).then(|| {
        Draft::notice(
            "large temporary tables are mapped into files",
            format!("temptable_max_mmap {}", Bytes(size.unsigned_abs())),
        )
        .set(
            "temptable_max_mmap",
            Value::Int(0),
            "the folder of temporary files cannot fill up by them",
        )
    })
}

pub(super) fn uneven(context: &Context<'_>) -> Option<Draft> {
    let temptable =
        context.text("internal_tmp_mem_storage_engine").is_some_and(|e| e.eq_ignore_ascii_case("temptable"));
    if temptable {
        return None;
    }
    let (tmp, heap) = (context.int("tmp_table_size")?, context.int("max_heap_table_size")?);
    (tmp > heap).then(|| {
        Draft::notice(
            "temporary tables are smaller than tmp_table_size says",
            format!(
                "tmp_table_size {}, max_heap_table_size {}: the smaller one counts",
                Bytes(tmp.unsigned_abs()),
                Bytes(heap.unsigned_abs())
            ),
        )
        .advice("set both to the same value")
    })
}
