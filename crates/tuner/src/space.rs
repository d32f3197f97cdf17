//! Between knobs and the optimiser: the search space, and configurations from points.

use crate::context::{Context, Importance, TunedKnob};
use crate::error::StudyErrorKind;
use crate::spec::TuneSpec;
use knobs::{Configuration, Domain, Identity, LiveVariable, Machine, Registry, Selection, Tunable};
use search::{Direction, Kind, Optimizer, Origin, Param, Relation, Settings, Space, Values};
use std::collections::BTreeMap;
use target::Target;

/// What is searched.
pub(crate) struct SearchSpace {
    tunables: Vec<Tunable>,
    relations: Vec<knobs::Relation>,
}

/// The space of this target and study, expert seeds included, with what has to be remembered of it.
pub(crate) fn prepare<T: Target>(
    spec: &TuneSpec,
    target: &T,
    notes: Vec<(String, String)>,
) -> Result<(Context, Optimizer), StudyErrorKind> {
    let identity = target.identity();
    let machine = target.machine();
    let SearchSpace { tunables, relations } =
        SearchSpace::of(spec, identity, &machine, target.found(), target.restores_data());
    check_names(spec, &tunables)?;
    for idea in &spec.suggested {
        check_suggestion(target, &idea.name, &idea.configuration)?;
    }
    let params = tunables.iter().map(param).collect();
    let space = Space::new(params, relations.iter().filter_map(relation).collect())?;
    let direction = if spec.objective.higher_is_better() { Direction::Maximize } else { Direction::Minimize };
    let settings =
        Settings { direction, seed: spec.seed, trials: Some(spec.trials as usize), ..Settings::default() };
    let mut optimiser = Optimizer::new(space, settings);
    let facts = advisor::WorkloadFacts { storage_iops: target.storage_iops(), ..spec.workload.facts() };
    for seed in advisor::seeds(&tunables, &relations, &facts) {
        let values = seed
            .configuration
            .iter()
            .filter_map(|(knob, value)| {
                let tunable = tunables.iter().find(|t| t.name == knob)?;
                Some((knob.to_owned(), to_search(tunable, value)))
            })
            .collect();
        // A seed that the space has no room for (a narrowed range, a knob left out) is no seed.
        let _ = optimiser.add_seed(&values, seed.name);
    }
    let context = Context {
        identity: identity.clone(),
        machine,
        host: host(),
        home: target.found().clone(),
        knobs: tunables.iter().map(|t| (t.name.clone(), tuned(t))).collect(),
        units: tunables.iter().filter_map(|t| Some((t.name.clone(), unit_word(t.knob.unit)?))).collect(),
        notes,
        importance: Vec::new(),
        candidate: None,
    };
    Ok((context, optimiser))
}

fn check_names(spec: &TuneSpec, tunables: &[Tunable]) -> Result<(), StudyErrorKind> {
    for name in spec.knobs.iter().flatten() {
        if !tunables.iter().any(|t| t.name == *name) {
            return Err(StudyErrorKind::NothingToTune(format!(
                " by the name of {name} on this server; `tunesmith knobs list` shows those there are"
            )));
        }
    }
    if tunables.is_empty() {
        return Err(StudyErrorKind::NothingToTune(String::new()));
    }
    Ok(())
}

/// Durability and results are never traded, not even on request.
fn check_suggestion<T: Target>(
    target: &T,
    name: &str,
    configuration: &Configuration,
) -> Result<(), StudyErrorKind> {
    for (knob, _) in configuration.iter() {
        let refused = Registry::builtin().get(knob).is_some_and(|k| !k.risk.may_be_automatic());
        if refused {
            let why = format!(
                "{knob} decides about durability or results, and those are never traded for speed; leave it out"
            );
            return Err(StudyErrorKind::Suggested { name: name.to_owned(), why });
        }
        if !target.restores_data() && !target.found().contains_key(knob) {
            let why = format!("the server has no variable {knob}");
            return Err(StudyErrorKind::Suggested { name: name.to_owned(), why });
        }
    }
    Ok(())
}

fn tuned(tunable: &Tunable) -> TunedKnob {
    TunedKnob { found: tunable.current.clone(), dynamic: tunable.dynamic, purpose: tunable.knob.what.clone() }
}

/// The document's word for a unit; `None` where a number stands for itself.
fn unit_word(unit: knobs::Unit) -> Option<String> {
    match unit {
        knobs::Unit::Bytes => Some("bytes".to_owned()),
        knobs::Unit::Percent => Some("percent".to_owned()),
        other => Some(other.suffix().to_owned()).filter(|word| !word.is_empty()),
    }
}

fn param(tunable: &Tunable) -> Param {
    let kind = match &tunable.domain {
        Domain::Int { min, max, step, log, specials } => {
            Kind::Int { min: *min, max: *max, log: *log, step: *step, specials: specials.clone() }
        }
        Domain::Float { min, max, log, specials } => {
            Kind::Float { min: *min, max: *max, log: *log, specials: specials.clone() }
        }
        Domain::Enum(values) => Kind::Enum(values.clone()),
        Domain::Bool => Kind::Bool,
    };
    let param = Param::new(tunable.name.clone(), kind, to_search(tunable, &tunable.current));
    if tunable.dynamic { param } else { param.restart() }
}

