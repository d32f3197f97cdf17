//! What a process does that is to outlive its terminal.

use std::io;
use tokio::signal::unix::{SignalKind, signal};

/// Becomes the leader of a session of its own, without a terminal: closing it, or Ctrl-C, no longer reaches us.
pub fn leave_terminal() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

/// Done when the process is asked to end (SIGTERM, SIGINT). The signals are caught from this call on.
pub fn asked_to_end() -> io::Result<impl Future<Output = ()>> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    })
}
