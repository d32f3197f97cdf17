//! The plain sentences about a study, the same in every format for people.

use crate::document::{Better, Gain, ServerFacts, StudyDocument, StudyState, TrialRow, TrialState, Verdict};
use crate::units;

/// What a study came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A proven gain.
    Improved,
    /// Nothing better, or not provably so.
    NoImprovement,
    /// No answer yet.
    Open,
    /// No answer, and none to come.
    Failed,
}

/// What a study came to.
pub(crate) fn outcome(study: &StudyDocument) -> Outcome {
    match (study.verdict, study.state) {
        (Some(Verdict::Improved), _) => Outcome::Improved,
        (Some(Verdict::NoImprovement), _) => Outcome::NoImprovement,
        (None, StudyState::Running | StudyState::Interrupted) => Outcome::Open,
        (None, StudyState::Finished | StudyState::Failed) => Outcome::Failed,
    }
}

/// The verdict in one sentence.
pub(crate) fn headline(study: &StudyDocument) -> String {
    match outcome(study) {
        Outcome::Improved => improved(study),
        Outcome::NoImprovement
            if candidates(study).next().is_some() && candidates(study).all(|t| t.state.is_failure()) =>
        {
            "No improvement: every candidate failed, so the settings stay as they are.".to_owned()
        }
        Outcome::NoImprovement => "No improvement: keep the settings as they are.".to_owned(),
        Outcome::Open if study.state == StudyState::Running => {
            "Still running: there is no verdict yet.".to_owned()
        }
        Outcome::Open => "Interrupted before the proof: there is no verdict yet.".to_owned(),
        Outcome::Failed => "This study could not be finished and has no verdict.".to_owned(),
    }
}

fn improved(study: &StudyDocument) -> String {
    let settings = match study.changes.len() {
        0 => "The best configuration".to_owned(),
        1 => "Changing one setting".to_owned(),
        n => format!("Changing {n} settings"),
    };
    let verb = match (study.objective.better, what(study)) {
        (Better::Higher, what) => format!("raises {what}"),
        (Better::Lower, what) => format!("lowers {what}"),
    };
    match &study.gain {
        None => format!("{settings} {verb}."),
        Some(gain) => {
            let ratio = units::gain(gain.ratio, study.objective.better);
            let (a, b) = interval(gain, study.objective.better);
            let unsigned = ratio.trim_start_matches(['+', '\u{2212}']);
            let confidence = confidence(gain.confidence);
            format!("{settings} {verb} by {unsigned} ({confidence} interval: {a} to {b}).")
        }
    }
}

/// The objective in words.
pub(crate) fn what(study: &StudyDocument) -> String {
    match study.objective.name.as_str() {
        "tps" => "throughput".to_owned(),
        "p95" => "the 95th percentile of latency".to_owned(),
        "p99" => "the 99th percentile of latency".to_owned(),
        // "95th percentile of latency" takes an article; "transactions committed per second" does not.
        other if other.starts_with(|c: char| c.is_ascii_digit()) => format!("the {other}"),
        other => other.to_owned(),
    }
}

/// The objective as the heading of a column.
pub(crate) fn short_objective(study: &StudyDocument) -> &str {
    let name = study.objective.name.as_str();
    if name.chars().count() <= 12 { name } else { "objective" }
}

/// The best trial of the search: repeats and the proof don't compete, since the best of many readings of one configuration says less
/// about it the more there are.
pub(crate) fn best_trial(study: &StudyDocument) -> Option<(&TrialRow, f64)> {
    competitors(study).fold(None, |best, (trial, value)| match best {
        Some((_, b)) if !is_better(study, value, b) => best,
        _ => Some((trial, value)),
    })
}

/// The measured trials of the search, with their values.
pub(crate) fn competitors(study: &StudyDocument) -> impl Iterator<Item = (&TrialRow, f64)> {
    candidates(study)
        .filter(|t| {
            !t.state.is_failure() && !t.origin.starts_with("repeat") && !t.origin.starts_with("proof")
        })
        .filter_map(|t| Some((t, t.objective.filter(|v| v.is_finite())?)))
}

