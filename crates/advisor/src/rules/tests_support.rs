//! Fixtures that read as specifications: a healthy server of a flavour, and what is different about it.

use crate::snapshot::{Account, Digest, EngineUse, MachineSource, ReplicaChannel, SchemaFacts, Snapshot};
use crate::{Finding, Recommendation, Report, Severity, advise};
use knobs::{Bytes, Flavour, Identity, LiveVariable, Platform, Value};

pub(crate) struct Fixture(pub Snapshot);

/// A day and a half: long enough for every rule that wants to have seen something.
const UPTIME: &str = "129600";

impl Fixture {
    fn of(flavour: Flavour, version: &str, rows: &str) -> Self {
        let identity = Identity::of(flavour, version.parse().unwrap());
        let variables = Snapshot::read_pairs(rows)
            .into_iter()
            .map(|(name, value)| (name.clone(), LiveVariable::new(name, value)))
            .collect();
        let status = [("uptime".to_owned(), UPTIME.to_owned())].into();
        let mut snapshot = Snapshot::offline(identity, variables, status);
        snapshot.today = Some("2026-11-30".into());
        Self(snapshot)
    }

    /// What mysqld 9.7.4 prints when it is started with nothing set.
    pub fn mysql(version: &str) -> Self {
        Self::of(Flavour::MySql, version, include_str!("../../tests/fixtures/mysql-9.7.4.variables"))
    }

    /// What mariadbd 10.11.19 prints when it is started with nothing set.
    pub fn mariadb(version: &str) -> Self {
        Self::of(Flavour::MariaDb, version, include_str!("../../tests/fixtures/mariadb-10.11.19.variables"))
    }

    pub fn percona(version: &str) -> Self {
        let mut fixture = Self::mysql(version);
        fixture.0.identity.flavour = Flavour::Percona;
        fixture
    }

    pub fn on(mut self, platform: Platform) -> Self {
        self.0.identity.platform = platform;
        self
    }

    pub fn var(mut self, name: &str, value: &str) -> Self {
        self.0.variables.insert(name.into(), LiveVariable::new(name, value));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.0.variables.remove(name);
        self
    }

    pub fn status(mut self, name: &str, value: impl ToString) -> Self {
        self.0.status.insert(name.into(), value.to_string());
        self
    }

    pub fn metric(mut self, name: &str, count: i64) -> Self {
        self.0.metrics.insert(name.into(), count);
        self
    }

    pub fn uptime(self, seconds: u64) -> Self {
        self.status("uptime", seconds)
    }

    /// A first sample, this many seconds before.
    pub fn sampled(mut self, seconds: f64, before: &[(&str, u64)]) -> Self {
        let mut first = self.0.status.clone();
        for (name, value) in before {
            first.insert((*name).into(), value.to_string());
        }
        (self.0.before, self.0.window_seconds) = (Some(first), Some(seconds));
        self
    }

    pub fn memory_gib(mut self, gib: u64) -> Self {
        self.0.machine.memory = Some(Bytes::gib(gib));
        self.0.machine_source = MachineSource::Local;
        self
    }

    pub fn cores(mut self, cores: u32) -> Self {
        self.0.machine.cores = Some(cores);
        self
    }

    pub fn solid_state(mut self, yes: bool) -> Self {
        self.0.solid_state = Some(yes);
        self
    }

    pub fn engine(mut self, engine: &str, tables: u64, bytes: u64) -> Self {
        let facts = self
            .0
            .schema_facts
            .get_or_insert_with(|| SchemaFacts { complete: true, ..SchemaFacts::default() });
        facts.tables += tables;
        facts.engines.push(EngineUse {
            engine: engine.into(),
            tables,
            data_bytes: bytes,
            index_bytes: bytes / 4,
        });
        self
    }

    pub fn innodb_gib(self, gib: u64) -> Self {
        self.engine("InnoDB", 100, gib << 30)
    }

    pub fn facts(mut self, change: impl FnOnce(&mut SchemaFacts)) -> Self {
        change(
            self.0
                .schema_facts
                .get_or_insert_with(|| SchemaFacts { complete: true, ..SchemaFacts::default() }),
        );
        self
    }

    pub fn account(mut self, user: &str, host: &str, plugin: &str, no_password: bool) -> Self {
        self.0.accounts.get_or_insert_default().push(Account {
            user: user.into(),
            host: host.into(),
            plugin: plugin.into(),
            no_password,
            locked: false,
        });
        self
    }

    pub fn replica(mut self, running: bool, lag_seconds: Option<u64>, gtids: &str) -> Self {
        self.0.replicas.get_or_insert_default().push(ReplicaChannel {
            receiving: running,
            applying: running,
            lag_seconds,
            executed_gtids: gtids.into(),
            ..ReplicaChannel::default()
        });
        self
    }

    pub fn digest(mut self, text: &str, count: u64, seconds: f64, no_index: u64) -> Self {
        self.0.digests.push(Digest { text: text.into(), count, seconds, no_index, ..Digest::default() });
        self
    }

    pub fn report(&self) -> Report {
        advise(&self.0)
    }

    /// The finding of a rule, whatever its severity.
    pub fn finding(&self, rule: &str) -> Option<Finding> {
        self.report().findings.into_iter().find(|finding| finding.rule == rule)
    }

    /// Whether a rule has something to complain about.
    pub fn fires(&self, rule: &str) -> bool {
        self.finding(rule).is_some_and(|finding| finding.severity >= Severity::Notice)
    }

    pub fn not_enough(&self, rule: &str) -> bool {
        self.finding(rule).is_some_and(|finding| finding.severity == Severity::NotEnoughData)
    }

    pub fn recommends(&self, knob: &str) -> Option<Recommendation> {
        self.report().recommendations().find(|recommendation| recommendation.knob == knob).cloned()
    }

    /// The whole number recommended for a knob.
    pub fn number(&self, knob: &str) -> Option<i64> {
        self.recommends(knob).and_then(|recommendation| match recommendation.value {
            Value::Int(n) => Some(n),
            _ => None,
        })
    }
}
