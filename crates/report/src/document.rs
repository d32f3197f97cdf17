//! The typed document of a study: everything that a renderer needs, and nothing that it has to look up.
//!
//! Its JSON form is an interface (`tune --json`, `studies show --json`, `report --format json`): fields are added, never renamed,
//! and [`SCHEMA`] changes when a reader of an old document would misread a new one.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The value of `schema` in the documents that this version writes.
pub const SCHEMA: &str = "tunesmith.study/1";

/// A knob's values, as plain JSON scalars. A knob that is absent keeps the server's own value.
pub type Configuration = BTreeMap<String, serde_json::Value>;

/// A study, its trials and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyDocument {
    /// [`SCHEMA`].
    pub schema: String,
    /// Identifier of the study.
    pub study: String,
    /// The name that a person gave it; empty where none was given.
    pub name: String,
    /// What was asked, as one sentence or as the command line.
    pub question: String,
    /// When it was created, RFC 3339.
    pub created: String,
    /// Where it stands.
    pub state: StudyState,
    /// The answer; `None` while there is none.
    pub verdict: Option<Verdict>,
    /// One sentence of why the verdict is what it is, where that needs one.
    #[serde(default)]
    pub because: Option<String>,
    /// What was measured.
    pub server: ServerFacts,
    /// The work that was executed.
    pub workload: WorkloadFacts,
    /// What was optimised.
    pub objective: Objective,
    /// How it was measured; `None` leaves the sentences about windows out of the report.
    #[serde(default)]
    pub method: Option<Method>,
    /// The configuration found at the start; `None` until it was measured.
    pub baseline: Option<Measurement>,
    /// The winner of the search; `None` where no trial was better than the baseline.
    pub best: Option<Best>,
    /// The proof; `None` until it ran, or where too few of its pairs are valid.
    pub gain: Option<Gain>,
    /// What to change, the most important first.
    pub changes: Vec<Change>,
    /// Texts to copy.
    pub apply: Apply,
    /// How much each knob matters, in any order.
    pub importance: Vec<Importance>,
    /// Every trial in the order in which it ran.
    pub trials: Vec<TrialRow>,
    /// Latency over percentiles.
    pub latency: LatencyCurves,
    /// Throughput over time.
    pub series: Series,
    /// What a reader must know before believing the numbers.
    pub warnings: Vec<String>,
    /// Facts about the machine and the run, for people who want to repeat it.
    pub environment: Vec<Note>,
    /// Unit of each knob that has one (`bytes`, `us`, ...), for formatting its values in the trial table.
    #[serde(default)]
    pub units: BTreeMap<String, String>,
}

/// Where a study stands. The words are those of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StudyState {
    /// A process works on it.
    Running,
    /// Stopped; it can be resumed.
    Interrupted,
    /// It has a verdict.
    Finished,
    /// It can't have a verdict.
    Failed,
}

/// Where a trial stands. The words are those of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrialState {
    /// Decided, nothing done.
    Planned,
    /// Data and settings are being laid out.
    Applying,
    /// The server is being restarted.
    Restarting,
    /// What the server reports is compared with what was asked for.
    Verifying,
    /// The workload runs; nothing counts yet.
    Warming,
    /// The measured window.
    Measuring,
    /// The measurement is being checked and compared.
    Judging,
    /// A valid observation.
    Kept,
    /// Ended early or invalid, and the server was brought back.
    Reverted,
    /// The configuration could not be run.
    Failed,
}

/// A word that is no state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownState(String);

impl fmt::Display for UnknownState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown state {:?}; the document may come from a newer version", self.0)
    }
}

impl std::error::Error for UnknownState {}

impl StudyState {
    const ALL: [Self; 4] = [Self::Running, Self::Interrupted, Self::Finished, Self::Failed];

    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Finished => "finished",
            Self::Failed => "failed",
        }
    }
}

impl TrialState {
    const ALL: [Self; 10] = [
        Self::Planned,
        Self::Applying,
        Self::Restarting,
        Self::Verifying,
        Self::Warming,
        Self::Measuring,
        Self::Judging,
        Self::Kept,
        Self::Reverted,
        Self::Failed,
    ];

    /// The word in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Applying => "applying",
            Self::Restarting => "restarting",
            Self::Verifying => "verifying",
            Self::Warming => "warming",
            Self::Measuring => "measuring",
            Self::Judging => "judging",
            Self::Kept => "kept",
            Self::Reverted => "reverted",
            Self::Failed => "failed",
        }
    }

    /// Whether the trial ended without a valid observation.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Reverted | Self::Failed)
    }
}

impl FromStr for StudyState {
    type Err = UnknownState;

    fn from_str(word: &str) -> Result<Self, UnknownState> {
        Self::ALL.into_iter().find(|s| s.as_str() == word).ok_or_else(|| UnknownState(word.to_owned()))
    }
}

impl FromStr for TrialState {
    type Err = UnknownState;

    fn from_str(word: &str) -> Result<Self, UnknownState> {
        Self::ALL.into_iter().find(|s| s.as_str() == word).ok_or_else(|| UnknownState(word.to_owned()))
    }
}

impl fmt::Display for StudyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for TrialState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The answer of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval of the gain lies above 1.
    Improved,
    /// It does not, or nothing better was found.
    NoImprovement,
}

