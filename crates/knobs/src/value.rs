//! Values of knobs: typed, and written as the server wants them.

use crate::knob::{Kind, Knob};
use crate::units::{Bytes, Unit};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A value of a knob. Its unit is in the knob's record. Serialised as a plain JSON scalar.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number. What a server reports above `i64::MAX` ("unlimited") is held as `i64::MAX`.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A switch.
    Bool(bool),
    /// A word of an enumeration, or free text.
    Text(String),
}

/// A text that is no value of a knob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no value of {knob}: expected {expected}")]
pub struct ValueError {
    /// The knob's name.
    pub knob: String,
    /// What was given.
    pub text: String,
    /// What would have been understood.
    pub expected: String,
}

/// Reads a switch in every spelling that servers and files use.
pub(crate) fn parse_switch(text: &str) -> Option<bool> {
    match text.trim().to_ascii_uppercase().as_str() {
        "ON" | "1" | "YES" | "TRUE" => Some(true),
        "OFF" | "0" | "NO" | "FALSE" => Some(false),
        _ => None,
    }
}

impl Value {
    /// Reads what a server or an option file says of a knob: `16M`, `ON`, `1`, `90.000000`, `all`.
    ///
    /// # Errors
    /// When the text is not of the knob's type.
    pub fn parse_server(knob: &Knob, text: &str) -> Result<Self, ValueError> {
        let trimmed = text.trim();
        let error = |expected: &str| ValueError {
            knob: knob.name.clone(),
            text: trimmed.to_owned(),
            expected: expected.to_owned(),
        };
        match knob.kind {
            Kind::Int => parse_int(trimmed).map(Self::Int).ok_or_else(|| {
                error(if knob.unit == Unit::Bytes { "bytes, K, M or G" } else { "a whole number" })
            }),
            Kind::Choice => parse_int(trimmed).map(Self::Int).ok_or_else(|| error("one of its numbers")),
            Kind::Float => trimmed.parse().map(Self::Float).map_err(|_| error("a number")),
            Kind::Bool => parse_switch(trimmed).map(Self::Bool).ok_or_else(|| error("ON or OFF")),
            Kind::Enum | Kind::Text => Ok(Self::Text(trimmed.to_owned())),
        }
    }

    /// The value as it stands behind `SET GLOBAL name =`.
    pub fn to_sql(&self) -> String {
        match self {
            Self::Text(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
            other => other.to_cnf(),
        }
    }

    /// The value as it stands in an option file or on a command line.
    pub fn to_cnf(&self) -> String {
        match self {
            Self::Int(n) => n.to_string(),
            Self::Float(x) => format!("{x}"),
            Self::Bool(on) => if *on { "ON" } else { "OFF" }.to_owned(),
            Self::Text(text) => text.clone(),
        }
    }

    /// The value for people, with its unit: `1.5G`, `200 ops/s`, `OFF`.
    pub fn show(&self, unit: Unit) -> String {
        match self {
            Self::Int(n) if unit == Unit::Bytes && *n >= 0 => Bytes(n.unsigned_abs()).to_string(),
            Self::Int(_) | Self::Float(_) => match unit.suffix() {
                "" => self.to_cnf(),
                "%" => format!("{}%", self.to_cnf()),
                suffix => format!("{} {suffix}", self.to_cnf()),
            },
            _ => self.to_cnf(),
        }
    }

    /// The number, where it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(n) => Some(*n as f64),
            Self::Float(x) => Some(*x),
            _ => None,
        }
    }

    /// The whole number, where it is one.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// Whether two values mean the same to a server: words without case, fractions to the six digits it prints.
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.eq_ignore_ascii_case(b),
            (Self::Bool(a), Self::Bool(b)) => a == b,
            _ => match (self.as_f64(), other.as_f64()) {
                (Some(a), Some(b)) => (a - b).abs() <= 5e-7 * a.abs().max(1.0),
                _ => false,
            },
        }
    }
}