/// Whether one value of the objective beats another.
pub(crate) fn is_better(study: &StudyDocument, value: f64, than: f64) -> bool {
    match study.objective.better {
        Better::Higher => value > than,
        Better::Lower => value < than,
    }
}

/// `95 %`, without a decimal that says nothing.
pub(crate) fn confidence(share: f64) -> String {
    format!("{} %", (share * 1000.0).round() / 10.0)
}

/// What follows the headline: why, or how far it got. One to three sentences.
pub(crate) fn explanation(study: &StudyDocument) -> Vec<String> {
    let mut sentences = Vec::new();
    match outcome(study) {
        Outcome::Improved => {
            if let (Some(gain), Some((baseline, best))) = (&study.gain, proof_means(study)) {
                sentences.push(format!(
                    "In {} interleaved pairs of runs the average went from {} to {}.",
                    gain.pairs.len(),
                    units::objective(baseline, &study.objective),
                    units::objective(best, &study.objective),
                ));
            }
        }
        Outcome::NoImprovement => {
            if let Some(gain) = &study.gain {
                let (low, high) = interval(gain, study.objective.better);
                sentences.push(format!(
                    "The best candidate measured {} against the baseline in {} interleaved pairs of runs; the {} interval is {low} to {high}.",
                    units::gain(gain.ratio, study.objective.better),
                    gain.pairs.len(),
                    confidence(gain.confidence),
                ));
            }
        }
        Outcome::Open => {
            sentences.push(trial_count(study));
            let best = study.best.as_ref().map(|b| (b.trial, b.mean));
            let best = best.or_else(|| best_trial(study).map(|(trial, value)| (trial.id, value)));
            if let (Some(baseline), Some((trial, value))) = (&study.baseline, best) {
                sentences.push(format!(
                    "The best so far is trial {trial} with {}, against {} of the baseline; it is not proven.",
                    units::objective(value, &study.objective),
                    units::objective(baseline.mean, &study.objective),
                ));
            }
        }
        Outcome::Failed => {
            sentences.push(trial_count(study));
            if let Some(failure) = study.trials.iter().rev().find_map(|t| t.failure.as_deref()) {
                sentences.push(format!(
                    "The last failure: {}",
                    sentence(failure.lines().next().unwrap_or_default())
                ));
            }
        }
    }
    if let Some(because) = &study.because {
        sentences.push(sentence(because));
    }
    sentences
}

/// The command that goes on from here, and what it does.
pub(crate) fn next_step(study: &StudyDocument) -> Option<(String, &'static str)> {
    (study.state == StudyState::Interrupted)
        .then(|| (format!("tunesmith studies resume {}", study.study), "goes on where it stopped."))
}

/// Both ends of a gain's interval as changes of the objective, the smaller first.
pub(crate) fn interval(gain: &Gain, better: Better) -> (String, String) {
    let (low, high) = (units::gain(gain.low, better), units::gain(gain.high, better));
    match better {
        Better::Higher => (low, high),
        Better::Lower => (high, low),
    }
}

/// What it was measured on, in one sentence.
pub(crate) fn measured_on(study: &StudyDocument) -> String {
    let parameters: Vec<String> = study.workload.parameters.iter().map(|(k, v)| format!("{k} {v}")).collect();
    let workload = if parameters.is_empty() {
        workload_name(study)
    } else {
        format!("{} ({})", workload_name(study), parameters.join(", "))
    };
    let server = &study.server;
    let where_ = match server.target.as_str() {
        "sandbox" => "a private server".to_owned(),
        _ if server.host.is_empty() => "the server".to_owned(),
        _ => server.host.clone(),
    };
    let machine: Vec<String> = [
        server.cores.map(|n| if n == 1 { "1 core".to_owned() } else { format!("{n} cores") }),
        server.memory_bytes.map(|b| format!("{} of memory", units::memory(b))),
    ]
    .into_iter()
    .flatten()
    .collect();
    let machine = if machine.is_empty() { String::new() } else { format!(" with {}", machine.join(" and ")) };
    format!("Measured with {workload} on {}, {where_}{machine}.", product(study))
}