/// The server that was tuned, and the machine it may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// `MySQL`, `MariaDB` or `Percona`.
    pub flavour: String,
    /// As the server reports it.
    pub version: String,
    /// The name for people, such as `MariaDB Server 10.11.14`.
    pub product: String,
    /// `sandbox`, `server` or `rds`.
    pub target: String,
    /// CPU cores; `None` where unknown.
    pub cores: Option<u32>,
    /// Memory in bytes; `None` where unknown.
    pub memory_bytes: Option<u64>,
    /// Where it runs, never with a password.
    pub host: String,
}

/// The work that was executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadFacts {
    /// As on the command line: `tpcc`, `sysbench:oltp_read_write`, ...
    pub name: String,
    /// Its parameters, such as `warehouses` and `terminals`.
    pub parameters: BTreeMap<String, String>,
}

/// What was optimised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objective {
    /// `tps`, `p95`, `p99`, or words for people such as `transactions committed per second`.
    pub name: String,
    /// `txn/s`, `us`, ...
    pub unit: String,
    /// Which way is better.
    pub better: Better,
}

/// Which way an objective runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// How it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// Seconds of work before each measured window.
    pub warmup_seconds: f64,
    /// Seconds of each measured window.
    pub measure_seconds: f64,
    /// Whether trials start from identical bytes of data.
    pub restores_data: bool,
    /// Seed of the data, the search and the workload.
    pub seed: u64,
    /// Version of tunesmith.
    pub tunesmith: String,
}

/// Repeated runs of one configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Mean of the runs, in the objective's unit.
    pub mean: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// Each run, in the objective's unit.
    pub runs: Vec<f64>,
}

/// The winner of the search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The trial in which it was found.
    pub trial: u64,
    /// The configuration.
    pub configuration: Configuration,
    /// Mean of its runs, in the objective's unit.
    pub mean: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

/// The proof: interleaved pairs of the baseline and the best configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// Best / baseline, inverted for objectives of which less is better: above 1 is always an improvement.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
    /// Confidence of the interval, such as 0.95.
    pub confidence: f64,
    /// The pairs in the order in which they ran.
    pub pairs: Vec<Pair>,
}

/// Two runs, one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The baseline, in the objective's unit.
    pub baseline: f64,
    /// The best configuration, in the objective's unit.
    pub candidate: f64,
}

/// One knob of the winner that differs from the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Name of the knob.
    pub knob: String,
    /// Its value with the baseline.
    pub from: serde_json::Value,
    /// Its value to set.
    pub to: serde_json::Value,
    /// Unit of both (`bytes`, `us`, ...); `None` for plain numbers and words.
    pub unit: Option<String>,
    /// What the knob does and why the change helps, in one sentence.
    pub why: String,
    /// Whether it takes a restart to be in effect.
    pub restart: bool,
    /// Its share of the importance, 0 to 1; `None` where unknown.
    pub matters: Option<f64>,
}

/// Texts to copy. An empty one is not offered (MariaDB has no `SET PERSIST`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Apply {
    /// Statements that survive a restart.
    pub set_persist: String,
    /// Statements for the running server.
    pub set_global: String,
    /// A fragment of my.cnf.
    pub cnf: String,
    /// How to take it back.
    pub rollback: String,
}

/// How much one knob matters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Importance {
    /// Name of the knob.
    pub knob: String,
    /// Share of the explained variation, 0 to 1.
    pub share: f64,
    /// Standard deviation of the share.
    pub sd: f64,
}

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRow {
    /// Number of the trial; the first baseline is 1.
    pub id: u64,
    /// Where it comes from: `baseline`, `seed: NAME`, `suggested: NAME`, `search`, `repeat`, `proof N: baseline`,
    /// `proof N: best`. Charts and sentences go by the first word, and tell the proof's baselines by the last.
    pub origin: String,
    /// What was set.
    pub configuration: Configuration,
    /// Where it stands.
    pub state: TrialState,
    /// The measured objective, in its unit; `None` without a valid window.
    pub objective: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Service latency in microseconds.
    pub latency_us: Option<Latency>,
    /// Failed transactions.
    pub errors: u64,
    /// Whether the server was restarted for it.
    pub restarted: bool,
    /// How long it took, seconds.
    pub seconds: f64,
    /// When it began, seconds from the start of the study.
    pub at_seconds: f64,
    /// Why it failed: the server's own error text, or the check that it did not pass.
    pub failure: Option<String>,
}

/// Service latency in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Median.
    pub p50: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Longest.
    pub max: u64,
}

/// Service latency over percentiles: (percentile of 0 to 100, microseconds), ascending. Empty where not recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyCurves {
    /// With the baseline.
    pub baseline: Vec<(f64, u64)>,
    /// With the best configuration.
    pub best: Vec<(f64, u64)>,
}

/// Transactions in each second of one run of each configuration, warm-up included. Empty where not recorded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// With the baseline.
    pub baseline: Vec<f64>,
    /// With the best configuration.
    pub best: Vec<f64>,
    /// How many of the first seconds are warm-up.
    #[serde(default)]
    pub warmup: usize,
}

/// A fact for people who want to repeat the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What it is about, such as `kernel`.
    pub name: String,
    /// What it says.
    pub value: String,
}
