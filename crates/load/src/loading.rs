//! Filling tables: parts of a data set, each one transaction, by several workers; resumes after a break.
//!
//! A table `tunesmith_load` remembers the data set's parameters and each finished part. A part and its record
//! commit together, so whatever breaks, a part is there or not.

use crate::rows::LoadMethod;
use crate::wire::{Connection, Connector, Protocol, WireError};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use server::ConnectOptions;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The table that remembers.
pub const RECORD: &str = "tunesmith_load";

/// Bytes of one packet: well below any `max_allowed_packet`, and large enough to amortise it.
const CHUNK: usize = 256 * 1024;

/// How a data set is loaded.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// Connections that load at the same time.
    pub workers: usize,
    /// `None`: `LOAD DATA LOCAL` where the server allows it, else INSERT.
    pub method: Option<LoadMethod>,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            workers: std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 16),
            method: None,
        }
    }
}

/// What a load has done.
#[derive(Debug, Clone, Serialize)]
pub struct LoadReport {
    /// False: the data set was there and intact.
    pub loaded: bool,
    /// How the rows travelled.
    pub method: LoadMethod,
    /// Rows sent now.
    pub rows: u64,
    /// Seconds for everything, indexes included.
    pub seconds: f64,
    /// Seconds for the rows alone.
    pub rows_seconds: f64,
    /// Rows per second of `rows_seconds`.
    pub rows_per_second: f64,
    /// CPU time of our threads for each row.
    pub client_cpu_us_per_row: f64,
    /// Parts that an earlier, broken load had finished.
    pub resumed_parts: usize,
}

/// A load failed.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The server, or the connection to it.
    #[error("cannot {attempted}")]
    Server {
        /// What was being done.
        attempted: String,
        /// Why not.
        #[source]
        source: WireError,
    },
    /// Another data set is there.
    #[error(
        "database {database} holds another data set ({found}); run cleanup first, or use another database"
    )]
    Other {
        /// Database.
        database: String,
        /// Its parameters.
        found: String,
    },
    /// The rows are not those of the data set.
    #[error("table {table} has {found} rows instead of {expected}; run cleanup and prepare")]
    Count {
        /// Table.
        table: String,
        /// Counted.
        found: u64,
        /// Expected.
        expected: u64,
    },
    /// The caller said stop.
    #[error("interrupted; the same prepare goes on where this one stopped")]
    Stopped,
    /// No thread.
    #[error("a loader thread ended unexpectedly")]
    Thread,
}

impl LoadError {
    pub(crate) fn server(attempted: impl Into<String>) -> impl FnOnce(WireError) -> Self {
        let attempted = attempted.into();
        move |source| Self::Server { attempted, source }
    }
}

/// Watches a load.
pub trait LoadObserver: Sync {
    /// Rows sent so far, of how many (about).
    fn progress(&self, _rows: u64, _of: u64) {}
    /// A phase begins, such as "indexes".
    fn phase(&self, _name: &str) {}
    /// True ends the load at the next chunk.
    fn should_stop(&self) -> bool {
        false
    }
}

impl LoadObserver for crate::engine::Quiet {}

/// Rows of one table.
pub trait RowSource {
    /// Table.
    fn table(&self) -> &str;
    /// Column list.
    fn columns(&self) -> &str;
    /// Appends the next row; false when there are no more.
    fn write_next(&mut self, method: LoadMethod, out: &mut Vec<u8>) -> bool;
}

/// A piece that is loaded in one transaction.
pub struct PartPlan<'a> {
    /// Unique name.
    pub name: String,
    /// Makes its tables' rows.
    pub sources: Box<dyn Fn() -> Vec<Box<dyn RowSource>> + Send + Sync + 'a>,
}

/// Opens the administrative connection and makes sure that the database exists.
pub fn open_database(
    options: &ConnectOptions,
    default: &str,
) -> Result<(ConnectOptions, Connection), LoadError> {
    let database = options.database.clone().unwrap_or_else(|| default.to_owned());
    let quoted = database.replace('`', "``");
    let without = ConnectOptions { database: None, ..options.clone() };
    let mut admin =
        connector(&without).and_then(|c| c.connect_blocking()).map_err(LoadError::server("connect"))?;
    let create = format!("CREATE DATABASE IF NOT EXISTS `{quoted}`");
    let usable = format!("USE `{quoted}`");
    // An account without the right to create databases may still use one that exists.
    if admin.query_blocking(&usable).is_err() {
        admin
            .query_blocking(&create)
            .map_err(LoadError::server(format!("create the database {database}")))?;
        admin.query_blocking(&usable).map_err(LoadError::server(format!("use the database {database}")))?;
    }
    Ok((ConnectOptions { database: Some(database), ..options.clone() }, admin))
}

