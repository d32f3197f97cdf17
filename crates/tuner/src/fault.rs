//! A place where tests stop a study for good: the process is then killed in exactly that state.
//!
//! Debug builds only: `TUNESMITH_HOLD=measuring:4` stops the process for good when trial 4 enters `measuring`. States that last a
//! few milliseconds can't be hit from outside otherwise.

use store::{TrialId, TrialState};

/// The environment variable.
#[cfg(debug_assertions)]
const VARIABLE: &str = "TUNESMITH_HOLD";

/// Stops here for good, if this is where the test wants it.
#[cfg(debug_assertions)]
pub(crate) fn hold(trial: TrialId, state: TrialState) {
    if std::env::var(VARIABLE).is_ok_and(|wanted| wanted == format!("{state}:{trial}")) {
        eprintln!("held at {state}:{trial}");
        loop {
            std::thread::park();
        }
    }
}

/// Nothing, in a release build.
#[cfg(not(debug_assertions))]
pub(crate) fn hold(_trial: TrialId, _state: TrialState) {}
