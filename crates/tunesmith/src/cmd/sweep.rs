//! `tunesmith sweep`: numbers of threads over machines and provisioned IOPS, each run from the same bytes, with a rest before it.

mod outcome;

use crate::cli::Globals;
use crate::emulation::{self, Rig, bad_machine};
use crate::experiment::{self, Book, Journal, Plan, Seat, WorkArgs};
use crate::failure::{Failure, Kind};
use crate::progress::Progress;
use crate::{studying, units};
use knobs::Configuration;
use lab::Catalogue;
use lab::machine::MachineSpec;
use outcome::{Curve, Document};
use report::experiment::{Experiment, Section};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tuner::{Cancel, Event, Events, Objective};

/// Measures throughput over numbers of threads, on one or more machines, and finds the knee.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Numbers of connections.
    #[arg(long, value_delimiter = ',', value_name = "N,…", default_values_t = [1, 2, 4, 8, 16, 32, 64])]
    threads: Vec<usize>,
    /// Where it runs: host, db.m1.small, db.m5.2xlarge,iops=1000,scale=16, or cpu=1,memory=4G,iops=125; may be given more than once.
    #[arg(long = "machine", value_name = "MACHINE", default_value = "host")]
    machines: Vec<String>,
    /// I/O operations a second at full size of machines that do not say; with several, each such machine runs with each.
    #[arg(long, value_delimiter = ',', value_name = "N,…")]
    iops: Vec<u32>,
    /// Emulate 1/K of classes that do not say.
    #[arg(long, default_value_t = 1, value_name = "K")]
    scale: u32,
    /// The provider's defaults on a class: mysql5.7, mysql8.0-2021, mysql8.0, mysql8.4, mariadb10.11, or none.
    #[arg(long, value_name = "FAMILY")]
    defaults: Option<String>,
    /// An option file whose [mysqld] settings all servers run with.
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    #[command(flatten)]
    work: WorkArgs,
    /// Work before each measured window; the disk's limit comes on in the middle of it.
    #[arg(long, default_value = "5s", value_parser = units::duration, value_name = "TIME")]
    warmup: Duration,
    /// Length of a measured window.
    #[arg(long, default_value = "15s", value_parser = units::duration, value_name = "TIME")]
    measure: Duration,
    /// Rest before each run, so that what the last one left behind is over.
    #[arg(long, default_value = "2s", value_parser = units::duration, value_name = "TIME")]
    rest: Duration,
    /// Runs of each number of threads on each machine.
    #[arg(long, default_value_t = 1, value_name = "N")]
    repeat: u32,
    /// Write each run to this file when it is over; with a file that is there, go on where it stopped.
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Write the report, one HTML file, here.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Runs the command.
pub async fn run(args: Args, globals: &Globals) -> Result<(), Failure> {
    let document = sweep(&args, globals).await?;
    if globals.json {
        let text = serde_json::to_string_pretty(&document)
            .map_err(|e| Failure::caused(Kind::Bug, "write JSON", e))?;
        println!("{text}");
    } else {
        print!("{}", outcome::text(&document));
    }
    if let Some(path) = &args.report {
        let sections = vec![outcome::section(&document, "Throughput over threads")];
        let page = Experiment { title: "Sweep".into(), sections, ..Experiment::default() };
        experiment::write_report(path, &report::render::experiment(&page))?;
    }
    if document.interrupted {
        let text = match &args.results {
            Some(path) => format!("interrupted; the same command with --results {} goes on", path.display()),
            None => "interrupted; what was measured is shown".to_owned(),
        };
        return Err(Failure::new(Kind::Interrupted, text));
    }
    if document.machines.iter().all(Curve::is_empty) {
        return Err(Failure::new(Kind::Invalid, "no run is a measurement; what they say is shown"));
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
    let document = sweep(&args, globals).await?;
    print!("{}", outcome::text(&document));
    Ok((outcome::section(&document, title), document.interrupted))
}

impl Args {
    fn check(&self) -> Result<(), Failure> {
        if self.repeat == 0
            || self.measure.as_secs() == 0
            || self.threads.is_empty()
            || self.threads.contains(&0)
        {
            return Err(Failure::new(Kind::Usage, "--threads, --repeat and --measure must be above zero"));
        }
        Ok(())
    }

    /// Every machine with every number of IOPS, unless it has its own.
    fn machines(&self) -> Result<Vec<MachineSpec>, Failure> {
        let mut machines = Vec::new();
        let each: Vec<Option<u32>> =
            if self.iops.is_empty() { vec![None] } else { self.iops.iter().copied().map(Some).collect() };
        for text in &self.machines {
            for &iops in &each {
                let machine =
                    MachineSpec::parse(text, iops, self.scale, &Catalogue::builtin()).map_err(bad_machine)?;
                if !machines.contains(&machine) {
                    machines.push(machine);
                }
            }
        }
        Ok(machines)
    }

    fn configuration(&self) -> Result<Configuration, Failure> {
        let Some(path) = self.config.as_deref().filter(|name| *name != "default") else {
            return Ok(Configuration::default());
        };
        let text = std::fs::read_to_string(path)
            .map_err(|e| Failure::caused(Kind::Usage, format!("can't read {path}"), e))?;
        studying::server_settings(&text).map_err(|why| Failure::new(Kind::Usage, format!("{path}: {why}")))
    }
}

async fn sweep(args: &Args, globals: &Globals) -> Result<Document, Failure> {
    args.check()?;
    let (flavour, folder) = experiment::sandbox(globals, "sweep")?;
    let machines = args.machines()?;
    let wishes: Vec<_> = machines
        .iter()
        .map(|machine| experiment::wish(machine.clone(), args.defaults.as_deref()))
        .collect::<Result<_, _>>()?;
    let book = Book { configuration: args.configuration()?, notes: Vec::new() };
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
        "command": "sweep", "server": server, "work": plan.work.name(), "parameters": plan.work.parameters(),
        "warmup": args.warmup.as_secs(), "measure": args.measure.as_secs(), "rest": args.rest.as_secs(),
        "defaults": args.defaults, "configuration": book.configuration, "seed": globals.seed,
    });
    let mut journal = Journal::open(args.results.as_deref(), &about)?;
    if journal.len() > 0 {
        progress.event(&Event::Note(&format!("{} runs are there already", journal.len())));
    }
    let data = emulation::data(&binary, plan.work.data_set(), &mut progress, &plan.cancel).await?;

    // Machines are made when they are needed: a sweep that only goes on may need none.
    let mut seats: Vec<Option<Seat>> = wishes.iter().map(|_| None).collect();
    let mut curves: Vec<Curve> = machines.iter().map(|machine| Curve::new(machine.clone())).collect();
    let all = args.repeat as usize * curves.len() * args.threads.len();
    let mut done = 0;
    'all: for round in 0..args.repeat {
        // There and back again, so that a trend of this computer favours no machine.
        let mut order: Vec<usize> = (0..curves.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order {
            for &threads in &args.threads {
                let cell = format!("{threads} threads on {}", machines[at].to_text());
                done += 1;
                if let Some(run) = journal.run(&cell, round) {
                    curves[at].push(threads, run.clone());
                    continue;
                }
                if seats[at].is_none() {
                    let rig = Rig::open(&wishes[at], binary.clone(), &data, &mut progress)?;
                    curves[at].lacking = rig.lacking();
                    seats[at] = Some(Seat::new(rig)?);
                }
                let Some(seat) = &mut seats[at] else { continue };
                rest(args.rest, &plan.cancel).await;
                if plan.cancel.is_requested() {
                    break 'all;
                }
                let run = seat.run(&book.configuration, &plan, threads).await;
                if plan.cancel.is_requested() {
                    // Its end was not its own.
                    break 'all;
                }
                let name = &machines[at].name;
                let note = format!("{done:>3} of {all}: {threads:>3} threads on {name}: {}", run.summary());
                progress.event(&Event::Note(&note));
                journal.record(&cell, round, &run)?;
                curves[at].push(threads, run);
            }
            if args.repeat == 1 {
                // Its disk and memory are of no more use.
                seats[at] = None;
            }
        }
    }
    progress.finish();
    Ok(Document::new(server, plan.work.name(), curves, globals.seed, plan.cancel.is_requested()))
}

