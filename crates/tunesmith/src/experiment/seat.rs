//! One run: a server on fresh data, warm-up, the measured window, its end.

use super::work::Work;
use crate::emulation::Rig;
use crate::failure::{Failure, Kind};
use knobs::{Configuration, Identity, LiveVariable};
use lab::machine::Throttle;
use load::engine::{Observer, RunResult, SecondStats, StopReason};
use serde::{Deserialize, Serialize};
use server::{Admin, AdminError, ConnectOptions, PrivateServer, StartOptions, Workdir, clone_dir};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tuner::Cancel;

/// The share of failed transactions above which a run is no measurement.
const MOST_FAILED: f64 = 0.01;

/// What all runs have in common.
pub struct Plan {
    /// What is executed.
    pub work: Work,
    /// Before the window.
    pub warmup: Duration,
    /// The window.
    pub measure: Duration,
    /// Of every draw; the same for all, so that all do the same work.
    pub seed: u64,
    /// The user's wish to stop.
    pub cancel: Cancel,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Transactions a second, where it is a measurement.
    pub per_second: Option<f64>,
    /// Their interval within the run.
    pub interval: Option<(f64, f64)>,
    /// 95th percentile of the latency, microseconds.
    pub p95_us: Option<u64>,
    /// Why it is none.
    pub failure: Option<String>,
    /// Seconds that laying out the data took.
    pub reset_seconds: f64,
    /// Transactions in each second of the window.
    #[serde(default)]
    pub series: Vec<u64>,
}

impl Run {
    fn failed(why: impl Into<String>, reset_seconds: f64) -> Self {
        Self {
            per_second: None,
            interval: None,
            p95_us: None,
            failure: Some(why.into()),
            reset_seconds,
            series: Vec::new(),
        }
    }

    /// In a few words.
    pub fn summary(&self) -> String {
        match (&self.failure, self.per_second) {
            (Some(why), _) => format!("failed: {}", why.lines().next().unwrap_or_default()),
            (None, Some(tps)) => format!("{tps:.1} txn/s"),
            (None, None) => "nothing measured".into(),
        }
    }
}

/// A rig with a place for the one server that runs on it at a time.
pub struct Seat {
    // Ends before the rig that it is on.
    work: Workdir,
    rig: Rig,
    copies: u32,
}

impl Seat {
    /// On a rig.
    pub fn new(rig: Rig) -> Result<Self, Failure> {
        Ok(Self { work: rig.workdir()?, rig, copies: 0 })
    }

    /// The rig.
    pub fn rig(&self) -> &Rig {
        &self.rig
    }

    fn set_throttle(&self, on: bool) -> Result<(), String> {
        let Some(throttle) = self.rig.throttle() else { return Ok(()) };
        if on { throttle.on() } else { throttle.off() }.map_err(|e| chain(&e))
    }

    /// Lays fresh data out and starts a server on it; the data directory, the server, and how long the copy took.
    async fn start(
        &mut self,
        configuration: &Configuration,
    ) -> Result<(PathBuf, PrivateServer, f64), String> {
        self.set_throttle(false)?;
        self.copies += 1;
        let datadir = self.work.datadir(&format!("run-{}", self.copies));
        let begin = Instant::now();
        clone_dir(self.rig.data(), &datadir).map_err(|e| chain(&e))?;
        let reset = begin.elapsed().as_secs_f64();
        let socket_dir = self.work.new_socket_dir().map_err(|e| chain(&e))?;
        let mut options = StartOptions::new(&datadir, socket_dir);
        options.control_groups = self.rig.control_groups();
        for (name, value) in &self.rig.settings {
            options = options.set(name, value);
        }
        for (name, value) in configuration.iter() {
            options = options.set(name, value.to_cnf());
        }
        match PrivateServer::start(&self.rig.binary, &options).await {
            Ok(server) => Ok((datadir, server, reset)),
            Err(e) => {
                let _ = std::fs::remove_dir_all(&datadir);
                Err(chain(&e))
            }
        }
    }

