//! The lines' fields.

use crate::history::{Outcome, TrialId};
use crate::optimizer::{Direction, Safe, Settings, State, Suggestion};
use crate::space::{Condition, Kind, Param, Relation, Space, SpaceError, SpaceErrorKind, Value, Values};
use serde::Deserialize;
use serde_json::{Value as Json, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Init {
    direction: Direction,
    #[serde(default = "one")]
    seed: u64,
    space: Vec<Knob>,
    trials: Option<usize>,
    #[serde(default)]
    relations: Vec<Relation>,
    restart_cost: Option<f64>,
    safe: Option<Safe>,
}

fn one() -> u64 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Knob {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    min: Option<f64>,
    max: Option<f64>,
    #[serde(default)]
    log: bool,
    step: Option<i64>,
    #[serde(default)]
    specials: Vec<f64>,
    #[serde(default)]
    values: Vec<Value>,
    default: Value,
    #[serde(default)]
    restart: bool,
    when: Option<Condition>,
}

impl Knob {
    fn param(self) -> Result<Param, SpaceError> {
        let wrong = |text: &str| SpaceError::new(&self.name, SpaceErrorKind::Param(text.into()));
        let range = || match (self.min, self.max) {
            (Some(min), Some(max)) => Ok((min, max)),
            _ => Err(wrong("a number needs min and max")),
        };
        let kind = match self.kind.as_str() {
            "float" => {
                let (min, max) = range()?;
                Kind::Float { min, max, log: self.log, specials: self.specials.clone() }
            }
            "int" => {
                let (min, max) = range()?;
                let specials = self.specials.iter().map(|s| *s as i64).collect();
                Kind::Int {
                    min: min as i64,
                    max: max as i64,
                    log: self.log,
                    step: self.step.unwrap_or(1),
                    specials,
                }
            }
            "ordinal" => Kind::Ordinal(self.values.clone()),
            "enum" => Kind::Enum(self.values.iter().map(Value::to_string).collect()),
            "bool" => Kind::Bool,
            other => {
                return Err(wrong(&format!("its type is {other:?}; one of float, int, ordinal, enum, bool")));
            }
        };
        let default =
            if self.kind == "enum" { Value::Text(self.default.to_string()) } else { self.default.clone() };
        Ok(Param { kind, default, name: self.name, restart: self.restart, when: self.when })
    }
}

impl Init {
    pub(super) fn settings(&self) -> Settings {
        Settings {
            direction: self.direction,
            seed: self.seed,
            trials: self.trials,
            restart_cost: self.restart_cost.unwrap_or(1.0),
            safe: self.safe.clone(),
        }
    }

    pub(super) fn space(self) -> Result<Space, SpaceError> {
        let params = self.space.into_iter().map(Knob::param).collect::<Result<_, _>>()?;
        Space::new(params, self.relations)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Restore {
    pub(super) state: State,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Earlier {
    pub(super) trials: Vec<Reading>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reading {
    pub(super) values: Values,
    pub(super) value: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Seed {
    pub(super) values: Values,
    #[serde(default)]
    pub(super) label: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ask {
    pub(super) count: Option<usize>,
}

/// An outcome's fields; exactly one of value, failed and bound.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tell {
    pub(super) id: TrialId,
    value: Option<f64>,
    variance: Option<f64>,
    n: Option<u32>,
    failed: Option<bool>,
    bound: Option<f64>,
    pub(super) cost: Option<f64>,
    #[serde(default)]
    pub(super) constraints: Vec<f64>,
}

impl Tell {
    pub(super) fn outcome(&self) -> Result<Outcome, String> {
        match (self.value, self.failed.unwrap_or(false), self.bound) {
            (Some(value), false, None) => {
                Ok(Outcome::Value { value, variance: self.variance, n: self.n.unwrap_or(1) })
            }
            (None, true, None) => Ok(Outcome::Failed),
            (None, false, Some(bound)) => Ok(Outcome::Censored { bound }),
            _ => Err("give one of \"value\", \"failed\": true and \"bound\"".into()),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Observe {
    pub(super) values: Values,
    pub(super) value: Option<f64>,
    #[serde(default)]
    pub(super) failed: bool,
    pub(super) cost: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Effect {
    pub(super) knob: String,
    pub(super) with: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

pub(super) fn asked(suggestion: &Suggestion) -> Json {
    json!({ "id": suggestion.id, "values": suggestion.values, "origin": suggestion.origin })
}
