//! The optimiser as a conversation of JSON lines (docs/optimiser.md, "serve"). Pure: a line in, a line out.

mod messages;

use crate::history::Outcome;
use crate::optimizer::Optimizer;
use messages::{Ask, Earlier, Effect, Init, Nothing, Observe, Restore, Seed, Tell};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

/// A conversation about one study.
#[derive(Debug, Default)]
pub struct Session {
    optimizer: Option<Optimizer>,
}

/// Why a line was not obeyed; its text is what the caller reads.
#[derive(Debug, thiserror::Error)]
enum LineError {
    #[error("not a JSON object: {0}")]
    Syntax(serde_json::Error),
    #[error("the line has no \"op\"; one of {OPS}")]
    NoOp,
    #[error("unknown op {0:?}; one of {OPS}")]
    UnknownOp(String),
    #[error("{op}: {source}")]
    Fields { op: String, source: serde_json::Error },
    #[error("{0}: there is no study yet; send an init first")]
    NoStudy(String),
    #[error("{op}: {text}")]
    Refused { op: String, text: String },
}

const OPS: &str = "init, earlier, seed, ask, tell, observe, best, gain, importance, effect, smallest, trials, save, restore";

impl Session {
    /// A conversation that waits for its `init`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers one line. A line that cannot be obeyed gets `{"error": ...}` and changes nothing.
    pub fn answer(&mut self, line: &str) -> String {
        match self.obey(line) {
            Ok(answer) => answer.to_string(),
            Err(error) => json!({ "error": error.to_string() }).to_string(),
        }
    }

    fn obey(&mut self, line: &str) -> Result<Json, LineError> {
        let mut fields: Map<String, Json> = serde_json::from_str(line).map_err(LineError::Syntax)?;
        let op = match fields.remove("op") {
            Some(Json::String(op)) => op,
            _ => return Err(LineError::NoOp),
        };
        let refused =
            |error: &dyn std::error::Error| LineError::Refused { op: op.clone(), text: error.to_string() };
        match op.as_str() {
            "init" => {
                let init: Init = read(&op, fields)?;
                let settings = init.settings();
                let space = init.space().map_err(|e| refused(&e))?;
                self.optimizer = Some(Optimizer::new(space, settings));
                Ok(json!({ "ok": true }))
            }
            "restore" => {
                let restore: Restore = read(&op, fields)?;
                self.optimizer = Some(Optimizer::restore(restore.state));
                Ok(json!({ "ok": true }))
            }
            "seed" => {
                let seed: Seed = read(&op, fields)?;
                let added = self.study(&op)?.add_seed(&seed.values, seed.label).map_err(|e| refused(&e))?;
                Ok(json!({ "ok": true, "added": added }))
            }
            "ask" => {
                let ask: Ask = read(&op, fields)?;
                let optimizer = self.study(&op)?;
                let one = |optimizer: &mut Optimizer| messages::asked(&optimizer.ask());
                match ask.count {
                    None => Ok(one(optimizer)),
                    Some(n) if (1..=1000).contains(&n) => {
                        Ok(json!({ "asked": (0..n).map(|_| one(optimizer)).collect::<Vec<_>>() }))
                    }
                    Some(n) => Err(LineError::Refused {
                        op,
                        text: format!("count is {n}; 1 to 1000 can be asked for"),
                    }),
                }
            }
            "tell" => {
                let tell: Tell = read(&op, fields)?;
                let outcome = tell.outcome().map_err(|text| LineError::Refused { op: op.clone(), text })?;
                self.study(&op)?
                    .tell_all(tell.id, outcome, tell.cost, tell.constraints)
                    .map_err(|e| refused(&e))?;
                Ok(json!({ "ok": true }))
            }
            "observe" => {
                let observe: Observe = read(&op, fields)?;
                let outcome = match (observe.value, observe.failed) {
                    (Some(value), false) => Outcome::value(value),
                    (None, true) => Outcome::Failed,
                    _ => {
                        return Err(LineError::Refused {
                            op,
                            text: "give a \"value\" or \"failed\": true".into(),
                        });
                    }
                };
                let id = self
                    .study(&op)?
                    .observe(&observe.values, outcome, observe.cost)
                    .map_err(|e| refused(&e))?;
                Ok(json!({ "ok": true, "id": id }))
            }
            "earlier" => {
                let earlier: Earlier = read(&op, fields)?;
                let trials: Vec<_> = earlier.trials.into_iter().map(|r| (r.values, r.value)).collect();
                let used = self.study(&op)?.add_earlier(&trials);
                Ok(json!({ "ok": true, "used": used }))
            }
            "best" => {
                let Nothing {} = read(&op, fields)?;
                self.study(&op)?.best().map(|b| json!(b)).ok_or_else(|| nothing_yet(op))
            }
            "gain" => {
                let Nothing {} = read(&op, fields)?;
                self.study(&op)?.expected_gain().map(|g| json!(g)).ok_or_else(|| nothing_yet(op))
            }
            "importance" => {
                let Nothing {} = read(&op, fields)?;
                Ok(json!({ "importance": self.study(&op)?.importance() }))
            }
            "effect" => {
                let effect: Effect = read(&op, fields)?;
                let curve =
                    self.study(&op)?.effect(&effect.knob, effect.with.as_deref()).map_err(|e| refused(&e))?;
                Ok(json!({ "effect": curve }))
            }
            "smallest" => {
                let Nothing {} = read(&op, fields)?;
                self.study(&op)?.smallest().map(|s| json!(s)).ok_or_else(|| nothing_yet(op))
            }
            "trials" => Ok(json!({ "trials": self.study(&op)?.trials() })),
            "save" => Ok(json!({ "state": self.study(&op)?.save() })),
            _ => Err(LineError::UnknownOp(op)),
        }
    }

