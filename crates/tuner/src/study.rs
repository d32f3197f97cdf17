//! A study from its first trial to its verdict. This module is the one writer of a study's state.

use crate::agenda::{self, Entry, Next, Outlook};
use crate::cancel::Cancel;
use crate::context::Context;
use crate::drift::{Drift, Reading};
use crate::error::{StudyError, StudyErrorKind};
use crate::events::{Ending, Event, Events};
use crate::fault;
use crate::judge::{guarded, judge};
use crate::measure::{self, Interrupted};
use crate::measurement::Measurement;
use crate::plan::{Arm, Plan, Purpose};
use crate::reduce;
use crate::space::{self, SearchSpace};
use crate::spec::{SpecError, TuneSpec};
use crate::verdict::{Answer, CONFIDENCE, Verdict};
use knobs::Configuration;
use search::{Optimizer, Outcome};
use std::collections::BTreeMap;
use std::time::Instant;
use store::{Lease, NewStudy, NewTrial, Store, StudyId, StudyState, TrialId, TrialState};
use target::Target;

/// A trial that was begun this often and never ended is given up: its configuration may be what kills the machine.
const ATTEMPTS: u32 = 4;

/// Stores a new study for this target: what is asked, what was found, and the optimiser at its start.
///
/// # Errors
/// When the specification makes no sense, nothing can be tuned, or a suggested configuration is not allowed.
pub fn begin<T: Target>(
    store: &mut Store,
    name: &str,
    spec: &TuneSpec,
    target: &T,
    notes: Vec<(String, String)>,
) -> Result<StudyId, StudyError> {
    let failed = |kind: StudyErrorKind| StudyError::new("failed to begin the study", kind);
    let make = || -> Result<StudyId, StudyErrorKind> {
        spec.validate()?;
        let (context, optimiser) = space::prepare(spec, target, notes)?;
        let id = store.create_study(&NewStudy { name, question: "tune", spec })?;
        store.set_context(id, &context)?;
        store.set_optimiser(id, &optimiser.save())?;
        Ok(id)
    };
    make().map_err(failed)
}

/// Makes the study's trials until there is a verdict. Works the same on a new study and on one that was interrupted or
/// killed: everything is decided from what is in the store.
///
/// # Errors
/// [`StudyErrorKind::Interrupted`] when `cancel` is requested; others when the study can't go on. In every case the server has
/// been put back to what was found, except with [`StudyErrorKind::NotHome`], which says what may differ.
pub async fn conduct<T: Target>(
    store: &mut Store,
    id: StudyId,
    target: &mut T,
    events: &mut dyn Events,
    cancel: &Cancel,
) -> Result<Verdict, StudyError> {
    let failed = |kind: StudyErrorKind| StudyError::new(format!("study {id} can't go on"), kind);
    let lease = store.lease(id).map_err(|e| failed(e.into()))?;
    let mut study = Study::load(store, id, target, events, cancel, lease).map_err(failed)?;
    let ended = study.run().await;
    let home = study.target.go_home().await;
    let state = match &ended {
        Ok(_) => None,
        Err(StudyErrorKind::NoBaseline(_)) => Some(StudyState::Failed),
        Err(_) => Some(StudyState::Interrupted),
    };
    if let Some(state) = state {
        study.store.set_study_state(id, state).map_err(|e| failed(e.into()))?;
    }
    if let Err(source) = home {
        let home = study.context.home.iter().filter(|(name, _)| study.context.knobs.contains_key(*name));
        let knobs = home.map(|(name, v)| format!("{name} = {}", v.value)).collect::<Vec<_>>().join(", ");
        return Err(failed(StudyErrorKind::NotHome { knobs, source }));
    }
    ended.map_err(failed)
}

