//! Tables and indexes, by queries whose cost does not grow with what is in the tables.

use super::{Reader, Record, number, of};
use advisor::{EngineUse, SchemaFacts, Snapshot};
use knobs::{Flavour, Live};

/// Above this many tables, what has to open each of them is left out.
const MANY_TABLES: u64 = 5_000;

const NOT_SYSTEM: &str = "table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') AND table_type = 'BASE TABLE'";

pub(super) async fn read(reader: &mut Reader<'_>, snapshot: &Snapshot) -> Option<SchemaFacts> {
    let mut facts = SchemaFacts::default();
    let sql = format!("SELECT COUNT(*) AS n FROM information_schema.TABLES WHERE {NOT_SYSTEM}");
    facts.tables = number(reader.ask("number of tables", &sql).await?.first()?, "n");
    let modern = snapshot.identity.flavour.is_mysql_line() && snapshot.identity.mysql_at_least(8, 0, 0);
    innodb(reader, &mut facts, modern).await;
    if facts.tables > MANY_TABLES {
        reader.miss(
            "details of tables",
            format!("{} tables are too many to look at each (limit {MANY_TABLES})", facts.tables),
        );
        return Some(facts);
    }
    let tables = tables(reader, &mut facts).await.is_some();
    facts.complete = tables;
    if snapshot.variables.switch("performance_schema") == Some(true) {
        indexes(reader, &mut facts, snapshot.identity.flavour).await;
    }
    Some(facts)
}

/// How large InnoDB's tables are, and which have no key, from what answers fast for very many tables.
async fn innodb(reader: &mut Reader<'_>, facts: &mut SchemaFacts, modern: bool) {
    let spaces = if modern { "INNODB_TABLESPACES" } else { "INNODB_SYS_TABLESPACES" };
    let sql = if facts.tables > MANY_TABLES {
        // The persistent statistics: one small table, where the other asks for the size of each file.
        "SELECT COALESCE(SUM(clustered_index_size + sum_of_other_index_sizes), 0) * @@innodb_page_size AS n \
         FROM mysql.innodb_table_stats WHERE database_name NOT IN ('mysql', 'sys')"
            .to_owned()
    } else {
        format!(
            "SELECT COALESCE(SUM(file_size), 0) AS n FROM information_schema.{spaces} \
             WHERE name NOT LIKE 'mysql%' AND name NOT LIKE 'sys/%' AND name NOT LIKE 'innodb\\_%'"
        )
    };
    if let Some(rows) = reader.ask("size of InnoDB's tables", &sql).await {
        facts.innodb_file_bytes = rows.first().map(|row| number(row, "n"));
    }
    let sql = if modern {
        // Joining INNODB_TABLES and INNODB_INDEXES would take minutes here: neither has an index.
        format!(
            "SELECT CONCAT(t.table_schema, '/', t.table_name) AS name FROM information_schema.TABLES t \
             LEFT JOIN information_schema.TABLE_CONSTRAINTS c ON c.table_schema = t.table_schema \
             AND c.table_name = t.table_name AND c.constraint_type IN ('PRIMARY KEY', 'UNIQUE') \
             WHERE t.{NOT_SYSTEM} AND t.engine = 'InnoDB' AND c.table_name IS NULL LIMIT 1000"
        )
    } else {
        // Older servers and MariaDB would open each table for that; InnoDB knows whose clustered index it made up.
        "SELECT t.name AS name FROM information_schema.INNODB_SYS_TABLES t \
         JOIN information_schema.INNODB_SYS_INDEXES i ON i.table_id = t.table_id \
         WHERE i.name = 'GEN_CLUST_INDEX' AND t.name NOT LIKE 'mysql/%' AND t.name NOT LIKE 'sys/%' LIMIT 1000"
            .to_owned()
    };
    if let Some(rows) = reader.ask("tables without a primary key", &sql).await {
        facts.without_primary_key = rows.iter().map(|row| of(row, "name").replacen('/', ".", 1)).collect();
    }
}

