//! Synthetic tasks shaped like servers, with their optimum known by construction.
//!
//! Each active knob has a response between `1 - weight` and 1: a plateau behind a knee, a peak, a cliff, a special
//! value that is better or worse than the range, an enumeration's names. Pairs add ridges (two sizes must match) and
//! gates (one knob matters only behind another). Responses multiply, or the worst of two groups limits the whole (a
//! bottleneck). All responses reach 1 together at one configuration, so the optimum is the scale itself.

use super::task::Truth;
use crate::rng::Rng;
use crate::space::{Coord, Kind, Param, Point, Space, Values};

/// What a task is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    pub(crate) knobs: usize,
    pub(crate) active: usize,
    pub(crate) pairs: usize,
    pub(crate) bottleneck: bool,
    pub(crate) noise: f64,
    /// About a fifth of the space crashes.
    pub(crate) crashes: bool,
    /// A constraint forbids about a third of the space.
    pub(crate) constrained: bool,
    /// Share of knobs whose change costs a restart.
    pub(crate) restarts: f64,
    pub(crate) seed: u64,
}

impl Spec {
    pub(crate) const fn plain(
        name: &'static str,
        knobs: usize,
        active: usize,
        noise: f64,
        seed: u64,
    ) -> Self {
        Self {
            name,
            knobs,
            active,
            pairs: 0,
            bottleneck: false,
            noise,
            crashes: false,
            constrained: false,
            restarts: 0.0,
            seed,
        }
    }
}

#[derive(Debug, Clone)]
enum Shape {
    Inert,
    /// Rises (or falls) up to the knee, then flat.
    Plateau {
        knee: f64,
        up: bool,
    },
    Peak {
        at: f64,
    },
    /// Low on one side.
    Cliff {
        at: f64,
        up: bool,
    },
    /// One factor in `[0, 1]` per level.
    Levels(Vec<f64>),
}

#[derive(Debug, Clone)]
struct Response {
    shape: Shape,
    weight: f64,
    /// How good a special value is in place of the range, `[0, 1]`.
    special: f64,
    group: usize,
}

#[derive(Debug, Clone)]
enum Pair {
    /// Both positions must match, from their best places.
    Ridge { a: usize, b: usize, weight: f64 },
    /// `b` counts only where `a` is close to its best.
    Gate { a: usize, b: usize, weight: f64 },
}

/// A generated task.
#[derive(Debug, Clone)]
pub(crate) struct Synthetic {
    pub(crate) name: String,
    pub(crate) space: Space,
    pub(crate) noise: f64,
    responses: Vec<Response>,
    pairs: Vec<Pair>,
    bottleneck: bool,
    scale: f64,
    /// Knobs whose positions add up to a load, and the load that crashes.
    crash: Option<(Vec<usize>, f64)>,
    constraint: Option<(Vec<usize>, f64)>,
}

fn knob(i: usize, rng: &mut Rng) -> Param {
    let name = format!("knob_{i:02}");
    match rng.below(10) {
        0 => Param::bool(&name, rng.chance(0.5)),
        1 => {
            let names = ["alpha", "beta", "gamma", "delta"];
            let n = 2 + rng.below(3);
            Param::choice(&name, &names[..n], names[rng.below(n)])
        }
        kind => {
            let low = [1i64, 4, 100, 1024, 16_384][rng.below(5)];
            let ratio = [64i64, 1000, 16_384, 1_000_000][rng.below(4)];
            // Vendors' defaults are small.
            let u = rng.range(0.05, 0.6);
            let linear = kind == 2;
            let high = low * ratio;
            let at = if linear {
                low as f64 + u * (high - low) as f64
            } else {
                low as f64 * ((ratio as f64).ln() * u).exp()
            };
            let p = Param::int(&name, low, high, at as i64);
            let mut p = if linear { p } else { p.log() };
            if kind == 3 {
                p = p.special(0);
                if rng.chance(0.7) {
                    p.default = 0.into();
                }
            }
            p
        }
    }
}