/// A whole number with an optional K, M, G or T; unsigned numbers above `i64::MAX` saturate.
fn parse_int(text: &str) -> Option<i64> {
    if let Ok(n) = text.parse::<i64>() {
        return Some(n);
    }
    if text.parse::<u64>().is_ok() {
        return Some(i64::MAX);
    }
    // MariaDB has fractions where MySQL has whole numbers ("10.000000").
    if let Some((whole, fraction)) = text.split_once('.') {
        return if fraction.bytes().all(|b| b == b'0') { whole.parse().ok() } else { None };
    }
    // Only the letters that the servers themselves take.
    if !text.ends_with(|c: char| "KMGTkmgt".contains(c)) {
        return None;
    }
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let bytes = digits.parse::<Bytes>().ok()?.as_i64();
    Some(if negative { -bytes } else { bytes })
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_cnf())
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Int(n) => serializer.serialize_i64(*n),
            Self::Float(x) => serializer.serialize_f64(*x),
            Self::Bool(on) => serializer.serialize_bool(*on),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a switch or a text")
            }
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Value, E> {
                Ok(Value::Int(n))
            }
            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Value, E> {
                Ok(Value::Int(i64::try_from(n).unwrap_or(i64::MAX)))
            }
            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Value, E> {
                Ok(Value::Float(x))
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Value, E> {
                Ok(Value::Bool(on))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value::Text(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;
    use proptest::prelude::*;

    fn knob(name: &str) -> &'static Knob {
        Registry::builtin().get(name).unwrap()
    }

    #[test]
    fn a_value_is_read_by_the_type_of_its_knob() {
        let read = |name, text| Value::parse_server(knob(name), text).unwrap();
        assert_eq!(read("innodb_buffer_pool_size", "16M"), Value::Int(16 << 20));
        assert_eq!(read("innodb_adaptive_hash_index", "1"), Value::Bool(true));
        assert_eq!(read("innodb_max_dirty_pages_pct", "90.000000"), Value::Float(90.0));
        assert_eq!(read("innodb_flush_neighbors", "1"), Value::Int(1));
        assert_eq!(read("innodb_adaptive_flushing_lwm", "10.000000"), Value::Int(10));
        assert_eq!(read("innodb_change_buffering", "all"), Value::Text("all".into()));
    }

    #[test]
    fn a_wrong_text_says_what_would_be_right() {
        let error = Value::parse_server(knob("innodb_io_capacity"), "fast").unwrap_err();
        assert_eq!(error.to_string(), "`fast` is no value of innodb_io_capacity: expected a whole number");
    }

    #[test]
    fn text_cannot_leave_its_quotes() {
        assert_eq!(Value::Text("a'b\\".into()).to_sql(), "'a''b\\\\'");
    }

    #[test]
    fn json_holds_plain_scalars() {
        let values = [Value::Int(1), Value::Float(49.4), Value::Bool(false), Value::Text("all".into())];
        let json = serde_json::to_string(&values).unwrap();
        assert_eq!(json, r#"[1,49.4,false,"all"]"#);
        assert_eq!(serde_json::from_str::<Vec<Value>>(&json).unwrap(), values);
    }

    #[test]
    fn what_a_server_prints_back_counts_as_the_same() {
        assert!(Value::Float(49.4).same(&Value::Float(49.400_000_01)));
        assert!(Value::Text("ALL".into()).same(&Value::Text("all".into())));
        assert!(Value::Int(10).same(&Value::Float(10.0)));
        assert!(!Value::Int(10).same(&Value::Int(11)));
    }

    proptest! {
        #[test]
        fn numbers_survive_the_way_to_the_server_and_back(n in any::<i64>()) {
            let value = Value::Int(n);
            prop_assert_eq!(Value::parse_server(knob("innodb_io_capacity"), &value.to_cnf()).unwrap(), value);
        }
    }
}
