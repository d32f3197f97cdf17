//! The benchmark's table.

use super::MARKS;
use super::studies::{Curve, median};
use super::task::Task;
use serde::Serialize;
use std::fmt;

/// One contender on one task.
#[derive(Debug, Clone, Serialize)]
pub struct Contender {
    /// Who it is.
    pub name: String,
    /// Median over the seeds of the true value of what would be deployed, at 10, 20, 30 and 50 trials.
    pub median: Vec<f64>,
    /// The same as a share of the way from the default to the optimum.
    pub quality: Vec<f64>,
    /// The worst seed's true value at the last mark.
    pub worst: f64,
    /// Rank among the contenders at each mark, 1 is best.
    pub rank: Vec<f64>,
    /// Mean of believed over true value, less 1.
    pub optimism: f64,
    /// Share of trials that crashed.
    pub crashed: f64,
    /// Seeds that ended below the default.
    pub below_default: usize,
}

/// One task.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The task.
    pub task: String,
    /// Its default's true value.
    pub default: f64,
    /// Its known optimum.
    pub optimum: f64,
    /// The contenders, ours first.
    pub contenders: Vec<Contender>,
}

/// What is measured on tasks of its own.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Extras {
    /// Share of pure-noise studies that end with the default.
    pub no_improvement: Option<f64>,
    /// Cost of minding restarts over that of ignoring them, to nine tenths of the latter's gain.
    pub restart_cost: Option<f64>,
    /// Trials with a related earlier study over those of a cold one, to the same level.
    pub related: Option<f64>,
    /// Quality at 30 trials with an unrelated earlier study over that of a cold one.
    pub unrelated: Option<f64>,
}

/// The whole table.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Version of this format.
    pub schema: u32,
    /// Trials of each study.
    pub trials: usize,
    /// The tasks.
    pub rows: Vec<Row>,
    /// The rest.
    pub extras: Extras,
}

pub(super) fn summary(task: &Task, curves: &[(&str, &Vec<Curve>)]) -> Row {
    let at =
        |c: &[Curve], mark: usize| median(c.iter().map(|c| c.deployed[mark - 1]).collect()).unwrap_or(0.0);
    let medians: Vec<Vec<f64>> =
        curves.iter().map(|(_, c)| MARKS.iter().map(|m| at(c, *m)).collect()).collect();
    let contenders = curves.iter().zip(&medians).map(|((name, curves), median)| {
        let n = curves.len().max(1) as f64;
        let last = |c: &Curve| c.deployed.last().copied().unwrap_or(0.0);
        Contender {
            name: (*name).to_owned(),
            quality: median.iter().map(|v| task.quality(*v)).collect(),
            rank: (0..MARKS.len())
                .map(|m| {
                    // Ties share the mean of their ranks.
                    let above = medians.iter().filter(|o| o[m] > median[m] + 1e-9).count() as f64;
                    let equal = medians.iter().filter(|o| (o[m] - median[m]).abs() <= 1e-9).count() as f64;
                    above + 0.5 * (equal + 1.0)
                })
                .collect(),
            median: median.clone(),
            worst: curves.iter().map(last).fold(f64::INFINITY, f64::min),
            optimism: curves.iter().map(|c| c.optimism).sum::<f64>() / n,
            crashed: curves.iter().map(|c| c.crashes as f64 / c.deployed.len() as f64).sum::<f64>() / n,
            below_default: curves.iter().filter(|c| last(c) < 0.999 * task.default()).count(),
        }
    });
    Row {
        task: task.name.clone(),
        default: task.default(),
        optimum: task.optimum,
        contenders: contenders.collect(),
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, c) in self.contenders.iter().enumerate() {
            let task = if i == 0 { self.task.as_str() } else { "" };
            write!(f, "{task:18} {:11}", c.name)?;
            for (v, q) in c.median.iter().zip(&c.quality) {
                write!(f, " {v:8.1} ({:4.0} %)", 100.0 * q)?;
            }
            write!(
                f,
                " worst {:8.1}  optimism {:5.1} %  crashed {:4.1} %  below default {}",
                c.worst,
                100.0 * c.optimism,
                100.0 * c.crashed,
                c.below_default
            )?;
            if i + 1 < self.contenders.len() {
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Median true value of what would be deployed (share of the way from default to optimum)"
        )?;
        writeln!(f, "{:30} {}", "at trials", MARKS.map(|m| format!("{m:>17}")).concat())?;
        for row in &self.rows {
            writeln!(f, "{row}")?;
        }
        let contenders = self.rows.first().map_or(0, |r| r.contenders.len());
        for c in 0..contenders {
            let mean = |m: usize| {
                self.rows.iter().map(|r| r.contenders[c].rank[m]).sum::<f64>() / self.rows.len() as f64
            };
            let ranks: Vec<String> = (0..MARKS.len()).map(|m| format!("{:17.2}", mean(m))).collect();
            writeln!(f, "{:18} {:11} {}", "average rank", self.rows[0].contenders[c].name, ranks.concat())?;
        }
        let line = |f: &mut fmt::Formatter<'_>, what: &str, x: Option<f64>, goal: &str| match x {
            Some(x) => writeln!(f, "{what}: {x:.2} (goal {goal})"),
            None => Ok(()),
        };
        line(f, "pure noise: share that keeps the default", self.extras.no_improvement, ">= 0.95")?;
        line(f, "restarts: cost when minded / ignored", self.extras.restart_cost, "<= 0.5")?;
        line(f, "transfer, related: trials warm / cold", self.extras.related, "<= 0.5")?;
        line(f, "transfer, unrelated: quality warm / cold at 30", self.extras.unrelated, ">= 0.9")
    }
}
