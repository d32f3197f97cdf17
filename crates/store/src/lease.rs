//! One process at a time works on a study.

use crate::error::{StoreError, StoreErrorKind};
use crate::schema::Store;
use crate::study::StudyId;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::PathBuf;

/// The right to work on a study; given back when dropped, or by the kernel when the process dies.
///
/// The lock file itself stays: removing it would let two processes hold locks on two files of the same name.
#[derive(Debug)]
pub struct Lease {
    file: File,
}

impl Store {
    /// Takes the study for this process.
    ///
    /// # Errors
    /// [`StoreErrorKind::Busy`] while another process has it.
    pub fn lease(&self, study: StudyId) -> Result<Lease, StoreError> {
        const OPERATION: &str = "failed to take the study";
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".study-{study}.lock"));
        let path = PathBuf::from(name);
        let io = |source| StoreError::new(OPERATION, StoreErrorKind::Io { path: path.clone(), source });
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path).map_err(io)?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut pid = String::new();
            file.read_to_string(&mut pid).map_err(io)?;
            return Err(StoreError::new(
                OPERATION,
                StoreErrorKind::Busy { study: study.0, pid: pid.trim().into() },
            ));
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(io)?;
        writeln!(file, "{}", std::process::id()).map_err(io)?;
        Ok(Lease { file })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Closing would do; a child that inherited the descriptor must not keep the study.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::NewStudy;

    #[test]
    fn a_study_has_one_worker_and_the_next_one_is_told_which() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("s.db")).unwrap();
        let study = store.create_study(&NewStudy { name: "x", question: "tune", spec: &0 }).unwrap();
        let lease = store.lease(study).unwrap();
        let error = store.lease(study).unwrap_err();
        let pid = std::process::id().to_string();
        assert!(matches!(error.kind(), StoreErrorKind::Busy { pid: p, .. } if *p == pid), "{error:?}");
        drop(lease);
        store.lease(study).unwrap();
    }

    #[test]
    fn the_lock_file_of_a_dead_process_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("s.db")).unwrap();
        let study = store.create_study(&NewStudy { name: "x", question: "tune", spec: &0 }).unwrap();
        std::fs::write(folder.path().join(format!("s.db.study-{study}.lock")), "4194303\n").unwrap();
        store.lease(study).unwrap();
    }
}
