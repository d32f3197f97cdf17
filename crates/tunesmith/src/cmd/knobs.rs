//! `tunesmith knobs`: the registry, for a live server or for a flavour and version.

use crate::cli::Globals;
use crate::cmd::advise::Session;
use crate::cmd::connection::admin_failure;
use crate::failure::{Failure, Kind};
use comfy_table::{Table, presets};
use knobs::{
    Bytes, ChangeMode, Facts, Flavour, Identity, Knob, LiveVariable, Machine, Registry, Remark, Resolution,
    Unit, Value, Version, check,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Version of the JSON documents.
const SCHEMA: u32 = 1;

/// Arguments of `tunesmith knobs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// All knobs of a server, or of a flavour and version.
    List {
        #[command(flatten)]
        which: Which,
        /// Only those that a search may set.
        #[arg(long)]
        tunable: bool,
        /// Only those of an area (flushing, redo, buffer-pool, …).
        #[arg(long)]
        area: Option<String>,
    },
    /// All that is known of one knob.
    Show {
        /// Its name.
        name: String,
        #[command(flatten)]
        which: Which,
    },
    /// Check an option file or a list of parameters: exit code 2 when a server would refuse or change something.
    Check {
        /// The file.
        file: PathBuf,
        #[command(flatten)]
        which: Which,
        /// Memory of the machine that it is meant for.
        #[arg(long, value_name = "SIZE")]
        memory: Option<Bytes>,
    },
}

/// For which server: a flavour and a version, or the one that the connection's options name.
#[derive(Debug, clap::Args)]
struct Which {
    /// mysql, mariadb or percona; without it the server is asked.
    #[arg(long, requires = "for_version")]
    flavour: Option<Flavour>,
    /// Its version, such as 8.4 or 10.11.6.
    #[arg(long, value_name = "VERSION", requires = "flavour")]
    for_version: Option<Version>,
}

/// A knob as it is told.
#[derive(Debug, Serialize)]
struct Told<'a> {
    name: &'a str,
    what: &'a str,
    area: knobs::Area,
    unit: Unit,
    risk: knobs::Risk,
    restart: bool,
    min: Option<f64>,
    max: Option<f64>,
    options: &'a [String],
    default: Option<&'a Value>,
    current: Option<&'a str>,
    searched: bool,
    reference: String,
}

/// Runs the command.
pub async fn run(args: Args, globals: &Globals) -> Result<(), Failure> {
    match args.action {
        Action::List { which, tunable, area } => {
            let (identity, live) = which.server(globals).await?;
            let wanted = |knob: &Knob| {
                (!tunable || knob.tune.is_some())
                    && area.as_ref().is_none_or(|area| word(&knob.area).eq_ignore_ascii_case(area))
            };
            list(&identity, &live, wanted, globals)
        }
        Action::Show { name, which } => show(&name, which, globals).await,
        Action::Check { file, which, memory } => {
            let (identity, live) = which.server(globals).await?;
            let text = std::fs::read_to_string(&file)
                .map_err(|e| Failure::caused(Kind::Usage, format!("can't read {}", file.display()), e))?;
            let machine = Machine { memory, cores: None };
            let remarks = check(Registry::builtin(), &identity, &live, &machine, &text);
            judge(&identity, &remarks, globals)
        }
    }
}

impl Which {
    async fn server(&self, globals: &Globals) -> Result<(Identity, BTreeMap<String, LiveVariable>), Failure> {
        if let (Some(flavour), Some(version)) = (self.flavour, self.for_version) {
            return Ok((Identity::of(flavour, version), BTreeMap::new()));
        }
        let mut session = Session::open(globals)
            .await
            .map_err(|failure| failure.hint("or name one: --flavour mysql --for-version 8.4"))?;
        let failed = |e| admin_failure("can't read the server's variables", e);
        let identity = session.admin.identity().await.map_err(failed)?;
        let live = session.admin.variables().await.map_err(failed)?;
        session.close().await;
        Ok((identity, live))
    }
}

/// A unit variant as its word in JSON.
fn word<T: Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The knob for a server: its name there, the facts, and the value that it has.
fn told<'a>(
    knob: &'a Knob,
    facts: &'a Facts,
    identity: &Identity,
    live: &'a BTreeMap<String, LiveVariable>,
) -> Option<Told<'a>> {
    let mut names = std::iter::once(&knob.name).chain(&knob.aliases);
    let name = if live.is_empty() { &knob.name } else { names.find(|name| live.contains_key(*name))? };
    let variable = live.get(name);
    // The server's word counts more than the registry's.
    let restart = match variable.and_then(|variable| variable.read_only) {
        Some(read_only) => read_only,
        None => facts.change == ChangeMode::Restart,
    };
    let (min, max) = match variable.and_then(LiveVariable::range) {
        Some((low, high)) => (Some(low), Some(high)),
        None => (facts.min, facts.max),
    };
    Some(Told {
        name,
        what: &knob.what,
        area: knob.area,
        unit: knob.unit,
        risk: knob.risk,
        restart,
        min,
        max,
        options: &facts.options,
        default: facts.default.as_ref(),
        current: variable.map(|variable| variable.value.as_str()),
        searched: knob.tune.is_some() && knob.risk.may_be_automatic(),
        reference: knob.reference(identity.flavour, identity.version),
    })
}

