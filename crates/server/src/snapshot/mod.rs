//! Takes a snapshot of a server for the advisor: strictly by reading, and within a bounded time.
//!
//! Nothing is set globally, flushed or reset. The session limits its own statements on the server's side, so that a
//! query over very many tables ends there too. Each part is optional: what cannot be read is noted with the reason.

mod schema;
mod system;

use crate::{Admin, AdminError, Endpoint, machine};
use advisor::{Account, Digest, MachineSource, Missing, ReplicaChannel, Snapshot};
use knobs::{Flavour, Identity, Live, Machine};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

type Record = BTreeMap<String, Option<String>>;

/// How much is read, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Scope {
    /// Longest time for everything that is optional.
    pub time_limit: Duration,
    /// Time between two samples of the counters; zero compares with the server's start.
    pub window: Duration,
    /// The server's machine, where the user states it.
    pub machine: Option<Machine>,
}

impl Default for Scope {
    fn default() -> Self {
        Self { time_limit: Duration::from_secs(8), window: Duration::ZERO, machine: None }
    }
}

/// Reads a snapshot.
///
/// # Errors
/// Only when the server's variables and counters cannot be read; all else is optional.
pub async fn collect(admin: &mut Admin, scope: &Scope) -> Result<Snapshot, AdminError> {
    let identity = admin.identity().await?;
    let variables = admin.variables().await?;
    let before = if scope.window.is_zero() { None } else { Some((admin.status().await?, Instant::now())) };
    let mut snapshot = Snapshot::offline(identity, variables, BTreeMap::new());
    let local = is_local(admin.connect_options().endpoint.clone());
    (snapshot.machine, snapshot.machine_source) = match scope.machine {
        Some(stated) => (stated, MachineSource::Stated),
        None if local => (machine(), MachineSource::Local),
        None => (Machine::default(), MachineSource::Unknown),
    };
    snapshot.today = Some(system::today());
    if local {
        snapshot.solid_state = snapshot.variables.text("datadir").and_then(system::solid_state);
        snapshot.system = system::settings();
        snapshot.error_log = log_tail(&snapshot).unwrap_or_default();
    }
    // What is needed comes before what is optional: a query that takes too long blocks the session.
    if let Some((first, since)) = before {
        let rest = scope.window.saturating_sub(since.elapsed());
        tokio::time::sleep(rest).await;
        snapshot.before = Some(first);
        snapshot.window_seconds = Some(since.elapsed().as_secs_f64());
    }
    snapshot.status = admin.status().await?;
    limit_statements(admin, &snapshot.identity, scope.time_limit).await;

    let deadline = Instant::now() + scope.time_limit;
    let mut reader = Reader { admin, deadline, missing: Vec::new(), tired: false };
    snapshot.metrics = reader.metrics().await;
    snapshot.replicas = reader.replicas(&snapshot.identity).await;
    snapshot.group_members = reader.group_members(&snapshot).await;
    snapshot.accounts = reader.accounts(snapshot.identity.flavour == Flavour::MariaDb).await;
    snapshot.digests = reader.digests(&snapshot).await;
    if snapshot.error_log.is_empty() {
        snapshot.error_log = reader.error_log(&snapshot).await;
    }
    snapshot.schema_facts = schema::read(&mut reader, &snapshot).await;
    snapshot.missing = reader.missing;
    Ok(snapshot)
}

/// Whether the server runs on this machine.
fn is_local(endpoint: Endpoint) -> bool {
    match endpoint {
        Endpoint::Socket(_) => true,
        // A port of this machine may be a tunnel to another: its memory is then not ours to assume.
        Endpoint::Tcp { .. } => false,
    }
}

/// Lets the server itself end a statement of this session that takes too long.
async fn limit_statements(admin: &mut Admin, identity: &Identity, limit: Duration) {
    let sql = match identity.flavour {
        Flavour::MariaDb => format!("SET SESSION max_statement_time = {}", limit.as_secs_f64() / 2.0),
        _ => format!("SET SESSION max_execution_time = {}", limit.as_millis() / 2),
    };
    // A server without it is only read less patiently, by our own clock.
    let _ = admin.execute(&sql).await;
}

/// Reads optional things until the time is up.
struct Reader<'a> {
    admin: &'a mut Admin,
    deadline: Instant,
    missing: Vec<Missing>,
    /// A statement ran into our own clock: its connection is of no more use.
    tired: bool,
}

