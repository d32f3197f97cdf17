//! Where a benchmark runs, how its end is awaited, and what its exit code says.

use crate::cli::Globals;
use crate::cmd::connection::Place;
use crate::failure::{Failure, Kind};
use crate::units;
use load::engine::{Observer, RunResult, SecondStats, StopReason};
use load::{LoadError, LoadObserver, LoadReport};
use server::{Binary, ConnectOptions, PrivateServer, StartOptions, TemplateCache, Workdir};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A server to measure; a private one is gone with everything when this is dropped.
pub struct Server {
    pub connect: ConnectOptions,
    pub sandbox: bool,
    // The server before its folder: dropped in this order.
    _private: Option<(PrivateServer, Workdir)>,
}

/// The server that the options name, or a fresh private one.
pub async fn server(globals: &Globals) -> Result<Server, Failure> {
    match globals.connection.place()? {
        Place::Server(connect) => Ok(Server { connect, sandbox: false, _private: None }),
        Place::Sandbox { flavour, binary } => {
            let binary = Binary::find(flavour, binary.as_deref()).map_err(|e| {
                let hint = e.hint();
                Failure::caused(Kind::Connect, "start a private server", e).hint(hint)
            })?;
            let (server, work) = start(&binary)
                .await
                .map_err(|e| Failure::caused(Kind::Connect, "start a private server", e))?;
            Ok(Server { connect: server.connect_options(), sandbox: true, _private: Some((server, work)) })
        }
    }
}

async fn start(
    binary: &Binary,
) -> Result<(PrivateServer, Workdir), Box<dyn std::error::Error + Send + Sync>> {
    let work = Workdir::platform()?;
    let datadir = work.datadir("data");
    TemplateCache::platform()?.get(binary).await?.clone_to(&datadir)?;
    let options = StartOptions::new(datadir, work.new_socket_dir()?).set("local_infile", "ON");
    Ok((PrivateServer::start(binary, &options).await?, work))
}

/// Watches a run or a load for the terminal: prints lines, and listens to the interrupt.
pub struct Watch {
    interrupted: AtomicBool,
    quiet: bool,
    /// Print a line every so many seconds; 0: never.
    interval: u32,
    line: Box<dyn Fn(&SecondStats) -> String + Send + Sync>,
    shown: AtomicU64,
}

impl Watch {
    pub fn new(
        globals: &Globals,
        interval: u32,
        line: impl Fn(&SecondStats) -> String + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            interrupted: AtomicBool::new(false),
            quiet: globals.quiet,
            interval,
            line: Box::new(line),
            shown: AtomicU64::new(0),
        })
    }

    pub fn interrupted(&self) -> bool {
        self.interrupted.load(Relaxed)
    }
}

impl Observer for Watch {
    fn second(&self, second: &SecondStats) {
        if !self.quiet && self.interval > 0 && second.second.is_multiple_of(self.interval) {
            eprintln!("{}", (self.line)(second));
        }
    }

    fn should_stop(&self) -> Option<StopReason> {
        self.interrupted().then(|| StopReason("interrupted".into()))
    }
}

impl LoadObserver for Watch {
    fn progress(&self, rows: u64, of: u64) {
        let tenth = (rows * 10).checked_div(of).unwrap_or(0);
        if !self.quiet && self.shown.fetch_max(tenth, Relaxed) < tenth {
            eprintln!("{rows} rows of about {of}");
        }
    }

    fn phase(&self, name: &str) {
        if !self.quiet {
            eprintln!("{name}…");
        }
    }

    fn should_stop(&self) -> bool {
        self.interrupted()
    }
}

/// Runs blocking work on a thread of its own; an interrupt ends it in good order.
pub async fn blocking<T: Send + 'static>(
    watch: &Arc<Watch>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let mut work = tokio::task::spawn_blocking(work);
    loop {
        tokio::select! {
            done = &mut work => return done.map_err(|e| Failure::caused(Kind::Bug, "run the benchmark", e)),
            _ = tokio::signal::ctrl_c() => watch.interrupted.store(true, Relaxed),
        }
    }
}

/// A failed load as the user sees it.
pub fn load_failure(attempted: &str, error: LoadError) -> Failure {
    let kind = match &error {
        LoadError::Stopped => Kind::Interrupted,
        LoadError::Other { .. } | LoadError::Count { .. } => Kind::Usage,
        LoadError::Server { .. } => Kind::Connect,
        LoadError::Thread => Kind::Bug,
    };
    Failure::caused(kind, attempted, error)
}

/// Prints what a load has done.
pub fn show_load(globals: &Globals, report: &LoadReport) -> Result<(), Failure> {
    if globals.json {
        return print_json(report);
    }
    if report.loaded {
        println!(
            "loaded {} rows in {:.1} s ({:.0} rows/s, {:.2} us of client CPU a row)",
            report.rows, report.seconds, report.rows_per_second, report.client_cpu_us_per_row
        );
    } else {
        println!("the data set is there and intact; nothing to do");
    }
    Ok(())
}

/// Prints one JSON document.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(value).map_err(|e| Failure::caused(Kind::Bug, "write JSON", e))?;
    println!("{text}");
    Ok(())
}

/// After the result is shown: interrupted, invalid, or fine.
pub fn verdict(watch: &Watch, run: &RunResult) -> Result<(), Failure> {
    if watch.interrupted() {
        return Err(Failure::new(Kind::Interrupted, "interrupted; the result up to here is above"));
    }
    if run.totals.unanswered > 0 {
        let text = format!("{} transaction(s) got no answer: the server hangs", run.totals.unanswered);
        return Err(Failure::new(Kind::Invalid, text));
    }
    if let Some(check) = run.tpcc.as_ref().map(|t| t.server_check).filter(|c| !c.ok) {
        return Err(Failure::new(Kind::Invalid, check.complaint()));
    }
    if run.transactions == 0 {
        return Err(Failure::new(Kind::Invalid, "no transaction ended in the measured window"));
    }
    Ok(())
}

/// Writes a file, or says why not.
pub fn write_file(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|e| Failure::caused(Kind::Usage, format!("write {}", path.display()), e))
}

/// A rate: transactions per second, or `unlimited`.
pub fn rate(text: &str) -> Result<Option<f64>, String> {
    match text {
        "unlimited" | "0" => Ok(None),
        _ => match text.parse::<f64>() {
            Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(Some(rate)),
            _ => Err("a rate is a positive number of transactions per second, or unlimited".into()),
        },
    }
}

/// A duration with its unit; also milliseconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    match text.strip_suffix("ms").map(str::parse::<u64>) {
        Some(Ok(ms)) => Ok(Duration::from_millis(ms)),
        _ => units::duration(text),
    }
}
