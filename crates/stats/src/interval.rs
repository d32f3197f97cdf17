//! Confidence intervals for a mean.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// An estimate with its confidence interval, in the unit of the observations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The point estimate.
    pub estimate: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Coverage, for example 0.95.
    pub confidence: f64,
}

impl Interval {
    /// `estimate` ± `half`.
    pub fn around(estimate: f64, half: f64, confidence: f64) -> Self {
        Self { estimate, low: estimate - half, high: estimate + half, confidence }
    }

    /// Whether `value` lies inside, bounds included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Half of the width, as a share of the estimate; `None` for an estimate of zero.
    pub fn relative_half_width(&self) -> Option<f64> {
        (self.estimate != 0.0).then(|| ((self.high - self.low) / 2.0 / self.estimate).abs())
    }

    /// Applies an increasing function to the estimate and to both bounds.
    #[must_use]
    pub fn map(self, f: impl Fn(f64) -> f64) -> Self {
        Self { estimate: f(self.estimate), low: f(self.low), high: f(self.high), confidence: self.confidence }
    }
}

/// The two-sided Student t quantile: `P(|T| <= q) = confidence` with `freedom` degrees of freedom.
/// `None` unless `freedom > 0` and `0 < confidence < 1`.
pub fn student_quantile(freedom: f64, confidence: f64) -> Option<f64> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    StudentsT::new(0.0, 1.0, freedom).ok().map(|t| t.inverse_cdf(0.5 + confidence / 2.0))
}

/// Mean of independent observations with its Student t interval. `None` for fewer than two.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let (mean, variance) = mean_variance(values)?;
    let n = values.len() as f64;
    let half = student_quantile(n - 1.0, confidence)? * (variance / n).sqrt();
    Some(Interval::around(mean, half, confidence))
}

/// Mean and unbiased variance; `None` for fewer than two values.
pub(crate) fn mean_variance(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    Some((mean, squares / (n - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        // Two-sided 95 %: NIST/SEMATECH e-Handbook, table 1.3.6.7.2.
        for (freedom, expected) in [(1.0, 12.706), (4.0, 2.776), (10.0, 2.228), (30.0, 2.042), (1e6, 1.960)] {
            let q = student_quantile(freedom, 0.95).unwrap();
            assert!((q - expected).abs() < 2e-3, "{freedom}: {q}");
        }
        assert_eq!(student_quantile(0.0, 0.95), None);
        assert_eq!(student_quantile(5.0, 1.0), None);
    }

    #[test]
    fn the_interval_of_a_known_sample() {
        // 1..5: mean 3, variance 2.5, t(4) = 2.7764, half = 2.7764 * sqrt(0.5).
        let i = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert!((i.estimate - 3.0).abs() < 1e-12);
        assert!((i.high - (3.0 + 1.963_24)).abs() < 1e-4, "{i:?}");
        assert!((i.low + i.high - 6.0).abs() < 1e-12);
    }

    #[test]
    fn one_value_has_no_interval() {
        assert_eq!(mean_interval(&[1.0], 0.95), None);
        assert_eq!(mean_interval(&[], 0.95), None);
    }
}
