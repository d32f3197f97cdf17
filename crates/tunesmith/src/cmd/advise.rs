//! `tunesmith advise`: rules on a live server, or on what was saved of one. Reads only.

use crate::cli::Globals;
use crate::cmd::connection::{Place, admin_failure};
use crate::failure::{Failure, Kind};
use crate::units::duration;
use advisor::{Format, Severity, Snapshot, advise};
use knobs::{Bytes, Identity, LiveVariable, Machine};
use server::{Admin, Binary, PrivateServer, Scope, StartOptions, TemplateCache, Workdir};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `tunesmith advise`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How the advice is written.
    #[arg(long, value_enum, default_value = "text")]
    format: Shape,
    /// End with exit code 7 when a finding is at least this severe.
    #[arg(long, value_enum, value_name = "SEVERITY")]
    fail_on: Option<Level>,
    /// Advise on a saved output of SHOW GLOBAL VARIABLES instead of a live server.
    #[arg(long, value_name = "FILE", conflicts_with = "snapshot")]
    variables: Option<PathBuf>,
    /// The SHOW GLOBAL STATUS that belongs to it.
    #[arg(long, value_name = "FILE", requires = "variables")]
    status: Option<PathBuf>,
    /// Advise on a snapshot saved with --save.
    #[arg(long, value_name = "FILE")]
    snapshot: Option<PathBuf>,
    /// Save what was read, to advise on it elsewhere.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Memory of the server's machine, where it is not this one.
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
    /// Processor cores of the server's machine, where it is not this one.
    #[arg(long, value_name = "N")]
    cores: Option<u32>,
    /// Compare two samples of the counters taken this long apart, instead of everything since the start.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    window: Duration,
    /// Longest time for reading what is optional.
    #[arg(long, value_name = "TIME", default_value = "8s", value_parser = duration)]
    time_limit: Duration,
    /// Say which rules there are, and end.
    #[arg(long)]
    list_rules: bool,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Shape {
    Text,
    Json,
    Html,
    Sql,
    Cnf,
    RdsCli,
    Terraform,
}

/// From where on a finding fails the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Level {
    Notice,
    Warning,
    Critical,
}

/// Runs the command.
pub async fn run(args: Args, globals: &Globals) -> Result<(), Failure> {
    if args.list_rules {
        for (name, looks_at) in advisor::catalogue() {
            println!("{name}\t{looks_at}");
        }
        return Ok(());
    }
    let snapshot = match (&args.snapshot, &args.variables) {
        (Some(path), _) => saved(path)?,
        (None, Some(path)) => offline(path, args.status.as_deref(), &args)?,
        (None, None) => live(&args, globals).await?,
    };
    if let Some(path) = &args.save {
        let json = serde_json::to_string(&snapshot)
            .map_err(|e| Failure::caused(Kind::Bug, "write the snapshot", e))?;
        std::fs::write(path, json)
            .map_err(|e| Failure::caused(Kind::Usage, format!("can't write {}", path.display()), e))?;
    }
    let report = advise(&snapshot);
    let format = match args.format {
        _ if globals.json => Format::Json,
        Shape::Text => Format::Text { verbose: globals.verbose > 0 },
        Shape::Json => Format::Json,
        Shape::Html => Format::Html,
        Shape::Sql => Format::Sql,
        Shape::Cnf => Format::Cnf,
        Shape::RdsCli => Format::RdsCli,
        Shape::Terraform => Format::Terraform,
    };
    print!("{}", format.write(&report));
    let limit = args.fail_on.map(|level| match level {
        Level::Notice => Severity::Notice,
        Level::Warning => Severity::Warning,
        Level::Critical => Severity::Critical,
    });
    match limit {
        Some(limit) if report.worst() >= limit => {
            let count = report.findings.iter().filter(|finding| finding.severity >= limit).count();
            Err(Failure::new(
                Kind::Findings,
                format!("{count} findings are at least as severe as --fail-on allows"),
            ))
        }
        _ => Ok(()),
    }
}

impl Args {
    fn stated_machine(&self) -> Option<Machine> {
        (self.memory.is_some() || self.cores.is_some())
            .then_some(Machine { memory: self.memory, cores: self.cores })
    }
}

