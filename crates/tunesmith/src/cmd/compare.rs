//! `tunesmith compare`: contenders on one or more machines, interleaved, each run from the same bytes.

mod contender;
mod outcome;
mod rival;

use crate::cli::Globals;
use crate::emulation::{self, Rig, Wish, bad_machine};
use crate::experiment::{self, Journal, Plan, Seat, WorkArgs};
use crate::failure::{Failure, Kind};
use crate::progress::Progress;
use crate::{studying, units};
use contender::{Contender, Tuning};
use lab::Catalogue;
use lab::machine::MachineSpec;
use outcome::{Document, Entry};
use report::experiment::{Experiment, Section};
use std::path::PathBuf;
use std::time::Duration;
use tuner::{Event, Events, Objective};

/// Measures contenders against each other: configurations, machines, or both.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What runs: default, advisor, mysqltuner (the installed script's advice after the same work), tuned (a study is made first), an option
    /// FILE, or STUDY:best; may be given more than once [default: default, advisor].
    #[arg(long = "config", value_name = "CONTENDER")]
    configs: Vec<String>,
    /// Where it runs: host, db.m5.4xlarge, db.m5.2xlarge,iops=1000,scale=16, or cpu=1,memory=4G,iops=125; may be given more than once.
    #[arg(long = "machine", value_name = "MACHINE", default_value = "host")]
    machines: Vec<String>,
    /// I/O operations a second of machines that do not say, at full size.
    #[arg(long, value_name = "N")]
    iops: Option<u32>,
    /// Emulate 1/K of classes that do not say.
    #[arg(long, default_value_t = 1, value_name = "K")]
    scale: u32,
    /// The provider's defaults below every contender on a class: mysql5.7, mysql8.0-2021, mysql8.0, mysql8.4, mariadb10.11, or none.
    #[arg(long, value_name = "FAMILY")]
    defaults: Option<String>,
    #[command(flatten)]
    work: WorkArgs,
    /// Connections that send transactions.
    #[arg(long, default_value_t = 16, value_name = "N")]
    terminals: u32,
    /// Work before each measured window; the disk's limit comes on in the middle of it.
    #[arg(long, default_value = "10s", value_parser = units::duration, value_name = "TIME")]
    warmup: Duration,
    /// Length of a measured window.
    #[arg(long, default_value = "20s", value_parser = units::duration, value_name = "TIME")]
    measure: Duration,
    /// Runs of each contender on each machine.
    #[arg(long, default_value_t = 3, value_name = "N")]
    repeat: u32,
    /// Trials of the study that tuned makes.
    #[arg(long, default_value_t = 12, value_name = "N")]
    tune_trials: u32,
    /// Ends the search of that study after this time.
    #[arg(long, value_parser = units::duration, value_name = "TIME")]
    tune_budget: Option<Duration>,
    /// Write each run to this file when it is over; with a file that is there, go on where it stopped.
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Write the report, one HTML file, here.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Runs the command.
pub async fn run(args: Args, globals: &Globals) -> Result<(), Failure> {
    let document = compare(&args, globals).await?;
    if globals.json {
        let text = serde_json::to_string_pretty(&document)
            .map_err(|e| Failure::caused(Kind::Bug, "write JSON", e))?;
        println!("{text}");
    } else {
        print!("{}", outcome::text(&document));
    }
    if let Some(path) = &args.report {
        let sections = vec![outcome::section(&document, "Contenders")];
        let page = Experiment { title: "Comparison".into(), sections, ..Experiment::default() };
        experiment::write_report(path, &report::render::experiment(&page))?;
    }
    if document.interrupted {
        return Err(Failure::new(Kind::Interrupted, "interrupted; what was measured is shown"));
    }
    if document.contenders.iter().any(|c| c.throughput.is_none()) {
        return Err(Failure::new(Kind::Invalid, "a contender has no valid run; what it says is shown"));
    }
    Ok(())
}

/// A step of a recipe: the section of its report, and whether the user stopped it.
pub async fn step(
    mut args: Args,
    globals: &Globals,
    title: &str,
    results: PathBuf,
) -> Result<(Section, bool), Failure> {
    args.results.get_or_insert(results);
    let document = compare(&args, globals).await?;
    print!("{}", outcome::text(&document));
    Ok((outcome::section(&document, title), document.interrupted))
}

