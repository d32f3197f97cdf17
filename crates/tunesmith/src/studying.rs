//! What `tune` and `studies resume` share: setting a target up, conducting the study, and showing how it ended.

use crate::cli::Globals;
use crate::cmd::connection::Place;
use crate::emulation::{self, Rig, Throttling, Wish};
use crate::failure::{Failure, Kind};
use crate::progress::Progress;
use knobs::{Configuration, Value};
use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use store::{Store, StudyId};
use target::{RunningServer, Sandbox, Target, TargetError, TargetErrorKind};
use tuner::{Cancel, Context, Event, Events, StudyError, StudyErrorKind, TargetSpec, TuneSpec, Workload};

/// Which study.
pub enum Which {
    /// One to be made.
    New {
        /// What people call it.
        name: String,
        /// What is asked.
        spec: Box<TuneSpec>,
    },
    /// One that is there.
    Stored(StudyId),
}

/// A study that came to its end, or failed after it had a number.
pub struct Ended {
    /// Its number, where it got one.
    pub id: Option<StudyId>,
    /// How it ended.
    pub outcome: Result<(), Failure>,
}

/// The studies' database file that the user named, or the platform's.
pub fn store_path(globals: &Globals) -> Result<PathBuf, Failure> {
    if let Some(path) = &globals.store {
        return Ok(path.clone());
    }
    let folder = std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|p| p.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(".local/share")))
        .ok_or_else(|| {
            Failure::new(Kind::Usage, "no home folder for the studies' database")
                .hint("name a file with --store")
        })?;
    Ok(folder.join("tunesmith/studies.db"))
}

/// Opens the studies' database.
pub fn open_store(globals: &Globals) -> Result<Store, Failure> {
    let path = store_path(globals)?;
    Store::open(&path).map_err(|e| {
        Failure::caused(Kind::Usage, format!("can't use {}", path.display()), e)
            .hint("name another file with --store")
    })
}

/// The target that the connection options name.
pub fn target_spec(globals: &Globals) -> Result<TargetSpec, Failure> {
    Ok(match globals.connection.place()? {
        Place::Sandbox { flavour, binary } => TargetSpec::Sandbox {
            flavour: flavour.map(|f| f.to_string().to_lowercase()),
            binary,
            machine: None,
            defaults: None,
        },
        Place::Server(options) => TargetSpec::Server { address: options.to_string() },
    })
}

/// Conducts a study from wherever it stands.
pub async fn study(store: &mut Store, globals: &Globals, which: Which) -> Ended {
    let spec = match &which {
        Which::New { spec, .. } => Ok(TuneSpec::clone(spec)),
        Which::Stored(id) => stored_spec(store, *id),
    };
    let spec = match spec {
        Ok(spec) => spec,
        Err(failure) => return Ended { id: None, outcome: Err(failure) },
    };
    let mut progress = Progress::new(spec.objective, globals.quiet, globals.verbose > 0);
    let cancel = on_interrupt();
    let ended = match spec.target.clone() {
        TargetSpec::Sandbox { .. } => in_sandbox(store, which, &spec, &mut progress, &cancel).await,
        TargetSpec::Server { .. } => on_server(store, globals, which, &spec, &mut progress, &cancel).await,
    };
    progress.finish();
    ended
}

fn stored_spec(store: &Store, id: StudyId) -> Result<TuneSpec, Failure> {
    let row =
        store.study(id).map_err(|e| Failure::caused(Kind::Usage, format!("can't resume study {id}"), e))?;
    row.spec().map_err(|e| Failure::caused(Kind::Usage, format!("can't resume study {id}"), e))
}

/// The first interrupt asks everything to stop; the second one does not wait.
pub fn on_interrupt() -> Cancel {
    let cancel = Cancel::default();
    let asked = cancel.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_err() {
            return;
        }
        let _ = writeln!(
            std::io::stderr(),
            "stopping: the present trial is given up, what was measured is kept (once more to stop at once)"
        );
        asked.request();
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(i32::from(Kind::Interrupted as u8));
        }
    });
    cancel
}

