//! How much memory a configuration may take: the least, a realistic amount, and the worst.
//!
//! The model adds up what the servers allocate globally and for each connection. Constants that no variable states
//! (the server's own code and dictionary, the pool's control structures) are named below with where they come from.

use crate::{Bytes, Configuration, Flavour, Identity, Live, LiveVariable, Machine};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// "InnoDB reserves additional memory for buffers and control structures, so that the total allocated space is
/// approximately 10 % greater than the specified buffer pool size" (MySQL manual, innodb_buffer_pool_size).
const POOL_OVERHEAD: f64 = 0.10;
/// Resident size of an idle mysqld 9.7.4 with performance schema, less its pool and log buffer (measured: 450 MiB).
const MYSQL_BASE: Bytes = Bytes::mib(450);
/// The share of [`MYSQL_BASE`] that is the performance schema's at default sizes (SHOW ENGINE PERFORMANCE_SCHEMA STATUS).
const MYSQL_PFS: Bytes = Bytes::mib(200);
/// Resident size of an idle mariadbd 10.11.19 without performance schema, less its buffers (measured: 100 MiB).
const MARIADB_BASE: Bytes = Bytes::mib(100);
/// MariaDB's performance schema at default sizes, and what each possible connection adds: SHOW ENGINE PERFORMANCE_SCHEMA STATUS of
/// 10.11.19 says 98,066,000 bytes with max_connections = 100 and 142,394,000 with 1,100.
const MARIADB_PFS: Bytes = Bytes(93_633_200);
const MARIADB_PFS_PER_CONNECTION: Bytes = Bytes(44_328);
/// What Amazon's formula adds for each possible connection with performance schema: 429,498 in the current article
/// (repost.aws/knowledge-center/low-freeable-memory-rds-mysql-mariadb), 257,700 in an older one. The larger warns earlier.
const RDS_PFS_PER_CONNECTION: Bytes = Bytes(429_498);
/// Of the connections there are, the share that runs a statement at the same moment, in the realistic figure.
/// A design choice: applications with pools of connections keep most of them idle.
const RUNNING_SHARE: f64 = 0.25;
/// Of `max_connections`, the share assumed to be used where nobody has counted.
const USED_SHARE: f64 = 0.5;
/// A budget is kept when the realistic figure stays below this share of the machine's memory; the rest is for
/// the operating system, its page cache and what the model leaves out.
pub(crate) const BUDGET_SHARE: f64 = 0.85;

/// Three figures for one configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// With no connection at all and every global buffer in use.
    pub minimum: Bytes,
    /// With as many connections as are usual, a quarter of them running a statement that needs its buffers once.
    pub realistic: Bytes,
    /// With every connection the server admits, each using every buffer once and its largest temporary table.
    pub worst: Bytes,
}

/// The variables that the model reads, from a configuration on top of a server's own values.
#[derive(Debug)]
pub struct MemoryModel<'a> {
    identity: &'a Identity,
    live: &'a BTreeMap<String, LiveVariable>,
    used_connections: Option<u64>,
}

/// A configuration that would not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "needs about {need} of memory, and {limit} of the machine's {memory} may be used: \
     lower innodb_buffer_pool_size or the buffers of connections"
)]
pub struct OverBudget {
    /// The realistic figure.
    pub need: Bytes,
    /// The budget.
    pub limit: Bytes,
    /// The machine's memory.
    pub memory: Bytes,
}

impl<'a> MemoryModel<'a> {
    /// The model of one server.
    pub fn new(identity: &'a Identity, live: &'a BTreeMap<String, LiveVariable>) -> Self {
        Self { identity, live, used_connections: None }
    }

    /// States how many connections are usual (`Max_used_connections` of a server that has seen its workload).
    #[must_use]
    pub fn used_connections(mut self, count: u64) -> Self {
        self.used_connections = Some(count);
        self
    }

