//! The search for the configuration with the largest expected improvement.

use super::moves;
use crate::history::Arm;
use crate::model::gp::{Belief, Cursor};
use crate::model::normal::log_improvement;
use crate::model::surrogate::Surrogate;
use crate::rng::Rng;
use crate::space::{Point, Space};

/// Random configurations that are looked at in each search.
const GLOBAL: usize = 150;
/// Mutations of good arms that are looked at in each search.
const MUTATIONS: usize = 300;
/// Configurations that are improved coordinate by coordinate.
const CLIMBS: usize = 4;
/// Rounds over all coordinates in one climb.
const ROUNDS: usize = 3;

/// A configuration and the logarithm of its expected improvement.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) point: Point,
    pub(crate) score: f64,
}

/// Log of the expected improvement over each model's own best mean, averaged over the models.
fn score(beliefs: &[Belief], thresholds: &[f64]) -> f64 {
    let logs = beliefs.iter().zip(thresholds).map(|(b, t)| {
        let sd = b.variance.sqrt();
        sd.ln() + log_improvement((b.mean - t) / sd)
    });
    let logs: Vec<f64> = logs.collect();
    let top = logs.iter().fold(f64::NEG_INFINITY, |m, l| m.max(*l));
    top + (logs.iter().map(|l| (l - top).exp()).sum::<f64>() / logs.len() as f64).ln()
}

/// Finds the untried configuration with the largest score.
pub(crate) fn best(space: &Space, surrogate: &Surrogate, arms: &[Arm], rng: &mut Rng) -> Candidate {
    let thresholds: Vec<f64> = surrogate
        .gps
        .iter()
        .map(|gp| surrogate.data.rows.iter().map(|x| gp.predict(x).mean).fold(f64::NEG_INFINITY, f64::max))
        .collect();
    let tried = |p: &Point| arms.iter().any(|a| a.point == *p);
    let mut order: Vec<usize> = (0..surrogate.beliefs.len()).collect();
    order.sort_by(|a, b| surrogate.beliefs[*b].mean.total_cmp(&surrogate.beliefs[*a].mean));
    let mut pool: Vec<Candidate> = Vec::new();
    for _ in 0..GLOBAL {
        let point = moves::random(space, rng);
        let x = space.features(&point);
        let beliefs: Vec<Belief> = surrogate.gps.iter().map(|gp| gp.predict(&x)).collect();
        pool.push(Candidate { score: score(&beliefs, &thresholds), point });
    }
    let bases: Vec<usize> = order.iter().copied().take(5).collect();
    for &base in &bases {
        let arm = &arms[surrogate.measured[base]];
        let cursors: Vec<Cursor<'_>> =
            surrogate.gps.iter().map(|gp| Cursor::new(gp, &arm.features)).collect();
        for _ in 0..MUTATIONS / bases.len() {
            let point = moves::mutated(space, &arm.point, rng);
            let x = space.features(&point);
            let beliefs: Vec<Belief> = cursors.iter().map(|c| c.peek(&x)).collect();
            pool.push(Candidate { score: score(&beliefs, &thresholds), point });
        }
    }
    pool.sort_by(|a, b| b.score.total_cmp(&a.score));
    pool.dedup_by(|a, b| a.point == b.point);
    let mut winners: Vec<Candidate> = Vec::new();
    let starts: Vec<Candidate> = pool.iter().take(CLIMBS).cloned().collect();
    for start in starts {
        winners.push(climb(space, surrogate, &thresholds, start, rng, &tried));
    }
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
    surrogate: &Surrogate,
    thresholds: &[f64],
    start: Candidate,
    rng: &mut Rng,
    tried: &impl Fn(&Point) -> bool,
) -> Candidate {
    let mut current = start;
    let mut x = space.features(&current.point);
    let mut cursors: Vec<Cursor<'_>> = surrogate.gps.iter().map(|gp| Cursor::new(gp, &x)).collect();
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
                let beliefs: Vec<Belief> = cursors.iter().map(|c| c.peek(&features)).collect();
                let s = score(&beliefs, thresholds);
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
