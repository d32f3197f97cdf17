//! All that the optimiser believes after the trials so far: the objective's model, its scale, the crash model.

use super::gp::{Belief, Data, Gp};
use super::kernel::{Hyper, Shape};
use super::scale::Scale;
use crate::history::Arm;
use crate::space::Space;

/// Evaluations of the likelihood in one fit.
const FIT_STEPS: usize = 40;

/// The objective's model over the measured arms.
#[derive(Debug, Clone)]
pub(crate) struct Surrogate {
    pub(crate) scale: Scale,
    pub(crate) data: Data,
    pub(crate) gps: Vec<Gp>,
    /// The measured arms' index in the history, in the order of the data.
    pub(crate) measured: Vec<usize>,
    /// Beliefs at the measured arms.
    pub(crate) beliefs: Vec<Belief>,
}

pub(crate) fn shape(space: &Space) -> Shape {
    let (numbers, levels) = space.feature_counts();
    Shape { numbers, levels }
}

impl Surrogate {
    /// Fits the model; `None` before the first reading.
    pub(crate) fn fit(space: &Space, arms: &[Arm], maximise: bool, start: Option<&Hyper>) -> Option<Self> {
        let measured: Vec<usize> = (0..arms.len()).filter(|i| arms[*i].measured()).collect();
        if measured.is_empty() {
            return None;
        }
        let readings: Vec<f64> = measured.iter().map(|i| arms[*i].mean).collect();
        let scale = Scale::fit(&readings, maximise);
        let targets: Vec<f64> = readings.iter().map(|r| scale.target(*r)).collect();
        let variances =
            measured.iter().zip(&targets).map(|(i, t)| arms[*i].variance / scale.slope(*t).powi(2));
        let data = Data {
            shape: shape(space),
            rows: measured.iter().map(|i| arms[*i].features.clone()).collect(),
            repeats: measured.iter().map(|i| arms[*i].n).collect(),
            variances: variances.collect(),
            targets,
        };
        let middle = Hyper::middle(data.shape);
        let gps = vec![Gp::fit(&data, start.unwrap_or(&middle), FIT_STEPS)];
        let mut surrogate = Self { scale, data, gps, measured, beliefs: Vec::new() };
        surrogate.beliefs = surrogate.data.rows.iter().map(|x| surrogate.predict(x)).collect();
        Some(surrogate)
    }

    /// The belief at a feature row: the mixture of the models.
    pub(crate) fn predict(&self, x: &[f64]) -> Belief {
        mixture(self.gps.iter().map(|gp| gp.predict(x)))
    }

    /// The measured arm with the best mean: its place in the data.
    pub(crate) fn incumbent(&self) -> usize {
        let mut best = 0;
        for (i, b) in self.beliefs.iter().enumerate() {
            if b.mean > self.beliefs[best].mean {
                best = i;
            }
        }
        best
    }

    /// The same models with the arms under way believed to bring what the model expects of them ("Kriging
    /// believer", Ginsbourger et al. 2010), so that a batch spreads out.
    pub(crate) fn with_pending(&self, arms: &[Arm]) -> Self {
        let pending: Vec<&Arm> = arms.iter().filter(|a| a.pending > 0).collect();
        if pending.is_empty() {
            return self.clone();
        }
        let mut next = self.clone();
        for arm in pending {
            let belief = self.predict(&arm.features);
            next.data.rows.push(arm.features.clone());
            next.data.targets.push(belief.mean);
            next.data.repeats.push(1.0);
            next.data.variances.push(0.0);
        }
        next.gps = self.gps.iter().map(|gp| Gp::with(&next.data, gp.hyper.clone(), gp.loss)).collect();
        next
    }
}

/// Mean and variance of an even mixture.
pub(crate) fn mixture(beliefs: impl Iterator<Item = Belief>) -> Belief {
    let (mut n, mut mean, mut square) = (0.0, 0.0, 0.0);
    for b in beliefs {
        n += 1.0;
        mean += b.mean;
        square += b.variance + b.mean * b.mean;
    }
    mean /= n;
    Belief { mean, variance: (square / n - mean * mean).max(1e-12) }
}
