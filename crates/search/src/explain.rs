//! What the model says about the knobs: importance, effects, and what of the winner is needed.

use crate::history::Arm;
use crate::model::gp::{Belief, Cursor, Gp};
use crate::model::surrogate::Surrogate;
use crate::propose::moves;
use crate::rng::Rng;
use crate::space::{Coord, Point, Space, Value, Values};
use serde::{Deserialize, Serialize};

/// Walks from one configuration to another that importance is averaged over.
const WALKS: usize = 64;
/// Places on a numeric knob's effect curve.
const PLACES: usize = 11;
/// The share of the gain that the smallest configuration keeps.
const KEEP: f64 = 0.95;

/// How much one knob matters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Importance {
    /// The knob.
    pub name: String,
    /// Its share of all the change between random configurations, 0 to 1 (mean absolute Shapley contribution,
    /// by sampled permutations; Castro et al. 2009).
    pub share: f64,
    /// Standard deviation of the share over what the readings leave open.
    pub sd: f64,
    /// Its part of the winner's gain over the default, in the objective's unit; the parts add up to the gain.
    pub gain: f64,
}

/// One place of an effect curve: what the model expects when only this changes in the winner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The knob's value.
    pub value: Value,
    /// The second knob's value, in a two-knob effect.
    pub with: Option<Value>,
    /// Expected objective, in its own unit.
    pub mean: f64,
    /// Standard deviation of the expectation.
    pub sd: f64,
}

/// What the model expects of a configuration, in the objective's own unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the mean, without the noise of a reading.
    pub sd: f64,
}

/// The smallest configuration that keeps 95 % of the winner's gain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Smallest {
    /// Only the knobs that are not at their default.
    pub values: Values,
    /// Expected objective of it, in its own unit.
    pub mean: f64,
    /// Share of the winner's expected gain that it keeps.
    pub kept: f64,
    /// The winner's other changes, which do not matter.
    pub unneeded: Vec<String>,
}

/// A model with what explaining needs around it.
pub(crate) struct Explainer<'a> {
    pub(crate) space: &'a Space,
    pub(crate) model: &'a Surrogate,
    pub(crate) arms: &'a [Arm],
}

