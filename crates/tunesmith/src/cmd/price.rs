//! `tunesmith price`: what a machine costs a year, and which of several gives most for the money.

use crate::cli::Globals;
use crate::failure::{Failure, Kind};
use comfy_table::{CellAlignment, Table, presets};
use lab::catalogue::Class;
use lab::price::{self, Offer, Parts, PriceError, Storage, StorageKind, Usd, grouped};
use lab::{Catalogue, CatalogueError};
use serde::Serialize;
use std::path::PathBuf;

/// Version of the JSON document.
const SCHEMA: u32 = 1;

/// Yearly cost of a machine, its provisioned IOPS and its storage; with --throughput, what it gives for the money.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A class, with what differs from the options below: db.m5.4xlarge, or db.m5.4xlarge,iops=2000,throughput=781. Several are compared.
    #[arg(
        long = "machine",
        value_name = "CLASS[,iops=N][,storage=GB][,throughput=N]",
        required_unless_present = "list"
    )]
    machines: Vec<String>,
    /// Provisioned I/O operations a second.
    #[arg(long, value_name = "N")]
    iops: Option<u64>,
    /// Storage in GB; 0 leaves it out of the price, as the published studies do.
    #[arg(long, default_value_t = 0, value_name = "GB")]
    storage_gb: u64,
    /// gp2, gp3, io1 or io2 [default: io1 with --iops, otherwise gp3].
    #[arg(long, value_name = "KIND")]
    storage_type: Option<StorageKind>,
    /// With a standby in another zone.
    #[arg(long)]
    multi_az: bool,
    /// Measured transactions a second.
    #[arg(long, value_name = "N")]
    throughput: Option<f64>,
    /// A machines.toml with machines and prices of your own.
    #[arg(long, value_name = "FILE")]
    machines_file: Option<PathBuf>,
    /// Show all machines that are known, with the price of an hour.
    #[arg(long)]
    list: bool,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct Document {
    schema: u32,
    /// Of the first machine, in whole dollars, the rest cut off as in the published studies.
    yearly_usd: i64,
    yearly_usd_exact: Usd,
    parts: Parts,
    machines: Vec<Priced>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    advice: Vec<String>,
    notes: Vec<String>,
}

/// One machine with its price.
#[derive(Debug, Serialize)]
struct Priced {
    machine: String,
    vcpu: u32,
    memory_bytes: u64,
    iops: u64,
    storage_gb: u64,
    storage_type: &'static str,
    yearly_usd: i64,
    yearly_usd_exact: Usd,
    parts: Parts,
    throughput: Option<f64>,
    throughput_per_1000_usd: Option<f64>,
    price_date: Option<String>,
    price_source: Option<String>,
}

/// Runs the command.
pub async fn run(args: Args, globals: &Globals) -> Result<(), Failure> {
    let catalogue = catalogue(args.machines_file.as_deref())?;
    if args.list {
        print!("{}", list(&catalogue));
        return Ok(());
    }
    let document = document(&args, &catalogue)?;
    if globals.json {
        let text = serde_json::to_string_pretty(&document)
            .map_err(|e| Failure::caused(Kind::Bug, "write JSON", e))?;
        println!("{text}");
    } else {
        print!("{}", text(&document));
    }
    Ok(())
}

/// The catalogue, with the user's own file over it.
pub fn catalogue(user_file: Option<&std::path::Path>) -> Result<Catalogue, Failure> {
    match user_file {
        None => Ok(Catalogue::builtin()),
        Some(path) => Catalogue::builtin().with_user_file(path).map_err(|e| {
            Failure::caused(Kind::Usage, "can't use the user's machines", e)
                .hint("write [machines.NAME] with vcpu, memory_gib, iops, mb_s and usd_hour")
        }),
    }
}

/// An unknown class, with the names that look like it.
pub fn unknown_class(error: CatalogueError) -> Failure {
    let hint = match error.nearest() {
        [] => "tunesmith price --list shows all; --machines-file adds your own".to_owned(),
        near => format!("there is {}", near.join(", ")),
    };
    Failure::new(Kind::Usage, error.to_string()).hint(hint)
}

fn document(args: &Args, catalogue: &Catalogue) -> Result<Document, Failure> {
    let machines: Vec<Priced> =
        args.machines.iter().map(|text| priced(text, args, catalogue)).collect::<Result<_, _>>()?;
    let Some(first) = machines.first() else {
        return Err(
            Failure::new(Kind::Usage, "no machine is named").hint("name one with --machine db.m5.4xlarge")
        );
    };
    Ok(Document {
        schema: SCHEMA,
        yearly_usd: first.yearly_usd,
        yearly_usd_exact: first.yearly_usd_exact,
        parts: first.parts,
        advice: advice(&machines),
        notes: notes(&machines, args),
        machines,
    })
}