/// Waits, unless the user stops.
async fn rest(time: Duration, cancel: &Cancel) {
    let begin = Instant::now();
    while begin.elapsed() < time && !cancel.is_requested() {
        tokio::time::sleep(Duration::from_millis(50).min(time)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn args(text: &str) -> Args {
        Line::try_parse_from(text.split_whitespace()).unwrap().args
    }

    #[test]
    fn every_machine_runs_with_every_number_of_iops_unless_it_has_its_own() {
        let machines =
            args("--machine db.m1.large --machine db.m1.small,iops=500 --iops 1000,2000 --scale 4")
                .machines()
                .unwrap();
        let names: Vec<&str> = machines.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "db.m1.large, 1000 IOPS at 1/4",
                "db.m1.large, 2000 IOPS at 1/4",
                "db.m1.small, 500 IOPS at 1/4"
            ]
        );
        assert_eq!(args("").machines().unwrap(), [MachineSpec::host()]);
    }

    #[test]
    fn what_would_measure_nothing_is_refused() {
        for text in ["--threads 0", "--threads 2,0", "--repeat 0", "--measure 0s"] {
            assert!(args(text).check().is_err(), "{text}");
        }
        assert!(args("--threads 2,4").check().is_ok());
    }

    #[test]
    fn the_servers_settings_come_from_an_option_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cnf");
        std::fs::write(&path, "[mysqld]\nmax_connections=7\n").unwrap();
        let found = args(&format!("--config {}", path.display())).configuration().unwrap();
        assert_eq!(found.iter().count(), 1);
        assert!(args("--config default").configuration().unwrap().is_empty());
        assert!(args("--config /nowhere.cnf").configuration().is_err());
    }
}
