//! Whose configuration runs.

use super::rival;
use crate::cli::Globals;
use crate::experiment::{Book, Plan, Seat};
use crate::failure::{Failure, Kind};
use crate::studying::{self, Which};
use knobs::{Configuration, Registry, Selection, relations, tunable};
use std::path::PathBuf;
use std::time::Duration;
use store::{StudyId, StudyState};
use tuner::{Answer, Objective, Suggested, TargetSpec, TuneSpec, Verdict};

/// A configuration, or where it comes from.
#[derive(Debug, Clone)]
pub struct Contender {
    /// As it was named.
    pub name: String,
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    /// Nothing is changed.
    Default,
    /// The advisor's first seed, which depends on the machine.
    Advisor,
    /// What MySQLTuner says after the same work.
    MysqlTuner,
    /// The winner of a study that is made first.
    Tuned,
    Given(Configuration),
}

/// How a study for the contender `tuned` is made.
#[derive(Debug, Clone)]
pub struct Tuning {
    /// Trials of the search.
    pub trials: u32,
    /// Its end, whatever is left of the trials.
    pub time_budget: Option<Duration>,
    /// Whose defaults the machine runs with.
    pub defaults: Option<String>,
    /// `mysql` or `mariadb`.
    pub flavour: Option<String>,
    /// Folder of the server's program.
    pub binary: Option<PathBuf>,
}

impl Contender {
    /// From its name: `default`, `advisor`, `mysqltuner`, `tuned`, `7:best`, or a file.
    pub fn read(name: &str, globals: &Globals) -> Result<Self, Failure> {
        let source = match name {
            "default" => Source::Default,
            "advisor" => Source::Advisor,
            "mysqltuner" => Source::MysqlTuner,
            "tuned" => Source::Tuned,
            _ => match name.strip_suffix(":best") {
                Some(study) => Source::Given(winner(study, globals)?),
                None => Source::Given(file(name)?),
            },
        };
        let short = std::path::Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Ok(Self { name: short.unwrap_or_else(|| name.to_owned()), source })
    }

    /// The configuration for a machine, with how it came about.
    pub async fn book(
        &self,
        seat: &mut Seat,
        plan: &Plan,
        terminals: u32,
        tuning: &Tuning,
        globals: &Globals,
    ) -> Result<Book, Failure> {
        match &self.source {
            Source::Default => Ok(Book::default()),
            Source::Given(configuration) => {
                Ok(Book { configuration: configuration.clone(), notes: Vec::new() })
            }
            Source::Advisor => {
                Ok(Book { configuration: advice(seat, plan, terminals).await?, notes: Vec::new() })
            }
            Source::MysqlTuner => rival::mysqltuner(seat, plan, terminals).await,
            Source::Tuned => tuned(seat, plan, terminals, tuning, globals).await,
        }
    }
}

/// The advisor's first recommendation for the machine.
async fn advice(seat: &mut Seat, plan: &Plan, terminals: u32) -> Result<Configuration, Failure> {
    let (identity, found) = seat.look().await?;
    let machine = seat.rig().size();
    let mut facts = plan.work.facts(terminals);
    facts.storage_iops = seat.rig().machine.iops.map(u64::from);
    let selection = Selection { names: None, dynamic_only: false, data_bytes: facts.data_bytes };
    let tunables = tunable(Registry::builtin(), &identity, &found, &machine, &selection);
    let rules = relations(&tunables, &identity, &found, &machine);
    let seeds = advisor::seeds(&tunables, &rules, &facts);
    seeds.into_iter().next().map(|seed| seed.configuration).ok_or_else(|| {
        Failure::new(Kind::Usage, "the advisor has nothing to recommend for this machine")
            .hint("leave --config advisor out")
    })
}

