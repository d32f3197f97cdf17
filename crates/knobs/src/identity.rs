//! Which server this is: parsed once, so that nobody compares a bare version number across flavours again.

use crate::LiveVariable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The line of code a server comes from. Version numbers of different flavours cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// Oracle's MySQL and what is built from it unchanged.
    MySql,
    /// MariaDB Server.
    MariaDb,
    /// Percona Server for MySQL: MySQL's numbers, more knobs.
    Percona,
}

impl Flavour {
    /// Whether MySQL's numbering and names apply.
    pub fn is_mysql_line(self) -> bool {
        matches!(self, Self::MySql | Self::Percona)
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MySql => "MySQL",
            Self::MariaDb => "MariaDB",
            Self::Percona => "Percona Server",
        })
    }
}

impl FromStr for Flavour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "mysql" => Ok(Self::MySql),
            "mariadb" => Ok(Self::MariaDb),
            "percona" => Ok(Self::Percona),
            _ => Err(format!("`{text}` is no flavour: use mysql, mariadb or percona")),
        }
    }
}

/// A version triple. Ordered, but only within one flavour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Version {
    /// First number.
    pub major: u16,
    /// Second number.
    pub minor: u16,
    /// Third number; 0 where none is given.
    pub patch: u16,
}

impl Version {
    /// The version `major.minor.patch`.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = String;

    /// Reads the numbers a text starts with: `8.0`, `9.7.4-2`, `10.11.6-MariaDB-log`.
    fn from_str(text: &str) -> Result<Self, String> {
        let error = || format!("`{text}` is no version: write it like 8.4 or 10.11.6");
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let mut numbers = text[..end].split('.').filter(|part| !part.is_empty()).map(str::parse::<u16>);
        let major = numbers.next().ok_or_else(error)?.map_err(|_| error())?;
        let minor = numbers.next().ok_or_else(error)?.map_err(|_| error())?;
        let patch = numbers.next().transpose().map_err(|_| error())?.unwrap_or(0);
        Ok(Self { major, minor, patch })
    }
}

/// Where a server runs, which decides what may be changed and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Platform {
    /// On a machine of the user's own.
    SelfManaged,
    /// Amazon RDS for MySQL or MariaDB.
    Rds,
    /// Amazon Aurora MySQL: its storage engine ignores most InnoDB write-path knobs.
    Aurora,
    /// Google Cloud SQL.
    CloudSql,
    /// Azure Database for MySQL.
    Azure,
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SelfManaged => "self-managed",
            Self::Rds => "Amazon RDS",
            Self::Aurora => "Amazon Aurora",
            Self::CloudSql => "Google Cloud SQL",
            Self::Azure => "Azure Database",
        })
    }
}

/// Who a server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Line of code.
    pub flavour: Flavour,
    /// Name and packaging as the server states them, for people.
    pub product: String,
    /// Version triple, to be compared within the flavour only.
    pub version: Version,
    /// Where it runs.
    pub platform: Platform,
}

impl Identity {
    /// An identity from a flavour and a version, self-managed, for offline use.
    pub fn of(flavour: Flavour, version: Version) -> Self {
        Self { flavour, product: format!("{flavour} {version}"), version, platform: Platform::SelfManaged }
    }

    /// Reads `@@version`, `@@version_comment`, `@@basedir` and marks among the variables' names.
    ///
    /// # Errors
    /// When `version` does not start with a version number.
    pub fn parse(
        version: &str,
        comment: &str,
        basedir: &str,
        vars: &BTreeMap<String, LiveVariable>,
    ) -> Result<Self, String> {
        let lower = format!("{version} {comment}").to_ascii_lowercase();
        let has = |name: &str| vars.contains_key(name);
        // The suffix is not always there (some packages strip it), so variables that only one flavour has decide too.
        let maria =
            lower.contains("mariadb") || has("aria_pagecache_buffer_size") || has("version_malloc_library");
        let percona = lower.contains("percona") || has("innodb_sched_priority_cleaner");
        let flavour = match (maria, percona) {
            (true, _) => Flavour::MariaDb,
            (false, true) => Flavour::Percona,
            (false, false) => Flavour::MySql,
        };
        // MariaDB 10 and later put 5.5.5- in front for the eyes of old replicas.
        let number = version.strip_prefix("5.5.5-").filter(|_| maria).unwrap_or(version);
        let aurora = has("aurora_version") || lower.contains("aurora");
        let rds = basedir.contains("/rdsdbbin") || vars.keys().any(|name| name.starts_with("rds_"));
        let google = lower.contains("google") || has("cloudsql_iam_authentication");
        let azure = lower.contains("azure") || vars.keys().any(|name| name.starts_with("azure_"));
        let platform = match () {
            () if aurora => Platform::Aurora,
            () if rds => Platform::Rds,
            () if google => Platform::CloudSql,
            () if azure => Platform::Azure,
            () => Platform::SelfManaged,
        };
        let version = number.parse::<Version>()?;
        let product = match comment.trim() {
            "" => format!("{flavour} {number}"),
            comment => format!("{flavour} {number} ({})", comment.trim_matches(['(', ')'])),
        };
        Ok(Self { flavour, product, version, platform })
    }

