//! Units of values, and the one place where amounts of memory are read and written.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An amount of memory or storage, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// `n` kibibytes.
    pub const fn kib(n: u64) -> Self {
        Self(n << 10)
    }
    /// `n` mebibytes.
    pub const fn mib(n: u64) -> Self {
        Self(n << 20)
    }
    /// `n` gibibytes.
    pub const fn gib(n: u64) -> Self {
        Self(n << 30)
    }
    /// This share of the amount, rounded down.
    #[must_use]
    pub fn share(self, part: f64) -> Self {
        // Amounts stay far below 2^53, so the detour through a float loses nothing that matters.
        Self((self.0 as f64 * part).max(0.0) as u64)
    }
    /// The amount as a signed number, the type of a knob's value; saturates.
    pub fn as_i64(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }
}

impl fmt::Display for Bytes {
    /// Binary units; exact where it can be ("128M"), else with one decimal ("1.5G").
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, letter) = match self.0 {
            n if n >= 1 << 40 => (1u64 << 40, "T"),
            n if n >= 1 << 30 => (1 << 30, "G"),
            n if n >= 1 << 20 => (1 << 20, "M"),
            n if n >= 1 << 10 => (1 << 10, "K"),
            n => return write!(f, "{n}B"),
        };
        if self.0.is_multiple_of(unit) {
            write!(f, "{}{letter}", self.0 / unit)
        } else {
            write!(f, "{:.1}{letter}", self.0 as f64 / unit as f64)
        }
    }
}

/// A text that is not an amount of memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an amount of memory: write a number of bytes, or one with K, M, G or T (binary)")]
pub struct BytesError(String);

impl FromStr for Bytes {
    type Err = BytesError;

    /// Reads `4096`, `128M`, `1.5G`, `4GiB`, `64 MB`; all letters are binary, as in the servers' own files.
    fn from_str(text: &str) -> Result<Self, BytesError> {
        let error = || BytesError(text.to_owned());
        let trimmed = text.trim();
        let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, letters) = trimmed.split_at(digits);
        let shift = match letters.trim().to_ascii_uppercase().as_str() {
            "" | "B" => 0,
            "K" | "KB" | "KIB" => 10,
            "M" | "MB" | "MIB" => 20,
            "G" | "GB" | "GIB" => 30,
            "T" | "TB" | "TIB" => 40,
            _ => return Err(error()),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(1 << shift).map(Bytes).ok_or_else(error);
        }
        let part: f64 = number.parse().map_err(|_| error())?;
        Ok(Bytes((part * (1u64 << shift) as f64) as u64))
    }
}

/// What a knob's number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each name is its own explanation")]
pub enum Unit {
    None,
    Bytes,
    Count,
    Percent,
    Threads,
    Pages,
    Tables,
    Files,
    Connections,
    Transactions,
    #[serde(rename = "ops/s")]
    OpsPerSecond,
    Microseconds,
    Milliseconds,
    Seconds,
    Days,
}

impl Unit {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "bytes" => Self::Bytes,
            "count" => Self::Count,
            "percent" => Self::Percent,
            "threads" => Self::Threads,
            "pages" => Self::Pages,
            "tables" => Self::Tables,
            "files" => Self::Files,
            "connections" => Self::Connections,
            "transactions" => Self::Transactions,
            "ops/s" => Self::OpsPerSecond,
            "us" => Self::Microseconds,
            "ms" => Self::Milliseconds,
            "s" => Self::Seconds,
            "days" => Self::Days,
            _ => return None,
        })
    }

    /// The short text put behind a number, empty where a number stands for itself.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::None | Self::Bytes | Self::Count => "",
            Self::Percent => "%",
            Self::Threads => "threads",
            Self::Pages => "pages",
            Self::Tables => "tables",
            Self::Files => "files",
            Self::Connections => "connections",
            Self::Transactions => "transactions",
            Self::OpsPerSecond => "ops/s",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Days => "days",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_read_like_the_servers_own_files() {
        for (text, bytes) in
            [("4096", 4096), ("128M", 128 << 20), ("1.5g", 3 << 29), ("4 GiB", 4 << 30), ("64KB", 64 << 10)]
        {
            assert_eq!(text.parse::<Bytes>().unwrap(), Bytes(bytes), "{text}");
        }
        for text in ["", "G", "12X", "-1", "1.2.3M"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_print_in_the_largest_unit_that_is_not_below_one() {
        for (bytes, text) in
            [(0, "0B"), (1023, "1023B"), (128 << 20, "128M"), (1 << 40, "1T"), (3 << 29, "1.5G")]
        {
            assert_eq!(Bytes(bytes).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn whole_units_survive_a_round_trip(n in 1u64..1000, shift in 1u32..4) {
            let amount = Bytes(n << (10 * shift));
            prop_assert_eq!(amount.to_string().parse::<Bytes>().unwrap(), amount);
        }
    }
}
