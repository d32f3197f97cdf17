//! What the advisor looks at: everything that was read from a server, each part of it optional.
//!
//! A snapshot can be saved as JSON and advised on elsewhere. What could not be read is in `missing`, so that no rule
//! mistakes "not read" for "nothing there".

use knobs::{Identity, LiveVariable, Machine};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the snapshot's JSON.
pub const SNAPSHOT_SCHEMA: u32 = 1;

/// Status counters by lower-case name.
pub type Counters = BTreeMap<String, String>;

/// Where the machine's memory and cores are known from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineSource {
    /// Not known: the server is elsewhere and nobody stated it.
    #[default]
    Unknown,
    /// Read on this machine, limits of its control group included.
    Local,
    /// Stated by the user.
    Stated,
}

/// Everything known of a server at one moment, or over a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Version of this format.
    pub schema: u32,
    /// Who the server is.
    pub identity: Identity,
    /// What it runs on.
    pub machine: Machine,
    /// Where that is known from.
    #[serde(default)]
    pub machine_source: MachineSource,
    /// Global variables.
    pub variables: BTreeMap<String, LiveVariable>,
    /// Status at the (last) sample.
    pub status: Counters,
    /// Status at the first sample, when there were two.
    #[serde(default)]
    pub before: Option<Counters>,
    /// Seconds between the samples.
    #[serde(default)]
    pub window_seconds: Option<f64>,
    /// `INNODB_METRICS` counters that are on.
    #[serde(default)]
    pub metrics: BTreeMap<String, i64>,
    /// Tables and indexes; `None` when they were not read.
    #[serde(default)]
    pub schema_facts: Option<SchemaFacts>,
    /// Replication channels; `None` when their state was not readable.
    #[serde(default)]
    pub replicas: Option<Vec<ReplicaChannel>>,
    /// Members of a replication group: host and state.
    #[serde(default)]
    pub group_members: Vec<(String, String)>,
    /// Active plugins.
    #[serde(default)]
    pub plugins: Vec<String>,
    /// Accounts; `None` when they were not readable.
    #[serde(default)]
    pub accounts: Option<Vec<Account>>,
    /// The statements that cost most.
    #[serde(default)]
    pub digests: Vec<Digest>,
    /// Last lines of the error log.
    #[serde(default)]
    pub error_log: Vec<String>,
    /// Whether the data directory's device is solid state; `None` when it cannot be known from here.
    #[serde(default)]
    pub solid_state: Option<bool>,
    /// Settings of the operating system (`vm.swappiness`, `fs.aio-max-nr`), where the server runs here.
    #[serde(default)]
    pub system: BTreeMap<String, i64>,
    /// What could not be read, and why.
    #[serde(default)]
    pub missing: Vec<Missing>,
    /// Day of the snapshot, `YYYY-MM-DD`: what support lifetimes are compared with.
    #[serde(default)]
    pub today: Option<String>,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What.
    pub what: String,
    /// Why, and what would help.
    pub why: String,
}

/// What was found about tables and indexes, system schemas left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SchemaFacts {
    /// Number of tables; also known when the rest was cut short.
    pub tables: u64,
    /// Whether every table was looked at.
    pub complete: bool,
    /// Bytes of InnoDB's files, where they could be had without a look at every table.
    #[serde(default)]
    pub innodb_file_bytes: Option<u64>,
    /// Use by engine.
    pub engines: Vec<EngineUse>,
    /// `schema.table` without a primary key (or a unique key that could be one).
    pub without_primary_key: Vec<String>,
    /// `schema.table` with much reusable space: its free bytes and its share.
    pub fragmented: Vec<(String, u64, f64)>,
    /// `schema.table` and the used share of its AUTO_INCREMENT's range.
    pub auto_increment: Vec<(String, f64)>,
    /// `schema.table.index` made superfluous by another.
    pub redundant_indexes: Vec<String>,
    /// `schema.table.index` never used since the server's start.
    pub unused_indexes: Vec<String>,
}

/// How much an engine is used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EngineUse {
    /// Its name.
    pub engine: String,
    /// Tables.
    pub tables: u64,
    /// Bytes of rows.
    pub data_bytes: u64,
    /// Bytes of indexes.
    pub index_bytes: u64,
}

/// State of one replication channel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ReplicaChannel {
    /// Its name, empty for the only one.
    pub name: String,
    /// Whether changes are fetched.
    pub receiving: bool,
    /// Whether they are applied.
    pub applying: bool,
    /// Seconds behind the source; `None` when the server does not know.
    pub lag_seconds: Option<u64>,
    /// Last error text.
    pub error: String,
    /// Executed global transaction identifiers.
    pub executed_gtids: String,
}

/// An account, without anything secret in it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Account {
    /// User name; empty for the anonymous account.
    pub user: String,
    /// Host pattern.
    pub host: String,
    /// Authentication plugin.
    pub plugin: String,
    /// Whether it has no password where its plugin wants one.
    pub no_password: bool,
    /// Whether nobody can log in with it.
    pub locked: bool,
}

/// A kind of statement, summed up.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Digest {
    /// Its normalised text.
    pub text: String,
    /// Executions.
    pub count: u64,
    /// Seconds in total.
    pub seconds: f64,
    /// Executions that used no index.
    pub no_index: u64,
    /// Temporary tables on disk.
    pub tmp_disk_tables: u64,
    /// Merge passes of sorts.
    pub sort_merge_passes: u64,
}

impl Snapshot {
    /// A snapshot of variables and status only: what two saved `SHOW` outputs can give.
    pub fn offline(identity: Identity, variables: BTreeMap<String, LiveVariable>, status: Counters) -> Self {
        Self {
            schema: SNAPSHOT_SCHEMA,
            identity,
            machine: Machine::default(),
            machine_source: MachineSource::Unknown,
            variables,
            status,
            before: None,
            window_seconds: None,
            metrics: BTreeMap::new(),
            schema_facts: None,
            replicas: None,
            group_members: Vec::new(),
            plugins: Vec::new(),
            accounts: None,
            digests: Vec::new(),
            error_log: Vec::new(),
            solid_state: None,
            system: BTreeMap::new(),
            missing: Vec::new(),
            today: None,
        }
    }

    /// Reads what `SHOW VARIABLES` or `SHOW STATUS` printed: tab-separated (`mysql -B`), a table with bars, or
    /// `name = value`.
    pub fn read_pairs(text: &str) -> BTreeMap<String, String> {
        text.lines()
            .filter_map(|line| {
                let line = line.trim_end_matches('\r');
                let (name, value) = if let Some(rest) = line.strip_prefix('|') {
                    rest.trim_end().trim_end_matches('|').split_once('|')?
                } else if let Some(pair) = line.split_once('\t') {
                    pair
                } else {
                    line.split_once('=')?
                };
                let name = name.trim().to_ascii_lowercase();
                (!name.is_empty() && name != "variable_name").then(|| (name, value.trim().to_owned()))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn show_output_is_read_in_each_of_its_shapes() {
        for text in [
            "Variable_name\tValue\nmax_connections\t151\nft_stopword_file\t(built-in)\n",
            "+---+\n| Variable_name | Value |\n+---+\n| max_connections | 151 |\n| ft_stopword_file | (built-in) |\n",
            "max_connections = 151\r\nft_stopword_file = (built-in)\r\n",
        ] {
            let read = Snapshot::read_pairs(text);
            assert_eq!(read.get("max_connections").map(String::as_str), Some("151"), "{text}");
            assert_eq!(read.len(), 2, "{read:?}");
        }
    }
}