struct Study<'a, T> {
    store: &'a mut Store,
    id: StudyId,
    spec: TuneSpec,
    context: Context,
    space: SearchSpace,
    optimiser: Optimizer,
    target: &'a mut T,
    events: &'a mut dyn Events,
    cancel: &'a Cancel,
    began: Instant,
    /// Seconds of work in earlier runs of this study, for the time budget.
    spent: f64,
    _lease: Lease,
}

/// Why a trial has no measurement.
enum NoMeasurement {
    /// The configuration can't be run.
    Failed(String),
    /// It ran, and the window is no observation.
    Reverted(String),
    /// The study can't go on.
    Fatal(StudyErrorKind),
}

impl From<StudyErrorKind> for NoMeasurement {
    fn from(kind: StudyErrorKind) -> Self {
        Self::Fatal(kind)
    }
}

impl From<store::StoreError> for NoMeasurement {
    fn from(error: store::StoreError) -> Self {
        Self::Fatal(error.into())
    }
}

impl<'a, T: Target> Study<'a, T> {
    fn load(
        store: &'a mut Store,
        id: StudyId,
        target: &'a mut T,
        events: &'a mut dyn Events,
        cancel: &'a Cancel,
        lease: Lease,
    ) -> Result<Self, StudyErrorKind> {
        let row = store.study(id)?;
        let spec: TuneSpec = row.spec()?;
        let missing =
            || StudyErrorKind::NothingToTune(": the study was never begun; start a new one".to_owned());
        let context: Context = row.context()?.ok_or_else(missing)?;
        let optimiser = Optimizer::restore(row.optimiser()?.ok_or_else(missing)?);
        let mut spent = 0.0;
        for trial in store.trials(id)? {
            spent += trial.measurement::<Measurement>()?.map_or(0.0, |m| m.seconds);
        }
        store.set_study_state(id, StudyState::Running)?;
        let space = SearchSpace::of(
            &spec,
            &context.identity,
            &context.machine,
            &context.home,
            target.restores_data(),
        );
        Ok(Self {
            store,
            id,
            spec,
            context,
            space,
            optimiser,
            target,
            events,
            cancel,
            began: Instant::now(),
            spent,
            _lease: lease,
        })
    }

    async fn run(&mut self) -> Result<Verdict, StudyErrorKind> {
        loop {
            if self.cancel.is_requested() {
                return Err(StudyErrorKind::Interrupted(self.id));
            }
            let entries = self.entries()?;
            let outlook = Outlook { searching: self.searching(), reducible: true, candidate: true };
            let mut next = agenda::next(&self.spec, &entries, outlook);
            if next == Next::Reduce {
                let level = self.drift()?.map_or(0.0, |d| d.level());
                let better = |value: f64| self.spec.objective.improvement(level, value);
                if let Some(small) = reduce::smaller(&self.optimiser, &self.space, better) {
                    self.plan_and_run("search: without needless changes", Purpose::Reduced, small).await?;
                    continue;
                }
                next = agenda::next(&self.spec, &entries, Outlook { reducible: false, ..outlook });
            }
            match next {
                Next::Recover(trial) => self.recover(trial).await?,
                Next::Baseline => {
                    self.plan_and_run("baseline", Purpose::Baseline, Configuration::default()).await?;
                }
                Next::Suggested { index } => {
                    let idea = &self.spec.suggested[index];
                    let (origin, configuration) =
                        (format!("suggested: {}", idea.name), idea.configuration.clone());
                    self.plan_and_run(&origin, Purpose::Suggested { index }, configuration).await?;
                }
                Next::Search => self.search().await?,
                Next::Reduce => unreachable!("the outlook says that nothing can be reduced"),
                Next::Proof { pair, arm } => {
                    let Some(candidate) = self.candidate(&entries)? else {
                        return self.conclude(Verdict::nothing_better(
                            "no configuration that was tried is expected to beat the server's own",
                        ));
                    };
                    let (origin, configuration) = match arm {
                        Arm::Baseline => (format!("proof {pair}: baseline"), Configuration::default()),
                        Arm::Candidate => (format!("proof {pair}: best"), candidate),
                    };
                    self.plan_and_run(&origin, Purpose::Proof { pair, arm }, configuration).await?;
                }
                Next::Conclude => {
                    let pairs = self.pairs()?;
                    let best = self.context.candidate.clone().unwrap_or_default();
                    return self.conclude(Verdict::of_pairs(self.spec.objective, pairs, best));
                }
                Next::NoBaseline => return Err(StudyErrorKind::NoBaseline(self.last_failure()?)),
            }
        }
    }

