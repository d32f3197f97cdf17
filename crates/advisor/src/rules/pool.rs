//! The buffer pool.

use crate::context::{Context, Draft, HOUR, percent, round_up};
use crate::engine::pool_unit;
use knobs::{Bytes, Platform, Value};

const POOL: &str = "innodb_buffer_pool_size";
/// A pool smaller than this is not worth shrinking.
const SMALL: Bytes = Bytes::mib(512);
/// Room for growth above the data: what half a year of ordinary growth needs. A choice.
const HEADROOM: f64 = 1.3;

fn pool(context: &Context<'_>) -> Option<Bytes> {
    context.int(POOL).and_then(|n| u64::try_from(n).ok()).map(Bytes)
}

fn sized(context: &Context<'_>, wanted: Bytes) -> Value {
    let unit = pool_unit(context).unsigned_abs();
    let limit = context.pool_limit().unwrap_or(wanted);
    let size = round_up(wanted, Bytes(unit)).0.min(limit.0 - limit.0 % unit);
    Value::Int(Bytes(size.max(unit)).as_i64())
}

/// Reads that missed the pool, as a share, over the window.
fn miss_rate(context: &Context<'_>) -> Option<f64> {
    context.ratio("innodb_buffer_pool_reads", "innodb_buffer_pool_read_requests", 10_000.0)
}

pub(super) fn too_large(context: &Context<'_>) -> Option<Draft> {
    let (pool, limit) = (pool(context)?, context.pool_limit()?);
    let memory = context.memory()?;
    if pool.0 as f64 * 1.1 > memory.share(0.95).0 as f64 {
        return Some(
            Draft::critical(
                "the buffer pool is larger than the machine can hold",
                format!("pool {pool} of {memory} memory, {limit} would fit"),
            )
            .set(POOL, sized(context, limit), "no swapping, no death for want of memory"),
        );
    }
    // Shrinking is advice too, where the memory is wanted elsewhere and the pool holds nothing with it.
    let data = context.innodb_bytes()?;
    let wanted = Bytes((data.0 as f64 * HEADROOM) as u64).max(SMALL);
    let tight = context.model().estimate(&knobs::Configuration::new()).realistic > memory.share(0.85);
    if !tight || pool.0 < wanted.0.saturating_mul(2) {
        return None;
    }
    Some(
        Draft::notice(
            "the buffer pool is much larger than the data, and memory is short",
            format!("pool {pool}, InnoDB data {data}"),
        )
        .set(POOL, sized(context, wanted), "memory for the system and for connections"),
    )
}

pub(super) fn too_small(context: &Context<'_>) -> Option<Draft> {
    let pool = pool(context)?;
    let limit = context.pool_limit()?;
    let misses = miss_rate(context);
    let wanted = match context.innodb_bytes() {
        Some(data) => Bytes((data.0 as f64 * HEADROOM) as u64),
        // Without the size of the data, misses say whether more would help.
        None if misses.is_some_and(|rate| rate > 0.005) => Bytes(pool.0.saturating_mul(4)),
        None => return None,
    };
    let told = misses.map_or(String::new(), |rate| format!(", {} of reads missed it", percent(rate)));
    let data = context.innodb_bytes().map_or(String::new(), |data| format!("InnoDB data {data}, "));
    let evidence = format!("{data}pool {pool}{told}, room for {limit}");
    let value = sized(context, wanted.min(limit));
    let grows = value.as_f64().unwrap_or(0.0) > pool.0 as f64 * 1.1;
    if wanted.0 as f64 <= pool.0 as f64 * HEADROOM || !grows {
        return Some(Draft::fine("the buffer pool holds the data, or all that fits", evidence));
    }
    // A pool that never misses is large enough for what is really read.
    if misses.is_some_and(|rate| rate < 0.000_1) && context.uptime() > 24.0 * HOUR {
        return Some(Draft::fine("the buffer pool holds what is read", evidence));
    }
    Some(Draft::warning("the buffer pool is smaller than the data", evidence).set(
        POOL,
        value,
        "fewer reads from disk, and fewer pages written to make room",
    ))
}

