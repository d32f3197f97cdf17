//! The states of studies and trials, and which may follow which.

use crate::error::StoreErrorKind;
use std::fmt;

/// Where a study stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StudyState {
    /// A process works on it, or died doing so.
    Running,
    /// Stopped by the user; `resume` goes on.
    Interrupted,
    /// It has a verdict.
    Finished,
    /// It can't have a verdict (no baseline, say).
    Failed,
}

/// Where a trial stands. Each is in the store before the step that it names is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialState {
    /// Decided, nothing done.
    Planned,
    /// Data and settings are being laid out.
    Applying,
    /// The server is being restarted.
    Restarting,
    /// What the server reports is compared with what was asked for.
    Verifying,
    /// The workload runs; nothing counts yet.
    Warming,
    /// The measured window.
    Measuring,
    /// The measurement is in the store; it is being checked and compared.
    Judging,
    /// A valid observation.
    Kept,
    /// Ended early or invalid, and the server was brought back.
    Reverted,
    /// The configuration could not be run.
    Failed,
}

impl StudyState {
    /// The word in the database and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Finished => "finished",
            Self::Failed => "failed",
        }
    }

    pub(crate) fn parse(word: &str) -> Result<Self, StoreErrorKind> {
        [Self::Running, Self::Interrupted, Self::Finished, Self::Failed]
            .into_iter()
            .find(|s| s.as_str() == word)
            .ok_or_else(|| StoreErrorKind::UnknownState(word.to_owned()))
    }
}

impl TrialState {
    /// All states, in the order a trial passes them; the last three are ends.
    pub const ALL: [Self; 10] = [
        Self::Planned,
        Self::Applying,
        Self::Restarting,
        Self::Verifying,
        Self::Warming,
        Self::Measuring,
        Self::Judging,
        Self::Kept,
        Self::Reverted,
        Self::Failed,
    ];

    /// The word in the database and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Applying => "applying",
            Self::Restarting => "restarting",
            Self::Verifying => "verifying",
            Self::Warming => "warming",
            Self::Measuring => "measuring",
            Self::Judging => "judging",
            Self::Kept => "kept",
            Self::Reverted => "reverted",
            Self::Failed => "failed",
        }
    }

    pub(crate) fn parse(word: &str) -> Result<Self, StoreErrorKind> {
        Self::ALL
            .into_iter()
            .find(|s| s.as_str() == word)
            .ok_or_else(|| StoreErrorKind::UnknownState(word.to_owned()))
    }

    /// Whether the trial is over.
    pub fn is_end(self) -> bool {
        matches!(self, Self::Kept | Self::Reverted | Self::Failed)
    }

    /// Whether `self` may follow `from`: forward only, a restart is optional, `kept` only after judging, and the other
    /// two ends from anywhere.
    pub fn may_follow(self, from: Self) -> bool {
        if from.is_end() {
            return false;
        }
        match self {
            Self::Planned => false,
            Self::Kept => from == Self::Judging,
            Self::Reverted | Self::Failed => true,
            Self::Verifying => matches!(from, Self::Applying | Self::Restarting),
            _ => (self as u8) == (from as u8) + 1,
        }
    }
}

impl fmt::Display for StudyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for TrialState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_round_trip() {
        for state in TrialState::ALL {
            assert_eq!(TrialState::parse(state.as_str()).unwrap(), state);
        }
        assert!(TrialState::parse("resting").is_err());
    }

    #[test]
    fn a_trial_goes_forward_only_and_is_kept_only_after_judging() {
        for from in TrialState::ALL {
            for to in TrialState::ALL {
                let legal = to.may_follow(from);
                if from.is_end() || to == TrialState::Planned {
                    assert!(!legal, "{from} -> {to}");
                }
                if to == TrialState::Kept {
                    assert_eq!(legal, from == TrialState::Judging, "{from} -> {to}");
                }
            }
        }
    }

    #[test]
    fn a_restart_is_optional() {
        assert!(TrialState::Verifying.may_follow(TrialState::Applying));
        assert!(TrialState::Verifying.may_follow(TrialState::Restarting));
        assert!(!TrialState::Measuring.may_follow(TrialState::Verifying), "warming can't be skipped");
    }
}
