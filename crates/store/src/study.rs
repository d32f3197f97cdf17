//! Studies.

use crate::error::{StoreError, StoreErrorKind};
use crate::schema::Store;
use crate::state::StudyState;
use rusqlite::{OptionalExtension, Row, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::str::FromStr;

/// The number of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StudyId(pub(crate) i64);

impl fmt::Display for StudyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for StudyId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().ok().filter(|id| *id > 0).map(Self).ok_or_else(|| {
            format!("a study is named by its number, as `studies list` shows it, not by {text:?}")
        })
    }
}

/// A study to be made.
#[derive(Debug)]
pub struct NewStudy<'a, S> {
    /// What people call it.
    pub name: &'a str,
    /// `tune`, `compare` or `sweep`.
    pub question: &'a str,
    /// What was asked for, all of it: enough to resume without the command line.
    pub spec: &'a S,
}

/// A study as it is stored.
#[derive(Debug, Clone)]
pub struct StudyRow {
    /// Its number.
    pub id: StudyId,
    /// What people call it.
    pub name: String,
    /// `tune`, `compare` or `sweep`.
    pub question: String,
    /// When it was made, RFC 3339, UTC.
    pub created: String,
    /// Where it stands.
    pub state: StudyState,
    spec: String,
    context: Option<String>,
    optimiser: Option<String>,
    verdict: Option<String>,
}

const COLUMNS: &str = "id, name, question, created, state, spec, context, optimiser, verdict";

impl StudyRow {
    fn read(row: &Row<'_>) -> Result<(Self, String), rusqlite::Error> {
        let state: String = row.get(4)?;
        Ok((
            Self {
                id: StudyId(row.get(0)?),
                name: row.get(1)?,
                question: row.get(2)?,
                created: row.get(3)?,
                state: StudyState::Running,
                spec: row.get(5)?,
                context: row.get(6)?,
                optimiser: row.get(7)?,
                verdict: row.get(8)?,
            },
            state,
        ))
    }

    fn finish((mut row, state): (Self, String)) -> Result<Self, StoreErrorKind> {
        row.state = StudyState::parse(&state)?;
        Ok(row)
    }

    /// What was asked for.
    pub fn spec<T: DeserializeOwned>(&self) -> Result<T, StoreError> {
        document("failed to read what the study was asked", &self.spec)
    }

    /// What was found when the study began (server, space, data), once it has.
    pub fn context<T: DeserializeOwned>(&self) -> Result<Option<T>, StoreError> {
        self.context.as_deref().map(|t| document("failed to read the study's context", t)).transpose()
    }

    /// The optimiser's saved state, after its last step.
    pub fn optimiser<T: DeserializeOwned>(&self) -> Result<Option<T>, StoreError> {
        self.optimiser.as_deref().map(|t| document("failed to read the optimiser's state", t)).transpose()
    }

    /// The verdict, once there is one.
    pub fn verdict<T: DeserializeOwned>(&self) -> Result<Option<T>, StoreError> {
        self.verdict.as_deref().map(|t| document("failed to read the study's verdict", t)).transpose()
    }
}

fn document<T: DeserializeOwned>(operation: &'static str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|e| StoreError::new(operation, e))
}

fn to_text<T: Serialize>(operation: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|e| StoreError::new(operation, e))
}

impl Store {
    /// Makes a study in state `running`.
    pub fn create_study<S: Serialize>(&mut self, study: &NewStudy<'_, S>) -> Result<StudyId, StoreError> {
        const OPERATION: &str = "failed to store a new study";
        let spec = to_text(OPERATION, study.spec)?;
        self.db
            .execute(
                "INSERT INTO studies (name, question, state, spec) VALUES (?, ?, ?, ?)",
                params![study.name, study.question, StudyState::Running.as_str(), spec],
            )
            .map_err(|e| StoreError::new(OPERATION, e))?;
        Ok(StudyId(self.db.last_insert_rowid()))
    }

    /// One study.
    pub fn study(&self, id: StudyId) -> Result<StudyRow, StoreError> {
        const OPERATION: &str = "failed to read a study";
        self.db
            .query_row(&format!("SELECT {COLUMNS} FROM studies WHERE id = ?"), [id.0], StudyRow::read)
            .optional()
            .map_err(StoreErrorKind::from)
            .and_then(|row| row.ok_or_else(|| StoreErrorKind::NoStudy(id.to_string())))
            .and_then(StudyRow::finish)
            .map_err(|kind| StoreError::new(OPERATION, kind))
    }

