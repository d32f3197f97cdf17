//! What was asked for against what the server reports.

use knobs::Value;
use serde::{Deserialize, Serialize};

/// A value that the server rounded, or chose itself where it was asked to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coercion {
    /// The knob.
    pub knob: String,
    /// What was asked for.
    pub asked: String,
    /// What the server made of it.
    pub reported: String,
}

/// How far a number may be from what was asked for and still count as a rounding of it: buffer pools are rounded up to
/// whole chunks per instance, which can be a tenth of a small pool.
const ROUNDING: f64 = 0.13;

/// The verdict on one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readback {
    /// Exactly what was asked for.
    Applied,
    /// A rounding of it, or the server's own choice where it was asked to choose.
    Coerced,
    /// Something else.
    Different,
}

/// Compares a value with the text that the server reports for it.
pub fn compare(asked: &Value, reported: &str) -> Readback {
    match asked {
        Value::Bool(on) => match truth(reported) {
            Some(is_on) if is_on == *on => Readback::Applied,
            _ => Readback::Different,
        },
        Value::Text(text) if text.eq_ignore_ascii_case(reported) => Readback::Applied,
        Value::Text(text) => match (text.parse::<f64>(), reported.parse::<f64>()) {
            (Ok(asked), Ok(reported)) => numbers(asked, reported),
            // Switches are often enumerations of ON and OFF in one flavour and 1 and 0 in another.
            _ if truth(text).is_some() && truth(text) == truth(reported) => Readback::Applied,
            _ => Readback::Different,
        },
        // i64 to f64 is exact up to 2^53, beyond any size in bytes that a server has.
        Value::Int(asked) => reported.parse().map_or(Readback::Different, |r| numbers(*asked as f64, r)),
        Value::Float(asked) => reported.parse().map_or(Readback::Different, |r| numbers(*asked, r)),
    }
}

fn numbers(asked: f64, reported: f64) -> Readback {
    if (asked - reported).abs() <= 1e-6 * asked.abs() {
        return Readback::Applied;
    }
    // Zero and minus one ask the server to choose.
    if asked <= 0.0 || (asked - reported).abs() <= ROUNDING * asked.abs() {
        Readback::Coerced
    } else {
        Readback::Different
    }
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_uppercase().as_str() {
        "ON" | "1" | "YES" | "TRUE" => Some(true),
        "OFF" | "0" | "NO" | "FALSE" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_as_applied_when_the_server_reports_it() {
        for (asked, reported) in [
            (Value::Int(134_217_728), "134217728"),
            (Value::Float(49.4), "49.400000"),
            (Value::Bool(true), "ON"),
            (Value::Bool(false), "0"),
            (Value::Text("none".into()), "none"),
            (Value::Text("O_DIRECT".into()), "o_direct"),
            (Value::Text("1".into()), "ON"),
            (Value::Text("2".into()), "2"),
        ] {
            assert_eq!(compare(&asked, reported), Readback::Applied, "{asked:?} {reported}");
        }
    }

    #[test]
    fn a_rounding_is_noticed_and_accepted() {
        assert_eq!(compare(&Value::Int(1_000_000_000), "1073741824"), Readback::Coerced);
        assert_eq!(compare(&Value::Int(0), "4"), Readback::Coerced, "0 lets the server choose");
        assert_eq!(compare(&Value::Int(-1), "9"), Readback::Coerced, "so does -1");
    }

    #[test]
    fn a_clamp_or_another_value_is_not() {
        assert_eq!(compare(&Value::Int(40_000), "2000"), Readback::Different);
        assert_eq!(compare(&Value::Bool(true), "OFF"), Readback::Different);
        assert_eq!(compare(&Value::Text("all".into()), "none"), Readback::Different);
        assert_eq!(compare(&Value::Int(5), ""), Readback::Different);
    }
}
