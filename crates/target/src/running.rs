//! A server that somebody runs: changed by `SET GLOBAL` only, and given back as it was found.

use crate::apply::Target;
use crate::error::{TargetError, TargetErrorKind};
use crate::readback::{Coercion, Readback, compare};
use knobs::{Configuration, Identity, LiveVariable, Machine, Registry, Value};
use server::{Admin, ConnectOptions, Endpoint};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// How long a resize of the buffer pool or of the redo log may take before the trial is given up.
const RESIZE_TIMEOUT: Duration = Duration::from_secs(120);

/// Pairs in which the first may not exceed the second; a server clamps or refuses a `SET` that breaks one on the way.
const ORDERED: [(&str, &str); 2] = [
    ("innodb_io_capacity", "innodb_io_capacity_max"),
    ("innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct"),
];

/// A server that somebody else runs.
#[derive(Debug)]
pub struct RunningServer {
    admin: Admin,
    identity: Identity,
    machine: Machine,
    found: BTreeMap<String, LiveVariable>,
    /// Knobs that may differ from what was found.
    touched: BTreeSet<String>,
}

impl RunningServer {
    /// Logs in, takes the advisory lock that keeps other tuners away, and records what is found.
    ///
    /// `home` is what an interrupted study found before its first change, and the knobs that it may have changed: where
    /// given, it and not the server's present values is what [`Target::go_home`] leads to.
    pub async fn open(
        options: &ConnectOptions,
        machine: Machine,
        home: Option<(BTreeMap<String, LiveVariable>, BTreeSet<String>)>,
    ) -> Result<Self, TargetError> {
        const OPERATION: &str = "failed to take over the server's settings";
        let error = |e: server::AdminError| TargetError::new(OPERATION, e);
        let mut admin = Admin::connect(options).await.map_err(error)?;
        let lock = admin.rows::<Option<i64>>("SELECT GET_LOCK('tunesmith', 0)").await.map_err(error)?;
        if lock.first() != Some(&Some(1)) {
            return Err(TargetError::new(OPERATION, TargetErrorKind::Busy));
        }
        let identity = admin.identity().await.map_err(error)?;
        let now = admin.variables().await.map_err(error)?;
        check_privileges(&mut admin, &now).await.map_err(error)?;
        let (found, touched) = home.unwrap_or((now, BTreeSet::new()));
        Ok(Self { admin, identity, machine, found, touched })
    }

    /// Whether a server at this address shares this machine's memory and cores.
    pub fn is_local(options: &ConnectOptions) -> bool {
        match &options.endpoint {
            Endpoint::Socket(_) => true,
            Endpoint::Tcp { host, .. } => matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1"),
        }
    }

    fn home_value(&self, knob: &str) -> Result<Value, TargetErrorKind> {
        let found = self.found.get(knob).ok_or_else(|| TargetErrorKind::Unknown(knob.to_owned()))?;
        Ok(literal(&found.value))
    }

    async fn set_in_order(&mut self, wanted: &BTreeMap<String, Value>) -> Result<(), TargetErrorKind> {
        for knob in order(wanted, |knob| self.found.get(knob).map(|v| v.value.clone())) {
            let known = self.found.get(&knob).ok_or_else(|| TargetErrorKind::Unknown(knob.clone()))?;
            if known.read_only == Some(true) {
                return Err(TargetErrorKind::ReadOnly(knob));
            }
            // Marked before the change: whatever happens, the way home includes it.
            self.touched.insert(knob.clone());
            self.admin.set_global(&knob, &wanted[&knob]).await?;
        }
        self.wait_for_resizes().await
    }

