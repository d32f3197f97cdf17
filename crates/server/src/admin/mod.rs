//! The administrative session: one connection through which a server is asked and changed.

mod error;
mod trx;
mod variables;

pub use error::{AdminError, AdminErrorKind};
pub use trx::{TrxCounts, TrxMonitor};

use crate::connect::{ConnectOptions, SslMode};
use knobs::{Identity, LiveVariable, Value};
use mysql_async::prelude::{FromRow, Queryable};
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a server may take to answer the login. Longer than any healthy one needs, shorter than the
/// operating system's minutes for an address that swallows packets.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(15);

/// One open connection for administration. Not for load: a workload has connections of its own.
#[derive(Debug)]
pub struct Admin {
    conn: mysql_async::Conn,
    options: ConnectOptions,
}

/// What `SHOW WARNINGS` says after a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// `Note`, `Warning` or `Error`.
    pub level: String,
    /// The server's error number.
    pub code: u32,
    /// The server's text.
    pub message: String,
}

/// One row of `INFORMATION_SCHEMA.INNODB_METRICS`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// The module, such as `transaction`.
    pub subsystem: String,
    /// The count since the counter was first switched on; it stands still while the counter is off.
    pub count: i64,
    /// Whether the counter counts.
    pub enabled: bool,
}

impl Admin {
    /// Opens a connection. With [`SslMode::Preferred`] a server without TLS is talked to in the clear.
    pub async fn connect(options: &ConnectOptions) -> Result<Self, AdminError> {
        let mut settled = options.clone();
        let mut opened = Self::open(&settled).await;
        if options.ssl_mode == SslMode::Preferred {
            settled.ssl_mode = SslMode::Required;
            if opened.as_ref().is_err_and(|e| e.kind() == AdminErrorKind::NoTls) {
                settled.ssl_mode = SslMode::Disabled;
                opened = Self::open(&settled).await;
            }
        }
        Ok(Self { conn: opened?, options: settled })
    }

    async fn open(options: &ConnectOptions) -> Result<mysql_async::Conn, AdminError> {
        let attempted = || format!("connect to {options}");
        match tokio::time::timeout(LOGIN_TIMEOUT, mysql_async::Conn::new(options.to_driver_opts())).await {
            Ok(opened) => opened.map_err(|e| AdminError::driver(attempted(), e)),
            Err(_) => Err(AdminError::timed_out(attempted(), LOGIN_TIMEOUT)),
        }
    }

    /// The options of this connection, with [`SslMode::Preferred`] settled to what the server offers: further
    /// connections to the same server can use them as they are.
    pub fn connect_options(&self) -> &ConnectOptions {
        &self.options
    }

    /// Who the server is.
    pub async fn identity(&mut self) -> Result<Identity, AdminError> {
        let variables = self.global_variables().await?;
        let variables: BTreeMap<_, _> = variables
            .into_iter()
            .map(|(name, value)| (name.clone(), LiveVariable::new(name, value)))
            .collect();
        let of = |name: &str| variables.get(name).map_or("", |v| v.value.as_str());
        Identity::parse(of("version"), of("version_comment"), of("basedir"), &variables)
            .map_err(|e| AdminError::unexpected("identify the server".into(), e))
    }

    /// `SHOW GLOBAL VARIABLES`: name to value, as text.
    pub async fn global_variables(&mut self) -> Result<BTreeMap<String, String>, AdminError> {
        self.pairs("SHOW GLOBAL VARIABLES").await
    }

    /// Every global variable with all that the server itself tells about it: range, options, read-only or not.
    /// What a flavour or version does not tell stays `None` or empty.
    pub async fn variables(&mut self) -> Result<BTreeMap<String, LiveVariable>, AdminError> {
        variables::read(self).await
    }

