//! Which configurations work: a model of crashes, and one of each constraint's readings.

use super::gp::{Belief, Data, Gp};
use super::kernel::Hyper;
use super::normal::log_cdf;
use super::surrogate::shape;
use crate::history::Arm;
use crate::space::Space;

/// Label of a crashed configuration; one that worked is 1.
const CRASHED: f64 = -1.0;
/// What is believed of a configuration nothing is known about: most work.
const PRIOR: f64 = 0.5;
/// Variance of the labels around the latent function: a boundary is not known more sharply than this.
const BLUR: f64 = 0.05;
/// Evaluations of the likelihood in one fit.
const FIT_STEPS: usize = 30;

/// The probability that a configuration works and keeps the constraints.
#[derive(Debug, Clone, Default)]
pub(crate) struct Feasibility {
    crash: Option<Gp>,
    constraints: Vec<(Gp, f64)>,
}

impl Feasibility {
    pub(crate) fn fit(space: &Space, arms: &[Arm]) -> Self {
        let shape = shape(space);
        let fit = |known: &[&Arm], targets: Vec<f64>| {
            let n = known.len();
            let data = Data {
                shape,
                rows: known.iter().map(|a| a.features.clone()).collect(),
                targets,
                repeats: vec![1.0; n],
                variances: vec![0.0; n],
            };
            Gp::fit(&data, &Hyper::middle(shape), FIT_STEPS)
        };
        let known: Vec<&Arm> = arms.iter().filter(|a| a.measured() || a.failures > 0).collect();
        let crash = known.iter().any(|a| a.failures > 0).then(|| {
            let label = |a: &&Arm| if a.failures > 0 { CRASHED } else { 1.0 } - PRIOR;
            fit(&known, known.iter().map(label).collect())
        });
        let count = arms.iter().map(|a| a.constraints.len()).max().unwrap_or(0);
        let constraints = (0..count).filter_map(|c| {
            let known: Vec<&Arm> = arms.iter().filter(|a| a.constraints.len() > c).collect();
            // The zero is what matters, so readings are scaled around it and not around their mean.
            let square = known.iter().map(|a| a.constraints[c].powi(2)).sum::<f64>() / known.len() as f64;
            let spread = square.sqrt();
            (spread > 0.0)
                .then(|| (fit(&known, known.iter().map(|a| a.constraints[c] / spread).collect()), spread))
        });
        Self { crash, constraints: constraints.collect() }
    }

    /// True if there is nothing to beware of.
    pub(crate) fn trivial(&self) -> bool {
        self.crash.is_none() && self.constraints.is_empty()
    }

    /// Logarithm of the probability that a feature row works and keeps every constraint.
    pub(crate) fn log_probability(&self, x: &[f64]) -> f64 {
        let mut sum = 0.0;
        if let Some(gp) = &self.crash {
            let Belief { mean, variance } = gp.predict(x);
            sum += log_cdf((mean + PRIOR) / (variance + BLUR).sqrt());
        }
        for (gp, _) in &self.constraints {
            let Belief { mean, variance } = gp.predict(x);
            sum += log_cdf(-mean / variance.sqrt());
        }
        sum
    }
}
