//! What one worker thread has measured.

use super::observer::SecondStats;
use super::run::SLICE;
use super::workload::{Ending, Tally};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// One hour in microseconds: the largest latency that a histogram tells apart.
const HOUR_US: u64 = 3_600_000_000;

/// A latency histogram: 1 us to 1 h, three significant digits.
pub fn latency_histogram() -> Histogram<u64> {
    histogram(3)
}

fn histogram<C: hdrhistogram::Counter>(digits: u8) -> Histogram<C> {
    match Histogram::new_with_bounds(1, HOUR_US, digits) {
        Ok(histogram) => histogram,
        Err(_) => unreachable!("the bounds are constants"),
    }
}

/// Adds a latency, at least 1 us, at most 1 h.
pub fn record_us(histogram: &mut Histogram<u64>, latency: Duration) {
    histogram.saturating_record(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX).max(1));
}

/// The books of one transaction type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Books {
    /// Committed.
    pub ok: u64,
    /// Rolled back as intended.
    pub rolled_back: u64,
    /// Attempts repeated; not transactions of their own.
    pub retried: u64,
    /// Given up.
    pub failed: u64,
    /// On their way when the window closed.
    pub cut: u64,
}

impl Books {
    /// Adds another thread's books.
    pub fn add(&mut self, other: &Self) {
        self.ok += other.ok;
        self.rolled_back += other.rolled_back;
        self.retried += other.retried;
        self.failed += other.failed;
        self.cut += other.cut;
    }
}

/// Measurements of one transaction type.
pub struct KindRecord {
    pub books: Books,
    /// From the first attempt's begin to the end.
    pub service: Histogram<u64>,
    /// From the scheduled begin to the end; open loop only.
    pub intended: Option<Histogram<u64>>,
}

/// How one transaction went.
pub struct Ended {
    pub kind: usize,
    pub begun: Instant,
    pub ended: Instant,
    pub service: Duration,
    pub intended: Duration,
    /// `None`: failed, or cut.
    pub ending: Option<Ending>,
    /// The run was over before it could be tried again.
    pub cut: bool,
}

/// What one worker thread has measured. The worker locks it once for each transaction, the control thread once
/// a second: the lock is practically never contended.
pub struct Recorder<T> {
    window: Option<(Instant, Instant)>,
    pub kinds: Vec<KindRecord>,
    /// The whole run, warm-up and grace included: what the server's own counters must agree with.
    pub totals: Vec<Books>,
    pub total_statements: [u64; 3],
    /// Statements of transactions that ended in the window.
    pub statements: [u64; 3],
    pub schedule_error: Histogram<u64>,
    /// Failed transactions by error number (2013: the connection was lost).
    pub errors: BTreeMap<u16, u64>,
    pub retries: BTreeMap<u16, u64>,
    pub reconnects: u64,
    pub tally: T,
    /// Transactions of the window by slices of [`SLICE`].
    pub slices: Vec<u64>,
    last_end: Option<Instant>,
    second: SecondStats,
    second_latency: Histogram<u32>,
    second_sum_us: f64,
}

impl<T: Tally> Recorder<T> {
    pub fn new(kinds: usize, open_loop: bool) -> Self {
        let kind = || KindRecord {
            books: Books::default(),
            service: latency_histogram(),
            intended: open_loop.then(latency_histogram),
        };
        Self {
            window: None,
            kinds: (0..kinds).map(|_| kind()).collect(),
            totals: vec![Books::default(); kinds],
            total_statements: [0; 3],
            statements: [0; 3],
            schedule_error: latency_histogram(),
            errors: BTreeMap::new(),
            retries: BTreeMap::new(),
            reconnects: 0,
            tally: T::default(),
            slices: Vec::new(),
            last_end: None,
            second: SecondStats::default(),
            second_latency: histogram(2),
            second_sum_us: 0.0,
        }
    }

    /// Fixes the measured window; its end may be moved forward when a run stops early.
    pub fn set_window(&mut self, from: Instant, to: Instant) {
        self.window = Some((from, to));
    }

    /// Whether an event at `when` is measured.
    pub fn measured(&self, when: Instant) -> bool {
        self.window.is_some_and(|(from, to)| from <= when && when < to)
    }