    /// What the server says of itself with nothing configured.
    pub async fn look(&mut self) -> Result<(Identity, BTreeMap<String, LiveVariable>), Failure> {
        let failed = |why: String| {
            Failure::new(Kind::Connect, format!("can't ask the server for its configuration: {why}"))
        };
        let (datadir, server, _) = self.start(&Configuration::default()).await.map_err(failed)?;
        let asked = async {
            let mut admin = Admin::connect(&server.connect_options()).await.map_err(|e| chain(&e))?;
            let identity = admin.identity().await.map_err(|e| chain(&e))?;
            Ok::<_, String>((identity, admin.variables().await.map_err(|e| chain(&e))?))
        };
        let asked = asked.await.map_err(failed);
        server.kill();
        let _ = std::fs::remove_dir_all(datadir);
        asked
    }

    /// Runs the work once on the server with nothing configured, as a run does, and asks `question` when the window is over and the server
    /// still there.
    pub async fn after_work<T>(
        &mut self,
        plan: &Plan,
        terminals: usize,
        question: impl FnOnce(&ConnectOptions) -> T,
    ) -> Result<T, Failure> {
        let failed = |why: String| {
            Failure::new(Kind::Connect, format!("can't run the work on a default server: {why}"))
        };
        let (datadir, server, _) = self.start(&Configuration::default()).await.map_err(failed)?;
        let worked = match fill(&server, plan.work.database()).await {
            Ok(()) => measure(&server, plan, terminals, self.rig.throttle().cloned()).await.map(|_| ()),
            Err(e) => Err(chain(&e)),
        };
        let answer = worked.map_err(failed).map(|()| question(&server.connect_options()));
        let off = self.set_throttle(false).map_err(failed);
        server.kill();
        let _ = std::fs::remove_dir_all(datadir);
        off?;
        answer
    }

    /// One run of a configuration.
    pub async fn run(&mut self, configuration: &Configuration, plan: &Plan, terminals: usize) -> Run {
        let killed = self.rig.oom_kills();
        let (datadir, server, reset) = match self.start(configuration).await {
            Ok(started) => started,
            Err(why) => {
                let why = self.out_of_memory(killed).unwrap_or(why);
                return Run::failed(why, 0.0);
            }
        };
        let measured = match fill(&server, plan.work.database()).await {
            Ok(()) => measure(&server, plan, terminals, self.rig.throttle().cloned()).await,
            Err(e) => Err(chain(&e)),
        };
        let run = match (self.out_of_memory(killed), measured) {
            // Whatever the clients saw of it, the server is gone.
            (Some(why), _) => Run::failed(why, reset),
            (None, Ok(result)) => judge(&result, reset),
            (None, Err(why)) => {
                let told = match refused(&server).await {
                    Some(refused) => format!("; {refused}"),
                    None => server
                        .errors()
                        .lines()
                        .last()
                        .map(|line| format!("; the server's log: {line}"))
                        .unwrap_or_default(),
                };
                Run::failed(format!("{why}{told}"), reset)
            }
        };
        if let Err(why) = self.set_throttle(false) {
            return Run::failed(why, reset);
        }
        server.kill();
        let _ = std::fs::remove_dir_all(datadir);
        run
    }

    /// The reason, if the machine's memory limit has killed the server since its count was `before`.
    fn out_of_memory(&self, before: u64) -> Option<String> {
        (self.rig.oom_kills() > before).then(|| {
            let limit =
                self.rig.machine.memory.map_or_else(String::new, |b| format!(" of {}", knobs::Bytes(b)));
            format!("out of memory: the machine's limit{limit} killed the server")
        })
    }
}

/// Why the server turned connections away, by its own count; root is let in above the limit.
async fn refused(server: &PrivateServer) -> Option<String> {
    let mut admin = Admin::connect(&server.connect_options()).await.ok()?;
    let status = admin.status().await.ok()?;
    let variables = admin.global_variables().await.ok()?;
    let count = |name: &str| status.get(name).and_then(|n| n.parse::<u64>().ok()).filter(|n| *n > 0);
    let limit = variables.get("max_connections").map_or("its limit", String::as_str);
    if count("connection_errors_max_connections").is_some() {
        return Some(format!("too many connections: max_connections is {limit}"));
    }
    count("connection_errors_internal").map(|n| format!("cannot create thread: {n} connections had none"))
}

