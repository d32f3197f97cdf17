//! The Gaussian process: hyper-parameters by maximum a posteriori with analytic gradients, exact predictions.

use super::kernel::{Hyper, Kernel, Pairs, Shape};
use super::linalg::{Square, dot};
use super::minimise::{self, Limits};
use super::sample::{self, Chain};
use crate::rng::Rng;

/// Measured points as the model sees them.
#[derive(Debug, Clone)]
pub(crate) struct Data {
    pub(crate) shape: Shape,
    /// Feature rows.
    pub(crate) rows: Vec<Vec<f64>>,
    /// Targets, larger is better, scaled to about mean 0 and variance 1.
    pub(crate) targets: Vec<f64>,
    /// How many measurements each target is the mean of.
    pub(crate) repeats: Vec<f64>,
    /// Variance of the target that is known beforehand (from within the measurement), in target units.
    pub(crate) variances: Vec<f64>,
}

/// Added to each variance, so that equal points stay separable in floating point.
const JITTER: f64 = 1e-6;

/// A fitted process.
#[derive(Debug, Clone)]
pub(crate) struct Gp {
    kernel: Kernel,
    pub(crate) hyper: Hyper,
    rows: Vec<Vec<f64>>,
    weights: Vec<f64>,
    inverse: Square,
    /// Negative log posterior density at the fit.
    pub(crate) loss: f64,
}

/// Mean and variance of the latent function (without measurement noise) at a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Belief {
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

/// The loss of hyper-parameters given data: negative log marginal likelihood plus negative log prior.
pub(crate) struct Loss<'a> {
    data: &'a Data,
    pairs: Pairs,
}

impl<'a> Loss<'a> {
    pub(crate) fn new(data: &'a Data) -> Self {
        Self { data, pairs: Pairs::new(&data.rows, data.shape) }
    }

    /// Loss and gradient at `theta`; infinite where the covariance is not positive definite.
    pub(crate) fn at(&self, theta: &[f64]) -> (f64, Vec<f64>) {
        let n = self.data.rows.len();
        let mut gradient = vec![0.0; theta.len()];
        if theta.iter().any(|t| !t.is_finite() || t.abs() > 20.0) {
            return (f64::INFINITY, gradient);
        }
        let kernel = Kernel::new(theta, self.data.shape);
        let mut gram = Square::zeros(n);
        let mut parts = Vec::with_capacity(n * n.saturating_sub(1) / 2);
        let mut p = 0;
        for j in 0..n {
            for i in 0..j {
                let (k, value, slope) = self.pairs.covariance(&kernel, p);
                gram.set(j, i, k);
                parts.push((value, slope));
                p += 1;
            }
            gram.set(j, j, kernel.diagonal() + self.data.noise(&kernel, j));
        }
        if !gram.cholesky() {
            return (f64::INFINITY, gradient);
        }
        let mut alpha = self.data.targets.clone();
        gram.forward(&mut alpha);
        let fit = 0.5 * dot(&alpha, &alpha);
        gram.backward(&mut alpha);
        let inverse = gram.inverse_transposed();
        let (mut diagonal, mut noise) = (0.0, 0.0);
        p = 0;
        for j in 0..n {
            let row = inverse.row(j);
            for i in 0..j {
                let k_inverse = dot(&row[j..], &inverse.row(i)[j..]);
                let w = k_inverse - alpha[i] * alpha[j];
                self.pairs.gradient(p, w, parts[p], &mut gradient);
                p += 1;
            }
            let w = 0.5 * (dot(&row[j..], &row[j..]) - alpha[j] * alpha[j]);
            diagonal += w;
            noise += w * kernel.noise / self.data.repeats[j];
        }
        Pairs::finish(&kernel, diagonal, &mut gradient);
        gradient[0] = noise;
        let penalty = Hyper::penalty(theta, self.data.shape, &mut gradient);
        (fit + gram.log_det() + penalty, gradient)
    }
}

impl Data {
    fn noise(&self, kernel: &Kernel, i: usize) -> f64 {
        kernel.noise / self.repeats[i] + self.variances[i] + JITTER
    }
}

impl Gp {
    /// Fits the hyper-parameters from `start`, with at most `steps` evaluations of the likelihood.
    pub(crate) fn fit(data: &Data, start: &Hyper, steps: usize) -> Self {
        let loss = Loss::new(data);
        let found =
            minimise::lbfgs(|t| loss.at(t), &start.theta, Limits { evaluations: steps, tolerance: 1e-3 });
        Self::with(data, Hyper { theta: found.x }, found.value)
    }

    /// Draws of the hyper-parameters' posterior near a fit, as processes.
    pub(crate) fn draws(data: &Data, fit: &Self, chain: Chain, rng: &mut Rng) -> Vec<Self> {
        let loss = Loss::new(data);
        let scales = Hyper::scales(data.shape);
        let draws = sample::draw(|t| loss.at(t), &fit.hyper.theta, &scales, chain, rng);
        draws.into_iter().map(|theta| Self::with(data, Hyper { theta }, fit.loss)).collect()
    }