fn priced(text: &str, args: &Args, catalogue: &Catalogue) -> Result<Priced, Failure> {
    let (name, rest) = text.split_once(',').unwrap_or((text, ""));
    let class = catalogue.class(name.trim()).map_err(unknown_class)?;
    let (mut iops, mut gigabytes, mut throughput) = (args.iops, args.storage_gb, args.throughput);
    for part in rest.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let wrong = || {
            Failure::new(Kind::Usage, format!("{part:?} says nothing about a machine"))
                .hint("write iops=2000, storage=100 or throughput=781 after the class")
        };
        let (key, value) = part.split_once('=').ok_or_else(wrong)?;
        match key {
            "iops" => iops = Some(value.parse().map_err(|_| wrong())?),
            "storage" => gigabytes = value.parse().map_err(|_| wrong())?,
            "throughput" => throughput = Some(value.parse().map_err(|_| wrong())?),
            _ => return Err(wrong()),
        }
    }
    if throughput.is_some_and(|tps| !(tps > 0.0 && tps.is_finite())) {
        return Err(Failure::new(Kind::Usage, "a throughput is above zero"));
    }
    let usual = if iops.is_some() { StorageKind::Io1 } else { StorageKind::Gp3 };
    let kind = args.storage_type.unwrap_or(usual);
    let storage = Storage { kind, gigabytes, iops: iops.unwrap_or(0), multi_az: args.multi_az };
    let parts = price::yearly(class, &storage).map_err(|e| price_failure(e, class, catalogue))?;
    Ok(Priced {
        machine: class.name.clone(),
        vcpu: class.vcpu,
        memory_bytes: class.memory,
        iops: storage.iops,
        storage_gb: gigabytes,
        storage_type: kind.as_str(),
        yearly_usd: parts.total().whole(),
        yearly_usd_exact: parts.total(),
        parts,
        throughput,
        throughput_per_1000_usd: throughput.map(|tps| price::per_thousand_dollars(tps, parts.total())),
        price_date: class.price_date.clone(),
        price_source: class.price_source.map(|source| source.to_string()),
    })
}

fn price_failure(error: PriceError, class: &Class, catalogue: &Catalogue) -> Failure {
    let hint = match &error {
        PriceError::NoPrice(_) => {
            let family = class.name.rsplit_once('.').map_or("", |(family, _)| family);
            let priced =
                catalogue.classes().iter().filter(|c| c.name.starts_with(family) && c.hour.is_some());
            let names: Vec<&str> = priced.map(|c| c.name.as_str()).collect();
            let of_family =
                if names.is_empty() { String::new() } else { format!("; known are {}", names.join(", ")) };
            format!("state it in a machines.toml and name that with --machines-file{of_family}")
        }
        PriceError::Storage(_) => "see --storage-type, --storage-gb and --iops".to_owned(),
    };
    Failure::caused(Kind::Usage, "can't tell the price", error).hint(hint)
}

/// The same throughput for less, and more for the same money: only of machines whose throughput was measured.
fn advice(machines: &[Priced]) -> Vec<String> {
    let offer = |m: &Priced| {
        let throughput = m.throughput?;
        Some(Offer { name: title(m), yearly: m.yearly_usd_exact, throughput })
    };
    let offers: Vec<Offer> = machines.iter().filter_map(offer).collect();
    let mut out = Vec::new();
    for this in &offers {
        if let Some(less) =
            price::cheapest_at_least(&offers, this.throughput).filter(|o| o.yearly < this.yearly)
        {
            out.push(format!(
                "{} does {:.2} times the work of {} for ${} a year less",
                less.name,
                less.throughput / this.throughput,
                this.name,
                whole(this.yearly - less.yearly)
            ));
        } else if let Some(more) = price::best_within(&offers, this.yearly)
            .filter(|o| o.yearly == this.yearly && o.throughput > this.throughput)
        {
            let ratio = more.throughput / this.throughput;
            out.push(format!(
                "{} does {ratio:.2} times the work of {} for the same money",
                more.name, this.name
            ));
        }
    }
    out
}

fn title(machine: &Priced) -> String {
    match machine.iops {
        0 => machine.machine.clone(),
        iops => format!("{} with {} IOPS", machine.machine, grouped(iops)),
    }
}

fn whole(amount: Usd) -> String {
    grouped(amount.whole().unsigned_abs())
}

