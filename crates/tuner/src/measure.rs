//! The work and the measured window of one trial.
//!
//! The load engine runs on OS threads of its own. At both edges of the window its control thread waits while the server's
//! transaction counters and the client's are read at the same instant, so that the two can be compared.

use crate::cancel::Cancel;
use crate::events::{Event, Events};
use crate::judge::guarded;
use crate::measurement::{Deferred, Latency, Measurement};
use crate::spec::{TuneSpec, Workload};
use crate::validity::Counts;
use load::engine::{LiveCounters, Observer, RunResult, SecondStats, StopReason};
use load::{sysbench, tpcc};
use server::{Admin, AdminError, ConnectOptions, TrxCounts, TrxMonitor};
use std::collections::BTreeMap;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use target::Coercion;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// How long reading the server's counters may take: a server that needs longer is hung, not slow.
const READING: Duration = Duration::from_secs(10);

/// Why there is no window.
#[derive(Debug)]
pub(crate) enum Interrupted {
    /// The user asked to stop.
    Cancelled,
    /// The step could not be stored.
    Store(store::StoreError),
    /// The server can't be asked, and the configuration is not to blame.
    Ours(AdminError),
    /// The server or the workload broke: the configuration can't be run.
    Broken(String),
    /// It ran, and not all of it can be believed.
    Doubtful(String),
}

/// A measured window.
#[derive(Debug)]
pub(crate) struct Window {
    at: f64,
    counts: Counts,
    result: RunResult,
    series: Vec<u64>,
    warmup: usize,
    guarded: BTreeMap<String, String>,
    deferred: Deferred,
}

impl Window {
    pub(crate) fn into_measurement(self, coercions: Vec<Coercion>, restarted: bool) -> Measurement {
        let latency = &self.result.latency_us;
        let curve = [
            (50.0, latency.p50),
            (90.0, latency.p90),
            (95.0, latency.p95),
            (99.0, latency.p99),
            (99.9, latency.p999),
            (100.0, latency.max),
        ];
        Measurement {
            at: self.at,
            seconds: 0.0,
            counts: self.counts,
            latency_us: Latency {
                mean: latency.mean,
                p50: latency.p50,
                p95: latency.p95,
                p99: latency.p99,
                max: latency.max,
            },
            curve: curve.into(),
            series: self.series,
            warmup: self.warmup,
            retried: self.result.books.retried,
            rolled_back: self.result.books.rolled_back,
            coercions,
            restarted,
            guarded: self.guarded,
            deferred: self.deferred,
            client_cpu_share: self.result.client.cpu_share,
        }
    }
}

enum Message {
    Opened(SyncSender<()>),
    Closed(SyncSender<()>),
    Second { committed: u64, measured: bool },
}

/// Passes what the engine's control thread sees to the tuner's thread.
struct Relay {
    sender: UnboundedSender<Message>,
    counters: OnceLock<Arc<LiveCounters>>,
    cancel: Cancel,
}

impl Relay {
    /// Sends a message and waits until it was dealt with; a tuner that is gone is not waited for.
    fn rendezvous(&self, message: impl FnOnce(SyncSender<()>) -> Message) {
        let (done, wait) = sync_channel(1);
        if self.sender.send(message(done)).is_ok() {
            let _ = wait.recv();
        }
    }
}

impl Observer for Relay {
    fn started(&self, counters: &Arc<LiveCounters>) {
        let _ = self.counters.set(Arc::clone(counters));
    }

    fn window_opened(&self) {
        self.rendezvous(Message::Opened);
    }

    fn window_closed(&self) {
        self.rendezvous(Message::Closed);
    }

    fn second(&self, second: &SecondStats) {
        let _ = self.sender.send(Message::Second { committed: second.committed, measured: second.measured });
    }

    fn should_stop(&self) -> Option<StopReason> {
        if self.cancel.is_requested() {
            Some(StopReason("interrupted by the user".to_owned()))
        } else if self.sender.is_closed() {
            Some(StopReason("the trial was given up".to_owned()))
        } else {
            None
        }
    }
}

/// Both sides' counts at one instant.
struct Edge {
    at: Instant,
    server: TrxCounts,
    client_committed: f64,
    client_failed: u64,
}

