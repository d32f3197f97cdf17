//! Checks an option file, or a list of parameters, for a flavour and version before a server sees it.

use crate::memory::{MemoryModel, budget};
use crate::registry::{Resolution, normal};
use crate::relation::ORDERED_PAIRS;
use crate::{Configuration, Facts, Identity, Kind, Knob, LiveVariable, Machine, Registry, Value};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Fault {
    /// The registry (and the live server, if one was asked) has no such knob.
    Unknown {
        /// The knob that may have been meant.
        nearest: Option<String>,
    },
    /// It was removed before this version.
    Removed {
        /// What does its work now.
        successor: Option<String>,
    },
    /// Another flavour or a later version has it.
    Elsewhere,
    /// The text is no value of it.
    BadValue {
        /// What would be.
        expected: String,
    },
    /// The server would clamp it or refuse to start.
    OutOfRange {
        /// The range, or the list of words.
        allowed: String,
    },
    /// The server rounds it silently.
    Rounded {
        /// To what.
        to: i64,
    },
    /// Another line of the same file has the last word.
    Repeated {
        /// That line.
        line: usize,
    },
    /// Two lines cannot both hold.
    Contradiction {
        /// Why.
        why: String,
    },
    /// The whole needs more memory than the machine has.
    OverMemory {
        /// The figures.
        why: String,
    },
}

/// A fault and where it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Remark {
    /// Line of the file; 0 for what concerns the whole.
    pub line: usize,
    /// The knob as written.
    pub name: String,
    /// What is wrong.
    pub fault: Fault,
}

impl Fault {
    /// Whether a server would refuse it, change it, or not survive it; the rest is worth a look only.
    pub fn is_error(&self) -> bool {
        !matches!(self, Self::Unknown { nearest: None } | Self::Rounded { .. } | Self::Repeated { .. })
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        let name = &self.name;
        match &self.fault {
            Fault::Unknown { nearest: Some(nearest) } => {
                write!(f, "{name} is not known; did you mean {nearest}?")
            }
            Fault::Unknown { nearest: None } => {
                write!(f, "{name} is not in the registry, so it was not checked")
            }
            Fault::Removed { successor: Some(successor) } => write!(f, "{name} was removed; use {successor}"),
            Fault::Removed { successor: None } => write!(f, "{name} was removed, and nothing replaces it"),
            Fault::Elsewhere => write!(f, "{name} belongs to another flavour or a later version"),
            Fault::BadValue { expected } => write!(f, "{name}: expected {expected}"),
            Fault::OutOfRange { allowed } => write!(f, "{name} is out of its range: {allowed}"),
            Fault::Rounded { to } => write!(f, "{name} will be rounded to {to}"),
            Fault::Repeated { line } => write!(f, "{name} is set again on line {line}, which counts"),
            Fault::Contradiction { why } | Fault::OverMemory { why } => f.write_str(why),
        }
    }
}

/// Sections of an option file that a server of a flavour reads.
fn is_servers(section: &str, identity: &Identity) -> bool {
    let version = format!("{}.{}", identity.version.major, identity.version.minor);
    let maria = identity.flavour == crate::Flavour::MariaDb;
    matches!(section, "mysqld" | "server")
        || (maria && matches!(section, "mariadb" | "mariadbd" | "galera"))
        || section == format!("mysqld-{version}")
        || (maria && (section == format!("mariadb-{version}") || section == format!("mariadbd-{version}")))
}

/// The settings in a text: line, name as written, value. A file without sections is a list of parameters.
fn settings<'a>(text: &'a str, identity: &Identity) -> Vec<(usize, &'a str, &'a str)> {
    let mut ours = true;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';', '!']) {
            continue;
        }
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            ours = is_servers(&section.trim().to_ascii_lowercase(), identity);
            continue;
        }
        if !ours {
            continue;
        }
        let (name, value) = line.split_once('=').or_else(|| line.split_once('\t')).unwrap_or((line, ""));
        // A comment may follow a value; a # within quotes is part of it.
        let value = value.trim();
        let value = match value.strip_prefix(['"', '\'']) {
            Some(quoted) => quoted.split(['"', '\'']).next().unwrap_or(quoted),
            None => value.split(" #").next().unwrap_or(value).trim(),
        };
        found.push((index + 1, name.trim(), value));
    }
    found
}

