//! One parameter: its kind, range and default, and how its values become coordinates.

use super::value::Value;
use super::{SpaceError, SpaceErrorKind};
use serde::{Deserialize, Serialize};

/// What values a parameter takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Real numbers in `[min, max]`; `specials` are atoms of their own (0 = automatic), inside or outside the range.
    Float {
        /// Smallest ordinary value.
        min: f64,
        /// Largest ordinary value.
        max: f64,
        /// Equal ratios are equal steps.
        log: bool,
        /// Values with a meaning of their own.
        specials: Vec<f64>,
    },
    /// Whole numbers `min, min + step, ...` up to `max`.
    Int {
        /// Smallest ordinary value.
        min: i64,
        /// Largest ordinary value.
        max: i64,
        /// Equal ratios are equal steps.
        log: bool,
        /// Distance of neighbouring values, at least 1.
        step: i64,
        /// Values with a meaning of their own.
        specials: Vec<i64>,
    },
    /// Named or numbered values in an order that matters.
    Ordinal(Vec<Value>),
    /// Named values without an order.
    Enum(Vec<String>),
    /// Off or on.
    Bool,
}

/// A parameter that is in use only while another one has certain values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The deciding parameter's name.
    pub param: String,
    /// The deciding values.
    pub values: Vec<Value>,
}

/// One dimension of the search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// Its name, unique in the space.
    pub name: String,
    /// What values it takes.
    pub kind: Kind,
    /// What the server has now; also what it keeps where a condition switches the parameter off.
    pub default: Value,
    /// A change costs a restart of the server.
    #[serde(default)]
    pub restart: bool,
    /// In use only under this condition.
    #[serde(default)]
    pub when: Option<Condition>,
}

/// One coordinate of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Coord {
    /// Position in the ordinary range, 0 to 1.
    Num(f64),
    /// The index of a special value, of an enumeration's name, or of off/on.
    Level(usize),
}

impl Param {
    /// A parameter of `kind` with `default`, which costs no restart.
    pub fn new(name: impl Into<String>, kind: Kind, default: impl Into<Value>) -> Self {
        Self { name: name.into(), kind, default: default.into(), restart: false, when: None }
    }

    /// A real-valued parameter.
    pub fn float(name: impl Into<String>, min: f64, max: f64, default: f64) -> Self {
        Self::new(name, Kind::Float { min, max, log: false, specials: vec![] }, default)
    }

    /// A whole-number parameter.
    pub fn int(name: impl Into<String>, min: i64, max: i64, default: i64) -> Self {
        Self::new(name, Kind::Int { min, max, log: false, step: 1, specials: vec![] }, default)
    }

    /// An enumeration.
    pub fn choice(name: impl Into<String>, values: &[&str], default: &str) -> Self {
        Self::new(name, Kind::Enum(values.iter().map(|v| (*v).to_owned()).collect()), default)
    }

    /// An on/off parameter.
    pub fn bool(name: impl Into<String>, default: bool) -> Self {
        Self::new(name, Kind::Bool, default)
    }

    /// Searches on a logarithmic scale.
    #[must_use]
    pub fn log(mut self) -> Self {
        if let Kind::Float { log, .. } | Kind::Int { log, .. } = &mut self.kind {
            *log = true;
        }
        self
    }

    /// Adds a value with a meaning of its own.
    #[must_use]
    pub fn special(mut self, value: i64) -> Self {
        match &mut self.kind {
            Kind::Int { specials, .. } => specials.push(value),
            Kind::Float { specials, .. } => specials.push(value as f64),
            Kind::Ordinal(_) | Kind::Enum(_) | Kind::Bool => {}
        }
        self
    }

    /// A change costs a restart.
    #[must_use]
    pub fn restart(mut self) -> Self {
        self.restart = true;
        self
    }

    /// In use only while `param` has one of `values`.
    #[must_use]
    pub fn when(mut self, param: impl Into<String>, values: Vec<Value>) -> Self {
        self.when = Some(Condition { param: param.into(), values });
        self
    }