    /// Whether time is left for the search.
    fn searching(&self) -> bool {
        let used = self.spent + self.began.elapsed().as_secs_f64();
        self.spec.time_budget_seconds.is_none_or(|budget| used < budget as f64)
    }

    fn entries(&self) -> Result<Vec<Entry>, StudyErrorKind> {
        let rows = self.store.trials(self.id)?;
        rows.iter()
            .map(|row| Ok(Entry { trial: row.id, plan: row.plan()?, state: row.state }))
            .collect::<Result<_, store::StoreError>>()
            .map_err(StudyErrorKind::from)
    }

    /// Every kept measurement with its plan, in order.
    fn kept(&self) -> Result<Vec<(Plan, Measurement)>, StudyErrorKind> {
        let mut kept = Vec::new();
        for row in self.store.trials(self.id)? {
            if row.state == TrialState::Kept
                && let Some(measurement) = row.measurement()?
            {
                kept.push((row.plan()?, measurement));
            }
        }
        Ok(kept)
    }

    fn last_failure(&self) -> Result<String, StudyErrorKind> {
        let rows = self.store.trials(self.id)?;
        Ok(rows
            .iter()
            .rev()
            .find_map(|r| r.failure.clone())
            .unwrap_or_else(|| "no reason is known".to_owned()))
    }

    fn drift(&self) -> Result<Option<Drift>, StudyErrorKind> {
        let readings: Vec<Reading> = self
            .kept()?
            .iter()
            .filter(|(plan, _)| plan.purpose == Purpose::Baseline)
            .map(|(_, m)| Reading { at: m.at, value: m.value(self.spec.objective) })
            .collect();
        Ok(Drift::fit(&readings))
    }

    async fn search(&mut self) -> Result<(), StudyErrorKind> {
        if self.optimiser.trials().is_empty() {
            self.tell_baseline()?;
        }
        let suggestion = self.optimiser.ask();
        let origin = space::origin(&suggestion.origin);
        let configuration = self.space.configuration(&suggestion.values);
        self.plan_and_run(&origin, Purpose::Search { suggestion: suggestion.id }, configuration).await
    }

    /// The optimiser's first suggestion is always the default: that is the baseline, measured several times already.
    fn tell_baseline(&mut self) -> Result<(), StudyErrorKind> {
        let readings: Vec<f64> = self
            .kept()?
            .iter()
            .filter(|(plan, _)| plan.purpose == Purpose::Baseline)
            .map(|(_, m)| m.value(self.spec.objective))
            .collect();
        let n = readings.len() as f64;
        let mean = readings.iter().sum::<f64>() / n;
        let variance = readings.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / (n - 1.0) / n;
        let default = self.optimiser.ask();
        let outcome = Outcome::Value { value: mean, variance: Some(variance), n: readings.len() as u32 };
        self.optimiser.tell(default.id, outcome, None)?;
        for (plan, measurement) in self.kept()? {
            if matches!(plan.purpose, Purpose::Suggested { .. })
                && let Some(values) = self.space.values(&self.optimiser, &plan.configuration)
            {
                let outcome = Outcome::value(measurement.value(self.spec.objective));
                self.optimiser.observe(&values, outcome, Some(measurement.seconds))?;
            }
        }
        self.store.set_optimiser(self.id, &self.optimiser.save())?;
        Ok(())
    }

