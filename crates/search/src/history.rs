//! What was asked and what came back.

use crate::space::{Point, Space, Values};
use serde::{Deserialize, Serialize};

/// Number of a trial; the first is 1.
pub type TrialId = u64;

/// What a trial brought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The objective was measured.
    Value {
        /// The reading, in the objective's unit.
        value: f64,
        /// Variance of the reading as the measurement itself knows it (unit squared); what differs between trials
        /// of the same configuration is learnt on top of it.
        variance: Option<f64>,
        /// How many measurements the reading is the mean of.
        n: u32,
    },
    /// The configuration did not work: the server did not start, crashed, or broke the workload.
    Failed,
    /// The trial was ended early; the reading would have been no better than this.
    Censored {
        /// The bound, in the objective's unit.
        bound: f64,
    },
}

impl Outcome {
    /// One plain reading.
    pub fn value(value: f64) -> Self {
        Self::Value { value, variance: None, n: 1 }
    }
}

/// Why a configuration is suggested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The default configuration, always first.
    Default,
    /// A seed that was added, with its label.
    Seed(String),
    /// The best configuration of an earlier study.
    Earlier,
    /// Part of the start design.
    Start,
    /// The model expects a gain.
    Search,
    /// A promising configuration again, to know it better.
    Repeat,
    /// Measured elsewhere and told without being asked.
    Told,
}

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Its number.
    pub id: TrialId,
    /// The configuration.
    pub values: Values,
    /// Why it was suggested.
    pub origin: Origin,
    /// What it brought; `None` while it is under way.
    pub outcome: Option<Outcome>,
    /// What it cost, in the user's unit (seconds, say).
    pub cost: Option<f64>,
    /// Constraints' readings; at most 0 holds.
    #[serde(default)]
    pub constraints: Vec<f64>,
}

/// A configuration and all that is known of it.
#[derive(Debug, Clone)]
pub(crate) struct Arm {
    pub(crate) point: Point,
    pub(crate) features: Vec<f64>,
    /// The first trial with this configuration.
    pub(crate) first: TrialId,
    /// Mean of the readings, and how many measurements are in it; 0 without any.
    pub(crate) mean: f64,
    pub(crate) n: f64,
    /// Variance of the mean that the measurements know of.
    pub(crate) variance: f64,
    pub(crate) failures: usize,
    pub(crate) pending: usize,
    /// The largest reading of each constraint.
    pub(crate) constraints: Vec<f64>,
}

impl Arm {
    pub(crate) fn measured(&self) -> bool {
        self.n > 0.0
    }
}

/// Gathers trials by configuration, in the order of their first trial.
pub(crate) fn arms(space: &Space, trials: &[Trial]) -> Vec<Arm> {
    let mut arms: Vec<Arm> = Vec::new();
    for trial in trials {
        // Values were checked when the trial was made.
        let Ok(point) = space.encode(&trial.values) else { continue };
        let known = arms.iter().position(|a| a.point == point);
        let at = known.unwrap_or_else(|| {
            arms.push(Arm {
                features: space.features(&point),
                point,
                first: trial.id,
                mean: 0.0,
                n: 0.0,
                variance: 0.0,
                failures: 0,
                pending: 0,
                constraints: Vec::new(),
            });
            arms.len() - 1
        });
        let arm = &mut arms[at];
        for (i, c) in trial.constraints.iter().enumerate() {
            if i < arm.constraints.len() {
                arm.constraints[i] = arm.constraints[i].max(*c);
            } else {
                arm.constraints.push(*c);
            }
        }
        match &trial.outcome {
            None => arm.pending += 1,
            Some(Outcome::Failed) => arm.failures += 1,
            Some(Outcome::Value { value, variance, n }) => {
                add(arm, *value, variance.unwrap_or(0.0), f64::from(*n).max(1.0));
            }
            Some(Outcome::Censored { bound }) => add(arm, *bound, 0.0, 1.0),
        }
    }
    arms
}

fn add(arm: &mut Arm, value: f64, variance: f64, n: f64) {
    let total = arm.n + n;
    let (old, new) = (arm.n / total, n / total);
    arm.mean = old * arm.mean + new * value;
    arm.variance = old * old * arm.variance + new * new * variance;
    arm.n = total;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Param;

    #[test]
    fn readings_of_the_same_configuration_are_one_arm_with_their_mean() {
        let space = Space::new(vec![Param::int("a", 0, 10, 5)], vec![]).unwrap();
        let trial = |id, a: i64, outcome| Trial {
            id,
            values: Values::from([("a".to_owned(), a.into())]),
            origin: Origin::Told,
            outcome,
            cost: None,
            constraints: vec![],
        };
        let trials = [
            trial(1, 5, Some(Outcome::Value { value: 10.0, variance: Some(4.0), n: 1 })),
            trial(2, 6, Some(Outcome::Failed)),
            trial(3, 5, Some(Outcome::Value { value: 16.0, variance: Some(4.0), n: 2 })),
            trial(4, 6, None),
        ];
        let arms = arms(&space, &trials);
        assert_eq!(arms.len(), 2);
        assert_eq!((arms[0].first, arms[0].mean, arms[0].n), (1, 14.0, 3.0));
        assert!((arms[0].variance - (4.0 / 9.0 + 16.0 / 9.0)).abs() < 1e-12);
        assert_eq!((arms[1].failures, arms[1].pending, arms[1].measured()), (1, 1, false));
    }
}
