//! The bootstrap, for statistics without a formula.

use crate::Interval;

/// A small seeded generator (Steele, Lea and Flood, 2014), good enough to draw indices.
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn index(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    #[cfg(test)]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    #[cfg(test)]
    pub(crate) fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

/// A percentile (`quantile` in 0..=1) of independent observations with its bootstrap interval (Efron's percentile
/// method, 1,000 resamples). `None` for an empty sample or a quantile outside the range.
pub fn percentile_interval(values: &[f64], quantile: f64, confidence: f64, seed: u64) -> Option<Interval> {
    const RESAMPLES: usize = 1000;
    if values.is_empty() || !(0.0..=1.0).contains(&quantile) || !(0.0..1.0).contains(&confidence) {
        return None;
    }
    let mut random = SplitMix(seed);
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut estimates: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let mut draw: Vec<f64> = (0..values.len()).map(|_| values[random.index(values.len())]).collect();
            let rank = rank(draw.len(), quantile);
            *draw.select_nth_unstable_by(rank, f64::total_cmp).1
        })
        .collect();
    estimates.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    Some(Interval {
        estimate: sorted[rank(sorted.len(), quantile)],
        low: estimates[rank(RESAMPLES, tail)],
        high: estimates[rank(RESAMPLES, 1.0 - tail)],
        confidence,
    })
}

/// Index of the nearest-rank percentile.
fn rank(n: usize, quantile: f64) -> usize {
    ((quantile * n as f64).ceil() as usize).clamp(1, n) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_uniform_draws_is_covered() {
        let covered = (0..200)
            .filter(|&seed| {
                let mut random = SplitMix(seed);
                let draws: Vec<f64> = (0..200).map(|_| random.unit()).collect();
                percentile_interval(&draws, 0.5, 0.95, seed).unwrap().contains(0.5)
            })
            .count();
        assert!(covered >= 182, "{covered} of 200 at 95 %");
    }

    #[test]
    fn nearest_ranks() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile_interval(&values, 0.95, 0.95, 1).unwrap().estimate, 95.0);
        assert_eq!(percentile_interval(&values, 1.0, 0.95, 1).unwrap().estimate, 100.0);
        assert_eq!(percentile_interval(&[], 0.5, 0.95, 1), None);
    }
}