fn notes(machines: &[Priced], args: &Args) -> Vec<String> {
    let mut notes = Vec::new();
    for m in machines {
        if let (Some(date), Some(source)) = (&m.price_date, &m.price_source) {
            notes.push(format!("{}: price of {date}, {source}", m.machine));
        }
    }
    notes.dedup();
    notes.push("us-east-1, on demand, MySQL or MariaDB; whole dollars, the rest cut off".into());
    if machines.iter().any(|m| m.storage_gb == 0) {
        let least = "storage is left out; state --storage-gb to price it";
        notes.push(if machines.iter().any(|m| m.storage_type.starts_with("io")) {
            format!("{least} (io1 is sold from 100 GB on)")
        } else {
            least.into()
        });
    }
    if args.multi_az {
        notes.push("with a standby: twice the instance's price, which is not exact for every class".into());
    }
    notes
}

fn text(document: &Document) -> String {
    use std::fmt::Write;
    let measured = document.machines.iter().any(|m| m.throughput.is_some());
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let mut head = vec!["machine", "vCPU", "memory", "instance", "IOPS", "storage", "a year"];
    if measured {
        head.extend(["txn/s", "txn/s per $1,000"]);
    }
    let columns = head.len();
    table.set_header(head);
    for m in &document.machines {
        let mut row = vec![
            title(m),
            m.vcpu.to_string(),
            format!("{} GiB", m.memory_bytes as f64 / f64::from(1 << 30)).replace("GiB", "GB"),
            m.parts.instance.to_string(),
            m.parts.iops.to_string(),
            m.parts.storage.to_string(),
            format!("${}", whole(m.yearly_usd_exact)),
        ];
        if measured {
            let shown = |n: Option<f64>| n.map_or_else(String::new, |n| format!("{n:.1}"));
            row.extend([shown(m.throughput), shown(m.throughput_per_1000_usd)]);
        }
        table.add_row(row);
    }
    for column in 1..columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut out = String::new();
    for line in table.lines() {
        let _ = writeln!(out, "{}", line.trim());
    }
    let _ = writeln!(out);
    for line in document.advice.iter().chain(&document.notes) {
        let _ = writeln!(out, "{line}");
    }
    out
}

fn list(catalogue: &Catalogue) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    for class in catalogue.classes() {
        let hour = class.hour.map_or_else(|| "not known".to_owned(), |h| h.to_string());
        let memory = class.memory as f64 / f64::from(1 << 30);
        let iops = class.iops.map_or_else(String::new, |n| format!("{} IOPS", grouped(u64::from(n))));
        let _ = writeln!(
            out,
            "{:<18} {:>3} vCPU {memory:>8.1} GB {hour:>9} an hour  {iops}",
            class.name, class.vcpu
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn priced(line: &str) -> Result<Document, Failure> {
        let words = std::iter::once("x").chain(line.split(' '));
        document(&Line::try_parse_from(words).unwrap().args, &Catalogue::builtin())
    }

    #[test]
    fn the_promised_fields_of_the_published_machines() {
        let json = serde_json::to_value(priced("--machine db.m5.2xlarge --iops 1000").unwrap()).unwrap();
        assert_eq!(json["yearly_usd"], 7191);
        assert_eq!(json["parts"], serde_json::json!({"instance": 5991.84, "iops": 1200.0, "storage": 0.0}));
        assert_eq!(priced("--machine db.m5.4xlarge --iops 2000").unwrap().yearly_usd, 14_383);
    }

    #[test]
    fn several_machines_are_compared_by_what_they_do_for_the_money() {
        let document = priced(
            "--machine db.m5.4xlarge,iops=2000,throughput=781 --machine db.m5.2xlarge,iops=1000,throughput=1535",
        )
        .unwrap();
        assert_eq!(
            document.advice,
            [
                "db.m5.2xlarge with 1,000 IOPS does 1.97 times the work of db.m5.4xlarge with 2,000 IOPS for $7,191 a year less"
            ]
        );
        let text = text(&document);
        assert!(text.contains("$14,383") && text.contains("213.4"), "{text}");
    }

    #[test]
    fn mistakes_are_told_with_the_next_step() {
        for (line, hint) in [
            ("--machine db.m5.4xlarg", "db.m5.4xlarge"),
            ("--machine zebra", "price --list"),
            ("--machine db.m6i.8xlarge", "known are db.m6i.large"),
            ("--machine db.m5.large --iops 100 --storage-type gp2", "--storage-type"),
            ("--machine db.m5.large,speed=3", "iops=2000"),
            ("--machine db.m5.large --iops 1000 --storage-gb 10", "--storage-gb"),
        ] {
            let failure = priced(line).unwrap_err().to_string();
            assert!(failure.contains(hint), "{failure}");
        }
    }
}
