//! What a sweep found: the knee of each machine, which machine disappoints for its price, the table, the section of a report.

use crate::experiment::{CONFIDENCE, Run, yearly};
use lab::machine::MachineSpec;
use lab::price::{self, grouped};
use report::experiment::{Bar, Chart, Curve as Drawn, Figure, Section, Table};
use serde::Serialize;
use stats::{ScalabilityFit, scalability};
use std::fmt::Write;

const SCHEMA: &str = "tunesmith.sweep/1";

/// What is printed.
#[derive(Debug, Serialize)]
pub struct Document {
    schema: &'static str,
    server: String,
    workload: String,
    /// One for each machine.
    pub machines: Vec<Curve>,
    findings: Vec<String>,
    warnings: Vec<String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// A machine and its runs.
#[derive(Debug, Serialize)]
pub struct Curve {
    machine: String,
    /// By number of threads.
    points: Vec<Point>,
    /// The fitted Universal Scalability Law; `None` with too few numbers of threads.
    fit: Option<ScalabilityFit>,
    /// The best mean over the numbers of threads.
    best: Option<Best>,
    yearly_usd: Option<i64>,
    throughput_per_1000_usd: Option<f64>,
    /// What of the machine is not emulated.
    pub lacking: Vec<String>,
    #[serde(skip)]
    spec: MachineSpec,
}

/// The runs with one number of threads.
#[derive(Debug, Serialize)]
pub struct Point {
    threads: usize,
    /// Mean of the runs that are measurements.
    per_second: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    runs: Vec<Run>,
}

/// Where most was done.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Best {
    threads: usize,
    per_second: f64,
}

impl Curve {
    /// Without runs yet.
    pub fn new(spec: MachineSpec) -> Self {
        Self {
            machine: spec.name.clone(),
            points: Vec::new(),
            fit: None,
            best: None,
            yearly_usd: None,
            throughput_per_1000_usd: None,
            lacking: Vec::new(),
            spec,
        }
    }

    /// Adds a run.
    pub fn push(&mut self, threads: usize, run: Run) {
        match self.points.iter_mut().find(|p| p.threads == threads) {
            Some(point) => point.runs.push(run),
            None => {
                self.points.push(Point { threads, per_second: None, low: None, high: None, runs: vec![run] });
            }
        }
    }

    /// Whether no run is a measurement.
    pub fn is_empty(&self) -> bool {
        self.measured().is_empty()
    }

    /// (threads, throughput) of every run that is a measurement.
    fn measured(&self) -> Vec<(f64, f64)> {
        let of = |p: &Point| {
            let threads = p.threads as f64;
            p.runs.iter().filter_map(move |run| Some((threads, run.per_second?))).collect::<Vec<_>>()
        };
        self.points.iter().flat_map(of).collect()
    }

    /// (threads, reason) of every run that is none.
    fn failed(&self) -> Vec<(usize, &str)> {
        let of = |p: &'_ Point| p.threads;
        self.points
            .iter()
            .flat_map(|p| p.runs.iter().filter_map(move |run| Some((of(p), run.failure.as_deref()?))))
            .collect()
    }

    fn finish(&mut self, seed: u64) {
        self.points.sort_by_key(|p| p.threads);
        for point in &mut self.points {
            let values: Vec<f64> = point.runs.iter().filter_map(|run| run.per_second).collect();
            if values.is_empty() {
                continue;
            }
            point.per_second = Some(values.iter().sum::<f64>() / values.len() as f64);
            let within = point.runs.iter().find_map(|run| run.interval);
            let interval =
                stats::mean_interval(&values, CONFIDENCE).map(|i| (i.low.max(0.0), i.high)).or(within);
            (point.low, point.high) = (interval.map(|i| i.0), interval.map(|i| i.1));
        }
        self.fit = scalability(&self.measured(), CONFIDENCE, seed);
        let best =
            self.points.iter().filter_map(|p| Some(Best { threads: p.threads, per_second: p.per_second? }));
        self.best = best.max_by(|a, b| a.per_second.total_cmp(&b.per_second));
        let yearly = yearly(&self.spec);
        self.yearly_usd = yearly.map(lab::price::Usd::whole);
        self.throughput_per_1000_usd =
            self.best.zip(yearly).map(|(best, usd)| price::per_thousand_dollars(best.per_second, usd));
    }
}