fn list(
    identity: &Identity,
    live: &BTreeMap<String, LiveVariable>,
    wanted: impl Fn(&Knob) -> bool,
    globals: &Globals,
) -> Result<(), Failure> {
    let registry = Registry::builtin();
    let all: Vec<Told<'_>> = registry
        .iter()
        .filter(|knob| wanted(knob))
        .filter_map(|knob| match registry.resolve(identity, &knob.name) {
            Resolution::Present(_, facts) => told(knob, facts, identity, live),
            _ => None,
        })
        .collect();
    if globals.json {
        return print_json(&serde_json::json!({ "schema": SCHEMA, "identity": identity, "knobs": all }));
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header([
        "knob",
        if live.is_empty() { "default" } else { "value" },
        "range",
        "change",
        "risk",
        "search",
    ]);
    for knob in &all {
        table.add_row([
            knob.name.to_owned(),
            value_of(knob),
            range_of(knob),
            if knob.restart { "restart" } else { "at once" }.to_owned(),
            word(&knob.risk),
            if knob.searched { "yes" } else { "" }.to_owned(),
        ]);
    }
    println!("{table}\n{} knobs of {identity}", all.len());
    Ok(())
}

fn value_of(knob: &Told<'_>) -> String {
    let text = match (knob.current, knob.default) {
        (Some(current), _) => current.to_owned(),
        (None, Some(default)) => return default.show(knob.unit),
        (None, None) => return "worked out".into(),
    };
    match (knob.unit, text.parse::<u64>()) {
        (Unit::Bytes, Ok(n)) => Bytes(n).to_string(),
        _ => text,
    }
}

fn range_of(knob: &Told<'_>) -> String {
    if !knob.options.is_empty() {
        return knob.options.join(", ");
    }
    let show = |x: f64| match knob.unit {
        Unit::Bytes if x >= 0.0 => Bytes(x as u64).to_string(),
        _ => x.to_string(),
    };
    match (knob.min, knob.max) {
        (Some(low), Some(high)) if high < 9e18 => format!("{} to {}", show(low), show(high)),
        (Some(low), _) => format!("from {}", show(low)),
        _ => String::new(),
    }
}

async fn show(name: &str, which: Which, globals: &Globals) -> Result<(), Failure> {
    let registry = Registry::builtin();
    let Some(knob) = registry.get(name) else {
        let failure = Failure::new(Kind::Usage, format!("{name} is not in the registry"));
        return Err(match registry.nearest(name) {
            Some(nearest) => failure.hint(format!("did you mean {nearest}?")),
            None => failure.hint("see: tunesmith knobs list"),
        });
    };
    // Without a server or a flavour all that is known is told.
    let asked = which.flavour.is_some()
        || globals.connection.names_a_server()
        || globals.connection.sandbox.is_some();
    let server = if asked { Some(which.server(globals).await?) } else { None };
    let now = match &server {
        Some((identity, live)) => match registry.resolve(identity, name) {
            Resolution::Present(knob, facts) => told(knob, facts, identity, live),
            Resolution::Removed(_, successor) => {
                let text = format!("{identity} has {} no more", knob.name);
                let failure = Failure::new(Kind::Usage, text);
                return Err(match successor {
                    Some(successor) => failure.hint(format!("{successor} does its work")),
                    None => failure,
                });
            }
            _ => return Err(Failure::new(Kind::Usage, format!("{identity} has no {}", knob.name))),
        },
        None => None,
    };
    if globals.json {
        return print_json(&serde_json::json!({ "schema": SCHEMA, "knob": now, "history": history(knob) }));
    }
    println!("{}\n  {}\n  area {}, risk {}", knob.name, knob.what, word(&knob.area), word(&knob.risk));
    if !knob.aliases.is_empty() {
        println!("  also called {}", knob.aliases.join(", "));
    }
    for (special, meaning) in &knob.specials {
        println!("  {special} = {meaning}");
    }
    if let Some(now) = &now {
        println!(
            "  now {}; {}; change {}",
            value_of(now),
            range_of(now),
            if now.restart { "after a restart" } else { "at once" }
        );
        println!("  {}", now.reference);
    }
    for line in history(knob) {
        println!("  {line}");
    }
    Ok(())
}

/// One line for each version of a flavour from which on something holds.
fn history(knob: &Knob) -> Vec<String> {
    knob.history
        .iter()
        .map(|(flavour, since, fate)| match fate {
            knobs::Fate::Gone(Some(successor)) => format!("{flavour} {since}: gone, use {successor}"),
            knobs::Fate::Gone(None) => format!("{flavour} {since}: gone"),
            knobs::Fate::Present(facts) => {
                let default =
                    facts.default.as_ref().map_or("worked out".to_owned(), |value| value.show(knob.unit));
                let change = if facts.change == ChangeMode::Restart { "restart" } else { "dynamic" };
                format!("{flavour} {since}: {change}, default {default}")
            }
        })
        .collect()
}

fn judge(identity: &Identity, remarks: &[Remark], globals: &Globals) -> Result<(), Failure> {
    let errors = remarks.iter().filter(|remark| remark.fault.is_error()).count();
    if globals.json {
        let told: Vec<_> = remarks
            .iter()
            .map(|remark| {
                serde_json::json!({
                    "line": remark.line, "knob": remark.name, "fault": remark.fault,
                    "error": remark.fault.is_error(), "text": remark.to_string(),
                })
            })
            .collect();
        print_json(
            &serde_json::json!({ "schema": SCHEMA, "identity": identity, "ok": errors == 0, "remarks": told }),
        )?;
    } else {
        for remark in remarks {
            println!("{}{remark}", if remark.fault.is_error() { "" } else { "note: " });
        }
        if errors == 0 {
            println!("fit for {identity}");
        }
    }
    if errors == 0 {
        return Ok(());
    }
    Err(Failure::new(Kind::Usage, format!("{errors} settings are not fit for {identity}")))
}

fn print_json(json: &serde_json::Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(json).map_err(|e| Failure::caused(Kind::Bug, "write JSON", e))?;
    println!("{text}");
    Ok(())
}
