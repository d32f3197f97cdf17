//! The tables that come with the program. Tests read all of them, so a row that does not fit is a bug that no user meets.

use super::Class;
use std::fmt;

/// How good the source of a price is; `data/rds-classes.tsv` names the sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceSource {
    /// The provider's price list.
    PriceList,
    /// The provider's price list, the same in two of them years apart.
    PriceListTwice,
    /// The provider's price list, second hand.
    SecondHand,
    /// Tables of third parties only.
    Unverified,
    /// The user's own file.
    User,
}

impl PriceSource {
    fn parse(code: &str) -> Option<Self> {
        match code {
            "A" => Some(Self::PriceList),
            "A+" => Some(Self::PriceListTwice),
            "B" => Some(Self::SecondHand),
            "C" => Some(Self::Unverified),
            _ => None,
        }
    }
}

impl fmt::Display for PriceSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PriceList => "the provider's price list",
            Self::PriceListTwice => "the provider's price list, unchanged in 2026-09",
            Self::SecondHand => "the provider's price list, second hand",
            Self::Unverified => "third parties, not verified",
            Self::User => "machines.toml",
        })
    }
}

/// Reads a table: `#` comments, a head, then a row for each class; `-` is unknown.
pub(super) fn classes(text: &str) -> Vec<Class> {
    text.lines().filter(|line| !line.starts_with('#')).skip(1).filter_map(class).collect()
}

fn class(row: &str) -> Option<Class> {
    let cells: Vec<&str> = row.split('\t').collect();
    let &[name, vcpu, memory, iops, iops_max, mb_s, mb_s_max, hour, source, date] = cells.as_slice() else {
        return None;
    };
    Some(Class {
        name: name.to_owned(),
        vcpu: vcpu.parse().ok()?,
        memory: gib(memory.parse().ok()?),
        iops: iops.parse().ok(),
        iops_max: iops_max.parse().ok(),
        mb_s: mb_s.parse().ok(),
        mb_s_max: mb_s_max.parse().ok(),
        hour: hour.parse().ok(),
        price_source: PriceSource::parse(source),
        price_date: (date != "-").then(|| date.to_owned()),
    })
}

/// Bytes of so many GiB. Providers state a tenth of one at the finest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes of machines are positive and far below 2^53 bytes"
)]
pub(super) fn gib(gib: f64) -> u64 {
    (gib * f64::from(1 << 30)) as u64
}