async fn in_sandbox(
    store: &mut Store,
    which: Which,
    spec: &TuneSpec,
    events: &mut dyn Events,
    cancel: &Cancel,
) -> Ended {
    // Ends after the sandbox that works on it.
    let rig = match rig(spec, events, cancel).await {
        Ok(rig) => rig,
        Err(failure) => return not_begun(which, failure),
    };
    let mut throttling = Throttling::new(&rig, events, spec.warmup_seconds);
    throttling.event(&Event::Preparing { what: "asking the server for its own configuration", share: None });
    let sandbox = async {
        let work = rig.workdir()?;
        let options = rig.sandbox_options();
        Sandbox::open(options, work).await.map_err(|e| target_failure("can't start a private server", e))
    };
    match sandbox.await {
        Ok(mut sandbox) => conduct(store, which, spec, &mut sandbox, &mut throttling, cancel).await,
        Err(failure) => not_begun(which, failure),
    }
}

fn not_begun(which: Which, failure: Failure) -> Ended {
    let id = match which {
        Which::Stored(id) => Some(id),
        Which::New { .. } => None,
    };
    Ended { id, outcome: Err(failure) }
}

/// The machine that a study asks for, with the data set on it.
async fn rig(spec: &TuneSpec, events: &mut dyn Events, cancel: &Cancel) -> Result<Rig, Failure> {
    let TargetSpec::Sandbox { flavour, binary, machine, defaults } = &spec.target else {
        return Err(Failure::new(Kind::Bug, "the study is not about a private server"));
    };
    let wish = Wish::read(machine.as_deref(), defaults.as_deref())?;
    let binary = emulation::binary(flavour.as_deref(), binary.as_deref())?;
    let data = emulation::dataset(&binary, &spec.workload, spec.seed, events, cancel).await?;
    Rig::open(&wish, binary, &data, events)
}

pub fn dataset_failure(error: tuner::DatasetError) -> Failure {
    let kind = match &error {
        tuner::DatasetError::Interrupted => Kind::Interrupted,
        _ => Kind::Connect,
    };
    Failure::caused(kind, "can't make the data set", error)
}