/// Runs the workload: warm-up, then the measured window. `opened` is called when the window opens, before anything counts.
pub(crate) async fn window(
    connection: &ConnectOptions,
    spec: &TuneSpec,
    events: &mut dyn Events,
    cancel: &Cancel,
    opened: &mut dyn FnMut(&mut dyn Events) -> Result<(), store::StoreError>,
) -> Result<Window, Interrupted> {
    let mut admin = Admin::connect(connection).await.map_err(broken)?;
    let monitor = TrxMonitor::enable(&mut admin).await.map_err(Interrupted::Ours)?;
    let window = watch(connection, spec, events, cancel, opened, &mut admin, &monitor).await;
    let restored = monitor.restore(&mut admin).await;
    let window = window?;
    restored.map_err(broken)?;
    Ok(window)
}

async fn watch(
    connection: &ConnectOptions,
    spec: &TuneSpec,
    events: &mut dyn Events,
    cancel: &Cancel,
    opened: &mut dyn FnMut(&mut dyn Events) -> Result<(), store::StoreError>,
    admin: &mut Admin,
    monitor: &TrxMonitor,
) -> Result<Window, Interrupted> {
    let (sender, mut messages) = unbounded_channel();
    let relay = Arc::new(Relay { sender, counters: OnceLock::new(), cancel: cancel.clone() });
    let mut done = spawn(connection, spec, Arc::clone(&relay))?;
    let (mut first, mut last, mut at) = (None, None, 0.0);
    let (mut series, mut warmup) = (Vec::new(), 0);
    let (mut status_before, mut status_after) = (BTreeMap::new(), BTreeMap::new());
    let result = loop {
        tokio::select! {
            biased;
            Some(message) = messages.recv() => match message {
                Message::Opened(reply) => {
                    opened(events).map_err(Interrupted::Store)?;
                    at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64());
                    // Everything else is asked outside the window: a SHOW GLOBAL STATUS can be many commits of the data
                    // dictionary.
                    status_before = timely(admin.status()).await?;
                    first = Some(edge(admin, monitor, &relay).await?);
                    let _ = reply.send(());
                }
                Message::Closed(reply) => {
                    last = Some(edge(admin, monitor, &relay).await?);
                    let _ = reply.send(());
                    status_after = timely(admin.status()).await?;
                }
                Message::Second { committed, measured } => {
                    series.push(committed);
                    warmup += usize::from(!measured);
                    events.event(&Event::Second { commits: committed });
                }
            },
            result = &mut done => break result,
        }
    };
    if cancel.is_requested() {
        return Err(Interrupted::Cancelled);
    }
    let result = match result {
        Ok(Ok(result)) => result,
        Ok(Err(e)) => {
            return Err(Interrupted::Broken(format!("the workload could not be run: {}", chain(&*e))));
        }
        Err(_) => return Err(Interrupted::Broken("the load engine ended without a result".to_owned())),
    };
    if let Some(stopped) = &result.stopped {
        return Err(Interrupted::Doubtful(format!("the run ended early: {}", stopped.0)));
    }
    let (Some(first), Some(last)) = (first, last) else {
        return Err(Interrupted::Broken("the measured window never opened".to_owned()));
    };
    let variables = admin.global_variables().await.map_err(broken)?;
    Ok(Window {
        at,
        counts: counts(&first, &last),
        deferred: deferred(&status_before, &status_after),
        result,
        series,
        warmup,
        guarded: guarded(&variables),
    })
}

/// A workload's own error.
type LoadFailure = Box<dyn std::error::Error + Send + Sync>;

/// What is run on the thread of the load engine.
type Run = Box<dyn FnOnce(&ConnectOptions, &dyn Observer) -> Result<RunResult, LoadFailure> + Send>;

fn workload(spec: &TuneSpec) -> Run {
    let (measure, warmup) =
        (Duration::from_secs(spec.measure_seconds), Duration::from_secs(spec.warmup_seconds));
    match spec.workload {
        Workload::Tpcc { terminals, .. } => {
            let options = tpcc::RunOptions::new(terminals as usize, measure, warmup, spec.seed);
            Box::new(move |connection, observer| Ok(tpcc::run(connection, &options, observer)?))
        }
        Workload::Sysbench { script, tables, table_size, terminals } => {
            let mut options = sysbench::SysbenchOptions::new(sysbench::Kind::Script(script));
            options.engine.terminals = terminals as usize;
            options.engine.time = Some(measure);
            options.engine.warmup = warmup;
            options.engine.seed = spec.seed;
            options.tables = Workload::sysbench_tables(tables, table_size, spec.seed);
            Box::new(move |connection, observer| Ok(sysbench::run(connection, &options, observer)?))
        }
    }
}