impl Document {
    /// From the runs.
    pub fn new(
        server: String,
        workload: String,
        mut machines: Vec<Curve>,
        seed: u64,
        interrupted: bool,
    ) -> Self {
        for curve in &mut machines {
            curve.finish(seed);
        }
        let mut findings: Vec<String> = machines.iter().filter_map(knee_sentence).collect();
        findings.extend(machines.iter().flat_map(failure_sentences));
        findings.extend(disappointments(&machines));
        let mut warnings: Vec<String> = machines.iter().flat_map(|c| c.lacking.clone()).collect();
        warnings.dedup();
        Self { schema: SCHEMA, server, workload, machines, findings, warnings, interrupted }
    }
}

fn knee_sentence(curve: &Curve) -> Option<String> {
    let best = curve.best?;
    let top = format!("most with {} threads, {:.1} txn/s", best.threads, best.per_second);
    let Some(fit) = &curve.fit else {
        return Some(format!("{}: {top}; too few numbers of threads for a knee", curve.machine));
    };
    let bend = match fit.knee {
        None => "no knee in sight: throughput grows with the threads".to_owned(),
        Some(knee) if knee.high.is_finite() => {
            format!(
                "the knee is at {:.1} threads (95 % interval {:.1} to {:.1})",
                knee.estimate, knee.low, knee.high
            )
        }
        Some(knee) => {
            format!(
                "the knee is at {:.1} threads (95 % interval from {:.1}, open above)",
                knee.estimate, knee.low
            )
        }
    };
    Some(format!("{}: {bend}; {top}; the fitted law explains {:.0} %", curve.machine, fit.r_squared * 100.0))
}

