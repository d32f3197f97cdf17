//! A run: the worker threads, and the control thread that opens and closes the measured window.

use super::observer::{LiveCounters, Observer, SecondStats, StopReason};
use super::options::EngineOptions;
use super::record::{Recorder, SecondParts};
use super::terminal::Terminal;
use super::workload::Workload;
use crate::reactor::{Reactor, Task};
use crate::wire::{Connector, WireError};
use rustix::time::{ClockId, clock_gettime};
use std::rc::Rc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often the control thread looks around.
const LOOK: Duration = Duration::from_millis(20);
/// How long all connections together may take to open.
const CONNECT_LIMIT: Duration = Duration::from_secs(60);
/// How long worker threads may take to notice that the run is over.
const LEAVE_LIMIT: Duration = Duration::from_millis(200);
/// Slices of the throughput from which the interval is estimated.
pub(crate) const SLICE: Duration = Duration::from_millis(100);

/// A run could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The first connections failed.
    #[error("cannot open the connections")]
    Connect(#[source] WireError),
    /// The connections did not open in time.
    #[error("{opened} of {wanted} connections opened within {} s", CONNECT_LIMIT.as_secs())]
    ConnectTime {
        /// Opened.
        opened: usize,
        /// Asked for.
        wanted: usize,
    },
    /// An error that every transaction would meet again.
    #[error("the workload cannot run on this server; is its data set prepared?")]
    Workload(#[source] WireError),
    /// The system gave no thread or no event queue.
    #[error("cannot set up the engine")]
    System(#[source] std::io::Error),
    /// The run made no sense.
    #[error("{0}")]
    Options(String),
}

/// What a terminal is doing, for the control thread.
#[derive(Default)]
pub(crate) struct Gauge {
    /// Next due time (nanoseconds since the base), open loop only.
    due: AtomicU64,
    /// 0: idle, otherwise the transaction type + 1.
    busy: AtomicUsize,
    /// Transactions that ended in the window, and the time spent in them.
    events: AtomicU64,
    nanos: AtomicU64,
}

impl Gauge {
    pub fn due(&self, nanos: u64) {
        self.due.store(nanos, Relaxed);
    }

    pub fn begin(&self, kind: usize) {
        self.busy.store(kind + 1, Relaxed);
    }

    /// The transaction has ended; `took` if it is measured.
    pub fn end(&self, took: Option<Duration>) {
        self.busy.store(0, Relaxed);
        if let Some(took) = took {
            self.events.fetch_add(1, Relaxed);
            self.nanos.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Relaxed);
        }
    }
}

/// CPU time of a worker thread at the window's edges, in nanoseconds; 0 is "not yet".
#[derive(Default)]
struct WorkerCpu {
    opened: AtomicU64,
    closed: AtomicU64,
}

/// What all threads of a run share.
pub(crate) struct Shared<W: Workload> {
    pub workload: Arc<W>,
    pub connector: Connector,
    pub options: EngineOptions,
    pub live: Arc<LiveCounters>,
    pub connected: AtomicUsize,
    pub start: OnceLock<Instant>,
    pub gauges: Vec<Gauge>,
    base: Instant,
    /// Nanoseconds since the base after which no transaction begins.
    stop_at: AtomicU64,
    /// Drop everything now.
    kill: AtomicBool,
    /// Window edges in nanoseconds since the base.
    window: (AtomicU64, AtomicU64),
    failure: Mutex<Option<WireError>>,
    events_left: AtomicU64,
    recorders: Vec<Mutex<Recorder<W::Tally>>>,
    cpu: Vec<WorkerCpu>,
    working: AtomicUsize,
}

impl<W: Workload> Shared<W> {
    /// The recorder of a worker thread.
    pub fn recorder(&self, worker: usize) -> MutexGuard<'_, Recorder<W::Tally>> {
        self.recorders[worker].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the run because of an error that would come again.
    pub fn abort(&self, error: WireError) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
        self.stop_now();
    }

    pub fn since_base(&self, when: Instant) -> u64 {
        u64::try_from(when.saturating_duration_since(self.base).as_nanos()).unwrap_or(u64::MAX)
    }

    /// When the last transactions begin.
    pub fn stop_at(&self) -> Instant {
        self.base + Duration::from_nanos(self.stop_at.load(Relaxed))
    }

    /// Whether no further transaction begins.
    pub fn over(&self) -> bool {
        self.over_at(Instant::now())
    }

    /// The same for a moment that the caller knows.
    pub fn over_at(&self, now: Instant) -> bool {
        self.since_base(now) >= self.stop_at.load(Relaxed)
    }

    /// Takes one of the run's events; false when there are none left.
    pub fn take_event(&self) -> bool {
        self.options.events.is_none()
            || self.events_left.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1)).is_ok()
    }

    fn stop_now(&self) {
        self.stop_at.fetch_min(self.since_base(Instant::now()), Relaxed);
    }

    fn each_recorder(&self, mut f: impl FnMut(&mut Recorder<W::Tally>)) {
        for worker in 0..self.recorders.len() {
            f(&mut self.recorder(worker));
        }
    }

    /// Transactions that are due at `now` and not begun; estimated from the mean distance.
    fn backlog(&self, now: Instant) -> u64 {
        let Some(period) = self.options.arrivals.period(self.options.terminals) else { return 0 };
        let now = self.since_base(now);
        let period = period.as_nanos().max(1) as u64;
        let behind = |g: &Gauge| {
            let due = g.due.load(Relaxed);
            if due == 0 || due > now { 0 } else { (now - due) / period }
        };
        self.gauges.iter().map(behind).sum()
    }

    fn in_flight(&self) -> u64 {
        self.gauges.iter().filter(|g| g.busy.load(Relaxed) > 0).count() as u64
    }

    /// Called by the worker between two rounds of events.
    fn look(&self, worker: usize) -> bool {
        self.sample_cpu(worker, Instant::now());
        self.kill.load(Acquire)
    }

    /// Notes the worker's CPU time when it first passes an edge of the window. On the worker's own thread.
    pub fn sample_cpu(&self, worker: usize, now: Instant) {
        let now = self.since_base(now);
        let sample = |edge: &AtomicU64, cell: &AtomicU64| {
            if now >= edge.load(Relaxed) && cell.load(Relaxed) == 0 {
                cell.store(thread_cpu(), Relaxed);
            }
        };
        sample(&self.window.0, &self.cpu[worker].opened);
        sample(&self.window.1, &self.cpu[worker].closed);
    }
}