    fn study(&mut self, op: &str) -> Result<&mut Optimizer, LineError> {
        self.optimizer.as_mut().ok_or_else(|| LineError::NoStudy(op.to_owned()))
    }
}

fn read<T: DeserializeOwned>(op: &str, fields: Map<String, Json>) -> Result<T, LineError> {
    serde_json::from_value(Json::Object(fields))
        .map_err(|source| LineError::Fields { op: op.to_owned(), source })
}

fn nothing_yet(op: String) -> LineError {
    LineError::Refused { op, text: "no trial has a reading yet".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INIT: &str = r#"{"op":"init","direction":"maximize","seed":1,"space":[
        {"name":"io_capacity","type":"int","min":100,"max":40000,"log":true,"default":200},
        {"name":"flush_neighbors","type":"enum","values":["0","1","2"],"default":"1"}],"trials":50}"#;

    fn init() -> Session {
        let mut session = Session::new();
        assert_eq!(session.answer(INIT), r#"{"ok":true}"#);
        session
    }

    fn say(session: &mut Session, line: &str) -> Json {
        serde_json::from_str(&session.answer(line)).unwrap()
    }

    #[test]
    fn the_promised_conversation_goes_as_promised() {
        let mut session = init();
        let first = say(&mut session, r#"{"op":"ask"}"#);
        assert_eq!(first["id"], 1);
        assert_eq!(first["values"], json!({ "io_capacity": 200, "flush_neighbors": "1" }));
        assert_eq!(session.answer(r#"{"op":"tell","id":1,"value":312.5}"#), r#"{"ok":true}"#);
        let best = say(&mut session, r#"{"op":"best"}"#);
        assert_eq!(best["id"], 1);
        assert!((best["mean"].as_f64().unwrap() - 312.5).abs() < 1.0, "{best}");
        assert!(best["sd"].is_number());
        let second = say(&mut session, r#"{"op":"ask"}"#);
        assert_eq!(
            session.answer(&format!(r#"{{"op":"tell","id":{},"failed":true}}"#, second["id"])),
            r#"{"ok":true}"#
        );
    }

    #[test]
    fn a_bad_line_gets_an_error_and_the_conversation_goes_on() {
        let mut session = Session::new();
        for (line, says) in [
            ("{", "not a JSON object"),
            ("[]", "not a JSON object"),
            ("{}", "no \\\"op\\\""),
            (r#"{"op":"dance"}"#, "unknown op"),
            (r#"{"op":"ask"}"#, "send an init first"),
            (r#"{"op":"init","direction":"up","space":[]}"#, "unknown variant"),
        ] {
            let answer = session.answer(line);
            assert!(answer.starts_with(r#"{"error":"#) && answer.contains(says), "{line} got {answer}");
        }
        session.answer(INIT);
        say(&mut session, r#"{"op":"ask"}"#);
        for (line, says) in [
            (r#"{"op":"tell","id":7,"value":1}"#, "no trial 7"),
            (r#"{"op":"tell","id":1}"#, "give one of"),
            (r#"{"op":"tell","id":1,"value":1,"failed":true}"#, "give one of"),
            (r#"{"op":"tell","id":1,"valu":1}"#, "unknown field"),
            (r#"{"op":"best"}"#, "no trial has a reading yet"),
            (r#"{"op":"ask","count":0}"#, "1 to 1000"),
        ] {
            let answer = session.answer(line);
            assert!(answer.starts_with(r#"{"error":"#) && answer.contains(says), "{line} got {answer}");
        }
        assert_eq!(session.answer(r#"{"op":"tell","id":1,"value":5}"#), r#"{"ok":true}"#);
    }

    #[test]
    fn a_saved_conversation_is_taken_up_by_another() {
        let mut one = init();
        for id in 1..=9 {
            say(&mut one, r#"{"op":"ask"}"#);
            one.answer(&format!(r#"{{"op":"tell","id":{id},"value":{}}}"#, 100 + id));
        }
        let saved = say(&mut one, r#"{"op":"save"}"#);
        let mut two = Session::new();
        two.answer(&json!({ "op": "restore", "state": saved["state"] }).to_string());
        assert_eq!(one.answer(r#"{"op":"ask","count":3}"#), two.answer(r#"{"op":"ask","count":3}"#));
    }
}
