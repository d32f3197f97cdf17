//! Scripts and their options, under sysbench's names.

use super::ids::Distribution;
use crate::engine::EngineOptions;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// sysbench 1.0's OLTP scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptName {
    /// Point selects, ranges, updates, delete and insert in one transaction.
    OltpReadWrite,
    /// The selects of it.
    OltpReadOnly,
    /// The changes of it.
    OltpWriteOnly,
    /// One select by primary key.
    OltpPointSelect,
    /// One update of an indexed column.
    OltpUpdateIndex,
    /// One update of a column without index.
    OltpUpdateNonIndex,
    /// One insert.
    OltpInsert,
    /// One delete.
    OltpDelete,
    /// One select of several values of the indexed column.
    SelectRandomPoints,
    /// One count over several ranges of the indexed column.
    SelectRandomRanges,
}

impl ScriptName {
    /// All scripts with their names.
    pub const ALL: [(Self, &'static str); 10] = [
        (Self::OltpReadWrite, "oltp_read_write"),
        (Self::OltpReadOnly, "oltp_read_only"),
        (Self::OltpWriteOnly, "oltp_write_only"),
        (Self::OltpPointSelect, "oltp_point_select"),
        (Self::OltpUpdateIndex, "oltp_update_index"),
        (Self::OltpUpdateNonIndex, "oltp_update_non_index"),
        (Self::OltpInsert, "oltp_insert"),
        (Self::OltpDelete, "oltp_delete"),
        (Self::SelectRandomPoints, "select_random_points"),
        (Self::SelectRandomRanges, "select_random_ranges"),
    ];

    /// Whether it changes no data.
    pub fn only_reads(self) -> bool {
        matches!(
            self,
            Self::OltpReadOnly | Self::OltpPointSelect | Self::SelectRandomPoints | Self::SelectRandomRanges
        )
    }

    /// Whether it is wrapped in BEGIN and COMMIT.
    pub(super) fn transactional(self) -> bool {
        matches!(self, Self::OltpReadWrite | Self::OltpReadOnly | Self::OltpWriteOnly)
    }
}

impl fmt::Display for ScriptName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(s, _)| s == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl FromStr for ScriptName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.trim_end_matches(".lua");
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(s, _)| *s).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(_, n)| *n).collect();
            format!("no script {text}; there are {}", names.join(", "))
        })
    }
}

/// The tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables {
    /// Number of tables.
    pub tables: u32,
    /// Rows of each.
    pub table_size: u64,
    /// Ids come from AUTO_INCREMENT.
    pub auto_inc: bool,
    /// A secondary index on the id in the place of the primary key.
    pub secondary: bool,
    /// Whether the index on k is created.
    pub create_secondary: bool,
    /// Storage engine.
    pub engine: String,
    /// 0.4.12's single table `sbtest`, with its rows.
    pub legacy: bool,
    /// Seed of the rows.
    pub seed: u64,
}

impl Default for Tables {
    fn default() -> Self {
        Self {
            tables: 1,
            table_size: 10_000,
            auto_inc: true,
            secondary: false,
            create_secondary: true,
            engine: "innodb".into(),
            legacy: false,
            seed: 1,
        }
    }
}

/// How many statements of each kind an event has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Rows of a range.
    pub range_size: u64,
    /// Selects by primary key.
    pub point_selects: u32,
    /// Range selects.
    pub simple_ranges: u32,
    /// Sums over a range.
    pub sum_ranges: u32,
    /// Sorted ranges.
    pub order_ranges: u32,
    /// Sorted ranges without duplicates.
    pub distinct_ranges: u32,
    /// Updates of k.
    pub index_updates: u32,
    /// Updates of c.
    pub non_index_updates: u32,
    /// Deletes, each followed by an insert of the same id.
    pub delete_inserts: u32,
    /// Whether ranges are selected at all.
    pub range_selects: bool,
    /// No BEGIN and COMMIT.
    pub skip_trx: bool,
    /// `select_random_points`: values.
    pub random_points: u32,
    /// `select_random_ranges`: ranges.
    pub number_of_ranges: u32,
    /// `select_random_ranges`: width of a range.
    pub delta: u32,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            range_size: 100,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            range_selects: true,
            skip_trx: false,
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
        }
    }
}

/// 0.4.12's `--oltp-test-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LegacyMode {
    /// One point select.
    Simple,
    /// The transaction.
    #[default]
    Complex,
    /// One statement of a kind.
    NonTrx(NonTrx),
}

/// 0.4.12's `--oltp-nontrx-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NonTrx {
    /// `SELECT pad`.
    #[default]
    Select,
    /// `UPDATE` of k.
    UpdateKey,
    /// `UPDATE` of c.
    UpdateNokey,
    /// `INSERT` into the emptied table.
    Insert,
    /// `DELETE` of unique ids.
    Delete,
}

/// 0.4.12's own options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Legacy {
    /// Mode.
    pub mode: LegacyMode,
    /// Only the selects.
    pub read_only: bool,
    /// The UPDATE that no option switches off: builds from 2012 to August 2016 execute it (19 statements and
    /// BEGIN, COMMIT), later ones do not.
    pub extra_update: bool,
    /// Smallest and largest pause before each statement, in microseconds.
    pub user_delay_us: (u64, u64),
}

impl Default for Legacy {
    fn default() -> Self {
        Self { mode: LegacyMode::Complex, read_only: false, extra_update: true, user_delay_us: (0, 0) }
    }
}

/// What is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A script of 1.0.
    Script(ScriptName),
    /// 0.4.12's built-in test.
    Legacy(Legacy),
}

/// How sysbench runs.
#[derive(Debug, Clone)]
pub struct SysbenchOptions {
    /// Connections, time, events, rate and the rest.
    pub engine: EngineOptions,
    /// What is executed.
    pub kind: Kind,
    /// The tables.
    pub tables: Tables,
    /// Statements of an event.
    pub counts: Counts,
    /// Distribution of ids.
    pub distribution: Distribution,
}

impl SysbenchOptions {
    /// A script with sysbench's defaults: one thread, ten seconds.
    pub fn new(kind: Kind) -> Self {
        Self {
            engine: EngineOptions { time: Some(Duration::from_secs(10)), ..EngineOptions::default() },
            kind,
            tables: Tables { legacy: matches!(kind, Kind::Legacy(_)), ..Tables::default() },
            counts: Counts::default(),
            distribution: Distribution::default(),
        }
    }
}
