//! Studies on a task: what would have been deployed after each trial.

use super::TRIALS;
use super::rivals::{Rival, Seen};
use super::synthetic;
use super::task::Task;
use crate::history::Outcome;
use crate::optimizer::{Optimizer, Settings};
use crate::propose::search::restarts;
use crate::rng::Rng;
use crate::space::Values;
use std::ops::Range;

/// Cost of a trial with a restart, in trials without one.
pub(crate) const RESTART: f64 = 10.0;

/// What a study came to.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    /// True value of what would be deployed after each trial.
    pub(crate) deployed: Vec<f64>,
    /// Cost of all trials up to each.
    pub(crate) cost: Vec<f64>,
    /// What the optimiser believed the deployed configuration to be worth, over its true value, less 1.
    pub(crate) optimism: f64,
    pub(crate) crashes: usize,
}

/// The noise of study `seed`: the same for all contenders.
fn noise(seed: u64) -> Rng {
    Rng::of_step(seed, 0x4015E)
}

pub(crate) fn ours(task: &Task, seed: u64, trials: usize) -> Curve {
    let settings = Settings { seed, trials: Some(trials), ..Settings::default() };
    study(task, &mut Optimizer::new(task.space().clone(), settings), seed, trials)
}

fn study(task: &Task, optimizer: &mut Optimizer, seed: u64, trials: usize) -> Curve {
    let mut rng = noise(seed);
    let mut curve = Curve { deployed: Vec::new(), cost: Vec::new(), optimism: 0.0, crashes: 0 };
    let space = task.space();
    let (mut now, mut spent) = (space.default_point(), 0.0);
    for _ in 0..trials {
        let s = optimizer.ask();
        let outcome = task.measure(&s.values, &mut rng);
        curve.crashes += usize::from(outcome == Outcome::Failed);
        if let Ok(point) = space.encode(&s.values) {
            spent += if restarts(space, &now, &point) { RESTART } else { 1.0 };
            now = point;
        }
        let constraints = task.constraint(&s.values).into_iter().collect();
        // The suggestion is the optimiser's own and the reading finite: it cannot be refused.
        let told = optimizer.tell_all(s.id, outcome, None, constraints);
        debug_assert!(told.is_ok());
        let best = optimizer.best();
        let value = best.as_ref().map_or(0.0, |b| task.deployed(&b.values));
        curve.deployed.push(value);
        curve.cost.push(spent);
        curve.optimism = best.map_or(0.0, |b| b.mean / value.max(1e-9) - 1.0);
    }
    curve
}

pub(crate) fn rival(task: &Task, rival: Rival, seed: u64, trials: usize) -> Curve {
    let (mut rng, mut noise) = (Rng::of_step(seed, 0x21FA1), noise(seed));
    let mut seen: Vec<Seen> = Vec::new();
    let mut curve = Curve { deployed: Vec::new(), cost: Vec::new(), optimism: 0.0, crashes: 0 };
    let mut apparent: Option<(f64, f64)> = None;
    for _ in 0..trials {
        let point = rival.next(task.space(), &seen, &mut rng);
        let values = task.space().decode(&point);
        let reading = match task.measure(&values, &mut noise) {
            Outcome::Value { value, .. } => Some(value),
            Outcome::Failed | Outcome::Censored { .. } => None,
        };
        curve.crashes += usize::from(reading.is_none());
        // A rival knows no constraints, so it is spared those that break one.
        let allowed = reading.filter(|_| task.constraint(&values).is_none_or(|c| c <= 0.0));
        if let Some(r) = allowed
            && apparent.is_none_or(|a| r > a.0)
        {
            apparent = Some((r, task.deployed(&values)));
        }
        seen.push((point, allowed));
        curve.deployed.push(apparent.map_or(0.0, |a| a.1));
        curve.optimism = apparent.map_or(0.0, |a| a.0 / a.1.max(1e-9) - 1.0);
    }
    curve
}

/// True if a study of a task in which nothing matters ends with the default.
pub(crate) fn keeps_default(task: &Task, seed: u64) -> bool {
    let settings = Settings { seed, trials: Some(TRIALS), ..Settings::default() };
    let mut optimizer = Optimizer::new(task.space().clone(), settings);
    study(task, &mut optimizer, seed, TRIALS);
    optimizer.best().is_some_and(|b| b.values == task.space().default_values())
}