/// The server's name for people.
pub(crate) fn product(study: &StudyDocument) -> String {
    let ServerFacts { flavour, version, product, .. } = &study.server;
    let number: String = version.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    match product.as_str() {
        "" if flavour.is_empty() && version.is_empty() => "a server that was not reached".to_owned(),
        "" => format!("{flavour} {version}"),
        named if named.contains(&number) => named.to_owned(),
        unnumbered => format!("{unnumbered} {number}"),
    }
}

/// The workload's name for people.
pub(crate) fn workload_name(study: &StudyDocument) -> String {
    if is_tpcc(study) { "a TPC-C-like workload".to_owned() } else { study.workload.name.clone() }
}

/// The sentence that fair use of the TPC's name asks for; `None` for other workloads.
/// TPC policies reserve "TPC-C" and "tpmC" for audited results.
pub(crate) fn disclaimer(study: &StudyDocument) -> Option<&'static str> {
    is_tpcc(study).then_some(
        "The workload is TPC-C-like: it follows the TPC-C specification but is not audited, and its results are not comparable \
         with published TPC results.",
    )
}

fn is_tpcc(study: &StudyDocument) -> bool {
    study.workload.name.starts_with("tpcc")
}

/// How many trials there are and what became of them.
pub(crate) fn trial_count(study: &StudyDocument) -> String {
    let all = study.trials.len();
    let kept = study.trials.iter().filter(|t| t.state == TrialState::Kept).count();
    let failed = study.trials.iter().filter(|t| t.state.is_failure()).count();
    let open = all - kept - failed;
    let mut text = match all {
        0 => return "No trial was begun.".to_owned(),
        1 => "1 trial".to_owned(),
        n => format!("{n} trials"),
    };
    text.push_str(&format!(": {kept} measured"));
    if failed > 0 {
        text.push_str(&format!(", {failed} failed"));
    }
    if open > 0 {
        text.push_str(&format!(", {open} unfinished"));
    }
    text.push('.');
    text
}

/// Means of the proof's two sides, in the objective's unit.
pub(crate) fn proof_means(study: &StudyDocument) -> Option<(f64, f64)> {
    let pairs = &study.gain.as_ref()?.pairs;
    if pairs.is_empty() {
        return None;
    }
    let n = pairs.len() as f64;
    Some((
        pairs.iter().map(|p| p.baseline).sum::<f64>() / n,
        pairs.iter().map(|p| p.candidate).sum::<f64>() / n,
    ))
}

/// How much better than the baseline a value is: above 1 is better, whichever way the objective runs.
pub(crate) fn against_baseline(study: &StudyDocument, value: f64) -> Option<f64> {
    let baseline = study.baseline.as_ref()?.mean;
    let ratio = match study.objective.better {
        Better::Higher => value / baseline,
        Better::Lower => baseline / value,
    };
    (ratio.is_finite() && ratio > 0.0).then_some(ratio)
}

/// The trials that are not runs of the baseline.
pub(crate) fn candidates(study: &StudyDocument) -> impl Iterator<Item = &TrialRow> {
    study.trials.iter().filter(|t| !is_baseline(t))
}

/// Whether a trial is a run of the baseline.
pub(crate) fn is_baseline(trial: &TrialRow) -> bool {
    trial.origin.starts_with("baseline")
        || (trial.origin.starts_with("proof") && trial.origin.ends_with("baseline"))
}

/// From the first trial's begin to the last one's end, seconds.
pub(crate) fn took(study: &StudyDocument) -> Option<f64> {
    study.trials.iter().map(|t| t.at_seconds + t.seconds).filter(|s| s.is_finite()).reduce(f64::max)
}

/// Upper-case first letter and a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut chars = text.chars();
    let mut out: String = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    out.push_str(chars.as_str());
    if !out.ends_with(['.', '!', '?']) && !out.is_empty() {
        out.push('.');
    }
    out
}