    async fn plan_and_run(
        &mut self,
        origin: &str,
        purpose: Purpose,
        configuration: Configuration,
    ) -> Result<(), StudyErrorKind> {
        let plan = Plan { purpose, configuration };
        let trial = self.store.plan_trial(
            self.id,
            &NewTrial { origin, plan: &plan },
            Some(&self.optimiser.save()),
        )?;
        fault::hold(trial, TrialState::Planned);
        self.run_trial(trial, origin, &plan).await
    }

    /// Finishes a trial that an earlier process, or an interruption, left open.
    async fn recover(&mut self, trial: TrialId) -> Result<(), StudyErrorKind> {
        let rows = self.store.trials(self.id)?;
        let Some(row) = rows.into_iter().find(|r| r.id == trial) else { return Ok(()) };
        let plan: Plan = row.plan()?;
        match row.state {
            TrialState::Planned => {}
            TrialState::Judging => {
                // It was measured in full: nothing is lost, only the judging is missing.
                if let Some(measurement) = row.measurement()? {
                    return self.judge(trial, &row.origin, &plan, &measurement);
                }
            }
            _ if row.attempt >= ATTEMPTS => {
                let why = format!(
                    "given up: tunesmith or the machine died {} times during this trial",
                    row.attempt
                );
                return self.end(trial, &row.origin, &plan, Ending::Failed(why));
            }
            state => {
                let attempt = self.store.retry_trial(self.id, trial)?;
                let note =
                    format!("trial {trial} was stopped while {state}; it is made again (attempt {attempt})");
                self.events.event(&Event::Note(&note));
            }
        }
        self.run_trial(trial, &row.origin, &plan).await
    }

    async fn run_trial(&mut self, trial: TrialId, origin: &str, plan: &Plan) -> Result<(), StudyErrorKind> {
        let (done, of) = self.progress()?;
        self.events.event(&Event::Began { trial, origin, done, of });
        match self.measure(trial, plan).await {
            Ok(measurement) => {
                self.store.measured(self.id, trial, &measurement)?;
                self.events.event(&Event::Entered { trial, state: TrialState::Judging });
                fault::hold(trial, TrialState::Judging);
                self.judge(trial, origin, plan, &measurement)
            }
            Err(NoMeasurement::Failed(why)) => self.end(trial, origin, plan, Ending::Failed(why)),
            Err(NoMeasurement::Reverted(why)) => self.end(trial, origin, plan, Ending::Reverted(why)),
            Err(NoMeasurement::Fatal(kind)) => {
                // Not the trial's fault: it is made again by the next run.
                self.store.retry_trial(self.id, trial)?;
                Err(kind)
            }
        }
    }

    fn enter(&mut self, trial: TrialId, state: TrialState) -> Result<(), store::StoreError> {
        self.store.advance(self.id, trial, state)?;
        self.events.event(&Event::Entered { trial, state });
        fault::hold(trial, state);
        Ok(())
    }

