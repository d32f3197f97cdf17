//! `tunesmith lab`: experiments that are written down.

use crate::cli::{Command as Main, Globals, parse};
use crate::cmd::{compare, sweep};
use crate::experiment;
use crate::failure::{Failure, Kind};
use clap::Subcommand;
use lab::recipe::{Recipe, Step};
use report::experiment::{Experiment, Section};
use std::path::{Path, PathBuf};

/// Experiments that are written down: recipes.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Do what a recipe says, step by step; what was measured before is not measured again.
    Run {
        /// The recipe, such as labs/rds-tuning.toml.
        recipe: PathBuf,
        /// The small version: minutes instead of an hour.
        #[arg(long)]
        quick: bool,
        /// Only the step of this name; may be given more than once.
        #[arg(long = "step", value_name = "NAME")]
        steps: Vec<String>,
        /// Folder of the results and the report [default: lab-RECIPE, with --quick lab-RECIPE-quick].
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
}

/// Runs the command.
pub async fn run(args: Args, globals: &Globals) -> Result<(), Failure> {
    let Command::Run { recipe: path, quick, steps, out } = args.command;
    let recipe = Recipe::read(&path).map_err(|e| {
        Failure::caused(Kind::Usage, "no recipe", e).hint("labs/rds-tuning.toml in the repository is one")
    })?;
    for name in &steps {
        if !recipe.steps.iter().any(|step| step.name == *name) {
            let names: Vec<&str> = recipe.steps.iter().map(|step| step.name.as_str()).collect();
            return Err(Failure::new(Kind::Usage, format!("{} has no step {name:?}", path.display()))
                .hint(format!("there are {}", names.join(", "))));
        }
    }
    let out = out.unwrap_or_else(|| folder(&path, quick));
    let here = path.parent().unwrap_or(Path::new("")).to_owned();
    // All steps are read before the first is taken: a mistake in the last one costs no hour.
    let mut ready = Vec::new();
    for step in recipe.steps.iter().filter(|step| steps.is_empty() || steps.contains(&step.name)) {
        ready.push((step, command(step, quick, &here, globals)?));
    }
    std::fs::create_dir_all(&out)
        .map_err(|e| Failure::caused(Kind::Usage, format!("can't make {}", out.display()), e))?;
    let mut page = Experiment {
        title: recipe.title.clone(),
        about: recipe.about.clone(),
        published: recipe.published.clone(),
        sections: Vec::new(),
    };
    let report = out.join("report.html");
    for (step, (command, step_globals)) in ready {
        eprintln!("== {}: {}", step.name, step.title);
        let results = out.join(format!("{}.jsonl", step.name));
        let taken = take(command, &step_globals, &step.title, results).await;
        let (section, stopped) = match taken {
            Ok(done) => done,
            Err(failure) => {
                // The other steps are worth having all the same; the report says why this one is missing.
                eprintln!("step {} failed: {failure}", step.name);
                page.sections.push(Section {
                    title: step.title.clone(),
                    lead: "This step failed.".to_owned(),
                    warnings: vec![failure.to_string()],
                    ..Section::default()
                });
                if failure.is_interrupt() {
                    experiment::write_report(&report, &report::render::experiment(&page))?;
                    return Err(interrupted(&path));
                }
                continue;
            }
        };
        page.sections.push(section);
        // After each step, so that there is always something to look at.
        experiment::write_report(&report, &report::render::experiment(&page))?;
        if stopped {
            return Err(interrupted(&path));
        }
    }
    if page.sections.iter().all(|section| section.figures.is_empty()) {
        experiment::write_report(&report, &report::render::experiment(&page))?;
        return Err(Failure::new(Kind::Invalid, "no step came to its end; the reasons are above"));
    }
    Ok(())
}

fn interrupted(recipe: &Path) -> Failure {
    Failure::new(Kind::Interrupted, format!("interrupted; tunesmith lab run {} goes on", recipe.display()))
}

fn folder(recipe: &Path, quick: bool) -> PathBuf {
    let name = recipe.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    PathBuf::from(format!("lab-{name}{}", if quick { "-quick" } else { "" }))
}

/// The command of a step, read as if it had been typed, and the global options that hold for it: its own, and above them the user's.
fn command(step: &Step, quick: bool, here: &Path, globals: &Globals) -> Result<(Main, Globals), Failure> {
    let line = step.arguments(quick, here);
    let (command, mut own) = parse(&line).map_err(|e| {
        let first = e.to_string();
        let first = first.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Failure::new(Kind::Usage, format!("step {:?}: {first}", step.name))
            .hint(format!("tunesmith {} --help shows the options", step.command))
    })?;
    own.quiet = globals.quiet;
    own.verbose = globals.verbose;
    own.store.clone_from(&globals.store);
    own.json = false;
    if globals.connection.server_binary.is_some() {
        own.connection.server_binary.clone_from(&globals.connection.server_binary);
    }
    Ok((command, own))
}

async fn take(
    command: Main,
    globals: &Globals,
    title: &str,
    results: PathBuf,
) -> Result<(Section, bool), Failure> {
    match command {
        Main::Compare(args) => compare::step(args, globals, title, results).await,
        Main::Sweep(args) => sweep::step(args, globals, title, results).await,
        _ => Err(Failure::new(Kind::Bug, "a step is compare or sweep")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recipes_of_the_repository_are_command_lines_in_both_sizes() {
        let labs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs");
        let (_, globals) = parse(&["doctor".to_owned()]).unwrap();
        for name in ["rds-tuning", "rds-piops-sweep", "ec2-sizes"] {
            let recipe = Recipe::read(&labs.join(format!("{name}.toml"))).unwrap();
            for step in &recipe.steps {
                for quick in [false, true] {
                    command(step, quick, &labs, &globals).unwrap();
                }
            }
        }
    }

    #[test]
    fn results_go_into_a_folder_named_after_the_recipe() {
        assert_eq!(folder(Path::new("labs/ec2-sizes.toml"), false), Path::new("lab-ec2-sizes"));
        assert_eq!(folder(Path::new("labs/ec2-sizes.toml"), true), Path::new("lab-ec2-sizes-quick"));
    }
}
