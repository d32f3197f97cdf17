//! The search for the configuration with the largest expected improvement.

use super::moves;
use crate::history::Arm;
use crate::model::gp::{Belief, Cursor, Gp};
use crate::model::normal::log_improvement;
use crate::model::surrogate::{Surrogate, mixture};
use crate::rng::Rng;
use crate::space::{Coord, Point, Space};

/// Random configurations that are looked at in each search.
const GLOBAL: usize = 150;
/// Mutations of good arms that are looked at in each search.
const MUTATIONS: usize = 300;
/// Configurations that are improved coordinate by coordinate; half as many where each look is slow.
const CLIMBS: usize = 4;
/// Squared points times knobs from which on a look is slow.
const SLOW: usize = 500_000;
/// Rounds over all coordinates in one climb.
const ROUNDS: usize = 3;

/// A configuration and the logarithm of its expected improvement.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) point: Point,
    pub(crate) score: f64,
}

/// A configuration that works with less than this probability is not tried while there is a safer one.
const LEAST_OK: f64 = 0.9;

/// The models whose expected improvement counts: the fits, and last the sceptic.
fn models(surrogate: &Surrogate) -> impl Iterator<Item = &Gp> {
    surrogate.gps.iter().chain([&surrogate.sceptic]).chain(surrogate.earlier.iter().map(|(gp, _)| gp))
}

/// What candidates are scored by.
struct Scorer<'a> {
    surrogate: &'a Surrogate,
    /// Each model's best mean over the allowed arms.
    thresholds: Vec<f64>,
    /// The logarithm of each model's say.
    says: Vec<f64>,
    wants: &'a Wants,
}

/// What a study wants besides a gain.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wants {
    /// What is applied now, and how many times as much a trial costs that changes a restart knob of it.
    pub(crate) restart: Option<(Point, f64)>,
    /// Safe mode: where steps start, how far they go, and the target that must be kept.
    pub(crate) safe: Option<SafeStep>,
}

/// The bounds of a step in safe mode.
#[derive(Debug, Clone)]
pub(crate) struct SafeStep {
    pub(crate) from: Point,
    /// Longest step of a numeric coordinate, in shares of its range.
    pub(crate) longest: f64,
    /// How many knobs may change at once.
    pub(crate) knobs: usize,
    /// The lower confidence bound must stay above this target.
    pub(crate) floor: f64,
}

/// Standard deviations between the mean and the lower confidence bound: one-sided 95 %.
const CONFIDENT: f64 = 1.645;

impl SafeStep {
    /// The nearest point within the bounds.
    fn clip(&self, space: &Space, point: &mut Point, rng: &mut Rng) {
        let mut changed = 0;
        let order = rng.permutation(point.len());
        for i in order {
            if point[i] == self.from[i] {
                continue;
            }
            changed += 1;
            if changed > self.knobs {
                point[i] = self.from[i];
            } else if let (Coord::Num(u), Coord::Num(v)) = (point[i], self.from[i]) {
                point[i] = Coord::Num(u.clamp(v - self.longest, v + self.longest));
            }
        }
        space.repair(point);
    }

    fn within(&self, point: &Point) -> bool {
        let mut changed = 0;
        point.iter().zip(&self.from).all(|(a, b)| {
            changed += usize::from(a != b);
            match (a, b) {
                (Coord::Num(u), Coord::Num(v)) => (u - v).abs() <= self.longest + 0.02,
                _ => true,
            }
        }) && changed <= self.knobs
    }
}

impl<'a> Scorer<'a> {
    fn new(surrogate: &'a Surrogate, wants: &'a Wants) -> Self {
        let allowed =
            || surrogate.data.rows.iter().zip(&surrogate.allowed).filter(|(_, a)| **a).map(|(x, _)| x);
        let best = |gp: &Gp| allowed().map(|x| gp.predict(x).mean).fold(f64::NEG_INFINITY, f64::max);
        let floor = |t: f64| if t.is_finite() { t } else { -2.0 };
        let own = surrogate.gps.iter().map(|_| 0.0).chain([SCEPTICS_SAY.ln()]);
        Self {
            surrogate,
            thresholds: models(surrogate).map(|gp| floor(best(gp))).collect(),
            says: own
                .chain(surrogate.earlier.iter().map(|(_, say)| *say + (surrogate.gps.len() as f64).ln()))
                .collect(),
            wants,
        }
    }

    fn cursors(&self, x: &[f64]) -> Vec<Cursor<'a>> {
        models(self.surrogate).map(|gp| Cursor::new(gp, x)).collect()
    }

    /// Log of the expected improvement over each model's own best mean, averaged over the models, plus the log of the
    /// probability that the configuration works at all.
    fn score(&self, space: &Space, point: &Point, x: &[f64], beliefs: impl Iterator<Item = Belief>) -> f64 {
        let beliefs: Vec<Belief> = beliefs.collect();
        if let Some(safe) = &self.wants.safe {
            let lowest = mixture(beliefs.iter().take(self.surrogate.gps.len()).copied());
            let bound = lowest.mean - CONFIDENT * lowest.variance.sqrt();
            if bound < safe.floor || !safe.within(point) {
                return UNSAFE + bound.min(safe.floor) - safe.floor;
            }
        }
        let cost = match &self.wants.restart {
            Some((now, cost)) if restarts(space, now, point) => cost.ln(),
            _ => 0.0,
        };
        let logs: Vec<f64> = beliefs
            .iter()
            .zip(self.thresholds.iter().zip(&self.says))
            .map(|(b, (t, say))| {
                let sd = b.variance.sqrt();
                say + sd.ln() + log_improvement((b.mean - t) / sd)
            })
            .collect();
        let top = logs.iter().fold(f64::NEG_INFINITY, |m, l| m.max(*l));
        let gain = top - cost + logs.iter().map(|l| (l - top).exp()).sum::<f64>().ln()
            - (self.surrogate.gps.len() as f64).ln();
        if self.surrogate.feasibility.trivial() {
            return gain;
        }
        let ok = self.surrogate.feasibility.log_probability(x);
        // Below the least probability the order is by safety alone, far under every safe candidate.
        if ok < LEAST_OK.ln() { UNSAFE + ok } else { gain + ok }
    }
}

