//! Invented documents for tests and for looking at the renderers. The numbers measure nothing.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use tunesmith_report::{
    Apply, Best, Better, Change, Configuration, Gain, Importance, Latency, LatencyCurves, Measurement,
    Method, Note, Objective, Pair, SCHEMA, Series, ServerFacts, StudyDocument, StudyState, TrialRow,
    TrialState, Verdict, WorkloadFacts,
};

/// A repeatable stream of numbers in -1..1 (xorshift64, Marsaglia 2003).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn configuration(entries: &[(&str, Value)]) -> Configuration {
    entries.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect()
}

fn latency_of(tps: f64) -> Latency {
    let p50 = 4_000_000.0 / tps;
    Latency { p50: p50 as u64, p95: (p50 * 3.1) as u64, p99: (p50 * 6.4) as u64, max: (p50 * 19.0) as u64 }
}

/// To a thousandth: fewer digits make snapshots readable, and survive JSON to the bit.
fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn trial(id: u64, origin: &str, configuration: Configuration, tps: Option<f64>, at: f64) -> TrialRow {
    TrialRow {
        id,
        origin: origin.to_owned(),
        configuration,
        state: if tps.is_some() { TrialState::Kept } else { TrialState::Failed },
        objective: tps,
        low: tps.map(|v| round(v * 0.97)),
        high: tps.map(|v| round(v * 1.03)),
        latency_us: tps.map(latency_of),
        errors: 0,
        restarted: true,
        seconds: 21.4,
        at_seconds: at,
        failure: None,
    }
}

fn curve(p50: f64, tail: f64) -> Vec<(f64, u64)> {
    [1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99]
        .iter()
        .map(|&p: &f64| {
            let nines = -(1.0 - p / 100.0).log10();
            (p, (p50 * 0.6 * (nines * tail).exp()) as u64)
        })
        .collect()
}