async fn live(args: &Args, globals: &Globals) -> Result<Snapshot, Failure> {
    let mut session = Session::open(globals).await?;
    let scope = Scope { time_limit: args.time_limit, window: args.window, machine: args.stated_machine() };
    let snapshot = server::collect(&mut session.admin, &scope)
        .await
        .map_err(|e| admin_failure("can't read the server's variables and counters", e))?;
    session.close().await;
    Ok(snapshot)
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|e| Failure::caused(Kind::Usage, format!("can't read {}", path.display()), e))
}

fn saved(path: &Path) -> Result<Snapshot, Failure> {
    let snapshot: Snapshot = serde_json::from_str(&read(path)?).map_err(|e| {
        Failure::caused(Kind::Usage, format!("{} is no snapshot", path.display()), e)
            .hint("save one with: tunesmith advise --save FILE")
    })?;
    if snapshot.schema != advisor::SNAPSHOT_SCHEMA {
        let text = format!(
            "{} has the format {}, and this program reads {}",
            path.display(),
            snapshot.schema,
            advisor::SNAPSHOT_SCHEMA
        );
        return Err(Failure::new(Kind::Usage, text));
    }
    Ok(snapshot)
}

fn offline(variables: &Path, status: Option<&Path>, args: &Args) -> Result<Snapshot, Failure> {
    let live: BTreeMap<String, LiveVariable> = Snapshot::read_pairs(&read(variables)?)
        .into_iter()
        .map(|(name, value)| (name.clone(), LiveVariable::new(name, value)))
        .collect();
    let of = |name: &str| live.get(name).map_or("", |variable| variable.value.as_str());
    let identity =
        Identity::parse(of("version"), of("version_comment"), of("basedir"), &live).map_err(|e| {
            Failure::new(
                Kind::Usage,
                format!("{} does not tell the server's version: {e}", variables.display()),
            )
            .hint("save it with: mysql -B -e 'SHOW GLOBAL VARIABLES' > FILE")
        })?;
    let status = match status {
        Some(path) => Snapshot::read_pairs(&read(path)?),
        None => BTreeMap::new(),
    };
    let mut snapshot = Snapshot::offline(identity, live, status);
    if let Some(machine) = args.stated_machine() {
        snapshot.machine = machine;
        snapshot.machine_source = advisor::MachineSource::Stated;
    }
    Ok(snapshot)
}

/// A session on the server that the options name, or on a private one that lives as long.
pub(super) struct Session {
    pub admin: Admin,
    // The server goes before its folder.
    private: Option<(PrivateServer, Workdir)>,
}

impl Session {
    pub async fn open(globals: &Globals) -> Result<Self, Failure> {
        let (connect, private) = match globals.connection.place()? {
            Place::Server(connect) => (connect, None),
            Place::Sandbox { flavour, binary } => {
                let binary = Binary::find(flavour, binary.as_deref()).map_err(|e| {
                    let hint = e.hint();
                    Failure::caused(Kind::Connect, "can't start a private server", e).hint(hint)
                })?;
                let private = start(&binary)
                    .await
                    .map_err(|e| Failure::caused(Kind::Connect, "can't start a private server", e))?;
                (private.0.connect_options(), Some(private))
            }
        };
        let admin =
            Admin::connect(&connect).await.map_err(|e| admin_failure("can't connect to the server", e))?;
        Ok(Self { admin, private })
    }

    pub async fn close(self) {
        // An aborted connection would count on the server, and advice must leave no trace. But one whose last
        // question is still being worked on is not waited for.
        let _ = tokio::time::timeout(Duration::from_secs(2), self.admin.close()).await;
        drop(self.private);
    }
}

async fn start(
    binary: &Binary,
) -> Result<(PrivateServer, Workdir), Box<dyn std::error::Error + Send + Sync>> {
    let work = Workdir::platform()?;
    let datadir = work.datadir("data");
    TemplateCache::platform()?.get(binary).await?.clone_to(&datadir)?;
    let options = StartOptions::new(datadir, work.new_socket_dir()?);
    Ok((PrivateServer::start(binary, &options).await?, work))
}
