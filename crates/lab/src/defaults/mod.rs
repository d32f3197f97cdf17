//! The configuration that Amazon RDS gives a server, by engine and size of the instance.
//!
//! From the listings of the default parameter families (what `DescribeEngineDefaultParameters` answers) and, for MySQL 8.4, from the rules of
//! `innodb_dedicated_server` as RDS documents them. What a family leaves to the engine is listed where engines of other versions differ.

mod formula;

pub use formula::{FormulaError, Instance, evaluate};

use knobs::{Flavour, Version};
use std::fmt;
use std::str::FromStr;

const MIB: i128 = 1 << 20;
const GIB: i128 = 1 << 30;

/// A default parameter group's family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `mysql5.7`.
    Mysql57,
    /// `mysql8.0` as it was in 2021, before the redo log was one size of 2 GiB: two files of 128 MiB. The first published study ran on it.
    Mysql80In2021,
    /// `mysql8.0`.
    Mysql80,
    /// `mysql8.4`.
    Mysql84,
    /// `mariadb10.11`.
    Mariadb1011,
}

const FAMILIES: [(&str, Family); 5] = [
    ("mysql5.7", Family::Mysql57),
    ("mysql8.0-2021", Family::Mysql80In2021),
    ("mysql8.0", Family::Mysql80),
    ("mysql8.4", Family::Mysql84),
    ("mariadb10.11", Family::Mariadb1011),
];

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FAMILIES.iter().find(|(_, family)| family == self).map_or("", |(name, _)| name))
    }
}

impl FromStr for Family {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        FAMILIES.iter().find(|(name, _)| *name == text).map(|(_, family)| *family).ok_or_else(|| {
            let names: Vec<&str> = FAMILIES.iter().map(|(name, _)| *name).collect();
            format!("{text:?} is no family of RDS defaults; there are {}", names.join(", "))
        })
    }
}

/// How a value follows the machine when it is emulated at 1/k of its size.
#[derive(Debug, Clone, Copy)]
enum Follows {
    /// Room in memory or on disk: divided by k, as both are. So is the number of connections, for each takes as much memory as in full size.
    Size,
    /// I/O operations a second: divided by k, as the disk's are.
    Rate,
    /// Neither: the same in a small machine.
    Nothing,
}

/// Name, formula, and how it follows the size.
type Row = (&'static str, &'static str, Follows);

const POOL: Row = ("innodb_buffer_pool_size", "{DBInstanceClassMemory*3/4}", Follows::Size);
const CONNECTIONS: Row = ("max_connections", "{DBInstanceClassMemory/12582880}", Follows::Size);
/// Left to the engine, which takes one fixed size (MySQL 8.0); a sixteenth of a machine has a sixteenth of it.
const TEMPORARY: Row = ("temptable_max_ram", "1073741824", Follows::Size);
const BUFFERS: [Row; 3] = [
    ("read_buffer_size", "262144", Follows::Nothing),
    ("read_rnd_buffer_size", "524288", Follows::Nothing),
    ("performance_schema", "0", Follows::Nothing),
];

fn rows(family: Family) -> Vec<Row> {
    let small_log_buffer = ("innodb_log_buffer_size", "8388608", Follows::Nothing);
    let one_purger = ("innodb_purge_threads", "1", Follows::Nothing);
    // Left to the engine: 200 and 2000 up to MySQL 8.0 and in MariaDB, 10000 and 20000 from 8.4 on.
    let slow =
        [("innodb_io_capacity", "200", Follows::Rate), ("innodb_io_capacity_max", "2000", Follows::Rate)];
    let fast =
        [("innodb_io_capacity", "10000", Follows::Rate), ("innodb_io_capacity_max", "20000", Follows::Rate)];
    let own: Vec<Row> = match family {
        // Two files of 128 MiB.
        Family::Mysql57 | Family::Mysql80In2021 => {
            vec![
                POOL,
                CONNECTIONS,
                ("redo", "268435456", Follows::Size),
                small_log_buffer,
                one_purger,
                slow[0],
                slow[1],
                TEMPORARY,
            ]
        }
        Family::Mysql80 => {
            vec![
                POOL,
                CONNECTIONS,
                ("redo", "2147483648", Follows::Size),
                small_log_buffer,
                one_purger,
                slow[0],
                slow[1],
                TEMPORARY,
            ]
        }
        Family::Mysql84 => {
            vec![
                CONNECTIONS,
                ("innodb_purge_threads", "LEAST({DBInstanceVCPU/2},4)", Follows::Nothing),
                fast[0],
                fast[1],
            ]
        }
        Family::Mariadb1011 => vec![
            POOL,
            ("max_connections", "LEAST({DBInstanceClassMemory/25165760},12000)", Follows::Size),
            ("redo", "2147483648", Follows::Size),
            ("innodb_log_buffer_size", "16777216", Follows::Nothing),
            slow[0],
            slow[1],
        ],
    };
    own.into_iter().chain(BUFFERS).collect()
}