/// The winner of a study on this machine: of one with the same question that is stored, or of one that is made (or finished) now.
async fn tuned(
    seat: &mut Seat,
    plan: &Plan,
    terminals: u32,
    tuning: &Tuning,
    globals: &Globals,
) -> Result<Book, Failure> {
    let workload = plan.work.for_study(terminals).ok_or_else(|| {
        Failure::new(Kind::Usage, "a study can't have this workload yet")
            .hint("leave --config tuned out, or use --workload tpcc")
    })?;
    let machine = &seat.rig().machine;
    let spec = TuneSpec {
        target: TargetSpec::Sandbox {
            flavour: tuning.flavour.clone(),
            binary: tuning.binary.clone(),
            machine: (!machine.is_host()).then(|| machine.to_text()),
            defaults: tuning.defaults.clone().filter(|f| f == "none" || machine.instance().is_some()),
        },
        workload,
        objective: Objective::Tps,
        trials: tuning.trials,
        time_budget_seconds: tuning.time_budget.map(|t| t.as_secs()),
        warmup_seconds: plan.warmup.as_secs(),
        measure_seconds: plan.measure.as_secs(),
        baseline_runs: 3,
        rebaseline_every: 8,
        pairs: 5,
        knobs: None,
        dynamic_only: false,
        // Knows the machine's IOPS, which the study's own seeds do not.
        suggested: vec![Suggested {
            name: "advisor".to_owned(),
            configuration: advice(seat, plan, terminals).await?,
        }],
        seed: globals.seed,
    };
    spec.validate().map_err(|e| Failure::caused(Kind::Usage, "can't tune", e))?;
    let mut store = studying::open_store(globals)?;
    let stored = store.studies().map_err(|e| Failure::caused(Kind::Usage, "can't read the studies", e))?;
    let same = stored.iter().find(|row| {
        !matches!(row.state, StudyState::Failed) && row.spec::<TuneSpec>().is_ok_and(|found| found == spec)
    });
    let id = match same {
        Some(row) if row.state == StudyState::Finished => row.id,
        other => {
            let which = match other {
                Some(row) => Which::Stored(row.id),
                None => {
                    Which::New { name: format!("tuned on {}", seat.rig().machine.name), spec: Box::new(spec) }
                }
            };
            let ended = studying::study(&mut store, globals, which).await;
            ended.outcome?;
            ended.id.ok_or_else(|| Failure::new(Kind::Bug, "the study has no number"))?
        }
    };
    let row = store.study(id).map_err(|e| Failure::caused(Kind::Usage, "can't read the study", e))?;
    let verdict: Option<Verdict> =
        row.verdict().map_err(|e| Failure::caused(Kind::Usage, "can't read the study", e))?;
    let trials = store.trials(id).map_or(0, |t| t.len());
    let Some(verdict) = verdict else {
        return Err(Failure::new(Kind::Bug, format!("study {id} has no verdict")));
    };
    let note = match (verdict.answer, verdict.gain) {
        (Answer::Improved, Some(g)) => format!(
            "study {id} ({trials} trials with baselines and proof) found {:.2} times its baseline, 95 % interval {:.2} to {:.2}",
            g.ratio, g.low, g.high
        ),
        _ => format!("study {id} ({trials} trials with baselines and proof) found no proven improvement"),
    };
    Ok(Book { configuration: verdict.best.unwrap_or_default(), notes: vec![note] })
}

fn winner(study: &str, globals: &Globals) -> Result<Configuration, Failure> {
    let failed = |e: &dyn std::fmt::Display| {
        Failure::new(Kind::Usage, format!("can't take the best of study {study}: {e}"))
    };
    let id: StudyId = study.parse().map_err(|_| {
        failed(&"a study is a number").hint("tunesmith studies list shows them; a file is named by its path")
    })?;
    let store = studying::open_store(globals)?;
    let row = store.study(id).map_err(|e| failed(&e).hint("tunesmith studies list shows what there is"))?;
    let verdict: Option<Verdict> = row.verdict().map_err(|e| failed(&e))?;
    verdict.and_then(|v| v.best).ok_or_else(|| {
        failed(&"it has not found one").hint("finish it with tunesmith studies resume, or tune longer")
    })
}

fn file(path: &str) -> Result<Configuration, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        Failure::caused(Kind::Usage, format!("can't read {path}"), e)
            .hint("a contender is default, advisor, mysqltuner, tuned, an option file, or STUDY:best")
    })?;
    studying::server_settings(&text).map_err(|why| Failure::new(Kind::Usage, format!("{path}: {why}")))
}
