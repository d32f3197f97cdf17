//! A private server's error log, and what in it is worth showing.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Enough for the last start, also with a stack trace.
const TAIL_BYTES: u64 = 64 * 1024;
/// Lines shown to a person.
const SHOWN_LINES: usize = 12;

/// The log's last part, from `start` on: what belongs to starts before is not of interest.
pub(crate) fn tail(path: &Path, start: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let from = file.metadata()?.len().saturating_sub(TAIL_BYTES).max(start);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The server's own errors in a log; where it named nothing an error, its last lines.
///
/// MariaDB: `2026-12-01  1:26:18 0 [ERROR] Aborting`. MySQL: `2026-12-01T01:26:13.4Z 0 [ERROR] [MY-010119] [Server] Aborting`.
pub(crate) fn errors(log: &str) -> String {
    // A refused option comes before the log is set up, some with a timestamp and some with the program's name.
    let is_error = |line: &&str| {
        line.contains("[ERROR]") || line.contains("[FATAL]") || line.contains("unknown variable")
    };
    let message = |line: &str| match line.split_once("[ERROR] ") {
        Some((_, text)) => text.to_owned(),
        None => line.to_owned(),
    };
    let mut lines: Vec<String> = log.lines().filter(is_error).map(message).collect();
    // Follows every other error, and says nothing by itself.
    lines.retain(|line| !line.ends_with("Aborting"));
    if lines.is_empty() {
        lines = log.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
        lines.drain(..lines.len().saturating_sub(SHOWN_LINES));
    }
    lines.dedup();
    lines.truncate(SHOWN_LINES);
    lines.join("\n")
}

/// Whether the log tells of a full disk (error number 28, ENOSPC, or the servers' words for it).
pub(crate) fn tells_of_full_disk(log: &str) -> bool {
    [
        "No space left on device",
        "Disk is full",
        "disk is full",
        "OS error number 28",
        "Errcode: 28",
        "error: 28",
        "errno: 28",
    ]
    .iter()
    .any(|words| log.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_errors_are_shown_without_time_and_without_aborting() {
        let maria = "2026-12-01  1:26:18 0 [Note] x\n2026-12-01  1:26:18 0 [ERROR] /usr/sbin/mariadbd: unknown variable 'nix=1'\n2026-12-01  1:26:18 0 [ERROR] Aborting\n";
        assert_eq!(errors(maria), "/usr/sbin/mariadbd: unknown variable 'nix=1'");
        let mysql = "2026-12-01T01:26:13Z 0 [ERROR] [MY-000067] [Server] unknown variable 'nix=1'.\n2026-12-01T01:26:13Z 0 [ERROR] [MY-010119] [Server] Aborting\n";
        assert_eq!(errors(mysql), "[MY-000067] [Server] unknown variable 'nix=1'.");
    }

    #[test]
    fn aborting_alone_is_told_with_what_came_before() {
        let log = "2026-12-01  1:26:18 0 [Warning] the cause\n2026-12-01  1:26:18 0 [ERROR] Aborting\n";
        assert_eq!(errors(log), log.trim_end());
    }

    #[test]
    fn without_an_error_the_last_lines_are_shown() {
        let log: String = (1..=30).map(|n| format!("line {n}\n")).collect();
        assert!(errors(&log).starts_with("line 19\n") && errors(&log).ends_with("line 30"));
        assert_eq!(errors(""), "");
    }

    #[test]
    fn only_this_starts_part_of_the_log_counts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "old\nnew\n").unwrap();
        assert_eq!(tail(file.path(), 4).unwrap(), "new\n");
        assert!(tells_of_full_disk("Write to file ./ib_logfile0 failed: OS error number 28."));
    }
}
