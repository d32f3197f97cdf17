//! What is executed in a run.

use crate::cmd::bench::sysbench_options;
use crate::failure::{Failure, Kind};
use advisor::WorkloadFacts;
use load::LoadOptions;
use load::engine::{Observer, RunResult};
use load::sysbench::{self, ScriptName, SysbenchOptions};
use load::tpcc;
use server::ConnectOptions;
use std::time::Duration;
use tuner::{DataSet, Workload};

/// How long the last transactions may take. On a disk of a hundred operations a second they wait for seconds, and each must be accounted for.
const GRACE: Duration = Duration::from_secs(30);

/// Bytes of a row of sysbench's tables with its indexes, generously.
const SYSBENCH_ROW: u64 = 320;

/// What is executed.
#[derive(Debug, Clone, clap::Args)]
pub struct WorkArgs {
    /// What is executed: tpcc, sysbench:SCRIPT, or sysbench:legacy.
    #[arg(long, default_value = "tpcc", value_name = "WORKLOAD")]
    workload: String,
    /// TPC-C's scale; a warehouse is about 100 MB.
    #[arg(long, default_value_t = 6, value_name = "N")]
    warehouses: u32,
    /// sysbench's options in one text, as after bench sysbench run: "--tables=4 --table-size=100000".
    #[arg(
        long,
        value_name = "OPTIONS",
        default_value = "",
        hide_default_value = true,
        allow_hyphen_values = true
    )]
    sysbench_options: String,
}

impl WorkArgs {
    /// The work that is meant. `seed` is of the data.
    pub fn read(&self, seed: u64) -> Result<Work, Failure> {
        if self.workload == "tpcc" {
            if self.warehouses == 0 {
                return Err(Failure::new(Kind::Usage, "--warehouses must be above zero"));
            }
            return Ok(Work::Tpcc { warehouses: self.warehouses, seed });
        }
        let Some(script) = self.workload.strip_prefix("sysbench:") else {
            return Err(Failure::new(Kind::Usage, format!("{:?} is no workload", self.workload)).hint(
                "there are tpcc, sysbench:SCRIPT (such as sysbench:oltp_read_write) and sysbench:legacy",
            ));
        };
        let mut options = sysbench_options(script, &self.sysbench_options, seed)?;
        options.engine.events = None;
        Ok(Work::Sysbench { name: self.workload.clone(), options: Box::new(options) })
    }
}

/// What is executed, whoever sends it and for however long.
#[derive(Debug, Clone)]
pub enum Work {
    /// The five transactions of TPC-C.
    Tpcc {
        /// Scale.
        warehouses: u32,
        /// Of the data.
        seed: u64,
    },
    /// A script of sysbench.
    Sysbench {
        /// As it was asked for.
        name: String,
        /// Everything about it; connections and times are each run's own.
        options: Box<SysbenchOptions>,
    },
}

impl Work {
    /// For people, and to tell experiments apart.
    pub fn name(&self) -> String {
        match self {
            Self::Tpcc { warehouses, .. } => format!("TPC-C-like, {warehouses} warehouses"),
            Self::Sysbench { name, options } => {
                format!("{name}, {} x {} rows", options.tables.tables, options.tables.table_size)
            }
        }
    }

    /// What of it decides about the measurements, to tell experiments apart.
    pub fn parameters(&self) -> serde_json::Value {
        match self {
            Self::Tpcc { warehouses, seed } => serde_json::json!({"warehouses": warehouses, "seed": seed}),
            Self::Sysbench { options, .. } => serde_json::json!({
                "kind": options.kind,
                "tables": options.tables,
                "counts": options.counts,
                "distribution": format!("{:?}", options.distribution),
            }),
        }
    }

