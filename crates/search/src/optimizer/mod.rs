//! The optimiser: ask for a configuration, tell what it brought.

use crate::explain::{Effect, Expected, Explainer, Importance, Smallest};
use crate::history::{self, Arm, Origin, Outcome, Trial, TrialId};
use crate::model::earlier;
use crate::model::gp::Gp;
use crate::model::kernel::Hyper;
use crate::model::surrogate::Surrogate;
use crate::propose::search::{SafeStep, Wants};
use crate::propose::{moves, search, start};
use crate::rng::Rng;
use crate::space::{Point, Space, SpaceError, Values};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// More is better (throughput).
    Maximize,
    /// Less is better (latency, cost).
    Minimize,
}

/// What a study wants. The defaults are right unless the study says otherwise: nothing here is for tuning the
/// optimiser to a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Which way is better.
    pub direction: Direction,
    /// Seed of every random choice.
    pub seed: u64,
    /// How many trials the study has, if that is known.
    pub trials: Option<usize>,
    /// How many times as much a trial costs that needs a restart; 1 if that does not matter.
    pub restart_cost: f64,
    /// Set on a production server.
    pub safe: Option<Safe>,
}

/// Safe mode: small steps from the best configuration, none of them likely to be worse than the floor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Safe {
    /// The objective that must be kept, in its own unit.
    pub floor: f64,
    /// Longest step of a numeric knob, as a share of its range (of its logarithm, if it is searched so).
    #[serde(default = "fifth")]
    pub step: f64,
    /// How many knobs may change in one step.
    #[serde(default = "three")]
    pub knobs: usize,
}

fn fifth() -> f64 {
    0.2
}

fn three() -> usize {
    3
}

impl Default for Settings {
    fn default() -> Self {
        Self { direction: Direction::Maximize, seed: 1, trials: None, restart_cost: 1.0, safe: None }
    }
}

/// A configuration to try.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suggestion {
    /// The trial's number, for [`Optimizer::tell`].
    pub id: TrialId,
    /// The configuration.
    pub values: Values,
    /// Why this one.
    pub origin: Origin,
}

/// What the optimiser would deploy now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The first trial with this configuration.
    pub id: TrialId,
    /// The configuration.
    pub values: Values,
    /// Expected objective, in its own unit: the model's mean, not the luckiest reading.
    pub mean: f64,
    /// Standard deviation of that expectation, in the objective's unit.
    pub sd: f64,
    /// Probability that it is truly better than the default.
    pub better: f64,
}

/// What the next trial is expected to gain.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// In the objective's unit.
    pub absolute: f64,
    /// As a share of the best expected objective. Stop when this is below what is worth a trial.
    pub ratio: f64,
}

/// A configuration is named for deployment in place of the default if it is better with this probability. It is the
/// best of many, so the probability is flattered: at 0.9, two of ten pure-noise studies named a winner.
const CONVINCING: f64 = 0.98;

/// Why a call was refused. Nothing changed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OptimizerError {
    /// Values do not belong to the space.
    #[error("values do not fit the space: {0}")]
    Values(#[from] SpaceError),
    /// No trial has this number.
    #[error("there is no trial {0}; tell the id that ask returned")]
    UnknownTrial(TrialId),
    /// The trial's outcome is known already.
    #[error("trial {0} was told already; ask for the configuration again to add a reading")]
    ToldTwice(TrialId),
    /// A reading, a variance or a cost is not a usable number.
    #[error("{0} is not usable; a reading must be finite, a variance and a cost finite and not negative")]
    NotANumber(f64),
}

/// The ask/tell optimiser.
#[derive(Debug)]
pub struct Optimizer {
    space: Space,
    settings: Settings,
    seeds: Vec<(Values, String)>,
    earlier: Vec<Vec<(Values, f64)>>,
    trials: Vec<Trial>,
    /// Where the current model's fit starts, and where the next one will.
    fit_from: Option<Hyper>,
    next_from: Option<Hyper>,
    model: OnceLock<Option<Surrogate>>,
    earlier_models: OnceLock<Vec<Gp>>,
}

