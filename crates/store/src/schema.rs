//! The database file and its schema.

use crate::error::{StoreError, StoreErrorKind};
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};

/// Each entry brings a database from schema version `index` to `index + 1`. Append only.
const MIGRATIONS: [&str; 1] = ["
CREATE TABLE studies (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  name     TEXT NOT NULL,
  question TEXT NOT NULL,
  created  TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  state    TEXT NOT NULL,
  spec     TEXT NOT NULL,
  context  TEXT,
  optimiser TEXT,
  verdict  TEXT
) STRICT;
CREATE TABLE trials (
  study    INTEGER NOT NULL REFERENCES studies(id) ON DELETE CASCADE,
  id       INTEGER NOT NULL,
  origin   TEXT NOT NULL,
  plan     TEXT NOT NULL,
  state    TEXT NOT NULL,
  attempt  INTEGER NOT NULL DEFAULT 1,
  measurement TEXT,
  failure  TEXT,
  PRIMARY KEY (study, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE steps (
  study   INTEGER NOT NULL,
  trial   INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  state   TEXT NOT NULL,
  at      REAL NOT NULL DEFAULT (unixepoch('now', 'subsec')),
  FOREIGN KEY (study, trial) REFERENCES trials(study, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX steps_by_trial ON steps(study, trial);
"];

/// The studies' database.
#[derive(Debug)]
pub struct Store {
    pub(crate) db: Connection,
    pub(crate) path: PathBuf,
}

impl Store {
    /// Opens the database at `path`, and makes it (and its folder) where there is none.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        const OPERATION: &str = "failed to open the studies' database";
        if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|source| {
                StoreError::new(OPERATION, StoreErrorKind::Io { path: folder.to_owned(), source })
            })?;
        }
        let mut db = Connection::open(path).map_err(|e| StoreError::new(OPERATION, e))?;
        prepare(&mut db, path).map_err(|kind| StoreError::new(OPERATION, kind))?;
        Ok(Self { db, path: path.to_owned() })
    }
}

fn prepare(db: &mut Connection, path: &Path) -> Result<(), StoreErrorKind> {
    db.busy_timeout(std::time::Duration::from_secs(10))?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    // A step must survive the death of the machine, not only of this process.
    db.pragma_update(None, "synchronous", "FULL")?;
    db.pragma_update(None, "foreign_keys", true)?;
    let known = MIGRATIONS.len() as i64;
    let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let found: i64 = tx.query_row("PRAGMA user_version", [], |r| r.get(0))?;
    if found > known {
        return Err(StoreErrorKind::Newer { path: path.to_owned(), found, known });
    }
    for migration in &MIGRATIONS[found as usize..] {
        tx.execute_batch(migration)?;
    }
    tx.pragma_update(None, "user_version", known)?;
    tx.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_twice_migrates_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/studies.db");
        drop(Store::open(&path).unwrap());
        let store = Store::open(&path).unwrap();
        let version: i64 = store.db.query_row("PRAGMA user_version", [], |r| r.get(0)).unwrap();
        assert_eq!(version, MIGRATIONS.len() as i64);
    }

    #[test]
    fn a_database_of_a_newer_program_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("studies.db");
        drop(Store::open(&path).unwrap());
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error.kind(), StoreErrorKind::Newer { found: 99, .. }), "{error:?}");
    }

    #[test]
    fn a_file_that_is_no_database_is_refused_and_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        let text = "this is not a database, it is somebody's notes, ".repeat(40);
        fs::write(&path, &text).unwrap();
        assert!(Store::open(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}