impl Synthetic {
    pub(crate) fn new(spec: &Spec) -> Self {
        let mut rng = Rng::of_step(spec.seed, 0x5EED);
        let mut params: Vec<Param> = (0..spec.knobs).map(|i| knob(i, &mut rng)).collect();
        let order = rng.permutation(spec.knobs);
        let mut responses: Vec<Response> = Vec::new();
        for _ in 0..spec.knobs {
            responses.push(Response { shape: Shape::Inert, weight: 0.0, special: 1.0, group: rng.below(2) });
        }
        for (rank, &i) in order.iter().take(spec.active).enumerate() {
            let r = &mut responses[i];
            // A few knobs do most: weights fall from 0.45 to 0.04.
            r.weight = 0.45 * (0.09f64).powf(rank as f64 / spec.active.max(2) as f64) * rng.range(0.7, 1.2);
            r.special = if rng.chance(0.4) { 1.0 } else { rng.unit() * 0.8 };
            r.shape = match &params[i].kind {
                Kind::Enum(_) | Kind::Bool => {
                    let n = params[i].levels();
                    let mut factors: Vec<f64> = (0..n).map(|_| rng.unit() * 0.8).collect();
                    factors[rng.below(n)] = 1.0;
                    Shape::Levels(factors)
                }
                Kind::Float { .. } | Kind::Int { .. } | Kind::Ordinal(_) => match rng.below(10) {
                    0..=3 => Shape::Plateau { knee: rng.range(0.5, 1.0), up: rng.chance(0.75) },
                    4..=6 => Shape::Peak { at: rng.range(0.2, 0.95) },
                    _ => Shape::Cliff { at: rng.range(0.3, 0.8), up: rng.chance(0.75) },
                },
            };
        }
        let mut pairs = Vec::new();
        let numeric: Vec<usize> =
            order.iter().take(spec.active).copied().filter(|i| params[*i].numeric()).collect();
        for _ in 0..spec.pairs {
            if numeric.len() < 2 {
                break;
            }
            let a = rng.below(numeric.len());
            let b = (a + 1 + rng.below(numeric.len() - 1)) % numeric.len();
            let (a, b, weight) = (numeric[a], numeric[b], rng.range(0.15, 0.4));
            pairs.push(if rng.chance(0.5) {
                Pair::Ridge { a, b, weight }
            } else {
                Pair::Gate { a, b, weight }
            });
        }
        let loaded: Vec<usize> = order.iter().copied().filter(|i| params[*i].numeric()).collect();
        for p in &mut params {
            p.restart = rng.chance(spec.restarts);
        }
        // A generated space is well formed by construction, which a test over all of them holds.
        let space = Space::new(params, vec![]).expect("generated parameters are well formed");
        let mut task = Self {
            name: spec.name.to_owned(),
            space,
            noise: spec.noise,
            responses,
            pairs,
            bottleneck: spec.bottleneck,
            scale: rng.range(200.0, 5000.0),
            crash: None,
            constraint: None,
        };
        task.crash = spec.crashes.then(|| task.limit(&loaded, 0.2, spec.seed));
        task.constraint = spec.constrained.then(|| task.limit(&loaded, 0.3, spec.seed + 1));
        task
    }

    /// A load of two of `knobs` that about `share` of random configurations exceed, but neither the default nor the
    /// optimum: the first pair for which that can be, and the limit moves up to them where no pair allows it.
    fn limit(&self, knobs: &[usize], share: f64, seed: u64) -> (Vec<usize>, f64) {
        let mut rng = Rng::of_step(seed, 0x11317);
        let points: Vec<Point> =
            (0..2000).map(|_| crate::propose::moves::random(&self.space, &mut rng)).collect();
        let (default, best) = (self.space.default_point(), self.best_point());
        let mut closest: Option<(Vec<usize>, f64, f64)> = None;
        for (k, &b) in knobs.iter().enumerate() {
            for &a in &knobs[..k] {
                let pair = vec![a, b];
                let mut loads: Vec<f64> = points.iter().map(|p| self.load(&pair, p)).collect();
                loads.sort_by(f64::total_cmp);
                let limit = loads[(2000.0 * (1.0 - share)) as usize];
                let least = self.load(&pair, &default).max(self.load(&pair, &best)) + 0.02;
                let excess = (least - limit).max(0.0);
                if closest.as_ref().is_none_or(|c| excess < c.2) {
                    closest = Some((pair, limit.max(least), excess));
                }
            }
        }
        closest.map_or((Vec::new(), f64::INFINITY), |c| (c.0, c.1))
    }

    fn load(&self, knobs: &[usize], point: &Point) -> f64 {
        let of = |i: &usize| match point[*i] {
            Coord::Num(u) => u,
            Coord::Level(_) => 0.3,
        };
        knobs.iter().map(of).sum()
    }

