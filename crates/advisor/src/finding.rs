//! What the advisor says.

use knobs::{Identity, Risk, Value};
use serde::{Serialize, Serializer};

/// How much a finding matters. The order is the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Looked at, and fine.
    Fine,
    /// Cannot be judged yet: not enough has been counted.
    NotEnoughData,
    /// Worth knowing.
    Notice,
    /// Costs speed or safety.
    Warning,
    /// Something is broken, or will be.
    Critical,
}

/// A change of one knob.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    /// The knob, by the name this server uses.
    pub knob: String,
    /// What it has.
    pub current: Value,
    /// What it should have.
    pub value: Value,
    /// Why, one sentence with the numbers.
    pub why: String,
    /// What to expect of it.
    pub effect: String,
    /// What is at stake.
    #[serde(serialize_with = "risk_word")]
    pub risk: Risk,
    /// Whether the server must be restarted.
    pub restart: bool,
    /// Whether it may be applied without a person's decision. Never for durability and semantics.
    pub automatic: bool,
    /// Statement (or line of the option file) that takes it back.
    pub rollback: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn risk_word<S: Serializer>(risk: &Risk, serializer: S) -> Result<S::Ok, S::Error> {
    risk.serialize(serializer)
}

/// What a rule has to say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The rule's name.
    pub rule: String,
    /// How much it matters.
    pub severity: Severity,
    /// One line.
    pub title: String,
    /// The numbers it rests on.
    pub evidence: String,
    /// What to do about it, where it is not a knob.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The knob to change.
    pub recommendation: Option<Recommendation>,
}

/// All findings, the worst first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Version of the JSON.
    pub schema: u32,
    /// Whose report this is.
    pub identity: Identity,
    /// Over what the counters were compared: seconds, and whether it is a window or the whole uptime.
    pub window: Window,
    /// Memory figures, where the model could be filled in.
    pub memory: MemoryFigures,
    /// The findings.
    pub findings: Vec<Finding>,
    /// What could not be read, and why.
    pub missing: Vec<crate::snapshot::Missing>,
}

/// The time that rates refer to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Window {
    /// Its length.
    pub seconds: f64,
    /// Whether two samples were compared, or everything since the server's start.
    pub sampled: bool,
}

/// The memory model's figures in bytes, before and after the recommendations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MemoryFigures {
    /// The machine's memory, if known.
    pub machine: Option<u64>,
    /// Least, realistic and worst use as the server is.
    pub now: knobs::Estimate,
    /// The same with every automatic recommendation.
    pub then: knobs::Estimate,
}

impl Report {
    /// The worst severity in it.
    pub fn worst(&self) -> Severity {
        self.findings.iter().map(|finding| finding.severity).max().unwrap_or(Severity::Fine)
    }

    /// The recommendations, in order of the findings. No knob is in it twice.
    pub fn recommendations(&self) -> impl Iterator<Item = &Recommendation> {
        self.findings.iter().filter_map(|finding| finding.recommendation.as_ref())
    }

    /// The recommendations that may be applied without a person's decision, as a configuration: a seed for `tune`
    /// and a contender for `compare`.
    pub fn configuration(&self) -> knobs::Configuration {
        self.recommendations()
            .filter(|recommendation| recommendation.automatic)
            .map(|recommendation| (recommendation.knob.clone(), recommendation.value.clone()))
            .collect()
    }
}
