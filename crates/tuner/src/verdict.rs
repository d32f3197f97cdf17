//! The answer of a study: a difference between interleaved measurements, with an interval.

use crate::spec::Objective;
use knobs::Configuration;
use serde::{Deserialize, Serialize};

/// Confidence of every interval that a verdict rests on.
pub const CONFIDENCE: f64 = 0.95;

/// Is the best configuration better than the baseline?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The whole interval of the gain lies above 1.
    Improved,
    /// It does not, or nothing better was found.
    NoImprovement,
}

/// A factor of improvement with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// Best / baseline (for latencies the inverse: above 1 is always better).
    pub ratio: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The end of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Improved or not.
    pub answer: Answer,
    /// The proof's gain; `None` where there was no candidate to prove.
    pub gain: Option<Gain>,
    /// The proof's pairs, (baseline, candidate), in the objective's unit.
    pub pairs: Vec<(f64, f64)>,
    /// The candidate; `None` where nothing was better than the baseline.
    pub best: Option<Configuration>,
    /// One sentence of why, where the answer needs one.
    pub because: Option<String>,
}

impl Verdict {
    /// The search found nothing better than the baseline.
    pub fn nothing_better(because: impl Into<String>) -> Self {
        Self {
            answer: Answer::NoImprovement,
            gain: None,
            pairs: Vec::new(),
            best: None,
            because: Some(because.into()),
        }
    }

    /// Judges the proof: a Student's t interval of the mean log ratio of the pairs.
    pub fn of_pairs(objective: Objective, pairs: Vec<(f64, f64)>, best: Configuration) -> Self {
        let oriented: Vec<(f64, f64)> = pairs
            .iter()
            .map(
                |&(baseline, candidate)| {
                    if objective.higher_is_better() { (baseline, candidate) } else { (candidate, baseline) }
                },
            )
            .collect();
        let gain = stats::paired_ratio(&oriented, CONFIDENCE).map(|i| Gain {
            ratio: i.estimate,
            low: i.low,
            high: i.high,
        });
        let (answer, because) = match gain {
            Some(g) if g.low > 1.0 => (Answer::Improved, None),
            Some(_) => (
                Answer::NoImprovement,
                Some("the interval of the gain includes 1: the difference may be chance".to_owned()),
            ),
            None => (Answer::NoImprovement, Some("too few valid pairs for an interval".to_owned())),
        };
        Self { answer, gain, pairs, best: Some(best), because }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
        (0..12).map(|_| (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0
    }

    #[test]
    fn a_clear_difference_is_an_improvement_and_its_ratio_is_best_over_baseline() {
        let pairs = vec![(100.0, 160.0), (101.0, 158.0), (99.0, 161.0), (100.0, 159.0), (102.0, 162.0)];
        let verdict = Verdict::of_pairs(Objective::Tps, pairs, Configuration::default());
        assert_eq!(verdict.answer, Answer::Improved);
        let gain = verdict.gain.unwrap();
        assert!(gain.low > 1.5 && gain.high < 1.7 && (1.58..1.61).contains(&gain.ratio), "{gain:?}");
    }

    #[test]
    fn a_lower_latency_is_a_gain() {
        let pairs = vec![(200.0, 100.0), (210.0, 104.0), (190.0, 97.0), (205.0, 101.0), (199.0, 100.0)];
        assert!(Verdict::of_pairs(Objective::P99, pairs, Configuration::default()).gain.unwrap().ratio > 1.9);
    }

    #[test]
    fn identical_configurations_are_called_an_improvement_in_at_most_one_study_of_forty() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        let studies = 4_000;
        let won = (0..studies)
            .filter(|_| {
                let mut draw = || 100.0 * (0.05 * normal(&mut rng)).exp();
                let pairs = (0..5).map(|_| (draw(), draw())).collect();
                Verdict::of_pairs(Objective::Tps, pairs, Configuration::default()).answer == Answer::Improved
            })
            .count();
        let rate = won as f64 / f64::from(studies);
        // Only the upper tail of a two-sided 95 % interval: 2.5 %, standard error 0.25 points.
        assert!((0.0175..0.0325).contains(&rate), "{rate}");
    }
}
