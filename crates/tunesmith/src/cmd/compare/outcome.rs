//! What a comparison found: the table, the JSON document, the report.

use crate::experiment::{Book, CONFIDENCE, Run, Seat, yearly};
use knobs::Configuration;
use lab::machine::MachineSpec;
use lab::price::{self, Offer, Usd, grouped};
use report::experiment::{Bar, Chart, Figure, Section, Table};
use serde::Serialize;
use std::fmt::Write;

const SCHEMA: &str = "tunesmith.compare/1";

/// A contender on a machine, and its runs.
pub struct Entry {
    /// The contender.
    pub name: String,
    /// Which of the seats.
    pub seat: usize,
    /// The machine.
    pub machine: MachineSpec,
    /// Its name in the file of results.
    pub cell: String,
    /// What it runs with.
    pub book: Book,
    /// Its runs, by round.
    pub runs: Vec<Run>,
    lacking: Vec<String>,
}

impl Entry {
    /// Without runs yet.
    pub fn new(name: &str, at: usize, seat: &Seat, cell: String, book: Book) -> Self {
        let (machine, lacking) = (seat.rig().machine.clone(), seat.rig().lacking());
        Self { name: name.to_owned(), seat: at, machine, cell, book, runs: Vec::new(), lacking }
    }
}

/// What is printed; its names are promised.
#[derive(Debug, Serialize)]
pub struct Document {
    schema: &'static str,
    server: String,
    workload: String,
    /// One for each contender on each machine.
    pub contenders: Vec<Row>,
    ratios: Vec<Ratio>,
    advice: Vec<String>,
    warnings: Vec<String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// A contender on a machine.
#[derive(Debug, Serialize)]
pub struct Row {
    name: String,
    machine: String,
    /// `None` if no run is a measurement.
    pub throughput: Option<Throughput>,
    p95_us: Option<u64>,
    yearly_usd: Option<i64>,
    throughput_per_1000_usd: Option<f64>,
    configuration: Configuration,
    /// How the configuration came about.
    notes: Vec<String>,
    runs: Vec<Run>,
    #[serde(skip)]
    yearly: Option<Usd>,
}

/// Transactions a second, with the 95 % interval of their mean over the runs; of a single run, that within it.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Throughput {
    per_second: f64,
    low: Option<f64>,
    high: Option<f64>,
}

/// One against another, from runs of the same round.
#[derive(Debug, Serialize)]
pub struct Ratio {
    of: String,
    to: String,
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
}

impl Document {
    /// From the runs.
    pub fn new(server: String, workload: String, entries: &[Entry], interrupted: bool) -> Self {
        let contenders: Vec<Row> = entries.iter().map(row).collect();
        let several = entries.iter().any(|e| e.seat > 0);
        let label =
            |e: &Entry| if several { format!("{} on {}", e.name, e.machine.name) } else { e.name.clone() };
        let mut ratios = Vec::new();
        for (at, to) in entries.iter().enumerate() {
            ratios.extend(entries[at + 1..].iter().filter_map(|of| ratio(label(of), label(to), of, to)));
        }
        let mut warnings: Vec<String> = entries.iter().flat_map(|e| e.lacking.clone()).collect();
        for e in entries {
            for (n, run) in e.runs.iter().enumerate() {
                if let Some(why) = &run.failure {
                    warnings.push(format!("run {} of {} failed: {why}", n + 1, label(e)));
                }
            }
        }
        warnings.dedup();
        let offers: Vec<Offer> =
            entries.iter().zip(&contenders).filter_map(|(e, row)| offer(label(e), row)).collect();
        Self {
            schema: SCHEMA,
            server,
            workload,
            advice: advice(&offers),
            contenders,
            ratios,
            warnings,
            interrupted,
        }
    }
}

