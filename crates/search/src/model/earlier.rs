//! Earlier studies (another workload, machine or version) as models with a say that their rank agreement earns.

use super::gp::{Data, Gp};
use super::kernel::Hyper;
use super::scale::Scale;
use super::surrogate::shape;
use crate::space::{Space, Values};

/// Readings of an earlier study that are used at most; the best ones stay.
const MOST: usize = 80;
/// Evaluations of the likelihood in the fit.
const FIT_STEPS: usize = 60;

/// Fits an earlier study's readings; `None` if fewer than three of its configurations fit the space.
pub(crate) fn fit(space: &Space, trials: &[(Values, f64)], maximise: bool) -> Option<Gp> {
    let mut known: Vec<_> = trials.iter().filter_map(|(v, r)| Some((space.encode(v).ok()?, *r))).collect();
    if known.len() < 3 {
        return None;
    }
    let sign = if maximise { 1.0 } else { -1.0 };
    known.sort_by(|a, b| (sign * b.1).total_cmp(&(sign * a.1)));
    known.truncate(MOST);
    let readings: Vec<f64> = known.iter().map(|k| k.1).collect();
    let scale = Scale::fit(&readings, maximise);
    let n = known.len();
    let data = Data {
        shape: shape(space),
        rows: known.iter().map(|k| space.features(&k.0)).collect(),
        targets: readings.iter().map(|r| scale.target(*r)).collect(),
        repeats: vec![1.0; n],
        variances: vec![0.0; n],
    };
    Some(Gp::fit(&data, &Hyper::middle(data.shape), FIT_STEPS))
}

/// Share of pairs that the earlier model puts in the order of this study's targets, shrunk towards one half as if
/// two more points were ordered at random (the ranking loss of RGPE, Feurer et al. 2018).
pub(crate) fn agreement(gp: &Gp, data: &Data) -> f64 {
    let means: Vec<f64> = data.rows.iter().map(|x| gp.predict(x).mean).collect();
    let (mut right, mut pairs) = (0.0, 0.0);
    for i in 0..means.len() {
        for j in 0..i {
            pairs += 1.0;
            if (means[i] > means[j]) == (data.targets[i] > data.targets[j]) {
                right += 1.0;
            }
        }
    }
    (right + 1.5) / (pairs + 3.0)
}

/// The logarithm of an earlier model's say among the models of this study: none at chance, and fading as this
/// study's own readings grow in number.
pub(crate) fn say(agreement: f64, points: usize) -> f64 {
    let above_chance = ((agreement - 0.5) * 2.0).max(0.0);
    (4.0 * above_chance.powi(2) * 10.0 / (10.0 + points as f64)).max(1e-9).ln()
}