/// Share of the cost that minding restarts needs for the gain that ignoring them ends with (at its own cost);
/// median over the seeds. A study that does not get there counts with all its cost.
pub(crate) fn restart_cost(task: &Task, seeds: Range<u64>) -> Option<f64> {
    let shares = seeds.map(|seed| {
        let ignoring = ours(task, seed, TRIALS);
        let settings = Settings { seed, trials: Some(TRIALS), restart_cost: RESTART, ..Settings::default() };
        let minding = study(task, &mut Optimizer::new(task.space().clone(), settings), seed, TRIALS);
        let goal = task.default() + 0.9 * (ignoring.deployed[TRIALS - 1] - task.default());
        let reach =
            |c: &Curve| c.deployed.iter().position(|v| *v >= goal).map_or(c.cost[TRIALS - 1], |i| c.cost[i]);
        reach(&minding) / reach(&ignoring)
    });
    median(shares.collect())
}

/// Trials that a study with an earlier one needs, over those of a cold one, to the level that the cold one has after
/// 30 trials; median over the seeds. For an unrelated pair: the quality at 30 trials, warm over cold.
pub(crate) fn transfer(related: bool, shift: u64, seeds: Range<u64>) -> f64 {
    let (source, target) = synthetic::pair(related, shift);
    let (source, target) = (Task::synthetic(source), Task::synthetic(target));
    let ratios = seeds.map(|seed| {
        let earlier = readings(&source, seed + 7000);
        let settings = Settings { seed, trials: Some(TRIALS), ..Settings::default() };
        let mut warm = Optimizer::new(target.space().clone(), settings);
        warm.add_earlier(&earlier);
        let warm = study(&target, &mut warm, seed, 30);
        let cold = ours(&target, seed, 30);
        if related {
            let goal = cold.deployed[29];
            let reach = |c: &Curve| 1.0 + c.deployed.iter().position(|v| *v >= goal).unwrap_or(29) as f64;
            reach(&warm) / reach(&cold)
        } else {
            target.quality(warm.deployed[29]).max(0.0) / target.quality(cold.deployed[29]).max(1e-3)
        }
    });
    median(ratios.collect()).unwrap_or(f64::NAN)
}

/// The readings of a study of its own on an earlier task.
fn readings(task: &Task, seed: u64) -> Vec<(Values, f64)> {
    let settings = Settings { seed, trials: Some(40), ..Settings::default() };
    let mut optimizer = Optimizer::new(task.space().clone(), settings);
    study(task, &mut optimizer, seed, 40);
    let reading = |t: &crate::history::Trial| match t.outcome {
        Some(Outcome::Value { value, .. }) => Some((t.values.clone(), value)),
        _ => None,
    };
    optimizer.trials().iter().filter_map(reading).collect()
}

/// The middle of some numbers; `None` of none.
pub(crate) fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let n = numbers.len();
    (n > 0).then(|| 0.5 * (numbers[n / 2] + numbers[(n - 1) / 2]))
}

#[cfg(test)]
mod tests {
    use super::super::task::Truth;
    use super::*;

    #[test]
    fn contenders_meet_the_same_noise_and_begin_with_the_default() {
        let task = Task::synthetic(synthetic::public(0).swap_remove(0));
        let curve = ours(&task, 3, 5);
        let rival = rival(&task, Rival::Random, 3, 5);
        assert_eq!((curve.deployed[0], rival.deployed[0]), (task.default(), task.default()));
        assert_eq!(curve.deployed.len(), 5);
    }

    #[test]
    fn a_pair_is_related_or_not_as_it_says() {
        let order = |related| {
            let (a, b) = synthetic::pair(related, 0);
            let mut rng = Rng::of_step(1, 0);
            let points: Vec<Values> = (0..200)
                .map(|_| a.space.decode(&crate::propose::moves::random(&a.space, &mut rng)))
                .collect();
            let of = |s: &synthetic::Synthetic| -> Vec<f64> {
                points.iter().map(|p| if let Truth::Value(v) = s.truth(p) { v } else { 0.0 }).collect()
            };
            let (x, y) = (of(&a), of(&b));
            let agree = (1..200).filter(|i| (x[*i] > x[i - 1]) == (y[*i] > y[i - 1])).count();
            agree as f64 / 199.0
        };
        assert!(order(true) > 0.7, "{}", order(true));
        assert!((0.35..0.65).contains(&order(false)), "{}", order(false));
    }
}