/// All of an optimiser's state. A restored optimiser makes the very same suggestions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    /// Version of this format.
    pub version: u32,
    space: Space,
    settings: Settings,
    seeds: Vec<(Values, String)>,
    #[serde(default)]
    earlier: Vec<Vec<(Values, f64)>>,
    trials: Vec<Trial>,
    fit_from: Option<Hyper>,
    next_from: Option<Hyper>,
}

/// The version that [`Optimizer::save`] writes.
pub const STATE_VERSION: u32 = 1;

impl Optimizer {
    /// An optimiser that knows nothing yet.
    pub fn new(space: Space, settings: Settings) -> Self {
        Self {
            space,
            settings,
            seeds: Vec::new(),
            earlier: Vec::new(),
            trials: Vec::new(),
            fit_from: None,
            next_from: None,
            model: OnceLock::new(),
            earlier_models: OnceLock::new(),
        }
    }

    /// The space that is searched.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// All the trials so far, by number.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Adds a configuration that an expert would try; seeds come right after the default, in their order. Missing
    /// parameters keep their default. Returns false if it is the default itself or there already.
    ///
    /// # Errors
    /// A value that is not one of its parameter's.
    pub fn add_seed(&mut self, values: &Values, label: impl Into<String>) -> Result<bool, OptimizerError> {
        let mut full = self.space.default_values();
        for (name, value) in values {
            self.space.index(name)?;
            full.insert(name.clone(), value.clone());
        }
        let mut point = self.space.encode(&full)?;
        self.space.repair(&mut point);
        let full = self.space.decode(&point);
        let known = point == self.space.default_point() || self.seeds.iter().any(|(s, _)| *s == full);
        if !known {
            self.seeds.push((full, label.into()));
        }
        Ok(!known)
    }

    /// The next configuration to try. May be called again before the last one is told (parallel clones).
    pub fn ask(&mut self) -> Suggestion {
        let (point, origin) = self.next();
        let values = self.space.decode(&point);
        let id = self.trials.len() as TrialId + 1;
        self.trials.push(Trial {
            id,
            values: values.clone(),
            origin: origin.clone(),
            outcome: None,
            cost: None,
            constraints: Vec::new(),
        });
        Suggestion { id, values, origin }
    }

    fn next(&mut self) -> (Point, Origin) {
        let arms = history::arms(&self.space, &self.trials);
        let tried = |p: &Point| arms.iter().any(|a| a.point == *p);
        let default = self.space.default_point();
        if !tried(&default) {
            return (default, Origin::Default);
        }
        for (values, label) in &self.seeds {
            if let Ok(point) = self.space.encode(values)
                && !tried(&point)
            {
                return (point, Origin::Seed(label.clone()));
            }
        }
        if let Some(point) = self.earlier_winners().into_iter().find(|p| !tried(p)) {
            return (point, Origin::Earlier);
        }
        let started = self.trials.iter().filter(|t| t.origin == Origin::Start).count();
        let told = self.trials.iter().filter(|t| t.origin == Origin::Told).count();
        let count = self.start_size(&arms);
        if started + told < count {
            return (self.start_point(&arms, started, count), Origin::Start);
        }
        let mut rng = Rng::of_step(self.settings.seed, self.trials.len() as u64);
        let Some(model) = self.model(&arms) else {
            // Nothing worked so far: keep looking.
            return (moves::random(&self.space, &mut rng), Origin::Start);
        };
        let model = model.with_pending(&arms);
        let wants = self.wants(&model, &arms);
        let candidate = search::best(&self.space, &model, &arms, &wants, &mut rng);
        let again = repeat(&model, &arms, &candidate);
        self.next_from = model.gps.first().map(|gp| gp.hyper.clone());
        match again {
            Some(point) => (point, Origin::Repeat),
            None => (candidate.point, Origin::Search),
        }
    }

