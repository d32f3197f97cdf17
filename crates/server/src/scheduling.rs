//! Staying out of a server's way on a machine that we share with it.

use std::io;

/// Makes the calling thread a batch thread (`SCHED_BATCH`): when it is woken it waits for a processor to get free instead of
/// pushing aside what runs there. It keeps its share of the time, its niceness, and needs no right for it. Linux, sched(7).
///
/// # Errors
/// The kernel's; the thread then goes on as it was.
#[expect(unsafe_code, reason = "no safe wrapper of this call is among our dependencies")]
pub fn never_preempt() -> io::Result<()> {
    // Of a thread that is not real-time the priority must be 0.
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the call reads one structure of ours, which outlives it, and changes the calling thread (0) only.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The policy of the calling thread: field 41 of its `stat` (proc(5)).
    fn policy() -> u32 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let fields = stat.rsplit_once(')').unwrap().1;
        fields.split_ascii_whitespace().nth(41 - 3).unwrap().parse().unwrap()
    }

    #[test]
    fn only_the_calling_thread_changes() {
        let before = policy();
        std::thread::spawn(|| {
            never_preempt().unwrap();
            assert_eq!(policy(), libc::SCHED_BATCH as u32);
        })
        .join()
        .unwrap();
        assert_eq!(policy(), before);
    }
}