    /// Whether this is MySQL or Percona Server at or above a version.
    pub fn mysql_at_least(&self, major: u16, minor: u16, patch: u16) -> bool {
        self.flavour.is_mysql_line() && self.version >= Version::new(major, minor, patch)
    }

    /// Whether this is MariaDB at or above a version.
    pub fn mariadb_at_least(&self, major: u16, minor: u16, patch: u16) -> bool {
        self.flavour == Flavour::MariaDb && self.version >= Version::new(major, minor, patch)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.product)?;
        if self.platform != Platform::SelfManaged {
            write!(f, " on {}", self.platform)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(version: &str, comment: &str, basedir: &str, marks: &[&str]) -> Identity {
        let vars = marks.iter().map(|name| ((*name).to_owned(), LiveVariable::new(*name, ""))).collect();
        Identity::parse(version, comment, basedir, &vars).unwrap()
    }

    #[test]
    fn every_spelling_of_mariadb_is_mariadb() {
        for version in [
            "10.11.19-MariaDB-0+deb12u1",
            "10.11.6-MariaDB",
            "5.5.5-10.11.6-MariaDB-log",
            "10.11.6-MariaDB-log",
        ] {
            let id = parse(version, "", "/usr", &[]);
            assert_eq!(
                (id.flavour, id.version.major, id.version.minor),
                (Flavour::MariaDb, 10, 11),
                "{version}"
            );
        }
        let stripped = parse("10.11.6", "Source distribution", "/usr", &["aria_pagecache_buffer_size"]);
        assert_eq!(stripped.flavour, Flavour::MariaDb);
    }

    #[test]
    fn a_calendar_version_of_mysql_is_not_mariadb() {
        let id = parse("26.7.0", "MySQL Community Server - GPL", "/usr", &[]);
        assert!(id.mysql_at_least(8, 0, 30) && !id.mariadb_at_least(10, 4, 0));
    }

    #[test]
    fn a_version_of_mariadb_never_passes_for_one_of_mysql() {
        assert!(!parse("11.4.2-MariaDB", "", "/usr", &[]).mysql_at_least(8, 0, 30));
    }

    #[test]
    fn platforms_show_themselves_by_their_marks() {
        for (version, comment, basedir, marks, platform) in [
            ("8.0.35", "Source distribution", "/rdsdbbin/mysql-8.0.35.R3/", &[][..], Platform::Rds),
            (
                "8.0.32",
                "Source distribution",
                "/rdsdbbin/oscar-8.0/",
                &["aurora_version"][..],
                Platform::Aurora,
            ),
            ("8.0.37-google", "(Google)", "/usr/", &[][..], Platform::CloudSql),
            ("8.0.37-azure", "MySQL Azure Database", "/mysql/", &[][..], Platform::Azure),
            ("9.7.4-2", "(Debian)", "/usr/", &[][..], Platform::SelfManaged),
        ] {
            assert_eq!(parse(version, comment, basedir, marks).platform, platform, "{version} {comment}");
        }
    }

    #[test]
    fn percona_keeps_the_numbers_of_mysql() {
        let id = parse("8.0.36-28", "Percona Server (GPL), Release 28", "/usr", &[]);
        assert_eq!(id.flavour, Flavour::Percona);
        assert!(id.mysql_at_least(8, 0, 30));
    }

    #[test]
    fn what_is_no_version_is_an_error() {
        assert!("banana".parse::<Version>().is_err());
        assert!("8".parse::<Version>().is_err());
        assert_eq!("8.4".parse::<Version>().unwrap(), Version::new(8, 4, 0));
    }
}
