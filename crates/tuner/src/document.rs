//! The study's document, from what is in the store: the one that reports and JSON are rendered from.

use crate::context::Context;
use crate::drift::Drift;
use crate::measurement::Measurement;
use crate::plan::{Arm, Plan, Purpose};
use crate::spec::{Objective, TargetSpec, TuneSpec};
use crate::verdict::{Answer, CONFIDENCE, Verdict};
use knobs::{Configuration, Value};
use report::StudyDocument;
use store::{Store, StoreError, StudyId, TrialRow, TrialState};

/// A trial with its documents decoded.
struct Decoded {
    row: TrialRow,
    plan: Plan,
    measurement: Option<Measurement>,
    began: f64,
    seconds: f64,
}

/// Builds the document of a study.
///
/// # Errors
/// When the store can't be read, or holds a document of another shape.
pub fn document(store: &Store, id: StudyId) -> Result<StudyDocument, StoreError> {
    let study = store.study(id)?;
    let spec: TuneSpec = study.spec()?;
    let context: Option<Context> = study.context()?;
    let verdict: Option<Verdict> = study.verdict()?;
    let mut trials = Vec::new();
    for row in store.trials(id)? {
        let steps = store.steps(id, row.id)?;
        let began = steps.iter().rev().find(|s| s.state == TrialState::Planned).map_or(0.0, |s| s.at);
        let seconds = steps.last().map_or(0.0, |s| s.at) - began;
        let (plan, measurement) = (row.plan()?, row.measurement()?);
        trials.push(Decoded { row, plan, measurement, began, seconds });
    }
    Ok(StudyDocument {
        schema: report::SCHEMA.to_owned(),
        study: id.to_string(),
        name: study.name.clone(),
        question: study.question.clone(),
        created: study.created.clone(),
        state: same_word(study.state.as_str()).unwrap_or(report::StudyState::Running),
        verdict: verdict.as_ref().map(|v| match v.answer {
            Answer::Improved => report::Verdict::Improved,
            Answer::NoImprovement => report::Verdict::NoImprovement,
        }),
        because: verdict.as_ref().and_then(|v| v.because.clone()),
        server: server_facts(&spec, context.as_ref()),
        workload: workload_facts(&spec),
        objective: report::Objective {
            name: spec.objective.as_str().to_owned(),
            unit: spec.objective.unit().to_owned(),
            better: if spec.objective.higher_is_better() {
                report::Better::Higher
            } else {
                report::Better::Lower
            },
        },
        method: Some(report::Method {
            warmup_seconds: spec.warmup_seconds as f64,
            measure_seconds: spec.measure_seconds as f64,
            restores_data: matches!(spec.target, TargetSpec::Sandbox { .. }),
            seed: spec.seed,
            tunesmith: env!("CARGO_PKG_VERSION").to_owned(),
        }),
        baseline: baseline(&spec, &trials),
        best: best(&spec, &trials, verdict.as_ref()),
        gain: gain(verdict.as_ref()),
        changes: changes(context.as_ref(), verdict.as_ref()),
        apply: apply(context.as_ref(), verdict.as_ref()),
        importance: context
            .as_ref()
            .map(|c| c.importance.iter().map(importance).collect())
            .unwrap_or_default(),
        latency: report::LatencyCurves {
            baseline: last_proof(&trials, Arm::Baseline).map(|m| m.curve.clone()).unwrap_or_default(),
            best: last_proof(&trials, Arm::Candidate).map(|m| m.curve.clone()).unwrap_or_default(),
        },
        series: series(&trials),
        warnings: warnings(&spec, &trials),
        environment: context.as_ref().map(environment).unwrap_or_default(),
        units: context.as_ref().map(|c| c.units.clone()).unwrap_or_default(),
        trials: trial_rows(&spec, &trials),
    })
}

fn same_word<T: std::str::FromStr>(word: &str) -> Option<T> {
    word.parse().ok()
}

