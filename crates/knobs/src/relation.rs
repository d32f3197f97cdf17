//! What must hold between knobs, as data: so that no configuration is drawn which a server would refuse, silently
//! change, or not have the memory for.

use crate::memory::{MemoryModel, budget};
use crate::{Bytes, Configuration, Domain, Identity, Live, LiveVariable, Machine, Tunable, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Pairs of which the first must not exceed the second; servers lower the first, with a warning nobody sees.
/// The last pair: MariaDB refuses a redo log smaller than its buffer when it is resized.
pub(crate) const ORDERED_PAIRS: [(&str, &str); 4] = [
    ("innodb_io_capacity", "innodb_io_capacity_max"),
    ("innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct"),
    ("tmp_table_size", "max_heap_table_size"),
    ("innodb_log_buffer_size", "innodb_log_file_size"),
];

/// Redo that MySQL wants for each thread admitted by `innodb_thread_concurrency`: 9.7.4 refuses to start with 1000
/// threads below 148 MiB (measured); rounded up.
const REDO_PER_THREAD: f64 = 160.0 * 1024.0;

/// One summand of the memory budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// The knob.
    pub knob: String,
    /// Bytes for each unit of its value.
    pub factor: f64,
}

/// Something that must hold between the values of knobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// `small <= large`.
    LessEq {
        /// The knob that must not exceed the other.
        small: String,
        /// The other.
        large: String,
    },
    /// `knob` is a multiple of `unit`, or of `unit` times the value of another knob.
    MultipleOf {
        /// The knob.
        knob: String,
        /// The unit.
        unit: i64,
        /// A knob whose value multiplies the unit.
        times: Option<String>,
    },
    /// `knob >= factor x of`, as soon as `of` is above `above`.
    AtLeast {
        /// The knob that must be large enough.
        knob: String,
        /// The knob that asks for it.
        of: String,
        /// Units of `knob` for each unit of `of`.
        factor: f64,
        /// Nothing is asked while `of` is not above this.
        above: f64,
    },
    /// `base + sum of factor x value <= limit`: the realistic figure of the memory model, to first order.
    MemoryBudget {
        /// What the knobs add.
        terms: Vec<Term>,
        /// What everything else takes.
        base: Bytes,
        /// What may be used.
        limit: Bytes,
    },
}

/// A relation that a configuration breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation(String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The relations between the given knobs on this server. Values that are not to be searched are folded into the
/// numbers (`bound_by_fixed_partners` does the same for ordered pairs).
pub fn relations(
    tunables: &[Tunable],
    identity: &Identity,
    live: &BTreeMap<String, LiveVariable>,
    machine: &Machine,
) -> Vec<Relation> {
    let has = |name: &str| tunables.iter().any(|tunable| tunable.name == name);
    let mut all = Vec::new();
    if let Some(memory) = machine.memory {
        let model = MemoryModel::new(identity, live);
        let names: Vec<&str> =
            tunables.iter().map(|t| t.name.as_str()).filter(|name| model.slope(name) > 0.0).collect();
        if !names.is_empty() {
            let now = model.estimate(&Configuration::new()).realistic;
            let base = model.base(&names);
            let terms =
                names.iter().map(|name| Term { knob: (*name).into(), factor: model.slope(name) }).collect();
            all.push(Relation::MemoryBudget { terms, base, limit: budget(memory, now).max(base) });
        }
    }
    for (small, large) in ORDERED_PAIRS {
        if has(small) && has(large) {
            all.push(Relation::LessEq { small: small.into(), large: large.into() });
        }
    }
    let (pool, instances) = ("innodb_buffer_pool_size", "innodb_buffer_pool_instances");
    let unit = crate::tunable::chunk(identity, live);
    let fixed = live.int(instances).filter(|_| identity.flavour.is_mysql_line()).unwrap_or(1).max(1);
    match (has(pool), has(instances)) {
        (true, true) => {
            // Below 1 GiB for each, instances serve nobody; below 1 GiB in all, the server goes back to one.
            let gib = Bytes::gib(1).0 as f64;
            all.push(Relation::AtLeast { knob: pool.into(), of: instances.into(), factor: gib, above: 1.0 });
            all.push(Relation::MultipleOf { knob: pool.into(), unit, times: Some(instances.into()) });
        }
        (true, false) => {
            all.push(Relation::MultipleOf {
                knob: pool.into(),
                unit: unit.saturating_mul(fixed),
                times: None,
            });
        }
        _ => {}
    }
    let (redo, concurrency) = ("innodb_redo_log_capacity", "innodb_thread_concurrency");
    if has(redo) && has(concurrency) {
        all.push(Relation::AtLeast {
            knob: redo.into(),
            of: concurrency.into(),
            factor: REDO_PER_THREAD,
            above: 0.0,
        });
    }
    all
}

