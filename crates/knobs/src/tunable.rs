//! From the registry, the live server and the machine to what a search may choose from.

use crate::domain::round_to;
use crate::knob::{Change, Facts, Fate, Kind, Knob, TuneHint};
use crate::memory::{MemoryModel, budget};
use crate::registry::Resolution;
use crate::{Bytes, Configuration, Domain, Flavour, Identity, Live, LiveVariable, Machine, Registry, Value};
use std::collections::BTreeMap;

/// Where the machine's memory is not known, ranges are derived from this: small enough to be there almost anywhere.
const UNKNOWN_MEMORY: Bytes = Bytes::gib(2);
/// Where the number of cores is not known.
const UNKNOWN_CORES: i64 = 2;
/// The pool never takes more of the machine than this, however small everything else is.
const POOL_SHARE: f64 = 0.75;
/// Events that one thread of asynchronous I/O reserves of `fs.aio-max-nr` (65536 by default): with 16 threads each
/// for reading and writing, several servers still fit beside each other.
const IO_THREADS: i64 = 16;

/// Which knobs are wanted, and what is known of the data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Only these; all when `None`.
    pub names: Option<Vec<String>>,
    /// Only what takes effect without a restart.
    pub dynamic_only: bool,
    /// Size of the data set on disk.
    pub data_bytes: Option<u64>,
}

/// A knob of this server that a search may set.
#[derive(Debug, Clone)]
pub struct Tunable {
    /// Its record.
    pub knob: &'static Knob,
    /// The name this server uses.
    pub name: String,
    /// What may be chosen.
    pub domain: Domain,
    /// What the server has now.
    pub current: Value,
    /// Whether a change takes effect without a restart.
    pub dynamic: bool,
}

/// Combines the registry with what the live server reports and with the machine. The server wins: what it does not
/// have does not exist, its range bounds the domain, and its word on "read only" counts.
///
/// The current value is always part of the domain, so that a search can start where the server stands.
pub fn tunable(
    registry: &'static Registry,
    identity: &Identity,
    live: &BTreeMap<String, LiveVariable>,
    machine: &Machine,
    selection: &Selection,
) -> Vec<Tunable> {
    let bounds = Bounds { identity, live, machine, data: selection.data_bytes.map(Bytes) };
    let wanted = |knob: &Knob, name: &str| match &selection.names {
        None => true,
        Some(names) => names.iter().any(|wanted| {
            let wanted = crate::registry::normal(wanted);
            wanted == name || wanted == knob.name
        }),
    };
    let mut all: Vec<Tunable> = registry
        .iter()
        .filter(|knob| knob.risk.may_be_automatic())
        .filter_map(|knob| {
            let hint = knob.tune.as_ref()?;
            let name =
                std::iter::once(&knob.name).chain(&knob.aliases).find(|name| live.contains_key(*name))?;
            if !wanted(knob, name) {
                return None;
            }
            let variable = &live[name];
            let facts = match registry.resolve(identity, name) {
                Resolution::Present(_, facts) => Some(facts),
                // Present although the registry says otherwise: the server is right; see whether any facts fit.
                Resolution::Removed(..) | Resolution::Elsewhere(_) => newest_facts(knob, identity.flavour),
                Resolution::Unknown => None,
            }?;
            if is_superseded(name, identity, live) {
                return None;
            }
            let dynamic = match variable.read_only {
                Some(read_only) => !read_only,
                None => facts.change == Change::Dynamic,
            };
            if selection.dynamic_only && !dynamic {
                return None;
            }
            let current = Value::parse_server(knob, &variable.value).ok()?;
            let domain = bounds.domain(knob, hint, facts, variable, &current)?;
            Some(Tunable { knob, name: name.clone(), domain, current, dynamic })
        })
        .collect();
    bound_by_fixed_partners(&mut all, live);
    all
}

/// Facts of the newest version of a flavour that has the knob.
fn newest_facts(knob: &Knob, flavour: Flavour) -> Option<&Facts> {
    knob.history.iter().rev().find_map(|(of, _, fate)| match fate {
        Fate::Present(facts) if *of == flavour || (flavour == Flavour::Percona && *of == Flavour::MySql) => {
            Some(facts)
        }
        _ => None,
    })
}