fn thread_cpu() -> u64 {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    (t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64).max(1)
}

/// What a run has measured, before it is put into words.
pub(crate) struct Measured<T> {
    pub recorder: Recorder<T>,
    pub seconds: Vec<SecondStats>,
    /// Length of the measured window.
    pub window: Duration,
    /// CPU time of the worker threads in the window.
    pub cpu: Duration,
    pub threads: usize,
    pub stopped: Option<StopReason>,
    /// Connections whose last transaction was not answered in the time of grace, by type.
    pub unanswered: Vec<u64>,
    pub backlog_at_end: u64,
    /// Transactions and seconds of each terminal.
    pub terminals: Vec<(u64, f64)>,
}

/// Executes a workload. Blocks the calling thread, on which the observer is called.
pub(crate) fn run<W: Workload + Send + Sync + 'static>(
    connector: Connector,
    workload: Arc<W>,
    options: EngineOptions,
    observer: &dyn Observer,
) -> Result<Measured<W::Tally>, RunError>
where
    W::Tally: 'static,
{
    if options.terminals == 0 {
        return Err(RunError::Options("a run needs at least one terminal".into()));
    }
    if options.time.is_none() && options.events.is_none() {
        return Err(RunError::Options("a run needs an end: a time or a number of events".into()));
    }
    let threads = options.thread_count();
    let kinds = workload.kinds().len();
    let recorder = || Mutex::new(Recorder::new(kinds, options.arrivals.is_open()));
    let shared = Arc::new(Shared {
        connector,
        live: Arc::default(),
        connected: AtomicUsize::new(0),
        start: OnceLock::new(),
        gauges: (0..options.terminals).map(|_| Gauge::default()).collect(),
        base: Instant::now(),
        // A year: far enough, and no overflow of an Instant.
        stop_at: AtomicU64::new(365 * 86_400 * 1_000_000_000),
        kill: AtomicBool::new(false),
        window: (AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX)),
        failure: Mutex::new(None),
        events_left: AtomicU64::new(options.events.unwrap_or(0)),
        recorders: (0..threads).map(|_| recorder()).collect(),
        cpu: (0..threads).map(|_| WorkerCpu::default()).collect(),
        working: AtomicUsize::new(threads),
        workload,
        options,
    });
    for worker in 0..threads {
        let shared = Arc::clone(&shared);
        std::thread::Builder::new()
            .name(format!("load-{worker}"))
            .spawn(move || work(&shared, worker, threads))
            .map_err(RunError::System)?;
    }
    let control = Control { shared: &shared, observer };
    let result = control.run();
    shared.stop_now();
    shared.kill.store(true, Release);
    result
}

