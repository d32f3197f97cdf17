//! Money, exact to a millionth of a dollar: prices have at most four decimals, and a float would not round as published.

use serde::{Serialize, Serializer};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Mul, Sub};
use std::str::FromStr;

const MICRO: i64 = 1_000_000;

/// An amount of US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usd(i64);

impl Usd {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// From a number of dollars, to the nearest millionth.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the cast saturates, and no machine costs 9 million million dollars"
    )]
    pub fn from_dollars(dollars: f64) -> Self {
        Self((dollars * MICRO as f64).round() as i64)
    }

    /// As a number of dollars.
    pub fn dollars(self) -> f64 {
        self.0 as f64 / MICRO as f64
    }

    /// Whole dollars, the rest cut off: the rounding of the published studies ($7,191.84 is "$7,191").
    pub fn whole(self) -> i64 {
        self.0.div_euclid(MICRO)
    }
}

impl FromStr for Usd {
    type Err = std::num::ParseFloatError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self::from_dollars)
    }
}

impl Add for Usd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Usd {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Usd {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(i64::try_from(times).unwrap_or(i64::MAX)))
    }
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

/// `$7,191.84`; at least two decimals, and as many as there are.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let micros = self.0.unsigned_abs();
        let (whole, rest) = (micros / MICRO.unsigned_abs(), micros % MICRO.unsigned_abs());
        let decimals = format!("{rest:06}");
        let kept = decimals.trim_end_matches('0').len().max(2);
        write!(f, "{sign}${}.{}", grouped(whole), &decimals[..kept])
    }
}

/// Digits in groups of three.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_are_written_as_people_write_them() {
        for (dollars, text) in [
            (0.0, "$0.00"),
            (7191.84, "$7,191.84"),
            (0.044, "$0.044"),
            (1_234_567.5, "$1,234,567.50"),
            (-3.0, "-$3.00"),
            (999.0, "$999.00"),
        ] {
            assert_eq!(Usd::from_dollars(dollars).to_string(), text);
        }
    }

    #[test]
    fn whole_dollars_cut_off_the_rest() {
        assert_eq!(Usd::from_dollars(7191.84).whole(), 7191);
        assert_eq!(Usd::from_dollars(-0.5).whole(), -1);
    }

    proptest! {
        #[test]
        fn a_thousandth_survives_any_number_of_hours(thousandths in 0_i64..100_000, hours in 0_u64..100_000) {
            let hour = Usd::from_dollars(thousandths as f64 / 1000.0);
            prop_assert_eq!(hour * hours, Usd(thousandths * 1000 * hours as i64));
        }
    }
}