fn server_facts(spec: &TuneSpec, context: Option<&Context>) -> report::ServerFacts {
    let target = match &spec.target {
        TargetSpec::Sandbox { .. } => "sandbox".to_owned(),
        TargetSpec::Server { address } => format!("server {address}"),
    };
    match context {
        Some(c) => report::ServerFacts {
            flavour: c.identity.flavour.to_string(),
            version: c.identity.version.to_string(),
            product: c.identity.product.clone(),
            target,
            cores: c.machine.cores,
            memory_bytes: c.machine.memory.map(|m| m.0),
            host: c.host.clone(),
        },
        None => report::ServerFacts {
            flavour: String::new(),
            version: String::new(),
            product: String::new(),
            target,
            cores: None,
            memory_bytes: None,
            host: String::new(),
        },
    }
}

fn workload_facts(spec: &TuneSpec) -> report::WorkloadFacts {
    let parameters = spec.workload.parameters();
    report::WorkloadFacts {
        name: spec.workload.name(),
        parameters: parameters.into_iter().map(|(k, v)| (k.to_owned(), v)).collect(),
    }
}

/// Values of all trials that were kept, with what `choose` wants of them.
fn kept<'a>(
    trials: &'a [Decoded],
    mut choose: impl FnMut(&Purpose) -> bool + 'a,
) -> impl Iterator<Item = &'a Measurement> {
    trials
        .iter()
        .filter(move |t| t.row.state == TrialState::Kept && choose(&t.plan.purpose))
        .filter_map(|t| t.measurement.as_ref())
}

fn baseline(spec: &TuneSpec, trials: &[Decoded]) -> Option<report::Measurement> {
    let runs: Vec<f64> =
        kept(trials, |p| matches!(p, Purpose::Baseline | Purpose::Proof { arm: Arm::Baseline, .. }))
            .map(|m| m.value(spec.objective))
            .collect();
    let interval = stats::mean_interval(&runs, CONFIDENCE)?;
    Some(report::Measurement { mean: interval.estimate, low: interval.low, high: interval.high, runs })
}

fn best(spec: &TuneSpec, trials: &[Decoded], verdict: Option<&Verdict>) -> Option<report::Best> {
    let configuration = verdict?.best.as_ref()?;
    let runs: Vec<f64> = kept(trials, |p| matches!(p, Purpose::Proof { arm: Arm::Candidate, .. }))
        .map(|m| m.value(spec.objective))
        .collect();
    let interval = stats::mean_interval(&runs, CONFIDENCE)?;
    let first = trials.iter().find(|t| t.plan.configuration == *configuration)?;
    Some(report::Best {
        trial: u64::from(first.row.id.0),
        configuration: plain(configuration),
        mean: interval.estimate,
        low: interval.low,
        high: interval.high,
    })
}

fn gain(verdict: Option<&Verdict>) -> Option<report::Gain> {
    let verdict = verdict?;
    let gain = verdict.gain?;
    let pairs =
        verdict.pairs.iter().map(|&(baseline, candidate)| report::Pair { baseline, candidate }).collect();
    Some(report::Gain { ratio: gain.ratio, low: gain.low, high: gain.high, confidence: CONFIDENCE, pairs })
}

fn plain(configuration: &Configuration) -> report::Configuration {
    configuration.iter().map(|(knob, value)| (knob.to_owned(), json(value))).collect()
}

fn json(value: &Value) -> serde_json::Value {
    serde_json::to_value(value).unwrap_or(serde_json::Value::Null)
}

/// What is worth copying: only what was proven.
fn improved(verdict: Option<&Verdict>) -> Option<&Configuration> {
    verdict.filter(|v| v.answer == Answer::Improved)?.best.as_ref()
}

