//! Which rows are touched: sysbench's distributions of ids.

use crate::random::Random;
use serde::{Deserialize, Serialize};

/// Distribution of ids over a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// All rows alike.
    Uniform,
    /// The mean of twelve uniform draws: around the middle of the table.
    Gaussian,
    /// A quarter of the draws Gaussian, the others uniform over the central one percent of the table, as 0.4.12
    /// does. 1.0 means the same, but its draws collapse to the upper three quarters of that percent.
    #[default]
    Special,
    /// 80 : 20, self-similar (h = 0.2).
    Pareto,
    /// Zipf's law with exponent 0.8.
    Zipfian,
}

/// Uniform draws that make a Gaussian one (`--rand-spec-iter`, `--oltp-dist-iter`).
const ITERATIONS: u32 = 12;
/// Percent of the table that is hot (`--rand-spec-pct`).
const HOT_PERCENT: i64 = 1;
/// Percent of the draws that go there (`--rand-spec-res`).
const HOT_DRAWS: u64 = 75;
/// `--rand-pareto-h`.
const PARETO_H: f64 = 0.2;
/// `--rand-zipfian-exp`.
const ZIPF_EXPONENT: f64 = 0.8;

/// Draws ids from `1..=size`.
#[derive(Debug, Clone)]
pub struct Ids {
    distribution: Distribution,
    size: i64,
    zipf: Option<Zipf>,
}

impl Ids {
    /// Ids of a table of `size` rows, at least 1.
    pub fn new(distribution: Distribution, size: u64) -> Self {
        let zipf = (distribution == Distribution::Zipfian).then(|| Zipf::new(size.max(1), ZIPF_EXPONENT));
        Self { distribution, size: size.max(1) as i64, zipf }
    }

    /// The next id.
    pub fn draw(&self, random: &mut Random) -> i64 {
        let n = self.size;
        let scaled = |share: f64| 1 + ((share * n as f64) as i64).min(n - 1);
        match self.distribution {
            Distribution::Uniform => random.range(1, n),
            Distribution::Gaussian => scaled(gaussian(random)),
            Distribution::Special => {
                if !random.percent(HOT_DRAWS) {
                    return scaled(gaussian(random));
                }
                let hot = (n * HOT_PERCENT / 100).max(1);
                1 + (n - hot) / 2 + random.below(hot as u64) as i64
            }
            Distribution::Pareto => scaled(random.unit().powf(PARETO_H.ln() / (1.0 - PARETO_H).ln())),
            Distribution::Zipfian => self.zipf.as_ref().map_or(1, |z| z.draw(random)),
        }
    }
}

/// Mean of twelve uniform draws.
fn gaussian(random: &mut Random) -> f64 {
    (0..ITERATIONS).map(|_| random.unit()).sum::<f64>() / f64::from(ITERATIONS)
}

/// Zipf by rejection-inversion (Hörmann and Derflinger, 1996).
#[derive(Debug, Clone)]
struct Zipf {
    n: f64,
    exponent: f64,
    low: f64,
    high: f64,
    shortcut: f64,
}

impl Zipf {
    fn new(n: u64, exponent: f64) -> Self {
        let mut zipf = Self { n: n as f64, exponent, low: 0.0, high: 0.0, shortcut: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(n as f64 + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - 2f64.powf(-exponent));
        zipf
    }

    /// Integral of x^-e.
    fn integral(&self, x: f64) -> f64 {
        (x.powf(1.0 - self.exponent) - 1.0) / (1.0 - self.exponent)
    }

    fn inverse(&self, y: f64) -> f64 {
        (1.0 + y * (1.0 - self.exponent)).powf(1.0 / (1.0 - self.exponent))
    }

    fn draw(&self, random: &mut Random) -> i64 {
        loop {
            let u = self.high + random.unit() * (self.low - self.high);
            let x = self.inverse(u);
            let k = x.round().clamp(1.0, self.n);
            if k - x <= self.shortcut || u >= self.integral(k + 0.5) - k.powf(-self.exponent) {
                return k as i64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Share of the draws in `from..=to`, of a table of 100,000 rows.
    fn share(distribution: Distribution, from: i64, to: i64) -> f64 {
        let ids = Ids::new(distribution, 100_000);
        let mut random = Random::stream(1, 1);
        let draws = 200_000;
        let hits = (0..draws)
            .filter(|_| {
                let id = ids.draw(&mut random);
                assert!((1..=100_000).contains(&id), "{id}");
                (from..=to).contains(&id)
            })
            .count();
        hits as f64 / f64::from(draws)
    }

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 0.006, "{value} instead of {expected}");
    }

    #[test]
    fn special_has_its_hot_percent_in_the_middle() {
        // 75 % uniform over the central percent, and 4.8 % of the 25 % Gaussian draws.
        near(share(Distribution::Special, 49_501, 50_500), 0.762);
        near(share(Distribution::Special, 49_501, 49_750), 0.762 / 4.0);
        near(share(Distribution::Special, 40_001, 60_000), 0.942);
    }

    #[test]
    fn the_other_distributions_have_their_shapes() {
        near(share(Distribution::Uniform, 1, 25_000), 0.25);
        // Mean n/2, standard deviation n/12: 68.3 % within one (the sum of twelve is nearly normal).
        near(share(Distribution::Gaussian, 41_668, 58_333), 0.683);
        // Self-similar: 80 % of the draws in the first 20 % of the rows.
        near(share(Distribution::Pareto, 1, 20_000), 0.8);
        // H(1000, 0.8) / H(100000, 0.8) = 15.468 / 45.64.
        near(share(Distribution::Zipfian, 1, 1000), 0.339);
    }

    #[test]
    fn tiny_tables_work() {
        for d in [
            Distribution::Uniform,
            Distribution::Gaussian,
            Distribution::Special,
            Distribution::Pareto,
            Distribution::Zipfian,
        ] {
            let ids = Ids::new(d, 1);
            assert_eq!(ids.draw(&mut Random::stream(1, 1)), 1);
        }
    }
}