    /// All studies, the newest first.
    pub fn studies(&self) -> Result<Vec<StudyRow>, StoreError> {
        let read = || {
            let mut statement =
                self.db.prepare(&format!("SELECT {COLUMNS} FROM studies ORDER BY id DESC"))?;
            let rows = statement.query_map([], StudyRow::read)?.collect::<Result<Vec<_>, _>>()?;
            rows.into_iter().map(StudyRow::finish).collect::<Result<_, StoreErrorKind>>()
        };
        read().map_err(|kind| StoreError::new("failed to list the studies", kind))
    }

    /// Writes where a study stands.
    pub fn set_study_state(&mut self, id: StudyId, state: StudyState) -> Result<(), StoreError> {
        self.update(id, "state", state.as_str().to_owned(), "failed to store the study's state")
    }

    /// Writes what was found when the study began.
    pub fn set_context<T: Serialize>(&mut self, id: StudyId, context: &T) -> Result<(), StoreError> {
        const OPERATION: &str = "failed to store the study's context";
        self.update(id, "context", to_text(OPERATION, context)?, OPERATION)
    }

    /// Writes the optimiser's state.
    pub fn set_optimiser<T: Serialize>(&mut self, id: StudyId, state: &T) -> Result<(), StoreError> {
        const OPERATION: &str = "failed to store the optimiser's state";
        self.update(id, "optimiser", to_text(OPERATION, state)?, OPERATION)
    }

    /// Writes the verdict and ends the study, both or neither.
    pub fn conclude<T: Serialize>(
        &mut self,
        id: StudyId,
        state: StudyState,
        verdict: &T,
    ) -> Result<(), StoreError> {
        const OPERATION: &str = "failed to store the study's verdict";
        let text = to_text(OPERATION, verdict)?;
        let changed = self
            .db
            .execute(
                "UPDATE studies SET verdict = ?, state = ? WHERE id = ?",
                params![text, state.as_str(), id.0],
            )
            .map_err(|e| StoreError::new(OPERATION, e))?;
        found(changed, id, OPERATION)
    }

    /// Deletes a study with all its trials.
    pub fn delete_study(&mut self, id: StudyId) -> Result<(), StoreError> {
        const OPERATION: &str = "failed to delete a study";
        let changed = self
            .db
            .execute("DELETE FROM studies WHERE id = ?", [id.0])
            .map_err(|e| StoreError::new(OPERATION, e))?;
        found(changed, id, OPERATION)
    }

    fn update(
        &mut self,
        id: StudyId,
        column: &'static str,
        text: String,
        operation: &'static str,
    ) -> Result<(), StoreError> {
        let changed = self
            .db
            .execute(&format!("UPDATE studies SET {column} = ? WHERE id = ?"), params![text, id.0])
            .map_err(|e| StoreError::new(operation, e))?;
        found(changed, id, operation)
    }
}

fn found(changed: usize, id: StudyId, operation: &'static str) -> Result<(), StoreError> {
    if changed == 1 {
        Ok(())
    } else {
        Err(StoreError::new(operation, StoreErrorKind::NoStudy(id.to_string())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("s.db")).unwrap();
        (folder, store)
    }

    #[test]
    fn a_study_is_read_as_it_was_written() {
        let (_folder, mut store) = store();
        let spec = json!({"trials": 12});
        let id = store.create_study(&NewStudy { name: "demo", question: "tune", spec: &spec }).unwrap();
        store.set_context(id, &json!({"server": "x"})).unwrap();
        store.conclude(id, StudyState::Finished, &json!({"ratio": 1.5})).unwrap();
        let row = store.study(id).unwrap();
        assert_eq!(row.spec::<Value>().unwrap(), spec);
        assert_eq!(row.context::<Value>().unwrap(), Some(json!({"server": "x"})));
        assert_eq!(row.verdict::<Value>().unwrap(), Some(json!({"ratio": 1.5})));
        assert_eq!(row.state, StudyState::Finished);
        assert!(row.created.ends_with('Z'), "{}", row.created);
        assert_eq!(store.studies().unwrap().len(), 1);
    }

    #[test]
    fn a_study_that_is_not_there_is_said_so() {
        let (_folder, mut store) = store();
        let none = StudyId(7);
        for error in [
            store.study(none).unwrap_err(),
            store.delete_study(none).unwrap_err(),
            store.set_context(none, &1).unwrap_err(),
        ] {
            assert!(matches!(error.kind(), StoreErrorKind::NoStudy(id) if id == "7"), "{error:?}");
        }
    }

    #[test]
    fn numbers_of_deleted_studies_are_not_given_again() {
        let (_folder, mut store) = store();
        let new = NewStudy { name: "a", question: "tune", spec: &1 };
        let first = store.create_study(&new).unwrap();
        store.delete_study(first).unwrap();
        assert_ne!(store.create_study(&new).unwrap(), first);
    }
}
