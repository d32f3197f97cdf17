//! What a study finds when it begins, and needs again when it is resumed or reported.

use knobs::{Configuration, Identity, LiveVariable, Machine, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A knob of the search space.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TunedKnob {
    /// Its value as found.
    pub found: Value,
    /// Whether it can be changed while the server runs.
    pub dynamic: bool,
    /// What it is for, in one sentence.
    pub purpose: String,
}

/// How much a knob matters to the objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Importance {
    /// The knob.
    pub knob: String,
    /// Share of what all knobs explain, 0 to 1.
    pub share: f64,
    /// Standard deviation of the share.
    pub sd: f64,
}

/// What was found, stored before anything is changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Context {
    /// What the server is.
    pub identity: Identity,
    /// What it may use.
    pub machine: Machine,
    /// Name of the host that tunesmith runs on.
    pub host: String,
    /// The way home: every variable as found.
    pub home: BTreeMap<String, LiveVariable>,
    /// The knobs that are searched.
    pub knobs: BTreeMap<String, TunedKnob>,
    /// Their units, where they have one.
    pub units: BTreeMap<String, String>,
    /// Facts about how it was measured, for the report.
    pub notes: Vec<(String, String)>,
    /// How much each knob matters, once the search is over.
    #[serde(default)]
    pub importance: Vec<Importance>,
    /// The optimiser's choice, once the search is over; empty where nothing beats the baseline.
    #[serde(default)]
    pub candidate: Option<Configuration>,
}
