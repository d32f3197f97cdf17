//! What a machine costs: the instance, its provisioned IOPS and its storage, by month and by year.
//!
//! On demand, region us-east-1, MySQL or MariaDB. Not in it: backups, transfer, reserved instances, extended support, taxes.

mod choice;
mod storage;
mod usd;

pub use choice::{Offer, best_within, cheapest_at_least, per_thousand_dollars};
pub use storage::{Storage, StorageKind, StorageRefusal};
pub use usd::{Usd, grouped};

use crate::catalogue::Class;
use serde::Serialize;
use std::error::Error;
use std::fmt;

/// Hours of a year, leap days left out; also twelve of the provider's months of 730 hours.
pub const HOURS_A_YEAR: u64 = 8760;
/// Hours of a month as the provider bills.
pub const HOURS_A_MONTH: u64 = 730;
const MONTHS: u64 = 12;

/// What a machine costs in a while, by part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Parts {
    /// The instance.
    pub instance: Usd,
    /// Provisioned I/O operations.
    pub iops: Usd,
    /// Storage.
    pub storage: Usd,
}

impl Parts {
    /// All together.
    pub fn total(&self) -> Usd {
        self.instance + self.iops + self.storage
    }
}

/// Price of a year.
///
/// # Errors
/// If the price of a part is not known, or the storage can't be had so.
pub fn yearly(class: &Class, storage: &Storage) -> Result<Parts, PriceError> {
    over(class, storage, HOURS_A_YEAR, MONTHS)
}

/// Price of a month of 730 hours.
///
/// # Errors
/// As [`yearly`].
pub fn monthly(class: &Class, storage: &Storage) -> Result<Parts, PriceError> {
    over(class, storage, HOURS_A_MONTH, 1)
}

fn over(class: &Class, storage: &Storage, hours: u64, months: u64) -> Result<Parts, PriceError> {
    let hour = class.hour.ok_or_else(|| PriceError::NoPrice(class.name.clone()))?;
    // A standby of the same size. Twice the price holds for most classes, not to the cent for all (db.t4g.small).
    let instances = if storage.multi_az { 2 } else { 1 };
    let (iops, gigabytes) = storage.month().map_err(PriceError::Storage)?;
    Ok(Parts { instance: hour * hours * instances, iops: iops * months, storage: gigabytes * months })
}

/// A price that can't be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PriceError {
    /// No source of this machine's price is good enough to cite.
    NoPrice(String),
    /// The storage can't be had so, or its price is not known.
    Storage(StorageRefusal),
}

impl fmt::Display for PriceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPrice(name) => write!(f, "the price of {name} is not known"),
            Self::Storage(_) => f.write_str("the storage has no price"),
        }
    }
}

impl Error for PriceError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NoPrice(_) => None,
            Self::Storage(refusal) => Some(refusal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    fn year(class: &str, storage: Storage) -> Parts {
        yearly(Catalogue::builtin().class(class).unwrap(), &storage).unwrap()
    }

    fn month(class: &str, storage: Storage) -> Parts {
        monthly(Catalogue::builtin().class(class).unwrap(), &storage).unwrap()
    }

    fn io1(gigabytes: u64, iops: u64) -> Storage {
        Storage { kind: StorageKind::Io1, gigabytes, iops, multi_az: false }
    }

    fn dollars(parts: Parts) -> [String; 3] {
        [parts.instance, parts.iops, parts.storage].map(|part| part.to_string())
    }

    /// The figures of the published study (2021-09-30): whole dollars, the rest cut off, storage left out.
    #[test]
    fn the_published_prices_come_out() {
        let small = year("db.m5.2xlarge", io1(0, 1000)).total();
        let big = year("db.m5.4xlarge", io1(0, 2000)).total();
        assert_eq!((small.to_string().as_str(), small.whole()), ("$7,191.84", 7191));
        assert_eq!((big.to_string().as_str(), big.whole()), ("$14,383.68", 14_383));
        assert_eq!((big - small).to_string(), "$7,191.84", "half the machine saves half");
    }

    #[test]
    fn the_smallest_volume_that_can_be_had_adds_150_dollars() {
        assert_eq!(year("db.m5.2xlarge", io1(100, 1000)).total().to_string(), "$7,341.84");
        assert_eq!(year("db.m5.4xlarge", io1(100, 2000)).total().to_string(), "$14,533.68");
    }

    #[test]
    fn twelve_months_of_730_hours_are_a_year() {
        let twelve = month("db.m5.2xlarge", io1(0, 1000)).total() * 12;
        assert_eq!(twelve, year("db.m5.2xlarge", io1(0, 1000)).total());
    }

    /// Expected prices of a month in infracost's tests.
    #[test]
    fn another_tool_has_the_same_prices() {
        assert_eq!(dollars(month("db.t3.large", io1(100, 1200))), ["$99.28", "$120.00", "$12.50"]);
        let gp3 = |multi_az| Storage { kind: StorageKind::Gp3, gigabytes: 400, iops: 14_000, multi_az };
        let single = month("db.t4g.small", gp3(false));
        assert_eq!(
            (dollars(single), single.total().to_string()),
            (["$23.36".into(), "$40.00".into(), "$46.00".into()], "$109.36".into())
        );
        let multi = month("db.t4g.small", gp3(true));
        assert_eq!((multi.iops.to_string(), multi.storage.to_string()), ("$80.00".into(), "$92.00".into()));
    }

    #[test]
    fn prices_are_not_quite_linear_in_size() {
        let hour = |class| Catalogue::builtin().class(class).unwrap().hour.unwrap();
        assert_eq!(hour("db.m5.8xlarge").to_string(), "$2.74");
        assert_eq!((hour("db.m5.large") * 16).to_string(), "$2.736");
        assert_eq!(hour("db.m5.16xlarge").to_string(), "$5.47");
        assert_eq!((hour("db.m5.large") * 32).to_string(), "$5.472");
    }

    #[test]
    fn a_price_that_is_not_known_is_not_made_up() {
        let catalogue = Catalogue::builtin();
        let error = yearly(catalogue.class("db.m6i.8xlarge").unwrap(), &io1(0, 0)).unwrap_err();
        assert_eq!(error.to_string(), "the price of db.m6i.8xlarge is not known");
    }
}