    /// The process with given hyper-parameters.
    pub(crate) fn with(data: &Data, hyper: Hyper, loss: f64) -> Self {
        let n = data.rows.len();
        let kernel = Kernel::new(&hyper.theta, data.shape);
        let mut gram = Square::zeros(n);
        for j in 0..n {
            for i in 0..j {
                gram.set(j, i, kernel.between(&data.rows[i], &data.rows[j]));
            }
            gram.set(j, j, kernel.diagonal() + data.noise(&kernel, j));
        }
        // A covariance that rounding made singular gets more of a diagonal; twenty doublings reach any variance.
        let mut extra = JITTER;
        let mut factor = gram.clone();
        while !factor.cholesky() && extra < 1e3 {
            factor = gram.clone();
            for i in 0..n {
                factor.set(i, i, gram.at(i, i) + extra);
            }
            extra *= 10.0;
        }
        let mut weights = data.targets.clone();
        factor.forward(&mut weights);
        factor.backward(&mut weights);
        Self { inverse: factor.inverse_transposed(), kernel, hyper, rows: data.rows.clone(), weights, loss }
    }

    /// The belief about the latent function at a feature row.
    pub(crate) fn predict(&self, x: &[f64]) -> Belief {
        let k: Vec<f64> = self.rows.iter().map(|row| self.kernel.between(x, row)).collect();
        self.belief(&k)
    }

    fn belief(&self, k: &[f64]) -> Belief {
        let mean = dot(k, &self.weights);
        // inverse_transposed holds L^-1 by columns; accumulate L^-1 k column by column.
        let mut v = vec![0.0; k.len()];
        for (j, kj) in k.iter().enumerate() {
            for (v, l) in v[j..].iter_mut().zip(&self.inverse.row(j)[j..]) {
                *v += l * kj;
            }
        }
        Belief { mean, variance: (self.kernel.diagonal() - dot(&v, &v)).max(1e-9) }
    }

    /// The belief about how much better `x` is than `y`.
    pub(crate) fn difference(&self, x: &[f64], y: &[f64]) -> Belief {
        let of =
            |x: &[f64]| -> Vec<f64> { self.rows.iter().map(|row| self.kernel.between(x, row)).collect() };
        let k: Vec<f64> = of(x).iter().zip(of(y)).map(|(a, b)| a - b).collect();
        let prior = 2.0 * (self.kernel.diagonal() - self.kernel.between(x, y));
        let mut v = vec![0.0; k.len()];
        for (j, kj) in k.iter().enumerate() {
            for (v, l) in v[j..].iter_mut().zip(&self.inverse.row(j)[j..]) {
                *v += l * kj;
            }
        }
        Belief { mean: dot(&k, &self.weights), variance: (prior - dot(&v, &v)).max(1e-12) }
    }

    /// Noise variance of one measurement, in target units.
    #[cfg(test)]
    pub(crate) fn noise(&self) -> f64 {
        self.kernel.noise
    }
}

/// A place from which near-by rows are predicted cheaply: only the features that differ are computed anew.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    gp: &'a Gp,
    x: Vec<f64>,
    distances: Vec<f64>,
    mismatches: Vec<f64>,
    own: Vec<f64>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(gp: &'a Gp, x: &[f64]) -> Self {
        let n = gp.rows.len();
        let mut cursor =
            Self { gp, x: x.to_vec(), distances: vec![0.0; n], mismatches: vec![0.0; n], own: vec![0.0; n] };
        for (i, row) in gp.rows.iter().enumerate() {
            let (r2, h, own) = gp.kernel.sums(x, row);
            (cursor.distances[i], cursor.mismatches[i], cursor.own[i]) = (r2, h, own);
        }
        cursor
    }

    /// The belief at `x`.
    pub(crate) fn peek(&self, x: &[f64]) -> Belief {
        let (r2, h, own) = self.shifted(x);
        let kernel = &self.gp.kernel;
        let k: Vec<f64> = (0..r2.len()).map(|i| kernel.join(r2[i], h[i], own[i])).collect();
        self.gp.belief(&k)
    }

    /// The mean alone at `x`, without the variance's quadratic work.
    pub(crate) fn peek_mean(&self, x: &[f64]) -> f64 {
        let (r2, h, own) = self.shifted(x);
        (0..r2.len()).map(|i| self.gp.kernel.join(r2[i], h[i], own[i]) * self.gp.weights[i]).sum()
    }

    /// Moves to `x`.
    pub(crate) fn go(&mut self, x: &[f64]) {
        (self.distances, self.mismatches, self.own) = self.shifted(x);
        self.x = x.to_vec();
    }

    fn shifted(&self, x: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let (mut r2, mut h, mut own) = (self.distances.clone(), self.mismatches.clone(), self.own.clone());
        for f in (0..x.len()).filter(|f| x[*f] != self.x[*f]) {
            self.gp.kernel.shift(f, self.x[f], x[f], &self.gp.rows, (&mut r2, &mut h, &mut own));
        }
        (r2, h, own)
    }
}
