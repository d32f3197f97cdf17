//! Recipes: experiments written down, `tunesmith lab run FILE`.
//!
//! A step of a recipe is a command (`compare` or `sweep`) and its options under the names that they have on the command line, so whatever a
//! recipe does can be done by hand, and the other way round.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Value;

/// An experiment.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// What it is called.
    pub title: String,
    /// What it is about: the question, and what differs from where it was asked first.
    pub about: String,
    /// Findings that others have published, to be shown beside what comes out.
    #[serde(default)]
    pub published: Vec<String>,
    /// What is done, in this order.
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
}

/// A command with its options.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Step {
    /// Name of its file of results.
    pub name: String,
    /// Its heading in the report.
    pub title: String,
    /// `compare` or `sweep`.
    pub command: String,
    /// Options that are different with `--quick`.
    #[serde(default)]
    pub quick: BTreeMap<String, Value>,
    /// The options.
    #[serde(flatten)]
    pub options: BTreeMap<String, Value>,
}

/// A recipe that can't be followed.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecipeError {
    /// The file can't be read.
    Read(PathBuf, std::io::Error),
    /// It is no recipe.
    Parse(PathBuf, Box<toml::de::Error>),
    /// It says something that makes no sense.
    Wrong(PathBuf, String),
}

impl std::fmt::Display for RecipeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Read(path, _) => write!(f, "can't read {}", path.display()),
            Self::Parse(path, _) => write!(f, "{} is no recipe", path.display()),
            Self::Wrong(path, why) => write!(f, "{}: {why}", path.display()),
        }
    }
}

impl std::error::Error for RecipeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(_, source) => Some(source),
            Self::Parse(_, source) => Some(source),
            Self::Wrong(..) => None,
        }
    }
}

impl Recipe {
    /// Reads a recipe's file.
    ///
    /// # Errors
    /// If it can't be read, is not TOML of this shape, or has steps that could not be told apart.
    pub fn read(path: &Path) -> Result<Self, RecipeError> {
        let text = std::fs::read_to_string(path).map_err(|e| RecipeError::Read(path.to_owned(), e))?;
        let recipe: Self =
            toml::from_str(&text).map_err(|e| RecipeError::Parse(path.to_owned(), Box::new(e)))?;
        recipe.check().map_err(|why| RecipeError::Wrong(path.to_owned(), why))?;
        Ok(recipe)
    }

    fn check(&self) -> Result<(), String> {
        if self.steps.is_empty() {
            return Err("a recipe has at least one [[step]]".into());
        }
        for (n, step) in self.steps.iter().enumerate() {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            if step.name.is_empty() || !step.name.chars().all(plain) {
                return Err(format!("{:?} is no name for a step: letters, digits and '-'", step.name));
            }
            if self.steps[..n].iter().any(|other| other.name == step.name) {
                return Err(format!("two steps are called {:?}", step.name));
            }
            if !matches!(step.command.as_str(), "compare" | "sweep") {
                return Err(format!("step {:?}: the command is compare or sweep", step.name));
            }
            for (key, value) in step.options.iter().chain(&step.quick) {
                if matches!(value, Value::Table(_) | Value::Datetime(_)) {
                    return Err(format!(
                        "step {:?}: {key} is a text, a number, true, or a list of these",
                        step.name
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Step {
    /// The step's command line without the program's name: `--key=value`, once for each value of a list. A `true` is an option without a value,
    /// a `false` none at all. Files ending in `.cnf` are named relative to `folder`, where the recipe is.
    pub fn arguments(&self, quick: bool, folder: &Path) -> Vec<String> {
        let mut options = self.options.clone();
        if quick {
            options.extend(self.quick.clone());
        }
        let mut all = vec![self.command.clone()];
        for (key, value) in options {
            let values = match value {
                Value::Array(values) => values,
                value => vec![value],
            };
            for value in values {
                match value {
                    Value::Boolean(true) => all.push(format!("--{key}")),
                    Value::Boolean(false) => {}
                    Value::String(text) if text.ends_with(".cnf") => {
                        all.push(format!("--{key}={}", folder.join(text).display()));
                    }
                    Value::String(text) => all.push(format!("--{key}={text}")),
                    Value::Integer(n) => all.push(format!("--{key}={n}")),
                    Value::Float(x) => all.push(format!("--{key}={x}")),
                    // Refused by `check`.
                    Value::Datetime(_) | Value::Array(_) | Value::Table(_) => {}
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "title = \"T\"\nabout = \"A\"\npublished = [\"x\"]\n\
        [[step]]\nname = \"one\"\ntitle = \"One\"\ncommand = \"sweep\"\nsandbox = \"mysql\"\nthreads = [2, 4]\nscale = 16\nlegacy = true\n\
        config = [\"default\", \"pool.cnf\"]\n[step.quick]\nthreads = 2\nlegacy = false\n";

    fn read(text: &str) -> Result<Recipe, RecipeError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.toml");
        std::fs::write(&path, text).unwrap();
        Recipe::read(&path)
    }

    #[test]
    fn a_step_is_a_command_line() {
        let recipe = read(TEXT).unwrap();
        let arguments = recipe.steps[0].arguments(false, Path::new("/labs"));
        assert_eq!(
            arguments,
            [
                "sweep",
                "--config=default",
                "--config=/labs/pool.cnf",
                "--legacy",
                "--sandbox=mysql",
                "--scale=16",
                "--threads=2",
                "--threads=4"
            ]
        );
        let quick = recipe.steps[0].arguments(true, Path::new("/labs"));
        assert!(quick.contains(&"--threads=2".into()) && !quick.contains(&"--threads=4".into()));
        assert!(!quick.contains(&"--legacy".into()));
    }

    #[test]
    fn what_is_no_recipe_is_refused_with_the_reason() {
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert!(error("title = 1").ends_with("is no recipe"));
        assert!(error(&TEXT.replace("sweep", "tune")).contains("compare or sweep"));
        assert!(error(&TEXT.replace("\"one\"", "\"../one\"")).contains("no name for a step"));
        let twice = format!("{TEXT}[[step]]\nname = \"one\"\ntitle = \"\"\ncommand = \"sweep\"\n");
        assert!(error(&twice).contains("two steps"));
        assert!(error(&TEXT.replace("scale = 16", "scale = {a = 1}")).contains("scale is a text"));
        assert!(Recipe::read(Path::new("/nowhere.toml")).unwrap_err().to_string().contains("can't read"));
    }
}