    /// The best position of a knob, for those that have one.
    fn best_position(&self, i: usize) -> f64 {
        match self.responses[i].shape {
            Shape::Plateau { knee, up } => {
                if up {
                    knee
                } else {
                    1.0 - knee
                }
            }
            Shape::Peak { at } => at,
            Shape::Cliff { at, up } => {
                if up {
                    (at + 0.1).min(1.0)
                } else {
                    at - 0.1
                }
            }
            Shape::Inert | Shape::Levels(_) => 0.5,
        }
    }

    fn best_point(&self) -> Point {
        let mut point = self.space.default_point();
        for (i, p) in self.space.params().iter().enumerate() {
            point[i] = match &self.responses[i].shape {
                Shape::Levels(f) => Coord::Level(f.iter().position(|x| *x == 1.0).unwrap_or(0)),
                Shape::Inert => point[i],
                Shape::Plateau { .. } | Shape::Peak { .. } | Shape::Cliff { .. } => {
                    p.snap(Coord::Num(self.best_position(i)))
                }
            };
        }
        point
    }

    /// The optimum, up to the rounding of whole numbers.
    pub(crate) fn optimum(&self) -> f64 {
        self.scale
    }

    fn response(&self, i: usize, coord: Coord) -> f64 {
        let r = &self.responses[i];
        let good = match (&r.shape, coord) {
            (Shape::Inert, _) => 1.0,
            (Shape::Levels(factors), Coord::Level(l)) => factors[l],
            (_, Coord::Level(_)) => r.special,
            (Shape::Plateau { knee, up }, Coord::Num(u)) => ((if *up { u } else { 1.0 - u }) / knee).min(1.0),
            (Shape::Peak { at }, Coord::Num(u)) => 1.0 - ((u - at) / at.max(1.0 - at)).powi(2),
            (Shape::Cliff { at, up }, Coord::Num(u)) => f64::from(u8::from((u > *at) == *up)),
            (Shape::Levels(_), Coord::Num(_)) => 1.0,
        };
        1.0 - r.weight * (1.0 - good)
    }

    fn pair(&self, pair: &Pair, point: &Point) -> f64 {
        let (Pair::Ridge { a, b, .. } | Pair::Gate { a, b, .. }) = pair;
        let (Coord::Num(ua), Coord::Num(ub)) = (point[*a], point[*b]) else { return 1.0 };
        let (da, db) = (ua - self.best_position(*a), ub - self.best_position(*b));
        match pair {
            Pair::Ridge { weight, .. } => 1.0 - weight * (da - db).powi(2).min(1.0),
            Pair::Gate { weight, .. } => {
                let open = (1.0 - 3.0 * da.abs()).max(0.0);
                1.0 - weight * (1.0 - open * (1.0 - db.abs()))
            }
        }
    }

    pub(crate) fn truth(&self, values: &Values) -> Truth {
        let Ok(point) = self.space.encode(values) else { return Truth::Crash };
        if self.crash.as_ref().is_some_and(|(knobs, limit)| self.load(knobs, &point) > *limit) {
            return Truth::Crash;
        }
        let mut groups = [1.0, 1.0];
        for i in 0..point.len() {
            groups[self.responses[i].group] *= self.response(i, point[i]);
        }
        for pair in &self.pairs {
            let (Pair::Ridge { a, .. } | Pair::Gate { a, .. }) = pair;
            groups[self.responses[*a].group] *= self.pair(pair, &point);
        }
        let joint = if self.bottleneck {
            // A soft minimum (power mean of order -6): the slower resource decides.
            (groups.iter().map(|g: &f64| g.powi(-6)).sum::<f64>() / 2.0).powf(-1.0 / 6.0)
        } else {
            groups[0] * groups[1]
        };
        Truth::Value(self.scale * joint)
    }

    pub(crate) fn constraint(&self, values: &Values) -> Option<f64> {
        let (knobs, limit) = self.constraint.as_ref()?;
        let point = self.space.encode(values).ok()?;
        Some(self.load(knobs, &point) - limit)
    }
}

