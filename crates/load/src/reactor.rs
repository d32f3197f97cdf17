//! A small executor: one OS thread, many non-blocking connections, one task for each.
//!
//! Why not a general runtime: a task here waits for exactly one socket or one timer, always on its own
//! thread. So wake-ups need no queue, no atomics and no allocation: an event's data *is* the task's number,
//! sockets are registered once (edge-triggered, for reading), and a future that was polled too early simply
//! tries again. What remains of the cost of a statement is the kernel's.

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Event data of the timer; task numbers are smaller.
const TIMER: u64 = u64::MAX;

/// The longest sleep: how soon a thread notices that the run is over.
pub const TICK: Duration = Duration::from_millis(20);

/// The part of the executor that its tasks use.
pub struct Reactor {
    /// There is one task, and its socket blocks: see [`Reactor::solo`].
    solo: bool,
    epoll: OwnedFd,
    timer: OwnedFd,
    armed: Cell<Option<Instant>>,
    timers: RefCell<BinaryHeap<Reverse<(Instant, usize)>>>,
    current: Cell<usize>,
}

impl Reactor {
    /// A reactor without tasks.
    pub fn new() -> io::Result<Rc<Self>> {
        Self::build(false)
    }

    /// A reactor for exactly one task, which may block in its socket for a [`TICK`]: the wait for a reply and its
    /// reading are one system call instead of two.
    pub fn solo() -> io::Result<Rc<Self>> {
        Self::build(true)
    }

    fn build(solo: bool) -> io::Result<Rc<Self>> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let timer = rustix::time::timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN | EventFlags::ET)?;
        Ok(Rc::new(Self {
            solo,
            epoll,
            timer,
            armed: Cell::new(None),
            timers: RefCell::default(),
            current: Cell::new(0),
        }))
    }

    /// Whether the task's socket blocks (for a [`TICK`] at most) instead of being registered.
    pub fn is_solo(&self) -> bool {
        self.solo
    }

    /// Wakes the calling task whenever `socket` gets readable. Closing the socket undoes it.
    pub fn register(&self, socket: impl AsFd) -> io::Result<()> {
        let data = EventData::new_u64(self.current.get() as u64);
        Ok(epoll::add(&self.epoll, socket, data, EventFlags::IN | EventFlags::RDHUP | EventFlags::ET)?)
    }

    /// Adds or removes wake-ups for writability: off on the hot path, where a unix socket would otherwise
    /// report every packet that the server takes.
    pub fn watch_writable(&self, socket: impl AsFd, on: bool) -> io::Result<()> {
        let data = EventData::new_u64(self.current.get() as u64);
        let mut flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        flags.set(EventFlags::OUT, on);
        Ok(epoll::modify(&self.epoll, socket, data, flags)?)
    }

    /// Sleeps until `when`.
    pub async fn sleep_until(&self, when: Instant) {
        if Instant::now() >= when {
            return;
        }
        self.timers.borrow_mut().push(Reverse((when, self.current.get())));
        while Instant::now() < when {
            pause().await;
        }
    }

    /// Runs the tasks until all are done or `stop` says so; it is asked at least every [`TICK`]. Tasks that
    /// are not done are dropped, which closes their sockets: a hung server cannot hold us.
    pub fn run(&self, tasks: Vec<Task<'_>>, mut stop: impl FnMut() -> bool) -> io::Result<()> {
        let mut tasks: Vec<Option<Task<'_>>> = tasks.into_iter().map(Some).collect();
        let mut left = tasks.len();
        for index in 0..tasks.len() {
            self.poll(&mut tasks, index, &mut left);
        }
        if self.solo {
            return self.run_solo(tasks, left, stop);
        }
        let tick = Timespec { tv_sec: 0, tv_nsec: TICK.as_nanos() as i64 };
        let mut events: Vec<epoll::Event> = Vec::with_capacity(256);
        while left > 0 && !stop() {
            self.arm()?;
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&tick)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            for event in events.drain(..) {
                match event.data.u64() {
                    TIMER => self.armed.set(None),
                    index => self.poll(&mut tasks, index as usize, &mut left),
                }
            }
            while let Some(index) = self.due() {
                self.poll(&mut tasks, index, &mut left);
            }
        }
        Ok(())
    }

    /// The one task has just blocked in its socket for nothing, or waits for a timer.
    fn run_solo(
        &self,
        mut tasks: Vec<Option<Task<'_>>>,
        mut left: usize,
        mut stop: impl FnMut() -> bool,
    ) -> io::Result<()> {
        while left > 0 && !stop() {
            let next = self.timers.borrow().peek().map(|&Reverse((when, _))| when);
            if let Some(when) = next {
                std::thread::sleep(when.saturating_duration_since(Instant::now()).min(TICK));
                while self.due().is_some() {}
            }
            self.poll(&mut tasks, 0, &mut left);
        }
        Ok(())
    }

    fn poll(&self, tasks: &mut [Option<Task<'_>>], index: usize, left: &mut usize) {
        self.current.set(index);
        let Some(slot) = tasks.get_mut(index) else { return };
        let Some(task) = slot else { return };
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            *slot = None;
            *left -= 1;
        }
    }

    /// The next task whose timer has passed.
    fn due(&self) -> Option<usize> {
        let mut timers = self.timers.borrow_mut();
        let &Reverse((when, index)) = timers.peek()?;
        if when > Instant::now() {
            return None;
        }
        timers.pop();
        Some(index)
    }

    /// Sets the kernel's timer to the first of ours; epoll's own timeout has only milliseconds.
    fn arm(&self) -> io::Result<()> {
        let Some(&Reverse((when, _))) = self.timers.borrow().peek() else { return Ok(()) };
        if self.armed.get() == Some(when) {
            return Ok(());
        }
        let wait = when.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        rustix::time::timerfd_settime(
            &self.timer,
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: zero, it_value: value },
        )?;
        self.armed.set(Some(when));
        Ok(())
    }
}