    fn read(&self, configuration: &Configuration, name: &str) -> u64 {
        let set = configuration.get(name).and_then(crate::Value::as_i64);
        let value = set.or_else(|| self.live.int(name)).unwrap_or(0);
        u64::try_from(value).unwrap_or(0)
    }

    fn engine_is_temptable(&self) -> bool {
        self.live.text("internal_tmp_mem_storage_engine").is_some_and(|e| e.eq_ignore_ascii_case("temptable"))
    }

    /// Bytes that are taken whoever is connected.
    fn global(&self, configuration: &Configuration) -> u64 {
        let read = |name| self.read(configuration, name);
        let pool = read("innodb_buffer_pool_size");
        // MariaDB keeps two log buffers and swaps them (measured on 10.11.19).
        let log_buffers = if self.identity.flavour == Flavour::MariaDb { 2 } else { 1 };
        let base = match self.identity.flavour {
            Flavour::MariaDb => MARIADB_BASE.0,
            _ if self.live.switch("performance_schema") == Some(false) => MYSQL_BASE.0 - MYSQL_PFS.0,
            _ => MYSQL_BASE.0,
        };
        // Only MariaDB's performance schema comes on top: MySQL's is part of the base.
        let performance_schema = match self.identity.flavour {
            Flavour::MariaDb if self.live.switch("performance_schema") == Some(true) => {
                let each = MARIADB_PFS_PER_CONNECTION.0.saturating_mul(read("max_connections"));
                each.saturating_add(MARIADB_PFS.0)
            }
            _ => 0,
        };
        [
            base,
            pool.saturating_add((pool as f64 * POOL_OVERHEAD) as u64),
            read("innodb_log_buffer_size").saturating_mul(log_buffers),
            read("key_buffer_size"),
            read("query_cache_size"),
            read("aria_pagecache_buffer_size"),
            performance_schema,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }

    /// Bytes of a connection that does nothing: its stack and the buffers of the protocol.
    fn idle_connection(&self, configuration: &Configuration) -> u64 {
        let read = |name| self.read(configuration, name);
        read("thread_stack").saturating_add(read("net_buffer_length").saturating_mul(2))
    }

    /// Bytes that a running statement adds when it uses each buffer once.
    fn running_connection(&self, configuration: &Configuration) -> u64 {
        [
            "sort_buffer_size",
            "join_buffer_size",
            "read_buffer_size",
            "read_rnd_buffer_size",
            "binlog_cache_size",
        ]
        .into_iter()
        .fold(0, |sum, name| sum.saturating_add(self.read(configuration, name)))
    }

    /// Bytes of temporary tables in memory when `tables` of them are as large as they may be.
    fn temp_tables(&self, configuration: &Configuration, tables: u64) -> u64 {
        let read = |name| self.read(configuration, name);
        let tmp = read("tmp_table_size");
        if self.engine_is_temptable() {
            return tmp.saturating_mul(tables).min(read("temptable_max_ram"));
        }
        tmp.min(read("max_heap_table_size")).saturating_mul(tables)
    }

    fn connections(&self, configuration: &Configuration) -> (u64, u64) {
        let most = self.read(configuration, "max_connections");
        let usual = self.used_connections.unwrap_or((most as f64 * USED_SHARE) as u64).clamp(1, most.max(1));
        (usual, most)
    }

    /// The three figures for a configuration on top of the server's values.
    pub fn estimate(&self, configuration: &Configuration) -> Estimate {
        let global = self.global(configuration);
        let (usual, most) = self.connections(configuration);
        let running = running_of(usual);
        let idle = self.idle_connection(configuration);
        let busy = self.running_connection(configuration);
        let realistic = global
            .saturating_add(idle.saturating_mul(usual))
            .saturating_add(busy.saturating_mul(running))
            .saturating_add(self.temp_tables(configuration, running));
        let worst = global
            .saturating_add(idle.saturating_add(busy).saturating_mul(most))
            .saturating_add(self.temp_tables(configuration, most));
        Estimate { minimum: Bytes(global), realistic: Bytes(realistic), worst: Bytes(worst.max(realistic)) }
    }

    /// How many bytes of the realistic figure one unit of a knob adds, to first order. 0 for what costs no memory.
    pub(crate) fn slope(&self, name: &str) -> f64 {
        let (usual, _) = self.connections(&Configuration::new());
        match name {
            "innodb_buffer_pool_size" => 1.0 + POOL_OVERHEAD,
            "innodb_log_buffer_size" if self.identity.flavour == Flavour::MariaDb => 2.0,
            "innodb_log_buffer_size" | "key_buffer_size" | "query_cache_size" => 1.0,
            // Bounded by the pool of temporary tables as a whole; `base` holds that bound.
            "tmp_table_size" if !self.engine_is_temptable() => running_of(usual) as f64,
            _ => 0.0,
        }
    }

    /// The realistic figure without what the named knobs add.
    pub(crate) fn base(&self, names: &[&str]) -> Bytes {
        let mut configuration = Configuration::new();
        for name in names {
            if self.slope(name) > 0.0 {
                configuration.set(*name, crate::Value::Int(0));
            }
        }
        let mut base = self.estimate(&configuration).realistic.0;
        if self.engine_is_temptable() && names.contains(&"tmp_table_size") {
            // Temporary tables may grow to their common bound when tmp_table_size is free to move.
            let (usual, _) = self.connections(&configuration);
            base = base
                .saturating_sub(self.temp_tables(&configuration, running_of(usual)))
                .saturating_add(self.read(&configuration, "temptable_max_ram"));
        }
        Bytes(base)
    }
}

fn running_of(connections: u64) -> u64 {
    ((connections as f64 * RUNNING_SHARE).ceil() as u64).max(1)
}

/// What may be used of a machine's memory. A server that already runs above it keeps what it has.
pub(crate) fn budget(memory: Bytes, current: Bytes) -> Bytes {
    memory.share(BUDGET_SHARE).max(Bytes(current.0.min(memory.0)))
}

/// Checks a configuration against the machine's memory. Unknown memory bounds nothing.
///
/// # Errors
/// With the figures when the realistic estimate is above the budget.
pub fn check_budget(
    model: &MemoryModel<'_>,
    configuration: &Configuration,
    machine: &Machine,
) -> Result<Estimate, OverBudget> {
    let estimate = model.estimate(configuration);
    let Some(memory) = machine.memory else { return Ok(estimate) };
    let limit = budget(memory, model.estimate(&Configuration::new()).realistic);
    if estimate.realistic > limit {
        return Err(OverBudget { need: estimate.realistic, limit, memory });
    }
    Ok(estimate)
}

/// Amazon RDS's own estimate ("potential memory"), which puts an instance into `incompatible-parameters` when it
/// is above 1.2 times the class's memory after repeated restarts (RDS User Guide, troubleshooting).
pub fn rds_potential(configuration: &Configuration, live: &BTreeMap<String, LiveVariable>) -> Bytes {
    let read = |name: &str| {
        let set = configuration.get(name).and_then(crate::Value::as_i64);
        u64::try_from(set.or_else(|| live.int(name)).unwrap_or(0)).unwrap_or(0)
    };
    let global = [
        "innodb_additional_mem_pool_size",
        "innodb_buffer_pool_size",
        "innodb_log_buffer_size",
        "key_buffer_size",
        "query_cache_size",
        "tmp_table_size",
    ]
    .into_iter()
    .fold(0, |sum: u64, name| sum.saturating_add(read(name)));
    let mut each = [
        "binlog_cache_size",
        "join_buffer_size",
        "read_buffer_size",
        "read_rnd_buffer_size",
        "sort_buffer_size",
        "thread_stack",
    ]
    .into_iter()
    .fold(0, |sum: u64, name| sum.saturating_add(read(name)));
    if live.switch("performance_schema") == Some(true) {
        each = each.saturating_add(RDS_PFS_PER_CONNECTION.0);
    }
    Bytes(global.saturating_add(each.saturating_mul(read("max_connections"))))
}

#[cfg(test)]
mod tests;
