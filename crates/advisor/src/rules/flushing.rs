//! Background writing.

use crate::context::{Context, Draft};
use knobs::{Platform, Value};

/// Operations per second that any solid-state device sustains.
const SOLID_STATE: i64 = 2000;
/// Beyond this only fast local storage can follow; network volumes are billed for the attempt.
const NETWORK_VOLUME: i64 = 3000;

pub(super) fn io_capacity(context: &Context<'_>) -> Option<Draft> {
    if context.is_aurora() {
        return None;
    }
    let capacity = context.int("innodb_io_capacity")?;
    let evidence = format!("innodb_io_capacity {capacity}");
    if context.identity().platform == Platform::Rds && capacity > NETWORK_VOLUME {
        return Some(
            Draft::notice(
                "background writing may use more operations than the volume has",
                format!("{evidence}; a gp3 volume below 400 GiB has {NETWORK_VOLUME}"),
            )
            .set("innodb_io_capacity", Value::Int(SOLID_STATE), "operations are left for statements")
            .set(
                "innodb_io_capacity_max",
                Value::Int(SOLID_STATE * 2),
                "operations are left for statements",
            ),
        );
    }
    match context.snapshot.solid_state {
        Some(true) if capacity < 1000 => Some(
            Draft::notice(
                "background writing is throttled to a disk's speed",
                format!("{evidence} on solid state"),
            )
            .set(
                "innodb_io_capacity",
                Value::Int(SOLID_STATE),
                "dirty pages are written in time",
            ),
        ),
        Some(false) if capacity > 1000 => Some(
            Draft::notice(
                "background writing is set for solid state",
                format!("{evidence} on a rotating disk"),
            )
            .set("innodb_io_capacity", Value::Int(200), "the disk is left to statements"),
        ),
        // Unknown storage is no reason to say anything.
        _ => Some(Draft::fine("speed of background writing", evidence)),
    }
}

pub(super) fn neighbors(context: &Context<'_>) -> Option<Draft> {
    if context.is_aurora() {
        return None;
    }
    let neighbors = context.int("innodb_flush_neighbors")?;
    match (context.snapshot.solid_state?, neighbors) {
        (true, 1..) => Some(
            Draft::notice(
                "neighbours of dirty pages are written although seeks cost nothing",
                format!("innodb_flush_neighbors {neighbors} on solid state"),
            )
            .set("innodb_flush_neighbors", Value::Int(0), "fewer page writes"),
        ),
        (false, 0) => {
            Some(Draft::notice("neighbours of dirty pages are not written together", "rotating disk").set(
                "innodb_flush_neighbors",
                Value::Int(1),
                "fewer seeks",
            ))
        }
        _ => Some(Draft::fine(
            "flushing of neighbours fits the storage",
            format!("innodb_flush_neighbors {neighbors}"),
        )),
    }
}

pub(super) fn wait_free(context: &Context<'_>) -> Option<Draft> {
    let waits = context.gain("innodb_buffer_pool_wait_free")?;
    let rate = context.per_second("innodb_buffer_pool_wait_free").unwrap_or(0.0);
    let evidence = format!("{waits} waits for a free page {}", context.period());
    if waits < 1.0 || rate < 0.01 {
        return Some(Draft::fine("nobody waits for a free page", evidence));
    }
    Some(
        Draft::warning("statements wait for a free page", evidence)
            .advice("a larger buffer pool, a higher innodb_io_capacity, or faster storage"),
    )
}

pub(super) fn dirty_pages(context: &Context<'_>) -> Option<Draft> {
    let number = |name| context.text(name)?.parse::<f64>().ok();
    let most = number("innodb_max_dirty_pages_pct")?;
    let early = number("innodb_max_dirty_pages_pct_lwm").unwrap_or(0.0);
    if early > most {
        return Some(Draft::warning(
            "early flushing would start above the limit",
            format!("innodb_max_dirty_pages_pct_lwm {early} above innodb_max_dirty_pages_pct {most}"),
        ));
    }
    (most < 50.0 && !context.is_aurora()).then(|| {
        Draft::notice("pages are written early and often", format!("innodb_max_dirty_pages_pct {most}")).set(
            "innodb_max_dirty_pages_pct",
            Value::Float(90.0),
            "pages changed often are written once",
        )
    })
}