    fn start_size(&self, arms: &[Arm]) -> usize {
        if self.settings.safe.is_some() {
            return 0;
        }
        let count = start::size(&self.space, self.settings.trials);
        let related = self.model(arms).is_some_and(|m| m.earlier.iter().any(|(_, say)| *say > RELATED));
        // An earlier study that agrees takes the place of all but a few start points.
        if related { count.min(3) } else { count }
    }

    fn start_point(&self, arms: &[Arm], index: usize, count: usize) -> Point {
        let taken: Vec<Point> = arms.iter().map(|a| a.point.clone()).collect();
        let point = start::fresh(&self.space, self.settings.seed, index, count, &taken);
        let failures = arms.iter().filter(|a| a.failures > 0).count();
        match self.model(arms) {
            Some(model) if failures > 0 => {
                let mut rng = Rng::of_step(self.settings.seed, 2 << 40 | index as u64);
                start::careful(&self.space, point, model, &taken, &mut rng)
            }
            _ => point,
        }
    }

    fn wants(&self, model: &Surrogate, arms: &[Arm]) -> Wants {
        let last = self.trials.last().and_then(|t| self.space.encode(&t.values).ok());
        let cost = self.settings.restart_cost;
        let safe = self.settings.safe.as_ref().map(|safe| SafeStep {
            from: arms[model.measured[model.incumbent()]].point.clone(),
            longest: safe.step,
            knobs: safe.knobs,
            floor: model.scale.target(safe.floor),
        });
        Wants { restart: last.filter(|_| cost > 1.0).map(|p| (p, cost)), safe }
    }

