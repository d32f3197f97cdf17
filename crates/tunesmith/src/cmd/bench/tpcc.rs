//! `tunesmith bench tpcc`.

use super::place::{self, Watch, blocking, load_failure, print_json, server, show_load, verdict};
use crate::cli::Globals;
use crate::failure::{Failure, Kind};
use clap::Subcommand;
use load::engine::{Arrivals, EngineOptions, ErrorPolicy, RunResult, SecondStats};
use load::tpcc::{self, DataSet, Isolation, Mix, TpccError};
use load::wire::Protocol;
use load::{LoadMethod, LoadOptions};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Load the data set; does nothing if it is there and intact.
    Prepare(Prepare),
    /// Run the transactions and measure them.
    Run(Box<Run>),
    /// Check the consistency conditions 1-10 and 12 on all warehouses.
    Check(Check),
    /// Drop the data set.
    Cleanup,
}

/// Which data set, and how it is loaded.
#[derive(Debug, Clone, clap::Args)]
pub struct Prepare {
    /// Scale; a warehouse is about 100 MB.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    warehouses: u32,
    /// Connections that load at the same time.
    #[arg(long, value_name = "N")]
    workers: Option<usize>,
    /// LOAD DATA LOCAL where the server allows it, or one of both ways.
    #[arg(long, default_value = "auto", value_parser = ["auto", "load-data", "insert"])]
    method: String,
    /// Declare the foreign keys.
    #[arg(long)]
    foreign_keys: bool,
    /// No primary key in `history`.
    #[arg(long)]
    no_history_key: bool,
    /// BenchBase's tables: its names, types and foreign keys.
    #[arg(long)]
    benchbase: bool,
}

#[derive(Debug, Clone, clap::Args)]
pub struct Run {
    #[command(flatten)]
    data: Prepare,
    /// Connections.
    #[arg(long, default_value_t = 10, value_name = "N")]
    terminals: usize,
    /// Length of the measured window.
    #[arg(long, default_value = "60s", value_parser = place::duration, value_name = "TIME")]
    time: Duration,
    /// Work before the window.
    #[arg(long, default_value = "10s", value_parser = place::duration, value_name = "TIME")]
    warmup: Duration,
    /// Open loop: transactions per second over all terminals; unlimited is the closed loop.
    #[arg(long, default_value = "unlimited", value_name = "TPS|unlimited")]
    rate: String,
    /// Distances between arrivals in the open loop.
    #[arg(long, default_value = "poisson", value_parser = ["poisson", "constant"])]
    arrivals: String,
    /// Isolation level; server leaves it as it is [default: server; serializable with --benchbase].
    #[arg(long, value_parser = ["server", "read-committed", "repeatable-read", "serializable"], value_name = "LEVEL")]
    isolation: Option<String>,
    /// Draw types from a shuffled deck of 23 cards.
    #[arg(long, conflicts_with = "weights")]
    deck: bool,
    /// Weights of New-Order, Payment, Order-Status, Delivery, Stock-Level.
    #[arg(long, value_delimiter = ',', num_args = 5, value_name = "W,W,W,W,W")]
    weights: Option<Vec<f64>>,
    /// Terminals key and think.
    #[arg(long)]
    think_time: bool,
    #[command(flatten)]
    client: ClientArgs,
    /// Write BenchBase's summary.json and results.csv into this folder.
    #[arg(long, value_name = "FOLDER")]
    benchbase_output: Option<PathBuf>,
}

/// Options of the engine that every workload has.
#[derive(Debug, Clone, clap::Args)]
pub struct ClientArgs {
    /// OS threads that drive the connections [default: half the cores].
    #[arg(long, value_name = "N")]
    pub client_threads: Option<usize>,
    /// Prepared statements, or SQL text (for proxies).
    #[arg(long, default_value = "prepared", value_parser = ["prepared", "text"])]
    pub protocol: String,
    /// How long transactions on their way may go on after the window.
    #[arg(long, default_value = "750ms", value_parser = place::duration, value_name = "TIME")]
    pub grace: Duration,
    /// Error numbers that are retried besides 1205, 1213 and their like.
    #[arg(long, value_delimiter = ',', value_name = "CODE,…")]
    pub retry_errors: Vec<u16>,
    /// A line every so many seconds; 0 is never.
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    pub report_interval: u32,
}

impl ClientArgs {
    pub fn protocol(&self) -> Protocol {
        if self.protocol == "text" { Protocol::Text } else { Protocol::Prepared }
    }
}