fn row(entry: &Entry) -> Row {
    let values: Vec<f64> = entry.runs.iter().filter_map(|run| run.per_second).collect();
    let within = entry.runs.iter().find_map(|run| run.interval);
    let interval = stats::mean_interval(&values, CONFIDENCE);
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let throughput = (!values.is_empty()).then(|| Throughput {
        per_second: mean,
        low: interval.map(|i| i.low.max(0.0)).or(within.map(|w| w.0)),
        high: interval.map(|i| i.high).or(within.map(|w| w.1)),
    });
    let mut latencies: Vec<u64> = entry.runs.iter().filter_map(|run| run.p95_us).collect();
    latencies.sort_unstable();
    let yearly = yearly(&entry.machine);
    Row {
        name: entry.name.clone(),
        machine: entry.machine.name.clone(),
        p95_us: latencies.get(latencies.len() / 2).copied(),
        yearly_usd: yearly.map(Usd::whole),
        throughput_per_1000_usd: throughput
            .zip(yearly)
            .map(|(t, y)| price::per_thousand_dollars(t.per_second, y)),
        throughput,
        configuration: entry.book.configuration.clone(),
        notes: entry.book.notes.clone(),
        runs: entry.runs.clone(),
        yearly,
    }
}

fn ratio(of_name: String, to_name: String, of: &Entry, to: &Entry) -> Option<Ratio> {
    let pairs: Vec<(f64, f64)> =
        of.runs.iter().zip(&to.runs).filter_map(|(of, to)| to.per_second.zip(of.per_second)).collect();
    let mean_log = pairs.iter().map(|(to, of)| (of / to).ln()).sum::<f64>() / pairs.len() as f64;
    let interval = stats::paired_ratio(&pairs, CONFIDENCE);
    mean_log.is_finite().then(|| Ratio {
        of: of_name,
        to: to_name,
        ratio: mean_log.exp(),
        low: interval.map(|i| i.low),
        high: interval.map(|i| i.high),
    })
}

fn offer(name: String, row: &Row) -> Option<Offer> {
    Some(Offer { name, yearly: row.yearly?, throughput: row.throughput?.per_second })
}

/// The same throughput for less money.
fn advice(offers: &[Offer]) -> Vec<String> {
    let cheaper = |this: &Offer| {
        let less = price::cheapest_at_least(offers, this.throughput).filter(|o| o.yearly < this.yearly)?;
        Some(format!(
            "{} does {:.2} times the work of {} for ${} a year less",
            less.name,
            less.throughput / this.throughput,
            this.name,
            grouped((this.yearly - less.yearly).whole().unsigned_abs())
        ))
    };
    offers.iter().filter_map(cheaper).collect()
}

/// The table on the terminal.
pub fn text(document: &Document) -> String {
    let mut out = format!("{} · {}\n\n", document.server, document.workload);
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header([
        "contender",
        "machine",
        "txn/s",
        "95 % interval",
        "p95",
        "runs",
        "a year",
        "txn/s per $1,000",
    ]);
    for row in &document.contenders {
        let (mean, interval) = throughput_cells(row.throughput);
        let good = row.runs.iter().filter(|run| run.per_second.is_some()).count();
        table.add_row([
            row.name.clone(),
            row.machine.clone(),
            mean,
            interval,
            row.p95_us.map_or_else(String::new, |us| report::units::micros(us as f64)),
            format!("{good} of {}", row.runs.len()),
            row.yearly_usd.map_or_else(String::new, |usd| format!("${}", grouped(usd.unsigned_abs()))),
            row.throughput_per_1000_usd.map_or_else(String::new, |n| format!("{n:.2}")),
        ]);
    }
    for line in table.lines() {
        let _ = writeln!(out, "{}", line.trim());
    }
    let _ = writeln!(out);
    for line in sentences(document) {
        let _ = writeln!(out, "{line}");
    }
    out
}

fn throughput_cells(throughput: Option<Throughput>) -> (String, String) {
    match throughput {
        None => ("failed".into(), String::new()),
        Some(t) => {
            let interval =
                t.low.zip(t.high).map_or_else(String::new, |(low, high)| format!("{low:.1} to {high:.1}"));
            (format!("{:.1}", t.per_second), interval)
        }
    }
}

fn sentences(document: &Document) -> Vec<String> {
    let mut out = findings(document);
    out.extend(document.warnings.iter().map(|w| format!("warning: {w}")));
    out
}