impl Reader<'_> {
    fn miss(&mut self, what: &str, why: impl Into<String>) {
        self.missing.push(Missing { what: what.into(), why: why.into() });
    }

    /// The rows, or `None` with a note.
    async fn ask(&mut self, what: &str, sql: &str) -> Option<Vec<Record>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if self.tired || left.is_zero() {
            self.miss(what, "no time was left; raise --time-limit");
            return None;
        }
        match tokio::time::timeout(left, self.admin.records(sql)).await {
            Ok(Ok(rows)) => Some(rows),
            Ok(Err(error)) => {
                let hint = error.hint().map_or(String::new(), |hint| format!("; {hint}"));
                self.miss(what, format!("{error}{hint}"));
                None
            }
            Err(_) => {
                self.tired = true;
                self.miss(what, "the server took too long; raise --time-limit");
                None
            }
        }
    }

    async fn metrics(&mut self) -> BTreeMap<String, i64> {
        let rows = self.ask("InnoDB's metrics", "SELECT * FROM information_schema.INNODB_METRICS").await;
        rows.unwrap_or_default()
            .into_iter()
            .filter_map(|row| {
                let text = |name: &str| row.get(name).and_then(Option::as_deref);
                let on = text("status") == Some("enabled") || text("enabled") == Some("1");
                Some((text("name")?.to_owned(), text("count")?.parse().ok()?)).filter(|_| on)
            })
            .collect()
    }

    async fn replicas(&mut self, identity: &Identity) -> Option<Vec<ReplicaChannel>> {
        let sql = match identity.flavour {
            Flavour::MariaDb => "SHOW ALL SLAVES STATUS",
            _ if identity.mysql_at_least(8, 0, 22) => "SHOW REPLICA STATUS",
            _ => "SHOW SLAVE STATUS",
        };
        let rows = self.ask("state of replication", sql).await?;
        Some(rows.iter().map(channel).collect())
    }

    async fn group_members(&mut self, snapshot: &Snapshot) -> Vec<(String, String)> {
        if !snapshot.variables.contains_key("group_replication_group_name") {
            return Vec::new();
        }
        let sql = "SELECT member_host, member_state FROM performance_schema.replication_group_members";
        let rows = self.ask("members of the replication group", sql).await.unwrap_or_default();
        rows.iter().map(|row| (of(row, "member_host"), of(row, "member_state"))).collect()
    }

    async fn accounts(&mut self, maria: bool) -> Option<Vec<Account>> {
        // MariaDB keeps the lock of an account beside the view that looks like MySQL's table.
        let sql = if maria {
            "SELECT u.*, JSON_VALUE(g.priv, '$.account_locked') AS account_locked \
             FROM mysql.user u JOIN mysql.global_priv g USING (host, user)"
        } else {
            "SELECT * FROM mysql.user"
        };
        let rows = self.ask("accounts", sql).await?;
        Some(rows.iter().filter(|row| of(row, "is_role") != "Y").map(account).collect())
    }

    async fn digests(&mut self, snapshot: &Snapshot) -> Vec<Digest> {
        if snapshot.variables.switch("performance_schema") != Some(true) {
            self.miss("statements", "performance_schema is off");
            return Vec::new();
        }
        let sql = "SELECT digest_text, count_star, sum_timer_wait / 1e12 AS seconds, sum_no_index_used, \
                   sum_created_tmp_disk_tables, sum_sort_merge_passes \
                   FROM performance_schema.events_statements_summary_by_digest \
                   WHERE digest_text IS NOT NULL ORDER BY sum_timer_wait DESC LIMIT 20";
        let rows = self.ask("statements", sql).await.unwrap_or_default();
        rows.iter()
            .map(|row| Digest {
                text: of(row, "digest_text"),
                count: number(row, "count_star"),
                seconds: of(row, "seconds").parse().unwrap_or(0.0),
                no_index: number(row, "sum_no_index_used"),
                tmp_disk_tables: number(row, "sum_created_tmp_disk_tables"),
                sort_merge_passes: number(row, "sum_sort_merge_passes"),
            })
            .collect()
    }

    async fn error_log(&mut self, snapshot: &Snapshot) -> Vec<String> {
        if !snapshot.identity.mysql_at_least(8, 0, 22)
            || snapshot.variables.switch("performance_schema") != Some(true)
        {
            return Vec::new();
        }
        let sql = "SELECT data FROM performance_schema.error_log ORDER BY logged DESC LIMIT 1000";
        let rows = self.ask("error log", sql).await.unwrap_or_default();
        rows.iter().map(|row| of(row, "data")).collect()
    }
}

