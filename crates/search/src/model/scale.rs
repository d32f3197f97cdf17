//! From readings to model targets and back: larger is better, centred, scaled, with a compressed bad tail.

use serde::{Deserialize, Serialize};

/// Where the compression of bad readings starts, in robust standard deviations below the median.
const KNEE: f64 = 2.0;

/// The output warping: monotone, invertible, fitted to the readings.
///
/// Positive readings of an objective are compared by ratio (their noise is a share of them: 5 % of 300 and of 600),
/// so they go through the logarithm. Readings far below the middle (a broken configuration that still answers) would
/// otherwise own the scale; behind the knee they are compressed logarithmically, since only the order of
/// bad configurations matters to the search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scale {
    sign: f64,
    log: bool,
    centre: f64,
    spread: f64,
}

fn median(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    if n == 0 {
        0.0
    } else if n % 2 == 1 {
        sorted[n / 2]
    } else {
        0.5 * (sorted[n / 2 - 1] + sorted[n / 2])
    }
}

impl Scale {
    /// Fits the warping to readings; `maximise` says which way is better.
    pub(crate) fn fit(readings: &[f64], maximise: bool) -> Self {
        let log = !readings.is_empty() && readings.iter().all(|r| *r > 0.0);
        let sign = if maximise { 1.0 } else { -1.0 };
        let mut t: Vec<f64> = readings.iter().map(|r| sign * if log { r.ln() } else { *r }).collect();
        t.sort_by(f64::total_cmp);
        let centre = median(&t);
        // The upper half decides the scale: that is where the search goes on.
        let upper: Vec<f64> = t.iter().filter(|x| **x >= centre).map(|x| x - centre).collect();
        let rms = (upper.iter().map(|x| x * x).sum::<f64>() / upper.len().max(1) as f64).sqrt();
        let mut deviations: Vec<f64> = t.iter().map(|x| (x - centre).abs()).collect();
        deviations.sort_by(f64::total_cmp);
        // 1.4826 makes the median deviation of a normal sample its standard deviation.
        let spread = rms.max(1.4826 * median(&deviations));
        let floor = 1e-9 * centre.abs().max(1e-3);
        Self { sign, log, centre, spread: spread.max(floor) }
    }

    /// A reading in target units.
    pub(crate) fn target(&self, reading: f64) -> f64 {
        let t = if self.log { reading.max(f64::MIN_POSITIVE).ln() } else { reading };
        let z = (self.sign * t - self.centre) / self.spread;
        if z < -KNEE { -KNEE - (1.0 - KNEE - z).ln() } else { z }
    }

    /// A target in the reading's unit.
    pub(crate) fn reading(&self, target: f64) -> f64 {
        let z = if target < -KNEE { 1.0 - KNEE - (-KNEE - target).exp() } else { target };
        let t = self.sign * (self.centre + self.spread * z);
        if self.log { t.exp() } else { t }
    }

    /// How many reading units one target unit is, near a target.
    pub(crate) fn slope(&self, target: f64) -> f64 {
        let bend = if target < -KNEE { (-KNEE - target).exp() } else { 1.0 };
        let s = self.spread * bend;
        if self.log { s * self.reading(target) } else { s }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_come_back_as_their_readings_on_both_sides_of_the_knee() {
        for readings in [vec![300.0, 310.0, 420.0, 500.0, 2.0], vec![-5.0, 0.0, 3.0, 8.0, -900.0]] {
            for maximise in [true, false] {
                let scale = Scale::fit(&readings, maximise);
                for r in &readings {
                    let back = scale.reading(scale.target(*r));
                    assert!((back - r).abs() < 1e-9 * r.abs().max(1.0), "{r} became {back}");
                }
            }
        }
    }

    #[test]
    fn better_readings_have_larger_targets_whichever_way_is_better() {
        let readings = [10.0, 12.0, 15.0, 40.0, 0.1];
        let up = Scale::fit(&readings, true);
        let down = Scale::fit(&readings, false);
        assert!(up.target(15.0) > up.target(12.0) && up.target(0.1) < up.target(10.0));
        assert!(down.target(12.0) > down.target(15.0) && down.target(0.1) > down.target(10.0));
    }

    #[test]
    fn a_broken_configuration_does_not_own_the_scale() {
        let scale = Scale::fit(&[300.0, 310.0, 320.0, 330.0, 340.0, 350.0, 0.01], true);
        assert!(scale.target(0.01) > -8.0, "{}", scale.target(0.01));
        assert!(scale.target(340.0) - scale.target(320.0) > 0.5);
    }

    #[test]
    fn the_slope_is_the_derivative_of_the_reading() {
        let scale = Scale::fit(&[300.0, 310.0, 420.0, 500.0, 20.0], true);
        for t in [-3.5, -1.0, 0.5, 2.0] {
            let numeric = (scale.reading(t + 1e-6) - scale.reading(t - 1e-6)) / 2e-6;
            assert!((scale.slope(t) - numeric).abs() < 1e-4 * numeric.abs(), "at {t}");
        }
    }
}