/// A relation as the optimiser can keep it. What it can't express (roundings to chunks, steps of a pool's instances) is
/// repaired in the configuration, see [`configuration`].
fn relation(relation: &knobs::Relation) -> Option<Relation> {
    match relation {
        knobs::Relation::LessEq { small, large } => {
            Some(Relation::LessEq { small: small.clone(), large: large.clone() })
        }
        knobs::Relation::MemoryBudget { terms, base, limit } => Some(Relation::Budget {
            terms: terms
                .iter()
                .map(|t| search::Term { factor: t.factor, params: vec![t.knob.clone()] })
                .collect(),
            limit: limit.0.saturating_sub(base.0) as f64,
        }),
        knobs::Relation::MultipleOf { .. } | knobs::Relation::AtLeast { .. } => None,
    }
}

fn to_search(tunable: &Tunable, value: &knobs::Value) -> search::Value {
    match (&tunable.domain, value) {
        // An enumeration's values are names to the optimiser, also where the server numbers them.
        (Domain::Enum(_), value) => search::Value::Text(value.to_cnf()),
        (_, knobs::Value::Int(i)) => search::Value::Int(*i),
        (_, knobs::Value::Float(x)) => search::Value::Float(*x),
        (_, knobs::Value::Bool(b)) => search::Value::Bool(*b),
        (_, knobs::Value::Text(t)) => search::Value::Text(t.clone()),
    }
}

fn from_search(tunable: &Tunable, value: &search::Value) -> knobs::Value {
    match value {
        search::Value::Int(i) => knobs::Value::Int(*i),
        search::Value::Float(x) => knobs::Value::Float(*x),
        search::Value::Bool(b) => knobs::Value::Bool(*b),
        search::Value::Text(t) => {
            knobs::Value::parse_server(tunable.knob, t).unwrap_or_else(|_| knobs::Value::Text(t.clone()))
        }
    }
}

impl SearchSpace {
    /// The knobs of a study and what must hold between them.
    pub(crate) fn of(
        spec: &TuneSpec,
        identity: &Identity,
        machine: &Machine,
        found: &BTreeMap<String, LiveVariable>,
        may_restart: bool,
    ) -> Self {
        let selection = Selection {
            names: spec.knobs.clone(),
            // A server that is not ours is not ours to restart.
            dynamic_only: spec.dynamic_only || !may_restart,
            data_bytes: Some(spec.workload.data_bytes()),
        };
        let tunables = knobs::tunable(Registry::builtin(), identity, found, machine, &selection);
        let relations = knobs::relations(&tunables, identity, found, machine);
        Self { tunables, relations }
    }

    /// The configuration of a point: what differs from the values found, moved to where every relation holds. What does not
    /// differ is left to the server.
    pub(crate) fn configuration(&self, values: &Values) -> Configuration {
        let tunable = |knob: &str| self.tunables.iter().find(|t| t.name == knob);
        let whole = values
            .iter()
            .filter_map(|(knob, value)| Some((knob.clone(), from_search(tunable(knob)?, value))))
            .collect();
        let whole = knobs::repair(&self.tunables, &self.relations, &whole);
        let found = |knob: &str| tunable(knob).map(|t| &t.current);
        whole
            .iter()
            .filter(|(knob, value)| found(knob).is_none_or(|found| !found.same(value)))
            .map(|(knob, value)| (knob.to_owned(), value.clone()))
            .collect()
    }

    /// A configuration as a point, or `None` where the space has no such point.
    pub(crate) fn values(&self, optimiser: &Optimizer, configuration: &Configuration) -> Option<Values> {
        let mut values = optimiser.space().default_values();
        for (knob, value) in configuration.iter() {
            let tunable = self.tunables.iter().find(|t| t.name == knob)?;
            values.insert(knob.to_owned(), to_search(tunable, value));
        }
        optimiser.space().keeps_relations(&values).ok()?.then_some(values)
    }
}

/// Who asked for a trial, for people.
pub(crate) fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Default => "baseline".to_owned(),
        Origin::Seed(name) => format!("seed: {name}"),
        Origin::Earlier => "seed: earlier study".to_owned(),
        Origin::Start => "search: start".to_owned(),
        Origin::Search | Origin::Told => "search".to_owned(),
        Origin::Repeat => "repeat".to_owned(),
    }
}

/// How much each knob matters, by the optimiser's model.
pub(crate) fn importance(optimiser: &Optimizer) -> Vec<Importance> {
    let mut importance: Vec<Importance> = optimiser
        .importance()
        .into_iter()
        .map(|i| Importance { knob: i.name, share: i.share, sd: i.sd })
        .collect();
    importance.sort_by(|a, b| b.share.total_cmp(&a.share));
    importance
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map_or_else(|_| String::new(), |t| t.trim().to_owned())
}