/// Checks a text. `live` is what a server reports, where there is one to ask: it decides what exists.
pub fn check(
    registry: &Registry,
    identity: &Identity,
    live: &BTreeMap<String, LiveVariable>,
    machine: &Machine,
    text: &str,
) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut configuration = Configuration::new();
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for (line, written, text) in settings(text, identity) {
        let mut remark = |fault| remarks.push(Remark { line, name: written.to_owned(), fault });
        let mut name = normal(written);
        let mut text = text;
        // `skip-x` is `x = OFF`, unless there is a knob of that name.
        if registry.get(&name).is_none()
            && let Some(plain) = name.strip_prefix("skip_")
            && registry.get(plain).is_some()
        {
            (name, text) = (plain.to_owned(), "OFF");
        }
        if let Some(earlier) = lines.insert(name.clone(), line) {
            remarks.push(Remark { line: earlier, name: written.to_owned(), fault: Fault::Repeated { line } });
            continue;
        }
        match registry.resolve(identity, &name) {
            _ if !live.is_empty() && live.contains_key(&name) && registry.get(&name).is_none() => {}
            Resolution::Present(knob, facts) => match value(knob, facts, text) {
                Ok((value, rounded)) => {
                    if let Some(to) = rounded {
                        remark(Fault::Rounded { to });
                    }
                    configuration.set(name, value);
                }
                Err(fault) => remark(fault),
            },
            Resolution::Removed(_, successor) => {
                remark(Fault::Removed { successor: successor.map(str::to_owned) });
            }
            Resolution::Elsewhere(_) => remark(Fault::Elsewhere),
            Resolution::Unknown => {
                remark(Fault::Unknown { nearest: registry.nearest(&name).map(str::to_owned) });
            }
        }
    }
    whole(identity, live, machine, &configuration, &lines, &mut remarks);
    remarks.sort_by_key(|remark| remark.line);
    remarks
}

/// The value, and what it would be rounded to.
fn value(knob: &Knob, facts: &Facts, text: &str) -> Result<(Value, Option<i64>), Fault> {
    // A switch without a value is switched on.
    if knob.kind == Kind::Bool && text.is_empty() {
        return Ok((Value::Bool(true), None));
    }
    let value =
        Value::parse_server(knob, text).map_err(|error| Fault::BadValue { expected: error.expected })?;
    if matches!(knob.kind, Kind::Enum | Kind::Choice) {
        let word = value.to_cnf();
        // Enumerations may be given by their position.
        let position = word.parse::<usize>().is_ok_and(|n| n < facts.options.len());
        if !position && !facts.options.iter().any(|option| option.eq_ignore_ascii_case(&word)) {
            return Err(Fault::OutOfRange { allowed: facts.options.join(", ") });
        }
    }
    let special = |n: f64| knob.specials.iter().any(|(special, _)| *special as f64 == n);
    if let Some(n) = value.as_f64().filter(|n| !special(*n) && matches!(knob.kind, Kind::Int | Kind::Float)) {
        let (low, high) = (facts.min.unwrap_or(f64::MIN), facts.max.unwrap_or(f64::MAX));
        if n < low || n > high {
            let top = facts.max.map_or("no limit".to_owned(), |high| high.to_string());
            return Err(Fault::OutOfRange { allowed: format!("{low} to {top}") });
        }
    }
    let rounded =
        value.as_i64().filter(|n| facts.step > 1 && n % facts.step != 0).map(|n| n - n % facts.step);
    Ok((value, rounded))
}

