//! The reader of the table of knobs.

use crate::identity::{Flavour, Version};
use crate::knob::{Area, Change, Facts, Fate, Kind, Knob, Risk, Scope, Support, TuneHint};
use crate::units::{Bytes, Unit};
use crate::value::Value;

/// A line of a table of knobs that does not follow the format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct RegistryError {
    /// The line's number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl RegistryError {
    pub(super) fn new(line: usize, reason: impl Into<String>) -> Self {
        Self { line, reason: reason.into() }
    }
}

/// All knobs of a table, each with the number of its first line.
pub(super) fn parse(table: &str) -> Result<Vec<(usize, Knob)>, RegistryError> {
    let mut knobs: Vec<(usize, Knob)> = Vec::new();
    for (index, line) in table.lines().enumerate() {
        let number = index + 1;
        let text = line.trim_end();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if !text.starts_with(' ') {
            knobs.push((number, blank(text)));
            continue;
        }
        let Some((_, knob)) = knobs.last_mut() else {
            return Err(RegistryError::new(number, "no knob is named above this line"));
        };
        detail(knob, text.trim_start()).map_err(|reason| RegistryError::new(number, reason))?;
    }
    Ok(knobs)
}

fn blank(heading: &str) -> Knob {
    let mut names = heading.split_whitespace().map(str::to_owned);
    Knob {
        name: names.next().unwrap_or_default(),
        aliases: names.collect(),
        what: String::new(),
        area: Area::Innodb,
        kind: Kind::Int,
        unit: Unit::None,
        risk: Risk::Performance,
        scope: Scope::Global,
        specials: Vec::new(),
        history: Vec::new(),
        tune: None,
        rds: Support::Ask,
        aurora: Support::Ask,
        drifts: false,
    }
}

fn detail(knob: &mut Knob, line: &str) -> Result<(), String> {
    let (head, rest) = line.split_once(' ').unwrap_or((line, ""));
    match head {
        "|" => {
            if !knob.what.is_empty() {
                knob.what.push(' ');
            }
            knob.what.push_str(rest);
        }
        "is" => is(knob, rest)?,
        "special" => {
            let (number, meaning) = rest.split_once('=').ok_or("write a special value like 0=off")?;
            knob.specials.push((whole(number)?, meaning.trim().to_owned()));
        }
        "tune" => knob.tune = Some(tune(rest)?),
        "rds" => knob.rds = support(rest)?,
        "aurora" => knob.aurora = support(rest)?,
        "drifts" => knob.drifts = true,
        flavour => {
            let flavour: Flavour = flavour.parse()?;
            let (since, fate) = rest.split_once(' ').ok_or("a version and what holds from it")?;
            let fate = match fate.strip_prefix("gone") {
                Some(successor) => {
                    let successor = successor.trim();
                    Fate::Gone((!successor.is_empty()).then(|| successor.to_owned()))
                }
                None => Fate::Present(facts(knob, fate)?),
            };
            knob.history.push((flavour, since.parse::<Version>()?, fate));
        }
    }
    Ok(())
}

/// `is AREA KIND UNIT RISK [both|session]`
fn is(knob: &mut Knob, rest: &str) -> Result<(), String> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [area, kind, unit, risk, scope @ ..] = words.as_slice() else {
        return Err("write `is AREA KIND UNIT RISK [both|session]`".into());
    };
    knob.area = parse_area(area).ok_or_else(|| format!("no area is called {area}"))?;
    knob.kind = match *kind {
        "int" => Kind::Int,
        "float" => Kind::Float,
        "bool" => Kind::Bool,
        "enum" => Kind::Enum,
        "choice" => Kind::Choice,
        "text" => Kind::Text,
        other => return Err(format!("no kind is called {other}")),
    };
    knob.unit = match *unit {
        "-" => Unit::None,
        word => Unit::parse(word).ok_or_else(|| format!("no unit is called {word}"))?,
    };
    knob.risk = match *risk {
        "performance" => Risk::Performance,
        "memory" => Risk::Memory,
        "availability" => Risk::Availability,
        "durability" => Risk::Durability,
        "semantics" => Risk::Semantics,
        other => return Err(format!("no risk is called {other}")),
    };
    knob.scope = match scope {
        [] => Scope::Global,
        ["both"] => Scope::Both,
        ["session"] => Scope::Session,
        other => return Err(format!("no scope is called {}", other.join(" "))),
    };
    Ok(())
}