    pub(crate) fn check(&self) -> Result<(), SpaceError> {
        let wrong = |text: String| Err(SpaceError::new(&self.name, SpaceErrorKind::Param(text)));
        match &self.kind {
            Kind::Float { min, max, log, specials } => {
                if !(min.is_finite() && max.is_finite() && min <= max) {
                    return wrong(format!("the range {min} to {max} is empty or not finite"));
                }
                if *log && *min <= 0.0 {
                    return wrong(format!(
                        "a logarithmic range starts above 0, not at {min}; make {min} a special value"
                    ));
                }
                if specials.iter().any(|s| !s.is_finite()) {
                    return wrong("a special value is not finite".into());
                }
            }
            Kind::Int { min, max, step, .. } => {
                if min > max || *step < 1 {
                    return wrong(format!("the range {min} to {max} by {step} is empty"));
                }
            }
            Kind::Ordinal(values) if values.is_empty() => return wrong("the list of values is empty".into()),
            Kind::Enum(values) if values.is_empty() => return wrong("the list of values is empty".into()),
            Kind::Ordinal(_) | Kind::Enum(_) | Kind::Bool => {}
        }
        match self.encode(&self.default) {
            Some(_) => Ok(()),
            None => wrong(format!(
                "the default {} is not a value of it; widen the range or list it as special",
                self.default
            )),
        }
    }

    /// How many levels (specials, names, off/on) there are.
    pub(crate) fn levels(&self) -> usize {
        match &self.kind {
            Kind::Float { specials, .. } => specials.len(),
            Kind::Int { specials, .. } => specials.len(),
            Kind::Ordinal(_) => 0,
            Kind::Enum(values) => values.len(),
            Kind::Bool => 2,
        }
    }

    /// True if it has an ordered range besides its levels.
    pub(crate) fn numeric(&self) -> bool {
        matches!(self.kind, Kind::Float { .. } | Kind::Int { .. } | Kind::Ordinal(_))
    }

    /// How many different ordinary values there are (`usize::MAX` for a real range).
    pub(crate) fn ordinary_values(&self) -> usize {
        match &self.kind {
            Kind::Float { min, max, .. } if min == max => 1,
            Kind::Float { .. } => usize::MAX,
            Kind::Int { min, max, step, .. } => {
                usize::try_from((i128::from(*max) - i128::from(*min)) / i128::from(*step) + 1)
                    .unwrap_or(usize::MAX)
            }
            Kind::Ordinal(values) => values.len(),
            Kind::Enum(_) | Kind::Bool => 0,
        }
    }

    /// False if there is only one value to choose.
    pub(crate) fn free(&self) -> bool {
        self.levels().saturating_add(self.ordinary_values()) > 1
    }

    /// The coordinate of a value; `None` if it is not a value of this parameter.
    pub(crate) fn encode(&self, value: &Value) -> Option<Coord> {
        match (&self.kind, value) {
            (Kind::Float { min, max, log, specials }, v) => {
                let x = v.as_f64()?;
                if let Some(i) = specials.iter().position(|s| *s == x) {
                    return Some(Coord::Level(i));
                }
                (*min..=*max).contains(&x).then(|| Coord::Num(position(x, *min, *max, *log)))
            }
            (Kind::Int { min, max, log, specials, .. }, v) => {
                let x = match v {
                    Value::Int(i) => *i,
                    Value::Float(f) if f.fract() == 0.0 && f.abs() < 9e18 => *f as i64,
                    Value::Float(_) | Value::Text(_) | Value::Bool(_) => return None,
                };
                if let Some(i) = specials.iter().position(|s| *s == x) {
                    return Some(Coord::Level(i));
                }
                (*min..=*max).contains(&x).then(|| Coord::Num(int_position(x, *min, *max, *log)))
            }
            (Kind::Ordinal(values), v) => {
                let i = values.iter().position(|o| o.same_as(v))?;
                Some(Coord::Num(if values.len() == 1 { 0.5 } else { i as f64 / (values.len() - 1) as f64 }))
            }
            (Kind::Enum(values), Value::Text(t)) => values.iter().position(|v| v == t).map(Coord::Level),
            (Kind::Bool, Value::Bool(b)) => Some(Coord::Level(usize::from(*b))),
            (Kind::Enum(_) | Kind::Bool, _) => None,
        }
    }

