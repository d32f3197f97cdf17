//! Throughput over concurrency: the Universal Scalability Law, and where its curve bends.
//!
//! `X(N) = λ N / (1 + σ (N - 1) + κ N (N - 1))` (Gunther, "Guerrilla Capacity Planning", 2007): λ is what one thread does alone, σ the share of
//! the work that waits for its turn, κ what it costs that everyone must agree with everyone.

use crate::bootstrap::SplitMix;
use crate::interval::Interval;
use serde::{Deserialize, Serialize};

const RESAMPLES: usize = 1000;

/// The law with its three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Scalability {
    /// λ: throughput of one thread.
    pub alone: f64,
    /// σ: contention, 0 or above.
    pub contention: f64,
    /// κ: coherency, 0 or above; above 0, throughput falls again.
    pub coherency: f64,
}

/// A fitted law, with what it says of the curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScalabilityFit {
    /// The law.
    pub law: Scalability,
    /// Threads at which the line of unhindered growth reaches the ceiling; `None` where no ceiling is in sight.
    pub knee: Option<Interval>,
    /// Threads at which throughput is greatest; `None` where it never falls.
    pub peak: Option<f64>,
    /// The share of the differences between the observations that the law explains, at most 1.
    pub r_squared: f64,
}

impl Scalability {
    /// Throughput with `threads` threads, in the unit of the observations.
    pub fn throughput(&self, threads: f64) -> f64 {
        self.alone * threads
            / (1.0 + self.contention * (threads - 1.0) + self.coherency * threads * (threads - 1.0))
    }

    /// Threads at which throughput is greatest; `None` without coherency costs, for then it never falls.
    pub fn peak(&self) -> Option<f64> {
        (self.coherency > 0.0).then(|| ((1.0 - self.contention).max(0.0) / self.coherency).sqrt().max(1.0))
    }

    /// The most that is ever done; `None` where nothing hinders growth.
    pub fn ceiling(&self) -> Option<f64> {
        match self.peak() {
            Some(peak) => Some(self.throughput(peak)),
            None => (self.contention > 0.0).then(|| self.alone / self.contention),
        }
    }

    /// Threads at which the line of unhindered growth, `λ N`, meets the ceiling: fewer leave the server idle, more only wait (Kleinrock's
    /// point of operation). At least 1. `None` where nothing hinders growth.
    pub fn knee(&self) -> Option<f64> {
        Some((self.ceiling()? / self.alone).max(1.0))
    }

    /// Fits the law to (threads, throughput). Least squares of the relative deviation of `N / X`, which is linear in `1/λ`, `σ/λ` and `κ/λ`;
    /// both costs are held at 0 or above. `None` with fewer than three different numbers of threads, or a throughput that is not above 0.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        if points.iter().any(|&(n, x)| !(n >= 1.0 && x > 0.0 && x.is_finite())) {
            return None;
        }
        let mut threads: Vec<f64> = points.iter().map(|p| p.0).collect();
        threads.sort_by(f64::total_cmp);
        threads.dedup();
        if threads.len() < 3 {
            return None;
        }
        let rows: Vec<[f64; 3]> = points
            .iter()
            .map(|&(n, x)| {
                let scale = x / n;
                [scale, (n - 1.0) * scale, n * (n - 1.0) * scale]
            })
            .collect();
        // Each way of holding costs at 0; the best one with nothing below 0 is the constrained optimum, for the problem is convex.
        let ways: [&[usize]; 4] = [&[0, 1, 2], &[0, 1], &[0, 2], &[0]];
        let fits = ways.iter().filter_map(|columns| {
            let beta = solve(&rows, columns)?;
            (beta[0] > 0.0 && beta[1] >= 0.0 && beta[2] >= 0.0).then(|| (loss(&rows, &beta), beta))
        });
        let (_, beta) = fits.min_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(Self { alone: 1.0 / beta[0], contention: beta[1] / beta[0], coherency: beta[2] / beta[0] })
    }
}

