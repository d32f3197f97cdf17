//! What a running server says about its variables, and what is known of the machine under it.

use crate::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One variable as the server reports it. Everything but name and value is optional: old servers say less.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LiveVariable {
    /// Name, lower case.
    pub name: String,
    /// Global value as text.
    pub value: String,
    /// Smallest value, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    /// Largest value, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<String>,
    /// Allowed words of an enumeration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Whether it needs a restart; `None` where the server does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Type as the server names it, empty where unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub type_name: String,
}

impl LiveVariable {
    /// A variable of which only the value is known.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into(), ..Self::default() }
    }

    /// The range, where the server states a real one. MySQL states 0 to 0 for what has no range.
    pub fn range(&self) -> Option<(f64, f64)> {
        let (low, high) = (self.min.as_ref()?.parse().ok()?, self.max.as_ref()?.parse().ok()?);
        (low < high).then_some((low, high))
    }
}

/// Read access to a map of variables with the tolerance that real servers need.
pub trait Live {
    /// The value as text.
    fn text(&self, name: &str) -> Option<&str>;

    /// The value as a number; `None` when absent or not a number. Amounts above `i64::MAX` saturate.
    fn int(&self, name: &str) -> Option<i64> {
        let text = self.text(name)?.trim();
        text.parse::<i64>().ok().or_else(|| {
            text.parse::<f64>().ok().map(|n| {
                // A float cast saturates, which is what "unlimited" (2^64-1) needs.
                n as i64
            })
        })
    }

    /// The value as an amount of memory; negative values count as absent.
    fn bytes(&self, name: &str) -> Option<Bytes> {
        self.int(name).and_then(|n| u64::try_from(n).ok()).map(Bytes)
    }

    /// The value as a switch: ON/OFF, YES/NO, TRUE/FALSE, 1/0.
    fn switch(&self, name: &str) -> Option<bool> {
        crate::value::parse_switch(self.text(name)?)
    }
}

impl Live for BTreeMap<String, LiveVariable> {
    fn text(&self, name: &str) -> Option<&str> {
        self.get(name).map(|variable| variable.value.as_str())
    }
}

impl Live for BTreeMap<String, String> {
    fn text(&self, name: &str) -> Option<&str> {
        self.get(name).map(String::as_str)
    }
}

/// What is known of the machine a server runs on. Unknown stays unknown: nothing is guessed from the client's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Machine {
    /// Memory the server may use, limits of its control group included.
    pub memory: Option<Bytes>,
    /// Processor cores it may use, rounded up.
    pub cores: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read_in_every_spelling() {
        let vars = BTreeMap::from(
            [("a", "ON"), ("b", "0"), ("c", "Yes"), ("d", "banana")]
                .map(|(name, value)| (name.to_owned(), LiveVariable::new(name, value))),
        );
        let read: Vec<_> = ["a", "b", "c", "d", "e"].map(|name| vars.switch(name)).into();
        assert_eq!(read, [Some(true), Some(false), Some(true), None, None]);
    }

    #[test]
    fn unlimited_saturates_instead_of_failing() {
        let vars = BTreeMap::from([("a".to_owned(), LiveVariable::new("a", "18446744073709551615"))]);
        assert_eq!(vars.int("a"), Some(i64::MAX));
    }

    #[test]
    fn the_range_of_a_switch_on_mysql_is_no_range() {
        let mut variable = LiveVariable::new("innodb_adaptive_hash_index", "OFF");
        (variable.min, variable.max) = (Some("0".into()), Some("0".into()));
        assert_eq!(variable.range(), None);
    }
}