/// One connection's whole life.
pub type Task<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Gives the thread back once; whatever wakes the task, the caller looks again.
pub fn pause() -> impl Future<Output = ()> {
    let mut first = true;
    std::future::poll_fn(move |_| if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) })
}

/// Runs a future whose every operation blocks in the kernel: administration over a blocking socket.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn sleepers_wake_in_order_and_not_early() {
        let reactor = Reactor::new().unwrap();
        let woken = RefCell::new(Vec::new());
        let start = Instant::now();
        let tasks = [3u64, 1, 2].map(|ms| {
            let (reactor, woken) = (&reactor, &woken);
            Box::pin(async move {
                reactor.sleep_until(start + Duration::from_millis(ms)).await;
                assert!(start.elapsed() >= Duration::from_millis(ms));
                woken.borrow_mut().push(ms);
            }) as Task<'_>
        });
        reactor.run(tasks.into(), || false).unwrap();
        assert_eq!(*woken.borrow(), [1, 2, 3]);
    }

    #[test]
    fn a_task_that_waits_for_ever_is_dropped_when_the_run_stops() {
        let reactor = Reactor::new().unwrap();
        let (ours, _theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let task: Task<'_> = Box::pin(async {
            reactor.register(&ours).unwrap();
            loop {
                pause().await;
            }
        });
        let mut asked = 0;
        let stop = || {
            asked += 1;
            asked > 2
        };
        reactor.run(vec![task], stop).unwrap();
    }

    #[test]
    fn a_single_task_may_block_for_a_tick_and_sleep() {
        let reactor = Reactor::solo().unwrap();
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(TICK)).unwrap();
        let mut timeouts = 0;
        let task: Task<'_> = Box::pin(async {
            let start = Instant::now();
            reactor.sleep_until(start + Duration::from_millis(3)).await;
            assert!(start.elapsed() >= Duration::from_millis(3));
            let mut byte = [0];
            loop {
                match (&ours).read(&mut byte) {
                    Ok(_) => break,
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
                }
                timeouts += 1;
                theirs.write_all(b"x").unwrap();
                pause().await;
            }
        });
        reactor.run(vec![task], || false).unwrap();
        assert_eq!(timeouts, 1);
    }

    #[test]
    fn data_wakes_the_task_that_registered() {
        let reactor = Reactor::new().unwrap();
        let (a, mut b) = UnixStream::pair().unwrap();
        a.set_nonblocking(true).unwrap();
        let reader: Task<'_> = Box::pin(async {
            reactor.register(&a).unwrap();
            let mut byte = [0];
            loop {
                pause().await;
                if (&a).read(&mut byte).is_ok() {
                    break;
                }
            }
            assert_eq!(&byte, b"x");
        });
        let writer: Task<'_> = Box::pin(async {
            reactor.sleep_until(Instant::now() + Duration::from_millis(1)).await;
            b.write_all(b"x").unwrap();
        });
        reactor.run(vec![reader, writer], || false).unwrap();
    }
}
