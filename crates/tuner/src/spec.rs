//! What a study was asked to do: everything that is needed to resume it without its command line.

use knobs::Configuration;
use load::sysbench::{ScriptName, Tables};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is optimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// Transactions committed a second, by the server's own count. More is better.
    Tps,
    /// The 95th percentile of the service latency, in microseconds. Less is better.
    P95,
    /// The 99th percentile of the service latency, in microseconds. Less is better.
    P99,
}

impl Objective {
    /// The word on the command line and in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tps => "tps",
            Self::P95 => "p95",
            Self::P99 => "p99",
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Tps => "txn/s",
            Self::P95 | Self::P99 => "us",
        }
    }

    /// Whether more is better.
    pub fn higher_is_better(self) -> bool {
        matches!(self, Self::Tps)
    }

    /// `candidate` against `baseline` as a factor of improvement: above 1 is better, whichever way the objective runs.
    pub fn improvement(self, baseline: f64, candidate: f64) -> f64 {
        if self.higher_is_better() { candidate / baseline } else { baseline / candidate }
    }
}

/// What is executed against the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Workload {
    /// The five transactions of TPC-C, closed loop.
    Tpcc {
        /// Scale: about 100 MB each.
        warehouses: u32,
        /// Connections that send transactions.
        terminals: u32,
    },
    /// One of sysbench's OLTP scripts, closed loop.
    Sysbench {
        /// Which.
        script: ScriptName,
        /// Number of tables.
        tables: u32,
        /// Rows of each.
        table_size: u64,
        /// Connections that send transactions.
        terminals: u32,
    },
}

/// A row of sysbench's tables with its part of both indexes: 1,000,000 rows made a file of 236 MiB on MariaDB 10.11 and 248 MiB on
/// MySQL 9.7.
const SYSBENCH_ROW_BYTES: u64 = 255;

impl Workload {
    /// Roughly how large its data is.
    pub fn data_bytes(&self) -> u64 {
        match self {
            Self::Tpcc { warehouses, .. } => u64::from(*warehouses) * (100 << 20),
            Self::Sysbench { tables, table_size, .. } => {
                u64::from(*tables).saturating_mul(*table_size).saturating_mul(SYSBENCH_ROW_BYTES)
            }
        }
    }

    /// Connections that send transactions.
    pub fn terminals(&self) -> u32 {
        match self {
            Self::Tpcc { terminals, .. } | Self::Sysbench { terminals, .. } => *terminals,
        }
    }

    /// The tables of sysbench's scripts, with a seed for their rows.
    pub(crate) fn sysbench_tables(tables: u32, table_size: u64, seed: u64) -> Tables {
        Tables { tables, table_size, seed, ..Tables::default() }
    }

    /// What the advisor wants to know of it.
    pub fn facts(&self) -> advisor::WorkloadFacts {
        let write_share = match self {
            // New-Order, Payment and Delivery of the standard mix.
            Self::Tpcc { .. } => 0.92,
            Self::Sysbench { script, .. } if script.only_reads() => 0.0,
            Self::Sysbench { .. } => 1.0,
        };
        advisor::WorkloadFacts {
            data_bytes: Some(self.data_bytes()),
            write_share: Some(write_share),
            connections: Some(u64::from(self.terminals())),
            storage_iops: None,
        }
    }

    /// As on the command line.
    pub fn name(&self) -> String {
        match self {
            Self::Tpcc { .. } => "tpcc".to_owned(),
            Self::Sysbench { script, .. } => format!("sysbench:{script}"),
        }
    }

    /// Its parameters, for people: option and value.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Tpcc { warehouses, terminals } => {
                vec![("warehouses", warehouses.to_string()), ("terminals", terminals.to_string())]
            }
            Self::Sysbench { tables, table_size, terminals, .. } => vec![
                ("tables", tables.to_string()),
                ("table-size", table_size.to_string()),
                ("terminals", terminals.to_string()),
            ],
        }
    }

    /// The option that asks for nothing, if there is one.
    fn zero(&self) -> Option<&'static str> {
        let counts = match self {
            Self::Tpcc { warehouses, terminals } => {
                vec![(u64::from(*warehouses), "warehouses"), (u64::from(*terminals), "terminals")]
            }
            Self::Sysbench { tables, table_size, terminals, .. } => vec![
                (u64::from(*tables), "tables"),
                (*table_size, "table-size"),
                (u64::from(*terminals), "terminals"),
            ],
        };
        counts.into_iter().find(|(count, _)| *count == 0).map(|(_, name)| name)
    }
}

/// Which server is tuned. No secret is part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum TargetSpec {
    /// A private server of ours, from a template.
    Sandbox {
        /// `mysql` or `mariadb`; `None` takes what is there.
        flavour: Option<String>,
        /// A folder to look for the server's program in.
        binary: Option<PathBuf>,
        /// The machine to emulate, as after `--machine`; `None` is this one as it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        machine: Option<String>,
        /// The family of a provider's defaults that the servers run with below the configuration; `None` is the server's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        defaults: Option<String>,
    },
    /// A server that somebody runs, reached by SQL.
    Server {
        /// How it was named, for people; never with a password.
        address: String,
    },
}

/// A configuration that somebody wants tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suggested {
    /// Where it comes from.
    pub name: String,
    /// The configuration.
    pub configuration: Configuration,
}

