//! `tunesmith bench sysbench`.

use super::place::{self, Watch, blocking, load_failure, print_json, server, show_load, verdict};
use super::tpcc::{ClientArgs, load_options, show_warnings};
use crate::cli::Globals;
use crate::failure::{Failure, Kind};
use clap::{Parser, Subcommand};
use load::engine::{Arrivals, EngineOptions, ErrorPolicy, RunError};
use load::sysbench::{
    self, Counts, Distribution, Kind as Work, Legacy, LegacyMode, NonTrx, ScriptName, SysbenchError,
    SysbenchOptions, Tables,
};
use load::wire::Protocol;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create and fill the tables; does nothing if they are there.
    Prepare(Options),
    /// Run the script and print sysbench's report.
    Run(Options),
    /// Drop the tables.
    Cleanup(Options),
}

/// on or off, as sysbench writes it.
fn on_off(text: &str) -> Result<bool, String> {
    match text {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err("on or off".into()),
    }
}

/// sysbench's options under its own names.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Script: oltp_read_write, oltp_read_only, oltp_write_only, oltp_point_select, oltp_update_index,
    /// oltp_update_non_index, oltp_insert, oltp_delete, select_random_points, select_random_ranges.
    #[arg(long, default_value = "oltp_read_write")]
    script: ScriptName,
    /// 0.4.12's built-in oltp test with its table, options and report.
    #[arg(long)]
    legacy: bool,
    /// Number of tables.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    tables: u32,
    /// Rows of a table.
    #[arg(long, alias = "table_size", alias = "oltp-table-size", default_value_t = 10_000)]
    table_size: u64,
    /// Connections.
    #[arg(long, alias = "num-threads", default_value_t = 1)]
    threads: usize,
    /// Seconds (or 10s, 2m); 0 is no limit [default: 10, or no limit with --events].
    #[arg(long, alias = "max-time", value_parser = seconds)]
    time: Option<Duration>,
    /// Events after which the run ends; 0 is no limit [default: 0; 10000 with --legacy].
    #[arg(long, alias = "max-requests")]
    events: Option<u64>,
    /// Work before the measured window.
    #[arg(long, alias = "warmup-time", default_value = "0", value_parser = seconds)]
    warmup: Duration,
    /// Open loop with Poisson arrivals: events per second; 0 or unlimited is the closed loop.
    #[arg(long, alias = "tx-rate", default_value = "0")]
    rate: String,
    /// Percentile of the final report: 50, 75, 90, 95, 99 or 99.9.
    #[arg(long, default_value_t = 95.0)]
    percentile: f64,
    /// Distribution of ids: uniform, gaussian, special, pareto, zipfian.
    #[arg(long, alias = "oltp-dist-type", default_value = "special", value_parser = distribution)]
    rand_type: Distribution,
    /// auto, or disable for SQL text.
    #[arg(long, default_value = "auto", value_parser = ["auto", "disable"])]
    db_ps_mode: String,
    /// Error numbers that are retried.
    #[arg(long, value_delimiter = ',')]
    mysql_ignore_errors: Vec<String>,
    /// Rows of a range.
    #[arg(long, alias = "range_size", alias = "oltp-range-size", default_value_t = 100)]
    range_size: u64,
    #[arg(long, alias = "point_selects", alias = "oltp-point-selects", default_value_t = 10)]
    point_selects: u32,
    #[arg(long, alias = "simple_ranges", alias = "oltp-simple-ranges", default_value_t = 1)]
    simple_ranges: u32,
    #[arg(long, alias = "sum_ranges", alias = "oltp-sum-ranges", default_value_t = 1)]
    sum_ranges: u32,
    #[arg(long, alias = "order_ranges", alias = "oltp-order-ranges", default_value_t = 1)]
    order_ranges: u32,
    #[arg(long, alias = "distinct_ranges", alias = "oltp-distinct-ranges", default_value_t = 1)]
    distinct_ranges: u32,
    #[arg(long, alias = "index_updates", alias = "oltp-index-updates", default_value_t = 1)]
    index_updates: u32,
    #[arg(long, alias = "non_index_updates", alias = "oltp-non-index-updates", default_value_t = 1)]
    non_index_updates: u32,
    #[arg(long, alias = "delete_inserts", default_value_t = 1)]
    delete_inserts: u32,
    #[arg(long, alias = "range_selects", default_value = "on", num_args = 0..=1, default_missing_value = "on", value_parser = on_off)]
    range_selects: bool,
    #[arg(long, alias = "skip_trx", alias = "oltp-skip-trx", default_value = "off", num_args = 0..=1, default_missing_value = "on", value_parser = on_off)]
    skip_trx: bool,
    #[arg(long, alias = "auto_inc", alias = "oltp-auto-inc", default_value = "on", num_args = 0..=1, default_missing_value = "on", value_parser = on_off)]
    auto_inc: bool,
    #[arg(long, alias = "oltp-secondary", default_value = "off", num_args = 0..=1, default_missing_value = "on", value_parser = on_off)]
    secondary: bool,
    #[arg(long, alias = "create_secondary", default_value = "on", num_args = 0..=1, default_missing_value = "on", value_parser = on_off)]
    create_secondary: bool,
    #[arg(long, alias = "mysql_storage_engine", alias = "mysql-table-engine", default_value = "innodb")]
    mysql_storage_engine: String,
    #[arg(long, alias = "random_points", default_value_t = 10)]
    random_points: u32,
    #[arg(long, alias = "number_of_ranges", default_value_t = 10)]
    number_of_ranges: u32,
    #[arg(long, default_value_t = 5)]
    delta: u32,
    /// Seed, over --seed.
    #[arg(long)]
    rand_seed: Option<u64>,
    /// 0.4.12: simple, complex or nontrx.
    #[arg(long, default_value = "complex", value_parser = ["simple", "complex", "nontrx"])]
    oltp_test_mode: String,
    /// 0.4.12: select, update_key, update_nokey, insert or delete.
    #[arg(long, default_value = "select", value_parser = ["select", "update_key", "update_nokey", "insert", "delete"])]
    oltp_nontrx_mode: String,
    /// 0.4.12: only the selects.
    #[arg(long, default_value = "off", num_args = 0..=1, default_missing_value = "on", value_parser = on_off)]
    oltp_read_only: bool,
    /// 0.4.12: the UPDATE that no option switched off until August 2016.
    #[arg(long, default_value = "on", num_args = 0..=1, default_missing_value = "on", value_parser = on_off)]
    oltp_extra_update: bool,
    /// 0.4.12: smallest pause before each statement, microseconds.
    #[arg(long, default_value_t = 0)]
    oltp_user_delay_min: u64,
    /// 0.4.12: largest pause before each statement, microseconds.
    #[arg(long, default_value_t = 0)]
    oltp_user_delay_max: u64,
    /// Connections that load at the same time.
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// LOAD DATA LOCAL where the server allows it, or one of both ways.
    #[arg(long, default_value = "auto", value_parser = ["auto", "load-data", "insert"])]
    method: String,
    #[command(flatten)]
    client: ClientArgs,
}