/// A study that found and proved an improvement.
pub fn improved() -> StudyDocument {
    let mut noise = Noise(0x9e37_79b9_7f4a_7c15);
    let winner = configuration(&[
        ("innodb_buffer_pool_size", json!(2_684_354_560_u64)),
        ("innodb_log_file_size", json!(1_073_741_824_u64)),
        ("innodb_flush_method", json!("O_DIRECT")),
        ("innodb_io_capacity", json!(4200)),
        ("innodb_flush_neighbors", json!("0")),
        ("innodb_adaptive_hash_index", json!(false)),
    ]);
    let mut trials = Vec::new();
    let mut at = 0.0;
    let mut id = 0;
    let mut push = |origin: &str, config: Configuration, tps: Option<f64>| {
        id += 1;
        trials.push(trial(id, origin, config, tps, at));
        at += 22.5;
    };
    for _ in 0..3 {
        push("baseline", Configuration::new(), Some(round(412.0 + 9.0 * noise.next())));
    }
    push(
        "seed: memory",
        configuration(&[("innodb_buffer_pool_size", json!(2_147_483_648_u64))]),
        Some(701.3),
    );
    push(
        "seed: redo log",
        configuration(&[
            ("innodb_buffer_pool_size", json!(2_147_483_648_u64)),
            ("innodb_log_file_size", json!(1_073_741_824_u64)),
        ]),
        Some(838.9),
    );
    push(
        "seed: flash storage",
        configuration(&[("innodb_io_capacity", json!(2000)), ("innodb_flush_neighbors", json!("0"))]),
        Some(455.1),
    );
    for step in 0..16_u32 {
        let mut config = winner.clone();
        config.insert("innodb_io_capacity".to_owned(), json!(200 + 731 * u64::from(step)));
        config.insert("innodb_lru_scan_depth".to_owned(), json!(256 + 97 * u64::from(step)));
        config.insert("innodb_adaptive_hash_index".to_owned(), json!(step % 3 == 0));
        let reach = 560.0 + 400.0 * (1.0 - (-f64::from(step) / 4.0).exp());
        push("search", config, (step != 4 && step != 9).then(|| round(reach + 85.0 * noise.next() - 25.0)));
        if step == 7 {
            push("baseline", Configuration::new(), Some(407.5));
        }
    }
    push("repeat", winner.clone(), Some(958.2));
    push("repeat", winner.clone(), Some(949.7));
    let mut pairs = Vec::new();
    for number in 1..=5 {
        let pair = Pair {
            baseline: round(411.0 + 8.0 * noise.next()),
            candidate: round(951.0 + 17.0 * noise.next()),
        };
        push(&format!("proof {number}: baseline"), Configuration::new(), Some(pair.baseline));
        push(&format!("proof {number}: best"), winner.clone(), Some(pair.candidate));
        pairs.push(pair);
    }
    let failed: Vec<usize> =
        trials.iter().enumerate().filter(|(_, t)| t.objective.is_none()).map(|(i, _)| i).collect();
    trials[failed[0]].failure = Some(
        "the server did not start: [ERROR] InnoDB: Cannot allocate memory for the buffer pool\n[ERROR] Plugin 'InnoDB' registration as a \
         STORAGE ENGINE failed."
            .to_owned(),
    );
    trials[failed[1]].failure = Some(
        "the server counts 8120 commits and the client 9008: they differ by 9.9 %, more than 1 %".to_owned(),
    );
    trials[failed[1]].state = TrialState::Reverted;
    trials[failed[1]].errors = 37;

    let series = |mean: f64, noise: &mut Noise| -> Vec<f64> {
        (0..20)
            .map(|s| round(mean * (1.0 - 0.45 * (-f64::from(s) / 1.6).exp()) + mean * 0.05 * noise.next()))
            .collect()
    };
    let series = Series { baseline: series(411.0, &mut noise), best: series(951.0, &mut noise), warmup: 5 };
    let change =
        |knob: &str, from: Value, to: Value, unit: Option<&str>, restart: bool, matters: f64, why: &str| {
            Change {
                knob: knob.to_owned(),
                from,
                to,
                unit: unit.map(str::to_owned),
                why: why.to_owned(),
                restart,
                matters: Some(matters),
            }
        };
    let importance = |knob: &str, share: f64, sd: f64| Importance { knob: knob.to_owned(), share, sd };
    StudyDocument {
        schema: SCHEMA.to_owned(),
        study: "brisk-heron".to_owned(),
        name: "sample".to_owned(),
        question: "tunesmith tune --sandbox=mariadb --workload tpcc --trials 20".to_owned(),
        created: "2026-12-01T09:30:00Z".to_owned(),
        state: StudyState::Finished,
        verdict: Some(Verdict::Improved),
        because: None,
        server: ServerFacts {
            flavour: "MariaDB".to_owned(),
            version: "10.11.14-MariaDB".to_owned(),
            product: "MariaDB Server 10.11.14".to_owned(),
            target: "sandbox".to_owned(),
            cores: Some(2),
            memory_bytes: Some(4 << 30),
            host: "localhost".to_owned(),
        },
        workload: WorkloadFacts {
            name: "tpcc".to_owned(),
            parameters: BTreeMap::from([("warehouses".to_owned(), "4".to_owned()), ("terminals".to_owned(), "8".to_owned())]),
        },
        objective: Objective { name: "tps".to_owned(), unit: "txn/s".to_owned(), better: Better::Higher },
        method: Some(Method {
            warmup_seconds: 5.0,
            measure_seconds: 15.0,
            restores_data: true,
            seed: 1,
            tunesmith: "0.1.0".to_owned(),
        }),
        baseline: Some(Measurement { mean: 410.9, low: 404.1, high: 417.7, runs: vec![405.2, 414.8, 413.0, 407.5] }),
        best: Some(Best { trial: 22, configuration: winner, mean: 953.9, low: 938.0, high: 969.8 }),
        gain: Some(Gain { ratio: 2.314, low: 2.262, high: 2.367, confidence: 0.95, pairs }),
        changes: vec![
            change("innodb_buffer_pool_size", json!(134_217_728), json!(2_684_354_560_u64), Some("bytes"), true, 0.52,
                "The working set did not fit: pages were read again from disk for most transactions."),
            change("innodb_log_file_size", json!(100_663_296), json!(1_073_741_824), Some("bytes"), true, 0.24,
                "A small redo log forces checkpoints, and with them writes, in the middle of the load."),
            change("innodb_flush_method", json!("fsync"), json!("O_DIRECT"), None, true, 0.09,
                "Pages need not be kept twice, in the pool and in the page cache."),
            change("innodb_io_capacity", json!(200), json!(4200), None, false, 0.06,
                "Lets background flushing use what the storage can do."),
            change("innodb_flush_neighbors", json!("1"), json!("0"), None, false, 0.04,
                "Neighbouring pages cost extra writes on flash and gain nothing."),
            change("innodb_adaptive_hash_index", json!(true), json!(false), None, false, 0.02,
                "Its latch is contended when many threads write."),
        ],
        apply: Apply {
            set_persist: String::new(),
            set_global: "SET GLOBAL innodb_io_capacity = 4200;\nSET GLOBAL innodb_flush_neighbors = 0;\nSET GLOBAL innodb_adaptive_hash_index = OFF;".to_owned(),
            cnf: "[mysqld]\ninnodb_buffer_pool_size = 2560M\ninnodb_log_file_size = 1G\ninnodb_flush_method = O_DIRECT\ninnodb_io_capacity = 4200\n\
                innodb_flush_neighbors = 0\ninnodb_adaptive_hash_index = OFF"
                .to_owned(),
            rollback: "SET GLOBAL innodb_io_capacity = 200;\nSET GLOBAL innodb_flush_neighbors = 1;\nSET GLOBAL innodb_adaptive_hash_index = ON;\n\
                -- then remove the lines from my.cnf and restart"
                .to_owned(),
        },
        importance: vec![
            importance("innodb_buffer_pool_size", 0.52, 0.08),
            importance("innodb_log_file_size", 0.24, 0.06),
            importance("innodb_flush_method", 0.09, 0.04),
            importance("innodb_io_capacity", 0.06, 0.03),
            importance("innodb_flush_neighbors", 0.04, 0.03),
            importance("innodb_lru_scan_depth", 0.03, 0.02),
            importance("innodb_adaptive_hash_index", 0.02, 0.02),
        ],
        trials,
        latency: LatencyCurves { baseline: curve(11_640.0, 1.093), best: curve(5_040.0, 1.091) },
        series,
        warnings: vec!["The client used 22 % of the machine's CPU time, which the server could not have.".to_owned()],
        environment: vec![
            Note { name: "kernel".to_owned(), value: "Linux 6.1.0".to_owned() },
            Note { name: "file system".to_owned(), value: "ext4".to_owned() },
            Note { name: "server program".to_owned(), value: "/usr/sbin/mariadbd".to_owned() },
        ],
        units: BTreeMap::from([
            ("innodb_buffer_pool_size".to_owned(), "bytes".to_owned()),
            ("innodb_log_file_size".to_owned(), "bytes".to_owned()),
        ]),
    }
}

