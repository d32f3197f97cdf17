//! The covariance of two configurations: a product over all features plus a sum over single features.
//!
//! `k(x, y) = c + p * m(r) * exp(-h) + sum_i a_i * k_i(x_i, y_i)` where `m` is Matern-5/2 (Rasmussen and Williams
//! 2006, eq. 4.17), `r^2` the sum of squared distances over squared length scales of the numeric features and `h`
//! the sum of mismatches over the levels' scales (product of ARD kernels, as in the mixed-kernel optimisers of the
//! VLDB 2022 evaluation). The sum gives each knob an effect of its own (additive GP, Duvenaud et al. 2011), which is
//! what 20 points can teach; the product holds what the knobs do together.

/// Length scale of a single feature's own effect, in units of the feature's whole range. Fixed: a feature's own
/// effect is close to monotone with at most one bend, and its size is learnt by its variance.
const OWN_LENGTH: f64 = 0.7;

/// Covariance left between two different levels in a level's own effect.
const OWN_MISMATCH: f64 = 0.0;

/// Variance of the constant; the targets are scaled to about 1.
const CONSTANT: f64 = 1.0;

/// The hyper-parameters, all as natural logarithms.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Hyper {
    /// Noise variance of one measurement; product variance; then length scales (levels: mismatch scales); then own
    /// variances, one each per feature.
    pub(crate) theta: Vec<f64>,
}

/// How the features are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Numeric features, first in a row.
    pub(crate) numbers: usize,
    /// Level features, behind them.
    pub(crate) levels: usize,
}

impl Shape {
    pub(crate) fn features(self) -> usize {
        self.numbers + self.levels
    }

    pub(crate) fn parameters(self) -> usize {
        2 + 2 * self.features()
    }
}

/// A hyper-parameter's prior: normal in its logarithm.
#[derive(Debug, Clone, Copy)]
struct Prior {
    mean: f64,
    sd: f64,
}

fn prior(shape: Shape, i: usize) -> Prior {
    let d = shape.features() as f64;
    match i {
        0 => Prior { mean: 0.1f64.ln(), sd: 1.5 },
        1 => Prior { mean: 0.5f64.ln(), sd: 1.0 },
        // Length scales grow with the root of the number of features, so that a typical distance keeps its size
        // (Hvarfner, Hellsten and Nardi 2024, "Vanilla Bayesian optimization performs great in high dimensions").
        i if i < 2 + shape.features() => Prior { mean: 0.5 + 0.5 * d.ln(), sd: 1.2 },
        // Most knobs do nothing, a few do much: a wide prior below an equal share.
        _ => Prior { mean: (0.2 / d).ln(), sd: 1.5 },
    }
}

impl Hyper {
    /// Every hyper-parameter at its prior's middle.
    pub(crate) fn middle(shape: Shape) -> Self {
        Self { theta: (0..shape.parameters()).map(|i| prior(shape, i).mean).collect() }
    }

    /// The priors' standard deviations.
    pub(crate) fn scales(shape: Shape) -> Vec<f64> {
        (0..shape.parameters()).map(|i| prior(shape, i).sd).collect()
    }

    /// The same noise, and nothing else learnt: what a sceptic believes, to whom no knob is proven dead.
    pub(crate) fn sceptic(&self, shape: Shape) -> Self {
        let mut hyper = Self::middle(shape);
        hyper.theta[0] = self.theta[0];
        hyper
    }

    /// Negative log prior density (without its constant), its gradient added to `gradient`.
    pub(crate) fn penalty(theta: &[f64], shape: Shape, gradient: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        for (i, (t, g)) in theta.iter().zip(gradient).enumerate() {
            let p = prior(shape, i);
            let z = (t - p.mean) / p.sd;
            sum += 0.5 * z * z;
            *g += z / p.sd;
        }
        sum
    }
}

/// Matern-5/2 at distance `r`, and the factor of its derivative by the squared distance.
#[inline]
fn matern(r2: f64) -> (f64, f64) {
    let r = (5.0 * r2).sqrt();
    let e = (-r).exp();
    ((1.0 + r + r * r / 3.0) * e, -5.0 / 6.0 * (1.0 + r) * e)
}

#[inline]
pub(crate) fn own_number(a: f64, b: f64) -> f64 {
    let d = (a - b) / OWN_LENGTH;
    matern(d * d).0
}

/// A kernel with its hyper-parameters out of the logarithm.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    shape: Shape,
    pub(crate) noise: f64,
    product: f64,
    // 1 / scale^2 for numbers, 1 / scale for levels.
    weights: Vec<f64>,
    own: Vec<f64>,
}

impl Kernel {
    pub(crate) fn new(theta: &[f64], shape: Shape) -> Self {
        let d = shape.features();
        let scale = |i: usize, t: f64| if i < shape.numbers { (-2.0 * t).exp() } else { (-t).exp() };
        Self {
            shape,
            noise: theta[0].exp(),
            product: theta[1].exp(),
            weights: theta[2..2 + d].iter().enumerate().map(|(i, t)| scale(i, *t)).collect(),
            own: theta[2 + d..].iter().map(|t| t.exp()).collect(),
        }
    }

    /// Prior variance at any point.
    pub(crate) fn diagonal(&self) -> f64 {
        CONSTANT + self.product + self.own.iter().sum::<f64>()
    }