/// sysbench's bare seconds, or a number with a unit.
fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<u64>() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => place::duration(text),
    }
}

fn distribution(text: &str) -> Result<Distribution, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned()))
        .map_err(|_| "uniform, gaussian, special, pareto or zipfian".to_owned())
}

impl Options {
    fn tables(&self, seed: u64) -> Tables {
        Tables {
            tables: if self.legacy { 1 } else { self.tables },
            table_size: self.table_size,
            auto_inc: self.auto_inc,
            secondary: self.secondary,
            create_secondary: self.create_secondary,
            engine: self.mysql_storage_engine.clone(),
            legacy: self.legacy,
            seed: self.rand_seed.unwrap_or(seed),
        }
    }

    fn work(&self) -> Work {
        if !self.legacy {
            return Work::Script(self.script);
        }
        let nontrx = match self.oltp_nontrx_mode.as_str() {
            "update_key" => NonTrx::UpdateKey,
            "update_nokey" => NonTrx::UpdateNokey,
            "insert" => NonTrx::Insert,
            "delete" => NonTrx::Delete,
            _ => NonTrx::Select,
        };
        Work::Legacy(Legacy {
            mode: match self.oltp_test_mode.as_str() {
                "simple" => LegacyMode::Simple,
                "nontrx" => LegacyMode::NonTrx(nontrx),
                _ => LegacyMode::Complex,
            },
            read_only: self.oltp_read_only,
            extra_update: self.oltp_extra_update,
            user_delay_us: (self.oltp_user_delay_min, self.oltp_user_delay_max),
        })
    }