/// Failed runs, equal reasons together.
fn failure_sentences(curve: &Curve) -> Vec<String> {
    let failed = curve.failed();
    let mut reasons: Vec<&str> = failed.iter().map(|f| first_line(f.1)).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let sentence = |reason: &str| {
        let with: Vec<&(usize, &str)> = failed.iter().filter(|f| first_line(f.1) == reason).collect();
        let mut threads: Vec<String> = with.iter().map(|f| f.0.to_string()).collect();
        threads.dedup();
        format!(
            "{} fails with {} threads, {} of its runs: {reason}",
            curve.machine,
            threads.join(", "),
            with.len()
        )
    };
    reasons.into_iter().map(sentence).collect()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Machines that do no more than a cheaper one, at their best number of threads each.
fn disappointments(machines: &[Curve]) -> Vec<String> {
    let mut out = Vec::new();
    for this in machines {
        let (Some(usd), Some(best)) = (this.yearly_usd, this.best) else { continue };
        let beaten = machines.iter().filter_map(|other| {
            let (other_usd, other_best) = (other.yearly_usd?, other.best?);
            (other_usd < usd && other_best.per_second >= best.per_second)
                .then_some((other, other_usd, other_best))
        });
        if let Some((other, other_usd, other_best)) = beaten.min_by_key(|b| b.1) {
            out.push(format!(
                "{} disappoints for its price: ${} a year for {:.1} txn/s, and {} does {:.1} for ${}",
                this.machine,
                grouped(usd.unsigned_abs()),
                best.per_second,
                other.machine,
                other_best.per_second,
                grouped(other_usd.unsigned_abs())
            ));
        }
    }
    let priced = machines.iter().filter_map(|c| Some((c, c.throughput_per_1000_usd?)));
    let (least, most) =
        (priced.clone().min_by(|a, b| a.1.total_cmp(&b.1)), priced.max_by(|a, b| a.1.total_cmp(&b.1)));
    if let (Some((worst, low)), Some((best, high))) = (least, most)
        && low < high
    {
        out.push(format!(
            "least for the money: {} with {low:.2} txn/s for each $1,000 a year; most: {} with {high:.2}",
            worst.machine, best.machine
        ));
    }
    out
}

/// The table on the terminal.
pub fn text(document: &Document) -> String {
    let mut out = format!("{} · {}\n\n", document.server, document.workload);
    let numbers = table(document);
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(numbers.head);
    for row in numbers.rows {
        table.add_row(row);
    }
    for line in table.lines() {
        let _ = writeln!(out, "{}", line.trim());
    }
    let _ = writeln!(out);
    for line in &document.findings {
        let _ = writeln!(out, "{line}");
    }
    for line in &document.warnings {
        let _ = writeln!(out, "warning: {line}");
    }
    out
}

/// A row for each machine, a column for each number of threads.
fn table(document: &Document) -> Table {
    let mut threads: Vec<usize> =
        document.machines.iter().flat_map(|c| c.points.iter().map(|p| p.threads)).collect();
    threads.sort_unstable();
    threads.dedup();
    let mut head = vec!["machine".to_owned()];
    head.extend(threads.iter().map(usize::to_string));
    head.extend(["knee", "a year", "txn/s per $1,000"].map(str::to_owned));
    let row = |curve: &Curve| {
        let mut cells = vec![curve.machine.clone()];
        for n in &threads {
            let point = curve.points.iter().find(|p| p.threads == *n);
            cells.push(match point.map(|p| (p.per_second, p.runs.iter().any(|run| run.failure.is_some()))) {
                Some((Some(mean), false)) => format!("{mean:.1}"),
                Some((Some(mean), true)) => format!("{mean:.1} (some failed)"),
                Some((None, _)) => "failed".to_owned(),
                None => String::new(),
            });
        }
        let knee = curve.fit.as_ref().and_then(|fit| fit.knee);
        cells.push(knee.map_or_else(String::new, |k| format!("{:.1}", k.estimate)));
        cells.push(
            curve.yearly_usd.map_or_else(String::new, |usd| format!("${}", grouped(usd.unsigned_abs()))),
        );
        cells.push(curve.throughput_per_1000_usd.map_or_else(String::new, |n| format!("{n:.2}")));
        cells
    };
    Table { head, rows: document.machines.iter().map(row).collect() }
}

/// The sweep as a part of a report: one figure of all, one for each machine, work for the money.
pub fn section(document: &Document, title: &str) -> Section {
    let unit = "txn/s".to_owned();
    let curves = |curves: Vec<Drawn>| Chart::Curves { across: "threads".into(), unit: unit.clone(), curves };
    let mut figures = vec![Figure {
        title: "All machines".into(),
        caption:
            "Each run is a dot; lines are the fitted law, dashed where each bends. A cross is a failed run."
                .into(),
        wide: true,
        chart: curves(document.machines.iter().map(drawn).collect()),
    }];
    if document.machines.iter().any(|c| c.throughput_per_1000_usd.is_some()) {
        let bars = document.machines.iter().map(|c| Bar {
            label: c.machine.clone(),
            value: c.throughput_per_1000_usd,
            interval: None,
        });
        figures.push(Figure {
            title: "For the money".into(),
            caption: "The best throughput of the emulated machine for each 1,000 dollars a year that the whole one costs.".into(),
            wide: true,
            chart: Chart::Bars { unit: "txn/s per $1,000".into(), bars: bars.collect() },
        });
    }
    if document.machines.len() > 1 {
        figures.extend(document.machines.iter().map(|curve| Figure {
            title: curve.machine.clone(),
            caption: knee_sentence(curve).unwrap_or_else(|| "No run is a measurement.".into()),
            wide: false,
            chart: curves(vec![drawn(curve)]),
        }));
    }
    Section {
        title: title.to_owned(),
        lead: format!("{}; {}.", document.server, document.workload),
        findings: document.findings.clone(),
        warnings: document.warnings.clone(),
        figures,
        table: table(document),
    }
}

fn drawn(curve: &Curve) -> Drawn {
    let most = curve.points.iter().map(|p| p.threads).max().unwrap_or(1) as f64;
    let least = curve.points.iter().map(|p| p.threads).min().unwrap_or(1) as f64;
    let steps = (0..=40).map(|n| least * (most / least).powf(f64::from(n) / 40.0));
    let fitted = curve.fit.as_ref().map(|fit| steps.map(|n| (n, fit.law.throughput(n))).collect());
    Drawn {
        name: curve.machine.clone(),
        points: curve.measured(),
        failed: curve.failed().into_iter().map(|(n, why)| (n as f64, why.to_owned())).collect(),
        fitted: fitted.unwrap_or_default(),
        knee: curve.fit.as_ref().and_then(|fit| Some(fit.knee?.estimate)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::Catalogue;
    use stats::Scalability;

    fn run(per_second: Option<f64>, failure: Option<&str>) -> Run {
        Run {
            per_second,
            interval: None,
            p95_us: None,
            failure: failure.map(str::to_owned),
            reset_seconds: 0.0,
            series: Vec::new(),
        }
    }

    fn curve(machine: &str, times: f64, fails_at: usize) -> Curve {
        let law = Scalability { alone: 10.0 * times, contention: 0.125, coherency: 0.0 };
        let mut curve = Curve::new(MachineSpec::parse(machine, None, 4, &Catalogue::builtin()).unwrap());
        for threads in [2, 4, 8, 16, 32, 64, 128] {
            curve.push(
                threads,
                match threads == fails_at {
                    true => {
                        run(None, Some("out of memory: the machine's limit of 1 GiB killed the server\nmore"))
                    }
                    false => run(Some(law.throughput(threads as f64)), None),
                },
            );
        }
        curve
    }

    fn document() -> Document {
        let machines = vec![
            curve("db.m1.small,iops=10000", 1.0, 128),
            curve("db.m1.large,iops=10000", 4.0, 0),
            curve("db.m1.xlarge,iops=10000", 3.0, 0),
        ];
        Document::new("MySQL 9.7.4".into(), "sysbench:legacy".into(), machines, 1, false)
    }

    #[test]
    fn the_knee_is_found_with_its_interval() {
        let d = document();
        let knee = d.machines[0].fit.as_ref().unwrap().knee.unwrap();
        assert!((knee.estimate - 8.0).abs() < 1e-6 && knee.contains(8.0), "{knee:?}");
        assert!(d.findings[0].contains("the knee is at 8.0 threads"), "{}", d.findings[0]);
    }

    #[test]
    fn a_failed_run_is_a_finding_with_its_reason() {
        let d = document();
        let found = d.findings.iter().find(|f| f.contains("fails with 128 threads")).unwrap();
        assert!(
            found.ends_with("1 of its runs: out of memory: the machine's limit of 1 GiB killed the server")
        );
        assert!(text(&d).contains("failed"));
        let section = section(&d, "S");
        let Chart::Curves { curves, .. } = &section.figures[0].chart else { panic!("no curves") };
        assert_eq!((curves[0].failed.len(), curves[0].points.len(), curves.len()), (1, 6, 3));
        assert_eq!(section.figures.len(), 5, "all, money, and one for each machine");
    }

    #[test]
    fn the_machine_that_does_less_for_more_money_is_named() {
        let d = document();
        let found = d.findings.iter().find(|f| f.contains("disappoints")).unwrap();
        assert!(found.starts_with("db.m1.xlarge, 10000 IOPS at 1/4 disappoints"), "{found}");
        assert!(found.contains("db.m1.large, 10000 IOPS at 1/4 does"), "{found}");
    }

    #[test]
    fn a_machine_that_never_worked_is_shown_and_harms_nothing() {
        let mut broken = Curve::new(MachineSpec::host());
        broken.push(2, run(None, Some("no")));
        let d = Document::new("s".into(), "w".into(), vec![broken], 1, false);
        assert!(d.machines[0].is_empty());
        assert!(text(&d).contains("host fails with 2 threads"));
        assert_eq!(section(&d, "S").table.rows[0][1], "failed");
    }
}