    /// Covariance of two feature rows.
    pub(crate) fn between(&self, x: &[f64], y: &[f64]) -> f64 {
        let (r2, h, own) = self.sums(x, y);
        self.join(r2, h, own)
    }

    /// Squared scaled distance, scaled mismatches, and sum of the features' own covariances.
    pub(crate) fn sums(&self, x: &[f64], y: &[f64]) -> (f64, f64, f64) {
        let n = self.shape.numbers;
        let (mut r2, mut h, mut own) = (0.0, 0.0, 0.0);
        for i in 0..n {
            let d = x[i] - y[i];
            r2 += d * d * self.weights[i];
            own += self.own[i] * own_number(x[i], y[i]);
        }
        for i in n..self.shape.features() {
            if x[i] == y[i] {
                own += self.own[i];
            } else {
                h += self.weights[i];
                own += self.own[i] * OWN_MISMATCH;
            }
        }
        (r2, h, own)
    }

    /// The covariance from its [`Self::sums`].
    #[inline]
    pub(crate) fn join(&self, r2: f64, h: f64, own: f64) -> f64 {
        // A difference of sums may end a rounding error below 0.
        CONSTANT + own + self.product * matern(r2.max(0.0)).0 * (-h).exp()
    }

    /// Changes the sums against all `rows` for feature `f` going from `old` to `new`.
    pub(crate) fn shift(
        &self,
        f: usize,
        old: f64,
        new: f64,
        rows: &[Vec<f64>],
        (r2, h, own): (&mut [f64], &mut [f64], &mut [f64]),
    ) {
        let (w, a) = (self.weights[f], self.own[f]);
        for (i, row) in rows.iter().enumerate() {
            let y = row[f];
            if f < self.shape.numbers {
                r2[i] += w * ((new - y).powi(2) - (old - y).powi(2));
                own[i] += a * (own_number(new, y) - own_number(old, y));
            } else {
                let (before, after) = (f64::from(u8::from(old != y)), f64::from(u8::from(new != y)));
                h[i] += w * (after - before);
                own[i] += a * (1.0 - OWN_MISMATCH) * (before - after);
            }
        }
    }
}

/// What does not change with the hyper-parameters: distances and own kernels of all pairs `i < j`, pair by pair.
#[derive(Debug, Clone)]
pub(crate) struct Pairs {
    shape: Shape,
    distances: Vec<f64>,
    own: Vec<f64>,
}

impl Pairs {
    pub(crate) fn new(rows: &[Vec<f64>], shape: Shape) -> Self {
        let d = shape.features();
        let pairs = rows.len() * rows.len().saturating_sub(1) / 2;
        let mut distances = Vec::with_capacity(pairs * d);
        let mut own = Vec::with_capacity(pairs * d);
        for (j, y) in rows.iter().enumerate() {
            for x in &rows[..j] {
                for i in 0..d {
                    let (distance, kernel) = if i < shape.numbers {
                        ((x[i] - y[i]).powi(2), own_number(x[i], y[i]))
                    } else if x[i] == y[i] {
                        (0.0, 1.0)
                    } else {
                        (1.0, OWN_MISMATCH)
                    };
                    distances.push(distance);
                    own.push(kernel);
                }
            }
        }
        Self { shape, distances, own }
    }

    /// Covariance of pair `p`, and what the gradient needs: the product part's value and its derivative by `r^2`.
    #[inline]
    pub(crate) fn covariance(&self, kernel: &Kernel, p: usize) -> (f64, f64, f64) {
        let d = self.shape.features();
        let n = self.shape.numbers;
        let distances = &self.distances[p * d..(p + 1) * d];
        let own = &self.own[p * d..(p + 1) * d];
        let r2 = super::linalg::dot(&distances[..n], &kernel.weights[..n]);
        let h: f64 = distances[n..].iter().zip(&kernel.weights[n..]).map(|(a, b)| a * b).sum();
        let (m, slope) = matern(r2);
        let scale = kernel.product * (-h).exp();
        (CONSTANT + scale * m + super::linalg::dot(own, &kernel.own), scale * m, scale * slope)
    }

    /// Adds pair `p`'s share of the gradient, with weight `w` (the derivative of the loss by the covariance).
    #[inline]
    pub(crate) fn gradient(&self, p: usize, w: f64, parts: (f64, f64), gradient: &mut [f64]) {
        let d = self.shape.features();
        let n = self.shape.numbers;
        let distances = &self.distances[p * d..(p + 1) * d];
        let own = &self.own[p * d..(p + 1) * d];
        let (value, slope) = parts;
        gradient[1] += w * value;
        let (scales, owns) = gradient[2..].split_at_mut(d);
        let (by_number, by_level) = (-2.0 * w * slope, w * value);
        for (g, x) in scales[..n].iter_mut().zip(distances) {
            *g += by_number * x;
        }
        for (g, x) in scales[n..].iter_mut().zip(&distances[n..]) {
            *g += by_level * x;
        }
        for (g, x) in owns.iter_mut().zip(own) {
            *g += w * x;
        }
    }

    /// Turns the sums that [`Self::gradient`] made into derivatives by the logarithms.
    pub(crate) fn finish(kernel: &Kernel, diagonal: f64, gradient: &mut [f64]) {
        let d = kernel.shape.features();
        gradient[1] += diagonal * kernel.product;
        for i in 0..d {
            gradient[2 + i] *= kernel.weights[i];
            gradient[2 + d + i] = (gradient[2 + d + i] + diagonal) * kernel.own[i];
        }
    }
}