    fn run_options(&self, seed: u64) -> Result<SysbenchOptions, Failure> {
        let usage = |text: String| Failure::new(Kind::Usage, text);
        let events = self.events.or(self.legacy.then_some(10_000)).filter(|&n| n > 0);
        let default_time = if events.is_some() { Duration::ZERO } else { Duration::from_secs(10) };
        let time = Some(self.time.unwrap_or(default_time)).filter(|t| !t.is_zero());
        if time.is_none() && events.is_none() {
            return Err(usage("a run needs an end: --time or --events".into()));
        }
        let retry = self.mysql_ignore_errors.iter().filter(|e| *e != "all").map(|e| e.parse::<u16>());
        let mut retry: Vec<u16> = retry
            .collect::<Result<_, _>>()
            .map_err(|_| usage("--mysql-ignore-errors takes error numbers".into()))?;
        retry.extend(&self.client.retry_errors);
        let arrivals = place::rate(&self.rate).map_err(usage)?.map_or(Arrivals::Closed, Arrivals::Poisson);
        Ok(SysbenchOptions {
            engine: EngineOptions {
                terminals: self.threads,
                time,
                events,
                warmup: self.warmup,
                arrivals,
                grace: self.client.grace,
                threads: self.client.client_threads,
                protocol: if self.db_ps_mode == "disable" { Protocol::Text } else { self.client.protocol() },
                errors: ErrorPolicy { retry },
                seed: self.rand_seed.unwrap_or(seed),
                ..EngineOptions::default()
            },
            kind: self.work(),
            tables: self.tables(seed),
            counts: Counts {
                range_size: self.range_size,
                point_selects: self.point_selects,
                simple_ranges: self.simple_ranges,
                sum_ranges: self.sum_ranges,
                order_ranges: self.order_ranges,
                distinct_ranges: self.distinct_ranges,
                index_updates: self.index_updates,
                non_index_updates: self.non_index_updates,
                delete_inserts: self.delete_inserts,
                range_selects: self.range_selects,
                skip_trx: self.skip_trx,
                random_points: self.random_points,
                number_of_ranges: self.number_of_ranges,
                delta: self.delta,
            },
            distribution: self.rand_type,
        })
    }
}

/// What `bench sysbench run` would do with these options, for a script's name or `legacy`.
pub fn options_from_text(script: &str, text: &str, seed: u64) -> Result<SysbenchOptions, Failure> {
    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }
    let which = if script == "legacy" { "--legacy".to_owned() } else { format!("--script={script}") };
    let words = std::iter::once(which).chain(text.split_whitespace().map(str::to_owned));
    let line = Line::try_parse_from(words).map_err(|e| {
        let said = e.to_string();
        let first = said.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Failure::new(Kind::Usage, format!("sysbench:{script}: {first}"))
            .hint("tunesmith bench sysbench run --help shows the options")
    })?;
    line.options.run_options(seed)
}

pub async fn run(command: Command, globals: &Globals) -> Result<(), Failure> {
    let server = server(globals).await?;
    match command {
        Command::Prepare(options) => {
            let report = prepare(&options, globals, &server).await?;
            show_load(globals, &report)
        }
        Command::Run(options) => {
            if server.sandbox {
                prepare(&options, globals, &server).await?;
            }
            measure(&options, globals, &server).await
        }
        Command::Cleanup(options) => {
            let connect = server.connect.clone();
            let watch = Watch::new(globals, 0, |_| String::new());
            blocking(&watch, move || sysbench::cleanup(&connect, options.tables))
                .await?
                .map_err(|e| load_failure("drop the tables", e))
        }
    }
}

async fn prepare(
    options: &Options,
    globals: &Globals,
    server: &place::Server,
) -> Result<load::LoadReport, Failure> {
    let watch = Watch::new(globals, 0, |_| String::new());
    let (connect, tables, ids) = (server.connect.clone(), options.tables(globals.seed), options.rand_type);
    let load = load_options(options.workers, &options.method);
    let observer = Arc::clone(&watch);
    blocking(&watch, move || sysbench::prepare(&connect, &tables, ids, &load, &*observer))
        .await?
        .map_err(|e| load_failure("load the tables", e))
}

async fn measure(options: &Options, globals: &Globals, server: &place::Server) -> Result<(), Failure> {
    let run_options = options.run_options(globals.seed)?;
    let (threads, open) = (options.threads, run_options.engine.arrivals.is_open());
    let line = move |s: &load::engine::SecondStats| sysbench::interval_line(s, threads, open);
    let watch = Watch::new(globals, options.client.report_interval, line);
    let (connect, observer) = (server.connect.clone(), Arc::clone(&watch));
    let result =
        blocking(&watch, move || sysbench::run(&connect, &run_options, &*observer)).await?.map_err(|e| {
            let kind = match &e {
                SysbenchError::Look(_) => Kind::Connect,
                SysbenchError::Run(e) => run_kind(e),
            };
            Failure::caused(kind, "run sysbench", e)
        })?;
    if globals.json {
        print_json(&result)?;
    } else {
        let report = if options.legacy {
            sysbench::legacy_report(&result)
        } else {
            sysbench::final_report(&result, options.percentile)
        };
        print!("{report}");
        show_warnings(&result);
    }
    verdict(&watch, &result)
}

/// Whose fault a run's error is.
pub fn run_kind(error: &RunError) -> Kind {
    match error {
        RunError::Connect(_) | RunError::ConnectTime { .. } => Kind::Connect,
        RunError::Workload(_) | RunError::Options(_) => Kind::Usage,
        RunError::System(_) => Kind::Bug,
    }
}