fn changes(context: Option<&Context>, verdict: Option<&Verdict>) -> Vec<report::Change> {
    let (Some(context), Some(best)) = (context, verdict.and_then(|v| v.best.as_ref())) else {
        return Vec::new();
    };
    let mut changes: Vec<report::Change> = best
        .iter()
        .map(|(knob, to)| {
            let tuned = context.knobs.get(knob);
            report::Change {
                knob: knob.to_owned(),
                from: tuned.map_or(serde_json::Value::Null, |k| json(&k.found)),
                to: json(to),
                unit: context.units.get(knob).cloned(),
                why: tuned.map(|k| k.purpose.clone()).unwrap_or_default(),
                restart: tuned.is_none_or(|k| !k.dynamic),
                matters: context.importance.iter().find(|i| i.knob == knob).map(|i| i.share),
            }
        })
        .collect();
    changes.sort_by(|a, b| b.matters.unwrap_or(0.0).total_cmp(&a.matters.unwrap_or(0.0)));
    changes
}

fn apply(context: Option<&Context>, verdict: Option<&Verdict>) -> report::Apply {
    let (Some(context), Some(best)) = (context, improved(verdict)) else { return report::Apply::default() };
    let mut apply = report::Apply { cnf: "[mysqld]\n".to_owned(), ..report::Apply::default() };
    // MariaDB has no SET PERSIST: there the option file is the way to make it last.
    let persists = context.identity.flavour != knobs::Flavour::MariaDb;
    for (knob, to) in best.iter() {
        let tuned = context.knobs.get(knob);
        apply.cnf += &format!("{knob} = {}\n", to.to_cnf());
        let dynamic = tuned.is_some_and(|k| k.dynamic);
        if persists {
            let word = if dynamic { "PERSIST" } else { "PERSIST_ONLY" };
            apply.set_persist += &format!("SET {word} {knob} = {};\n", to.to_sql());
            apply.rollback += &format!("RESET PERSIST IF EXISTS {knob};\n");
        }
        if dynamic {
            apply.set_global += &format!("SET GLOBAL {knob} = {};\n", to.to_sql());
            if let Some(found) = tuned.map(|k| &k.found) {
                apply.rollback += &format!("SET GLOBAL {knob} = {};\n", found.to_sql());
            }
        }
    }
    if best.iter().any(|(knob, _)| context.knobs.get(knob).is_none_or(|k| !k.dynamic)) {
        let note = "-- Some of these take effect with the server's next restart.\n";
        apply.set_persist.insert_str(0, if persists { note } else { "" });
    }
    if !persists {
        apply.rollback += "-- And remove the lines from the option file.\n";
    }
    apply
}

fn importance(importance: &crate::context::Importance) -> report::Importance {
    report::Importance { knob: importance.knob.clone(), share: importance.share, sd: importance.sd }
}

fn last_proof(trials: &[Decoded], arm: Arm) -> Option<&Measurement> {
    kept(trials, move |p| matches!(p, Purpose::Proof { arm: a, .. } if *a == arm)).last()
}

fn series(trials: &[Decoded]) -> report::Series {
    let seconds = |m: Option<&Measurement>| -> Vec<f64> {
        m.map(|m| m.series.iter().map(|&n| n as f64).collect()).unwrap_or_default()
    };
    let candidate = last_proof(trials, Arm::Candidate);
    report::Series {
        baseline: seconds(last_proof(trials, Arm::Baseline)),
        best: seconds(candidate),
        warmup: candidate.map_or(0, |m| m.warmup),
    }
}

/// Above this share of a core the load generator may be what limits the throughput.
const CLIENT_BUSY: f64 = 0.8;

/// A checkpoint age that grew by more than this share of the redo capacity within a window is not a steady state.
const STEADY: f64 = 0.05;