/// Variables that are still listed but no longer do anything.
fn is_superseded(name: &str, identity: &Identity, live: &BTreeMap<String, LiveVariable>) -> bool {
    match name {
        "innodb_log_file_size" => live.contains_key("innodb_redo_log_capacity"),
        // Listed and ignored by MariaDB since these releases; removed in the next series.
        "innodb_buffer_pool_instances" => identity.mariadb_at_least(10, 5, 1),
        "innodb_thread_concurrency" | "innodb_thread_sleep_delay" | "innodb_adaptive_max_sleep_delay" => {
            identity.mariadb_at_least(10, 5, 5)
        }
        _ => false,
    }
}

/// Where one of a pair of knobs is not to be searched, the value it has bounds the other.
fn bound_by_fixed_partners(all: &mut [Tunable], live: &BTreeMap<String, LiveVariable>) {
    for (small, large) in crate::relation::ORDERED_PAIRS {
        let has = |name: &str| all.iter().any(|tunable| tunable.name == name);
        match (has(small), has(large)) {
            (true, false) => {
                if let Some(limit) = number(live, large) {
                    cut(all, small, |_, high| *high = high.min(limit));
                }
            }
            (false, true) => {
                if let Some(limit) = number(live, small) {
                    cut(all, large, |low, _| *low = low.max(limit));
                }
            }
            _ => {}
        }
    }
}

fn number(live: &BTreeMap<String, LiveVariable>, name: &str) -> Option<f64> {
    live.text(name)?.trim().parse().ok()
}

fn cut(all: &mut [Tunable], name: &str, change: impl Fn(&mut f64, &mut f64)) {
    let Some(tunable) = all.iter_mut().find(|tunable| tunable.name == name) else { return };
    match &mut tunable.domain {
        Domain::Int { min, max, step, .. } => {
            let (mut low, mut high) = (*min as f64, *max as f64);
            change(&mut low, &mut high);
            if low <= high {
                let up = (low as i64).saturating_add(*step - 1);
                *min = up - up.rem_euclid(*step);
                *max = high as i64 - (high as i64).rem_euclid(*step);
            }
            *max = (*max).max(*min);
        }
        Domain::Float { min, max, .. } => {
            change(min, max);
            *max = max.max(*min);
        }
        Domain::Enum(_) | Domain::Bool => {}
    }
}

/// What ranges are derived from.
struct Bounds<'a> {
    identity: &'a Identity,
    live: &'a BTreeMap<String, LiveVariable>,
    machine: &'a Machine,
    data: Option<Bytes>,
}