    /// Applies, verifies, warms and measures: each state is stored before its step is taken.
    async fn measure(&mut self, trial: TrialId, plan: &Plan) -> Result<Measurement, NoMeasurement> {
        let began = Instant::now();
        let interrupted = NoMeasurement::Fatal(StudyErrorKind::Interrupted(self.id));
        self.enter(trial, TrialState::Applying)?;
        let restart = self.target.set(&plan.configuration).await.map_err(|e| blame(e, None))?;
        if restart {
            if self.cancel.is_requested() {
                return Err(interrupted);
            }
            self.enter(trial, TrialState::Restarting)?;
            self.target.restart().await.map_err(|e| blame(e, None))?;
        }
        self.enter(trial, TrialState::Verifying)?;
        let verified = self.target.verify(&plan.configuration).await;
        let coercions = verified.map_err(|e| blame(e, self.target.error_log()))?;
        if self.cancel.is_requested() {
            return Err(interrupted);
        }
        self.enter(trial, TrialState::Warming)?;
        let connection = self.target.connection();
        let (store, events, id) = (&mut *self.store, &mut *self.events, self.id);
        let mut opened = |events: &mut dyn Events| {
            store.advance(id, trial, TrialState::Measuring)?;
            events.event(&Event::Entered { trial, state: TrialState::Measuring });
            fault::hold(trial, TrialState::Measuring);
            Ok(())
        };
        let window = measure::window(&connection, &self.spec, events, self.cancel, &mut opened).await;
        let window = window.map_err(|e| match e {
            Interrupted::Cancelled => NoMeasurement::Fatal(StudyErrorKind::Interrupted(id)),
            Interrupted::Store(e) => NoMeasurement::Fatal(e.into()),
            Interrupted::Ours(e) => NoMeasurement::Fatal(e.into()),
            Interrupted::Broken(why) => NoMeasurement::Failed(with_log(&why, self.target.error_log())),
            Interrupted::Doubtful(why) => NoMeasurement::Reverted(why),
        })?;
        let mut measurement = window.into_measurement(coercions, restart);
        measurement.seconds = began.elapsed().as_secs_f64();
        Ok(measurement)
    }

    fn judge(
        &mut self,
        trial: TrialId,
        origin: &str,
        plan: &Plan,
        measurement: &Measurement,
    ) -> Result<(), StudyErrorKind> {
        let before: BTreeMap<String, String> =
            self.context.home.iter().map(|(name, v)| (name.clone(), v.value.clone())).collect();
        let ending = match judge(measurement, &guarded(&before)) {
            Ok(()) => Ending::Kept(measurement.value(self.spec.objective)),
            Err(invalid) => Ending::Reverted(invalid.to_string()),
        };
        if let Ending::Kept(value) = &ending {
            let correction = self.drift()?.map_or(1.0, |d| d.correction(measurement.at));
            let outcome = Outcome::value(value * correction);
            match &plan.purpose {
                Purpose::Search { suggestion } => {
                    self.optimiser.tell(*suggestion, outcome, Some(measurement.seconds))?;
                }
                Purpose::Reduced => {
                    if let Some(values) = self.space.values(&self.optimiser, &plan.configuration) {
                        self.optimiser.observe(&values, outcome, Some(measurement.seconds))?;
                    }
                }
                _ => {}
            }
        }
        self.end(trial, origin, plan, ending)
    }

    fn end(
        &mut self,
        trial: TrialId,
        origin: &str,
        plan: &Plan,
        ending: Ending,
    ) -> Result<(), StudyErrorKind> {
        let (state, failure) = match &ending {
            Ending::Kept(_) => (TrialState::Kept, None),
            Ending::Reverted(why) => (TrialState::Reverted, Some(why.as_str())),
            Ending::Failed(why) => (TrialState::Failed, Some(why.as_str())),
        };
        if let (Some(_), Purpose::Search { suggestion }) = (failure, &plan.purpose) {
            self.optimiser.tell(*suggestion, Outcome::Failed, None)?;
        }
        self.store.end_trial(self.id, trial, state, failure, Some(&self.optimiser.save()))?;
        let incumbent = self.incumbent()?;
        let (done, of) = self.progress()?;
        self.events.event(&Event::Ended { trial, origin, ending: &ending, done, of, incumbent });
        Ok(())
    }

    /// Trials over, and how many there will be.
    fn progress(&self) -> Result<(u32, u32), StudyErrorKind> {
        let over = self.store.trials(self.id)?.iter().filter(|t| t.state.is_end()).count() as u32;
        Ok((over, agenda::expected_trials(&self.spec).max(over + 1)))
    }

    /// The incumbent's expected improvement over the baseline.
    fn incumbent(&self) -> Result<Option<f64>, StudyErrorKind> {
        let (Some(best), Some(drift)) = (self.optimiser.incumbent(), self.drift()?) else { return Ok(None) };
        Ok(Some(self.spec.objective.improvement(drift.level(), best.mean)))
    }

