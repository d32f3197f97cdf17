//! The benchmark: tasks whose truth is known, the optimiser and its rivals on them, and what a user would have got.
//! Pure: the caller prints.

mod report;
mod rivals;
mod studies;
mod surrogate;
mod synthetic;
mod task;

pub use report::{Extras, Report, Row};

use report::summary;
use rivals::Rival;
use std::ops::Range;
use task::Task;

/// What to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// One study per seed and task.
    pub seeds: Range<u64>,
    /// Only tasks whose name contains this.
    pub only: Option<String>,
    /// Added to the seeds that the synthetic tasks are drawn from.
    pub shift: u64,
}

/// Trials of each study.
pub(crate) const TRIALS: usize = 50;
/// Where the curves are read.
pub(crate) const MARKS: [usize; 4] = [10, 20, 30, 50];

/// Runs the plan; `progress` gets a line per finished piece.
pub fn run(plan: &Plan, mut progress: impl FnMut(&str)) -> Report {
    let wanted = |name: &str| plan.only.as_ref().is_none_or(|o| name.contains(o.as_str()));
    let mut tasks: Vec<Task> = Task::sysbench().into_iter().collect();
    tasks.extend(synthetic::public(plan.shift).into_iter().map(Task::synthetic));
    tasks.retain(|t| wanted(&t.name));
    let mut rows = Vec::new();
    for task in &tasks {
        let ours: Vec<_> = plan.seeds.clone().map(|s| studies::ours(task, s, TRIALS)).collect();
        let random: Vec<_> =
            plan.seeds.clone().map(|s| studies::rival(task, Rival::Random, s, TRIALS)).collect();
        let parzen: Vec<_> =
            plan.seeds.clone().map(|s| studies::rival(task, Rival::Parzen, s, TRIALS)).collect();
        let row = summary(
            task,
            &[("tunesmith", &ours), (Rival::Random.name(), &random), (Rival::Parzen.name(), &parzen)],
        );
        progress(&row.to_string());
        rows.push(row);
    }
    let mut extras = Extras::default();
    if wanted("pure-noise") {
        let task = Task::synthetic(synthetic::pure_noise());
        let kept = plan.seeds.clone().filter(|s| studies::keeps_default(&task, *s)).count();
        extras.no_improvement = Some(kept as f64 / plan.seeds.clone().count().max(1) as f64);
        progress("pure-noise done");
    }
    if wanted("restart-cost") {
        let task = Task::synthetic(synthetic::restarts(plan.shift));
        extras.restart_cost = studies::restart_cost(&task, plan.seeds.clone());
        progress("restart-cost done");
    }
    for related in [true, false] {
        if wanted("transfer") {
            let ratio = studies::transfer(related, plan.shift, plan.seeds.clone());
            if related {
                extras.related = Some(ratio)
            } else {
                extras.unrelated = Some(ratio)
            }
            progress("transfer done");
        }
    }
    Report { schema: 1, trials: TRIALS, rows, extras }
}
