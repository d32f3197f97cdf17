//! What rules ask of a snapshot, and how they answer.

use crate::finding::{Finding, Severity};
use crate::snapshot::{Counters, EngineUse, Snapshot};
use knobs::{Bytes, Configuration, Flavour, Identity, Live, MemoryModel, Platform, Value};

/// A draft of a recommendation; the engine fills in the rest from the registry and the live server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wish {
    pub knob: &'static str,
    pub value: Value,
    pub effect: &'static str,
    /// Only a person can decide this, whatever the knob's risk class says.
    pub by_hand: bool,
}

/// A finding and the changes it asks for.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub finding: Finding,
    pub wishes: Vec<Wish>,
}

impl Draft {
    pub fn new(severity: Severity, title: impl Into<String>, evidence: impl Into<String>) -> Self {
        let finding = Finding {
            rule: String::new(),
            severity,
            title: title.into(),
            evidence: evidence.into(),
            advice: None,
            recommendation: None,
        };
        Self { finding, wishes: Vec::new() }
    }

    pub fn critical(title: impl Into<String>, evidence: impl Into<String>) -> Self {
        Self::new(Severity::Critical, title, evidence)
    }

    pub fn warning(title: impl Into<String>, evidence: impl Into<String>) -> Self {
        Self::new(Severity::Warning, title, evidence)
    }

    pub fn notice(title: impl Into<String>, evidence: impl Into<String>) -> Self {
        Self::new(Severity::Notice, title, evidence)
    }

    pub fn fine(title: impl Into<String>, evidence: impl Into<String>) -> Self {
        Self::new(Severity::Fine, title, evidence)
    }

    pub fn not_enough(evidence: impl Into<String>) -> Self {
        Self::new(Severity::NotEnoughData, "not enough data yet", evidence)
    }

    pub fn advice(mut self, text: impl Into<String>) -> Self {
        self.finding.advice = Some(text.into());
        self
    }

    pub fn set(mut self, knob: &'static str, value: Value, effect: &'static str) -> Self {
        self.wishes.push(Wish { knob, value, effect, by_hand: false });
        self
    }

    pub fn suggest(mut self, knob: &'static str, value: Value, effect: &'static str) -> Self {
        self.wishes.push(Wish { knob, value, effect, by_hand: true });
        self
    }
}

/// A snapshot with the questions that rules ask.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub snapshot: &'a Snapshot,
}