fn of(row: &Record, name: &str) -> String {
    row.get(name).cloned().flatten().unwrap_or_default()
}

fn number(row: &Record, name: &str) -> u64 {
    of(row, name).parse().unwrap_or(0)
}

/// One channel, from whichever names the server uses.
fn channel(row: &Record) -> ReplicaChannel {
    let first = |names: &[&str]| names.iter().find_map(|name| row.get(*name).cloned().flatten());
    let yes = |names: &[&str]| first(names).is_some_and(|text| text.eq_ignore_ascii_case("yes"));
    ReplicaChannel {
        name: first(&["channel_name", "connection_name"]).unwrap_or_default(),
        receiving: yes(&["replica_io_running", "slave_io_running"]),
        applying: yes(&["replica_sql_running", "slave_sql_running"]),
        lag_seconds: first(&["seconds_behind_source", "seconds_behind_master"])
            .and_then(|text| text.parse().ok()),
        error: [first(&["last_io_error"]), first(&["last_sql_error"])]
            .into_iter()
            .flatten()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("; "),
        executed_gtids: first(&["executed_gtid_set"]).unwrap_or_default().replace(['\n', ' '], ""),
    }
}

fn account(row: &Record) -> Account {
    let plugin = of(row, "plugin");
    // With these the account's secret is in the row; others ask the operating system or another server.
    let has_secret = matches!(
        plugin.as_str(),
        "" | "mysql_native_password"
            | "caching_sha2_password"
            | "sha256_password"
            | "mysql_old_password"
            | "ed25519"
    );
    Account {
        user: of(row, "user"),
        host: of(row, "host"),
        no_password: has_secret
            && of(row, "authentication_string").is_empty()
            && of(row, "password").is_empty(),
        locked: matches!(of(row, "account_locked").as_str(), "Y" | "1" | "true"),
        plugin,
    }
}

/// The end of the error log, where it is a file that we may read.
fn log_tail(snapshot: &Snapshot) -> Option<Vec<String>> {
    const BYTES: u64 = 256 * 1024;
    let path = std::path::Path::new(snapshot.variables.text("log_error").filter(|path| path.len() > 1)?);
    let path = match snapshot.variables.text("datadir") {
        Some(datadir) if path.is_relative() => std::path::Path::new(datadir).join(path),
        _ => path.to_owned(),
    };
    let mut file = std::fs::File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(length.saturating_sub(BYTES))).ok()?;
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(file, BYTES), &mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pairs: &[(&str, &str)]) -> Record {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned()))).collect()
    }

    #[test]
    fn a_channel_is_read_by_old_and_new_names() {
        let old = row(&[
            ("slave_io_running", "Yes"),
            ("slave_sql_running", "No"),
            ("seconds_behind_master", "7"),
            ("last_sql_error", "duplicate"),
        ]);
        let new = row(&[
            ("replica_io_running", "Yes"),
            ("replica_sql_running", "No"),
            ("seconds_behind_source", "7"),
        ]);
        let (old, new) = (channel(&old), channel(&new));
        assert_eq!((old.receiving, old.applying, old.lag_seconds), (true, false, Some(7)));
        assert_eq!((new.receiving, new.applying, new.lag_seconds), (true, false, Some(7)));
        assert_eq!(old.error, "duplicate");
        let mut unknown = row(&[("slave_io_running", "Connecting")]);
        unknown.insert("seconds_behind_master".into(), None);
        assert_eq!(channel(&unknown).lag_seconds, None);
    }

    #[test]
    fn an_account_of_the_operating_system_is_not_without_a_password() {
        let socket = account(&row(&[("user", "root"), ("host", "localhost"), ("plugin", "unix_socket")]));
        assert!(!socket.no_password);
        let open =
            account(&row(&[("user", "app"), ("plugin", "caching_sha2_password"), ("account_locked", "N")]));
        assert!(open.no_password && !open.locked);
    }
}