    /// One global variable's value as the server reports it, or `None` where it has no such variable.
    pub async fn global(&mut self, name: &str) -> Result<Option<String>, AdminError> {
        let sql = format!("SELECT @@GLOBAL.{}", identifier(name)?);
        match self.rows::<Option<String>>(&sql).await {
            Ok(rows) => Ok(Some(rows.into_iter().next().flatten().unwrap_or_default())),
            Err(e) if e.kind() == AdminErrorKind::UnknownVariable => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// `SET GLOBAL name = value`, and what the server had to say about it: a value may be clamped or rounded
    /// with nothing but a warning.
    pub async fn set_global(&mut self, name: &str, value: &Value) -> Result<Vec<Warning>, AdminError> {
        self.execute(&format!("SET GLOBAL {} = {}", identifier(name)?, value.to_sql())).await?;
        self.warnings().await
    }

    /// `SHOW WARNINGS` of the statement before.
    pub async fn warnings(&mut self) -> Result<Vec<Warning>, AdminError> {
        let rows = self.rows::<(String, u32, String)>("SHOW WARNINGS").await?;
        Ok(rows.into_iter().map(|(level, code, message)| Warning { level, code, message }).collect())
    }

    /// `SHOW GLOBAL STATUS`: name to value, as text.
    pub async fn status(&mut self) -> Result<BTreeMap<String, String>, AdminError> {
        self.pairs("SHOW GLOBAL STATUS").await
    }

    /// All counters of `INFORMATION_SCHEMA.INNODB_METRICS`. Needs the privilege PROCESS.
    pub async fn innodb_metrics(&mut self) -> Result<BTreeMap<String, Metric>, AdminError> {
        // MySQL has STATUS 'enabled'/'disabled', MariaDB since 10.5 ENABLED 1/0; `SELECT *` and a look at
        // the names serves both.
        let rows = self.records("SELECT * FROM information_schema.INNODB_METRICS").await?;
        Ok(rows.into_iter().filter_map(|row| metric(&row)).collect())
    }

    /// Runs a statement, and throws its rows away.
    pub async fn execute(&mut self, sql: &str) -> Result<(), AdminError> {
        self.conn.query_drop(sql).await.map_err(|e| AdminError::driver(abbreviated(sql), e))
    }

    /// Runs a query, and converts each row.
    pub async fn rows<T>(&mut self, sql: &str) -> Result<Vec<T>, AdminError>
    where
        T: FromRow + Send + 'static,
    {
        let rows = self.conn.query::<mysql_async::Row, _>(sql).await;
        let rows = rows.map_err(|e| AdminError::driver(abbreviated(sql), e))?;
        rows.into_iter()
            .map(|row| {
                T::from_row_opt(row).map_err(|e| AdminError::unexpected(abbreviated(sql), e.to_string()))
            })
            .collect()
    }

    /// Runs a query, and gives each row as column name (lower case) to text; NULL stays `None`.
    pub async fn records(&mut self, sql: &str) -> Result<Vec<BTreeMap<String, Option<String>>>, AdminError> {
        let rows = self.rows::<mysql_async::Row>(sql).await?;
        Ok(rows.iter().map(record).collect())
    }

    async fn pairs(&mut self, sql: &str) -> Result<BTreeMap<String, String>, AdminError> {
        let rows = self.rows::<(String, Option<String>)>(sql).await?;
        Ok(rows
            .into_iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), value.unwrap_or_default()))
            .collect())
    }

    /// The driver's connection, for what has no method here.
    pub fn driver(&mut self) -> &mut mysql_async::Conn {
        &mut self.conn
    }

    /// Says goodbye to the server. Dropping the session closes it too, only less politely: the server then
    /// counts an aborted connection.
    pub async fn close(self) -> Result<(), AdminError> {
        self.conn.disconnect().await.map_err(|e| AdminError::driver("close the connection".into(), e))
    }
}

fn metric(row: &BTreeMap<String, Option<String>>) -> Option<(String, Metric)> {
    let text = |column: &str| row.get(column).and_then(Option::as_deref);
    let enabled = text("status") == Some("enabled") || text("enabled") == Some("1");
    Some((
        text("name")?.to_owned(),
        Metric { subsystem: text("subsystem")?.to_owned(), count: text("count")?.parse().ok()?, enabled },
    ))
}

fn record(row: &mysql_async::Row) -> BTreeMap<String, Option<String>> {
    let columns = row.columns_ref().iter().map(|c| c.name_str().to_ascii_lowercase());
    let values = (0..row.len()).map(|i| match row.as_ref(i) {
        None | Some(mysql_async::Value::NULL) => None,
        Some(mysql_async::Value::Bytes(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Some(other) => Some(other.as_sql(true).trim_matches('\'').to_owned()),
    });
    columns.zip(values).collect()
}

/// A variable's name, checked: names cannot be sent as parameters, and must not carry anything else.
fn identifier(name: &str) -> Result<&str, AdminError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    if !name.is_empty() && name.chars().all(legal) {
        Ok(name)
    } else {
        Err(AdminError::unexpected("name a variable".into(), format!("{name:?} is not a variable's name")))
    }
}

/// The statement's first words: enough to recognise it in an error.
fn abbreviated(sql: &str) -> String {
    const LONGEST: usize = 80;
    match sql.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("run '{}…'", &sql[..end]),
        None => format!("run '{sql}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variables_name_carries_nothing_else() {
        assert!(identifier("innodb_io_capacity").is_ok());
        assert!(identifier("hot_cache.key_buffer_size").is_ok());
        for bad in ["", "a b", "a;b", "a`", "a=1", "ä"] {
            assert!(identifier(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn both_flavours_metrics_rows_are_understood() {
        let row = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(k, v)| (k.to_string(), Some(v.to_string()))).collect()
        };
        let mysql = row(&[
            ("name", "trx_rw_commits"),
            ("subsystem", "transaction"),
            ("count", "3"),
            ("status", "enabled"),
        ]);
        let maria = row(&[
            ("name", "trx_rw_commits"),
            ("subsystem", "transaction"),
            ("count", "3"),
            ("enabled", "1"),
        ]);
        assert_eq!(metric(&mysql), metric(&maria));
        assert!(metric(&mysql).unwrap().1.enabled);
        let off = row(&[("name", "a"), ("subsystem", "b"), ("count", "0"), ("status", "disabled")]);
        assert!(!metric(&off).unwrap().1.enabled);
    }

    #[test]
    fn a_long_statement_is_abbreviated_at_a_character() {
        let text = abbreviated(&"é".repeat(200));
        assert_eq!(text.chars().filter(|c| *c == 'é').count(), 80);
    }
}
