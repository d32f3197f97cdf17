//! A server's record beside its socket: enough to recognise the process later, and to end it.

use crate::process::ProcessId;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

const NAME: &str = "server.record";

/// A running server, as written to disk.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    process: ProcessId,
    /// An argument of its command line that no other process has.
    argument: String,
    #[serde(skip)]
    path: PathBuf,
}

impl Record {
    pub(crate) fn write(dir: &Path, pid: u32, argument: &OsStr) -> io::Result<Self> {
        let process = ProcessId::of(pid).ok_or_else(|| io::Error::other("the process is gone already"))?;
        let record =
            Self { process, argument: argument.to_string_lossy().into_owned(), path: dir.join(NAME) };
        std::fs::write(&record.path, serde_json::to_vec(&record)?)?;
        Ok(record)
    }

    /// The record in a folder, if there is a whole one.
    pub(crate) fn read(dir: &Path) -> Option<Self> {
        let path = dir.join(NAME);
        let record: Self = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
        Some(Self { path, ..record })
    }

    /// Kills the server if that very process still runs. Whether it did.
    pub(crate) fn kill(&self) -> bool {
        let killed = self.process.kill(&self.argument);
        self.remove();
        killed
    }

    pub(crate) fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