/// The benchmark's public tasks.
pub(crate) fn public(shift: u64) -> Vec<Synthetic> {
    let plain = Spec::plain;
    let specs = [
        plain("plain-5", 5, 4, 0.03, 11),
        plain("quiet-10", 10, 6, 0.0, 12),
        Spec { pairs: 2, ..plain("pairs-10", 10, 6, 0.05, 13) },
        plain("sparse-20", 20, 5, 0.05, 14),
        Spec { bottleneck: true, ..plain("bottleneck-20", 20, 10, 0.05, 15) },
        Spec { pairs: 4, ..plain("pairs-20", 20, 8, 0.05, 16) },
        plain("dense-20", 20, 18, 0.05, 17),
        plain("sparse-40", 40, 6, 0.05, 18),
        Spec { pairs: 4, bottleneck: true, ..plain("mixed-40", 40, 15, 0.05, 19) },
        plain("noisy-15", 15, 6, 0.15, 20),
        Spec { crashes: true, ..plain("crash-12", 12, 6, 0.05, 21) },
        Spec { crashes: true, pairs: 2, ..plain("crash-25", 25, 10, 0.05, 22) },
        Spec { constrained: true, ..plain("constrained-12", 12, 6, 0.05, 23) },
        Spec { restarts: 0.4, ..plain("restarts-15", 15, 8, 0.05, 24) },
        Spec { pairs: 3, bottleneck: true, crashes: true, ..plain("server-30", 30, 12, 0.08, 25) },
    ];
    specs.iter().map(|s| Synthetic::new(&Spec { seed: s.seed + shift, ..*s })).collect()
}

/// The task for restarts that cost ten times as much.
pub(crate) fn restarts(shift: u64) -> Synthetic {
    Synthetic::new(&Spec { restarts: 0.4, ..Spec::plain("restart-cost", 15, 8, 0.05, 31 + shift) })
}

/// An earlier task and the one to transfer to: the same server with other weights and slightly moved optima, or a
/// server on whose knobs all has been dealt anew.
pub(crate) fn pair(related: bool, shift: u64) -> (Synthetic, Synthetic) {
    let spec = Spec::plain("transfer", 20, 10, 0.05, 33 + shift);
    let source = Synthetic::new(&spec);
    let mut target = source.clone();
    let mut rng = Rng::of_step(spec.seed, 0x7A1);
    if related {
        for r in &mut target.responses {
            r.weight *= rng.range(0.6, 1.4);
            if let Shape::Peak { at } = &mut r.shape {
                *at = (*at + rng.range(-0.08, 0.08)).clamp(0.0, 1.0);
            }
        }
    } else {
        // Weights and shapes go to other knobs of the same kind; numeric shapes are turned round.
        let numeric: Vec<usize> =
            (0..source.responses.len()).filter(|i| source.space.params()[*i].numeric()).collect();
        for (k, &i) in numeric.iter().enumerate() {
            target.responses[i] = source.responses[numeric[(k + 3) % numeric.len()]].clone();
            match &mut target.responses[i].shape {
                Shape::Plateau { up, .. } | Shape::Cliff { up, .. } => *up = rng.chance(0.5),
                Shape::Peak { at } => *at = 1.0 - *at,
                Shape::Inert | Shape::Levels(_) => {}
            }
        }
        for r in &mut target.responses {
            if let Shape::Levels(factors) = &mut r.shape {
                factors.reverse();
            }
        }
    }
    (source, target)
}

/// The task in which nothing matters.
pub(crate) fn pure_noise() -> Synthetic {
    Synthetic::new(&Spec::plain("pure-noise", 15, 0, 0.05, 30))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_optimum_is_reached_at_the_best_point_and_nowhere_exceeded() {
        for shift in [0, 100] {
            for task in public(shift) {
                let best = task.space.decode(&task.best_point());
                let Truth::Value(v) = task.truth(&best) else { panic!("{}: the optimum crashes", task.name) };
                assert!(v > 0.97 * task.optimum(), "{}: {v} of {}", task.name, task.optimum());
                assert!(task.constraint(&best).is_none_or(|c| c <= 0.0), "{}", task.name);
                let mut rng = Rng::of_step(1, 1);
                for _ in 0..500 {
                    let p = crate::propose::moves::random(&task.space, &mut rng);
                    if let Truth::Value(v) = task.truth(&task.space.decode(&p)) {
                        assert!(v <= task.optimum() + 1e-9, "{}", task.name);
                    }
                }
                let default = task.space.default_values();
                assert!(
                    matches!(task.truth(&default), Truth::Value(_)),
                    "{}: the default crashes",
                    task.name
                );
            }
        }
    }

    #[test]
    fn about_a_fifth_of_a_crashing_tasks_space_crashes() {
        for task in public(0).iter().filter(|t| t.crash.is_some()) {
            let mut rng = Rng::of_step(2, 2);
            let draw = |rng: &mut Rng| task.space.decode(&crate::propose::moves::random(&task.space, rng));
            let crashed = (0..2000).filter(|_| task.truth(&draw(&mut rng)) == Truth::Crash).count();
            assert!((100..=450).contains(&crashed), "{}: {crashed} of 2000", task.name);
        }
    }
}
