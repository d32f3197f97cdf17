//! Seeded random draws. One stream for each terminal: the same seed gives the same statements, whatever the
//! scheduling of the others.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random(Xoshiro256PlusPlus);

/// 64 printable characters, so that six random bits make one.
const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-+";

impl Random {
    /// Stream number `stream` of `seed`. Streams are told apart by a mixed seed, not by jumps: jumping to
    /// stream 1,000 would cost a thousand jumps.
    pub fn stream(seed: u64, stream: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(
            seed ^ stream.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        ))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..n`; `n` must not be zero. The bias is below n / 2^64.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// Uniform in `low..=high`.
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as u64) as i64
    }

    /// Uniform in `0.0..1.0`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True in `percent` of 100 draws.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// An exponential draw with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.unit()).ln() * mean
    }

    /// TPC-C's non-uniform draw (clause 2.1.6): `NURand(a, low, high)` with the run's constant `c`.
    pub fn nurand(&mut self, a: i64, c: i64, low: i64, high: i64) -> i64 {
        let mixed = self.range(0, a) | self.range(low, high);
        (mixed + c) % (high - low + 1) + low
    }

    /// Appends `n` random letters and digits.
    pub fn letters(&mut self, n: usize, out: &mut Vec<u8>) {
        let end = out.len() + n;
        while out.len() < end {
            let mut bits = self.bits();
            for _ in 0..10.min(end - out.len()) {
                out.push(LETTERS[(bits & 63) as usize]);
                bits >>= 6;
            }
        }
    }

    /// Appends `n` random digits.
    pub fn digits(&mut self, n: usize, out: &mut Vec<u8>) {
        let end = out.len() + n;
        while out.len() < end {
            let mut bits = self.below(10_000_000_000_000_000_000);
            for _ in 0..19.min(end - out.len()) {
                out.push(b'0' + (bits % 10) as u8);
                bits /= 10;
            }
        }
    }

    /// A random permutation of `1..=n` (Fisher-Yates).
    pub fn permutation(&mut self, n: usize) -> Vec<i64> {
        let mut values: Vec<i64> = (1..=n as i64).collect();
        for i in (1..n).rev() {
            values.swap(i, self.below(i as u64 + 1) as usize);
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sum of squared shares x n: how often two draws agree, against uniform draws.
    fn collisions(mut draw: impl FnMut() -> i64, n: usize, draws: u32) -> f64 {
        let mut counts = vec![0u32; n + 1];
        for _ in 0..draws {
            counts[draw() as usize] += 1;
        }
        let pairs: f64 = counts.iter().map(|&c| f64::from(c) * (f64::from(c) - 1.0)).sum();
        pairs / (f64::from(draws) * (f64::from(draws) - 1.0)) * n as f64
    }

    #[test]
    fn nurand_is_as_skewed_as_the_clause_makes_it() {
        // Exact values of n x sum(p^2), computed from the definition.
        let mut r = Random::stream(1, 0);
        let last = collisions(|| r.nurand(255, 123, 0, 999), 1000, 200_000);
        assert!((last / 5.644 - 1.0).abs() < 0.05, "{last}");
        let customer = collisions(|| r.nurand(1023, 77, 1, 3000), 3000, 200_000);
        assert!((customer / 8.722 - 1.0).abs() < 0.05, "{customer}");
        let item = collisions(|| r.nurand(8191, 4321, 1, 100_000), 100_000, 400_000);
        assert!((item / 17.95 - 1.0).abs() < 0.05, "{item}");
    }

    #[test]
    fn ranges_reach_both_ends_and_no_further() {
        let mut r = Random::stream(7, 3);
        let draws: Vec<i64> = (0..1000).map(|_| r.range(-2, 2)).collect();
        assert_eq!((draws.iter().min(), draws.iter().max()), (Some(&-2), Some(&2)));
    }

    #[test]
    fn streams_differ_and_repeat() {
        let draw = |seed, stream| Random::stream(seed, stream).bits();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn a_permutation_has_every_value_once() {
        let mut p = Random::stream(1, 1).permutation(100);
        p.sort_unstable();
        assert_eq!(p, (1..=100).collect::<Vec<_>>());
    }
}