/// A worker thread: the terminals whose number leaves remainder `worker`.
fn work<W: Workload>(shared: &Arc<Shared<W>>, worker: usize, threads: usize) {
    let terminals = (worker..shared.options.terminals).step_by(threads).len();
    // In the open loop the reactor's timer is the more precise one.
    let solo = terminals == 1 && !shared.options.arrivals.is_open();
    let reactor = if solo { Reactor::solo() } else { Reactor::new() };
    if !solo && !shared.options.arrivals.is_open() {
        // While the server has work on every processor, replies are collected instead of each interrupting it: fewer
        // switches, a quarter to a half less CPU for each statement. In the closed loop the mean latency follows from the
        // throughput, so nothing is hidden by it. Where a processor is free it changes nothing. If it is refused, so be it.
        let _ = server::never_preempt();
    }
    let result = reactor.and_then(|reactor| {
        let tasks = (worker..shared.options.terminals).step_by(threads).map(|index| {
            let terminal =
                Terminal { shared: Arc::clone(shared), reactor: Rc::clone(&reactor), worker, index };
            Box::pin(terminal.run()) as Task<'_>
        });
        reactor.run(tasks.collect(), || shared.look(worker))
    });
    if let Err(error) = result {
        shared.abort(error.into());
    }
    shared.cpu[worker].closed.compare_exchange(0, thread_cpu(), Relaxed, Relaxed).ok();
    shared.working.fetch_sub(1, Release);
}

struct Control<'a, W: Workload> {
    shared: &'a Arc<Shared<W>>,
    observer: &'a dyn Observer,
}