    /// The schema with its tables.
    pub fn database(&self) -> &'static str {
        match self {
            Self::Tpcc { .. } => tpcc::DATABASE,
            Self::Sysbench { .. } => sysbench::DATABASE,
        }
    }

    /// The same work for a study, where studies can have it.
    pub fn for_study(&self, terminals: u32) -> Option<Workload> {
        match self {
            Self::Tpcc { warehouses, .. } => Some(Workload::Tpcc { warehouses: *warehouses, terminals }),
            Self::Sysbench { .. } => None,
        }
    }

    /// What the advisor wants to know of it.
    pub fn facts(&self, terminals: u32) -> WorkloadFacts {
        match self {
            Self::Tpcc { warehouses, .. } => Workload::Tpcc { warehouses: *warehouses, terminals }.facts(),
            Self::Sysbench { options, .. } => {
                let reads = matches!(
                    options.kind,
                    sysbench::Kind::Script(
                        ScriptName::OltpReadOnly
                            | ScriptName::OltpPointSelect
                            | ScriptName::SelectRandomPoints
                            | ScriptName::SelectRandomRanges
                    )
                );
                WorkloadFacts {
                    data_bytes: Some(self.bytes()),
                    write_share: Some(if reads { 0.0 } else { 1.0 }),
                    connections: Some(u64::from(terminals)),
                    storage_iops: None,
                }
            }
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Tpcc { warehouses, .. } => u64::from(*warehouses) * (100 << 20),
            Self::Sysbench { options, .. } => {
                u64::from(options.tables.tables) * options.tables.table_size * SYSBENCH_ROW
            }
        }
    }

    /// Its data.
    pub fn data_set(&self) -> DataSet {
        match self {
            Self::Tpcc { warehouses, seed } => {
                DataSet::of(&Workload::Tpcc { warehouses: *warehouses, terminals: 1 }, *seed)
            }
            Self::Sysbench { options, .. } => {
                let (tables, distribution) = (options.tables.clone(), options.distribution);
                let kind = if tables.legacy { "legacy" } else { "oltp" };
                let flags = [tables.auto_inc, tables.secondary, tables.create_secondary].map(u8::from);
                let [auto, secondary, index] = flags;
                DataSet {
                    name: format!(
                        "sysbench-{kind}-t{}-r{}-{}-{distribution:?}-f{auto}{secondary}{index}-s{}",
                        tables.tables, tables.table_size, tables.engine, tables.seed
                    ),
                    bytes: self.bytes(),
                    what: format!("{} x {} rows", tables.tables, tables.table_size),
                    load: Box::new(move |connection, observer| {
                        sysbench::prepare(
                            connection,
                            &tables,
                            distribution,
                            &LoadOptions::default(),
                            observer,
                        )
                    }),
                }
            }
        }
    }

    /// Executes it. Blocks until the window and the last transactions are over.
    ///
    /// # Errors
    /// With the whole chain of reasons as text.
    pub fn run(
        &self,
        connection: &ConnectOptions,
        terminals: usize,
        (warmup, measure): (Duration, Duration),
        seed: u64,
        observer: &dyn Observer,
    ) -> Result<RunResult, String> {
        match self {
            Self::Tpcc { .. } => {
                let mut options = tpcc::RunOptions::new(terminals, measure, warmup, seed);
                options.engine.grace = GRACE;
                tpcc::run(connection, &options, observer).map_err(|e| super::chain(&e))
            }
            Self::Sysbench { options, .. } => {
                let mut options = options.clone();
                options.engine.terminals = terminals;
                options.engine.time = Some(measure);
                options.engine.warmup = warmup;
                options.engine.grace = GRACE;
                options.engine.seed = seed;
                sysbench::run(connection, &options, observer).map_err(|e| super::chain(&e))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(workload: &str, options: &str) -> WorkArgs {
        WorkArgs { workload: workload.into(), warehouses: 3, sysbench_options: options.into() }
    }

    #[test]
    fn a_workload_is_named_as_on_the_command_line_of_bench() {
        assert_eq!(args("tpcc", "").read(1).unwrap().name(), "TPC-C-like, 3 warehouses");
        let text = "--oltp-table-size=5000 --oltp-index-updates=10 --oltp-user-delay-max=10 --oltp-distinct-ranges=5";
        let Work::Sysbench { options, .. } = args("sysbench:legacy", text).read(7).unwrap() else {
            panic!("no sysbench")
        };
        assert!(options.tables.legacy && options.tables.seed == 7);
        assert_eq!(
            (options.tables.table_size, options.counts.index_updates, options.counts.distinct_ranges),
            (5000, 10, 5)
        );
        let sysbench::Kind::Legacy(legacy) = options.kind else { panic!("no legacy") };
        assert_eq!(legacy.user_delay_us, (0, 10));
        assert_eq!(options.engine.events, None, "a run ends by the clock");
    }

    #[test]
    fn what_is_no_workload_is_refused_with_the_next_step() {
        assert!(args("tpch", "").read(1).unwrap_err().to_string().contains("sysbench:SCRIPT"));
        assert!(args("sysbench:nix", "").read(1).is_err());
        assert!(args("sysbench:oltp_read_only", "--no-such=1").read(1).is_err());
    }

    #[test]
    fn different_data_have_different_names() {
        let name = |workload: &str, text: &str| args(workload, text).read(1).unwrap().data_set().name;
        let names = [
            name("tpcc", ""),
            name("sysbench:oltp_read_only", ""),
            name("sysbench:legacy", ""),
            name("sysbench:legacy", "--oltp-table-size=9"),
        ];
        for (n, one) in names.iter().enumerate() {
            assert!(!names[..n].contains(one), "{names:?}");
        }
        assert_eq!(
            name("sysbench:oltp_read_only", ""),
            name("sysbench:oltp_read_write", ""),
            "scripts share tables"
        );
    }
}
