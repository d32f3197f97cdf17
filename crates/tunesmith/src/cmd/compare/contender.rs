//! Whose configuration runs.

use super::run::Seat;
use crate::cli::Globals;
use crate::failure::{Failure, Kind};
use crate::studying;
use knobs::{Configuration, Registry, Selection, relations, tunable};
use store::StudyId;
use tuner::{Verdict, Workload};

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
    Given(Configuration),
}

impl Contender {
    /// From its name: `default`, `advisor`, `7:best`, or a file.
    pub fn read(name: &str, globals: &Globals) -> Result<Self, Failure> {
        let source = match name {
            "default" => Source::Default,
            "advisor" => Source::Advisor,
            _ => match name.strip_suffix(":best") {
                Some(study) => Source::Given(winner(study, globals)?),
                None => Source::Given(file(name)?),
            },
        };
        let short = std::path::Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Ok(Self { name: short.unwrap_or_else(|| name.to_owned()), source })
    }

    /// The configuration for a machine.
    pub async fn configuration(
        &self,
        seat: &mut Seat,
        workload: &Workload,
    ) -> Result<Configuration, Failure> {
        match &self.source {
            Source::Default => Ok(Configuration::default()),
            Source::Given(configuration) => Ok(configuration.clone()),
            Source::Advisor => {
                let (identity, found) = seat.look().await?;
                let machine = seat.rig().size();
                let mut facts = workload.facts();
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
        }
    }
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
            .hint("a contender is default, advisor, an option file, or STUDY:best")
    })?;
    studying::server_settings(&text).map_err(|why| Failure::new(Kind::Usage, format!("{path}: {why}")))
}
