//! Ways to get from one configuration to another.

use crate::rng::Rng;
use crate::space::{Coord, Param, Point, Space};

/// A coordinate drawn evenly: special values and ends of the range get their share.
pub(crate) fn anywhere(param: &Param, rng: &mut Rng) -> Coord {
    let levels = param.levels();
    if !param.numeric() || param.ordinary_values() == 0 {
        return Coord::Level(rng.below(levels));
    }
    if levels > 0 && rng.chance(SPECIAL_SHARE) {
        return Coord::Level(rng.below(levels));
    }
    Coord::Num(rng.unit())
}

/// Share of draws that a parameter's special values get together (LlamaTune, VLDB 2022, biases 20 % to them).
const SPECIAL_SHARE: f64 = 0.2;

/// All the coordinates worth trying for one parameter when the rest stays: each level, the ends, near and far steps.
pub(crate) fn alternatives(param: &Param, from: Coord, rng: &mut Rng) -> Vec<Coord> {
    let mut out = Vec::new();
    for l in 0..param.levels() {
        out.push(Coord::Level(l));
    }
    if param.numeric() && param.ordinary_values() > 0 {
        out.extend([Coord::Num(0.0), Coord::Num(1.0), Coord::Num(rng.unit())]);
        if let Coord::Num(u) = from {
            for step in [0.05, 0.2] {
                let step = step * rng.range(0.5, 1.5);
                out.extend([Coord::Num((u - step).max(0.0)), Coord::Num((u + step).min(1.0))]);
            }
        }
    }
    for c in &mut out {
        *c = param.snap(*c);
    }
    out.retain(|c| *c != from);
    out
}

/// A random configuration that keeps the relations.
pub(crate) fn random(space: &Space, rng: &mut Rng) -> Point {
    let mut point = space.default_point();
    for &i in space.free() {
        point[i] = anywhere(&space.params()[i], rng);
    }
    space.repair(&mut point);
    point
}

/// `from` with a few parameters changed: one or two mostly, seldom many.
pub(crate) fn mutated(space: &Space, from: &Point, rng: &mut Rng) -> Point {
    let mut point = from.clone();
    let free = space.free();
    let mut changes = 1;
    while changes < free.len() && rng.chance(0.6) {
        changes += 1;
    }
    for at in rng.permutation(free.len()).into_iter().take(changes) {
        let i = free[at];
        let options = alternatives(&space.params()[i], point[i], rng);
        if !options.is_empty() {
            point[i] = options[rng.below(options.len())];
        }
    }
    space.repair(&mut point);
    point
}