fn spawn(
    connection: &ConnectOptions,
    spec: &TuneSpec,
    relay: Arc<Relay>,
) -> Result<oneshot::Receiver<Result<RunResult, LoadFailure>>, Interrupted> {
    let run = workload(spec);
    let connection = connection.clone();
    let (tell, done) = oneshot::channel();
    std::thread::Builder::new()
        .name("load".to_owned())
        .spawn(move || {
            let _ = tell.send(run(&connection, &*relay));
        })
        .map_err(|e| Interrupted::Broken(format!("no thread for the load engine: {e}")))?;
    Ok(done)
}

async fn edge(admin: &mut Admin, monitor: &TrxMonitor, relay: &Relay) -> Result<Edge, Interrupted> {
    let client = || relay.counters.get().map_or((0, 0), |c| (c.sample().0, c.sample().3));
    // The server's reading lies somewhere between these two of the client's.
    let before = client();
    let at = Instant::now();
    let server = timely(monitor.sample(admin)).await?;
    let after = client();
    Ok(Edge { at, server, client_committed: (before.0 + after.0) as f64 / 2.0, client_failed: after.1 })
}

async fn timely<T>(reading: impl Future<Output = Result<T, AdminError>>) -> Result<T, Interrupted> {
    match tokio::time::timeout(READING, reading).await {
        Ok(result) => result.map_err(broken),
        Err(_) => Err(Interrupted::Broken(format!("the server did not answer for {} s", READING.as_secs()))),
    }
}

fn broken(error: AdminError) -> Interrupted {
    Interrupted::Broken(format!("the server can't be asked: {}", chain(&error)))
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(e) = cause {
        text += &format!(": {e}");
        cause = e.source();
    }
    text
}

fn counts(first: &Edge, last: &Edge) -> Counts {
    Counts {
        server_commits: last.server.since(&first.server).commits(),
        client_commits: (last.client_committed - first.client_committed).round() as u64,
        failed: last.client_failed - first.client_failed,
        seconds: (last.at - first.at).as_secs_f64(),
    }
}

/// Checkpoint age and redo capacity, from whichever status variables the flavour has.
fn deferred(first: &BTreeMap<String, String>, last: &BTreeMap<String, String>) -> Deferred {
    fn number(status: &BTreeMap<String, String>, name: &str) -> Option<u64> {
        status.get(name)?.parse().ok()
    }
    fn age(status: &BTreeMap<String, String>) -> Option<u64> {
        number(status, "innodb_checkpoint_age").or_else(|| {
            let current = number(status, "innodb_redo_log_current_lsn")?;
            Some(current.saturating_sub(number(status, "innodb_redo_log_checkpoint_lsn")?))
        })
    }
    let (was, is) = (age(first), age(last));
    Deferred {
        checkpoint_age: is,
        checkpoint_age_growth: was.zip(is).map(|(was, is)| is.cast_signed() - was.cast_signed()),
        redo_capacity: number(last, "innodb_checkpoint_max_age")
            .or_else(|| number(last, "innodb_redo_log_capacity_resized")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(pairs: &[(&str, u64)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn the_checkpoint_age_is_read_in_either_dialect() {
        let maria = |age| status(&[("innodb_checkpoint_age", age), ("innodb_checkpoint_max_age", 1000)]);
        let d = deferred(&maria(100), &maria(400));
        assert_eq!(
            (d.checkpoint_age, d.checkpoint_age_growth, d.redo_capacity),
            (Some(400), Some(300), Some(1000))
        );
        let mysql = |current| {
            status(&[
                ("innodb_redo_log_current_lsn", current),
                ("innodb_redo_log_checkpoint_lsn", 5000),
                ("innodb_redo_log_capacity_resized", 1000),
            ])
        };
        assert_eq!(deferred(&mysql(5400), &mysql(5100)).checkpoint_age_growth, Some(-300));
    }

    #[test]
    fn a_server_that_tells_nothing_is_not_guessed_about() {
        assert_eq!(deferred(&status(&[]), &status(&[])), Deferred::default());
    }

    #[test]
    fn counts_are_differences_between_the_edges() {
        let edge = |commits, client, failed, at| Edge {
            at,
            server: TrxCounts { rw: commits, ..TrxCounts::default() },
            client_committed: client,
            client_failed: failed,
        };
        let begin = Instant::now();
        let c = counts(&edge(100, 90.5, 1, begin), &edge(300, 291.0, 4, begin + Duration::from_secs(4)));
        assert_eq!((c.server_commits, c.client_commits, c.failed), (200, 201, 3));
        assert_eq!(c.per_second(), 50.0);
    }
}