/// Fits the law and finds the knee with its interval: the residuals of the fit, as ratios, are drawn again (1,000 times, from `seed`), which
/// needs no repetitions. `None` where [`Scalability::fit`] finds none.
pub fn scalability(points: &[(f64, f64)], confidence: f64, seed: u64) -> Option<ScalabilityFit> {
    if !(0.0..1.0).contains(&confidence) {
        return None;
    }
    let law = Scalability::fit(points)?;
    // Residuals of n points with p numbers fitted are too small by this factor.
    let n = points.len() as f64;
    let wider = if n > 3.0 { (n / (n - 3.0)).sqrt() } else { 1.0 };
    let residuals: Vec<f64> = points.iter().map(|&(n, x)| wider * (x / law.throughput(n)).ln()).collect();
    let knee = law.knee().map(|estimate| {
        let mut random = SplitMix(seed);
        let mut knees: Vec<f64> = (0..RESAMPLES)
            .filter_map(|_| {
                let draw: Vec<(f64, f64)> = points
                    .iter()
                    .map(|&(n, _)| (n, law.throughput(n) * residuals[random.index(residuals.len())].exp()))
                    .collect();
                // A draw without a knee has it beyond every number of threads.
                Some(Scalability::fit(&draw)?.knee().unwrap_or(f64::INFINITY))
            })
            .collect();
        knees.sort_by(f64::total_cmp);
        let tail = (1.0 - confidence) / 2.0;
        let at = |q: f64| knees.get(((q * knees.len() as f64) as usize).min(knees.len().saturating_sub(1)));
        Interval {
            estimate,
            low: at(tail).copied().unwrap_or(estimate),
            high: at(1.0 - tail).copied().unwrap_or(estimate),
            confidence,
        }
    });
    let mean = points.iter().map(|p| p.1).sum::<f64>() / n;
    let total: f64 = points.iter().map(|p| (p.1 - mean).powi(2)).sum();
    let rest: f64 = points.iter().map(|&(n, x)| (x - law.throughput(n)).powi(2)).sum();
    let r_squared = if total > 0.0 { 1.0 - rest / total } else { 1.0 };
    Some(ScalabilityFit { law, knee, peak: law.peak(), r_squared })
}

/// How far `rows · beta` is from 1 everywhere.
fn loss(rows: &[[f64; 3]], beta: &[f64; 3]) -> f64 {
    let at = |row: &[f64; 3]| row.iter().zip(beta).map(|(r, b)| r * b).sum::<f64>() - 1.0;
    rows.iter().map(|row| at(row).powi(2)).sum()
}

