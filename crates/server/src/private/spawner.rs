//! Child processes that die with us.
//!
//! Linux sends a child the signal that it asked for by `PR_SET_PDEATHSIG` when the *thread* that started it ends,
//! not the process. A worker of a thread pool may end at any time, and would take the server with it. So one
//! thread, which never ends before the process does, starts all children.

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{LazyLock, Mutex, PoisonError};

struct Job {
    command: Command,
    reply: SyncSender<io::Result<Child>>,
}

static SPAWNER: LazyLock<Mutex<Sender<Job>>> = LazyLock::new(|| {
    let (jobs, inbox) = channel::<Job>();
    // If the thread cannot be started its receiver is dropped, and every request then says so.
    let _ = std::thread::Builder::new().name("spawner".into()).spawn(move || {
        while let Ok(mut job) = inbox.recv() {
            let _ = job.reply.send(job.command.spawn());
        }
    });
    Mutex::new(jobs)
});

/// Starts a child that is killed (SIGKILL) when this process ends, however it ends. The child gets a process group
/// of its own, so that Ctrl-C on the terminal reaches only us and we decide what becomes of it.
///
/// The kernel forgets the wish when the child changes its user, so the program must keep ours.
pub(crate) fn spawn(mut command: Command) -> io::Result<Child> {
    command.process_group(0);
    die_with_parent(&mut command);
    let (reply, answer) = sync_channel(1);
    let gone = || io::Error::other("the thread that starts children is gone");
    SPAWNER
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send(Job { command, reply })
        .map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?
}

#[expect(unsafe_code, reason = "the death signal can be asked for only by the child itself, after the fork")]
fn die_with_parent(command: &mut Command) {
    let parent = getpid();
    // SAFETY: the closure runs in the forked child, where only async-signal-safe work is allowed. It makes two
    // system calls (prctl, getppid), allocates nothing, takes no lock, and touches no memory of the parent's.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before the wish was made; then nobody would ever send the signal.
            if getppid() == Some(parent) { Ok(()) } else { Err(orphaned()) }
        });
    }
}

/// Made without allocating.
fn orphaned() -> io::Error {
    io::Error::from_raw_os_error(rustix::io::Errno::SRCH.raw_os_error())
}

/// Sends a signal to a child that has not been waited for, so its number is still its own.
pub(crate) fn signal(child: &Child, signal: Signal) -> io::Result<()> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("a process number out of range"))?;
    Ok(rustix::process::kill_process(pid, signal)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_outlives_the_thread_that_asked_for_it() {
        let asking = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            command.arg("60");
            spawn(command).unwrap()
        });
        let mut child = asking.join().unwrap();
        // The death signal would be sent while the thread ends, which join() waits for.
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(child.try_wait().unwrap().is_none(), "killed with the thread");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        assert_eq!(spawn(Command::new("/no/such/program")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