    /// The best configuration of each earlier study, as far as it fits the space.
    fn earlier_winners(&self) -> Vec<Point> {
        let sign = if self.settings.direction == Direction::Maximize { 1.0 } else { -1.0 };
        let winner = |trials: &Vec<(Values, f64)>| {
            let known = trials.iter().filter_map(|(v, r)| Some((self.space.encode(v).ok()?, sign * r)));
            known.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(mut p, _)| {
                self.space.repair(&mut p);
                p
            })
        };
        self.earlier.iter().filter_map(winner).collect()
    }

    fn model(&self, arms: &[Arm]) -> Option<&Surrogate> {
        let maximise = self.settings.direction == Direction::Maximize;
        let fit = || {
            let mut model =
                Surrogate::fit(&self.space, arms, maximise, self.fit_from.as_ref(), self.settings.seed)?;
            let earlier = self.earlier_models.get_or_init(|| {
                self.earlier.iter().filter_map(|t| earlier::fit(&self.space, t, maximise)).collect()
            });
            let points = model.data.rows.len();
            model.earlier = earlier
                .iter()
                .map(|gp| (gp.clone(), earlier::say(earlier::agreement(gp, &model.data), points)))
                .collect();
            Some(model)
        };
        self.model.get_or_init(fit).as_ref()
    }

    /// Adds the readings of an earlier study of another workload, machine or version. Its best configuration is
    /// tried early, and its model has a say as far as it ranks this study's readings rightly. Configurations outside
    /// the space are left out; returns how many readings are used.
    pub fn add_earlier(&mut self, trials: &[(Values, f64)]) -> usize {
        let usable: Vec<(Values, f64)> =
            trials.iter().filter(|(v, r)| r.is_finite() && self.space.encode(v).is_ok()).cloned().collect();
        let used = usable.len();
        if used > 0 {
            self.earlier.push(usable);
            self.earlier_models = OnceLock::new();
            self.model = OnceLock::new();
        }
        used
    }

    /// What one more trial is expected to gain; `None` before any reading.
    pub fn expected_gain(&self) -> Option<Gain> {
        let arms = history::arms(&self.space, &self.trials);
        let model = self.model(&arms)?;
        let mut rng = Rng::of_step(self.settings.seed, 3 << 40 | self.trials.len() as u64);
        let wants = Wants { restart: None, ..self.wants(model, &arms) };
        let candidate = search::best(&self.space, model, &arms, &wants, &mut rng);
        let mean = model.beliefs[model.incumbent()].mean;
        let absolute = candidate.score.exp() * model.scale.slope(mean);
        Some(Gain { absolute, ratio: absolute / model.scale.reading(mean).abs().max(f64::MIN_POSITIVE) })
    }

    /// How much each knob matters, the most important first; empty before any reading.
    pub fn importance(&self) -> Vec<Importance> {
        self.explain(|e| e.importance(self.settings.seed)).unwrap_or_default()
    }

    /// What the objective does when one knob, or two, change in the winner; empty before any reading.
    ///
    /// # Errors
    /// An unknown knob.
    pub fn effect(&self, knob: &str, with: Option<&str>) -> Result<Vec<Effect>, OptimizerError> {
        let knob = self.space.index(knob)?;
        let with = with.map(|w| self.space.index(w)).transpose()?;
        Ok(self.explain(|e| e.effect(knob, with)).unwrap_or_default())
    }

    /// The smallest configuration that keeps 95 % of the winner's gain; `None` before any reading.
    pub fn smallest(&self) -> Option<Smallest> {
        self.explain(|e| e.smallest())
    }

    /// What the model expects of a configuration; `None` before any reading.
    ///
    /// # Errors
    /// Values that are not in the space.
    pub fn expected(&self, values: &Values) -> Result<Option<Expected>, OptimizerError> {
        let point = self.space.encode(values)?;
        Ok(self.explain(|e| e.expected(&point)))
    }

    fn explain<T>(&self, what: impl FnOnce(&Explainer<'_>) -> T) -> Option<T> {
        let arms = history::arms(&self.space, &self.trials);
        let model = self.model(&arms)?;
        Some(what(&Explainer { space: &self.space, model, arms: &arms }))
    }

    /// Records what a suggestion brought, and what the trial cost.
    ///
    /// # Errors
    /// An unknown trial, one that was told already, or a number that is not usable.
    pub fn tell(&mut self, id: TrialId, outcome: Outcome, cost: Option<f64>) -> Result<(), OptimizerError> {
        self.tell_all(id, outcome, cost, Vec::new())
    }

    /// [`Self::tell`] with the readings of constraints; a constraint holds where its reading is at most 0.
    ///
    /// # Errors
    /// As [`Self::tell`].
    pub fn tell_all(
        &mut self,
        id: TrialId,
        outcome: Outcome,
        cost: Option<f64>,
        constraints: Vec<f64>,
    ) -> Result<(), OptimizerError> {
        check(&outcome, cost)?;
        if let Some(x) = constraints.iter().find(|x| !x.is_finite()) {
            return Err(OptimizerError::NotANumber(*x));
        }
        let index = usize::try_from(id).ok().and_then(|i| i.checked_sub(1));
        let trial = index.and_then(|i| self.trials.get_mut(i)).ok_or(OptimizerError::UnknownTrial(id))?;
        if trial.outcome.is_some() {
            return Err(OptimizerError::ToldTwice(id));
        }
        trial.outcome = Some(outcome);
        trial.cost = cost;
        trial.constraints = constraints;
        self.forget_model();
        Ok(())
    }

    /// Records a configuration that was measured without being asked for (an earlier session, a user's own idea).
    ///
    /// # Errors
    /// Values outside the space, or a number that is not usable.
    pub fn observe(
        &mut self,
        values: &Values,
        outcome: Outcome,
        cost: Option<f64>,
    ) -> Result<TrialId, OptimizerError> {
        check(&outcome, cost)?;
        let values = self.space.decode(&self.space.encode(values)?);
        let id = self.trials.len() as TrialId + 1;
        let constraints = Vec::new();
        self.trials.push(Trial {
            id,
            values,
            origin: Origin::Told,
            outcome: Some(outcome),
            cost,
            constraints,
        });
        self.forget_model();
        Ok(id)
    }

    fn forget_model(&mut self) {
        self.model = OnceLock::new();
        self.fit_from.clone_from(&self.next_from);
    }

    /// What to deploy now: the tried configuration with the best expected objective, and the default unless that is convincingly
    /// better. `None` before any reading.
    pub fn best(&self) -> Option<Best> {
        self.named(CONVINCING)
    }

    /// What is worth proving now: the tried configuration with the best expected objective, convincing or not. For callers
    /// that decide by measurement (interleaved pairs) whether it is deployed. `None` before any reading.
    pub fn incumbent(&self) -> Option<Best> {
        self.named(0.0)
    }

    fn named(&self, convincing: f64) -> Option<Best> {
        let arms = history::arms(&self.space, &self.trials);
        let model = self.model(&arms)?;
        let default = model.measured.iter().position(|i| arms[*i].point == self.space.default_point());
        let mut at = model.incumbent();
        let mut better = 0.5;
        if let Some(default) = default.filter(|d| *d != at) {
            better = model.better(&model.data.rows[at], &model.data.rows[default]);
            if better < convincing && model.allowed[default] {
                at = default;
            }
        }
        let arm = &arms[model.measured[at]];
        let belief = model.beliefs[at];
        Some(Best {
            id: arm.first,
            values: self.space.decode(&arm.point),
            mean: model.scale.reading(belief.mean),
            sd: belief.variance.sqrt() * model.scale.slope(belief.mean),
            better,
        })
    }

    /// All of the state.
    pub fn save(&self) -> State {
        State {
            version: STATE_VERSION,
            space: self.space.clone(),
            settings: self.settings.clone(),
            seeds: self.seeds.clone(),
            earlier: self.earlier.clone(),
            trials: self.trials.clone(),
            fit_from: self.fit_from.clone(),
            next_from: self.next_from.clone(),
        }
    }

    /// The optimiser that was saved.
    pub fn restore(state: State) -> Self {
        Self {
            space: state.space,
            settings: state.settings,
            seeds: state.seeds,
            earlier: state.earlier,
            trials: state.trials,
            fit_from: state.fit_from,
            next_from: state.next_from,
            model: OnceLock::new(),
            earlier_models: OnceLock::new(),
        }
    }
}