impl Explainer<'_> {
    fn winner(&self) -> &Point {
        &self.arms[self.model.measured[self.model.incumbent()]].point
    }

    fn reading(&self, point: &Point) -> f64 {
        self.model.scale.reading(self.model.predict(&self.space.features(point)).mean)
    }

    pub(crate) fn expected(&self, point: &Point) -> Expected {
        let Belief { mean, variance } = self.model.predict(&self.space.features(point));
        Expected { mean: self.model.scale.reading(mean), sd: variance.sqrt() * self.model.scale.slope(mean) }
    }

    /// One entry per knob, the most important first.
    pub(crate) fn importance(&self, seed: u64) -> Vec<Importance> {
        let free = self.space.free();
        let mut rng = Rng::of_step(seed, 0xE4);
        let models = self.model.draws_for_explaining(seed);
        let mut shares = vec![vec![0.0; free.len()]; models.len()];
        for _ in 0..WALKS {
            let (from, to) = (moves::random(self.space, &mut rng), moves::random(self.space, &mut rng));
            let order = rng.permutation(free.len());
            for (sums, gp) in shares.iter_mut().zip(&models) {
                walk(self.space, gp, &from, &to, &order, |knob, change| sums[knob] += change.abs());
            }
        }
        for sums in &mut shares {
            let total: f64 = sums.iter().sum();
            sums.iter_mut().for_each(|s| *s /= total.max(1e-300));
        }
        let gains = self.gains(&mut rng);
        let n = models.len() as f64;
        let mut out: Vec<Importance> = (0..free.len())
            .map(|k| {
                let mean = shares.iter().map(|s| s[k]).sum::<f64>() / n;
                let square = shares.iter().map(|s| (s[k] - mean).powi(2)).sum::<f64>();
                Importance {
                    name: self.space.params()[free[k]].name.clone(),
                    share: mean,
                    sd: (square / (n - 1.0).max(1.0)).sqrt(),
                    gain: gains[k],
                }
            })
            .collect();
        out.sort_by(|a, b| b.share.total_cmp(&a.share));
        out
    }

    /// Each knob's part of the winner's gain, in the objective's unit.
    fn gains(&self, rng: &mut Rng) -> Vec<f64> {
        let free = self.space.free();
        let (from, to) = (self.space.default_point(), self.winner().clone());
        let mut gains = vec![0.0; free.len()];
        for _ in 0..WALKS {
            let mut point = from.clone();
            let mut before = self.reading(&point);
            for k in rng.permutation(free.len()) {
                if point[free[k]] == to[free[k]] {
                    continue;
                }
                point[free[k]] = to[free[k]];
                let after = self.reading(&point);
                gains[k] += (after - before) / WALKS as f64;
                before = after;
            }
        }
        gains
    }

    /// What the objective does when `knob` (and `with`) changes in the winner.
    pub(crate) fn effect(&self, knob: usize, with: Option<usize>) -> Vec<Effect> {
        let mut out = Vec::new();
        for a in self.places(knob) {
            for b in with.map_or(vec![None], |w| self.places(w).into_iter().map(Some).collect()) {
                let mut point = self.winner().clone();
                point[knob] = a;
                if let (Some(w), Some(b)) = (with, b) {
                    point[w] = b;
                }
                let Belief { mean, variance } = self.model.predict(&self.space.features(&point));
                out.push(Effect {
                    value: self.space.params()[knob].decode(a),
                    with: with.zip(b).map(|(w, b)| self.space.params()[w].decode(b)),
                    mean: self.model.scale.reading(mean),
                    sd: variance.sqrt() * self.model.scale.slope(mean),
                });
            }
        }
        out
    }

    fn places(&self, knob: usize) -> Vec<Coord> {
        let param = &self.space.params()[knob];
        let mut out: Vec<Coord> = (0..param.levels()).map(Coord::Level).collect();
        if param.numeric() && param.ordinary_values() > 0 {
            let count = PLACES.min(param.ordinary_values());
            out.extend((0..count).map(|i| param.snap(Coord::Num(i as f64 / (count.max(2) - 1) as f64))));
        }
        out.dedup();
        out
    }

    /// Takes back, one by one, the change that costs least, as long as 95 % of the gain stays.
    pub(crate) fn smallest(&self) -> Smallest {
        let default = self.space.default_point();
        let mut point = self.winner().clone();
        let (base, full) = (self.reading(&default), self.reading(&point));
        let share = |reading: f64| if full == base { 1.0 } else { (reading - base) / (full - base) };
        let mut unneeded = Vec::new();
        loop {
            let mut found: Option<(usize, Point, f64)> = None;
            for &i in self.space.free() {
                if point[i] == default[i] {
                    continue;
                }
                let mut next = point.clone();
                next[i] = default[i];
                self.space.repair(&mut next);
                let kept = share(self.reading(&next));
                // A relation may undo the step: only a step that takes something back counts.
                if next[i] == default[i] && kept >= KEEP && found.as_ref().is_none_or(|f| kept > f.2) {
                    found = Some((i, next, kept));
                }
            }
            let Some((i, next, _)) = found else { break };
            unneeded.push(self.space.params()[i].name.clone());
            point = next;
        }
        let mut values = self.space.decode(&point);
        let defaults = self.space.decode(&default);
        values.retain(|name, value| defaults.get(name) != Some(value));
        let mean = self.reading(&point);
        Smallest { values, mean, kept: share(mean), unneeded }
    }
}

/// Changes `from` into `to` knob by knob and reports each change of the model's mean.
fn walk(
    space: &Space,
    gp: &Gp,
    from: &Point,
    to: &Point,
    order: &[usize],
    mut report: impl FnMut(usize, f64),
) {
    let mut point = from.clone();
    let mut x = space.features(&point);
    let mut cursor = Cursor::new(gp, &x);
    let mut before = cursor.peek_mean(&x);
    for &k in order {
        point[space.free()[k]] = to[space.free()[k]];
        x = space.features(&point);
        cursor.go(&x);
        let after = cursor.peek_mean(&x);
        report(k, after - before);
        before = after;
    }
}