impl Relation {
    /// Whether a configuration keeps the relation. A knob without a value asks nothing.
    ///
    /// # Errors
    /// Says what is wrong, with the numbers.
    pub fn check(&self, configuration: &Configuration) -> Result<(), Violation> {
        let value = |name: &str| configuration.get(name).and_then(Value::as_f64);
        match self {
            Self::LessEq { small, large } => match (value(small), value(large)) {
                (Some(a), Some(b)) if a > b => Err(Violation(format!("{small} {a} is above {large} {b}"))),
                _ => Ok(()),
            },
            Self::MultipleOf { knob, unit, times } => {
                let factor = times.as_deref().map_or(Some(1.0), value).unwrap_or(1.0).max(1.0);
                let unit = *unit as f64 * factor;
                match value(knob) {
                    Some(x) if x % unit != 0.0 || x < unit => {
                        Err(Violation(format!("{knob} {x} is no multiple of {unit}")))
                    }
                    _ => Ok(()),
                }
            }
            Self::AtLeast { knob, of, factor, above } => match (value(knob), value(of)) {
                (Some(x), Some(y)) if y > *above && x < factor * y => {
                    Err(Violation(format!("{knob} {x} is too small for {of} {y}")))
                }
                _ => Ok(()),
            },
            Self::MemoryBudget { terms, base, limit } => {
                let need = budget_need(terms, *base, configuration);
                if need > limit.0 as f64 {
                    return Err(Violation(format!(
                        "about {} of memory is needed and {limit} may be used",
                        Bytes(need as u64)
                    )));
                }
                Ok(())
            }
        }
    }
}

fn budget_need(terms: &[Term], base: Bytes, configuration: &Configuration) -> f64 {
    terms.iter().fold(base.0 as f64, |sum, term| {
        sum + configuration.get(&term.knob).and_then(Value::as_f64).unwrap_or(0.0).max(0.0) * term.factor
    })
}

/// Moves a configuration to the nearest one that keeps every relation and stays in the domains. What already does
/// is returned unchanged; knobs outside `tunables` are never touched.
pub fn repair(tunables: &[Tunable], relations: &[Relation], configuration: &Configuration) -> Configuration {
    let mut fixed = configuration.clone();
    for tunable in tunables {
        if let Some(value) = fixed.get(&tunable.name) {
            let snapped = tunable.domain.snap(value);
            fixed.set(tunable.name.clone(), snapped);
        }
    }
    // In the order of `relations`, each step lowers values that earlier relations are glad to see lower (the budget
    // first, whole chunks last), so one pass is enough on ordinary servers and a few are on odd ones.
    for _ in 0..4 {
        if relations.iter().all(|relation| relation.check(&fixed).is_ok()) {
            break;
        }
        for relation in relations {
            mend(tunables, relation, &mut fixed);
        }
    }
    fixed
}

fn mend(tunables: &[Tunable], relation: &Relation, fixed: &mut Configuration) {
    if relation.check(fixed).is_ok() {
        return;
    }
    let find = |name: &str| tunables.iter().find(|tunable| tunable.name == name);
    let value = |fixed: &Configuration, name: &str| fixed.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    match relation {
        Relation::LessEq { small, large } => {
            let limit = value(fixed, large);
            lower(find(small), fixed, small, limit);
            // The smaller one may have a floor above the limit; then the larger one gives way.
            let floor = value(fixed, small);
            if floor > value(fixed, large) {
                raise(find(large), fixed, large, floor);
            }
        }
        Relation::MultipleOf { knob, unit, times } => {
            let x = value(fixed, knob);
            if let Some(times) = times {
                // As many instances as the pool has chunks for, at most.
                let most = (x / *unit as f64).floor().max(1.0);
                lower(find(times), fixed, times, most);
            }
            let factor = times.as_deref().map_or(1.0, |times| value(fixed, times).max(1.0));
            let unit = *unit as f64 * factor;
            let down = ((x / unit).floor() * unit).max(unit);
            fixed.set(knob.clone(), Value::Int(down as i64));
        }
        Relation::AtLeast { knob, of, factor, .. } => {
            let most = (value(fixed, knob) / factor).floor().max(1.0);
            lower(find(of), fixed, of, most);
        }
        Relation::MemoryBudget { terms, base, limit } => {
            let excess = budget_need(terms, *base, fixed) - limit.0 as f64;
            // The largest consumer gives way first: it is the pool on any server that is not misconfigured.
            let mut terms: Vec<_> =
                terms.iter().map(|term| (value(fixed, &term.knob) * term.factor, term)).collect();
            terms.sort_by(|a, b| b.0.total_cmp(&a.0));
            let mut excess = excess;
            for (share, term) in terms {
                if excess <= 0.0 {
                    break;
                }
                let wanted = ((share - excess).max(0.0) / term.factor).floor();
                lower(find(&term.knob), fixed, &term.knob, wanted);
                excess -= share - value(fixed, &term.knob) * term.factor;
            }
        }
    }
}

/// The largest value of the domain that is not above `limit`, or the domain's least.
fn lower(tunable: Option<&Tunable>, fixed: &mut Configuration, name: &str, limit: f64) {
    let Some(tunable) = tunable else { return };
    if fixed.get(name).and_then(Value::as_f64).is_none_or(|now| now <= limit) {
        return;
    }
    match &tunable.domain {
        Domain::Int { min, step, .. } => {
            let n = limit.floor() as i64;
            fixed.set(name, Value::Int((n - n.rem_euclid(*step)).max(*min)));
        }
        Domain::Float { min, .. } => {
            fixed.set(name, Value::Float(limit.max(*min)));
        }
        Domain::Enum(_) | Domain::Bool => {}
    }
}

/// The smallest value of the domain that is not below `floor`, or the domain's largest.
fn raise(tunable: Option<&Tunable>, fixed: &mut Configuration, name: &str, floor: f64) {
    let Some(tunable) = tunable else { return };
    match &tunable.domain {
        Domain::Int { max, step, .. } => {
            let up = (floor.ceil() as i64).saturating_add(step - 1);
            fixed.set(name, Value::Int((up - up.rem_euclid(*step)).min(*max)));
        }
        Domain::Float { max, .. } => {
            fixed.set(name, Value::Float(floor.min(*max)));
        }
        Domain::Enum(_) | Domain::Bool => {}
    }
}
