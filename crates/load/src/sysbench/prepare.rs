//! `prepare` and `cleanup`.

use super::ids::{Distribution, Ids};
use super::options::Tables;
use crate::loading::{
    LoadError, LoadObserver, LoadOptions, LoadReport, PartPlan, RECORD, RowSource, begin_record, count,
    finish_record, has_index, load_parts, method_for, open_database, recorded,
};
use crate::random::Random;
use crate::rows::{LoadMethod, RowWriter};
use crate::wire::Connection;
use server::ConnectOptions;
use std::time::Instant;

/// The database that is used when the connection names none.
pub const DATABASE: &str = "sbtest";

/// Rows of one part: one transaction.
const PART: u64 = 100_000;

/// 0.4.12's `pad`: the same in all rows.
const LEGACY_PAD: &str = "qqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt";

/// Name of table number `n`.
fn table_name(set: &Tables, n: u32) -> String {
    if set.legacy { "sbtest".into() } else { format!("sbtest{n}") }
}

fn table_count(set: &Tables) -> u32 {
    if set.legacy { 1 } else { set.tables }
}

fn create_table(set: &Tables, name: &str) -> String {
    if set.legacy {
        // The key on k is there before the rows, as in 0.4.12.
        return format!(
            "CREATE TABLE IF NOT EXISTS {name} (id INTEGER UNSIGNED NOT NULL AUTO_INCREMENT, k INTEGER UNSIGNED \
             DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, \
             PRIMARY KEY (id), KEY k (k)) ENGINE={}",
            set.engine
        );
    }
    let id = if set.auto_inc { "INTEGER NOT NULL AUTO_INCREMENT" } else { "INTEGER NOT NULL" };
    let key = if set.secondary { "KEY xid" } else { "PRIMARY KEY" };
    format!(
        "CREATE TABLE IF NOT EXISTS {name} (id {id}, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
         pad CHAR(60) DEFAULT '' NOT NULL, {key} (id)) ENGINE={}",
        set.engine
    )
}

/// Rows `from + 1 ..= to` of a table.
struct Rows {
    table: String,
    legacy: bool,
    ids: Ids,
    random: Random,
    next: u64,
    to: u64,
}

impl RowSource for Rows {
    fn table(&self) -> &str {
        &self.table
    }

    fn columns(&self) -> &'static str {
        "id,k,c,pad"
    }

    fn write_next(&mut self, method: LoadMethod, out: &mut Vec<u8>) -> bool {
        if self.next >= self.to {
            return false;
        }
        self.next += 1;
        let mut row = RowWriter::row(method, out);
        row.int(self.next as i64);
        if self.legacy {
            row.int(0).str(" ").str(LEGACY_PAD);
        } else {
            row.int(self.ids.draw(&mut self.random));
            for groups in [10, 5] {
                row.text(|out| {
                    for group in 0..groups {
                        if group > 0 {
                            out.push(b'-');
                        }
                        self.random.digits(11, out);
                    }
                });
            }
        }
        row.end();
        true
    }
}

