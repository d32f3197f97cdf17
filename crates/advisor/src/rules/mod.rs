//! The rules as data: a name, what it looks at, what it silences, and a small function.

mod binlog;
mod caches;
mod connections;
mod durability;
mod flushing;
mod innodb;
mod memory;
mod myisam;
mod observe;
mod pool;
mod query_cache;
mod redo;
mod replication;
mod schema;
mod security;
mod session;
mod system;
mod temp_tables;

use crate::context::{Context, Draft};

/// A rule. `None` from its function means that it does not apply here.
#[derive(Clone, Copy)]
pub(crate) struct Rule {
    /// Its name, used in every output.
    pub id: &'static str,
    /// What it looks at, for the documentation.
    pub looks_at: &'static str,
    /// Rules that have nothing to add once this one has found something.
    pub suppresses: &'static [&'static str],
    /// The rule itself.
    pub check: fn(&Context<'_>) -> Option<Draft>,
}

const fn rule(
    id: &'static str,
    looks_at: &'static str,
    suppresses: &'static [&'static str],
    check: fn(&Context<'_>) -> Option<Draft>,
) -> Rule {
    Rule { id, looks_at, suppresses, check }
}

/// All rules. Where two ask for the same knob at the same severity, the earlier one is heard.
pub(crate) const RULES: &[Rule] = &[
    rule("memory.unknown", "memory of the machine", &[], memory::unknown),
    rule(
        "memory.realistic",
        "memory model, realistic figure against the machine",
        &["memory.worst"],
        memory::realistic,
    ),
    rule("memory.worst", "memory model, worst figure against the machine", &[], memory::worst),
    rule("memory.rds-potential", "Amazon's own estimate against 1.2 x the class", &[], memory::rds_potential),
    rule("memory.container", "automatic sizes against the control group's limit", &[], memory::container),
    rule(
        "pool.too-large",
        "buffer pool against the machine and the data",
        &["pool.too-small"],
        pool::too_large,
    ),
    rule(
        "pool.too-small",
        "buffer pool against the data and its miss rate",
        &["pool.misses"],
        pool::too_small,
    ),
    rule("pool.misses", "reads that had to wait for the disk", &[], pool::misses),
    rule(
        "pool.rds-dedicated-off",
        "RDS 8.4 with innodb_dedicated_server off and no sizes",
        &["pool.too-small"],
        pool::rds_dedicated_off,
    ),
    rule("pool.chunks", "pool against chunk x instances", &[], pool::chunks),
    rule("pool.instances", "number of pool instances", &[], pool::instances),
    rule("redo.size", "redo capacity against the write rate and the checkpoint age", &[], redo::size),
    rule("redo.log-waits", "waits for the log buffer", &[], redo::log_waits),
    rule("flushing.io-capacity", "innodb_io_capacity against the storage", &[], flushing::io_capacity),
    rule("flushing.neighbors", "innodb_flush_neighbors against the storage", &[], flushing::neighbors),
    rule("flushing.wait-free", "waits for a free page", &[], flushing::wait_free),
    rule("flushing.dirty-pages", "limits of dirty pages", &[], flushing::dirty_pages),
    rule("innodb.history-list", "length of the history list", &[], innodb::history_list),
    rule("innodb.adaptive-hash", "adaptive hash index", &[], innodb::adaptive_hash),
    rule("innodb.change-buffering", "change buffering", &[], innodb::change_buffering),
    rule("innodb.read-ahead", "pages read ahead for nothing", &[], innodb::read_ahead),
    rule("innodb.thread-concurrency", "threads admitted to InnoDB", &[], innodb::thread_concurrency),
    rule("innodb.row-lock-waits", "waits for row locks", &[], innodb::row_lock_waits),
    rule("innodb.deadlocks", "rate of deadlocks", &[], innodb::deadlocks),
    rule(
        "innodb.stats-on-metadata",
        "statistics recounted on metadata queries",
        &[],
        innodb::stats_on_metadata,
    ),
    rule("innodb.file-per-table", "tables in files of their own", &[], innodb::file_per_table),
    rule("innodb.force-recovery", "forced recovery left on", &[], innodb::force_recovery),
    rule("innodb.numa", "spreading the pool over memory nodes", &[], innodb::numa),
    rule("durability.commit", "innodb_flush_log_at_trx_commit", &[], durability::commit),
    rule("durability.binlog", "sync_binlog", &[], durability::binlog),
    rule("durability.doublewrite", "doublewrite and checksums", &[], durability::doublewrite),
    rule("durability.flush-method", "flush methods that do not flush", &[], durability::flush_method),
    rule("connections.near-limit", "peak of connections against the limit", &[], connections::near_limit),
    rule("connections.aborted-connects", "handshakes that failed", &[], connections::aborted_connects),
    rule(
        "connections.aborted-clients",
        "connections that were not closed",
        &[],
        connections::aborted_clients,
    ),
    rule("connections.thread-cache", "threads made for new connections", &[], connections::thread_cache),
    rule("connections.name-resolution", "host names asked for at login", &[], connections::name_resolution),
    rule("connections.thread-pool", "size of the thread pool", &[], connections::thread_pool),
    rule("caches.table-open", "evictions from the cache of open tables", &[], caches::table_open),
    rule(
        "caches.table-definitions",
        "cache of definitions against the tables",
        &[],
        caches::table_definitions,
    ),
    rule("caches.open-files", "open files against the limit", &[], caches::open_files),
    rule("temp.on-disk", "temporary tables that went to disk", &[], temp_tables::on_disk),
    rule("temp.mmap", "temporary tables in mapped files", &[], temp_tables::mmap),
    rule("temp.uneven", "tmp_table_size against max_heap_table_size", &[], temp_tables::uneven),
    rule("session.sort-merges", "sorts that did not fit", &[], session::sort_merges),
    rule("session.joins-without-index", "joins without an index", &[], session::joins_without_index),
    rule(
        "session.buffers-too-large",
        "buffers of sessions that are far too large",
        &[],
        session::buffers_too_large,
    ),
    rule("query-cache.on", "query cache", &[], query_cache::on),
    rule("myisam.key-buffer", "key buffer against MyISAM's use", &[], myisam::key_buffer),
    rule("aria.page-cache", "page cache of Aria", &[], myisam::aria_page_cache),
    rule("binlog.cache", "transactions that did not fit the binary log's cache", &[], binlog::cache),
    rule("binlog.expiry", "age at which binary logs go", &[], binlog::expiry),
    rule("binlog.format", "what the binary log holds", &[], binlog::format),
    rule("replication.stopped", "threads of replicas", &["replication.lag"], replication::stopped),
    rule("replication.lag", "lag of replicas", &[], replication::lag),
    rule("replication.writable-replica", "writes on a replica", &[], replication::writable),
    rule("replication.parallel", "workers of replicas", &[], replication::parallel),
    rule("replication.gtid-gaps", "gaps in executed transactions", &[], replication::gtid_gaps),
    rule("galera.state", "state of the cluster", &[], replication::galera_state),
    rule("galera.flow-control", "pauses by flow control", &[], replication::galera_flow_control),
    rule("galera.requirements", "settings that Galera needs", &[], replication::galera_requirements),
    rule("group-replication.members", "members of the group", &[], replication::group_members),
    rule("schema.no-primary-key", "tables without a primary key", &[], schema::no_primary_key),
    rule("schema.auto-increment", "auto-increment near its end", &[], schema::auto_increment),
    rule("schema.old-engines", "tables of MyISAM", &[], schema::old_engines),
    rule("schema.fragmented", "reusable space in tables", &[], schema::fragmented),
    rule("schema.redundant-indexes", "indexes covered by others", &[], schema::redundant_indexes),
    rule("schema.unused-indexes", "indexes that nothing reads", &[], schema::unused_indexes),
    rule("security.end-of-life", "support of this version", &[], security::end_of_life),
    rule("security.known-holes", "known holes of this version", &[], security::known_holes),
    rule("security.anonymous", "anonymous accounts", &[], security::anonymous),
    rule("security.no-password", "accounts without a password", &[], security::no_password),
    rule("security.open-root", "administrators from everywhere", &[], security::open_root),
    rule("security.tls", "encryption of connections", &[], security::tls),
    rule("security.old-plugins", "authentication plugins", &[], security::old_plugins),
    rule("security.local-infile", "loading of clients' files", &[], security::local_infile),
    rule("observe.performance-schema", "performance schema", &[], observe::performance_schema),
    rule("observe.slow-log", "slow query log", &[], observe::slow_log),
    rule("observe.statements", "statements that cost most", &[], observe::statements),
    rule("observe.error-log", "error log", &[], observe::error_log),
    rule("observe.log-level", "what the error log holds", &[], observe::log_level),
    rule("system.swappiness", "readiness to swap", &[], system::swappiness),
    rule("system.aio", "slots for asynchronous I/O", &[], system::aio),
];

/// Names of all rules and what each looks at.
pub fn catalogue() -> impl Iterator<Item = (&'static str, &'static str)> {
    RULES.iter().map(|rule| (rule.id, rule.looks_at))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod tests_support;