/// Ratios and advice.
fn findings(document: &Document) -> Vec<String> {
    let mut out = Vec::new();
    for r in &document.ratios {
        let interval = r.low.zip(r.high).map_or_else(
            || "no interval: one round".to_owned(),
            |(low, high)| format!("95 % interval {low:.2} to {high:.2}"),
        );
        out.push(format!("{} does {:.2} times the work of {} ({interval})", r.of, r.ratio, r.to));
    }
    out.extend(document.advice.iter().cloned());
    out
}

/// The comparison as a part of a report: bars with intervals, work for the money, the repeated runs, one run of each over time.
pub fn section(document: &Document, title: &str) -> Section {
    let unit = "txn/s".to_owned();
    let several = document.contenders.windows(2).any(|w| w[0].machine != w[1].machine);
    let label =
        |row: &Row| if several { format!("{} on {}", row.name, row.machine) } else { row.name.clone() };
    let bar = |row: &Row| Bar {
        label: label(row),
        value: row.throughput.map(|t| t.per_second),
        interval: row.throughput.and_then(|t| t.low.zip(t.high)),
    };
    let figure = |title: &str, caption: &str, chart| Figure {
        title: title.to_owned(),
        caption: caption.to_owned(),
        wide: true,
        chart,
    };
    let mut figures = vec![figure(
        "Transactions a second",
        "Means over the runs, with their 95 % intervals.",
        Chart::Bars { unit: unit.clone(), bars: document.contenders.iter().map(bar).collect() },
    )];
    if document.contenders.iter().any(|row| row.throughput_per_1000_usd.is_some()) {
        let bars = document.contenders.iter().map(|row| Bar {
            label: label(row),
            value: row.throughput_per_1000_usd,
            interval: None,
        });
        figures.push(figure(
            "For the money",
            "Throughput of the emulated machine for each 1,000 dollars a year that the whole one costs.",
            Chart::Bars { unit: "txn/s per $1,000".to_owned(), bars: bars.collect() },
        ));
    }
    let values = |row: &Row| row.runs.iter().filter_map(|run| run.per_second).collect::<Vec<f64>>();
    if document.contenders.iter().any(|row| row.runs.len() > 2) {
        let boxes = document.contenders.iter().map(|row| (label(row), values(row)));
        figures.push(figure(
            "Repeated runs",
            "Each run is a dot; the box holds the middle half, its line is the median.",
            Chart::Boxes { unit: unit.clone(), boxes: boxes.collect() },
        ));
    }
    let series = |row: &Row| {
        let run = row.runs.iter().find(|run| run.series.len() > 1)?;
        Some((label(row), run.series.iter().map(|n| *n as f64).collect::<Vec<f64>>()))
    };
    let series: Vec<(String, Vec<f64>)> = document.contenders.iter().filter_map(series).take(6).collect();
    if !series.is_empty() {
        let caption = "Transactions in each second of the first run of each contender.";
        figures.push(figure("Over time", caption, Chart::Seconds { unit, series }));
    }
    let mut findings = findings(document);
    findings.extend(document.contenders.iter().flat_map(|row| row.notes.clone()));
    Section {
        title: title.to_owned(),
        lead: format!("{}; {}.", document.server, document.workload),
        findings,
        warnings: document.warnings.clone(),
        figures,
        table: table(document),
    }
}