    /// The value nearest to a coordinate.
    pub(crate) fn decode(&self, coord: Coord) -> Value {
        match (&self.kind, coord) {
            (Kind::Float { min, max, log, .. }, Coord::Num(u)) => Value::Float(value_at(u, *min, *max, *log)),
            (Kind::Float { specials, .. }, Coord::Level(i)) => Value::Float(specials[i]),
            (Kind::Int { min, max, log, step, .. }, Coord::Num(u)) => {
                let x = int_value_at(u, *min, *max, *log);
                let steps = ((x - *min as f64) / *step as f64).round() as i64;
                let last = ((i128::from(*max) - i128::from(*min)) / i128::from(*step)) as i64;
                Value::Int(min + steps.clamp(0, last) * step)
            }
            (Kind::Int { specials, .. }, Coord::Level(i)) => Value::Int(specials[i]),
            (Kind::Ordinal(values), Coord::Num(u)) => values
                [(u * (values.len() - 1) as f64).round().clamp(0.0, (values.len() - 1) as f64) as usize]
                .clone(),
            (Kind::Ordinal(values), Coord::Level(i)) => values[i].clone(),
            (Kind::Enum(values), Coord::Level(i)) => Value::Text(values[i].clone()),
            (Kind::Bool, Coord::Level(i)) => Value::Bool(i == 1),
            // An unordered kind has no positions; the nearest thing is its first level.
            (Kind::Enum(values), Coord::Num(_)) => Value::Text(values[0].clone()),
            (Kind::Bool, Coord::Num(_)) => Value::Bool(false),
        }
    }
}

fn position(x: f64, min: f64, max: f64, log: bool) -> f64 {
    if min == max {
        0.5
    } else if log {
        (x / min).ln() / (max / min).ln()
    } else {
        (x - min) / (max - min)
    }
}

fn value_at(u: f64, min: f64, max: f64, log: bool) -> f64 {
    let x = if log { min * (max / min).ln().mul_add(u, 0.0).exp() } else { min + (max - min) * u };
    x.clamp(min, max)
}

// Integers on a log scale may start at 0 or below; they are shifted so that the smallest becomes 1.
fn shift(min: i64) -> f64 {
    if min >= 1 { 0.0 } else { 1.0 - min as f64 }
}

fn int_position(x: i64, min: i64, max: i64, log: bool) -> f64 {
    let s = shift(min);
    if log {
        position(x as f64 + s, min as f64 + s, max as f64 + s, true)
    } else {
        position(x as f64, min as f64, max as f64, false)
    }
}

fn int_value_at(u: f64, min: i64, max: i64, log: bool) -> f64 {
    let s = shift(min);
    if log {
        value_at(u, min as f64 + s, max as f64 + s, true) - s
    } else {
        value_at(u, min as f64, max as f64, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_range_halves_by_ratio() {
        let p = Param::int("io_capacity", 100, 40_000, 200).log();
        assert_eq!(p.decode(Coord::Num(0.5)), Value::Int(2000));
        assert_eq!(p.decode(Coord::Num(0.0)), Value::Int(100));
        assert_eq!(p.decode(Coord::Num(1.0)), Value::Int(40_000));
    }

    #[test]
    fn a_special_value_is_an_atom_and_not_a_point_of_the_range() {
        let p = Param::int("thread_concurrency", 1, 1000, 0).special(0);
        assert_eq!(p.encode(&Value::Int(0)), Some(Coord::Level(0)));
        assert!(matches!(p.encode(&Value::Int(1)), Some(Coord::Num(u)) if u == 0.0));
        assert_eq!(p.decode(Coord::Level(0)), Value::Int(0));
    }

    #[test]
    fn integers_keep_their_step_and_their_range() {
        let p = Param::new("chunk", Kind::Int { min: 1, max: 10, log: false, step: 4, specials: vec![] }, 5);
        assert_eq!(p.decode(Coord::Num(1.0)), Value::Int(9));
        assert_eq!(p.decode(Coord::Num(0.4)), Value::Int(5));
        assert_eq!(p.ordinary_values(), 3);
    }

    #[test]
    fn a_default_outside_the_range_is_refused_with_a_way_out() {
        let error = Param::int("a", 1, 10, 0).check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "parameter a: the default 0 is not a value of it; widen the range or list it as special"
        );
    }

    #[test]
    fn a_logarithmic_range_of_integers_may_start_at_zero() {
        let p = Param::int("lag", 0, 99, 0).log();
        p.check().unwrap();
        assert_eq!(p.decode(Coord::Num(0.0)), Value::Int(0));
        assert_eq!(p.decode(Coord::Num(0.5)), Value::Int(9));
    }
}