async fn compare(args: &Args, globals: &Globals) -> Result<Document, Failure> {
    if args.repeat == 0 || args.terminals == 0 || args.measure.as_secs() == 0 {
        let text = "--repeat, --terminals and --measure must be above zero";
        return Err(Failure::new(Kind::Usage, text));
    }
    let (flavour, folder) = experiment::sandbox(globals, "compare")?;
    let wish = |text: &String| {
        let machine =
            MachineSpec::parse(text, args.iops, args.scale, &Catalogue::builtin()).map_err(bad_machine)?;
        experiment::wish(machine, args.defaults.as_deref())
    };
    let wishes: Vec<Wish> = args.machines.iter().map(wish).collect::<Result<_, _>>()?;
    let usual = ["default".to_owned(), "advisor".to_owned()];
    let names: &[String] = if args.configs.is_empty() { &usual } else { &args.configs };
    let contenders: Vec<Contender> =
        names.iter().map(|name| Contender::read(name, globals)).collect::<Result<_, _>>()?;

    let mut progress = Progress::new(Objective::Tps, globals.quiet, globals.verbose > 0);
    let plan = Plan {
        work: args.work.read(globals.seed)?,
        warmup: args.warmup,
        measure: args.measure,
        seed: globals.seed,
        cancel: studying::on_interrupt(),
    };
    let binary = emulation::binary(flavour.as_deref(), folder.as_deref())?;
    let server = format!("{} {}", binary.flavour, binary.version());
    let about = serde_json::json!({
        "command": "compare", "server": server, "work": plan.work.name(), "parameters": plan.work.parameters(),
        "terminals": args.terminals, "warmup": args.warmup.as_secs(), "measure": args.measure.as_secs(),
        "defaults": args.defaults, "seed": globals.seed,
    });
    let mut journal = Journal::open(args.results.as_deref(), &about)?;
    if journal.len() > 0 {
        progress.event(&Event::Note(&format!("{} runs are there already", journal.len())));
    }
    let tuning = Tuning {
        trials: args.tune_trials,
        time_budget: args.tune_budget,
        defaults: args.defaults.clone(),
        flavour,
        binary: folder,
    };
    let data = emulation::data(&binary, plan.work.data_set(), &mut progress, &plan.cancel).await?;

    let mut seats = Vec::new();
    let mut entries = Vec::new();
    for wish in &wishes {
        let mut seat = Seat::new(Rig::open(wish, binary.clone(), &data, &mut progress)?)?;
        for contender in &contenders {
            let cell = format!("{} on {}", contender.name, wish.machine.to_text());
            let book = match journal.book(&cell) {
                Some(book) => book.clone(),
                None => {
                    let book = contender.book(&mut seat, &plan, args.terminals, &tuning, globals).await?;
                    journal.settle(&cell, &book)?;
                    book
                }
            };
            for note in &book.notes {
                progress.event(&Event::Note(note));
            }
            entries.push(Entry::new(&contender.name, seats.len(), &seat, cell, book));
        }
        seats.push(seat);
    }
    for round in 0..args.repeat {
        // There and back again, so that neither a trend of this computer nor the order favours anyone.
        let mut order: Vec<usize> = (0..entries.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            let entry: &mut Entry = &mut entries[at];
            if let Some(run) = journal.run(&entry.cell, round) {
                entry.runs.push(run.clone());
                continue;
            }
            if plan.cancel.is_requested() {
                break;
            }
            let run = seats[entry.seat].run(&entry.book.configuration, &plan, args.terminals as usize).await;
            if plan.cancel.is_requested() {
                // Its end was not its own.
                break;
            }
            progress.event(&Event::Note(&format!(
                "round {} of {}: {} on {}: {}",
                round + 1,
                args.repeat,
                entry.name,
                entry.machine.name,
                run.summary()
            )));
            journal.record(&entry.cell, round, &run)?;
            entry.runs.push(run);
        }
    }
    progress.finish();
    let work = format!("{}, {} terminals", plan.work.name(), args.terminals);
    Ok(Document::new(server, work, &entries, plan.cancel.is_requested()))
}