impl Bounds<'_> {
    fn domain(
        &self,
        knob: &Knob,
        hint: &TuneHint,
        facts: &Facts,
        variable: &LiveVariable,
        current: &Value,
    ) -> Option<Domain> {
        match knob.kind {
            Kind::Bool => Some(Domain::Bool),
            Kind::Text => None,
            Kind::Enum | Kind::Choice => {
                let options = if variable.options.is_empty() { &facts.options } else { &variable.options };
                Some(Domain::Enum(options.clone()))
            }
            Kind::Float => {
                let (low, high) = self.range(hint, facts, variable)?;
                let x = current.as_f64()?;
                let specials: Vec<f64> = hint.atoms.iter().map(|atom| *atom as f64).collect();
                let special = specials.contains(&x);
                let (min, max) = if special { (low, high) } else { (low.min(x), high.max(x)) };
                Some(Domain::Float { min, max, log: hint.log, specials })
            }
            Kind::Int => {
                let (low, high) = self.range(hint, facts, variable)?;
                let mut step = hint.step.max(facts.step).max(1);
                if knob.name == "innodb_buffer_pool_size" {
                    step = step.max(self.pool_chunk());
                }
                let n = current.as_i64()?;
                let specials = hint.atoms.clone();
                let mut min = round_to((low.ceil() as i64).saturating_add(step - 1), step, 0, i64::MAX);
                let mut max = high.floor() as i64;
                min -= min.rem_euclid(step);
                max -= max.rem_euclid(step);
                max = max.max(min);
                if !specials.contains(&n) {
                    // Off the grid is where many servers stand; the nearest point of the grid below is let in.
                    let near = n - n.rem_euclid(step);
                    min = if near >= step { min.min(near) } else { min };
                    max = max.max(near);
                }
                Some(Domain::Int { min, max, step, log: hint.log, specials })
            }
        }
    }

    /// The hint's range, cut to the server's own, or to the registry's where the server states none.
    fn range(&self, hint: &TuneHint, facts: &Facts, variable: &LiveVariable) -> Option<(f64, f64)> {
        let (floor, ceiling) =
            variable.range().unwrap_or((facts.min.unwrap_or(f64::MIN), facts.max.unwrap_or(i64::MAX as f64)));
        let low = self.bound(&hint.low)?.clamp(floor, ceiling);
        let high = self.bound(&hint.high)?.clamp(floor, ceiling);
        Some((low, high.max(low)))
    }

    fn memory(&self) -> Bytes {
        self.machine.memory.unwrap_or(UNKNOWN_MEMORY)
    }

    fn cores(&self) -> i64 {
        self.machine.cores.map_or(UNKNOWN_CORES, i64::from).max(1)
    }

    /// The unit that the pool is made of: a chunk on MySQL and older MariaDB, 1 MiB where chunks are gone.
    fn pool_chunk(&self) -> i64 {
        chunk(self.identity, self.live)
    }

    fn connections(&self) -> i64 {
        self.live.int("max_connections").unwrap_or(151).max(1)
    }

    /// A number, or the name of something that has to be measured.
    fn bound(&self, text: &str) -> Option<f64> {
        let gib = Bytes::gib(1).0 as f64;
        Some(match text {
            // The budget less all that is not the pool, with other knobs as they stand.
            "pool" => {
                let model = MemoryModel::new(self.identity, self.live);
                let now = model.estimate(&Configuration::new()).realistic;
                let rest = model.base(&["innodb_buffer_pool_size"]);
                let room = budget(self.memory(), now).0.saturating_sub(rest.0) as f64;
                let pool = room / model.slope("innodb_buffer_pool_size");
                pool.min(self.memory().share(POOL_SHARE).0 as f64)
            }
            "pool-gib" => {
                // A part below 1 GiB is refused or undone by the server; more parts than cores serve nobody.
                let pool = self.bound("pool")? / gib;
                pool.floor().min((self.cores() * 2) as f64).clamp(1.0, 64.0)
            }
            // One and a half times the data is what the published experiment's winner used; more only delays
            // recovery. Without knowledge of the data, half of the memory stands in for it.
            "redo" => {
                let wanted = match self.data {
                    Some(data) => data.share(1.5),
                    None => self.memory().share(0.5),
                };
                wanted.clamp(Bytes::gib(1), Bytes::gib(64)).0 as f64 / self.redo_files()
            }
            "2cores" => (self.cores() * 2) as f64,
            "purge" => (self.cores() * 2).clamp(4, 32) as f64,
            "io-threads" => (self.cores() * 4).clamp(4, IO_THREADS) as f64,
            "connections" => self.connections().min(16_384) as f64,
            "tmp" => self.memory().share(1.0 / 64.0).clamp(Bytes::mib(32), Bytes::mib(256)).0 as f64,
            // The server lowers the cache to what its limit of files allows: two files for each table, and one for
            // each connection. What MariaDB sets aside besides is 31 (measured), MySQL's is 10.
            "files" => {
                let limit = self.live.int("open_files_limit").unwrap_or(5000);
                let room = ((limit - self.connections() - 32) / 2).max(400);
                room.min(40_000) as f64
            }
            number => crate::registry::number(number).ok()?,
        })
    }

    /// How many files the redo log of `innodb_log_file_size` is made of.
    fn redo_files(&self) -> f64 {
        let group = self.live.int("innodb_log_files_in_group").unwrap_or(1);
        if self.live.contains_key("innodb_redo_log_capacity") { 1.0 } else { group.max(1) as f64 }
    }
}

/// The unit that the buffer pool is made of.
pub(crate) fn chunk(identity: &Identity, live: &BTreeMap<String, LiveVariable>) -> i64 {
    let mib = 1 << 20;
    // Ignored from these MariaDB releases on.
    let ignored = identity.mariadb_at_least(11, 8, 2)
        || (identity.mariadb_at_least(11, 4, 6) && !identity.mariadb_at_least(11, 5, 0))
        || (identity.mariadb_at_least(10, 11, 12) && !identity.mariadb_at_least(11, 0, 0));
    if ignored { mib } else { live.int("innodb_buffer_pool_chunk_size").unwrap_or(mib).max(mib) }
}

#[cfg(test)]
mod tests;