/// An earlier study with at least this say (in logarithms) takes the place of start points.
const RELATED: f64 = -1.0;
/// Readings of one configuration at most, by the optimiser's own wish.
const READINGS: f64 = 5.0;
/// A new configuration is worth a trial if it is expected to gain more than this share of the incumbent's own
/// uncertainty; below it, knowing the incumbent better is worth more.
const WORTH: f64 = 0.05;

/// The incumbent, where another reading of it is worth more than the candidate: 1 reading becomes 3, then 5.
fn repeat(model: &Surrogate, arms: &[Arm], candidate: &search::Candidate) -> Option<Point> {
    let at = model.incumbent();
    let arm = &arms[model.measured[at]];
    let doubt = model.beliefs[at].variance.sqrt();
    (arm.pending == 0 && arm.n < READINGS && candidate.score < (WORTH * doubt).ln())
        .then(|| arm.point.clone())
}

fn check(outcome: &Outcome, cost: Option<f64>) -> Result<(), OptimizerError> {
    let (reading, spread) = match outcome {
        Outcome::Value { value, variance, .. } => (*value, variance.unwrap_or(0.0)),
        Outcome::Censored { bound } => (*bound, 0.0),
        Outcome::Failed => (0.0, 0.0),
    };
    if !reading.is_finite() {
        return Err(OptimizerError::NotANumber(reading));
    }
    match [spread, cost.unwrap_or(0.0)].into_iter().find(|x| !x.is_finite() || *x < 0.0) {
        Some(x) => Err(OptimizerError::NotANumber(x)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_modes;
