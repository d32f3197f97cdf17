//! All knobs, parsed once from the table beside this file.

mod parse;

use crate::identity::{Flavour, Identity, Version};
use crate::knob::{Facts, Fate, Knob};
use std::collections::BTreeMap;
use std::sync::OnceLock;

pub use parse::RegistryError;
pub(crate) use parse::number;

/// All knobs by name.
#[derive(Debug)]
pub struct Registry {
    knobs: BTreeMap<String, Knob>,
    aliases: BTreeMap<String, String>,
}

/// What the registry knows of a name for one flavour and version.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Resolution<'a> {
    /// The knob exists there.
    Present(&'a Knob, &'a Facts),
    /// It was removed; the successor does its work, if there is one.
    Removed(&'a Knob, Option<&'a str>),
    /// Another flavour or a later version has it.
    Elsewhere(&'a Knob),
    /// No knob of this name is known.
    Unknown,
}

impl Registry {
    /// The built-in registry.
    ///
    /// # Panics
    /// Never: the table is part of this crate and a test parses every row of it.
    pub fn builtin() -> &'static Self {
        static BUILTIN: OnceLock<Registry> = OnceLock::new();
        BUILTIN.get_or_init(|| match Self::parse(TABLE) {
            Ok(registry) => registry,
            Err(error) => panic!("the built-in table of knobs: {error}"),
        })
    }

    /// Reads a table of knobs. Its format is described at the head of `knobs.txt`.
    ///
    /// # Errors
    /// With the line's number when a line does not follow the format.
    pub fn parse(table: &str) -> Result<Self, RegistryError> {
        let mut registry = Self { knobs: BTreeMap::new(), aliases: BTreeMap::new() };
        for (line, knob) in parse::parse(table)? {
            for alias in &knob.aliases {
                registry.aliases.insert(alias.clone(), knob.name.clone());
            }
            if let Some(twin) = registry.knobs.insert(knob.name.clone(), knob) {
                return Err(RegistryError::new(line, format!("{} is there twice", twin.name)));
            }
        }
        Ok(registry)
    }

    /// A knob by its name or an alias; dashes and capitals are taken as the servers take them.
    pub fn get(&self, name: &str) -> Option<&Knob> {
        let name = normal(name);
        self.knobs.get(&name).or_else(|| self.aliases.get(&name).and_then(|name| self.knobs.get(name)))
    }

    /// All knobs in order of name.
    pub fn iter(&self) -> impl Iterator<Item = &Knob> {
        self.knobs.values()
    }

    /// Number of knobs.
    pub fn len(&self) -> usize {
        self.knobs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.knobs.is_empty()
    }

    /// What is known of a name for this server.
    pub fn resolve(&self, identity: &Identity, name: &str) -> Resolution<'_> {
        self.resolve_for(identity.flavour, identity.version, name)
    }

    /// What is known of a name for a flavour and version.
    pub fn resolve_for(&self, flavour: Flavour, version: Version, name: &str) -> Resolution<'_> {
        let Some(knob) = self.get(name) else { return Resolution::Unknown };
        match knob.fate(flavour, version) {
            Some(Fate::Present(facts)) => Resolution::Present(knob, facts),
            Some(Fate::Gone(successor)) => Resolution::Removed(knob, successor.as_deref()),
            None => Resolution::Elsewhere(knob),
        }
    }

    /// The known name that is nearest to a wrong one, if any is near.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        let name = normal(name);
        self.knobs
            .keys()
            .chain(self.aliases.keys())
            .map(|known| (distance(&name, known), known.as_str()))
            .filter(|(d, known)| *d <= known.len().min(name.len()) / 4)
            .min()
            .map(|(_, known)| known)
    }
}

/// A variable's name as the servers hold it. `loose_` is a prefix that option files may carry.
pub(crate) fn normal(name: &str) -> String {
    let lower = name.trim().to_ascii_lowercase().replace('-', "_");
    lower.strip_prefix("loose_").map_or_else(|| lower.clone(), str::to_owned)
}

/// Levenshtein's distance over bytes, for names that are ASCII.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let next = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], next);
        }
    }
    row[b.len()]
}

const TABLE: &str = include_str!("knobs.txt");

#[cfg(test)]
mod tests;