/// Loads the tables; does nothing if they are there and intact, and goes on where a broken load stopped. Blocks.
pub fn prepare(
    connect: &ConnectOptions,
    set: &Tables,
    distribution: Distribution,
    options: &LoadOptions,
    observer: &dyn LoadObserver,
) -> Result<LoadReport, LoadError> {
    let begun = Instant::now();
    let (connect, mut admin) = open_database(connect, DATABASE)?;
    let admin = &mut admin;
    // A struct of numbers and names always serialises.
    let parameters = serde_json::to_string(set).unwrap_or_default();
    let done = match recorded(admin).map_err(LoadError::server("look for the tables"))? {
        Some((found, parts)) if found == parameters => parts,
        Some((found, _)) => {
            return Err(LoadError::Other { database: connect.database.unwrap_or_default(), found });
        }
        None => {
            begin_record(admin, &parameters).map_err(LoadError::server("create the load's record"))?;
            Default::default()
        }
    };
    let method = method_for(admin, options.method);
    let names: Vec<String> = (1..=table_count(set)).map(|n| table_name(set, n)).collect();
    let mut report = LoadReport {
        loaded: false,
        method,
        rows: 0,
        seconds: 0.0,
        rows_seconds: 0.0,
        rows_per_second: 0.0,
        client_cpu_us_per_row: 0.0,
        resumed_parts: done.len(),
    };
    if done.contains("complete") {
        // Rows come and go in runs; a table that is missing is an error.
        for name in &names {
            count(admin, name).map_err(LoadError::server(format!("find the table {name}")))?;
        }
        return Ok(report);
    }
    let mut plans = Vec::new();
    for (n, name) in names.iter().enumerate() {
        admin
            .query_blocking(&create_table(set, name))
            .map_err(LoadError::server(format!("create the table {name}")))?;
        for from in (0..set.table_size).step_by(PART as usize) {
            let part = format!("{name} {from}");
            if done.contains(&part) {
                continue;
            }
            let to = (from + PART).min(set.table_size);
            let sources = move || {
                let rows = Rows {
                    table: name.clone(),
                    legacy: set.legacy,
                    ids: Ids::new(distribution, set.table_size),
                    random: Random::stream(set.seed, (n as u64) << 40 | from),
                    next: from,
                    to,
                };
                vec![Box::new(rows) as Box<dyn RowSource>]
            };
            plans.push(PartPlan { name: part, sources: Box::new(sources) });
        }
    }
    observer.phase("rows");
    let expected = set.table_size * names.len() as u64;
    let loaded = load_parts(&connect, plans, options.workers, method, expected, observer)?;
    observer.phase("indexes");
    for (n, name) in names.iter().enumerate() {
        add_index(admin, set, name, n + 1)?;
        let found = count(admin, name).map_err(LoadError::server(format!("count the rows of {name}")))?;
        if found != set.table_size {
            return Err(LoadError::Count { table: name.clone(), found, expected: set.table_size });
        }
    }
    finish_record(admin, "complete").map_err(LoadError::server("record the load"))?;
    report.loaded = true;
    report.rows = loaded.rows;
    report.seconds = begun.elapsed().as_secs_f64();
    report.rows_seconds = loaded.wall.as_secs_f64();
    if loaded.rows > 0 {
        report.rows_per_second = loaded.rows as f64 / report.rows_seconds;
        report.client_cpu_us_per_row = loaded.cpu.as_secs_f64() * 1e6 / loaded.rows as f64;
    }
    Ok(report)
}

fn add_index(admin: &mut Connection, set: &Tables, table: &str, n: usize) -> Result<(), LoadError> {
    if set.legacy || !set.create_secondary {
        return Ok(());
    }
    let name = format!("k_{n}");
    let failed = || LoadError::server(format!("create the index {name}"));
    if !has_index(admin, table, &name).map_err(failed())? {
        admin.query_blocking(&format!("CREATE INDEX {name} ON {table} (k)")).map_err(failed())?;
    }
    Ok(())
}

/// Drops `tables` tables, 0.4.12's table and the record.
pub fn cleanup(connect: &ConnectOptions, tables: u32) -> Result<(), LoadError> {
    let (_, mut admin) = open_database(connect, DATABASE)?;
    let recorded = recorded(&mut admin).map_err(LoadError::server("look for the tables"))?;
    let known = recorded.and_then(|(p, _)| serde_json::from_str::<Tables>(&p).ok()).map_or(0, |t| t.tables);
    let numbered = (1..=tables.max(known)).map(|n| format!("sbtest{n}"));
    for name in numbered.chain(["sbtest".to_owned(), RECORD.to_owned()]) {
        admin
            .query_blocking(&format!("DROP TABLE IF EXISTS {name}"))
            .map_err(LoadError::server(format!("drop the table {name}")))?;
    }
    Ok(())
}
