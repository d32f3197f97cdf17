//! What a study does next: a pure function of what was asked and of the trials that there are.
//!
//! Nothing about "where we are" is kept anywhere else, so resuming after a crash and going on after a trial are the
//! same thing.

use crate::plan::{Arm, Plan, Purpose, proof_order};
use crate::spec::TuneSpec;
use store::{TrialId, TrialState};

/// A trial as far as the agenda cares.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its number.
    pub trial: TrialId,
    /// What it was for.
    pub plan: Plan,
    /// Where it stands.
    pub state: TrialState,
}

/// What is next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// A trial was begun and not ended: finish it or make it again.
    Recover(TrialId),
    /// Measure the baseline.
    Baseline,
    /// Try what the user suggested.
    Suggested {
        /// Its place in the study's list, from 0.
        index: usize,
    },
    /// Ask the optimiser.
    Search,
    /// Measure the best configuration with fewer changes.
    Reduce,
    /// Measure one half of a pair of the proof.
    Proof {
        /// The pair, from 1.
        pair: u32,
        /// Which half.
        arm: Arm,
    },
    /// Every pair that can be had is there.
    Conclude,
    /// The baseline can't be measured.
    NoBaseline,
}

/// A half of a pair is given up after this many trials that were no observation.
const TRIES: usize = 2;

/// What the study knows beyond its trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlook {
    /// False once the search is over for a reason of its own (time is up, nothing left to gain).
    pub searching: bool,
    /// Whether the best configuration may have changes that it does not need.
    pub reducible: bool,
    /// Whether there is anything to prove.
    pub candidate: bool,
}

/// What is next.
pub fn next(spec: &TuneSpec, entries: &[Entry], outlook: Outlook) -> Next {
    if let Some(open) = entries.iter().find(|e| !e.state.is_end()) {
        return Next::Recover(open.trial);
    }
    let is_baseline = |e: &Entry| e.plan.purpose == Purpose::Baseline;
    let kept = entries.iter().filter(|e| is_baseline(e) && e.state == TrialState::Kept).count();
    let lost = entries.iter().filter(|e| is_baseline(e) && e.state != TrialState::Kept).count();
    if kept < spec.baseline_runs as usize {
        // Each lost reading of the baseline is evidence that the study can't be made; as many as wanted ones are enough.
        return if lost >= spec.baseline_runs as usize { Next::NoBaseline } else { Next::Baseline };
    }
    let tried = |index| entries.iter().any(|e| e.plan.purpose == Purpose::Suggested { index });
    if let Some(index) = (0..spec.suggested.len()).find(|&index| !tried(index)) {
        return Next::Suggested { index };
    }
    let proving = entries.iter().any(|e| matches!(e.plan.purpose, Purpose::Proof { .. }));
    let searched = entries.iter().filter(|e| matches!(e.plan.purpose, Purpose::Search { .. })).count();
    if !proving && outlook.searching && searched < spec.trials as usize {
        let since = entries.iter().rev().take_while(|e| !is_baseline(e)).count();
        return if since >= spec.rebaseline_every as usize { Next::Baseline } else { Next::Search };
    }
    if !outlook.candidate {
        return Next::Conclude;
    }
    let reduced = entries.iter().any(|e| e.plan.purpose == Purpose::Reduced);
    if !proving && !reduced && outlook.reducible {
        return Next::Reduce;
    }
    for (pair, arm) in proof_order(spec.pairs) {
        let purpose = Purpose::Proof { pair, arm };
        let mut tries = entries.iter().filter(|e| e.plan.purpose == purpose);
        let done = tries.clone().any(|e| e.state == TrialState::Kept);
        if !done && tries.by_ref().count() < TRIES {
            return Next::Proof { pair, arm };
        }
    }
    Next::Conclude
}

