//! Trials and their steps.

use crate::error::{StoreError, StoreErrorKind};
use crate::schema::Store;
use crate::state::TrialState;
use crate::study::StudyId;
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// The number of a trial within its study, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrialId(pub u32);

impl fmt::Display for TrialId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A trial to be made.
#[derive(Debug)]
pub struct NewTrial<'a, P> {
    /// Who asked for it: `baseline`, `seed: …`, `search`, `proof` and so on.
    pub origin: &'a str,
    /// What is to be done: the configuration and all that is needed to do it again.
    pub plan: &'a P,
}

/// A trial as it is stored.
#[derive(Debug, Clone)]
pub struct TrialRow {
    /// Its number.
    pub id: TrialId,
    /// Who asked for it.
    pub origin: String,
    /// Where it stands.
    pub state: TrialState,
    /// How often it was begun; more than 1 after a crash of tunesmith.
    pub attempt: u32,
    /// Why it ended as it did, where it did not end well.
    pub failure: Option<String>,
    plan: String,
    measurement: Option<String>,
}

/// One step of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Which attempt at the trial.
    pub attempt: u32,
    /// The state entered.
    pub state: TrialState,
    /// When, in seconds since 1970, UTC.
    pub at: f64,
}

impl TrialRow {
    /// What is to be done.
    pub fn plan<T: DeserializeOwned>(&self) -> Result<T, StoreError> {
        serde_json::from_str(&self.plan).map_err(|e| StoreError::new("failed to read a trial's plan", e))
    }

    /// What was measured, from `judging` on.
    pub fn measurement<T: DeserializeOwned>(&self) -> Result<Option<T>, StoreError> {
        self.measurement
            .as_deref()
            .map(|t| serde_json::from_str(t).map_err(|e| StoreError::new("failed to read a measurement", e)))
            .transpose()
    }
}

type RawTrial = (u32, String, String, String, u32, Option<String>, Option<String>);

fn read_raw(row: &Row<'_>) -> Result<RawTrial, rusqlite::Error> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?))
}

fn typed(
    (id, origin, plan, state, attempt, measurement, failure): RawTrial,
) -> Result<TrialRow, StoreErrorKind> {
    let state = TrialState::parse(&state)?;
    Ok(TrialRow { id: TrialId(id), origin, state, attempt, failure, plan, measurement })
}

const COLUMNS: &str = "id, origin, plan, state, attempt, measurement, failure";

impl Store {
    /// Makes the study's next trial, in state `planned`, together with the optimiser's state after it was asked for.
    pub fn plan_trial<P: Serialize, O: Serialize>(
        &mut self,
        study: StudyId,
        trial: &NewTrial<'_, P>,
        optimiser: Option<&O>,
    ) -> Result<TrialId, StoreError> {
        let mut write = || -> Result<TrialId, StoreErrorKind> {
            let plan = serde_json::to_string(trial.plan)?;
            let tx = self.db.transaction()?;
            let id: u32 = tx.query_row(
                "SELECT COALESCE(MAX(id), 0) + 1 FROM trials WHERE study = ?",
                [study.0],
                |r| r.get(0),
            )?;
            tx.execute(
                "INSERT INTO trials (study, id, origin, plan, state) VALUES (?, ?, ?, ?, ?)",
                params![study.0, id, trial.origin, plan, TrialState::Planned.as_str()],
            )?;
            step(&tx, study, TrialId(id), TrialState::Planned)?;
            save_optimiser(&tx, study, optimiser)?;
            tx.commit()?;
            Ok(TrialId(id))
        };
        write().map_err(|kind| StoreError::new("failed to store a planned trial", kind))
    }

    /// Writes that a trial enters `state`. To be called before the step is taken.
    ///
    /// # Errors
    /// When the state can't follow the trial's present one, or the database can't be written.
    pub fn advance(&mut self, study: StudyId, trial: TrialId, state: TrialState) -> Result<(), StoreError> {
        self.transition(study, trial, state, |_| Ok(()), "failed to store a trial's step")
    }

    /// Writes the measurement and enters `judging`, both or neither.
    pub fn measured<M: Serialize>(
        &mut self,
        study: StudyId,
        trial: TrialId,
        measurement: &M,
    ) -> Result<(), StoreError> {
        const OPERATION: &str = "failed to store a measurement";
        let text = serde_json::to_string(measurement).map_err(|e| StoreError::new(OPERATION, e))?;
        self.transition(
            study,
            trial,
            TrialState::Judging,
            |tx| {
                tx.execute(
                    "UPDATE trials SET measurement = ? WHERE study = ? AND id = ?",
                    params![text, study.0, trial.0],
                )?;
                Ok(())
            },
            OPERATION,
        )
    }