#[derive(Debug, Clone, clap::Args)]
pub struct Check {
    /// The data set was just loaded: check condition 11 too.
    #[arg(long)]
    fresh: bool,
}

pub async fn run(command: Command, globals: &Globals) -> Result<(), Failure> {
    let server = server(globals).await?;
    let connect = server.connect.clone();
    let watch = Watch::new(globals, 0, |_| String::new());
    match command {
        Command::Prepare(args) => {
            let report = prepare(&args, globals, &server).await?;
            show_load(globals, &report)
        }
        Command::Run(args) => {
            if server.sandbox {
                prepare(&args.data, globals, &server).await?;
            }
            measure(&args, globals, &server).await
        }
        Command::Check(args) => {
            let conditions = blocking(&watch, move || tpcc::check(&connect, args.fresh))
                .await?
                .map_err(|e| load_failure("check the data set", e))?;
            let ok = conditions.iter().all(|c| c.ok);
            if globals.json {
                print_json(
                    &serde_json::json!({ "schema": "tunesmith.check/1", "ok": ok, "conditions": conditions }),
                )?;
            } else {
                for c in &conditions {
                    let found = if c.ok { String::new() } else { format!(" ({} violations)", c.violations) };
                    println!("{:>2} {} {}{found}", c.id, if c.ok { "ok    " } else { "BROKEN" }, c.text);
                }
            }
            if ok { Ok(()) } else { Err(Failure::new(Kind::Invalid, "the data set is not consistent")) }
        }
        Command::Cleanup => blocking(&watch, move || tpcc::cleanup(&connect))
            .await?
            .map_err(|e| load_failure("drop the data set", e)),
    }
}

fn data_set(args: &Prepare, seed: u64) -> DataSet {
    let mut set = if args.benchbase {
        DataSet::benchbase(args.warehouses, seed)
    } else {
        DataSet::new(args.warehouses, seed)
    };
    set.foreign_keys |= args.foreign_keys;
    set.history_key &= !args.no_history_key;
    set
}

pub fn load_options(workers: Option<usize>, method: &str) -> LoadOptions {
    let default = LoadOptions::default();
    LoadOptions {
        workers: workers.unwrap_or(default.workers),
        method: match method {
            "load-data" => Some(LoadMethod::LoadData),
            "insert" => Some(LoadMethod::Insert),
            _ => None,
        },
    }
}

async fn prepare(
    args: &Prepare,
    globals: &Globals,
    server: &place::Server,
) -> Result<load::LoadReport, Failure> {
    let watch = Watch::new(globals, 0, |_| String::new());
    let (connect, set) = (server.connect.clone(), data_set(args, globals.seed));
    let options = load_options(args.workers, &args.method);
    let observer = std::sync::Arc::clone(&watch);
    blocking(&watch, move || tpcc::prepare(&connect, &set, &options, &*observer))
        .await?
        .map_err(|e| load_failure("load the data set", e))
}

async fn measure(args: &Run, globals: &Globals, server: &place::Server) -> Result<(), Failure> {
    let options = run_options(args, globals)?;
    let line = |s: &SecondStats| {
        format!(
            "{:>5} s  {:>7} tps  p95 {:>8.2} ms  retried {}  failed {}{}",
            s.second,
            s.committed,
            s.p95_us as f64 / 1000.0,
            s.retried,
            s.failed,
            if s.measured { "" } else { "  (warm-up)" }
        )
    };
    let watch = Watch::new(globals, args.client.report_interval, line);
    let (connect, observer) = (server.connect.clone(), std::sync::Arc::clone(&watch));
    let started = std::time::SystemTime::now();
    let result =
        blocking(&watch, move || tpcc::run(&connect, &options, &*observer)).await?.map_err(run_failure)?;
    if let Some(folder) = &args.benchbase_output {
        let warehouses = result.tpcc.as_ref().map_or(0, |t| t.data_set.warehouses);
        let (summary, csv) = tpcc::benchbase_output(&result, warehouses, started);
        std::fs::create_dir_all(folder)
            .map_err(|e| Failure::caused(Kind::Usage, format!("create {}", folder.display()), e))?;
        place::write_file(&folder.join("summary.json"), &summary)?;
        place::write_file(&folder.join("results.csv"), &csv)?;
    }
    show(globals, &result)?;
    verdict(&watch, &result)
}

