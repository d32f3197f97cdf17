//! The normal distribution, and expected improvement in logarithms.

use std::f64::consts::{FRAC_PI_2, PI, SQRT_2};

/// `exp(x^2) erfc(x)` for `x >= 0`, relative error below 1.2e-7 (Chebyshev fit of Numerical Recipes, 2nd ed., 6.2).
fn erfcx(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.5 * x);
    let poly = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    t * poly.iter().rev().fold(0.0, |sum, c| sum * t + c).exp()
}

/// Probability that a standard normal draw is below `z`.
pub(crate) fn cdf(z: f64) -> f64 {
    let x = z.abs() / SQRT_2;
    let tail = 0.5 * erfcx(x) * (-x * x).exp();
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// Logarithm of [`cdf`], exact far below 0.
pub(crate) fn log_cdf(z: f64) -> f64 {
    if z < -1.0 { (0.5 * erfcx(-z / SQRT_2)).ln() - 0.5 * z * z } else { cdf(z).max(f64::MIN_POSITIVE).ln() }
}

/// `ln(phi(z) + z Phi(z))`: expected improvement in units of the standard deviation. In logarithms it still ranks
/// candidates where the improvement itself underflows (Ament et al. 2023, "Unexpected improvements to expected
/// improvement").
pub(crate) fn log_improvement(z: f64) -> f64 {
    let log_phi = -0.5 * z * z - 0.5 * (2.0 * PI).ln();
    if z > -1.0 {
        (log_phi.exp() + z * cdf(z)).ln()
    } else if z > -30.0 {
        log_phi + (1.0 + z * FRAC_PI_2.sqrt() * erfcx(-z / SQRT_2)).max(1e-12).ln()
    } else {
        // The leading term of the tail's expansion.
        log_phi - 2.0 * z.abs().ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabulated_probabilities_are_met() {
        // Abramowitz and Stegun, table 26.1.
        for (z, p) in
            [(0.0, 0.5), (1.0, 0.841_344_7), (1.96, 0.975_002_1), (-1.96, 0.024_997_9), (-3.0, 0.001_349_9)]
        {
            assert!((cdf(z) - p).abs() < 1e-6, "{z}: {}", cdf(z));
            assert!((log_cdf(z) - f64::ln(p)).abs() < 1e-4, "{z}: {}", log_cdf(z));
        }
    }

    #[test]
    fn log_improvement_is_smooth_over_its_branches_and_falls_to_the_left() {
        for seam in [-1.0, -30.0] {
            let (left, right) = (log_improvement(seam - 1e-9), log_improvement(seam + 1e-9));
            assert!((left - right).abs() < 2e-2, "at {seam}: {left} and {right}");
        }
        let mut last = f64::NEG_INFINITY;
        for i in -400..40 {
            let v = log_improvement(f64::from(i) / 10.0);
            assert!(v > last, "at {}", f64::from(i) / 10.0);
            last = v;
        }
    }

    #[test]
    fn expected_improvement_is_the_mean_of_the_excess() {
        let mut rng = crate::rng::Rng::of_step(1, 1);
        let n = 100_000;
        let mean = (0..n).map(|_| (1.0 + 0.5 * rng.normal() - 1.4).max(0.0)).sum::<f64>() / f64::from(n);
        assert!((0.5 * log_improvement(-0.8).exp() - mean).abs() < 2e-3);
    }
}
