//! The renderers: a document in, a string out.

mod csv;
mod experiment;
mod html;
mod markdown;
mod terminal;
mod trials;

pub use csv::csv;
pub use experiment::experiment;
pub use html::html;
pub use markdown::markdown;
pub use terminal::terminal;

use crate::document::StudyDocument;
use crate::{summary, units};

/// The document as indented JSON, with a line feed at the end.
pub fn json(study: &StudyDocument) -> String {
    // Only a map with keys that are no strings could fail, and a document has none.
    let mut text = serde_json::to_string_pretty(study).unwrap_or_default();
    text.push('\n');
    text
}

/// How it was measured and what that can't tell, for every format that has room for it.
fn method_sentences(study: &StudyDocument) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(method) = &study.method {
        out.push(format!(
            "Each trial ran {} of warm-up and then a measured window of {}.",
            units::duration(method.warmup_seconds),
            units::duration(method.measure_seconds)
        ));
        out.push(if method.restores_data {
            "Trials that need a restart begin with identical data, restored from the same copy.".to_owned()
        } else {
            "The data grew from trial to trial: they are the server's own and were not restored.".to_owned()
        });
    }
    out.push(
        "A value counts as applied only when the server reports it back. A window counts only when the server's and the client's count \
         of commits agree within 1 %, at most 1 % of the transactions failed, and no setting that decides about durability changed."
            .to_owned(),
    );
    if let Some(gain) = &study.gain {
        out.push(format!(
            "The gain is the mean of the log ratios of {} interleaved pairs, with a {} Student's t interval. It counts as an improvement \
             only when the whole interval is above zero.",
            gain.pairs.len(),
            summary::confidence(gain.confidence)
        ));
    }
    out.push(
        "Knobs whose change can lose data or change results were not touched: durability is not part of the search space.".to_owned(),
    );
    let sharing = if study.server.target == "sandbox" {
        "Client and server shared"
    } else {
        "Client and server may have shared"
    };
    out.push(format!(
        "Limits: the result holds for this workload, data size and machine. {sharing} the machine, and short windows show little of what \
         happens over hours, such as checkpoints and purge lag."
    ));

    out.extend(summary::disclaimer(study).map(str::to_owned));
    out
}
