//! Relations between parameters, kept by moving a point and not by throwing it away.
//!
//! A repair lowers values and raises one only where nothing can be lowered, so repairs in a loop come to rest.

use super::param::{Coord, Kind, Param};
use super::value::Value;
use serde::{Deserialize, Serialize};

/// A product of parameters and a factor, a term of a budget: `factor * a * b * ...`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// What one unit of the product costs; must be positive.
    pub factor: f64,
    /// The numeric parameters that are multiplied.
    pub params: Vec<String>,
}

/// What must hold between the parameters of a configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// `small <= large`.
    LessEq {
        /// The smaller parameter.
        small: String,
        /// The larger parameter.
        large: String,
    },
    /// `param` is a whole multiple of `of`.
    MultipleOf {
        /// The multiple.
        param: String,
        /// The divisor.
        of: String,
    },
    /// The sum of the terms is at most `limit` (a memory budget).
    Budget {
        /// What is added up.
        terms: Vec<Term>,
        /// What the sum may reach.
        limit: f64,
    },
}

/// A relation with the parameters' indexes in place of their names.
#[derive(Debug, Clone)]
pub(super) enum Rule {
    LessEq(usize, usize),
    MultipleOf(usize, usize),
    Budget(Vec<(f64, Vec<usize>)>, f64),
}

/// A number, or nothing for a special value: "automatic" takes part in no relation.
fn ordinary(params: &[Param], point: &[Coord], i: usize) -> Option<f64> {
    match point[i] {
        Coord::Num(_) => params[i].decode(point[i]).as_f64(),
        Coord::Level(_) => None,
    }
}

fn sum(params: &[Param], point: &[Coord], terms: &[(f64, Vec<usize>)]) -> f64 {
    terms
        .iter()
        .map(|(factor, of)| {
            factor * of.iter().map(|i| ordinary(params, point, *i).unwrap_or(0.0).max(0.0)).product::<f64>()
        })
        .sum()
}

impl Rule {
    pub(super) fn holds(&self, params: &[Param], point: &[Coord]) -> bool {
        match self {
            Self::LessEq(small, large) => {
                match (ordinary(params, point, *small), ordinary(params, point, *large)) {
                    (Some(s), Some(l)) => s <= l,
                    _ => true,
                }
            }
            Self::MultipleOf(param, of) => {
                match (ordinary(params, point, *param), ordinary(params, point, *of)) {
                    (Some(p), Some(o)) if o > 0.0 => (p / o).fract() == 0.0,
                    _ => true,
                }
            }
            Self::Budget(terms, limit) => sum(params, point, terms) <= *limit,
        }
    }

    /// Moves the point so that the relation holds, if it can.
    pub(super) fn repair(&self, params: &[Param], point: &mut [Coord]) {
        if self.holds(params, point) {
            return;
        }
        match self {
            Self::LessEq(small, large) => {
                if let Some(limit) = ordinary(params, point, *large) {
                    lower_to(params, point, *small, limit);
                }
                // The smaller one cannot go low enough: the larger one has to rise.
                if let (false, Some(floor)) = (self.holds(params, point), ordinary(params, point, *small)) {
                    raise_to(params, point, *large, floor);
                }
            }
            Self::MultipleOf(param, of) => {
                if let (Some(p), Some(o)) = (ordinary(params, point, *param), ordinary(params, point, *of)) {
                    let down = (p / o).floor() * o;
                    set_nearest(
                        params,
                        point,
                        *param,
                        if down >= least(params, *param) { down } else { down + o },
                    );
                }
            }
            Self::Budget(terms, limit) => {
                // All the parameters in the budget go the same share of their way down, found by bisection.
                let mut members: Vec<usize> = terms.iter().flat_map(|(_, of)| of.iter().copied()).collect();
                members.sort_unstable();
                members.dedup();
                let start = point.to_vec();
                let shrink = |point: &mut [Coord], share: f64| {
                    for &i in &members {
                        if let Coord::Num(u) = start[i] {
                            point[i] = params[i].snap(Coord::Num(u * share));
                        }
                    }
                };
                let (mut low, mut high) = (0.0, 1.0);
                for _ in 0..40 {
                    let middle = 0.5 * (low + high);
                    shrink(point, middle);
                    if sum(params, point, terms) <= *limit { low = middle } else { high = middle }
                }
                shrink(point, low);
            }
        }
    }
}

fn least(params: &[Param], i: usize) -> f64 {
    params[i].decode(Coord::Num(0.0)).as_f64().unwrap_or(f64::NEG_INFINITY)
}

/// Sets the largest value that is at most `limit`, or the smallest there is.
fn lower_to(params: &[Param], point: &mut [Coord], i: usize, limit: f64) {
    set_nearest(params, point, i, limit);
    let mut steps = 0;
    while ordinary(params, point, i).is_some_and(|v| v > limit) && steps < 64 {
        let Coord::Num(u) = point[i] else { return };
        let next = params[i].snap(Coord::Num((u - 2f64.powi(steps - 40)).max(0.0)));
        point[i] = next;
        steps += 1;
    }
}

/// Sets the smallest value that is at least `floor`, or the largest there is.
fn raise_to(params: &[Param], point: &mut [Coord], i: usize, floor: f64) {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let value = params[i].decode(Coord::Num(middle)).as_f64();
        if value.is_some_and(|v| v >= floor) { high = middle } else { low = middle }
    }
    point[i] = params[i].snap(Coord::Num(high));
}

fn set_nearest(params: &[Param], point: &mut [Coord], i: usize, x: f64) {
    let clamped = match &params[i].kind {
        Kind::Int { min, max, step, .. } => {
            // Rounded towards the smallest value, so that an upper limit is kept.
            let x = (x.floor().max(*min as f64).min(*max as f64)) as i64;
            Value::Int(min + (x - min) / step * step)
        }
        Kind::Float { min, max, .. } => Value::Float(x.clamp(*min, *max)),
        Kind::Ordinal(values) => {
            let below = values.iter().rfind(|v| v.as_f64().is_some_and(|v| v <= x));
            below.unwrap_or(&values[0]).clone()
        }
        Kind::Enum(_) | Kind::Bool => return,
    };
    if let Some(coord @ Coord::Num(_)) = params[i].encode(&clamped) {
        point[i] = coord;
    }
}
