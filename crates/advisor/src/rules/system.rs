//! The operating system, where the server runs on this machine.

use crate::context::{Context, Draft};

pub(super) fn swappiness(context: &Context<'_>) -> Option<Draft> {
    let value = *context.snapshot.system.get("vm.swappiness")?;
    let swap = context.snapshot.system.get("swap_bytes").copied().unwrap_or(0);
    if value <= 10 || swap == 0 {
        return Some(Draft::fine(
            "the system is slow to swap",
            format!("vm.swappiness {value}, swap {swap} bytes"),
        ));
    }
    Some(
        Draft::notice("the system may swap the buffer pool out", format!("vm.swappiness {value}"))
            .advice("sysctl vm.swappiness=1, and in a file below /etc/sysctl.d"),
    )
}

pub(super) fn aio(context: &Context<'_>) -> Option<Draft> {
    let most = *context.snapshot.system.get("fs.aio-max-nr")?;
    let used = *context.snapshot.system.get("fs.aio-nr")?;
    let threads = context.int("innodb_read_io_threads")? + context.int("innodb_write_io_threads")?;
    // Each thread of asynchronous I/O reserves 256 events.
    let wanted = threads.saturating_mul(256);
    (used + wanted > most && context.on("innodb_use_native_aio") == Some(true)).then(|| {
        Draft::notice(
            "the next start may find no slots for asynchronous I/O",
            format!("{used} of {most} in use, {wanted} wanted"),
        )
        .advice("sysctl fs.aio-max-nr=1048576")
    })
}
