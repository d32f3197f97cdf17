//! The machines that one can rent: size, limits of the disk's link, price, with source and date.

mod nearest;
mod table;
mod user;

pub use table::PriceSource;
pub use user::{UserFileError, UserFileErrorKind};

use crate::price::Usd;
use nearest::nearest;
use std::error::Error;
use std::fmt;
use std::path::Path;

const RDS: &str = include_str!("../../data/rds-classes.tsv");
const EC2: &str = include_str!("../../data/ec2-sizes.tsv");

/// One machine that can be rented.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// Its name with the provider: `db.m5.4xlarge`, `m1.small`.
    pub name: String,
    /// Virtual CPUs.
    pub vcpu: u32,
    /// Memory in bytes.
    pub memory: u64,
    /// I/O operations a second that the link to the disk sustains; `None` where the provider states none.
    pub iops: Option<u32>,
    /// The same in a burst.
    pub iops_max: Option<u32>,
    /// Megabytes (10^6) a second that the link to the disk sustains.
    pub mb_s: Option<f64>,
    /// The same in a burst.
    pub mb_s_max: Option<f64>,
    /// Price of an hour, on demand, Single-AZ; `None` where no source is good enough to cite.
    pub hour: Option<Usd>,
    /// Where the price is from.
    pub price_source: Option<PriceSource>,
    /// Date of the price, `2022-01-18` or `2017-01`.
    pub price_date: Option<String>,
}

/// All machines that are known.
#[derive(Debug, Clone)]
pub struct Catalogue {
    classes: Vec<Class>,
}

impl Catalogue {
    /// The machines that come with the program: 124 RDS classes and three EC2 sizes.
    pub fn builtin() -> Self {
        let classes = [RDS, EC2].into_iter().flat_map(table::classes).collect();
        Self { classes }
    }

    /// Adds or changes machines as a `machines.toml` says.
    ///
    /// # Errors
    /// If the file can't be read or says something about a machine that makes no sense.
    pub fn with_user_file(mut self, path: &Path) -> Result<Self, UserFileError> {
        for (name, entry) in user::read(path)? {
            let at = self.classes.iter().position(|class| class.name == name);
            let class =
                entry.over(&name, at.map(|at| &self.classes[at])).map_err(|kind| kind.of(path, &name))?;
            match at {
                Some(at) => self.classes[at] = class,
                None => self.classes.push(class),
            }
        }
        Ok(self)
    }

    /// The machine of a name.
    ///
    /// # Errors
    /// If there is none; names those that look like it.
    pub fn class(&self, name: &str) -> Result<&Class, CatalogueError> {
        let wanted = name.to_ascii_lowercase();
        self.classes.iter().find(|class| class.name == wanted).ok_or_else(|| CatalogueError {
            name: name.to_owned(),
            nearest: nearest(&wanted, self.classes.iter().map(|class| class.name.as_str())),
        })
    }

    /// All machines, in the provider's order of families and sizes.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }
}

/// A name that is not in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueError {
    name: String,
    nearest: Vec<String>,
}

impl CatalogueError {
    /// Names in the catalogue that look like the one that was asked for, the nearest first.
    pub fn nearest(&self) -> &[String] {
        &self.nearest
    }
}

impl fmt::Display for CatalogueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no machine is called {:?}", self.name)
    }
}

impl Error for CatalogueError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_is_whole() {
        let catalogue = Catalogue::builtin();
        assert_eq!(catalogue.classes().len(), 124 + 3);
        assert_eq!(catalogue.classes().iter().filter(|class| class.hour.is_some()).count(), 108 + 3);
        let mut names: Vec<&str> = catalogue.classes().iter().map(|class| class.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 127);
        for class in catalogue.classes() {
            assert!(class.vcpu >= 1 && class.memory > 1 << 29, "{class:?}");
            assert_eq!(class.hour.is_some(), class.price_source.is_some(), "{class:?}");
            assert_eq!(class.hour.is_some(), class.price_date.is_some(), "{class:?}");
            assert!(class.iops <= class.iops_max && class.mb_s <= class.mb_s_max, "{class:?}");
        }
    }

    #[test]
    fn the_machines_of_the_published_studies_are_in_it() {
        let catalogue = Catalogue::builtin();
        let big = catalogue.class("db.m5.4xlarge").unwrap();
        assert_eq!((big.vcpu, big.memory, big.iops), (16, 64 << 30, Some(18_750)));
        assert_eq!(big.price_source, Some(PriceSource::PriceListTwice));
        let small = catalogue.class("M1.small").unwrap();
        assert_eq!((small.vcpu, small.memory), (1, 1_825_361_100));
        assert_eq!(small.hour.unwrap().to_string(), "$0.044");
        assert_eq!(small.price_date.as_deref(), Some("2017-01"));
    }

    #[test]
    fn an_unknown_name_comes_with_those_that_look_like_it() {
        let error = Catalogue::builtin().class("m5.4xlarg").unwrap_err();
        assert_eq!(error.to_string(), "no machine is called \"m5.4xlarg\"");
        assert_eq!(error.nearest()[0], "db.m5.4xlarge");
        assert!(error.nearest().len() <= 3);
        assert_eq!(Catalogue::builtin().class("zebra").unwrap_err().nearest(), [""; 0]);
    }
}
