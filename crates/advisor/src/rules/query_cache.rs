//! The query cache of MariaDB and MySQL 5.7.

use crate::context::{Context, Draft, percent};
use knobs::{Bytes, Value};

pub(super) fn on(context: &Context<'_>) -> Option<Draft> {
    let size = context.int("query_cache_size")?;
    let kind = context.text("query_cache_type")?;
    if size == 0 || matches!(kind.to_ascii_uppercase().as_str(), "OFF" | "0") {
        return Some(Draft::fine("the query cache is off", format!("query_cache_type {kind}")));
    }
    let hits = context.gain("qcache_hits").unwrap_or(0.0);
    let selects = context.gain("com_select").unwrap_or(0.0);
    // MariaDB counts a hit in Com_select too; MySQL does not.
    let all = if context.is_mariadb() { selects } else { selects + hits };
    let evidence = if all >= 1000.0 {
        format!(
            "{} of {} served {} of SELECTs {}",
            kind,
            Bytes(size.unsigned_abs()),
            percent(hits / all),
            context.period()
        )
    } else {
        format!("{kind}, {}", Bytes(size.unsigned_abs()))
    };
    let useful =
        all >= 1000.0 && hits / all > 0.8 && i64::from(context.snapshot.machine.cores.unwrap_or(8)) <= 4;
    if useful {
        return Some(Draft::fine("the query cache serves most SELECTs", evidence));
    }
    let effect = "no global lock at each change of a table";
    Some(
        Draft::warning("the query cache takes a global lock at each change", evidence)
            .set("query_cache_type", Value::Text("OFF".into()), effect)
            .set("query_cache_size", Value::Int(0), effect),
    )
}
