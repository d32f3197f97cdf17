//! Judging a measured trial.

use crate::measurement::{GUARDED, Measurement};
use crate::validity::Invalid;
use std::collections::BTreeMap;

/// Whether the measurement is an observation. `before` holds the guarded variables as found at the start.
pub fn judge(measurement: &Measurement, before: &BTreeMap<String, String>) -> Result<(), Invalid> {
    measurement.counts.check()?;
    for name in GUARDED {
        let (was, is) = (before.get(name), measurement.guarded.get(name));
        if was != is {
            let text = |value: Option<&String>| value.cloned().unwrap_or_else(|| "absent".to_owned());
            return Err(Invalid::Durability { name: name.to_owned(), before: text(was), now: text(is) });
        }
    }
    Ok(())
}

/// The guarded ones of all variables.
pub fn guarded(variables: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    GUARDED.iter().filter_map(|name| Some(((*name).to_owned(), variables.get(*name)?.clone()))).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::measurement::{Deferred, Latency};
    use crate::validity::Counts;

    pub(crate) fn measurement(guarded: &[(&str, &str)]) -> Measurement {
        Measurement {
            at: 0.0,
            seconds: 20.0,
            counts: Counts { server_commits: 1000, client_commits: 1001, failed: 0, seconds: 10.0 },
            latency_us: Latency { mean: 100.0, p50: 90, p95: 200, p99: 300, max: 1000 },
            curve: Vec::new(),
            series: vec![100; 15],
            warmup: 5,
            retried: 0,
            rolled_back: 4,
            coercions: Vec::new(),
            restarted: true,
            guarded: guarded.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
            deferred: Deferred::default(),
            client_cpu_share: 0.2,
        }
    }

    fn found() -> BTreeMap<String, String> {
        [("innodb_flush_log_at_trx_commit", "1"), ("sync_binlog", "1")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into()
    }

    #[test]
    fn a_trial_with_the_same_durability_is_kept() {
        let m = measurement(&[("innodb_flush_log_at_trx_commit", "1"), ("sync_binlog", "1")]);
        assert_eq!(judge(&m, &found()), Ok(()));
    }

    #[test]
    fn a_trial_that_relaxes_durability_is_no_observation_however_fast() {
        for cheat in [("innodb_flush_log_at_trx_commit", "2"), ("innodb_flush_log_at_trx_commit", "0")] {
            let m = measurement(&[cheat, ("sync_binlog", "1")]);
            assert!(matches!(judge(&m, &found()), Err(Invalid::Durability { .. })), "{cheat:?}");
        }
        let gone = measurement(&[("innodb_flush_log_at_trx_commit", "1")]);
        assert!(matches!(judge(&gone, &found()), Err(Invalid::Durability { now, .. }) if now == "absent"));
    }

    #[test]
    fn only_guarded_variables_are_compared() {
        let variables = [("sync_binlog", "0"), ("innodb_io_capacity", "200")];
        let variables = variables.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        assert_eq!(guarded(&variables).len(), 1);
    }
}