/// A study whose candidate is not provably better.
pub fn no_improvement() -> StudyDocument {
    let mut study = improved();
    study.verdict = Some(Verdict::NoImprovement);
    study.because = Some("the interval of the gain includes 1: the difference may be chance".to_owned());
    let pairs: Vec<Pair> = [(411.2, 415.9), (409.8, 404.1), (413.0, 421.4), (405.5, 409.0), (412.4, 414.6)]
        .map(|(baseline, candidate)| Pair { baseline, candidate })
        .into();
    for trial in &mut study.trials {
        if let Some(tps) = &mut trial.objective {
            *tps = round(395.0 + *tps * 0.03);
            trial.latency_us = Some(latency_of(*tps));
            (trial.low, trial.high) = (Some(round(*tps * 0.97)), Some(round(*tps * 1.03)));
        }
    }
    study.gain = Some(Gain { ratio: 1.0064, low: 0.9896, high: 1.0235, confidence: 0.95, pairs });
    if let Some(best) = &mut study.best {
        (best.mean, best.low, best.high) = (423.9, 411.2, 436.6);
    }
    study.changes.truncate(2);
    study.latency.best = curve(11_500.0, 1.094);
    study.series.best = study.series.baseline.iter().rev().copied().collect();
    study.series.best[..3].copy_from_slice(&[230.0, 320.0, 371.0]);
    study
}