    /// A transaction has ended.
    pub fn ended(&mut self, event: &Ended, statements: [u64; 3], tally: impl FnOnce(&mut T)) {
        let measured = self.measured(event.ended);
        for (sum, n) in self.total_statements.iter_mut().zip(statements) {
            *sum += n;
        }
        for (sum, n) in self.second.statements.iter_mut().zip(statements) {
            *sum += n;
        }
        let total = &mut self.totals[event.kind];
        let kind = &mut self.kinds[event.kind];
        self.last_end = self.last_end.max(Some(event.ended));
        if event.cut {
            total.cut += 1;
            kind.books.cut += 1;
            return;
        }
        // Begun in the window and ended in the time of grace: neither ok nor lost.
        if self.window.is_some_and(|(_, to)| event.begun < to && event.ended >= to) {
            kind.books.cut += 1;
        }
        let (counter, window_counter, second) = match event.ending {
            Some(Ending::Committed) => (&mut total.ok, &mut kind.books.ok, &mut self.second.committed),
            Some(Ending::RolledBack) => {
                (&mut total.rolled_back, &mut kind.books.rolled_back, &mut self.second.rolled_back)
            }
            None => (&mut total.failed, &mut kind.books.failed, &mut self.second.failed),
        };
        *counter += 1;
        *second += 1;
        if measured {
            *window_counter += 1;
            for (sum, n) in self.statements.iter_mut().zip(statements) {
                *sum += n;
            }
        }
        if event.ending.is_none() {
            return;
        }
        let micros = u64::try_from(event.service.as_micros()).unwrap_or(u64::MAX).max(1);
        self.second_latency.saturating_record(micros);
        self.second_sum_us += event.service.as_nanos() as f64 / 1e3;
        if measured {
            record_us(&mut kind.service, event.service);
            if let Some(histogram) = &mut kind.intended {
                record_us(histogram, event.intended);
            }
            tally(&mut self.tally);
            if let Some((from, _)) = self.window {
                let slice = ((event.ended - from).as_nanos() / SLICE.as_nanos()) as usize;
                if self.slices.len() <= slice {
                    self.slices.resize(slice + 1, 0);
                }
                self.slices[slice] += 1;
            }
        }
    }

    /// End of the last transaction.
    pub fn last_end(&self) -> Option<Instant> {
        self.last_end
    }

    /// Adds what another thread has measured.
    pub fn absorb(&mut self, other: &Self) {
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.books.add(&theirs.books);
            // All histograms have the same constant bounds, so the sums cannot fail.
            let _ = mine.service.add(&theirs.service);
            if let (Some(mine), Some(theirs)) = (&mut mine.intended, &theirs.intended) {
                let _ = mine.add(theirs);
            }
        }
        for (mine, theirs) in self.totals.iter_mut().zip(&other.totals) {
            mine.add(theirs);
        }
        for i in 0..3 {
            self.total_statements[i] += other.total_statements[i];
            self.statements[i] += other.statements[i];
        }
        let _ = self.schedule_error.add(&other.schedule_error);
        for (mine, theirs) in [(&mut self.errors, &other.errors), (&mut self.retries, &other.retries)] {
            for (code, n) in theirs {
                *mine.entry(*code).or_default() += n;
            }
        }
        self.reconnects += other.reconnects;
        self.tally.add(&other.tally);
        if self.slices.len() < other.slices.len() {
            self.slices.resize(other.slices.len(), 0);
        }
        for (mine, theirs) in self.slices.iter_mut().zip(&other.slices) {
            *mine += theirs;
        }
        self.last_end = self.last_end.max(other.last_end);
    }

    /// An attempt is repeated because of error `code`.
    pub fn retried(&mut self, kind: usize, code: u16, when: Instant) {
        self.totals[kind].retried += 1;
        self.second.retried += 1;
        if self.measured(when) {
            self.kinds[kind].books.retried += 1;
            *self.retries.entry(code).or_default() += 1;
        }
    }

    /// A transaction that has failed, by error number.
    pub fn error(&mut self, code: u16) {
        *self.errors.entry(code).or_default() += 1;
    }

    /// A connection was opened again.
    pub fn reconnected(&mut self) {
        self.reconnects += 1;
        self.second.reconnects += 1;
    }

    /// An idle terminal began a transaction this much after its time.
    pub fn began_late(&mut self, when: Instant, late: Duration) {
        if self.measured(when) {
            record_us(&mut self.schedule_error, late);
        }
    }

    /// Takes this thread's share of the second that is over.
    pub fn take_second(&mut self, into: &mut SecondParts) {
        let second = std::mem::take(&mut self.second);
        into.stats.committed += second.committed;
        into.stats.rolled_back += second.rolled_back;
        into.stats.retried += second.retried;
        into.stats.failed += second.failed;
        into.stats.reconnects += second.reconnects;
        for (sum, n) in into.stats.statements.iter_mut().zip(second.statements) {
            *sum += n;
        }
        into.sum_us += std::mem::take(&mut self.second_sum_us);
        // Both histograms have the same constant bounds, so the sum cannot fail.
        let _ = into.latency.add(&self.second_latency);
        self.second_latency.reset();
    }
}

/// A second while its parts are collected from the threads.
pub struct SecondParts {
    stats: SecondStats,
    latency: Histogram<u32>,
    sum_us: f64,
}

impl SecondParts {
    pub fn new() -> Self {
        Self { stats: SecondStats::default(), latency: histogram(2), sum_us: 0.0 }
    }

    /// The finished second.
    pub fn finish(mut self, second: u32, measured: bool, backlog: u64, in_flight: u64) -> SecondStats {
        let n = self.latency.len();
        self.stats.second = second;
        self.stats.measured = measured;
        self.stats.backlog = backlog;
        self.stats.in_flight = in_flight;
        if n > 0 {
            self.stats.mean_us = self.sum_us / n as f64;
            let at = |q| self.latency.value_at_quantile(q);
            self.stats.min_us = self.latency.min();
            self.stats.p25_us = at(0.25);
            self.stats.p50_us = at(0.50);
            self.stats.p75_us = at(0.75);
            self.stats.p90_us = at(0.90);
            self.stats.p95_us = at(0.95);
            self.stats.p99_us = at(0.99);
            self.stats.max_us = self.latency.max();
        }
        self.stats
    }
}
