//! Time series of a run: autocorrelation, throughput with its interval, and where the warm-up ends.

use crate::interval::{Interval, mean_variance, student_quantile};

/// The integrated autocorrelation time of a series, at least 1: `n / time` observations are worth as much as
/// `n` independent ones.
///
/// Geyer's initial positive sequence (Practical Markov Chain Monte Carlo, 1992): sums of adjacent lags are
/// added while they are positive. A series without variance has time 1.
pub fn autocorrelation_time(series: &[f64]) -> f64 {
    let n = series.len();
    let Some((mean, _)) = mean_variance(series) else { return 1.0 };
    let centred: Vec<f64> = series.iter().map(|v| v - mean).collect();
    let at_lag = |lag: usize| -> f64 {
        centred[..n - lag].iter().zip(&centred[lag..]).map(|(a, b)| a * b).sum::<f64>()
    };
    let variance = at_lag(0);
    if variance <= 0.0 {
        return 1.0;
    }
    let mut time = -1.0;
    // Beyond half of the series a lag has too few pairs to say anything.
    for lag in (0..n / 2).step_by(2) {
        let pair = (at_lag(lag) + at_lag(lag + 1)) / variance;
        if pair <= 0.0 {
            break;
        }
        time += 2.0 * pair;
    }
    time.max(1.0)
}

/// Mean of a series of throughputs (equal time slices) with an interval that accounts for autocorrelation.
///
/// A slow second is followed by a slow second (flushing, checkpoints), so n slices carry less information than n
/// independent ones; the standard error and the degrees of freedom use the effective number instead. `None` for
/// fewer than two slices.
pub fn throughput_interval(series: &[f64], confidence: f64) -> Option<Interval> {
    let (mean, variance) = mean_variance(series)?;
    let (effective, half) = half_width(series, variance, confidence)?;
    debug_assert!(effective >= 2.0);
    Some(Interval::around(mean, half, confidence))
}

/// Effective number of observations (at least 2) and half of the interval's width.
pub(crate) fn half_width(series: &[f64], variance: f64, confidence: f64) -> Option<(f64, f64)> {
    let effective = effective_size(series);
    let quantile = student_quantile(effective - 1.0, confidence)?;
    Some((effective, quantile * (variance / effective).sqrt()))
}

/// The number of independent observations that a series is worth, between 2 and its length.
pub(crate) fn effective_size(series: &[f64]) -> f64 {
    (series.len() as f64 / autocorrelation_time(series)).max(2.0)
}

/// Index of the first observation after the warm-up, by MSER-5 (White, Cobb and Spratt, 2000): the series is
/// averaged in batches of five, and the cut is where the standard error of the remaining batches is smallest.
///
/// Never more than half of the series: a minimum there means that the series had not settled, and the caller can
/// see it by `2 * index >= len`. Series shorter than 20 observations are not judged (0).
pub fn warmup_end(series: &[f64]) -> usize {
    const BATCH: usize = 5;
    if series.len() < 4 * BATCH {
        return 0;
    }
    let batches: Vec<f64> =
        series.chunks_exact(BATCH).map(|b| b.iter().sum::<f64>() / BATCH as f64).collect();
    let mut best = (0, f64::INFINITY);
    for cut in 0..=batches.len() / 2 {
        let rest = &batches[cut..];
        let Some((_, variance)) = mean_variance(rest) else { break };
        let n = rest.len() as f64;
        // MSER's statistic: sum of squares over n^2.
        let statistic = variance * (n - 1.0) / (n * n);
        if statistic < best.1 {
            best = (cut, statistic);
        }
    }
    best.0 * BATCH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::SplitMix;

    /// x[t] = phi x[t-1] + e, whose autocorrelation time is (1 + phi) / (1 - phi).
    fn autoregressive(n: usize, phi: f64, seed: u64) -> Vec<f64> {
        let mut random = SplitMix(seed);
        let mut x = 0.0;
        (0..n + 200)
            .map(|_| {
                x = phi * x + random.normal();
                x
            })
            .skip(200)
            .collect()
    }

    #[test]
    fn the_time_of_an_autoregressive_series_is_the_analytic_one() {
        for (phi, expected) in [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)] {
            let mean: f64 =
                (0..20).map(|s| autocorrelation_time(&autoregressive(4000, phi, s))).sum::<f64>() / 20.0;
            assert!((mean / expected - 1.0).abs() < 0.15, "phi {phi}: {mean} instead of {expected}");
        }
    }

    #[test]
    fn the_interval_covers_the_truth_where_a_plain_one_does_not() {
        let covered = |interval: fn(&[f64], f64) -> Option<Interval>| {
            (0..400).filter(|&s| interval(&autoregressive(300, 0.7, s), 0.95).unwrap().contains(0.0)).count()
        };
        let ours = covered(throughput_interval);
        let plain = covered(crate::mean_interval);
        assert!(ours >= 360, "{ours} of 400 at 95 %");
        assert!(plain < 300, "{plain} of 400: the series is not autocorrelated enough for this test");
    }

    #[test]
    fn a_constant_series_has_an_interval_of_no_width() {
        let i = throughput_interval(&[5.0; 30], 0.95).unwrap();
        assert_eq!((i.low, i.estimate, i.high), (5.0, 5.0, 5.0));
    }

    #[test]
    fn the_whole_ramp_is_cut_and_little_else() {
        let ends = |height: f64| -> Vec<usize> {
            let mut ends: Vec<usize> = (0..21)
                .map(|seed| {
                    let noise = autoregressive(120, 0.0, seed);
                    let at = |i: usize| 100.0 - height * (1.0 - i as f64 / 30.0).max(0.0) + noise[i];
                    warmup_end(&(0..120).map(at).collect::<Vec<_>>())
                })
                .collect();
            ends.sort_unstable();
            ends
        };
        let ramp = ends(100.0);
        assert!(ramp[0] >= 25, "a part of the ramp is left: {ramp:?}");
        assert!(ramp[10] <= 45, "too much is cut: {ramp:?}");
        assert!(ends(0.0)[10] <= 30, "a flat series is cut: {:?}", ends(0.0));
    }

    #[test]
    fn a_series_that_never_settles_is_cut_at_its_half() {
        let rising: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(2 * warmup_end(&rising) >= 100);
        assert_eq!(warmup_end(&rising[..10]), 0, "too short to judge");
    }
}