/// How many trials a study with this specification has when all goes well.
pub fn expected_trials(spec: &TuneSpec) -> u32 {
    spec.baseline_runs
        + spec.suggested.len() as u32
        + spec.trials
        + (spec.trials.saturating_sub(1)) / spec.rebaseline_every
        + 1 // the reduction
        + 2 * spec.pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Suggested;
    use crate::spec::tests::spec;
    use knobs::Configuration;

    const PLAIN: Outlook = Outlook { searching: true, reducible: false, candidate: true };
    const HOPELESS: Outlook = Outlook { candidate: false, ..PLAIN };

    /// Plays a study in which every trial ends as `ending` says, and returns what was done, one letter each.
    fn play(spec: &TuneSpec, outlook: Outlook, mut ending: impl FnMut(&Next, usize) -> TrialState) -> String {
        let mut entries: Vec<Entry> = Vec::new();
        let mut log = String::new();
        loop {
            let what = next(spec, &entries, outlook);
            let purpose = match what {
                Next::Baseline => Purpose::Baseline,
                Next::Suggested { index } => Purpose::Suggested { index },
                Next::Search => Purpose::Search { suggestion: entries.len() as u64 },
                Next::Reduce => Purpose::Reduced,
                Next::Proof { pair, arm } => Purpose::Proof { pair, arm },
                Next::Conclude => return log + ".",
                Next::NoBaseline => return log + "!",
                Next::Recover(_) => unreachable!("every trial is ended here"),
            };
            log.push(match (&what, &purpose) {
                (_, Purpose::Proof { arm: Arm::Baseline, .. }) => 'A',
                (_, Purpose::Proof { .. }) => 'B',
                (Next::Baseline, _) => 'b',
                (Next::Suggested { .. }, _) => 'u',
                (Next::Reduce, _) => 'r',
                _ => 's',
            });
            let state = ending(&what, entries.len());
            let trial = TrialId(entries.len() as u32 + 1);
            entries.push(Entry {
                trial,
                plan: Plan { purpose, configuration: Configuration::default() },
                state,
            });
        }
    }

    #[test]
    fn a_study_is_baselines_then_search_with_baselines_between_then_abba_pairs() {
        let spec = TuneSpec { trials: 5, rebaseline_every: 2, ..spec() };
        let log = play(&spec, PLAIN, |_, _| TrialState::Kept);
        assert_eq!(log, "bbbssbssbsABBAABBAAB.");
        assert_eq!(log.len() as u32, expected_trials(&spec), "one more where the best can be reduced");
    }

    #[test]
    fn the_best_configuration_is_reduced_once_between_the_search_and_the_proof() {
        let spec = TuneSpec { trials: 2, rebaseline_every: 9, pairs: 1, ..spec() };
        let log = play(&spec, Outlook { reducible: true, ..PLAIN }, |next, _| match next {
            Next::Reduce => TrialState::Failed,
            _ => TrialState::Kept,
        });
        assert_eq!(log, "bbbssrAB.");
        assert_eq!(log.len() as u32 - 1, expected_trials(&spec));
    }

    #[test]
    fn what_the_user_suggests_comes_before_the_search() {
        let idea = Suggested { name: "mine".into(), configuration: Configuration::default() };
        let spec = TuneSpec { trials: 2, suggested: vec![idea.clone(), idea], rebaseline_every: 9, ..spec() };
        assert_eq!(play(&spec, HOPELESS, |_, _| TrialState::Kept), "bbbuuss.");
    }

    #[test]
    fn without_a_candidate_there_is_no_proof() {
        assert_eq!(play(&TuneSpec { trials: 2, ..spec() }, HOPELESS, |_, _| TrialState::Kept), "bbbss.");
    }

    #[test]
    fn a_baseline_that_never_works_ends_the_study() {
        assert_eq!(play(&spec(), PLAIN, |_, _| TrialState::Failed), "bbb!");
    }

    #[test]
    fn a_failed_trial_of_the_search_counts_and_the_study_goes_on() {
        let log = play(&TuneSpec { trials: 3, ..spec() }, HOPELESS, |next, _| match next {
            Next::Search => TrialState::Failed,
            _ => TrialState::Kept,
        });
        assert_eq!(log, "bbbsss.");
    }

    #[test]
    fn a_half_pair_is_tried_twice_and_then_given_up() {
        let log = play(&TuneSpec { trials: 1, ..spec() }, PLAIN, |next, _| match next {
            Next::Proof { pair: 1, arm: Arm::Candidate } => TrialState::Reverted,
            _ => TrialState::Kept,
        });
        assert_eq!(log, "bbbsABBBAABBAAB.");
    }

    #[test]
    fn an_open_trial_comes_first() {
        let open = Entry {
            trial: TrialId(1),
            plan: Plan { purpose: Purpose::Baseline, configuration: Configuration::default() },
            state: TrialState::Measuring,
        };
        assert_eq!(next(&spec(), &[open], PLAIN), Next::Recover(TrialId(1)));
    }

    #[test]
    fn once_the_proof_has_begun_the_search_is_over_for_good() {
        let kept = |purpose| Entry {
            trial: TrialId(1),
            plan: Plan { purpose, configuration: Configuration::default() },
            state: TrialState::Kept,
        };
        let mut entries: Vec<_> = (0..3).map(|_| kept(Purpose::Baseline)).collect();
        entries.push(kept(Purpose::Proof { pair: 1, arm: Arm::Baseline }));
        assert_eq!(next(&spec(), &entries, PLAIN), Next::Proof { pair: 1, arm: Arm::Candidate });
    }
}
