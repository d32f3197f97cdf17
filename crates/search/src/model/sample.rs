//! Draws from the posterior of the hyper-parameters: Hamiltonian Monte Carlo (Neal 2011, section 5.3.2).
//!
//! Twenty noisy points leave many explanations standing. A single best fit picks one, switches most knobs off and
//! searches where that one points; a handful of draws keeps the others in play.

use crate::rng::Rng;

/// How a chain runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    /// Trajectories before the first draw.
    pub(crate) burn: usize,
    /// Trajectories between draws.
    pub(crate) thin: usize,
    /// Draws.
    pub(crate) draws: usize,
    /// Leapfrog steps of one trajectory.
    pub(crate) steps: usize,
    /// Length of a leapfrog step, in units of each coordinate's scale.
    pub(crate) length: f64,
}

/// Draws from the density `exp(-f)`, from `start`; `scales` are the coordinates' rough widths.
pub(crate) fn draw(
    f: impl Fn(&[f64]) -> (f64, Vec<f64>),
    start: &[f64],
    scales: &[f64],
    chain: Chain,
    rng: &mut Rng,
) -> Vec<Vec<f64>> {
    let mut x = start.to_vec();
    let (mut value, mut gradient) = f(&x);
    let mut out = Vec::with_capacity(chain.draws);
    let mut length = chain.length;
    for trajectory in 0..chain.burn + chain.thin * chain.draws {
        let mut p: Vec<f64> = x.iter().map(|_| rng.normal()).collect();
        let before = value + 0.5 * p.iter().map(|p| p * p).sum::<f64>();
        let (mut y, mut v, mut g) = (x.clone(), value, gradient.clone());
        let step = length * rng.range(0.8, 1.2);
        for _ in 0..chain.steps {
            for i in 0..y.len() {
                p[i] -= 0.5 * step * scales[i] * g[i];
                y[i] += step * scales[i] * p[i];
            }
            (v, g) = f(&y);
            if !v.is_finite() {
                break;
            }
            for i in 0..y.len() {
                p[i] -= 0.5 * step * scales[i] * g[i];
            }
        }
        let after = v + 0.5 * p.iter().map(|p| p * p).sum::<f64>();
        let accepted = after.is_finite() && rng.unit().ln() < before - after;
        if accepted {
            (x, value, gradient) = (y, v, g);
        }
        // While the chain settles, the step adapts towards accepting four of five.
        if trajectory < chain.burn {
            length *= if accepted { 1.15 } else { 0.6 };
        }
        if trajectory >= chain.burn && (trajectory - chain.burn + 1).is_multiple_of(chain.thin) {
            out.push(x.clone());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_mean_and_the_spread_of_the_density() {
        // Two independent normals: mean 1, sd 0.5; mean -2, sd 2.
        let f = |x: &[f64]| {
            let (a, b) = ((x[0] - 1.0) / 0.5, (x[1] + 2.0) / 2.0);
            (0.5 * (a * a + b * b), vec![a / 0.5, b / 2.0])
        };
        let chain = Chain { burn: 50, thin: 2, draws: 4000, steps: 8, length: 0.3 };
        let draws = draw(f, &[0.0, 0.0], &[0.5, 2.0], chain, &mut Rng::of_step(1, 0));
        for (i, mean, sd) in [(0, 1.0, 0.5), (1, -2.0, 2.0)] {
            let n = draws.len() as f64;
            let m = draws.iter().map(|d| d[i]).sum::<f64>() / n;
            let s = (draws.iter().map(|d| (d[i] - m).powi(2)).sum::<f64>() / n).sqrt();
            assert!((m - mean).abs() < 0.1 * sd, "mean {m}");
            assert!((s / sd - 1.0).abs() < 0.1, "sd {s}");
        }
    }
}
