//! What one trial is to do, and why it is done.

use knobs::Configuration;
use serde::{Deserialize, Serialize};

/// Which arm of the proof a measurement belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arm {
    /// The configuration found at the start.
    Baseline,
    /// The best one.
    Candidate,
}

/// Why a trial is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase", deny_unknown_fields)]
pub enum Purpose {
    /// The configuration found at the start, at the start or again.
    Baseline,
    /// A configuration that the user wants tried.
    Suggested {
        /// Its place in the study's list, from 0.
        index: usize,
    },
    /// A point of the search.
    Search {
        /// The optimiser's number for it.
        suggestion: u64,
    },
    /// The best configuration without the changes that the model finds needless.
    Reduced,
    /// One half of a pair of the proof.
    Proof {
        /// The pair, from 1.
        pair: u32,
        /// Which half.
        arm: Arm,
    },
}

/// A trial, as stored before it is begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Why it is made.
    pub purpose: Purpose,
    /// What is applied; empty is the configuration found at the start.
    pub configuration: Configuration,
}

/// The order of the proof's measurements: pairs in ABBA order, so that a linear drift hits both arms alike.
pub fn proof_order(pairs: u32) -> impl Iterator<Item = (u32, Arm)> {
    (1..=pairs).flat_map(|pair| {
        let arms =
            if pair % 2 == 1 { [Arm::Baseline, Arm::Candidate] } else { [Arm::Candidate, Arm::Baseline] };
        arms.map(|arm| (pair, arm))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_alternate_their_order() {
        use Arm::{Baseline as A, Candidate as B};
        let order: Vec<_> = proof_order(3).collect();
        assert_eq!(order, [(1, A), (1, B), (2, B), (2, A), (3, A), (3, B)]);
    }

    #[test]
    fn a_linear_drift_cancels_over_two_pairs() {
        let at = |arm| -> f64 {
            proof_order(2).enumerate().filter(|(_, (_, a))| *a == arm).map(|(i, _)| i as f64).sum()
        };
        assert_eq!(at(Arm::Baseline), at(Arm::Candidate));
    }

    #[test]
    fn a_plan_survives_the_store() {
        let plan = Plan {
            purpose: Purpose::Proof { pair: 2, arm: Arm::Candidate },
            configuration: Configuration::default(),
        };
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }
}
