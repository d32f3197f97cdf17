//! Buffers of sessions. They are multiplied by connections, so growth is bounded, and never the first answer.

use crate::context::{Context, Draft};
use knobs::{Bytes, Value};

/// Largest sort buffer that is advised globally.
const LARGEST_SORT: i64 = 4 << 20;
/// Above this a buffer of each session is taken for a mistake.
const TOO_LARGE: i64 = 16 << 20;

pub(super) fn sort_merges(context: &Context<'_>) -> Option<Draft> {
    let passes = context.per_second("sort_merge_passes")?;
    if context.window() < 60.0 {
        return Some(Draft::not_enough(format!("only {:.0} s counted", context.window())));
    }
    let size = context.int("sort_buffer_size")?;
    let evidence = format!("{passes:.2} merge passes of sorts a second {}", context.period());
    if passes < 1.0 {
        return Some(Draft::fine("sorts fit their buffer", evidence));
    }
    let draft = Draft::notice("sorts do not fit their buffer", evidence);
    Some(if size < LARGEST_SORT {
        draft.set(
            "sort_buffer_size",
            Value::Int(size.saturating_mul(2).min(LARGEST_SORT)),
            "fewer sorts through files",
        )
    } else {
        draft.advice("the buffer is large already: an index in the order of the sort spares the sort")
    })
}

pub(super) fn joins_without_index(context: &Context<'_>) -> Option<Draft> {
    let joins = context.gain("select_full_join")? + context.gain("select_range_check").unwrap_or(0.0);
    let window = context.window();
    if window < 60.0 {
        return Some(Draft::not_enough(format!("only {window:.0} s counted")));
    }
    let rate = joins / window;
    let evidence = format!("{rate:.2} joins without an index a second {}", context.period());
    if rate < 0.1 {
        return Some(Draft::fine("joins use indexes", evidence));
    }
    let worst = context
        .snapshot
        .digests
        .iter()
        .filter(|digest| digest.no_index > 0)
        .max_by(|a, b| a.seconds.total_cmp(&b.seconds));
    // A larger join_buffer_size hides the cause and multiplies by connections: it is never advised.
    let advice = match worst {
        Some(digest) => format!("give it an index: {}", short(&digest.text)),
        None => "find them with log_queries_not_using_indexes or sys.statements_with_full_table_scans, and give them an index".into(),
    };
    Some(Draft::notice("tables are joined without an index", evidence).advice(advice))
}

pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

pub(super) fn buffers_too_large(context: &Context<'_>) -> Option<Draft> {
    let wide: Vec<(&'static str, i64)> =
        ["join_buffer_size", "sort_buffer_size", "read_buffer_size", "read_rnd_buffer_size"]
            .into_iter()
            .filter_map(|name| Some((name, context.int(name)?)))
            .filter(|(_, size)| *size > TOO_LARGE)
            .collect();
    if wide.is_empty() {
        return None;
    }
    let list: Vec<String> =
        wide.iter().map(|(name, size)| format!("{name} {}", Bytes(size.unsigned_abs()))).collect();
    let evidence = format!(
        "{}, for each of {} connections",
        list.join(", "),
        context.int("max_connections").unwrap_or(0)
    );
    let mut draft = Draft::notice("buffers of sessions are very large", evidence);
    for (name, _) in wide {
        draft = draft.set(name, Value::Int(LARGEST_SORT), "memory for the buffer pool; cheaper allocation");
    }
    Some(draft)
}