/// True if going from `now` to `point` changes a restart knob.
pub(crate) fn restarts(space: &Space, now: &Point, point: &Point) -> bool {
    space.params().iter().zip(now.iter().zip(point)).any(|(p, (a, b))| p.restart && a != b)
}

/// The sceptic's say, beside 1 for each of the fits.
const SCEPTICS_SAY: f64 = 0.1;

/// Scores of unsafe candidates start here.
const UNSAFE: f64 = -1e6;

/// Finds the untried configuration with the largest score.
pub(crate) fn best(
    space: &Space,
    surrogate: &Surrogate,
    arms: &[Arm],
    wants: &Wants,
    rng: &mut Rng,
) -> Candidate {
    let scorer = Scorer::new(surrogate, wants);
    let tried = |p: &Point| arms.iter().any(|a| a.point == *p);
    let mut order: Vec<usize> = (0..surrogate.beliefs.len()).filter(|i| surrogate.allowed[*i]).collect();
    order.sort_by(|a, b| surrogate.beliefs[*b].mean.total_cmp(&surrogate.beliefs[*a].mean));
    let mut pool: Vec<Candidate> = Vec::new();
    for _ in 0..GLOBAL {
        let mut point = moves::random(space, rng);
        if let Some(safe) = &wants.safe {
            safe.clip(space, &mut point, rng);
        }
        let x = space.features(&point);
        let beliefs = models(surrogate).map(|gp| gp.predict(&x));
        pool.push(Candidate { score: scorer.score(space, &point, &x, beliefs), point });
    }
    let bases: Vec<&Arm> = order.iter().take(5).map(|i| &arms[surrogate.measured[*i]]).collect();
    for arm in &bases {
        let cursors = scorer.cursors(&arm.features);
        for _ in 0..MUTATIONS / bases.len() {
            let mut point = moves::mutated(space, &arm.point, rng);
            match &wants.restart {
                // Half of the looks keep the restart knobs as they are now.
                Some((now, cost)) if *cost > 1.0 && rng.chance(0.5) => {
                    for (i, p) in space.params().iter().enumerate().filter(|(_, p)| p.restart) {
                        let _ = p;
                        point[i] = now[i];
                    }
                    space.repair(&mut point);
                }
                _ => {}
            }
            if let Some(safe) = &wants.safe {
                safe.clip(space, &mut point, rng);
            }
            let x = space.features(&point);
            let beliefs = cursors.iter().map(|c| c.peek(&x));
            pool.push(Candidate { score: scorer.score(space, &point, &x, beliefs), point });
        }
    }
    pool.sort_by(|a, b| b.score.total_cmp(&a.score));
    pool.dedup_by(|a, b| a.point == b.point);
    let points = surrogate.data.rows.len();
    let climbs = if points * points * space.free().len() > SLOW { CLIMBS / 2 } else { CLIMBS };
    let starts: Vec<Candidate> = pool.iter().take(climbs).cloned().collect();
    let mut winners: Vec<Candidate> =
        starts.into_iter().map(|start| climb(space, &scorer, start, rng, &tried)).collect();
    winners.extend(pool);
    winners.sort_by(|a, b| b.score.total_cmp(&a.score));
    let fresh = winners.iter().find(|c| !tried(&c.point)).cloned();
    // Everything the search saw was tried already: a small space. Any untried point will do, else the best again.
    fresh.unwrap_or_else(|| {
        for _ in 0..500 {
            let point = moves::random(space, rng);
            if !tried(&point) {
                return Candidate { point, score: f64::NEG_INFINITY };
            }
        }
        winners.swap_remove(0)
    })
}

fn climb(
    space: &Space,
    scorer: &Scorer<'_>,
    start: Candidate,
    rng: &mut Rng,
    tried: &impl Fn(&Point) -> bool,
) -> Candidate {
    let mut current = start;
    let mut x = space.features(&current.point);
    let mut cursors = scorer.cursors(&x);
    let free = space.free();
    for _ in 0..ROUNDS {
        let before = current.score;
        for at in rng.permutation(free.len()) {
            let i = free[at];
            let mut found: Option<Candidate> = None;
            for coord in moves::alternatives(&space.params()[i], current.point[i], rng) {
                let mut point = current.point.clone();
                point[i] = coord;
                space.repair(&mut point);
                let features = space.features(&point);
                let s = scorer.score(space, &point, &features, cursors.iter().map(|c| c.peek(&features)));
                if s > found.as_ref().map_or(current.score, |f| f.score) && !tried(&point) {
                    found = Some(Candidate { point, score: s });
                }
            }
            if let Some(better) = found {
                current = better;
                x = space.features(&current.point);
                cursors.iter_mut().for_each(|c| c.go(&x));
            }
        }
        if current.score - before < 1e-3 {
            break;
        }
    }
    current
}