    /// Ends a trial, together with the optimiser's state after it was told.
    pub fn end_trial<O: Serialize>(
        &mut self,
        study: StudyId,
        trial: TrialId,
        end: TrialState,
        failure: Option<&str>,
        optimiser: Option<&O>,
    ) -> Result<(), StoreError> {
        self.transition(
            study,
            trial,
            end,
            |tx| {
                tx.execute(
                    "UPDATE trials SET failure = ? WHERE study = ? AND id = ?",
                    params![failure, study.0, trial.0],
                )?;
                save_optimiser(tx, study, optimiser)
            },
            "failed to store the end of a trial",
        )
    }

    /// Puts an unfinished trial back to `planned` for another attempt; what was measured of it is gone.
    pub fn retry_trial(&mut self, study: StudyId, trial: TrialId) -> Result<u32, StoreError> {
        let mut write = || -> Result<u32, StoreErrorKind> {
            let tx = self.db.transaction()?;
            let from = state_of(&tx, study, trial)?;
            if from.is_end() {
                return Err(StoreErrorKind::Transition {
                    from: from.as_str(),
                    to: TrialState::Planned.as_str(),
                });
            }
            let attempt = tx.query_row(
                "UPDATE trials SET attempt = attempt + 1, state = ?, measurement = NULL WHERE study = ? AND id = ?
                 RETURNING attempt",
                params![TrialState::Planned.as_str(), study.0, trial.0],
                |r| r.get(0),
            )?;
            step(&tx, study, trial, TrialState::Planned)?;
            tx.commit()?;
            Ok(attempt)
        };
        write().map_err(|kind| StoreError::new("failed to put a trial back", kind))
    }

    /// All trials of a study, in order.
    pub fn trials(&self, study: StudyId) -> Result<Vec<TrialRow>, StoreError> {
        let read = || -> Result<Vec<TrialRow>, StoreErrorKind> {
            let mut statement =
                self.db.prepare(&format!("SELECT {COLUMNS} FROM trials WHERE study = ? ORDER BY id"))?;
            let rows = statement.query_map([study.0], read_raw)?.collect::<Result<Vec<_>, _>>()?;
            rows.into_iter().map(typed).collect()
        };
        read().map_err(|kind| StoreError::new("failed to read the trials", kind))
    }

    /// The steps of a trial, in order.
    pub fn steps(&self, study: StudyId, trial: TrialId) -> Result<Vec<Step>, StoreError> {
        let read = || -> Result<Vec<Step>, StoreErrorKind> {
            let mut statement = self.db.prepare(
                "SELECT attempt, state, at FROM steps WHERE study = ? AND trial = ? ORDER BY rowid",
            )?;
            let rows = statement
                .query_map([study.0, i64::from(trial.0)], |r| {
                    Ok((r.get::<_, u32>(0)?, r.get::<_, String>(1)?, r.get::<_, f64>(2)?))
                })?
                .collect::<Result<Vec<_>, _>>()?;
            rows.into_iter()
                .map(|(attempt, state, at)| Ok(Step { attempt, state: TrialState::parse(&state)?, at }))
                .collect()
        };
        read().map_err(|kind| StoreError::new("failed to read a trial's steps", kind))
    }

    fn transition(
        &mut self,
        study: StudyId,
        trial: TrialId,
        to: TrialState,
        also: impl FnOnce(&Transaction<'_>) -> Result<(), StoreErrorKind>,
        operation: &'static str,
    ) -> Result<(), StoreError> {
        let write = || -> Result<(), StoreErrorKind> {
            let tx = self.db.transaction()?;
            let from = state_of(&tx, study, trial)?;
            if !to.may_follow(from) {
                return Err(StoreErrorKind::Transition { from: from.as_str(), to: to.as_str() });
            }
            tx.execute(
                "UPDATE trials SET state = ? WHERE study = ? AND id = ?",
                params![to.as_str(), study.0, trial.0],
            )?;
            step(&tx, study, trial, to)?;
            also(&tx)?;
            tx.commit()?;
            Ok(())
        };
        write().map_err(|kind| StoreError::new(operation, kind))
    }
}

fn state_of(tx: &Transaction<'_>, study: StudyId, trial: TrialId) -> Result<TrialState, StoreErrorKind> {
    let word: Option<String> = tx
        .query_row("SELECT state FROM trials WHERE study = ? AND id = ?", params![study.0, trial.0], |r| {
            r.get(0)
        })
        .optional()?;
    TrialState::parse(&word.ok_or(StoreErrorKind::NoTrial(study.0, trial.0))?)
}

fn step(
    tx: &Transaction<'_>,
    study: StudyId,
    trial: TrialId,
    state: TrialState,
) -> Result<(), StoreErrorKind> {
    tx.execute(
        "INSERT INTO steps (study, trial, attempt, state)
         SELECT study, id, attempt, ? FROM trials WHERE study = ? AND id = ?",
        params![state.as_str(), study.0, trial.0],
    )?;
    Ok(())
}

fn save_optimiser<O: Serialize>(
    tx: &Transaction<'_>,
    study: StudyId,
    state: Option<&O>,
) -> Result<(), StoreErrorKind> {
    if let Some(state) = state {
        let text = serde_json::to_string(state)?;
        tx.execute("UPDATE studies SET optimiser = ? WHERE id = ?", params![text, study.0])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::NewStudy;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn store_with_trial() -> (tempfile::TempDir, Store, StudyId, TrialId) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("s.db")).unwrap();
        let study = store.create_study(&NewStudy { name: "x", question: "tune", spec: &0 }).unwrap();
        let new = NewTrial { origin: "search", plan: &json!({"innodb_io_capacity": 400}) };
        let trial = store.plan_trial(study, &new, Some(&"asked")).unwrap();
        (folder, store, study, trial)
    }