/// The beta that brings `rows · beta` nearest to 1 with only these columns, by the normal equations; 0 in the others.
fn solve(rows: &[[f64; 3]], columns: &[usize]) -> Option<[f64; 3]> {
    let k = columns.len();
    // Columns of comparable size keep the elimination exact enough.
    let size = |c: usize| rows.iter().map(|r| r[c] * r[c]).sum::<f64>().sqrt();
    let sizes: Vec<f64> = columns.iter().map(|&c| size(c)).collect();
    if sizes.iter().any(|s| *s <= 0.0 || !s.is_finite()) {
        return None;
    }
    let mut a = vec![vec![0.0; k + 1]; k];
    for (i, &ci) in columns.iter().enumerate() {
        for (j, &cj) in columns.iter().enumerate() {
            a[i][j] = rows.iter().map(|r| r[ci] * r[cj]).sum::<f64>() / (sizes[i] * sizes[j]);
        }
        a[i][k] = rows.iter().map(|r| r[ci]).sum::<f64>() / sizes[i];
    }
    for i in 0..k {
        let pivot = (i..k).max_by(|&p, &q| a[p][i].abs().total_cmp(&a[q][i].abs()))?;
        a.swap(i, pivot);
        if a[i][i].abs() < 1e-12 {
            return None;
        }
        let pivot_row = a[i].clone();
        for (r, row) in a.iter_mut().enumerate() {
            if r != i {
                let factor = row[i] / pivot_row[i];
                for (value, p) in row.iter_mut().zip(&pivot_row) {
                    *value -= factor * p;
                }
            }
        }
    }
    let mut beta = [0.0; 3];
    for (i, &c) in columns.iter().enumerate() {
        beta[c] = a[i][k] / a[i][i] / sizes[i];
    }
    beta.iter().all(|b| b.is_finite()).then_some(beta)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREADS: [f64; 7] = [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

    fn exact(law: Scalability) -> Vec<(f64, f64)> {
        THREADS.iter().map(|&n| (n, law.throughput(n))).collect()
    }

    fn noisy(law: Scalability, sd: f64, seed: u64) -> Vec<(f64, f64)> {
        let mut random = SplitMix(seed);
        let mut draw = |n: f64| (n, law.throughput(n) * (sd * random.normal()).exp());
        (0..3).flat_map(|_| THREADS.map(&mut draw)).collect()
    }

    #[test]
    fn exact_observations_give_their_own_law_back() {
        for (contention, coherency) in [(0.05, 0.001), (0.2, 0.0), (0.0, 0.0004), (0.0, 0.0)] {
            let law = Scalability { alone: 130.0, contention, coherency };
            let found = Scalability::fit(&exact(law)).unwrap();
            assert!((found.alone - 130.0).abs() < 1e-4, "{found:?}");
            assert!((found.contention - contention).abs() < 1e-6, "{found:?}");
            assert!((found.coherency - coherency).abs() < 1e-8, "{found:?}");
        }
    }

    #[test]
    fn the_knee_is_where_growth_meets_the_ceiling() {
        // Without coherency the ceiling is λ / σ, so the knee is 1 / σ.
        let amdahl = Scalability { alone: 50.0, contention: 0.125, coherency: 0.0 };
        assert!((amdahl.knee().unwrap() - 8.0).abs() < 1e-12);
        assert_eq!(amdahl.peak(), None);
        // With σ = 0: the peak is 1 / sqrt(κ) = 20, X = λ N / (1 + κ N (N - 1)) there.
        let coherent = Scalability { alone: 1.0, contention: 0.0, coherency: 0.0025 };
        assert!((coherent.peak().unwrap() - 20.0).abs() < 1e-9);
        assert!((coherent.knee().unwrap() - 20.0 / 1.95).abs() < 1e-9);
        // Where two do less than one, one is the best there is.
        assert_eq!(Scalability { alone: 9.0, contention: 3.0, coherency: 0.0 }.knee(), Some(1.0));
        let free = Scalability { alone: 1.0, contention: 0.0, coherency: 0.0 };
        assert_eq!((free.knee(), free.ceiling()), (None, None));
    }

    #[test]
    fn noise_moves_the_knee_within_its_interval_as_often_as_promised() {
        let law = Scalability { alone: 100.0, contention: 0.12, coherency: 0.0003 };
        let knee = law.knee().unwrap();
        let fits: Vec<ScalabilityFit> =
            (0..200).filter_map(|s| scalability(&noisy(law, 0.05, s), 0.95, s)).collect();
        assert_eq!(fits.len(), 200);
        let covered = fits.iter().filter(|f| f.knee.is_some_and(|k| k.contains(knee))).count();
        // 190 by construction; a bootstrap of 21 residuals falls short by a few, chance (3 sd) by nine more.
        assert!(covered >= 172, "{covered} of 200 at 95 %");
        let mean = fits.iter().filter_map(|f| Some(f.knee?.estimate)).sum::<f64>() / 200.0;
        assert!((mean / knee - 1.0).abs() < 0.05, "{mean} for {knee}");
        assert!(fits.iter().all(|f| f.r_squared > 0.8));
    }

    #[test]
    fn costs_are_never_negative_however_the_noise_falls() {
        let line = Scalability { alone: 10.0, contention: 0.0, coherency: 0.0 };
        for seed in 0..50 {
            let law = Scalability::fit(&noisy(line, 0.1, seed)).unwrap();
            assert!(law.contention >= 0.0 && law.coherency >= 0.0 && law.alone > 0.0, "{law:?}");
        }
    }

    #[test]
    fn too_little_is_no_law() {
        assert_eq!(Scalability::fit(&[(1.0, 5.0), (2.0, 9.0), (2.0, 9.1)]), None);
        assert_eq!(Scalability::fit(&[(1.0, 5.0), (2.0, 0.0), (4.0, 9.1)]), None);
        assert_eq!(Scalability::fit(&[(0.0, 5.0), (2.0, 1.0), (4.0, 9.1)]), None);
        assert!(
            scalability(&exact(Scalability { alone: 1.0, contention: 0.1, coherency: 0.0 }), 1.5, 1)
                .is_none()
        );
    }

    #[test]
    fn the_same_seed_gives_the_same_interval() {
        let points = noisy(Scalability { alone: 100.0, contention: 0.1, coherency: 0.001 }, 0.1, 3);
        assert_eq!(scalability(&points, 0.95, 7), scalability(&points, 0.95, 7));
    }
}