    async fn wait_for_resizes(&mut self) -> Result<(), TargetErrorKind> {
        let began = Instant::now();
        loop {
            let status = self.admin.status().await?;
            if !resizing(&status) || began.elapsed() > RESIZE_TIMEOUT {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Target for RunningServer {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn machine(&self) -> Machine {
        self.machine
    }

    fn found(&self) -> &BTreeMap<String, LiveVariable> {
        &self.found
    }

    fn connection(&self) -> ConnectOptions {
        self.admin.connect_options().clone()
    }

    fn restores_data(&self) -> bool {
        false
    }

    async fn set(&mut self, configuration: &Configuration) -> Result<bool, TargetError> {
        const OPERATION: &str = "failed to set the configuration";
        let mut wanted = BTreeMap::new();
        for knob in &self.touched {
            let value = self.home_value(knob).map_err(|kind| TargetError::new(OPERATION, kind))?;
            wanted.insert(knob.clone(), value);
        }
        wanted.extend(configuration.iter().map(|(knob, value)| (knob.to_owned(), value.clone())));
        self.set_in_order(&wanted).await.map_err(|kind| TargetError::new(OPERATION, kind))?;
        Ok(false)
    }

    async fn restart(&mut self) -> Result<(), TargetError> {
        // `set` refuses what would need one, so nobody asks.
        Ok(())
    }

    async fn verify(&mut self, configuration: &Configuration) -> Result<Vec<Coercion>, TargetError> {
        let mut expected: BTreeMap<String, Value> = BTreeMap::new();
        for knob in &self.touched {
            let home = self.home_value(knob).map_err(|kind| TargetError::new("failed to read back", kind))?;
            expected.insert(knob.clone(), home);
        }
        expected.extend(configuration.iter().map(|(knob, value)| (knob.to_owned(), value.clone())));
        read_back(&mut self.admin, &expected).await
    }

    fn error_log(&self) -> Option<String> {
        None
    }

    async fn go_home(&mut self) -> Result<(), TargetError> {
        if self.touched.is_empty() {
            return Ok(());
        }
        let home = Configuration::default();
        self.set(&home).await?;
        self.verify(&home).await?;
        self.touched.clear();
        Ok(())
    }
}

/// Finds out before the first trial whether the account may read InnoDB's metrics and change global variables: a variable is set
/// to the value that it has.
async fn check_privileges(
    admin: &mut Admin,
    found: &BTreeMap<String, LiveVariable>,
) -> Result<(), server::AdminError> {
    const HARMLESS: &str = "innodb_io_capacity";
    admin.innodb_metrics().await?;
    if let Some(present) = found.get(HARMLESS) {
        admin.set_global(HARMLESS, &literal(&present.value)).await?;
    }
    Ok(())
}

/// Reads every expected value back.
pub(crate) async fn read_back(
    admin: &mut Admin,
    expected: &BTreeMap<String, Value>,
) -> Result<Vec<Coercion>, TargetError> {
    const OPERATION: &str = "failed to read back what was set";
    let mut coercions = Vec::new();
    for (knob, asked) in expected {
        // The server moves a few of its own accord; what they read says nothing about what was set.
        if Registry::builtin().get(knob).is_some_and(|k| k.drifts) {
            continue;
        }
        let reported = admin
            .global(knob)
            .await
            .map_err(|e| TargetError::new(OPERATION, e))?
            .ok_or_else(|| TargetError::new(OPERATION, TargetErrorKind::Unknown(knob.clone())))?;
        match compare(asked, &reported) {
            Readback::Applied => {}
            Readback::Coerced => {
                coercions.push(Coercion { knob: knob.clone(), asked: asked.to_string(), reported });
            }
            Readback::Different => {
                let kind =
                    TargetErrorKind::NotApplied { knob: knob.clone(), asked: asked.to_string(), reported };
                return Err(TargetError::new(OPERATION, kind));
            }
        }
    }
    Ok(coercions)
}

/// A value as it must be written in SQL: numbers bare, everything else quoted.
pub(crate) fn literal(text: &str) -> Value {
    if let Ok(int) = text.parse() {
        Value::Int(int)
    } else if let Ok(float) = text.parse() {
        Value::Float(float)
    } else {
        Value::Text(text.to_owned())
    }
}

/// Upper bounds that grow go first, upper bounds that shrink go last.
fn order(wanted: &BTreeMap<String, Value>, current: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let rank = |knob: &String| {
        let is_bound = ORDERED.iter().any(|(_, large)| large == knob);
        let number = |value: &Value| match value {
            Value::Int(i) => Some(*i as f64),
            Value::Float(f) => Some(*f),
            _ => None,
        };
        let now = current(knob).and_then(|t| t.parse::<f64>().ok());
        match (is_bound, wanted.get(knob).and_then(number), now) {
            (true, Some(new), Some(now)) if new < now => 2,
            (true, _, _) => 0,
            _ => 1,
        }
    };
    let mut names: Vec<String> = wanted.keys().cloned().collect();
    names.sort_by_key(rank);
    names
}

/// Whether the buffer pool or the redo log is being resized: MySQL has a status code since 8.0.31, older servers and
/// MariaDB a text.
fn resizing(status: &BTreeMap<String, String>) -> bool {
    let of = |name: &str| status.get(name).map(String::as_str).unwrap_or_default();
    let pool = match status.get("innodb_buffer_pool_resize_status_code") {
        Some(code) => !matches!(code.as_str(), "0" | ""),
        None => {
            let text = of("innodb_buffer_pool_resize_status");
            !(text.is_empty() || text.contains("ompleted") || text.contains("did not change"))
        }
    };
    let redo = of("innodb_redo_log_resize_status");
    pool || !matches!(redo, "" | "OK")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(pairs: &[(&str, i64)]) -> BTreeMap<String, Value> {
        pairs.iter().map(|(k, v)| (k.to_string(), Value::Int(*v))).collect()
    }

    #[test]
    fn an_upper_bound_is_raised_first_and_lowered_last() {
        let up = wanted(&[("innodb_io_capacity", 8000), ("innodb_io_capacity_max", 16000)]);
        assert_eq!(order(&up, |_| Some("2000".into())), ["innodb_io_capacity_max", "innodb_io_capacity"]);
        let down = wanted(&[("innodb_io_capacity", 100), ("innodb_io_capacity_max", 200)]);
        assert_eq!(order(&down, |_| Some("2000".into())), ["innodb_io_capacity", "innodb_io_capacity_max"]);
    }

    #[test]
    fn values_found_on_a_server_are_written_back_in_their_own_type() {
        assert_eq!(literal("134217728"), Value::Int(134_217_728));
        assert_eq!(literal("90.5"), Value::Float(90.5));
        assert_eq!(literal("ON"), Value::Text("ON".into()));
        assert_eq!(literal(""), Value::Text(String::new()));
    }

    #[test]
    fn a_resize_is_over_when_the_server_says_so_in_either_dialect() {
        let status =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        assert!(!resizing(&status(&[])));
        assert!(resizing(&status(&[("innodb_buffer_pool_resize_status_code", "3")])));
        assert!(!resizing(&status(&[("innodb_buffer_pool_resize_status_code", "0")])));
        assert!(resizing(&status(&[("innodb_buffer_pool_resize_status", "Withdrawing blocks")])));
        assert!(!resizing(&status(&[(
            "innodb_buffer_pool_resize_status",
            "Completed resizing buffer pool at 1"
        )])));
        assert!(resizing(&status(&[("innodb_redo_log_resize_status", "Resizing down")])));
    }
}
