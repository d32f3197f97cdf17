//! `machines.toml`: the user's own machines and prices.
//!
//! ```toml
//! [machines."db.m5.large"]     # a known class: what is not said stays
//! usd_hour = 0.155             # reserved for a year
//!
//! [machines.cellar]            # a new one needs its size
//! vcpu = 8
//! memory_gib = 32
//! iops = 20000
//! ```

use super::Class;
use super::table::{PriceSource, gib};
use crate::price::Usd;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    machines: BTreeMap<String, Entry>,
}

/// What the file says of one machine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    vcpu: Option<u32>,
    memory_gib: Option<f64>,
    iops: Option<u32>,
    mb_s: Option<f64>,
    usd_hour: Option<f64>,
    price_date: Option<String>,
}

pub(super) fn read(path: &Path) -> Result<BTreeMap<String, Entry>, UserFileError> {
    let failed = |kind| UserFileError { path: path.to_owned(), kind };
    let text = std::fs::read_to_string(path).map_err(|e| failed(UserFileErrorKind::Read(e)))?;
    let file: File = toml::from_str(&text).map_err(|e| failed(UserFileErrorKind::Syntax(Box::new(e))))?;
    Ok(file.machines)
}

impl Entry {
    /// The class that this entry makes of a known one, or by itself.
    pub(super) fn over(self, name: &str, known: Option<&Class>) -> Result<Class, Wrong> {
        let positive = |what, value: Option<f64>| match value {
            Some(value) if !(value > 0.0 && value.is_finite()) => Err(Wrong::NotPositive(what)),
            value => Ok(value),
        };
        let memory = positive("memory_gib", self.memory_gib)?.map(gib).or(known.map(|k| k.memory));
        let vcpu = positive("vcpu", self.vcpu.map(f64::from))?.and(self.vcpu).or(known.map(|k| k.vcpu));
        let hour = positive("usd_hour", self.usd_hour)?.map(Usd::from_dollars);
        let iops = positive("iops", self.iops.map(f64::from))?.and(self.iops);
        let mb_s = positive("mb_s", self.mb_s)?;
        Ok(Class {
            name: name.to_owned(),
            vcpu: vcpu.ok_or(Wrong::Missing("vcpu"))?,
            memory: memory.ok_or(Wrong::Missing("memory_gib"))?,
            iops: iops.or(known.and_then(|k| k.iops)),
            iops_max: iops.or(known.and_then(|k| k.iops_max)),
            mb_s: mb_s.or(known.and_then(|k| k.mb_s)),
            mb_s_max: mb_s.or(known.and_then(|k| k.mb_s_max)),
            hour: hour.or(known.and_then(|k| k.hour)),
            price_source: hour.map(|_| PriceSource::User).or(known.and_then(|k| k.price_source)),
            price_date: match hour {
                Some(_) => Some(self.price_date.unwrap_or_else(|| "undated".into())),
                None => known.and_then(|k| k.price_date.clone()),
            },
        })
    }
}

/// What is wrong with an entry.
#[derive(Debug)]
pub(super) enum Wrong {
    Missing(&'static str),
    NotPositive(&'static str),
}

impl Wrong {
    pub(super) fn of(self, path: &Path, machine: &str) -> UserFileError {
        let machine = machine.to_owned();
        let kind = match self {
            Self::Missing(field) => UserFileErrorKind::Missing { machine, field },
            Self::NotPositive(field) => UserFileErrorKind::NotPositive { machine, field },
        };
        UserFileError { path: path.to_owned(), kind }
    }
}

/// A `machines.toml` that can't be used.
#[derive(Debug)]
pub struct UserFileError {
    path: PathBuf,
    kind: UserFileErrorKind,
}

/// Why a `machines.toml` can't be used.
#[derive(Debug)]
pub enum UserFileErrorKind {
    /// It can't be read.
    Read(std::io::Error),
    /// It is not TOML, or has a name that means nothing.
    Syntax(Box<toml::de::Error>),
    /// A new machine lacks what every machine must have.
    Missing {
        /// Name of the machine.
        machine: String,
        /// What it lacks.
        field: &'static str,
    },
    /// A number that must be above zero.
    NotPositive {
        /// Name of the machine.
        machine: String,
        /// Name of the number.
        field: &'static str,
    },
}

impl UserFileError {
    /// What is wrong.
    pub fn kind(&self) -> &UserFileErrorKind {
        &self.kind
    }
}

impl fmt::Display for UserFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.kind {
            UserFileErrorKind::Read(_) => write!(f, "{path} can't be read"),
            UserFileErrorKind::Syntax(_) => write!(f, "{path} is not a file of machines"),
            UserFileErrorKind::Missing { machine, field } => {
                write!(f, "{path}: machine {machine:?} is not in the catalogue, so it needs {field}")
            }
            UserFileErrorKind::NotPositive { machine, field } => {
                write!(f, "{path}: {field} of machine {machine:?} must be above zero")
            }
        }
    }
}

impl Error for UserFileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            UserFileErrorKind::Read(e) => Some(e),
            UserFileErrorKind::Syntax(e) => Some(e.as_ref()),
            UserFileErrorKind::Missing { .. } | UserFileErrorKind::NotPositive { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    fn with(text: &str) -> Result<Catalogue, UserFileError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("machines.toml");
        std::fs::write(&path, text).unwrap();
        Catalogue::builtin().with_user_file(&path)
    }

    #[test]
    fn a_price_of_ones_own_replaces_the_listed_one_and_says_so() {
        let catalogue = with("[machines.\"db.m5.large\"]\nusd_hour = 0.155\n").unwrap();
        let class = catalogue.class("db.m5.large").unwrap();
        assert_eq!(class.hour.unwrap().to_string(), "$0.155");
        assert_eq!(
            (class.price_source, class.price_date.as_deref()),
            (Some(PriceSource::User), Some("undated"))
        );
        assert_eq!((class.vcpu, class.iops), (2, Some(3600)), "what is not said stays");
    }

    #[test]
    fn a_new_machine_needs_its_size() {
        let catalogue = with("[machines.cellar]\nvcpu = 8\nmemory_gib = 32\n").unwrap();
        assert_eq!(catalogue.class("cellar").unwrap().memory, 32 << 30);
        let error = with("[machines.cellar]\nvcpu = 8\n").unwrap_err().to_string();
        assert!(
            error.ends_with("machine \"cellar\" is not in the catalogue, so it needs memory_gib"),
            "{error}"
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in [
            "[machines.x]\nvcpu = 0\nmemory_gib = 1\n",
            "[machines.x]\nvcpu = 1\nmemory_gib = -1\n",
            "[machines.x]\nvcpu = 1\nmemory_gib = nan\n",
            "[machines.\"db.m5.large\"]\nusd_hour = inf\n",
            "[machines.\"db.m5.large\"]\nusd_hours = 1\n",
            "machines",
        ] {
            assert!(with(text).is_err(), "{text}");
        }
    }
}
