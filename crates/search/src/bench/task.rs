//! A benchmark task: a space, a truth that the optimiser sees only through noise, and a known optimum.

use super::surrogate::Forest;
use super::synthetic::Synthetic;
use crate::history::Outcome;
use crate::rng::Rng;
use crate::space::{Space, Values};

/// What a configuration truly does.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Truth {
    /// The objective without noise; larger is better.
    Value(f64),
    /// It does not work.
    Crash,
}

/// A task of the benchmark.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) noise: f64,
    pub(crate) optimum: f64,
    function: Function,
}

#[derive(Debug)]
enum Function {
    Measured(Forest),
    Synthetic(Synthetic),
}

impl Task {
    /// The measured task, with the noise of a careful lab.
    pub(crate) fn sysbench() -> Option<Self> {
        let forest = Forest::sysbench()?;
        // 665 is the best of a long evolutionary search (data/README.md).
        Some(Self {
            name: "sysbench-20knob".into(),
            noise: 0.05,
            optimum: 665.0,
            function: Function::Measured(forest),
        })
    }

    pub(crate) fn synthetic(synthetic: Synthetic) -> Self {
        Self {
            name: synthetic.name.clone(),
            noise: synthetic.noise,
            optimum: synthetic.optimum(),
            function: Function::Synthetic(synthetic),
        }
    }

    pub(crate) fn space(&self) -> &Space {
        match &self.function {
            Function::Measured(forest) => forest.space(),
            Function::Synthetic(s) => &s.space,
        }
    }

    pub(crate) fn truth(&self, values: &Values) -> Truth {
        match &self.function {
            Function::Measured(forest) => Truth::Value(forest.throughput(values)),
            Function::Synthetic(s) => s.truth(values),
        }
    }

    /// The constraint's true reading, at most 0 where it holds; `None` for a task without one.
    pub(crate) fn constraint(&self, values: &Values) -> Option<f64> {
        match &self.function {
            Function::Measured(_) => None,
            Function::Synthetic(s) => s.constraint(values),
        }
    }

    /// True value of what would be deployed: 0 for a configuration that crashes or breaks the constraint.
    pub(crate) fn deployed(&self, values: &Values) -> f64 {
        match self.truth(values) {
            Truth::Value(v) if self.constraint(values).is_none_or(|c| c <= 0.0) => v,
            Truth::Value(_) | Truth::Crash => 0.0,
        }
    }

    /// What a trial would report.
    pub(crate) fn measure(&self, values: &Values, rng: &mut Rng) -> Outcome {
        let noise = rng.normal();
        match self.truth(values) {
            Truth::Value(v) => Outcome::value(v * (1.0 + self.noise * noise)),
            Truth::Crash => Outcome::Failed,
        }
    }

    pub(crate) fn default(&self) -> f64 {
        self.deployed(&self.space().default_values())
    }

    /// Share of the way from the default to the optimum.
    pub(crate) fn quality(&self, value: f64) -> f64 {
        (value - self.default()) / (self.optimum - self.default()).max(1e-12)
    }
}