impl<'a> Context<'a> {
    pub fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot }
    }

    pub fn identity(&self) -> &Identity {
        &self.snapshot.identity
    }

    pub fn is_mariadb(&self) -> bool {
        self.identity().flavour == Flavour::MariaDb
    }

    pub fn is_aurora(&self) -> bool {
        self.identity().platform == Platform::Aurora
    }

    pub fn has(&self, name: &str) -> bool {
        self.snapshot.variables.contains_key(name)
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.snapshot.variables.text(name)
    }

    pub fn int(&self, name: &str) -> Option<i64> {
        self.snapshot.variables.int(name)
    }

    pub fn on(&self, name: &str) -> Option<bool> {
        self.snapshot.variables.switch(name)
    }

    /// A counter as it stands.
    pub fn count(&self, name: &str) -> Option<f64> {
        self.snapshot.status.get(name)?.trim().parse().ok()
    }

    pub fn status(&self, name: &str) -> Option<&str> {
        self.snapshot.status.get(name).map(String::as_str)
    }

    fn sampled(&self) -> Option<(&Counters, f64)> {
        let seconds = self.snapshot.window_seconds.filter(|seconds| *seconds > 0.0)?;
        Some((self.snapshot.before.as_ref()?, seconds))
    }

    /// Whether two samples are compared.
    pub fn is_sampled(&self) -> bool {
        self.sampled().is_some()
    }

    /// What a counter gained in the window; since the server's start when there was one sample only.
    pub fn gain(&self, name: &str) -> Option<f64> {
        let now = self.count(name)?;
        let before = match self.sampled() {
            Some((before, _)) => before.get(name).and_then(|text| text.trim().parse().ok()).unwrap_or(0.0),
            None => 0.0,
        };
        // FLUSH STATUS sets counters back.
        Some((now - before).max(0.0))
    }

    /// Seconds that gains refer to; 0 when nothing is known.
    pub fn window(&self) -> f64 {
        match self.sampled() {
            Some((_, seconds)) => seconds,
            None => self.uptime(),
        }
    }

    pub fn uptime(&self) -> f64 {
        self.count("uptime").unwrap_or(0.0).max(0.0)
    }

    pub fn per_second(&self, name: &str) -> Option<f64> {
        let window = self.window();
        if window <= 0.0 { None } else { Some(self.gain(name)? / window) }
    }

    /// `part / whole` of gains, where the whole is at least `least`: below that a ratio means nothing.
    pub fn ratio(&self, part: &str, whole: &str, least: f64) -> Option<f64> {
        let whole = self.gain(whole)?;
        (whole >= least).then(|| self.gain(part).map(|part| part / whole))?
    }

    /// "over the last 60 s" or "in 3.2 h since the start".
    pub fn period(&self) -> String {
        let seconds = self.window();
        let length = match seconds {
            s if s >= 172_800.0 => format!("{:.1} days", s / 86_400.0),
            s if s >= 7200.0 => format!("{:.1} h", s / 3600.0),
            s if s >= 120.0 => format!("{:.0} min", s / 60.0),
            s => format!("{s:.0} s"),
        };
        if self.is_sampled() {
            format!("in a window of {length}")
        } else {
            format!("in {length} since the start")
        }
    }

    /// A counter of INNODB_METRICS, where it is on.
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.snapshot.metrics.get(name).map(|count| *count as f64)
    }

    pub fn memory(&self) -> Option<Bytes> {
        self.snapshot.machine.memory
    }

    pub fn model(&self) -> MemoryModel<'_> {
        let model = MemoryModel::new(self.identity(), &self.snapshot.variables);
        // The peak says something once the server has seen its workload.
        match self.count("max_used_connections") {
            Some(used) if self.uptime() >= DAY => model.used_connections(used as u64),
            _ => model,
        }
    }

    /// The largest buffer pool that the machine has memory for with everything else as it is; `None` when the
    /// machine is not known.
    pub fn pool_limit(&self) -> Option<Bytes> {
        let memory = self.memory()?;
        let without: Configuration =
            [("innodb_buffer_pool_size".to_owned(), Value::Int(0))].into_iter().collect();
        let rest = self.model().estimate(&without).realistic;
        // Control structures come on top of the pool: a tenth.
        let room = memory.share(0.85).0.saturating_sub(rest.0) as f64 / 1.1;
        Some(Bytes(room as u64).min(memory.share(0.75)))
    }

    pub fn engine(&self, name: &str) -> Option<&EngineUse> {
        let facts = self.snapshot.schema_facts.as_ref()?;
        facts.engines.iter().find(|engine| engine.engine.eq_ignore_ascii_case(name))
    }

    /// Bytes of InnoDB tables: of their files, or of all tables when all were looked at.
    pub fn innodb_bytes(&self) -> Option<Bytes> {
        let facts = self.snapshot.schema_facts.as_ref()?;
        if let Some(bytes) = facts.innodb_file_bytes {
            return Some(Bytes(bytes));
        }
        if !facts.complete {
            return None;
        }
        Some(self.engine("InnoDB").map_or(Bytes(0), |engine| Bytes(engine.data_bytes + engine.index_bytes)))
    }
}

pub(crate) const HOUR: f64 = 3600.0;
pub(crate) const DAY: f64 = 86_400.0;

/// The amount rounded up to a multiple of a unit.
pub(crate) fn round_up(amount: Bytes, unit: Bytes) -> Bytes {
    Bytes(amount.0.div_ceil(unit.0.max(1)).saturating_mul(unit.0))
}

/// A share as people write it.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p >= 10.0 || p == 0.0 => format!("{p:.0}%"),
        p if p >= 0.1 => format!("{p:.1}%"),
        p => format!("{p:.3}%"),
    }
}
