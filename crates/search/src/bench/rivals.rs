//! Two rivals to measure against: random search, and a tree-structured Parzen estimator.

use crate::propose::moves;
use crate::rng::Rng;
use crate::space::{Coord, Point, Space};

/// Who proposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rival {
    Random,
    Parzen,
}

/// A rival's trial: the configuration and its reading, or nothing for a crash.
pub(crate) type Seen = (Point, Option<f64>);

/// Random trials before the Parzen estimator starts, as in Optuna.
const WARMUP: usize = 10;
/// Configurations drawn from the good ones' density, as in Optuna.
const DRAWS: usize = 24;
/// Share of the trials that are good ones (at most 25), as in Bergstra et al. 2011 with Optuna's rule.
const GOOD: f64 = 0.1;
/// Weight of the flat prior in each density, in points.
const PRIOR: f64 = 1.0;

impl Rival {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Parzen => "TPE (ours)",
        }
    }

    /// The next configuration.
    pub(crate) fn next(self, space: &Space, seen: &[Seen], rng: &mut Rng) -> Point {
        if seen.is_empty() {
            return space.default_point();
        }
        if self == Self::Random || seen.len() < WARMUP {
            return moves::random(space, rng);
        }
        let mut order: Vec<&Seen> = seen.iter().collect();
        let worth = |s: &Seen| s.1.unwrap_or(f64::NEG_INFINITY);
        order.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
        let count = ((GOOD * seen.len() as f64).ceil() as usize).clamp(1, 25);
        let (good, bad) = order.split_at(count);
        let mut best: Option<(Point, f64)> = None;
        for _ in 0..DRAWS {
            let mut point = space.default_point();
            let mut score = 0.0;
            for &i in space.free() {
                point[i] = draw(space, i, good, rng);
                score += density(space, i, point[i], good).ln() - density(space, i, point[i], bad).ln();
            }
            space.repair(&mut point);
            if best.as_ref().is_none_or(|b| score > b.1) {
                best = Some((point, score));
            }
        }
        best.map_or_else(|| space.default_point(), |b| b.0)
    }
}

/// Width of a point's bump, in shares of the range.
fn width(count: usize) -> f64 {
    (1.0 / (1.0 + count as f64)).max(0.05)
}

fn draw(space: &Space, i: usize, from: &[&Seen], rng: &mut Rng) -> Coord {
    let param = &space.params()[i];
    if rng.chance(PRIOR / (PRIOR + from.len() as f64)) {
        return moves::anywhere(param, rng);
    }
    match from[rng.below(from.len())].0[i] {
        Coord::Num(u) => Coord::Num((u + width(from.len()) * rng.normal()).clamp(0.0, 1.0)),
        level @ Coord::Level(_) => level,
    }
}

fn density(space: &Space, i: usize, at: Coord, of: &[&Seen]) -> f64 {
    let w = width(of.len());
    let flat = match at {
        Coord::Num(_) => 1.0,
        Coord::Level(_) => 1.0 / space.params()[i].levels().max(1) as f64,
    };
    let bump = |s: &&Seen| match (s.0[i], at) {
        (Coord::Num(u), Coord::Num(v)) => (-0.5 * ((u - v) / w).powi(2)).exp() / (w * 2.506_628),
        (a, b) => f64::from(u8::from(a == b)),
    };
    (PRIOR * flat + of.iter().map(bump).sum::<f64>()) / (PRIOR + of.len() as f64)
}