pub(super) fn misses(context: &Context<'_>) -> Option<Draft> {
    context.gain("innodb_buffer_pool_read_requests")?;
    let Some(rate) = miss_rate(context) else {
        return Some(Draft::not_enough(format!(
            "fewer than 10000 reads from the buffer pool {}",
            context.period()
        )));
    };
    let evidence = format!("{} of reads missed the pool {}", percent(rate), context.period());
    if rate <= 0.01 {
        return Some(Draft::fine("nearly all reads are served from memory", evidence));
    }
    if !context.is_sampled() && context.uptime() < HOUR {
        return Some(Draft::not_enough(format!("{evidence}: the pool may still be warming up")));
    }
    Some(
        Draft::notice("many reads go to the disk", evidence)
            .advice("more memory, smaller data, or statements that read less (see the slow query log)"),
    )
}

/// RDS 8.4 sizes pool and redo by innodb_dedicated_server; switched off without sizes it falls to 128 MB and 100 MB.
pub(super) fn rds_dedicated_off(context: &Context<'_>) -> Option<Draft> {
    if context.identity().platform != Platform::Rds
        || !context.identity().mysql_at_least(8, 4, 0)
        || context.on("innodb_dedicated_server") != Some(false)
        || pool(context)? > Bytes::mib(128)
    {
        return None;
    }
    let evidence = format!("innodb_dedicated_server = 0 and the pool is {}", pool(context)?);
    let draft = Draft::critical("innodb_dedicated_server is off and nobody set the sizes", evidence);
    Some(match context.pool_limit() {
        Some(limit) => draft.set(POOL, sized(context, limit), "the memory that was paid for is used"),
        None => {
            draft.advice("set innodb_buffer_pool_size and innodb_redo_log_capacity in the parameter group")
        }
    })
}

pub(super) fn chunks(context: &Context<'_>) -> Option<Draft> {
    // MariaDB rounds by itself, and newer releases have no chunks.
    if context.is_mariadb() {
        return None;
    }
    let pool = context.int(POOL)?;
    let unit = pool_unit(context);
    (context.int("innodb_buffer_pool_chunk_size").is_some_and(|chunk| chunk > 0) && pool % unit != 0).then(
        || {
            let evidence = format!("pool {pool} is no multiple of {unit} (chunk size times instances)");
            Draft::notice("the buffer pool will be rounded up at the next change", evidence).set(
                POOL,
                Value::Int(pool - pool % unit),
                "the size is what the file says",
            )
        },
    )
}

/// How many instances the server really uses: below 1 GiB it is one, whatever it prints.
pub(super) fn instances(context: &Context<'_>) -> Option<Draft> {
    if context.is_mariadb() {
        return None;
    }
    let (stated, pool) = (context.int("innodb_buffer_pool_instances")?, pool(context)?);
    let used = if pool < Bytes::gib(1) { 1 } else { stated };
    let cores = i64::from(context.snapshot.machine.cores?);
    let most = i64::try_from(pool.0 >> 30).unwrap_or(i64::MAX).clamp(1, 64);
    let sensible = if context.identity().mysql_at_least(8, 4, 0) {
        // What 8.4 chooses itself: a quarter of the cores, bounded by the pool.
        (cores / 4).clamp(1, most)
    } else {
        8.min(most)
    };
    if used <= sensible.max(8).min(most.max(1)) {
        return Some(Draft::fine("number of pool instances", format!("{used} in use for a pool of {pool}")));
    }
    Some(
        Draft::notice(
            "more pool instances than the pool and the cores can use",
            format!("{used} instances, {cores} cores, pool {pool}"),
        )
        .set("innodb_buffer_pool_instances", Value::Int(sensible), "larger parts, less bookkeeping"),
    )
}