/// All of a `tune` study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuneSpec {
    /// Which server.
    pub target: TargetSpec,
    /// Which work.
    pub workload: Workload,
    /// What is optimised.
    pub objective: Objective,
    /// Trials of the search, seeds included; baselines and the proof come on top.
    pub trials: u32,
    /// The search ends when this many seconds have passed, whatever is left of `trials`.
    pub time_budget_seconds: Option<u64>,
    /// Seconds of work before a measured window.
    pub warmup_seconds: u64,
    /// Seconds of a measured window.
    pub measure_seconds: u64,
    /// Measurements of the baseline before the search; at least 3.
    pub baseline_runs: u32,
    /// The baseline is measured again after this many trials.
    pub rebaseline_every: u32,
    /// Interleaved pairs of the proof; at least 5.
    pub pairs: u32,
    /// Only these knobs; `None` means all that may be tuned.
    pub knobs: Option<Vec<String>>,
    /// Leave out what needs a restart.
    pub dynamic_only: bool,
    /// Configurations to try first, besides the expert seeds.
    pub suggested: Vec<Suggested>,
    /// Seed of the data, the search and the workload.
    pub seed: u64,
}

/// A study that can't be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// No trial, no search.
    #[error("--trials is 0, so there is nothing to try; ask for at least 1 (10 to 30 is usual)")]
    NoTrials,
    /// Too few readings to say how much the baseline varies.
    #[error("--baseline-runs is {0}; an interval needs at least 3")]
    FewBaselines(u32),
    /// Too few pairs for a proof.
    #[error("--pairs is {0}; the proof needs at least 5 interleaved pairs")]
    FewPairs(u32),
    /// A window too short for 1 % agreement of counts.
    #[error("--measure is {0} s; a window shorter than 5 s says nothing")]
    ShortWindow(u64),
    /// No warehouses or no terminals.
    #[error("--{0} must be at least 1")]
    Zero(&'static str),
}

impl TuneSpec {
    /// Checks what can be checked without a server.
    pub fn validate(&self) -> Result<(), SpecError> {
        if self.trials == 0 {
            return Err(SpecError::NoTrials);
        }
        if self.baseline_runs < 3 {
            return Err(SpecError::FewBaselines(self.baseline_runs));
        }
        if self.pairs < 5 {
            return Err(SpecError::FewPairs(self.pairs));
        }
        if self.measure_seconds < 5 {
            return Err(SpecError::ShortWindow(self.measure_seconds));
        }
        let zero = self.workload.zero().or((self.rebaseline_every == 0).then_some("rebaseline-every"));
        zero.map_or(Ok(()), |name| Err(SpecError::Zero(name)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn spec() -> TuneSpec {
        TuneSpec {
            target: TargetSpec::Sandbox { flavour: None, binary: None, machine: None, defaults: None },
            workload: Workload::Tpcc { warehouses: 1, terminals: 4 },
            objective: Objective::Tps,
            trials: 10,
            time_budget_seconds: None,
            warmup_seconds: 5,
            measure_seconds: 10,
            baseline_runs: 3,
            rebaseline_every: 8,
            pairs: 5,
            knobs: None,
            dynamic_only: false,
            suggested: Vec::new(),
            seed: 1,
        }
    }

    #[test]
    fn a_study_without_trials_is_refused_with_what_to_do() {
        let error = TuneSpec { trials: 0, ..spec() }.validate().unwrap_err();
        assert_eq!(error, SpecError::NoTrials);
        assert!(error.to_string().contains("at least 1"));
    }

    #[test]
    fn too_little_to_prove_anything_is_refused() {
        assert!(spec().validate().is_ok());
        assert!(TuneSpec { pairs: 4, ..spec() }.validate().is_err());
        assert!(TuneSpec { baseline_runs: 2, ..spec() }.validate().is_err());
        assert!(TuneSpec { measure_seconds: 4, ..spec() }.validate().is_err());
        let no_data = Workload::Tpcc { warehouses: 0, terminals: 4 };
        assert_eq!(TuneSpec { workload: no_data, ..spec() }.validate(), Err(SpecError::Zero("warehouses")));
        let no_rows =
            Workload::Sysbench { script: ScriptName::OltpReadWrite, tables: 4, table_size: 0, terminals: 8 };
        assert_eq!(TuneSpec { workload: no_rows, ..spec() }.validate(), Err(SpecError::Zero("table-size")));
    }

    #[test]
    fn the_advisor_is_told_which_scripts_write() {
        let facts =
            |script| Workload::Sysbench { script, tables: 1, table_size: 1_000_000, terminals: 8 }.facts();
        assert_eq!(facts(ScriptName::OltpPointSelect).write_share, Some(0.0));
        assert_eq!(facts(ScriptName::OltpReadOnly).write_share, Some(0.0));
        assert_eq!(facts(ScriptName::OltpUpdateIndex).write_share, Some(1.0));
        assert_eq!(facts(ScriptName::OltpReadWrite).data_bytes, Some(255_000_000));
    }

    #[test]
    fn improvement_is_above_one_when_better_either_way() {
        assert_eq!(Objective::Tps.improvement(100.0, 150.0), 1.5);
        assert_eq!(Objective::P99.improvement(300.0, 150.0), 2.0);
    }

    #[test]
    fn a_spec_survives_the_store() {
        let text = serde_json::to_string(&spec()).unwrap();
        assert_eq!(serde_json::from_str::<TuneSpec>(&text).unwrap(), spec());
    }
}