/// `dyn|restart [MIN..MAX | {A,B}] [step N] = DEFAULT|auto`
fn facts(knob: &Knob, text: &str) -> Result<Facts, String> {
    let (left, default) = text.split_once('=').ok_or("write the default behind =")?;
    let mut words = left.split_whitespace();
    let change = match words.next() {
        Some("dyn") => Change::Dynamic,
        Some("restart") => Change::Restart,
        other => return Err(format!("dyn or restart, not {}", other.unwrap_or("nothing"))),
    };
    let mut facts = Facts { change, min: None, max: None, options: Vec::new(), default: None, step: 1 };
    while let Some(word) = words.next() {
        if word == "step" {
            facts.step = whole(words.next().unwrap_or_default())?;
        } else if let Some(list) = word.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            facts.options = list.split(',').map(str::to_owned).collect();
        } else if let Some((low, high)) = word.split_once("..") {
            facts.min = Some(number(low)?);
            facts.max = if high == "max" { None } else { Some(number(high)?) };
        } else {
            return Err(format!("`{word}` is neither a range nor a list"));
        }
    }
    let default = default.trim();
    if default == "max" {
        facts.default = Some(Value::Int(i64::MAX));
    } else if default != "auto" {
        facts.default = Some(Value::parse_server(knob, default).map_err(|e| e.to_string())?);
    }
    Ok(facts)
}

/// `[log] LOW..HIGH [step N] [atoms A,B]`, or nothing for switches and enumerations.
fn tune(text: &str) -> Result<TuneHint, String> {
    let mut hint =
        TuneHint { log: false, low: String::new(), high: String::new(), step: 1, atoms: Vec::new() };
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "log" => hint.log = true,
            "step" => hint.step = whole(words.next().unwrap_or_default())?,
            "atoms" => {
                for atom in words.next().unwrap_or_default().split(',') {
                    hint.atoms.push(whole(atom)?);
                }
            }
            range => {
                let (low, high) = range.split_once("..").ok_or_else(|| format!("`{range}` is no range"))?;
                (hint.low, hint.high) = (low.to_owned(), high.to_owned());
            }
        }
    }
    Ok(hint)
}

fn support(word: &str) -> Result<Support, String> {
    Ok(match word {
        "free" => Support::Free,
        "fixed" => Support::Fixed,
        "inert" => Support::Inert,
        "ask" => Support::Ask,
        other => return Err(format!("free, fixed, inert or ask, not {other}")),
    })
}

fn whole(text: &str) -> Result<i64, String> {
    number(text).map(|x| x as i64)
}

/// A number with an optional K, M, G or T.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    let text = text.trim();
    text.parse::<f64>()
        .ok()
        .or_else(|| text.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64))
        .ok_or_else(|| format!("`{text}` is no number"))
}

fn parse_area(word: &str) -> Option<Area> {
    Some(match word {
        "buffer-pool" => Area::BufferPool,
        "redo" => Area::Redo,
        "flushing" => Area::Flushing,
        "purge" => Area::Purge,
        "io" => Area::Io,
        "concurrency" => Area::Concurrency,
        "locking" => Area::Locking,
        "innodb" => Area::Innodb,
        "connections" => Area::Connections,
        "caches" => Area::Caches,
        "temp-tables" => Area::TempTables,
        "session" => Area::Session,
        "binlog" => Area::Binlog,
        "replication" => Area::Replication,
        "durability" => Area::Durability,
        "query-cache" => Area::QueryCache,
        "thread-pool" => Area::ThreadPool,
        "myisam" => Area::Myisam,
        "aria" => Area::Aria,
        "optimizer" => Area::Optimizer,
        "observability" => Area::Observability,
        "security" => Area::Security,
        "semantics" => Area::Semantics,
        _ => return None,
    })
}