/// What only shows when the lines are seen together.
fn whole(
    identity: &Identity,
    live: &BTreeMap<String, LiveVariable>,
    machine: &Machine,
    configuration: &Configuration,
    lines: &BTreeMap<String, usize>,
    remarks: &mut Vec<Remark>,
) {
    let number = |name: &str| configuration.get(name).and_then(Value::as_f64);
    let mut remark = |name: &str, fault| {
        remarks.push(Remark { line: lines.get(name).copied().unwrap_or(0), name: name.to_owned(), fault });
    };
    for (small, large) in ORDERED_PAIRS {
        if let (Some(a), Some(b)) = (number(small), number(large))
            && a > b
        {
            let why = format!("{small} {a} is above {large} {b}: the server lowers or ignores one of them");
            remark(small, Fault::Contradiction { why });
        }
    }
    let pool = number("innodb_buffer_pool_size");
    let instances = number("innodb_buffer_pool_instances").unwrap_or(1.0).max(1.0);
    let chunk = number("innodb_buffer_pool_chunk_size").filter(|chunk| *chunk > 0.0).unwrap_or(134_217_728.0);
    if let (Some(pool), true) = (pool, identity.flavour.is_mysql_line()) {
        if instances > 1.0 && pool < 1_073_741_824.0 {
            let why =
                "below 1 GiB the server uses one innodb_buffer_pool_instance, whatever is set".to_owned();
            remark("innodb_buffer_pool_instances", Fault::Contradiction { why });
        } else if pool % (chunk * instances) != 0.0 {
            let to = ((pool / (chunk * instances)).ceil() * chunk * instances) as i64;
            remark("innodb_buffer_pool_size", Fault::Rounded { to });
        }
    }
    if let (Some(threads), Some(redo)) =
        (number("innodb_thread_concurrency"), number("innodb_redo_log_capacity"))
        && redo < threads * 163_840.0
    {
        let why = format!(
            "innodb_redo_log_capacity {redo} is too small for {threads} threads: the server will not start"
        );
        remark("innodb_redo_log_capacity", Fault::Contradiction { why });
    }
    if let Some(memory) = machine.memory {
        let estimate = MemoryModel::new(identity, live).estimate(configuration);
        let limit = budget(memory, crate::Bytes(0));
        if estimate.realistic > limit {
            let why = format!(
                "the whole needs about {} of memory, and the machine has {memory}",
                estimate.realistic
            );
            remark("innodb_buffer_pool_size", Fault::OverMemory { why });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bytes, Flavour};

    fn faults(flavour: Flavour, version: &str, text: &str) -> Vec<(usize, Fault)> {
        let identity = Identity::of(flavour, version.parse().unwrap());
        let machine = Machine { memory: Some(Bytes::gib(4)), cores: Some(2) };
        check(Registry::builtin(), &identity, &BTreeMap::new(), &machine, text)
            .into_iter()
            .map(|remark| (remark.line, remark.fault))
            .collect()
    }

    #[test]
    fn a_sound_file_is_let_through() {
        let text = "# ours\n[client]\nfrobnicate = 1\n[mysqld]\ninnodb-buffer-pool-size = 1G # enough\nslow_query_log\n";
        assert_eq!(faults(Flavour::MySql, "8.4.0", text), []);
    }

    #[test]
    fn each_fault_is_named_with_its_line() {
        let text = "[mysqld]\n\
                    innodb_bufer_pool_size = 1G\n\
                    query_cache_size = 64M\n\
                    innodb_io_capacity = 50\n\
                    innodb_adaptive_hash_index = perhaps\n\
                    innodb_log_files_in_group = 3\n\
                    log_slow_rate_limit = 5\n";
        let found = faults(Flavour::MySql, "9.7.4", text);
        assert_eq!(found[0], (2, Fault::Unknown { nearest: Some("innodb_buffer_pool_size".into()) }));
        assert_eq!(found[1], (3, Fault::Removed { successor: None }));
        assert!(matches!(found[2], (4, Fault::OutOfRange { .. })));
        assert!(matches!(found[3], (5, Fault::BadValue { .. })));
        assert_eq!(found[4], (6, Fault::Removed { successor: Some("innodb_redo_log_capacity".into()) }));
        assert_eq!(found[5], (7, Fault::Unknown { nearest: None }));
    }

    #[test]
    fn a_knob_of_the_other_flavour_is_no_knob_here() {
        assert_eq!(
            faults(Flavour::MariaDb, "10.11.6", "innodb_redo_log_capacity = 1G"),
            [(1, Fault::Elsewhere)]
        );
        assert_eq!(faults(Flavour::MariaDb, "10.11.6", "[mariadb]\ninnodb_log_file_size = 1G"), []);
    }

    #[test]
    fn contradictions_are_seen_between_lines() {
        let found = faults(
            Flavour::MySql,
            "9.7.4",
            "innodb_io_capacity=5000\ninnodb_io_capacity_max=1000\ninnodb_thread_concurrency=1000\ninnodb_redo_log_capacity=8M\n\
             innodb_buffer_pool_size=256M\ninnodb_buffer_pool_instances=4\n",
        );
        let lines: Vec<usize> = found
            .iter()
            .filter(|(_, fault)| matches!(fault, Fault::Contradiction { .. }))
            .map(|(line, _)| *line)
            .collect();
        assert_eq!(lines, [1, 4, 6]);
    }

    #[test]
    fn the_whole_must_fit_the_memory() {
        let found = faults(Flavour::MySql, "8.4.0", "innodb_buffer_pool_size = 6G\n");
        assert!(matches!(found.as_slice(), [(1, Fault::OverMemory { .. })]), "{found:?}");
    }

    #[test]
    fn rounding_and_repetition_are_told() {
        let found = faults(
            Flavour::MySql,
            "8.4.0",
            "innodb_buffer_pool_size = 200M\nmax_connections = 10\nmax_connections = 20\n",
        );
        assert_eq!(found, [(1, Fault::Rounded { to: 256 << 20 }), (2, Fault::Repeated { line: 3 })]);
    }
}
