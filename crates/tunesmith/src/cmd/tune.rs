//! `tunesmith tune`.

use crate::cli::Globals;
use crate::emulation;
use crate::failure::{Failure, Kind};
use crate::studying::{self, Which};
use crate::units;
use load::sysbench::ScriptName;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tuner::{Objective, Suggested, TuneSpec, Workload};

/// Find a better configuration, and prove that it is better.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is executed against the server: tpcc, or sysbench:SCRIPT (sysbench:oltp_read_write, …).
    #[arg(long, default_value = "tpcc", value_parser = workload, value_name = "WORKLOAD")]
    workload: Work,
    /// TPC-C's scale; a warehouse is about 100 MB.
    #[arg(long, default_value_t = 6, value_name = "N")]
    warehouses: u32,
    /// sysbench's number of tables.
    #[arg(long, default_value_t = 4, value_name = "N")]
    tables: u32,
    /// sysbench's rows of a table; a million is about 250 MB.
    #[arg(long, default_value_t = 500_000, value_name = "N")]
    table_size: u64,
    /// Connections that send transactions.
    #[arg(long, alias = "threads", default_value_t = 16, value_name = "N")]
    terminals: u32,
    /// What is optimised: committed transactions a second, or a percentile of the latency.
    #[arg(long, default_value = "tps", value_parser = ["tps", "p95", "p99"])]
    objective: String,
    /// Trials of the search, expert seeds included; baselines and the proof come on top.
    #[arg(long, default_value_t = 16, value_name = "N")]
    trials: u32,
    /// End the search after this time, whatever is left of the trials.
    #[arg(long, value_parser = units::duration, value_name = "TIME")]
    time_budget: Option<Duration>,
    /// Work before each measured window.
    #[arg(long, default_value = "10s", value_parser = units::duration, value_name = "TIME")]
    warmup: Duration,
    /// Length of a measured window.
    #[arg(long, default_value = "20s", value_parser = units::duration, value_name = "TIME")]
    measure: Duration,
    /// Measurements of the baseline before the search.
    #[arg(long, default_value_t = 3, value_name = "N")]
    baseline_runs: u32,
    /// Measure the baseline again after this many trials.
    #[arg(long, default_value_t = 6, value_name = "N")]
    rebaseline_every: u32,
    /// Interleaved pairs of the proof.
    #[arg(long, default_value_t = 5, value_name = "N")]
    pairs: u32,
    /// Only these knobs.
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    knobs: Option<Vec<String>>,
    /// Leave out knobs that need a restart.
    #[arg(long)]
    dynamic_only: bool,
    /// An option file whose [mysqld] settings are tried first; may be given more than once.
    #[arg(long = "try", value_name = "FILE")]
    suggested: Vec<PathBuf>,
    /// What people call the study.
    #[arg(long, default_value = "tune")]
    name: String,
    #[command(flatten)]
    machine: emulation::MachineArgs,
    /// Write the HTML report here.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// The word after `--workload`.
#[derive(Debug, Clone, Copy)]
enum Work {
    Tpcc,
    Sysbench(ScriptName),
}

fn workload(text: &str) -> Result<Work, String> {
    match text.split_once(':') {
        None if text == "tpcc" => Ok(Work::Tpcc),
        Some(("sysbench", script)) => script.parse().map(Work::Sysbench),
        _ => Err("tpcc, or sysbench:SCRIPT such as sysbench:oltp_read_write".to_owned()),
    }
}

impl Args {
    fn workload(&self) -> Workload {
        match self.workload {
            Work::Tpcc => Workload::Tpcc { warehouses: self.warehouses, terminals: self.terminals },
            Work::Sysbench(script) => Workload::Sysbench {
                script,
                tables: self.tables,
                table_size: self.table_size,
                terminals: self.terminals,
            },
        }
    }

    fn spec(&self, globals: &Globals) -> Result<TuneSpec, Failure> {
        let objective = match self.objective.as_str() {
            "p95" => Objective::P95,
            "p99" => Objective::P99,
            _ => Objective::Tps,
        };
        let suggested = self.suggested.iter().map(|path| suggestion(path)).collect::<Result<_, _>>()?;
        let spec = TuneSpec {
            target: self.machine.on(studying::target_spec(globals)?)?,
            workload: self.workload(),
            objective,
            trials: self.trials,
            time_budget_seconds: self.time_budget.map(|t| t.as_secs()),
            warmup_seconds: self.warmup.as_secs(),
            measure_seconds: self.measure.as_secs(),
            baseline_runs: self.baseline_runs,
            rebaseline_every: self.rebaseline_every,
            pairs: self.pairs,
            knobs: self.knobs.clone(),
            dynamic_only: self.dynamic_only,
            suggested,
            seed: globals.seed,
        };
        spec.validate().map_err(|e| Failure::caused(Kind::Usage, "can't tune", e))?;
        Ok(spec)
    }
}

/// The [mysqld] settings of an option file, as a configuration.
fn suggestion(path: &Path) -> Result<Suggested, Failure> {
    let unreadable = |e| Failure::caused(Kind::Usage, format!("can't read {}", path.display()), e);
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let configuration = studying::server_settings(&text)
        .map_err(|why| Failure::new(Kind::Usage, format!("{}: {why}", path.display())))?;
    if configuration.is_empty() {
        let text = format!("{} has no settings under [mysqld], [mariadb] or [server]", path.display());
        return Err(Failure::new(Kind::Usage, text));
    }
    Ok(Suggested { name, configuration })
}

/// Runs the command.
pub async fn run(args: Args, globals: &Globals) -> Result<(), Failure> {
    let spec = args.spec(globals)?;
    let mut store = studying::open_store(globals)?;
    let ended =
        studying::study(&mut store, globals, Which::New { name: args.name.clone(), spec: Box::new(spec) })
            .await;
    studying::present(&store, globals, ended, args.report.as_deref())
}
