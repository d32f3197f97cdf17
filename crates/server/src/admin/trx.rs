//! Committed transactions, counted by InnoDB itself.

use super::{Admin, AdminError};

/// The counters that a sample needs. `INNODB_METRICS` has them in MySQL and MariaDB alike, off by default.
const COUNTERS: [&str; 4] = ["trx_rw_commits", "trx_ro_commits", "trx_nl_ro_commits", "trx_rollbacks"];

const SAMPLE: &str = "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE NAME IN \
     ('trx_rw_commits', 'trx_ro_commits', 'trx_nl_ro_commits', 'trx_rollbacks')";

const BACKGROUND: &str = "SELECT 'background', CAST(COALESCE(SUM(COUNT_STAR), 0) AS SIGNED) FROM \
     performance_schema.events_transactions_summary_by_account_by_event_name WHERE USER IS NULL";

/// Counts since some point in the past: only differences between two samples mean anything.
///
/// Observed on MySQL 9.7 and MariaDB 10.11 alike: InnoDB ends a rolled-back transaction by the same path as a
/// committed one, so each roll-back (also of a deadlock's victim, and of a statement that failed under auto-commit)
/// counts in [`rollbacks`](Self::rollbacks) *and* as a commit of its kind. [`commits`](Self::commits) takes them out.
///
/// The server's own transactions count too. On MySQL 9.7, where GTIDs and the binary log are on by default, the thread that
/// persists GTIDs commits ten times a second under load; the performance schema counts transactions of threads without
/// an account exactly, and [`background`](Self::background) takes them out. What remains is a handful a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TrxCounts {
    /// Ends of transactions that wrote or took locks.
    pub rw: u64,
    /// Ends of read-only transactions of more than one statement.
    pub ro: u64,
    /// Ends of auto-commit reads that take no locks.
    pub nl_ro: u64,
    /// Roll-backs of whole transactions.
    pub rollbacks: u64,
    /// Transactions of the server's own threads, where the performance schema counts them.
    pub background: u64,
}

impl TrxCounts {
    /// Transactions that were committed.
    pub fn commits(&self) -> u64 {
        (self.rw + self.ro + self.nl_ro).saturating_sub(self.rollbacks + self.background)
    }

    /// What happened since `earlier`. Zero where a counter ran backwards, as it does after a restart.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            rw: self.rw.saturating_sub(earlier.rw),
            ro: self.ro.saturating_sub(earlier.ro),
            nl_ro: self.nl_ro.saturating_sub(earlier.nl_ro),
            rollbacks: self.rollbacks.saturating_sub(earlier.rollbacks),
            background: self.background.saturating_sub(earlier.background),
        }
    }
}

/// InnoDB's transaction counters, switched on for as long as they are needed.
///
/// The server belongs to somebody: [`restore`](Self::restore) switches off exactly those counters that
/// [`enable`](Self::enable) found off. There is no restoring drop, since that needs the connection; a server that
/// is restarted forgets the switch by itself.
#[derive(Debug)]
#[must_use = "the counters stay on until they are restored"]
pub struct TrxMonitor {
    were_off: Vec<String>,
    /// The query of a sample: with the server's own transactions, where they can be had.
    query: String,
}

impl TrxMonitor {
    /// Switches the module `module_trx` on, unless all that is needed is on already. Needs PROCESS, and for
    /// switching SYSTEM_VARIABLES_ADMIN (MySQL) or SUPER (MariaDB).
    pub async fn enable(admin: &mut Admin) -> Result<Self, AdminError> {
        let metrics = admin.innodb_metrics().await?;
        if let Some(missing) = COUNTERS.iter().find(|name| !metrics.contains_key(**name)) {
            return Err(AdminError::unexpected(
                "count transactions".into(),
                format!("the server has no InnoDB counter {missing}"),
            ));
        }
        // Missing before MySQL 5.7 and MariaDB 10.5, and not everybody may read it; an empty table sums to nothing.
        let with_background = format!("{SAMPLE} UNION ALL {BACKGROUND}");
        let readable = admin.rows::<(String, i64)>(&with_background).await.is_ok();
        let query = if readable { with_background } else { SAMPLE.to_owned() };
        if COUNTERS.iter().all(|name| metrics[*name].enabled) {
            return Ok(Self { were_off: Vec::new(), query });
        }
        let off = metrics.iter().filter(|(_, m)| m.subsystem == "transaction" && !m.enabled);
        let were_off = off.map(|(name, _)| name.clone()).collect();
        admin.execute("SET GLOBAL innodb_monitor_enable = 'module_trx'").await?;
        Ok(Self { were_off, query })
    }

    /// The counts at this moment: one query.
    pub async fn sample(&self, admin: &mut Admin) -> Result<TrxCounts, AdminError> {
        let rows = admin.rows::<(String, i64)>(&self.query).await?;
        let mut counts = TrxCounts::default();
        for (name, count) in rows {
            let count = u64::try_from(count).unwrap_or(0);
            match name.as_str() {
                "trx_rw_commits" => counts.rw = count,
                "trx_ro_commits" => counts.ro = count,
                "trx_nl_ro_commits" => counts.nl_ro = count,
                "background" => counts.background = count,
                _ => counts.rollbacks = count,
            }
        }
        Ok(counts)
    }

    /// Puts every counter back as it was found.
    pub async fn restore(self, admin: &mut Admin) -> Result<(), AdminError> {
        for name in &self.were_off {
            admin.execute(&format!("SET GLOBAL innodb_monitor_disable = '{name}'")).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_in_between_is_no_negative_count() {
        let before = TrxCounts { rw: 10, ro: 1, nl_ro: 5, rollbacks: 2, background: 0 };
        let after = TrxCounts { rw: 3, ro: 2, nl_ro: 5, rollbacks: 0, background: 0 };
        assert_eq!(after.since(&before), TrxCounts { ro: 1, ..TrxCounts::default() });
        assert_eq!(after.since(&before).commits(), 1);
    }

    #[test]
    fn a_roll_back_is_no_commit() {
        assert_eq!(TrxCounts { rw: 10, ro: 3, nl_ro: 5, rollbacks: 2, background: 0 }.commits(), 16);
    }

    #[test]
    fn the_servers_own_transactions_are_no_work() {
        assert_eq!(TrxCounts { rw: 10, background: 4, ..TrxCounts::default() }.commits(), 6);
    }
}
