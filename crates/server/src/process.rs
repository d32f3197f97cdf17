//! Processes, told apart safely: a number alone may long belong to somebody else.

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Which process it was: a number is reused, its start time within one boot is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessId {
    pub(crate) pid: u32,
    /// Clock ticks since boot, field 22 of `/proc/PID/stat`.
    started: u64,
    /// The kernel's random name of this boot.
    boot: String,
}

impl ProcessId {
    /// The process that has this number now, if there is one.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(Self { pid, started: start_time(&stat)?, boot: boot_id() })
    }

    /// Whether that very process still runs (a zombie does not), with `argument` in its command line.
    pub(crate) fn is_running(&self, argument: &str) -> bool {
        let runs = fs::read_to_string(format!("/proc/{}/stat", self.pid))
            .is_ok_and(|stat| start_time(&stat) == Some(self.started) && !is_zombie(&stat));
        runs && self.boot == boot_id()
            && fs::read(format!("/proc/{}/cmdline", self.pid))
                .is_ok_and(|line| line.split(|b| *b == 0).any(|a| a == argument.as_bytes()))
    }

    /// Kills it, if it still is the process that it was, and waits until it is gone. Whether there was one.
    pub(crate) fn kill(&self, argument: &str) -> bool {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return false };
        if !self.is_running(argument) || kill_process(pid, Signal::KILL).is_err() {
            return false;
        }
        // A process that is killed while it waits for a disk takes its time.
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.is_running(argument) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }
}

fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// The fields after the command, which is in parentheses and may hold anything, also spaces and parentheses.
fn fields(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_ascii_whitespace()
}

fn start_time(stat: &str) -> Option<u64> {
    // Field 3, the state, is the first after the command.
    fields(stat).nth(22 - 3)?.parse().ok()
}

fn is_zombie(stat: &str) -> bool {
    matches!(fields(stat).next(), Some("Z" | "X"))
}

/// Whether this process may do everything.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Bytes free for ordinary users on the file system of `path`, or of its nearest folder that exists.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let existing = path.ancestors().find(|p| p.exists())?;
    let stat = rustix::fs::statvfs(existing).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A process that does nothing, with its command line in place: the system lets go of us a moment before.
    pub(crate) fn sleeper(seconds: &str) -> std::process::Child {
        let child = std::process::Command::new("sleep").arg(seconds).spawn().unwrap();
        while fs::read(format!("/proc/{}/cmdline", child.id())).unwrap().is_empty() {
            std::thread::yield_now();
        }
        child
    }

    #[test]
    fn a_command_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let tail = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        assert_eq!(start_time(&format!("7 (a) b (c)) {tail}")), Some(4711));
        assert!(is_zombie("7 (x) Z 1"));
    }

    #[test]
    fn only_the_very_process_is_killed() {
        let mut child = sleeper("60");
        let id = ProcessId::of(child.id()).unwrap();

        let another_start = ProcessId { started: id.started + 1, ..id.clone() };
        let another_boot = ProcessId { boot: "elsewhere".into(), ..id.clone() };
        assert!(!another_start.kill("60"));
        assert!(!another_boot.kill("60"));
        assert!(!id.kill("61"), "another command line");
        assert!(child.try_wait().unwrap().is_none(), "still alive");

        assert!(id.kill("60"));
        child.wait().unwrap();
        assert!(!id.kill("60"), "nobody there any more");
    }
}