fn warnings(spec: &TuneSpec, trials: &[Decoded]) -> Vec<String> {
    let mut warnings = Vec::new();
    let readings = baseline_readings(spec, trials);
    if let Some(per_hour) = Drift::fit(&readings).and_then(|d| d.per_hour()) {
        warnings.push(format!(
            "The baseline drifted by {:+.0} % an hour during the study; the search's readings are corrected for it, and the \
             proof's pairs are interleaved.",
            100.0 * per_hour
        ));
    }
    if kept(trials, |_| true).any(|m| m.client_cpu_share > CLIENT_BUSY) {
        warnings.push(
            "The load generator used more than 80 % of a core in some trials: it may have been the bottleneck, and the gain \
             may be larger than measured."
                .to_owned(),
        );
    }
    if let Some(m) = last_proof(trials, Arm::Candidate)
        && let (Some(growth), Some(capacity)) = (m.deferred.checkpoint_age_growth, m.deferred.redo_capacity)
        && growth as f64 > STEADY * capacity as f64
        && m.counts.seconds > 0.0
    {
        let left = capacity.saturating_sub(m.deferred.checkpoint_age.unwrap_or(0)) as f64;
        let until = left / (growth as f64 / m.counts.seconds);
        warnings.push(format!(
            "With the best configuration the checkpoint age was still growing when the window ended: at this rate the redo log \
             would be full after another {until:.0} s, and page flushing that was put off would then be paid for. Confirm the \
             gain with a longer --measure before relying on its size under sustained load."
        ));
    }
    let coerced: Vec<String> = last_proof(trials, Arm::Candidate)
        .map(|m| m.coercions.iter().map(|c| format!("{} {} -> {}", c.knob, c.asked, c.reported)).collect())
        .unwrap_or_default();
    if !coerced.is_empty() {
        warnings
            .push(format!("The server rounded values of the best configuration: {}.", coerced.join(", ")));
    }
    warnings
}

fn baseline_readings(spec: &TuneSpec, trials: &[Decoded]) -> Vec<crate::drift::Reading> {
    kept(trials, |p| matches!(p, Purpose::Baseline | Purpose::Proof { arm: Arm::Baseline, .. }))
        .map(|m| crate::drift::Reading { at: m.at, value: m.value(spec.objective) })
        .collect()
}

fn environment(context: &Context) -> Vec<report::Note> {
    context
        .notes
        .iter()
        .map(|(name, value)| report::Note { name: name.clone(), value: value.clone() })
        .collect()
}

fn trial_rows(spec: &TuneSpec, trials: &[Decoded]) -> Vec<report::TrialRow> {
    let origin = trials.first().map_or(0.0, |t| t.began);
    trials.iter().map(|t| trial_row(spec, t, origin)).collect()
}

fn trial_row(spec: &TuneSpec, trial: &Decoded, origin: f64) -> report::TrialRow {
    let measured = trial.measurement.as_ref();
    // Within one run only the seconds tell how sure its throughput is; a percentile has no such series.
    let interval = measured.filter(|_| spec.objective == Objective::Tps).and_then(|m| {
        let window: Vec<f64> = m.series.iter().skip(m.warmup).map(|&n| n as f64).collect();
        stats::throughput_interval(&window, CONFIDENCE)
    });
    report::TrialRow {
        id: u64::from(trial.row.id.0),
        origin: trial.row.origin.clone(),
        configuration: plain(&trial.plan.configuration),
        state: same_word(trial.row.state.as_str()).unwrap_or(report::TrialState::Failed),
        objective: measured.map(|m| m.value(spec.objective)),
        low: interval.map(|i| i.low),
        high: interval.map(|i| i.high),
        latency_us: measured.map(|m| report::Latency {
            p50: m.latency_us.p50,
            p95: m.latency_us.p95,
            p99: m.latency_us.p99,
            max: m.latency_us.max,
        }),
        errors: measured.map_or(0, |m| m.counts.failed),
        restarted: measured.is_some_and(|m| m.restarted),
        seconds: trial.seconds,
        at_seconds: trial.began - origin,
        failure: trial.row.failure.clone(),
    }
}