fn run_options(args: &Run, globals: &Globals) -> Result<tpcc::RunOptions, Failure> {
    let usage = |text: String| Failure::new(Kind::Usage, text);
    let rate = place::rate(&args.rate).map_err(usage)?;
    let arrivals = match (rate, args.arrivals.as_str()) {
        (None, _) => Arrivals::Closed,
        (Some(rate), "constant") => Arrivals::Constant(rate),
        (Some(rate), _) => Arrivals::Poisson(rate),
    };
    let mix = match &args.weights {
        Some(w) if w.iter().all(|w| w.is_finite() && *w >= 0.0) && w.iter().sum::<f64>() > 0.0 => {
            Mix::Weights([w[0], w[1], w[2], w[3], w[4]])
        }
        Some(_) => return Err(usage("weights are five numbers, none negative, not all zero".into())),
        None if args.deck => Mix::Deck,
        None => Mix::default(),
    };
    let isolation = match args.isolation.as_deref() {
        Some("read-committed") => Isolation::ReadCommitted,
        Some("repeatable-read") => Isolation::RepeatableRead,
        Some("serializable") => Isolation::Serializable,
        None if args.data.benchbase => Isolation::Serializable,
        _ => Isolation::Server,
    };
    Ok(tpcc::RunOptions {
        engine: EngineOptions {
            terminals: args.terminals,
            time: Some(args.time),
            warmup: args.warmup,
            arrivals,
            grace: args.client.grace,
            threads: args.client.client_threads,
            protocol: args.client.protocol(),
            errors: ErrorPolicy { retry: args.client.retry_errors.clone() },
            seed: globals.seed,
            ..EngineOptions::default()
        },
        isolation,
        mix,
        think_time: args.think_time,
    })
}

fn run_failure(error: TpccError) -> Failure {
    let kind = match &error {
        TpccError::NoData(_) => Kind::Usage,
        TpccError::Data(_) => Kind::Connect,
        TpccError::Run(e) => super::sysbench::run_kind(e),
    };
    Failure::caused(kind, "run TPC-C", error)
}

fn show(globals: &Globals, run: &RunResult) -> Result<(), Failure> {
    if globals.json {
        return print_json(run);
    }
    let ms = |us: u64| us as f64 / 1000.0;
    let t = &run.throughput;
    let interval = match (t.low, t.high) {
        (Some(low), Some(high)) => format!(" (95 %: {low:.1} to {high:.1})"),
        _ => String::new(),
    };
    println!("TPC-C-like, not audited: {:.1} tpmC", run.tpmc.unwrap_or(0.0));
    println!(
        "{:.1} transactions/s{interval} in {:.1} s, {} terminals",
        t.per_second, run.seconds, run.terminals
    );
    println!("{:>14} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} ms", "", "count", "p50", "p90", "p95", "p99", "max");
    for (name, kind) in &run.by_type {
        let l = &kind.latency_us;
        println!(
            "{name:>14} {:>9} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>9.2}",
            l.count,
            ms(l.p50),
            ms(l.p90),
            ms(l.p95),
            ms(l.p99),
            ms(l.max)
        );
    }
    let b = &run.books;
    println!(
        "books: {} ok, {} rolled back as intended, {} retried, {} failed, {} cut at the end",
        b.ok, b.rolled_back, b.retried, b.failed, b.cut
    );
    if let Some(check) = run.tpcc.as_ref().map(|t| t.server_check) {
        match check.d_next_o_id_change {
            Some(n) => println!(
                "server: d_next_o_id grew by {n}, {} with the client's books",
                if check.ok { "agrees" } else { "DIFFERS" }
            ),
            None => println!("server: d_next_o_id could not be read"),
        }
    }
    if let Some(audit) = &run.audit {
        let broken: Vec<&str> = audit.rows.iter().filter(|r| !r.ok).map(|r| r.name.as_str()).collect();
        match (audit.enough, broken.is_empty()) {
            (false, _) => println!("audit: {} transactions are too few for it (10,000)", audit.transactions),
            (true, true) => println!("audit: all {} rules hold", audit.rows.len()),
            (true, false) => println!("audit: broken: {}", broken.join(", ")),
        }
    }
    println!(
        "client: {:.1} us of CPU a statement, {:.0} % of a core",
        run.client.cpu_us_per_statement,
        run.client.cpu_share * 100.0
    );
    show_warnings(run);
    Ok(())
}

pub fn show_warnings(run: &RunResult) {
    for warning in &run.warnings {
        eprintln!("warning: {warning}");
    }
}