    #[test]
    fn a_trial_leaves_a_step_for_each_state_and_ends_with_its_measurement() {
        let (_folder, mut store, study, trial) = store_with_trial();
        for state in [
            TrialState::Applying,
            TrialState::Restarting,
            TrialState::Verifying,
            TrialState::Warming,
            TrialState::Measuring,
        ] {
            store.advance(study, trial, state).unwrap();
        }
        store.measured(study, trial, &json!({"tps": 300.5})).unwrap();
        store.end_trial(study, trial, TrialState::Kept, None, Some(&"told")).unwrap();
        let row = &store.trials(study).unwrap()[0];
        assert_eq!(row.state, TrialState::Kept);
        assert_eq!(row.measurement::<Value>().unwrap(), Some(json!({"tps": 300.5})));
        assert_eq!(row.plan::<Value>().unwrap(), json!({"innodb_io_capacity": 400}));
        assert_eq!(store.study(study).unwrap().optimiser::<String>().unwrap().as_deref(), Some("told"));
        let states: Vec<_> = store.steps(study, trial).unwrap().iter().map(|s| s.state).collect();
        assert_eq!(states, TrialState::ALL[..8]);
    }

    #[test]
    fn an_illegal_step_changes_nothing() {
        let (_folder, mut store, study, trial) = store_with_trial();
        let error = store.advance(study, trial, TrialState::Measuring).unwrap_err();
        assert!(matches!(error.kind(), StoreErrorKind::Transition { from: "planned", to: "measuring" }));
        assert!(store.measured(study, trial, &1).is_err());
        let row = &store.trials(study).unwrap()[0];
        assert_eq!(row.state, TrialState::Planned);
        assert_eq!(row.measurement::<Value>().unwrap(), None);
    }

    #[test]
    fn another_attempt_starts_from_planned_without_the_old_measurement() {
        let (_folder, mut store, study, trial) = store_with_trial();
        store.advance(study, trial, TrialState::Applying).unwrap();
        assert_eq!(store.retry_trial(study, trial).unwrap(), 2);
        let row = &store.trials(study).unwrap()[0];
        assert_eq!((row.state, row.attempt), (TrialState::Planned, 2));
        store.end_trial(study, trial, TrialState::Failed, Some("no"), None::<&()>).unwrap();
        assert!(store.retry_trial(study, trial).is_err(), "what is over stays over");
    }

    #[test]
    fn deleting_a_study_takes_its_trials_along() {
        let (_folder, mut store, study, trial) = store_with_trial();
        store.delete_study(study).unwrap();
        assert!(store.trials(study).unwrap().is_empty());
        assert!(store.steps(study, trial).unwrap().is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Whatever steps are asked for, the stored history is one that the state machine allows.
        #[test]
        fn every_stored_history_is_legal(asked in proptest::collection::vec(0..TrialState::ALL.len(), 0..25)) {
            let (_folder, mut store, study, trial) = store_with_trial();
            for index in asked {
                // Refusals are part of the game.
                let _ = store.advance(study, trial, TrialState::ALL[index]);
            }
            let steps = store.steps(study, trial).unwrap();
            for pair in steps.windows(2) {
                prop_assert!(pair[1].state.may_follow(pair[0].state));
            }
            let row = &store.trials(study).unwrap()[0];
            prop_assert_eq!(row.state, steps.last().unwrap().state);
        }
    }
}
