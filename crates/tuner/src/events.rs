//! What a study tells whoever watches it.

use store::{TrialId, TrialState};

/// How a trial ended, for people.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// A valid observation of this value, in the objective's unit.
    Kept(f64),
    /// No observation, with the reason.
    Reverted(String),
    /// Could not be run, with the reason.
    Failed(String),
}

/// Something happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<'a> {
    /// Work before the first trial: what, and how far (0 to 1) where that is known.
    Preparing {
        /// In a few words.
        what: &'a str,
        /// Share done.
        share: Option<f64>,
    },
    /// A trial begins.
    Began {
        /// Its number.
        trial: TrialId,
        /// Who asked for it.
        origin: &'a str,
        /// How many trials came before it in this study.
        done: u32,
        /// How many there will be, as far as is known.
        of: u32,
    },
    /// A trial enters a state.
    Entered {
        /// The trial.
        trial: TrialId,
        /// The state.
        state: TrialState,
    },
    /// A second of work passed.
    Second {
        /// Commits in it.
        commits: u64,
    },
    /// A trial is over.
    Ended {
        /// Its number.
        trial: TrialId,
        /// Who asked for it.
        origin: &'a str,
        /// How.
        ending: &'a Ending,
        /// Trials over.
        done: u32,
        /// Trials in all.
        of: u32,
        /// The incumbent's improvement over the baseline so far (1.5 is half as much again).
        incumbent: Option<f64>,
    },
    /// Something that the user should know.
    Note(&'a str),
}

/// Whoever watches.
pub trait Events {
    /// Takes note of an event.
    fn event(&mut self, event: &Event<'_>);
}

/// Nobody watches.
#[derive(Debug, Default)]
pub struct Silent;

impl Events for Silent {
    fn event(&mut self, _event: &Event<'_>) {}
}
