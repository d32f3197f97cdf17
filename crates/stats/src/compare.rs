//! Is B faster than A, and by how much?

use crate::interval::{Interval, mean_interval, mean_variance, student_quantile};
use crate::series::effective_size;
use serde::{Deserialize, Serialize};

/// The comparison of two runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Mean of A.
    pub a: f64,
    /// Mean of B.
    pub b: f64,
    /// B - A.
    pub difference: Interval,
    /// B / A, by the delta method on the logarithms.
    pub ratio: Interval,
    /// Whether the difference's interval excludes zero.
    pub significant: bool,
}

/// Compares two series of throughputs (equal slices) by Welch's test, with effective sample sizes in place of the
/// numbers of slices. `None` unless both have at least two slices and a positive mean.
pub fn compare(a: &[f64], b: &[f64], confidence: f64) -> Option<Comparison> {
    let ((mean_a, var_a), (mean_b, var_b)) = (mean_variance(a)?, mean_variance(b)?);
    if mean_a <= 0.0 || mean_b <= 0.0 {
        return None;
    }
    let (n_a, n_b) = (effective_size(a), effective_size(b));
    let (error_a, error_b) = (var_a / n_a, var_b / n_b);
    let error = error_a + error_b;
    // Welch-Satterthwaite; two constant series differ for certain, or not at all.
    let freedom = if error > 0.0 {
        error * error / (error_a * error_a / (n_a - 1.0) + error_b * error_b / (n_b - 1.0))
    } else {
        n_a + n_b - 2.0
    };
    let quantile = student_quantile(freedom, confidence)?;
    let difference = Interval::around(mean_b - mean_a, quantile * error.sqrt(), confidence);
    let log_error = (error_a / (mean_a * mean_a) + error_b / (mean_b * mean_b)).sqrt();
    let ratio = Interval::around((mean_b / mean_a).ln(), quantile * log_error, confidence).map(f64::exp);
    let significant = !difference.contains(0.0);
    Some(Comparison { a: mean_a, b: mean_b, difference, ratio, significant })
}

/// The ratio `second / first` of interleaved pairs: Student's t on the logarithms, so that a common factor of both
/// halves of a pair (the host's mood) cancels. `None` for fewer than two pairs or a value that is not positive.
pub fn paired_ratio(pairs: &[(f64, f64)], confidence: f64) -> Option<Interval> {
    if pairs.iter().any(|&(a, b)| !(a > 0.0 && b > 0.0)) {
        return None;
    }
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
    Some(mean_interval(&logs, confidence)?.map(f64::exp))
}

/// The difference `second - first` of interleaved pairs, by Student's t. `None` for fewer than two pairs.
pub fn paired_difference(pairs: &[(f64, f64)], confidence: f64) -> Option<Interval> {
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b - a).collect();
    mean_interval(&differences, confidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::SplitMix;

    fn draws(n: usize, mean: f64, seed: u64) -> Vec<f64> {
        let mut random = SplitMix(seed);
        (0..n).map(|_| mean + random.normal()).collect()
    }

    #[test]
    fn equal_runs_differ_as_rarely_as_promised() {
        let wrong = (0..400)
            .filter(|&s| {
                compare(&draws(60, 100.0, s), &draws(60, 100.0, s + 9999), 0.95).unwrap().significant
            })
            .count();
        // 5 % of 400 is 20; the binomial's upper 0.1 % is 35.
        assert!(wrong <= 35, "{wrong} false alarms in 400");
    }

    #[test]
    fn a_difference_of_one_standard_deviation_is_found() {
        let c = compare(&draws(60, 100.0, 1), &draws(60, 101.0, 2), 0.95).unwrap();
        assert!(c.significant && c.difference.contains(1.0) && c.ratio.contains(1.01), "{c:?}");
    }

    #[test]
    fn a_common_factor_cancels_in_pairs() {
        let mut random = SplitMix(5);
        let pairs: Vec<(f64, f64)> = (0..10)
            .map(|_| {
                let mood = 1.0 + random.unit();
                (100.0 * mood, 110.0 * mood * (1.0 + 0.001 * random.normal()))
            })
            .collect();
        let ratio = paired_ratio(&pairs, 0.95).unwrap();
        assert!((ratio.estimate - 1.1).abs() < 0.002 && ratio.high - ratio.low < 0.005, "{ratio:?}");
        assert_eq!(paired_ratio(&[(0.0, 1.0), (1.0, 1.0)], 0.95), None);
    }

    #[test]
    fn the_ratio_of_exact_pairs() {
        let r = paired_ratio(&[(1.0, 2.0), (10.0, 20.0)], 0.95).unwrap();
        assert!((r.estimate - 2.0).abs() < 1e-12 && (r.high - r.low).abs() < 1e-9);
    }
}