/// A connector without prepared statements.
pub(crate) fn connector(options: &ConnectOptions) -> Result<Connector, WireError> {
    Connector::new(options, [].into(), Protocol::Text)
}

/// The parameters of the data set that is there, and its finished parts; `None` without a record table.
pub fn recorded(admin: &mut Connection) -> Result<Option<(String, BTreeSet<String>)>, WireError> {
    let reply = match admin.query_blocking(&format!("SELECT part, detail FROM {RECORD}")) {
        Ok(reply) => reply,
        Err(error) if error.code() == Some(1146) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut parameters = String::new();
    let mut parts = BTreeSet::new();
    for mut row in reply.rows() {
        let part = row.text()?.unwrap_or_default();
        if part == "parameters" {
            parameters = row.text()?.unwrap_or_default();
        } else {
            parts.insert(part);
        }
    }
    Ok(Some((parameters, parts)))
}

/// Creates the record table for a new data set.
pub fn begin_record(admin: &mut Connection, parameters: &str) -> Result<(), WireError> {
    admin.query_blocking(&format!(
        "CREATE TABLE IF NOT EXISTS {RECORD} (part VARCHAR(64) NOT NULL PRIMARY KEY, detail VARCHAR(1000) NOT NULL) ENGINE=InnoDB"
    ))?;
    let quoted = parameters.replace('\\', "\\\\").replace('\'', "\\'");
    admin.query_blocking(&format!("INSERT INTO {RECORD} VALUES ('parameters', '{quoted}')"))?;
    Ok(())
}

/// Remembers a phase after the rows.
pub fn finish_record(admin: &mut Connection, part: &str) -> Result<(), WireError> {
    admin.query_blocking(&format!("INSERT IGNORE INTO {RECORD} VALUES ('{part}', '')")).map(drop)
}

/// Whether the server takes `LOAD DATA LOCAL`.
pub fn method_for(admin: &mut Connection, asked: Option<LoadMethod>) -> LoadMethod {
    asked.unwrap_or_else(|| {
        match admin.query_blocking("SELECT @@local_infile").and_then(|r| r.single_int()) {
            Ok(1) => LoadMethod::LoadData,
            _ => LoadMethod::Insert,
        }
    })
}

/// Rows, wall time, CPU time of the loading threads.
pub struct Loaded {
    pub rows: u64,
    pub wall: Duration,
    pub cpu: Duration,
}

/// Loads the parts that are not done.
pub fn load_parts(
    options: &ConnectOptions,
    plans: Vec<PartPlan<'_>>,
    workers: usize,
    method: LoadMethod,
    expected_rows: u64,
    observer: &dyn LoadObserver,
) -> Result<Loaded, LoadError> {
    let begun = Instant::now();
    let connector = connector(options).map_err(LoadError::server("connect"))?;
    let queue = Mutex::new(VecDeque::from(plans));
    let rows = AtomicU64::new(0);
    let cpu = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let take = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let worker = || -> Result<(), LoadError> {
        let mut connection = connector.connect_blocking().map_err(LoadError::server("connect a loader"))?;
        set_up(&mut connection).map_err(LoadError::server("set up a loader"))?;
        while let Some(part) = take() {
            let progress = |n| {
                rows.fetch_add(n, Relaxed);
            };
            let stopped = || stop.load(Relaxed);
            load_part(&mut connection, &part, method, &progress, &stopped)?;
        }
        let t = clock_gettime(ClockId::ThreadCPUTime);
        cpu.fetch_add(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64, Relaxed);
        Ok(())
    };
    let result = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers.max(1)).map(|_| scope.spawn(worker)).collect();
        // One worker's error stops the others at once: nobody waits for a load that cannot succeed.
        while !threads.iter().all(|t| t.is_finished()) {
            std::thread::sleep(Duration::from_millis(20));
            observer.progress(rows.load(Relaxed), expected_rows);
            let done_early = threads.iter().any(|t| t.is_finished());
            if observer.should_stop() {
                stop.store(true, Relaxed);
            }
            // A finished thread while others work is an error, or an empty queue: clearing that changes nothing.
            if done_early {
                queue.lock().unwrap_or_else(PoisonError::into_inner).clear();
            }
        }
        let mut first = Ok(());
        for thread in threads {
            let result = thread.join().unwrap_or(Err(LoadError::Thread));
            if first.is_ok() {
                first = result;
            }
        }
        first
    });
    result?;
    Ok(Loaded { rows: rows.into_inner(), wall: begun.elapsed(), cpu: Duration::from_nanos(cpu.into_inner()) })
}

