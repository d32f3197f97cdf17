//! `tunesmith compare`: contenders on one or more machines, interleaved, each run from the same bytes.

mod contender;
mod outcome;
mod run;

use crate::cli::Globals;
use crate::cmd::connection::Place;
use crate::emulation::{self, Rig, Wish, bad_machine};
use crate::failure::{Failure, Kind};
use crate::progress::Progress;
use crate::{studying, units};
use contender::Contender;
use lab::Catalogue;
use lab::machine::MachineSpec;
use outcome::{Document, Entry};
use run::{Plan, Seat};
use std::path::PathBuf;
use std::time::Duration;
use tuner::{Event, Events, Objective, Workload};

/// Measures contenders against each other: configurations, machines, or both.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What runs: default, advisor, an option FILE, or STUDY:best; may be given more than once [default: default, advisor].
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
    /// What is executed.
    #[arg(long, default_value = "tpcc", value_parser = ["tpcc"])]
    workload: String,
    /// TPC-C's scale; a warehouse is about 100 MB.
    #[arg(long, default_value_t = 6, value_name = "N")]
    warehouses: u32,
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
        std::fs::write(path, outcome::html(&document))
            .map_err(|e| Failure::caused(Kind::Usage, format!("can't write {}", path.display()), e))?;
        eprintln!("report written to {}", path.display());
    }
    if document.interrupted {
        return Err(Failure::new(Kind::Interrupted, "interrupted; what was measured is shown"));
    }
    if document.contenders.iter().any(|c| c.throughput.is_none()) {
        return Err(Failure::new(Kind::Invalid, "a contender has no valid run; what it says is shown"));
    }
    Ok(())
}

async fn compare(args: &Args, globals: &Globals) -> Result<Document, Failure> {
    if args.repeat == 0 || args.terminals == 0 || args.warehouses == 0 || args.measure.as_secs() == 0 {
        let text = "--repeat, --terminals, --warehouses and --measure must be above zero";
        return Err(Failure::new(Kind::Usage, text));
    }
    let Place::Sandbox { flavour, binary } = globals.connection.place()? else {
        return Err(Failure::new(
            Kind::Usage,
            "compare restarts its servers, so they have to be private ones",
        )
        .hint("use --sandbox, --sandbox=mysql or --sandbox=mariadb"));
    };
    let wish = |text: &String| {
        let machine =
            MachineSpec::parse(text, args.iops, args.scale, &Catalogue::builtin()).map_err(bad_machine)?;
        let family = args.defaults.as_deref().filter(|_| machine.instance().is_some());
        Wish::of(machine, family)
    };
    let wishes: Vec<Wish> = args.machines.iter().map(wish).collect::<Result<_, _>>()?;
    let usual = ["default".to_owned(), "advisor".to_owned()];
    let names: &[String] = if args.configs.is_empty() { &usual } else { &args.configs };
    let contenders: Vec<Contender> =
        names.iter().map(|name| Contender::read(name, globals)).collect::<Result<_, _>>()?;

    let mut progress = Progress::new(Objective::Tps, globals.quiet, globals.verbose > 0);
    let plan = Plan {
        terminals: args.terminals as usize,
        warmup: args.warmup,
        measure: args.measure,
        seed: globals.seed,
        cancel: studying::on_interrupt(),
    };
    let flavour = flavour.map(|f| f.to_string().to_lowercase());
    let binary = emulation::binary(flavour.as_deref(), binary.as_deref())?;
    let workload = Workload::Tpcc { warehouses: args.warehouses, terminals: args.terminals };
    let data = emulation::dataset(&binary, &workload, globals.seed, &mut progress, &plan.cancel).await?;

    let mut seats = Vec::new();
    let mut entries = Vec::new();
    for wish in &wishes {
        let mut seat = Seat::new(Rig::open(wish, binary.clone(), &data, &mut progress)?)?;
        for contender in &contenders {
            let configuration = contender.configuration(&mut seat, &workload).await?;
            entries.push(Entry::new(&contender.name, seats.len(), &seat, configuration));
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
            if plan.cancel.is_requested() {
                break;
            }
            let run = seats[entry.seat].run(&entry.configuration, &plan, &mut progress).await;
            progress.event(&Event::Note(&format!(
                "round {} of {}: {} on {}: {}",
                round + 1,
                args.repeat,
                entry.name,
                entry.machine.name,
                run.summary()
            )));
            entry.runs.push(run);
        }
    }
    progress.finish();
    let server = format!("{} {}", binary.flavour, binary.version());
    let work = format!("TPC-C-like, {} warehouses, {} terminals", args.warehouses, args.terminals);
    Ok(Document::new(server, work, &entries, plan.cancel.is_requested()))
}
