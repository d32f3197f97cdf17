//! A configuration: values for some knobs; what is not in it keeps the server's own value.

use crate::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Values by the name the server uses. Serialised as a plain JSON object.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Configuration(pub BTreeMap<String, Value>);

/// One difference between two configurations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// The knob's name.
    pub name: String,
    /// Value before, `None` when it was the server's own.
    pub from: Option<Value>,
    /// Value after, `None` when it goes back to the server's own.
    pub to: Option<Value>,
}

impl Configuration {
    /// The configuration that changes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of a knob.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Sets a knob and returns what it had.
    pub fn set(&mut self, name: impl Into<String>, value: Value) -> Option<Value> {
        self.0.insert(name.into(), value)
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of knobs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Names and values in order of name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// What differs on the way from `self` to `other`, in order of name.
    pub fn diff(&self, other: &Self) -> Vec<Change> {
        let mut names: Vec<&String> = self.0.keys().chain(other.0.keys()).collect();
        names.sort_unstable();
        names.dedup();
        names
            .into_iter()
            .filter_map(|name| {
                let (from, to) = (self.get(name), other.get(name));
                let equal = match (from, to) {
                    (Some(a), Some(b)) => a.same(b),
                    (a, b) => a.is_none() && b.is_none(),
                };
                (!equal).then(|| Change { name: name.clone(), from: from.cloned(), to: to.cloned() })
            })
            .collect()
    }

    /// The lines of an option file's `[mysqld]` group.
    pub fn to_cnf(&self) -> String {
        self.iter().map(|(name, value)| format!("{name} = {}\n", value.to_cnf())).collect()
    }
}

impl FromIterator<(String, Value)> for Configuration {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(pairs: I) -> Self {
        Self(pairs.into_iter().collect())
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("(the server's own)");
        }
        for (i, (name, value)) in self.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, i64)]) -> Configuration {
        pairs.iter().map(|(name, n)| ((*name).to_owned(), Value::Int(*n))).collect()
    }

    #[test]
    fn a_difference_names_what_came_what_went_and_what_changed() {
        let changes = of(&[("a", 1), ("b", 2), ("c", 3)]).diff(&of(&[("b", 2), ("c", 4), ("d", 5)]));
        let names: Vec<_> = changes.iter().map(|change| change.name.as_str()).collect();
        assert_eq!(names, ["a", "c", "d"]);
        assert_eq!((changes[0].to.clone(), changes[2].from.clone()), (None, None));
    }

    #[test]
    fn it_prints_in_order_of_name() {
        assert_eq!(of(&[("b", 2), ("a", 1)]).to_string(), "a=1 b=2");
        assert_eq!(Configuration::new().to_string(), "(the server's own)");
    }

    #[test]
    fn json_is_a_plain_object() {
        assert_eq!(serde_json::to_string(&of(&[("a", 1)])).unwrap(), r#"{"a":1}"#);
    }
}