pub fn target_failure(attempted: &str, error: TargetError) -> Failure {
    let kind = match error.kind() {
        TargetErrorKind::Admin(_)
        | TargetErrorKind::DiskFull { .. }
        | TargetErrorKind::Io { .. }
        | TargetErrorKind::Busy => Kind::Connect,
        _ => Kind::Reverted,
    };
    let hint = match error.kind() {
        TargetErrorKind::Admin(e) => e.hint(),
        _ => None,
    };
    let failure = Failure::caused(kind, attempted, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

async fn on_server(
    store: &mut Store,
    globals: &Globals,
    which: Which,
    spec: &TuneSpec,
    events: &mut dyn Events,
    cancel: &Cancel,
) -> Ended {
    let id = match which {
        Which::Stored(id) => Some(id),
        Which::New { .. } => None,
    };
    match running(store, globals, id, &spec.workload).await {
        Ok(mut running) => conduct(store, which, spec, &mut running, events, cancel).await,
        Err(failure) => Ended { id, outcome: Err(failure) },
    }
}

async fn running(
    store: &Store,
    globals: &Globals,
    id: Option<StudyId>,
    workload: &Workload,
) -> Result<RunningServer, Failure> {
    let options = match globals.connection.place()? {
        Place::Server(options) => options,
        Place::Sandbox { .. } => {
            let text = "the study was made on a server, and --sandbox was given";
            return Err(
                Failure::new(Kind::Usage, text).hint("give the options of the connection to that server")
            );
        }
    };
    let home = match id {
        Some(id) => {
            let row = store.study(id).map_err(|e| Failure::caused(Kind::Usage, "can't read the study", e))?;
            let context: Option<Context> =
                row.context().map_err(|e| Failure::caused(Kind::Usage, "can't read the study", e))?;
            context.map(|c| (c.home, c.knobs.into_keys().collect::<BTreeSet<_>>()))
        }
        None => None,
    };
    check_data(&options, workload).await?;
    // Of a machine that is not this one nothing is known, and nothing is guessed.
    let machine = if RunningServer::is_local(&options) {
        server::machine()
    } else {
        knobs::Machine { memory: None, cores: None }
    };
    RunningServer::open(&options, machine, home).await.map_err(|e| target_failure("can't tune the server", e))
}

/// The workload's data must be there: loading it into somebody's server is not ours to decide.
async fn check_data(options: &server::ConnectOptions, workload: &Workload) -> Result<(), Failure> {
    let failed = |e: server::AdminError| {
        let hint = e.hint();
        let failure = Failure::caused(Kind::Connect, "can't tune the server", e);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    };
    let mut admin = server::Admin::connect(options).await.map_err(failed)?;
    let (what, default) = match workload {
        Workload::Tpcc { .. } => ("tpcc", load::tpcc::DATABASE),
        Workload::Sysbench { .. } => ("sysbench", load::sysbench::DATABASE),
    };
    let database = options.database.as_deref().unwrap_or(default);
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = 'tunesmith_load'",
        Value::Text(database.to_owned()).to_sql()
    );
    let found = admin.rows::<i64>(&sql).await.map_err(failed)?;
    admin.close().await.map_err(failed)?;
    if found.first() == Some(&1) {
        return Ok(());
    }
    Err(Failure::new(
        Kind::Usage,
        format!("database {database} on {options} holds no {what} data to work with"),
    )
    .hint(format!("load it first: tunesmith bench {what} prepare, with the same connection options")))
}

async fn conduct<T: Target>(
    store: &mut Store,
    which: Which,
    spec: &TuneSpec,
    target: &mut T,
    events: &mut dyn Events,
    cancel: &Cancel,
) -> Ended {
    let id = match which {
        Which::Stored(id) => Ok(id),
        Which::New { name, .. } => tuner::begin(store, &name, spec, target, notes()),
    };
    let id = match id {
        Ok(id) => id,
        Err(e) => return Ended { id: None, outcome: Err(study_failure(e)) },
    };
    events.event(&Event::Note(&format!("study {id}: {} trials planned", tuner::expected_trials(spec))));
    let outcome = tuner::conduct(store, id, target, events, cancel).await.map(|_| ()).map_err(study_failure);
    Ended { id: Some(id), outcome }
}

fn study_failure(error: StudyError) -> Failure {
    let kind = match error.kind() {
        StudyErrorKind::Spec(_)
        | StudyErrorKind::NothingToTune(_)
        | StudyErrorKind::Suggested { .. }
        | StudyErrorKind::Store(_) => Kind::Usage,
        StudyErrorKind::Interrupted(_) => Kind::Interrupted,
        StudyErrorKind::NoBaseline(_) => Kind::Invalid,
        StudyErrorKind::NotHome { .. } => Kind::Unreverted,
        StudyErrorKind::Admin(_) => Kind::Connect,
        StudyErrorKind::Target(e) => match e.kind() {
            TargetErrorKind::DiskFull { .. } | TargetErrorKind::Io { .. } | TargetErrorKind::Admin(_) => {
                Kind::Connect
            }
            _ => Kind::Reverted,
        },
        _ => Kind::Bug,
    };
    Failure::caused(kind, "the study did not finish", error)
}

/// Facts about this machine that a reader of the report may want.
fn notes() -> Vec<(String, String)> {
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpuinfo = file("/proc/cpuinfo");
    let model =
        cpuinfo.lines().find_map(|l| l.strip_prefix("model name")?.split(':').nth(1)).unwrap_or_default();
    vec![
        ("Processor".to_owned(), model.trim().to_owned()),
        ("Kernel".to_owned(), file("/proc/sys/kernel/osrelease")),
        ("Load generator".to_owned(), "on the same machine as the server".to_owned()),
    ]
}

/// Shows how a study ended: the table or the JSON document on standard output, the report in its file.
pub fn present(
    store: &Store,
    globals: &Globals,
    ended: Ended,
    report_file: Option<&Path>,
) -> Result<(), Failure> {
    if let Some(id) = ended.id {
        let document =
            tuner::document(store, id).map_err(|e| Failure::caused(Kind::Bug, "can't read the study", e))?;
        if globals.json {
            let _ = write!(std::io::stdout(), "{}", report::render::json(&document));
        } else if !document.trials.is_empty() {
            let color = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let _ = writeln!(
                std::io::stdout(),
                "{}",
                report::render::terminal(&document, terminal_width(), color)
            );
        }
        if let Some(path) = report_file {
            std::fs::write(path, report::render::html(&document))
                .map_err(|e| Failure::caused(Kind::Usage, format!("can't write {}", path.display()), e))?;
            let _ = writeln!(std::io::stderr(), "report written to {}", path.display());
        }
    }
    ended.outcome
}

fn terminal_width() -> usize {
    std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|w| *w >= 40).unwrap_or(100)
}

