//! Whether a measured window counts as an observation.
//!
//! Public traces of tuners hold "gains" of 35x that were failed transactions counted as work, so a window is believed
//! only when the server's own counters tell the same story as the client's.

use serde::{Deserialize, Serialize};

/// The largest difference between the server's and the client's count of commits, as a share of the client's.
pub const AGREEMENT: f64 = 0.01;

/// The largest share of transactions that may fail.
pub const FAILURES: f64 = 0.01;

/// Transactions of the server's own that nobody counts for us: 9 in 20 s with MySQL 9.7.4 without GTIDs and performance schema (measured).
const OWN_PER_SECOND: f64 = 0.5;

/// What was counted in one window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Transactions committed, by the server (trx_rw + trx_ro + trx_nl_ro commits).
    pub server_commits: u64,
    /// Transactions committed, by the client.
    pub client_commits: u64,
    /// Transactions that ended in an error, retries exhausted.
    pub failed: u64,
    /// Length of the window between the server's two readings, seconds.
    pub seconds: f64,
}

/// Why a window is no observation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// Nothing was done.
    #[error("no transaction was committed in the measured window")]
    NoWork,
    /// The two counts differ.
    #[error(
        "the server counts {server} commits and the client {client}: they differ by {percent:.1} %, more than 1 %"
    )]
    Disagreement {
        /// The server's count.
        server: u64,
        /// The client's count.
        client: u64,
        /// The difference in percent of the client's.
        percent: f64,
    },
    /// Too many failures.
    #[error("{failed} of {attempted} transactions failed")]
    Failures {
        /// Failed transactions.
        failed: u64,
        /// Failed and committed ones.
        attempted: u64,
    },
    /// A setting that decides about durability or results is not what it was.
    #[error(
        "{name} is {now:?} and was {before:?} with the baseline; durability and results are never traded"
    )]
    Durability {
        /// The variable.
        name: String,
        /// Its value with the baseline.
        before: String,
        /// Its value now.
        now: String,
    },
}

impl Counts {
    /// Transactions committed a second, by the server's count.
    pub fn per_second(&self) -> f64 {
        self.server_commits as f64 / self.seconds
    }

    /// Checks the window.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.client_commits == 0 || self.server_commits == 0 {
            return Err(Invalid::NoWork);
        }
        let attempted = self.failed + self.client_commits;
        if self.failed as f64 > FAILURES * attempted as f64 {
            return Err(Invalid::Failures { failed: self.failed, attempted });
        }
        let difference = self.server_commits.abs_diff(self.client_commits);
        // A transaction may be on the wire at either edge, and the server has a handful of its own a minute (dictionary, statistics); without
        // this allowance a slow window of 300 commits would have to agree to three transactions.
        let own = 2.0 + OWN_PER_SECOND * self.seconds;
        if difference as f64 > own && difference as f64 > AGREEMENT * self.client_commits as f64 {
            return Err(Invalid::Disagreement {
                server: self.server_commits,
                client: self.client_commits,
                percent: 100.0 * difference as f64 / self.client_commits as f64,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(server_commits: u64, client_commits: u64, failed: u64) -> Counts {
        Counts { server_commits, client_commits, failed, seconds: 10.0 }
    }

    #[test]
    fn counts_within_one_percent_are_an_observation() {
        assert_eq!(counts(10_000, 10_000, 0).check(), Ok(()));
        assert_eq!(counts(10_100, 10_000, 0).check(), Ok(()));
        assert_eq!(counts(9_900, 10_000, 100).check(), Ok(()));
    }

    #[test]
    fn counts_further_apart_are_not() {
        for server in [10_101, 9_899, 20_000, 1] {
            assert!(
                matches!(counts(server, 10_000, 0).check(), Err(Invalid::Disagreement { .. })),
                "{server}"
            );
        }
    }

    #[test]
    fn a_slow_window_may_hold_a_few_transactions_of_the_servers_own() {
        let slow = |server_commits| Counts { server_commits, client_commits: 300, failed: 0, seconds: 30.0 };
        assert_eq!(slow(317).check(), Ok(()));
        assert!(slow(318).check().is_err());
    }

    #[test]
    fn a_window_without_work_is_not_an_observation() {
        assert_eq!(counts(0, 0, 0).check(), Err(Invalid::NoWork));
        assert_eq!(counts(0, 100, 0).check(), Err(Invalid::NoWork));
        assert_eq!(counts(100, 0, 0).check(), Err(Invalid::NoWork));
    }

    #[test]
    fn failed_transactions_are_not_work() {
        assert!(matches!(
            counts(900, 900, 100).check(),
            Err(Invalid::Failures { failed: 100, attempted: 1000 })
        ));
    }
}
