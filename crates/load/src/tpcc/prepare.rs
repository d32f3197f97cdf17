//! `prepare` and `cleanup`.

use super::generate::{Part, TableRows};
use super::schema::{
    CUSTOMERS, DISTRICTS, DataSet, ITEMS, create_tables, foreign_keys, secondary_indexes, tables,
};
use crate::loading::{
    LoadError, LoadObserver, LoadOptions, LoadReport, PartPlan, RECORD, RowSource, begin_record, count,
    finish_record, has_index, load_parts, method_for, open_database, recorded,
};
use crate::rows::LoadMethod;
use crate::wire::Connection;
use server::ConnectOptions;
use std::time::Instant;

/// The database that is used when the connection names none.
pub const DATABASE: &str = "tpcc";

impl RowSource for TableRows {
    fn table(&self) -> &str {
        self.table
    }

    fn columns(&self) -> &str {
        &self.columns
    }

    fn write_next(&mut self, method: LoadMethod, out: &mut Vec<u8>) -> bool {
        TableRows::write_next(self, method, out)
    }
}

/// Loads a data set; does nothing if it is there and intact, and goes on where a broken load stopped.
///
/// The database is that of the connection, or [`DATABASE`]; it is created if missing. Blocks; uses
/// `options.workers` threads.
pub fn prepare(
    connect: &ConnectOptions,
    set: &DataSet,
    options: &LoadOptions,
    observer: &dyn LoadObserver,
) -> Result<LoadReport, LoadError> {
    let begun = Instant::now();
    let (connect, mut admin) = open_database(connect, DATABASE)?;
    let admin = &mut admin;
    let parameters = parameters(set);
    let done = match recorded(admin).map_err(LoadError::server("look for a data set"))? {
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
        verify_fixed(admin, set)?;
        return Ok(report);
    }
    for sql in create_tables(set) {
        admin.query_blocking(&sql).map_err(LoadError::server("create the tables"))?;
    }
    let parts: Vec<Part> = Part::all(set).into_iter().filter(|p| !done.contains(&p.name())).collect();
    observer.phase("rows");
    let plans = parts
        .iter()
        .map(|&part| PartPlan {
            name: part.name(),
            sources: Box::new(move || {
                part.tables(set).into_iter().map(|rows| Box::new(rows) as Box<dyn RowSource>).collect()
            }),
        })
        .collect();
    let expected = u64::from(set.warehouses) * 499_011 + ITEMS as u64;
    let loaded = load_parts(&connect, plans, options.workers, method, expected, observer)?;
    observer.phase("indexes");
    add_indexes(admin, set)?;
    observer.phase("verification");
    verify_load(admin, set)?;
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

/// Drops the data set's tables. The database stays.
pub fn cleanup(connect: &ConnectOptions) -> Result<(), LoadError> {
    let (_, mut admin) = open_database(connect, DATABASE)?;
    let layouts = [super::Layout::Standard, super::Layout::BenchBase];
    let mut names: Vec<&str> = layouts.into_iter().flat_map(tables).collect();
    names.push(RECORD);
    admin
        .query_blocking("SET SESSION foreign_key_checks = 0")
        .map_err(LoadError::server("drop the tables"))?;
    for name in names {
        admin
            .query_blocking(&format!("DROP TABLE IF EXISTS {name}"))
            .map_err(LoadError::server(format!("drop the table {name}")))?;
    }
    Ok(())
}

/// The parameters of the data set in the connection's database, complete or not; `None` if there is none.
pub fn find(connect: &ConnectOptions) -> Result<Option<(DataSet, bool)>, LoadError> {
    let (_, mut admin) = open_database(connect, DATABASE)?;
    let found = recorded(&mut admin).map_err(LoadError::server("look for a data set"))?;
    Ok(found.and_then(|(parameters, parts)| {
        serde_json::from_str(&parameters).ok().map(|set| (set, parts.contains("complete")))
    }))
}

fn parameters(set: &DataSet) -> String {
    // A struct of numbers and names always serialises.
    serde_json::to_string(set).unwrap_or_default()
}

fn add_indexes(admin: &mut Connection, set: &DataSet) -> Result<(), LoadError> {
    for (table, name, clause) in secondary_indexes(set) {
        add(admin, table, name, clause)?;
    }
    // The rows refer to each other by construction. Checking each of them again would copy every table.
    admin
        .query_blocking("SET SESSION foreign_key_checks = 0")
        .map_err(LoadError::server("add the foreign keys"))?;
    for (table, name, clause) in foreign_keys(set) {
        add(admin, table, name, &clause)?;
    }
    let analyze = format!("ANALYZE TABLE {}", tables(set.layout).join(", "));
    admin.query_blocking(&analyze).map_err(LoadError::server("analyze the tables"))?;
    Ok(())
}

fn add(admin: &mut Connection, table: &str, name: &str, clause: &str) -> Result<(), LoadError> {
    let failed = || LoadError::server(format!("add {name} to {table}"));
    if !has_index(admin, table, name).map_err(failed())? {
        admin.query_blocking(&format!("ALTER TABLE {table} {clause}")).map_err(failed())?;
    }
    Ok(())
}

/// Rows of each table after the load; `order_line` is checked against its orders.
fn verify_load(admin: &mut Connection, set: &DataSet) -> Result<(), LoadError> {
    verify_fixed(admin, set)?;
    let w = u64::from(set.warehouses);
    let per_warehouse = (DISTRICTS * CUSTOMERS) as u64;
    expect(admin, "history", w * per_warehouse)?;
    expect(admin, set.layout.orders(), w * per_warehouse)?;
    expect(admin, set.layout.new_orders(), w * 9_000)?;
    let sql = format!("SELECT SUM(o_ol_cnt) FROM {}", set.layout.orders());
    let lines =
        admin.query_blocking(&sql).and_then(|r| r.single_int()).map_err(LoadError::server("count"))?;
    expect(admin, "order_line", lines as u64)
}

/// The tables that never change their number of rows.
fn verify_fixed(admin: &mut Connection, set: &DataSet) -> Result<(), LoadError> {
    let w = u64::from(set.warehouses);
    for (table, expected) in [
        ("warehouse", w),
        ("district", w * DISTRICTS as u64),
        ("customer", w * (DISTRICTS * CUSTOMERS) as u64),
        ("item", ITEMS as u64),
        ("stock", w * ITEMS as u64),
    ] {
        expect(admin, table, expected)?;
    }
    Ok(())
}

fn expect(admin: &mut Connection, table: &str, expected: u64) -> Result<(), LoadError> {
    let found = count(admin, table).map_err(LoadError::server(format!("count the rows of {table}")))?;
    if found == expected {
        Ok(())
    } else {
        Err(LoadError::Count { table: table.to_owned(), found, expected })
    }
}
