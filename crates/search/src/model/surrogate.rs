//! All that the optimiser believes after the trials so far: the objective's model, its scale, the crash model.

use super::feasible::Feasibility;
use super::gp::{Belief, Data, Gp};
use super::kernel::{Hyper, Shape};
use super::normal::cdf;
use super::sample::Chain;
use super::scale::Scale;
use crate::history::Arm;
use crate::rng::Rng;
use crate::space::Space;

/// A measured arm is named for deployment if it keeps the constraints with at least this probability.
const DEPLOYABLE: f64 = 0.8;
/// Evaluations of the likelihood in one fit.
const FIT_STEPS: usize = 40;

/// Separates the draws' random numbers from those of the proposals.
const DRAWS: u64 = 0xD4A3;

/// How the hyper-parameters are drawn, where time allows.
const CHAIN: Chain = Chain { burn: 4, thin: 2, draws: 5, steps: 6, length: 0.1 };

/// Rough work of one evaluation of the likelihood and its gradient, in multiplications.
fn evaluation(points: usize, shape: Shape) -> usize {
    points * points * (points / 2 + 2 * shape.features())
}

/// How many draws are worth their time: a suggestion at 200 trials and 40 knobs must stay below 0.2 s, and the more
/// points there are, the less the draws differ.
fn draws(points: usize, shape: Shape) -> usize {
    let all = (CHAIN.burn + CHAIN.thin * CHAIN.draws) * CHAIN.steps * evaluation(points, shape);
    if all <= 30_000_000 { CHAIN.draws } else { 0 }
}

/// How many evaluations a fit may take, for the same reason; it starts where the last one ended.
fn fit_steps(points: usize, shape: Shape) -> usize {
    (80_000_000 / evaluation(points, shape).max(1)).clamp(8, FIT_STEPS)
}

/// The objective's model over the measured arms.
#[derive(Debug, Clone)]
pub(crate) struct Surrogate {
    pub(crate) scale: Scale,
    pub(crate) data: Data,
    /// The best fit first, then draws of its hyper-parameters.
    pub(crate) gps: Vec<Gp>,
    /// The model that has learnt the noise only. It has a say in what to try, none in what to deploy.
    pub(crate) sceptic: Gp,
    /// The measured arms' index in the history, in the order of the data.
    pub(crate) measured: Vec<usize>,
    /// Beliefs at the measured arms.
    pub(crate) beliefs: Vec<Belief>,
    /// Earlier studies' models, with the logarithm of their say.
    pub(crate) earlier: Vec<(Gp, f64)>,
    /// Which measured arms may be deployed: they work and keep the constraints.
    pub(crate) allowed: Vec<bool>,
    pub(crate) feasibility: Feasibility,
}

pub(crate) fn shape(space: &Space) -> Shape {
    let (numbers, levels) = space.feature_counts();
    Shape { numbers, levels }
}

impl Surrogate {
    /// Fits the model; `None` before the first reading.
    pub(crate) fn fit(
        space: &Space,
        arms: &[Arm],
        maximise: bool,
        start: Option<&Hyper>,
        seed: u64,
    ) -> Option<Self> {
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
        let map = Gp::fit(&data, start.unwrap_or(&middle), fit_steps(data.rows.len(), data.shape));
        let draws = draws(data.rows.len(), data.shape);
        let mut rng = Rng::of_step(seed, data.rows.len() as u64 ^ DRAWS);
        let mut gps =
            if draws > 0 { Gp::draws(&data, &map, Chain { draws, ..CHAIN }, &mut rng) } else { Vec::new() };
        let sceptic = Gp::with(&data, map.hyper.sceptic(data.shape), map.loss);
        gps.insert(0, map);
        let feasibility = Feasibility::fit(space, arms);
        let allowed = measured
            .iter()
            .map(|i| {
                let arm = &arms[*i];
                arm.failures == 0
                    && (arm.constraints.is_empty()
                        || feasibility.log_probability(&arm.features) > DEPLOYABLE.ln())
            })
            .collect();
        let mut surrogate = Self {
            scale,
            data,
            gps,
            sceptic,
            earlier: Vec::new(),
            measured,
            beliefs: Vec::new(),
            allowed,
            feasibility,
        };
        surrogate.beliefs = surrogate.data.rows.iter().map(|x| surrogate.predict(x)).collect();
        Some(surrogate)
    }

    /// Probability that a feature row is truly better than another, averaged over the models.
    pub(crate) fn better(&self, x: &[f64], than: &[f64]) -> f64 {
        let p = |gp: &Gp| {
            let d = gp.difference(x, than);
            cdf(d.mean / d.variance.sqrt())
        };
        self.gps.iter().map(p).sum::<f64>() / self.gps.len() as f64
    }

    /// Models that differ by what the readings leave open, also where a suggestion has no time for draws.
    pub(crate) fn draws_for_explaining(&self, seed: u64) -> Vec<Gp> {
        if self.gps.len() > 1 {
            return self.gps.clone();
        }
        let mut rng = Rng::of_step(seed, DRAWS);
        let chain = Chain { burn: 2, thin: 1, ..CHAIN };
        self.gps
            .iter()
            .flat_map(|fit| [vec![fit.clone()], Gp::draws(&self.data, fit, chain, &mut rng)].concat())
            .collect()
    }

    /// The belief at a feature row: the mixture of the models.
    pub(crate) fn predict(&self, x: &[f64]) -> Belief {
        mixture(self.gps.iter().map(|gp| gp.predict(x)))
    }

    /// The allowed arm with the best mean: its place in the data. The first arm (the default, whatever it is
    /// worth) if none is allowed.
    pub(crate) fn incumbent(&self) -> usize {
        let mut best: Option<usize> = None;
        for (i, b) in self.beliefs.iter().enumerate() {
            if self.allowed[i] && best.is_none_or(|j| b.mean > self.beliefs[j].mean) {
                best = Some(i);
            }
        }
        best.unwrap_or(0)
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
        next.sceptic = Gp::with(&next.data, self.sceptic.hyper.clone(), self.sceptic.loss);
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