    /// What goes into the proof: decided once, when the search is over, and stored with what the search has learnt.
    fn candidate(&mut self, entries: &[Entry]) -> Result<Option<Configuration>, StudyErrorKind> {
        let proving = entries.iter().any(|e| matches!(e.plan.purpose, Purpose::Proof { .. }));
        if !proving {
            let level = self.drift()?.map_or(0.0, |d| d.level());
            let better = |value: f64| self.spec.objective.improvement(level, value);
            let mut candidate = self
                .optimiser
                .incumbent()
                .map(|best| (better(best.mean), self.space.configuration(&best.values)));
            for (plan, _) in self.kept()?.into_iter().filter(|(plan, _)| plan.purpose == Purpose::Reduced) {
                if let Some((full, _)) = candidate
                    && let Some(gain) =
                        reduce::gain(&self.optimiser, &self.space, &plan.configuration, better)
                    && reduce::keeps(full, gain)
                {
                    candidate = Some((gain, plan.configuration));
                }
            }
            for (plan, measurement) in self.kept()? {
                let gain = better(measurement.value(self.spec.objective));
                let unknown = matches!(plan.purpose, Purpose::Suggested { .. })
                    && self.space.values(&self.optimiser, &plan.configuration).is_none();
                if unknown && candidate.as_ref().is_none_or(|(best, _)| gain > *best) {
                    candidate = Some((gain, plan.configuration));
                }
            }
            self.context.candidate = candidate
                .filter(|(gain, configuration)| *gain > 1.0 && !configuration.is_empty())
                .map(|(_, configuration)| configuration);
            self.context.importance = space::importance(&self.optimiser);
            self.store.set_context(self.id, &self.context)?;
        }
        Ok(self.context.candidate.clone())
    }

    /// The complete pairs of the proof, (baseline, candidate).
    fn pairs(&self) -> Result<Vec<(f64, f64)>, StudyErrorKind> {
        let kept = self.kept()?;
        let value = |pair: u32, arm: Arm| {
            let purpose = Purpose::Proof { pair, arm };
            kept.iter().find(|(plan, _)| plan.purpose == purpose).map(|(_, m)| m.value(self.spec.objective))
        };
        Ok((1..=self.spec.pairs)
            .filter_map(|pair| Some((value(pair, Arm::Baseline)?, value(pair, Arm::Candidate)?)))
            .collect())
    }

    fn conclude(&mut self, verdict: Verdict) -> Result<Verdict, StudyErrorKind> {
        self.store.conclude(self.id, StudyState::Finished, &verdict)?;
        if verdict.answer == Answer::NoImprovement {
            let why = verdict.because.as_deref().unwrap_or("the gain is not established");
            self.events.event(&Event::Note(&format!(
                "no improvement at {:.0} % confidence: {why}",
                100.0 * CONFIDENCE
            )));
        }
        Ok(verdict)
    }
}

/// How a step's error ends the trial: the configuration's fault, or everybody's.
fn blame(error: target::TargetError, log: Option<String>) -> NoMeasurement {
    if !error.blames_configuration() {
        return NoMeasurement::Fatal(error.into());
    }
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(e) = cause {
        text += &format!(": {e}");
        cause = e.source();
    }
    NoMeasurement::Failed(with_log(&text, error.error_log().map(str::to_owned).or(log)))
}

/// Adds the server's own words.
fn with_log(why: &str, log: Option<String>) -> String {
    match log.filter(|l| !l.trim().is_empty()) {
        Some(log) => format!("{why}\n{}", log.trim_end()),
        None => why.to_owned(),
    }
}

/// The specification's own errors, for callers that check before anything is set up.
impl From<SpecError> for StudyError {
    fn from(error: SpecError) -> Self {
        Self::new("the study can't be asked", error)
    }
}
