//! The first points: around the default, each knob seen low and high, none blind.

use super::moves;
use crate::model::surrogate::Surrogate;
use crate::rng::Rng;
use crate::space::{Coord, Point, Space};

/// How many start points a study gets besides the default and the seeds.
pub(crate) fn size(space: &Space, trials: Option<usize>) -> usize {
    let wanted = (4 + space.free().len() / 4).min(10);
    // A short study keeps two thirds of its trials for the search proper.
    trials.map_or(wanted, |t| wanted.min(t / 3)).max(2)
}

/// Start point number `index` of `count`: a Latin hypercube in which each knob's values are spread evenly over the
/// points, special values included. Pure function of its arguments, so points can be drawn one at a time.
pub(crate) fn point(space: &Space, seed: u64, index: usize, count: usize) -> Point {
    // One generator for the design as a whole: the permutations must be the same at each call.
    let mut design = Rng::of_step(seed, u64::MAX);
    let mut point = space.default_point();
    for &i in space.free() {
        let param = &space.params()[i];
        let order = design.permutation(count.max(1));
        let slot = order[index % order.len()];
        let offset = design.unit();
        let mut own = Rng::of_step(seed ^ (i as u64) << 32, index as u64);
        let u = (slot as f64 + own.unit()) / count as f64;
        point[i] = if param.numeric() && param.ordinary_values() > 0 {
            if param.levels() > 0 && own.chance(1.0 / count as f64) {
                Coord::Level(own.below(param.levels()))
            } else {
                Coord::Num(u)
            }
        } else {
            let levels = param.levels();
            Coord::Level((slot + (offset * levels as f64) as usize) % levels)
        };
    }
    space.repair(&mut point);
    point
}

/// Once something crashed: the point with some of its knobs put back to the default, whichever variant works most
/// probably.
pub(crate) fn careful(
    space: &Space,
    point: Point,
    model: &Surrogate,
    taken: &[Point],
    rng: &mut Rng,
) -> Point {
    let default = space.default_point();
    let mut best: Option<(Point, f64)> = None;
    for round in 0..VARIANTS {
        let mut variant = point.clone();
        for i in 0..variant.len() {
            if rng.chance((1 + round % 3) as f64 / 4.0) {
                variant[i] = default[i];
            }
        }
        space.repair(&mut variant);
        let ok = model.feasibility.log_probability(&space.features(&variant));
        if !taken.contains(&variant) && best.as_ref().is_none_or(|b| ok > b.1) {
            best = Some((variant, ok));
        }
    }
    best.map_or(point, |b| b.0)
}

/// Variants of a start point that are looked at after a crash.
const VARIANTS: usize = 12;

/// A start point that is not among `taken`.
pub(crate) fn fresh(space: &Space, seed: u64, index: usize, count: usize, taken: &[Point]) -> Point {
    let mut candidate = point(space, seed, index, count);
    let mut rng = Rng::of_step(seed, 1 << 40 | index as u64);
    for _ in 0..100 {
        if !taken.contains(&candidate) {
            break;
        }
        candidate = moves::random(space, &mut rng);
    }
    candidate
}