async fn tables(reader: &mut Reader<'_>, facts: &mut SchemaFacts) -> Option<()> {
    let sql = format!(
        "SELECT engine AS engine, COUNT(*) AS tables, COALESCE(SUM(data_length), 0) AS data, \
         COALESCE(SUM(index_length), 0) AS indexes FROM information_schema.TABLES WHERE {NOT_SYSTEM} GROUP BY engine"
    );
    let rows = reader.ask("use of engines", &sql).await?;
    facts.engines = rows.iter().filter(|row| !of(row, "engine").is_empty()).map(engine).collect();
    let sql = format!(
        "SELECT CONCAT(table_schema, '.', table_name) AS name, data_free AS free, \
         data_free / (data_length + index_length + data_free) AS share FROM information_schema.TABLES \
         WHERE {NOT_SYSTEM} AND data_free > 104857600 ORDER BY data_free DESC LIMIT 100"
    );
    let rows = reader.ask("reusable space in tables", &sql).await?;
    facts.fragmented = rows
        .iter()
        .map(|row| (of(row, "name"), number(row, "free"), of(row, "share").parse().unwrap_or(0.0)))
        .collect();
    let sql = format!(
        "SELECT CONCAT(t.table_schema, '.', t.table_name) AS name, t.auto_increment AS next, c.column_type AS kind \
         FROM information_schema.TABLES t JOIN information_schema.COLUMNS c \
         ON c.table_schema = t.table_schema AND c.table_name = t.table_name AND c.extra LIKE '%auto_increment%' \
         WHERE t.auto_increment > 1 AND t.{NOT_SYSTEM} LIMIT 5000"
    );
    let rows = reader.ask("auto-increment values", &sql).await?;
    facts.auto_increment = rows.iter().filter_map(auto_increment).collect();
    Some(())
}

fn engine(row: &Record) -> EngineUse {
    EngineUse {
        engine: of(row, "engine"),
        tables: number(row, "tables"),
        data_bytes: number(row, "data"),
        index_bytes: number(row, "indexes"),
    }
}

/// A table and the used share of its column's range.
fn auto_increment(row: &Record) -> Option<(String, f64)> {
    let kind = of(row, "kind").to_ascii_lowercase();
    let next: f64 = of(row, "next").parse().ok()?;
    let bits = match kind.split(['(', ' ']).next()? {
        "tinyint" => 8,
        "smallint" => 16,
        "mediumint" => 24,
        "int" | "integer" => 32,
        "bigint" => 64,
        _ => return None,
    };
    let bits = if kind.contains("unsigned") { bits } else { bits - 1 };
    Some((of(row, "name"), next / 2f64.powi(bits)))
}

async fn indexes(reader: &mut Reader<'_>, facts: &mut SchemaFacts, flavour: Flavour) {
    let sql = "SELECT CONCAT(table_schema, '.', table_name, '.', redundant_index_name) AS name \
               FROM sys.schema_redundant_indexes LIMIT 100";
    if let Some(rows) = reader.ask("redundant indexes", sql).await {
        facts.redundant_indexes = rows.iter().map(|row| of(row, "name")).collect();
    }
    if flavour == Flavour::MariaDb {
        // Its performance schema is often switched on late; what it has not seen is not unused.
        return;
    }
    let sql = "SELECT CONCAT(object_schema, '.', object_name, '.', index_name) AS name \
               FROM sys.schema_unused_indexes LIMIT 100";
    if let Some(rows) = reader.ask("unused indexes", sql).await {
        facts.unused_indexes = rows.iter().map(|row| of(row, "name")).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_column_is_its_types() {
        let share = |kind: &str, next: &str| {
            let row = [("kind", kind), ("next", next), ("name", "a.b")]
                .map(|(name, value)| (name.to_owned(), Some(value.to_owned())))
                .into();
            auto_increment(&row).map(|(_, share)| share)
        };
        assert_eq!(share("int unsigned", "4294967296"), Some(1.0));
        assert_eq!(share("int(11)", "1073741824"), Some(0.5));
        assert_eq!(share("tinyint(3) unsigned", "128"), Some(0.5));
        assert_eq!(share("float", "5"), None);
    }
}
