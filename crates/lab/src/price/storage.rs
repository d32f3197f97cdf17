//! Storage and its prices.

use super::Usd;
use std::error::Error;
use std::fmt;
use std::str::FromStr;

const PRICES: &str = include_str!("../../data/storage-prices.tsv");

/// Kinds of storage of RDS for MySQL and MariaDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageKind {
    /// General purpose: IOPS by size, in bursts by credits.
    Gp2,
    /// General purpose: IOPS included, more for money.
    Gp3,
    /// Provisioned IOPS.
    Io1,
    /// Provisioned IOPS, block express; priced as io1.
    Io2,
}

impl StorageKind {
    /// Its name with the provider.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gp2 => "gp2",
            Self::Gp3 => "gp3",
            Self::Io1 => "io1",
            Self::Io2 => "io2",
        }
    }
}

impl fmt::Display for StorageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for StorageKind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Gp2, Self::Gp3, Self::Io1, Self::Io2]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| format!("{text:?} is no kind of storage; use gp2, gp3, io1 or io2"))
    }
}

/// A volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storage {
    /// Its kind.
    pub kind: StorageKind,
    /// Its size in GB as billed; zero leaves storage out of the price, as the published studies do.
    pub gigabytes: u64,
    /// I/O operations a second: what is provisioned, or with gp3 what one wants in all.
    pub iops: u64,
    /// With a standby in another zone.
    pub multi_az: bool,
}

impl Storage {
    /// What a volume of gp3 comes with, by its size (RDS user guide, `CHAP_Storage`): 12,000 from 400 GB on, where it is striped over four volumes.
    fn included_iops(&self) -> u64 {
        match self.kind {
            StorageKind::Gp3 if self.gigabytes >= 400 => 12_000,
            StorageKind::Gp3 => 3000,
            StorageKind::Gp2 | StorageKind::Io1 | StorageKind::Io2 => 0,
        }
    }

    /// Price of a month: of the IOPS, and of the storage.
    pub(super) fn month(&self) -> Result<(Usd, Usd), StorageRefusal> {
        let row = row(self.kind, self.multi_az).ok_or(StorageRefusal::NoPrice(self.kind, self.multi_az))?;
        if self.gigabytes > 0 && self.gigabytes < row.min_gigabytes {
            return Err(StorageRefusal::TooSmall(self.kind, row.min_gigabytes));
        }
        let paid = self.iops.saturating_sub(self.included_iops());
        let iops = match row.iops {
            Some(each) => each * paid,
            None if paid == 0 => Usd::ZERO,
            None => return Err(StorageRefusal::NotProvisioned(self.kind)),
        };
        Ok((iops, row.gigabyte * self.gigabytes))
    }
}

struct Row {
    gigabyte: Usd,
    iops: Option<Usd>,
    min_gigabytes: u64,
}

fn row(kind: StorageKind, multi_az: bool) -> Option<Row> {
    let az = if multi_az { "multi" } else { "single" };
    PRICES.lines().find_map(|line| match line.split('\t').collect::<Vec<_>>().as_slice() {
        [k, a, gigabyte, iops, min] if *k == kind.as_str() && *a == az => Some(Row {
            gigabyte: gigabyte.parse().ok()?,
            iops: iops.parse().ok(),
            min_gigabytes: min.parse().ok()?,
        }),
        _ => None,
    })
}

/// Why storage has no price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StorageRefusal {
    /// No source of the price is good enough to cite; with a standby or without.
    NoPrice(StorageKind, bool),
    /// Volumes of this kind are at least so many GB.
    TooSmall(StorageKind, u64),
    /// IOPS of this kind are not for sale.
    NotProvisioned(StorageKind),
}

impl fmt::Display for StorageRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPrice(kind, multi) => {
                write!(
                    f,
                    "the price of {kind} storage {} is not known",
                    if *multi { "with a standby" } else { "without a standby" }
                )
            }
            Self::TooSmall(kind, least) => write!(f, "a volume of {kind} has at least {least} GB"),
            Self::NotProvisioned(kind) => write!(f, "{kind} has no provisioned IOPS; use gp3, io1 or io2"),
        }
    }
}

impl Error for StorageRefusal {}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(kind: StorageKind, gigabytes: u64, iops: u64) -> Storage {
        Storage { kind, gigabytes, iops, multi_az: false }
    }

    fn month(storage: Storage) -> [String; 2] {
        let (iops, gigabytes) = storage.month().unwrap();
        [iops.to_string(), gigabytes.to_string()]
    }

    #[test]
    fn gp3_charges_only_what_goes_beyond_the_included_iops() {
        assert_eq!(month(volume(StorageKind::Gp3, 20, 3000)), ["$0.00", "$2.30"]);
        assert_eq!(month(volume(StorageKind::Gp3, 20, 4000)), ["$20.00", "$2.30"]);
        assert_eq!(month(volume(StorageKind::Gp3, 400, 14_000)), ["$40.00", "$46.00"]);
    }

    #[test]
    fn io2_costs_what_io1_costs() {
        assert_eq!(month(volume(StorageKind::Io2, 100, 1000)), month(volume(StorageKind::Io1, 100, 1000)));
    }

    #[test]
    fn what_cannot_be_bought_has_no_price() {
        let refusal = |storage: Storage| storage.month().unwrap_err();
        assert_eq!(
            refusal(volume(StorageKind::Gp2, 100, 1)),
            StorageRefusal::NotProvisioned(StorageKind::Gp2)
        );
        assert_eq!(
            refusal(volume(StorageKind::Io1, 99, 1000)),
            StorageRefusal::TooSmall(StorageKind::Io1, 100)
        );
        let standby = Storage { multi_az: true, ..volume(StorageKind::Io1, 100, 1000) };
        assert_eq!(refusal(standby), StorageRefusal::NoPrice(StorageKind::Io1, true));
    }
}