/// Reads all tables once while the disk has no limit: what is measured is a server that has been up for a while, not how fast it fills its pool.
async fn fill(server: &PrivateServer, database: &str) -> Result<(), AdminError> {
    let mut admin = Admin::connect(&server.connect_options()).await?;
    let tables =
        format!("SELECT table_name FROM information_schema.tables WHERE table_schema = '{database}'");
    for (table,) in admin.rows::<(String,)>(&tables).await? {
        admin.rows::<(u64,)>(&format!("SELECT COUNT(*) FROM `{database}`.`{table}`")).await?;
    }
    admin.close().await
}

/// Puts the limit on in the middle of the warm-up.
struct Watch {
    throttle: Option<Throttle>,
    free: u32,
    cancel: Cancel,
}

impl Watch {
    fn limit(&self) {
        if let Some(throttle) = &self.throttle {
            // It was put on and off by the same hand a moment ago; the window's edge tries again.
            let _ = throttle.on();
        }
    }
}

impl Observer for Watch {
    fn second(&self, second: &SecondStats) {
        if !second.measured && second.second == self.free {
            self.limit();
        }
    }

    fn window_opened(&self) {
        self.limit();
    }

    /// What is under way may end at this computer's speed, so that client and server can be compared to the last transaction.
    fn window_closed(&self) {
        if let Some(throttle) = &self.throttle {
            let _ = throttle.off();
        }
    }

    fn should_stop(&self) -> Option<StopReason> {
        self.cancel.is_requested().then(|| StopReason("interrupted by the user".to_owned()))
    }
}

async fn measure(
    server: &PrivateServer,
    plan: &Plan,
    terminals: usize,
    throttle: Option<Throttle>,
) -> Result<RunResult, String> {
    let connection = server.connect_options();
    let free = u32::try_from(plan.warmup.as_secs() / 2).unwrap_or(u32::MAX);
    let watch = Watch { throttle, free, cancel: plan.cancel.clone() };
    let (work, times, seed) = (plan.work.clone(), (plan.warmup, plan.measure), plan.seed);
    let (tell, done) = oneshot::channel();
    std::thread::Builder::new()
        .name("load".to_owned())
        .spawn(move || {
            let _ = tell.send(work.run(&connection, terminals, times, seed, &watch));
        })
        .map_err(|e| format!("no thread for the load engine: {e}"))?;
    done.await.unwrap_or_else(|_| Err("the load engine ended without a result".into()))
}

/// Whether a run is a measurement.
fn judge(result: &RunResult, reset_seconds: f64) -> Run {
    if let Some(stopped) = &result.stopped {
        return Run::failed(stopped.0.clone(), reset_seconds);
    }
    let all = result.transactions + result.books.failed;
    if all == 0 {
        return Run::failed("no transaction ended in the window", reset_seconds);
    }
    let failed = result.books.failed as f64 / all as f64;
    if failed > MOST_FAILED {
        return Run::failed(format!("{:.1} % of the transactions failed", failed * 100.0), reset_seconds);
    }
    if result.totals.unanswered > 0 {
        let text = format!("{} transactions had no answer long after the window", result.totals.unanswered);
        return Run::failed(text, reset_seconds);
    }
    if let Some(tpcc) = &result.tpcc
        && !tpcc.server_check.ok
    {
        let check = &tpcc.server_check;
        let text = match check.d_next_o_id_change {
            Some(counted) => format!(
                "the server counts {counted} new orders and the client {}, {} of them uncertain",
                check.committed_new_orders, check.uncertain
            ),
            None => check.complaint().to_owned(),
        };
        return Run::failed(text, reset_seconds);
    }
    let throughput = &result.throughput;
    Run {
        per_second: Some(throughput.per_second),
        interval: throughput.low.zip(throughput.high),
        p95_us: Some(result.latency_us.p95),
        failure: None,
        reset_seconds,
        series: result.series.iter().filter(|s| s.measured).map(|s| s.committed).collect(),
    }
}

/// An error with all its causes, in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        text += &format!(": {e}");
        cause = e.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_run_says_why_in_one_line() {
        assert_eq!(Run::failed("no memory\nand more", 0.0).summary(), "failed: no memory");
        let good = Run { per_second: Some(81.24), failure: None, ..Run::failed("", 0.1) };
        assert_eq!(good.summary(), "81.2 txn/s");
        assert_eq!(chain(&std::io::Error::other("x")), "x");
    }
}