fn table(document: &Document) -> Table {
    let head = [
        "contender",
        "machine",
        "txn/s",
        "95 % interval",
        "range",
        "p95",
        "runs",
        "a year",
        "txn/s per $1,000",
    ];
    let rows = document.contenders.iter().map(|row| {
        let (mean, interval) = throughput_cells(row.throughput);
        let good: Vec<f64> = row.runs.iter().filter_map(|run| run.per_second).collect();
        let range = good.iter().copied().reduce(f64::min).zip(good.iter().copied().reduce(f64::max));
        vec![
            row.name.clone(),
            row.machine.clone(),
            mean,
            interval,
            range.map_or_else(String::new, |(low, high)| format!("{low:.1} to {high:.1}")),
            row.p95_us.map_or_else(String::new, |us| report::units::micros(us as f64)),
            format!("{} of {}", good.len(), row.runs.len()),
            row.yearly_usd.map_or_else(String::new, |usd| format!("${}", grouped(usd.unsigned_abs()))),
            row.throughput_per_1000_usd.map_or_else(String::new, |n| format!("{n:.2}")),
        ]
    });
    Table { head: head.map(str::to_owned).to_vec(), rows: rows.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::Catalogue;

    fn entry(name: &str, machine: &str, seat: usize, values: &[f64]) -> Entry {
        let run = |v: &f64| Run {
            per_second: (*v > 0.0).then_some(*v),
            interval: None,
            p95_us: Some(1000),
            failure: (*v <= 0.0).then(|| "cannot create thread".to_owned()),
            reset_seconds: 0.1,
            series: vec![5, 6],
        };
        Entry {
            name: name.into(),
            seat,
            machine: MachineSpec::parse(machine, None, 16, &Catalogue::builtin()).unwrap(),
            cell: name.into(),
            book: Book::default(),
            runs: values.iter().map(run).collect(),
            lacking: Vec::new(),
        }
    }

    fn document(entries: &[Entry]) -> Document {
        Document::new("MySQL 9.7.4".into(), "TPC-C-like".into(), entries, false)
    }

    #[test]
    fn a_small_machine_that_is_tuned_beats_a_big_one_that_is_not() {
        let d = document(&[
            entry("default", "db.m5.4xlarge,iops=2000", 0, &[20.0, 22.0, 21.0]),
            entry("tuned", "db.m5.2xlarge,iops=1000", 1, &[40.0, 44.0, 42.0]),
        ]);
        assert_eq!((d.contenders[0].yearly_usd, d.contenders[1].yearly_usd), (Some(14_383), Some(7191)));
        assert_eq!(d.ratios.len(), 1);
        let r = &d.ratios[0];
        assert!((r.ratio - 2.0).abs() < 1e-9 && (r.low.unwrap() - 2.0).abs() < 1e-9, "{r:?}");
        assert!(d.advice[0].ends_with(
            "does 2.00 times the work of default on db.m5.4xlarge, 2000 IOPS at 1/16 for $7,191 a year less"
        ));
        let json = serde_json::to_value(&d).unwrap();
        assert_eq!(json["contenders"][1]["throughput"]["per_second"], 42.0);
        assert_eq!(json["contenders"][1]["yearly_usd"], 7191);
        assert!(json["ratios"][0]["low"].is_number());
    }

    #[test]
    fn a_failed_run_is_kept_with_its_reason_and_never_counted() {
        let d = document(&[entry("a", "host", 0, &[10.0, 0.0]), entry("b", "host", 0, &[0.0, 0.0])]);
        assert_eq!(d.contenders[0].throughput.unwrap().per_second, 10.0);
        assert!(d.contenders[1].throughput.is_none());
        assert!(d.ratios.is_empty());
        let text = text(&d);
        assert!(
            text.contains("1 of 2") && text.contains("warning: run 2 of a failed: cannot create thread"),
            "{text}"
        );
        let section = section(&d, "S");
        let Chart::Bars { bars, .. } = &section.figures[0].chart else { panic!("no bars") };
        assert_eq!(bars[1].value, None);
        assert!(section.warnings.iter().any(|w| w.contains("cannot create thread")));
    }

    #[test]
    fn a_section_shows_the_runs_in_every_way_that_they_can_be_shown() {
        let d = document(&[
            entry("default", "db.m5.large", 0, &[10.0, 11.0, 13.0]),
            entry("tuned", "db.m5.large", 0, &[20.0, 21.0, 23.0]),
        ]);
        let section = section(&d, "S");
        let titles: Vec<&str> = section.figures.iter().map(|f| f.title.as_str()).collect();
        assert_eq!(titles, ["Transactions a second", "For the money", "Repeated runs", "Over time"]);
        assert_eq!(section.table.rows[0][4], "10.0 to 13.0");
        assert!(section.findings[0].starts_with("tuned does 1.8"), "{:?}", section.findings);
    }
}