fn set_up(connection: &mut Connection) -> Result<(), WireError> {
    // Rows come in primary-key order and are unique by construction.
    for sql in [
        "SET SESSION foreign_key_checks = 0, unique_checks = 0",
        "SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'",
        // The server may still be rolling back what a broken load had sent: wait for it, however long it takes.
        "SET SESSION innodb_lock_wait_timeout = 3600",
    ] {
        connection.query_blocking(sql)?;
    }
    Ok(())
}

fn load_part(
    connection: &mut Connection,
    part: &PartPlan<'_>,
    method: LoadMethod,
    progress: &dyn Fn(u64),
    stopped: &dyn Fn() -> bool,
) -> Result<(), LoadError> {
    let failed = || LoadError::server(format!("load {}", part.name));
    connection.query_blocking("START TRANSACTION").map_err(failed())?;
    for mut source in (part.sources)() {
        match method {
            LoadMethod::LoadData => {
                load_data(connection, source.as_mut(), progress, stopped).map_err(failed())?
            }
            LoadMethod::Insert => insert(connection, source.as_mut(), progress, stopped).map_err(failed())?,
        }
        if stopped() {
            // The connection closes, the server rolls back.
            return Err(LoadError::Stopped);
        }
    }
    connection
        .query_blocking(&format!("INSERT INTO {RECORD} VALUES ('{}', '')", part.name))
        .map_err(failed())?;
    connection.query_blocking("COMMIT").map_err(failed())?;
    Ok(())
}

fn load_data(
    connection: &mut Connection,
    source: &mut dyn RowSource,
    progress: &dyn Fn(u64),
    stopped: &dyn Fn() -> bool,
) -> Result<(), WireError> {
    let sql = format!("LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} ({})", source.table(), source.columns());
    let mut sent = 0;
    let loaded = connection.load_local(&sql, |out| {
        let mut rows = 0;
        while out.len() < CHUNK && !stopped() && source.write_next(LoadMethod::LoadData, out) {
            rows += 1;
        }
        sent += rows;
        progress(rows);
    })?;
    // With LOCAL a bad row is a warning, not an error: only the count tells.
    if loaded == sent {
        Ok(())
    } else {
        Err(WireError::Unexpected("the server did not take all rows of LOAD DATA"))
    }
}

fn insert(
    connection: &mut Connection,
    source: &mut dyn RowSource,
    progress: &dyn Fn(u64),
    stopped: &dyn Fn() -> bool,
) -> Result<(), WireError> {
    let head = format!("INSERT INTO {} ({}) VALUES ", source.table(), source.columns());
    loop {
        let mut sql = head.clone().into_bytes();
        let mut rows = 0;
        while sql.len() < CHUNK && !stopped() && source.write_next(LoadMethod::Insert, &mut sql) {
            rows += 1;
        }
        if rows == 0 {
            return Ok(());
        }
        sql.pop(); // the last comma
        let affected = crate::reactor::block_on(connection.query_bytes(&sql))?.affected;
        if affected != rows {
            return Err(WireError::Unexpected("the server did not take all rows of an INSERT"));
        }
        progress(rows);
    }
}

/// Whether `table` has an index or constraint of this name in the current database.
pub fn has_index(admin: &mut Connection, table: &str, name: &str) -> Result<bool, WireError> {
    let sql = format!(
        "SELECT (SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = '{table}' \
         AND index_name = '{name}') + (SELECT COUNT(*) FROM information_schema.table_constraints WHERE \
         table_schema = DATABASE() AND table_name = '{table}' AND constraint_name = '{name}')"
    );
    Ok(admin.query_blocking(&sql)?.single_int()? > 0)
}

/// Counts a table's rows.
pub fn count(admin: &mut Connection, table: &str) -> Result<u64, WireError> {
    Ok(admin.query_blocking(&format!("SELECT COUNT(*) FROM {table}"))?.single_int()? as u64)
}