/// A study that was stopped during its search.
pub fn interrupted() -> StudyDocument {
    let mut study = improved();
    study.state = StudyState::Interrupted;
    study.verdict = None;
    study.gain = None;
    study.trials.truncate(14);
    study.trials[13].state = TrialState::Measuring;
    study.trials[13].objective = None;
    study.trials[13].latency_us = None;
    (study.trials[13].low, study.trials[13].high) = (None, None);
    study.best = None;
    study.changes.clear();
    study.apply = Apply::default();
    study.latency = LatencyCurves::default();
    study.series = Series::default();
    study.importance.clear();
    study
}

/// A study in which nothing but the baseline would run.
pub fn all_failed() -> StudyDocument {
    let mut study = interrupted();
    study.state = StudyState::Finished;
    study.verdict = Some(Verdict::NoImprovement);
    study.because = Some("no candidate could be measured".to_owned());
    study.best = None;
    study.changes.clear();
    study.apply = Apply::default();
    for trial in &mut study.trials {
        if trial.origin != "baseline" {
            trial.state = TrialState::Failed;
            (trial.objective, trial.low, trial.high, trial.latency_us) = (None, None, None, None);
            trial.failure = Some(
                "the server did not start: [ERROR] unknown variable 'innodb_lru_scan_depht=256'".to_owned(),
            );
        }
    }
    study
}

/// A study of a latency, of which less is better.
pub fn latency() -> StudyDocument {
    let mut study = improved();
    study.objective = Objective {
        name: "99th percentile of latency".to_owned(),
        unit: "us".to_owned(),
        better: Better::Lower,
    };
    study.server.product = "MySQL Community Server 9.7.0".to_owned();
    study.server.flavour = "MySQL".to_owned();
    study.server.version = "9.7.0".to_owned();
    study.server.target = "server".to_owned();
    study.server.host = "db1.example.org:3306".to_owned();
    study.apply.set_persist = study.apply.set_global.replace("GLOBAL", "PERSIST");
    for trial in &mut study.trials {
        let us = trial.latency_us.map(|l| l.p99 as f64);
        (trial.objective, trial.low, trial.high) =
            (us, us.map(|v| round(v * 0.96)), us.map(|v| round(v * 1.04)));
    }
    study.baseline = Some(Measurement {
        mean: 62_100.0,
        low: 60_900.0,
        high: 63_400.0,
        runs: vec![61_400.0, 62_700.0, 62_200.0],
    });
    if let Some(best) = &mut study.best {
        (best.mean, best.low, best.high) = (26_800.0, 26_100.0, 27_600.0);
    }
    for pair in study.gain.iter_mut().flat_map(|g| &mut g.pairs) {
        *pair = Pair {
            baseline: round(25_600_000.0 / pair.baseline),
            candidate: round(25_600_000.0 / pair.candidate),
        };
    }
    study
}

/// A study of which nothing is known but that it was asked for.
pub fn empty() -> StudyDocument {
    let mut study = improved();
    study.state = StudyState::Running;
    study.verdict = None;
    study.method = None;
    (study.baseline, study.best, study.gain) = (None, None, None);
    study.changes.clear();
    study.apply = Apply::default();
    study.importance.clear();
    study.trials.clear();
    study.latency = LatencyCurves::default();
    study.series = Series::default();
    study.warnings.clear();
    study.environment.clear();
    (study.server.cores, study.server.memory_bytes) = (None, None);
    study
}

/// All of them, with a name for files.
pub fn all() -> Vec<(&'static str, StudyDocument)> {
    vec![
        ("improved", improved()),
        ("no-improvement", no_improvement()),
        ("interrupted", interrupted()),
        ("all-failed", all_failed()),
        ("latency", latency()),
        ("empty", empty()),
    ]
}
