//! The host's speed drifts; repeated measurements of the baseline show it, and it is taken out of the others.

/// A baseline reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// When, seconds since the study began.
    pub at: f64,
    /// The objective.
    pub value: f64,
}

/// The baseline as a function of time: constant, or exponential where the readings show a trend beyond their noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Geometric mean of the readings.
    mean: f64,
    /// Centre of the readings' times.
    centre: f64,
    /// Relative change a second; 0 where no trend is established.
    slope: f64,
}

/// Two-sided 95 % quantiles of Student's t for 2 to 10 degrees of freedom; 1.96 is approached from above beyond.
const T95: [f64; 9] = [4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];

impl Drift {
    /// Fits log(value) = a + b · time by least squares; `b` counts only when its 95 % interval excludes zero, because
    /// dividing by a noisy trend would add more than it takes away. `None` without readings.
    pub fn fit(readings: &[Reading]) -> Option<Self> {
        let n = readings.len() as f64;
        if readings.is_empty() || readings.iter().any(|r| r.value <= 0.0) {
            return None;
        }
        let centre = readings.iter().map(|r| r.at).sum::<f64>() / n;
        let mean_log = readings.iter().map(|r| r.value.ln()).sum::<f64>() / n;
        let constant = Self { mean: mean_log.exp(), centre, slope: 0.0 };
        let spread: f64 = readings.iter().map(|r| (r.at - centre).powi(2)).sum();
        if readings.len() < 4 || spread <= 0.0 {
            return Some(constant);
        }
        let slope =
            readings.iter().map(|r| (r.at - centre) * (r.value.ln() - mean_log)).sum::<f64>() / spread;
        let residual: f64 =
            readings.iter().map(|r| (r.value.ln() - mean_log - slope * (r.at - centre)).powi(2)).sum();
        let degrees = readings.len() - 2;
        let error = (residual / degrees as f64 / spread).sqrt();
        let t = T95.get(degrees - 2).copied().unwrap_or(2.228);
        Some(if slope.abs() > t * error { Self { slope, ..constant } } else { constant })
    }

    /// What to multiply a reading taken at `at` with, to get what it would have been at the middle of the baselines.
    pub fn correction(&self, at: f64) -> f64 {
        (-self.slope * (at - self.centre)).exp()
    }

    /// The baseline's level.
    pub fn level(&self) -> f64 {
        self.mean
    }

    /// Relative change of the host's speed an hour, where a trend is established.
    pub fn per_hour(&self) -> Option<f64> {
        (self.slope != 0.0).then(|| (self.slope * 3600.0).exp() - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
        // Irwin-Hall with 12 uniforms: mean 6, variance 1.
        (0..12).map(|_| (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0
    }

    #[test]
    fn a_steady_drift_is_taken_out() {
        let readings: Vec<_> = [0.0, 60.0, 120.0, 600.0, 1200.0]
            .map(|at| Reading { at, value: 100.0 * (-0.0002 * at).exp() })
            .into();
        let drift = Drift::fit(&readings).unwrap();
        for r in &readings {
            assert!((r.value * drift.correction(r.at) - drift.level()).abs() < 1e-6);
        }
        assert!(drift.per_hour().unwrap() < -0.4);
    }

    #[test]
    fn noise_alone_is_taken_for_drift_in_about_one_study_of_twenty() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
        let studies = 4_000;
        let taken = (0..studies)
            .filter(|_| {
                let readings: Vec<_> = (0..6)
                    .map(|i| Reading {
                        at: 100.0 * f64::from(i),
                        value: 100.0 * (0.05 * normal(&mut rng)).exp(),
                    })
                    .collect();
                Drift::fit(&readings).unwrap().per_hour().is_some()
            })
            .count();
        let rate = taken as f64 / f64::from(studies);
        // 5 % by construction; 4,000 draws give a standard error of 0.34 points.
        assert!((0.04..0.06).contains(&rate), "{rate}");
    }

    #[test]
    fn few_readings_give_a_level_and_no_trend() {
        let drift =
            Drift::fit(&[Reading { at: 0.0, value: 90.0 }, Reading { at: 50.0, value: 40.0 }]).unwrap();
        assert_eq!(drift.correction(1e6), 1.0);
        assert!((drift.level() - 60.0).abs() < 1e-9);
        assert_eq!(Drift::fit(&[]), None);
    }
}