/// The server's settings in an option file: groups [mysqld], [mariadb], [mariadbd] and [server], dashes as underscores.
pub fn server_settings(text: &str) -> Result<Configuration, String> {
    let mut settings = Vec::new();
    let mut ours = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';', '!']) {
            continue;
        }
        if let Some(group) = line.strip_prefix('[') {
            let group =
                group.strip_suffix(']').ok_or_else(|| format!("line {}: a group without ']'", number + 1))?;
            ours = matches!(group.trim(), "mysqld" | "mariadb" | "mariadbd" | "server");
            continue;
        }
        if !ours {
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "ON"));
        let name = name.trim().trim_start_matches("loose-").trim_start_matches("loose_").replace('-', "_");
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(format!("line {}: {name:?} is not a variable's name", number + 1));
        }
        let value = value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
        settings.push((name, size(value)));
    }
    Ok(settings.into_iter().collect())
}

/// A number with MySQL's suffixes K, M, G and T, or the text as it is.
pub fn size(text: &str) -> Value {
    let shift = match text.chars().last().map(|c| c.to_ascii_uppercase()) {
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        Some('T') => 40,
        _ => 0,
    };
    let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
    match digits.parse::<i64>() {
        Ok(number) if number.checked_mul(1 << shift).is_some() => Value::Int(number << shift),
        _ => text.parse().map_or_else(|_| Value::Text(text.to_owned()), Value::Float),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_servers_groups_of_an_option_file_count() {
        let text = "[client]\nport=1\n[mysqld]\n# a comment\ninnodb-buffer-pool-size = 2G\nskip_name_resolve\n\
                    innodb_max_dirty_pages_pct=49.5 # half\n[mysql]\nprompt='>'\n[mariadb]\nsync_binlog=1\n";
        let configuration = server_settings(text).unwrap();
        assert_eq!(configuration.get("innodb_buffer_pool_size"), Some(&Value::Int(2 << 30)));
        assert_eq!(configuration.get("skip_name_resolve"), Some(&Value::Text("ON".into())));
        assert_eq!(configuration.get("innodb_max_dirty_pages_pct"), Some(&Value::Float(49.5)));
        assert_eq!(configuration.get("sync_binlog"), Some(&Value::Int(1)));
        assert_eq!(configuration.get("port"), None);
        assert_eq!(configuration.iter().count(), 4);
    }

    #[test]
    fn a_broken_option_file_is_refused_with_the_line() {
        assert!(server_settings("[mysqld\nx=1").unwrap_err().contains("line 1"));
        assert!(server_settings("[mysqld]\n\nx y z = 1").unwrap_err().contains("line 3"));
    }

    #[test]
    fn sizes_are_read_with_their_suffix() {
        assert_eq!(size("128M"), Value::Int(128 << 20));
        assert_eq!(
            size("9223372036854775807G"),
            Value::Text("9223372036854775807G".into()),
            "too large stays text"
        );
        assert_eq!(size("O_DIRECT"), Value::Text("O_DIRECT".into()));
        assert_eq!(size(""), Value::Text(String::new()));
    }
}
