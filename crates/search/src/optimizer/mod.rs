//! The optimiser: ask for a configuration, tell what it brought.

use crate::history::{self, Arm, Origin, Outcome, Trial, TrialId};
use crate::model::kernel::Hyper;
use crate::model::surrogate::Surrogate;
use crate::propose::{search, start};
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
}

impl Default for Settings {
    fn default() -> Self {
        Self { direction: Direction::Maximize, seed: 1, trials: None }
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
}

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
    trials: Vec<Trial>,
    /// Where the current model's fit starts, and where the next one will.
    fit_from: Option<Hyper>,
    next_from: Option<Hyper>,
    model: OnceLock<Option<Surrogate>>,
}

/// All of an optimiser's state. A restored optimiser makes the very same suggestions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    /// Version of this format.
    pub version: u32,
    space: Space,
    settings: Settings,
    seeds: Vec<(Values, String)>,
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
            trials: Vec::new(),
            fit_from: None,
            next_from: None,
            model: OnceLock::new(),
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
        let started = self.trials.iter().filter(|t| t.origin == Origin::Start).count();
        let told = self.trials.iter().filter(|t| t.origin == Origin::Told).count();
        let count = start::size(&self.space, self.settings.trials);
        if started + told < count {
            let taken: Vec<Point> = arms.iter().map(|a| a.point.clone()).collect();
            return (start::fresh(&self.space, self.settings.seed, started, count, &taken), Origin::Start);
        }
        let mut rng = Rng::of_step(self.settings.seed, self.trials.len() as u64);
        let Some(model) = self.model(&arms) else {
            // Nothing worked so far: keep looking.
            return (crate::propose::moves::random(&self.space, &mut rng), Origin::Start);
        };
        let model = model.with_pending(&arms);
        let candidate = search::best(&self.space, &model, &arms, &mut rng);
        self.next_from = model.gps.first().map(|gp| gp.hyper.clone());
        (candidate.point, Origin::Search)
    }

    fn model(&self, arms: &[Arm]) -> Option<&Surrogate> {
        let maximise = self.settings.direction == Direction::Maximize;
        self.model
            .get_or_init(|| Surrogate::fit(&self.space, arms, maximise, self.fit_from.as_ref()))
            .as_ref()
    }

    /// Records what a suggestion brought, and what the trial cost.
    ///
    /// # Errors
    /// An unknown trial, one that was told already, or a number that is not usable.
    pub fn tell(&mut self, id: TrialId, outcome: Outcome, cost: Option<f64>) -> Result<(), OptimizerError> {
        check(&outcome, cost)?;
        let index = usize::try_from(id).ok().and_then(|i| i.checked_sub(1));
        let trial = index.and_then(|i| self.trials.get_mut(i)).ok_or(OptimizerError::UnknownTrial(id))?;
        if trial.outcome.is_some() {
            return Err(OptimizerError::ToldTwice(id));
        }
        trial.outcome = Some(outcome);
        trial.cost = cost;
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

    /// What to deploy now: the tried configuration with the best expected objective. `None` before any reading.
    pub fn best(&self) -> Option<Best> {
        let arms = history::arms(&self.space, &self.trials);
        let model = self.model(&arms)?;
        let at = model.incumbent();
        let arm = &arms[model.measured[at]];
        let belief = model.beliefs[at];
        Some(Best {
            id: arm.first,
            values: self.space.decode(&arm.point),
            mean: model.scale.reading(belief.mean),
            sd: belief.variance.sqrt() * model.scale.slope(belief.mean),
        })
    }

    /// All of the state.
    pub fn save(&self) -> State {
        State {
            version: STATE_VERSION,
            space: self.space.clone(),
            settings: self.settings.clone(),
            seeds: self.seeds.clone(),
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
            trials: state.trials,
            fit_from: state.fit_from,
            next_from: state.next_from,
            model: OnceLock::new(),
        }
    }
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