/// The rules of `innodb_dedicated_server` on RDS for MySQL 8.4: buffer pool and redo log.
fn dedicated(instance: &Instance) -> [(&'static str, i128); 3] {
    let memory = i128::from(instance.memory);
    let pool = match memory {
        small if small < GIB => 128 * MIB,
        middle if middle <= 4 * GIB => middle / 2,
        large => large * 3 / 4,
    };
    // Half the processors in GiB, at most 16; never without a log.
    let redo = (i128::from(instance.vcpu) * GIB / 2).clamp(GIB / 2, 16 * GIB);
    // Not a rule of RDS but the engine's own, which would look at the memory of the computer that emulates.
    let temporary = (memory * 3 / 100).clamp(GIB, 4 * GIB);
    [("innodb_buffer_pool_size", pool), ("redo", redo), (TEMPORARY.0, temporary)]
}

/// Settings of a server that runs as the provider would run it on `instance`, emulated at 1/`scale`: those of `family`, in the words of the
/// server that is really there. What that server does not know is left out.
///
/// # Errors
/// Never for the tables that come with the program; the tests evaluate all of them.
pub fn settings(
    family: Family,
    instance: &Instance,
    scale: u32,
    server: (Flavour, Version),
) -> Result<Vec<(String, String)>, FormulaError> {
    let scale = i128::from(scale.max(1));
    let mut values: Vec<(&str, i128, Follows)> = Vec::new();
    if family == Family::Mysql84 {
        values.extend(dedicated(instance).map(|(name, value)| (name, value, Follows::Size)));
    }
    for (name, formula, follows) in rows(family) {
        values.push((name, evaluate(formula, instance)?, follows));
    }
    let scaled = values.into_iter().map(|(name, value, follows)| match follows {
        Follows::Size => (name, value / scale),
        // The servers take no less.
        Follows::Rate => (name, (value / scale).max(100)),
        Follows::Nothing => (name, value),
    });
    let (flavour, version) = server;
    let has_temptable = flavour != Flavour::MariaDb && version.major >= 8;
    let known = scaled.filter(|(name, _)| has_temptable || *name != TEMPORARY.0);
    let mut settings: Vec<_> = known.map(|(name, value)| in_words_of(server, name, value)).collect();
    // RDS assigns no GTIDs unless asked; newer servers do by default, and store them in transactions of their own.
    if flavour != Flavour::MariaDb && (version.major, version.minor) >= (5, 7) {
        settings.push(("gtid_mode".to_owned(), "OFF".to_owned()));
    }
    Ok(settings)
}

/// The redo log has one size or several files, and a least size, by server.
fn in_words_of((flavour, version): (Flavour, Version), name: &str, value: i128) -> (String, String) {
    let one_size = flavour != Flavour::MariaDb && (version.major, version.minor, version.patch) >= (8, 0, 30);
    let (name, value) = match name {
        "redo" if one_size => ("innodb_redo_log_capacity", value.max(8 * MIB)),
        // One file since MariaDB 10.5; two by default in MySQL before.
        "redo" if flavour == Flavour::MariaDb => ("innodb_log_file_size", value.max(4 * MIB)),
        "redo" => ("innodb_log_file_size", (value / 2).max(4 * MIB)),
        name => (name, value),
    };
    (name.to_owned(), value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        let mut parts = text.split('.').map(|n| n.parse().unwrap());
        let mut next = || parts.next().unwrap();
        Version { major: next(), minor: next(), patch: next() }
    }

    fn of(
        family: Family,
        memory_gib: u64,
        vcpu: u32,
        scale: u32,
        flavour: Flavour,
        v: &str,
    ) -> Vec<(String, String)> {
        let instance = Instance { memory: memory_gib << 30, vcpu, storage: 0 };
        settings(family, &instance, scale, (flavour, version(v))).unwrap()
    }

    fn value(settings: &[(String, String)], name: &str) -> Option<i64> {
        settings.iter().find(|(n, _)| n == name).map(|(_, v)| v.parse().unwrap())
    }

    #[test]
    fn the_machine_of_the_first_study_at_a_sixteenth() {
        let settings = of(Family::Mysql80In2021, 64, 16, 16, Flavour::MySql, "9.7.4");
        assert_eq!(value(&settings, "innodb_buffer_pool_size"), Some(3 << 30));
        assert_eq!(value(&settings, "innodb_redo_log_capacity"), Some(16 << 20));
        assert_eq!(value(&settings, "innodb_io_capacity"), Some(100), "12 would be refused");
        assert_eq!(
            value(&settings, "max_connections"),
            Some(341),
            "a connection takes as much memory as in full size"
        );
        assert_eq!(value(&settings, "innodb_log_file_size"), None);
        assert_eq!(value(&settings, "temptable_max_ram"), Some(64 << 20), "memory, like the pool");
        assert!(settings.contains(&("gtid_mode".into(), "OFF".into())));
        let old = of(Family::Mysql57, 64, 16, 16, Flavour::MariaDb, "10.11.9");
        assert_eq!(value(&old, "temptable_max_ram"), None, "MariaDB has no such variable");
    }

    #[test]
    fn each_family_in_full_size() {
        let log = |family, flavour, v| of(family, 64, 16, 1, flavour, v);
        assert_eq!(
            value(&log(Family::Mysql57, Flavour::MySql, "5.7.44"), "innodb_log_file_size"),
            Some(128 << 20)
        );
        assert_eq!(
            value(&log(Family::Mysql80, Flavour::MySql, "8.0.40"), "innodb_redo_log_capacity"),
            Some(2 << 30)
        );
        let new = log(Family::Mysql84, Flavour::MySql, "8.4.3");
        assert_eq!(value(&new, "innodb_redo_log_capacity"), Some(8 << 30));
        assert_eq!(value(&new, "innodb_buffer_pool_size"), Some(48 << 30));
        assert_eq!(value(&new, "innodb_io_capacity"), Some(10_000));
        assert_eq!(value(&new, "innodb_purge_threads"), Some(4));
        let maria = log(Family::Mariadb1011, Flavour::MariaDb, "10.11.9");
        assert_eq!(value(&maria, "max_connections"), Some(2730));
        assert_eq!(value(&maria, "innodb_log_file_size"), Some(2 << 30));
    }

    #[test]
    fn a_dedicated_server_takes_its_pool_by_steps() {
        let pool =
            |memory_mib: u64| dedicated(&Instance { memory: memory_mib << 20, vcpu: 2, storage: 0 })[0].1;
        assert_eq!(pool(512), 128 << 20);
        assert_eq!(pool(1024), 512 << 20);
        assert_eq!(pool(4096), 2 << 30);
        assert_eq!(pool(8192), 6 << 30);
    }

    #[test]
    fn families_are_named_as_the_provider_names_them() {
        for (name, family) in FAMILIES {
            assert_eq!(name.parse(), Ok(family));
            assert_eq!(family.to_string(), name);
        }
        assert!("mysql9".parse::<Family>().unwrap_err().contains("mysql8.4"));
    }
}