impl<W: Workload> Control<'_, W> {
    fn run(&self) -> Result<Measured<W::Tally>, RunError> {
        let shared = self.shared;
        self.wait_for_connections()?;
        let start = Instant::now() + Duration::from_millis(5);
        let from = start + shared.options.warmup;
        let planned =
            shared.options.time.map_or(shared.base + Duration::from_secs(365 * 86_400), |t| from + t);
        shared.each_recorder(|r| r.set_window(from, planned));
        shared.window.0.store(shared.since_base(from), Relaxed);
        shared.window.1.store(shared.since_base(planned), Relaxed);
        shared.stop_at.fetch_min(shared.since_base(planned), Relaxed);
        self.observer.started(&shared.live);
        let _ = shared.start.set(start);
        let (mut seconds, to, stopped) = self.watch(start, from, planned);
        let backlog_at_end = shared.backlog(to);
        self.wait_for_workers(to + shared.options.grace);
        if let Some(error) = self.take_failure() {
            return Err(RunError::Workload(error));
        }
        let unanswered = self.unanswered();
        let mut recorder = Recorder::new(shared.workload.kinds().len(), shared.options.arrivals.is_open());
        shared.each_recorder(|r| recorder.absorb(r));
        for (kind, n) in unanswered.iter().enumerate() {
            recorder.kinds[kind].books.cut += n;
            recorder.totals[kind].cut += n;
        }
        for second in &mut seconds {
            second.measured &= start + Duration::from_secs(u64::from(second.second)) <= to;
        }
        let nanos = |a: &AtomicU64| a.load(Relaxed);
        let cpu = shared.cpu.iter().map(|c| nanos(&c.closed).saturating_sub(nanos(&c.opened))).sum();
        // A run that ends by its number of events ends with the last of them.
        let to = if stopped.is_none() && to < planned { recorder.last_end().unwrap_or(to) } else { to };
        Ok(Measured {
            recorder,
            seconds,
            window: to.saturating_duration_since(from),
            cpu: Duration::from_nanos(cpu),
            threads: shared.recorders.len(),
            stopped,
            unanswered,
            backlog_at_end,
            terminals: shared
                .gauges
                .iter()
                .map(|g| (nanos(&g.events), nanos(&g.nanos) as f64 / 1e9))
                .collect(),
        })
    }

    fn take_failure(&self) -> Option<WireError> {
        self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn wait_for_connections(&self) -> Result<(), RunError> {
        let shared = self.shared;
        let limit = Instant::now() + CONNECT_LIMIT;
        loop {
            if let Some(error) = self.take_failure() {
                return Err(RunError::Connect(error));
            }
            let opened = shared.connected.load(Relaxed);
            if opened == shared.options.terminals {
                return Ok(());
            }
            if Instant::now() >= limit {
                return Err(RunError::ConnectTime { opened, wanted: shared.options.terminals });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// From the start to the end of the window. Returns the seconds, the true end and why it was early.
    fn watch(
        &self,
        start: Instant,
        from: Instant,
        planned: Instant,
    ) -> (Vec<SecondStats>, Instant, Option<StopReason>) {
        let shared = self.shared;
        let mut seconds = Vec::new();
        let mut opened = false;
        let mut number = 1;
        loop {
            let now = Instant::now();
            if !opened && now >= from {
                opened = true;
                self.observer.window_opened();
            }
            let stopped = self.observer.should_stop();
            let done = shared.working.load(Acquire) == 0 || shared.failure.lock().is_ok_and(|f| f.is_some());
            let closing = now >= planned || stopped.is_some() || done;
            let edge = start + Duration::from_secs(u64::from(number));
            if now >= edge {
                let measured = edge - Duration::from_secs(1) >= from && edge <= planned;
                let second = self.take_second(number, measured, now);
                self.observer.second(&second);
                seconds.push(second);
                number += 1;
            }
            if closing && (now < edge || done || stopped.is_some()) {
                let to = now.min(planned);
                if opened {
                    self.observer.window_closed();
                }
                shared.stop_now();
                if to < planned {
                    shared.each_recorder(|r| r.set_window(from, to.max(from)));
                    shared.window.1.fetch_min(shared.since_base(to), Relaxed);
                }
                return (seconds, to, stopped);
            }
            let mut next = edge.min(planned).min(now + LOOK);
            if !opened {
                next = next.min(from);
            }
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
    }

    fn take_second(&self, number: u32, measured: bool, now: Instant) -> SecondStats {
        let mut parts = SecondParts::new();
        self.shared.each_recorder(|r| r.take_second(&mut parts));
        parts.finish(number, measured, self.shared.backlog(now), self.shared.in_flight())
    }

    /// Waits until all transactions have ended, at most until `limit`; then drops the rest.
    fn wait_for_workers(&self, limit: Instant) {
        let working = || self.shared.working.load(Acquire) > 0;
        while working() && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.shared.kill.store(true, Release);
        // A thread that still hangs (a connection attempt into the void) is left alone: the deadline holds.
        let limit = Instant::now() + LEAVE_LIMIT;
        while working() && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn unanswered(&self) -> Vec<u64> {
        let mut kinds = vec![0; self.shared.workload.kinds().len()];
        for gauge in &self.shared.gauges {
            if let Some(kind) = gauge.busy.load(Relaxed).checked_sub(1) {
                kinds[kind] += 1;
            }
        }
        kinds
    }
}
