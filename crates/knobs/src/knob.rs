//! The record of one knob.

use crate::identity::{Flavour, Version};
use crate::units::Unit;
use crate::value::Value;
use serde::{Deserialize, Serialize};

/// Type of a knob's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A whole number.
    Int,
    /// A number with a fraction.
    Float,
    /// A switch.
    Bool,
    /// One of a few words.
    Enum,
    /// One of a few numbers that mean ways of doing, not amounts.
    Choice,
    /// Free text.
    Text,
}

/// What a knob is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each name is its own explanation")]
pub enum Area {
    BufferPool,
    Redo,
    Flushing,
    Purge,
    Io,
    Concurrency,
    Locking,
    Innodb,
    Connections,
    Caches,
    TempTables,
    Session,
    Binlog,
    Replication,
    Durability,
    QueryCache,
    ThreadPool,
    Myisam,
    Aria,
    Optimizer,
    Observability,
    Security,
    Semantics,
}

/// What is at stake when a knob is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// Speed only.
    Performance,
    /// The server may run out of memory.
    Memory,
    /// Clients may be refused or wait, recovery may take longer.
    Availability,
    /// Committed data may be lost or torn. Never changed by us on our own.
    Durability,
    /// Results or errors that applications see may change. Never changed by us on our own.
    Semantics,
}

impl Risk {
    /// Whether this may be part of a search or of automatic advice.
    pub fn may_be_automatic(self) -> bool {
        !matches!(self, Self::Durability | Self::Semantics)
    }
}

/// Which sessions a value is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// One value for the server.
    Global,
    /// A global value that new sessions start with.
    Both,
    /// Only ever a session's.
    Session,
}

/// When a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// At once.
    Dynamic,
    /// After a restart.
    Restart,
}

/// What is known of a knob from one version of a flavour on.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// When a change takes effect.
    pub change: Change,
    /// Smallest value, `None` where there is none or it is not known.
    pub min: Option<f64>,
    /// Largest value, `None` for "what the platform's integers hold".
    pub max: Option<f64>,
    /// Words or numbers of an enumeration.
    pub options: Vec<String>,
    /// Compiled default, `None` where the server works it out from something else.
    pub default: Option<Value>,
    /// Values are rounded to a multiple of this.
    pub step: i64,
}

/// What becomes of a knob from a version on.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// It exists.
    Present(Facts),
    /// It no longer exists; its work is done by the successor, if any.
    Gone(Option<String>),
}

/// How far a platform lets a knob be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Support {
    /// As on a machine of one's own.
    Free,
    /// It can be seen, not changed.
    Fixed,
    /// It has no effect.
    Inert,
    /// Not known; the platform's interface has to be asked.
    Ask,
}

/// How a knob takes part in a search: a scale and bounds, each a number or the name of something measured.
#[derive(Debug, Clone, PartialEq)]
pub struct TuneHint {
    /// Whether to search orders of magnitude.
    pub log: bool,
    /// Lower bound: a number or a name that `tunable` knows.
    pub low: String,
    /// Upper bound, likewise.
    pub high: String,
    /// Grid of the search, on top of the server's own.
    pub step: i64,
    /// Values that mean something of their own (0 = off), tried as themselves.
    pub atoms: Vec<i64>,
}

/// One configuration variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Knob {
    /// Its present name.
    pub name: String,
    /// What it does, one sentence.
    pub what: String,
    /// What it is about.
    pub area: Area,
    /// Type of its values.
    pub kind: Kind,
    /// What a number counts.
    pub unit: Unit,
    /// What is at stake.
    pub risk: Risk,
    /// Which sessions a value is for.
    pub scope: Scope,
    /// Other names for the same thing (which a flavour may have or may have had).
    pub aliases: Vec<String>,
    /// Values that mean something of their own, with the meaning.
    pub specials: Vec<(i64, String)>,
    /// Facts by flavour and first version, ascending within a flavour.
    pub history: Vec<(Flavour, Version, Fate)>,
    /// How it is searched; `None` keeps it out of every search.
    pub tune: Option<TuneHint>,
    /// On Amazon RDS.
    pub rds: Support,
    /// On Amazon Aurora.
    pub aurora: Support,
    /// Whether the server moves the value by itself while it runs, so that it may read back differently later.
    pub drifts: bool,
}

impl Knob {
    /// What is known of it for a flavour and version. Percona Server has MySQL's unless it has its own.
    pub fn fate(&self, flavour: Flavour, version: Version) -> Option<&Fate> {
        let of = |wanted: Flavour| {
            self.history
                .iter()
                .filter(|(flavour, since, _)| *flavour == wanted && *since <= version)
                .map(|(_, _, fate)| fate)
                .next_back()
        };
        match flavour {
            Flavour::Percona => of(Flavour::Percona).or_else(|| of(Flavour::MySql)),
            other => of(other),
        }
    }

    /// The page of the manual that describes it.
    pub fn reference(&self, flavour: Flavour, version: Version) -> String {
        let anchor = format!("sysvar_{}", self.name);
        match flavour {
            Flavour::MariaDb => format!("https://mariadb.com/docs/search?query={}", self.name),
            _ => {
                let page = match self.area {
                    Area::Binlog | Area::Durability if self.name.contains("binlog") => {
                        "replication-options-binary-log"
                    }
                    Area::Replication => "replication-options-replica",
                    _ if self.name.starts_with("innodb") => "innodb-parameters",
                    _ => "server-system-variables",
                };
                format!(
                    "https://dev.mysql.com/doc/refman/{}.{}/en/{page}.html#{anchor}",
                    version.major, version.minor
                )
            }
        }
    }
}
