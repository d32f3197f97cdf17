//! Private servers on emulated machines: what `tune --machine`, `compare` and `sweep` share.
//!
//! The data set is made once on this computer's own disk, then copied to the machine's disk, where every run gets a copy by reference. The
//! disk's limit is off while data are laid out and the server starts, and during the first half of a warm-up, so that the buffer pool fills at
//! this computer's speed; the second half settles under the limit. What is measured runs under the limit.

use crate::cmd::price::{catalogue, unknown_class};
use crate::failure::{Failure, Kind};
use crate::studying;
use knobs::{Bytes, Machine};
use lab::Catalogue;
use lab::defaults::{Family, settings};
use lab::machine::{Emulated, MachineSpec, SpecError, Throttle};
use server::{Binary, Workdir, clone_dir};
use std::error::Error;
use std::path::{Path, PathBuf};
use store::TrialState;
use target::SandboxOptions;
use tuner::{Cancel, DataSet, Event, Events, TargetSpec, Workload};

/// Room on a machine's disk besides the data set: redo logs, undo, copies of changed pages. Sparse, so it costs what is written.
const ROOM: u64 = 40 << 30;

/// The machine to run on.
#[derive(Debug, Clone, clap::Args)]
pub struct MachineArgs {
    /// The machine to run on, emulated: db.m5.4xlarge, or cpu=1,memory=4G,iops=125 [default: this machine as it is].
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// I/O operations a second of the machine's disk, at full size.
    #[arg(long, value_name = "N")]
    iops: Option<u32>,
    /// Emulate 1/K of the class.
    #[arg(long, default_value_t = 1, value_name = "K")]
    scale: u32,
    /// Run with the provider's defaults for the class: mysql5.7, mysql8.0-2021, mysql8.0, mysql8.4, mariadb10.11, or none for the server's own
    /// [default: with a class, those of the server's version].
    #[arg(long, value_name = "FAMILY")]
    defaults: Option<String>,
}

impl MachineArgs {
    /// Puts the machine into what a study is about.
    pub fn on(&self, target: TargetSpec) -> Result<TargetSpec, Failure> {
        if self.machine.is_none() && self.iops.is_none() && self.defaults.is_none() {
            return Ok(target);
        }
        let text = self.machine.as_deref().unwrap_or("host");
        let spec =
            MachineSpec::parse(text, self.iops, self.scale, &Catalogue::builtin()).map_err(bad_machine)?;
        let text = spec.to_text();
        Wish::read(Some(&text), self.defaults.as_deref())?;
        match target {
            TargetSpec::Sandbox { flavour, binary, .. } => Ok(TargetSpec::Sandbox {
                flavour,
                binary,
                machine: Some(text),
                defaults: self.defaults.clone(),
            }),
            TargetSpec::Server { .. } => {
                Err(Failure::new(Kind::Usage, "a machine can be emulated for a private server only")
                    .hint("use --sandbox, or leave --machine out"))
            }
        }
    }
}

/// A machine that can't be read from its text.
pub fn bad_machine(error: SpecError) -> Failure {
    match error {
        SpecError::Unknown(error) => unknown_class(error),
        wrong @ SpecError::Wrong { .. } => {
            let hint = wrong.hint();
            Failure::new(Kind::Usage, wrong.to_string()).hint(hint)
        }
    }
}

/// A machine, and whose defaults its servers run with.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The machine.
    pub machine: MachineSpec,
    defaults: Defaults,
}

#[derive(Debug, Clone, Copy)]
enum Defaults {
    /// Those that fit the server's version, for a class of a provider.
    Fitting,
    /// The server's own.
    None,
    Of(Family),
}

impl Wish {
    /// From the texts on the command line.
    pub fn read(machine: Option<&str>, defaults: Option<&str>) -> Result<Self, Failure> {
        let machine = match machine {
            None => MachineSpec::host(),
            Some(text) => MachineSpec::parse(text, None, 1, &catalogue(None)?).map_err(bad_machine)?,
        };
        Self::of(machine, defaults)
    }

    /// For a machine.
    pub fn of(machine: MachineSpec, defaults: Option<&str>) -> Result<Self, Failure> {
        let defaults = match defaults {
            None => Defaults::Fitting,
            Some("none") => Defaults::None,
            Some(family) if machine.instance().is_some() => {
                Defaults::Of(family.parse().map_err(|e: String| Failure::new(Kind::Usage, e))?)
            }
            Some(_) => {
                return Err(Failure::new(Kind::Usage, "a provider's defaults are of one of its classes")
                    .hint("name a class with --machine, such as db.m5.4xlarge, or leave --defaults out"));
            }
        };
        Ok(Self { machine, defaults })
    }

    /// Settings below every configuration.
    fn settings(&self, binary: &Binary) -> Result<Vec<(String, String)>, Failure> {
        let version = binary.version();
        let family = match self.defaults {
            Defaults::None => return Ok(Vec::new()),
            Defaults::Of(family) => family,
            Defaults::Fitting if binary.flavour == knobs::Flavour::MariaDb => Family::Mariadb1011,
            Defaults::Fitting => match (version.major, version.minor) {
                (..=5, _) => Family::Mysql57,
                (8, 0) => Family::Mysql80,
                _ => Family::Mysql84,
            },
        };
        match self.machine.instance() {
            None => Ok(Vec::new()),
            Some((instance, scale)) => settings(family, &instance, scale, (binary.flavour, version))
                .map_err(|e| Failure::caused(Kind::Bug, "evaluate the provider's defaults", e)),
        }
    }
}

/// The server's program.
pub fn binary(flavour: Option<&str>, folder: Option<&Path>) -> Result<Binary, Failure> {
    let flavour = flavour.and_then(|name| name.parse().ok());
    Binary::find(flavour, folder).map_err(|e| {
        let hint = e.hint();
        Failure::caused(Kind::Connect, "no server to start", e).hint(hint)
    })
}

/// The data set of a study, from the cache or made now.
pub async fn dataset(
    binary: &Binary,
    workload: &Workload,
    seed: u64,
    events: &mut dyn Events,
    cancel: &Cancel,
) -> Result<PathBuf, Failure> {
    data(binary, DataSet::of(workload, seed), events, cancel).await
}

/// A data set, from the cache or made now.
pub async fn data(
    binary: &Binary,
    set: DataSet,
    events: &mut dyn Events,
    cancel: &Cancel,
) -> Result<PathBuf, Failure> {
    let work = Workdir::platform().map_err(no_place)?;
    let swept = work.swept();
    if swept.folders > 0 {
        let note = format!(
            "removed what an earlier run left behind: {} work folders, {} servers",
            swept.folders, swept.servers
        );
        events.event(&Event::Note(&note));
    }
    tuner::prepare_data(binary, set, &work, events, cancel).await.map_err(studying::dataset_failure)
}

fn no_place(error: server::WorkdirError) -> Failure {
    Failure::caused(Kind::Connect, "no place for a private server", error)
}

/// A machine with the data set on it, ready for servers. Ends after them.
#[derive(Debug)]
pub struct Rig {
    emulated: Option<Emulated>,
    /// The server's program.
    pub binary: Binary,
    /// What the machine is.
    pub machine: MachineSpec,
    /// Settings below every configuration.
    pub settings: Vec<(String, String)>,
    data: PathBuf,
}

impl Rig {
    /// Makes the machine and copies the data set to it.
    pub fn open(wish: &Wish, binary: Binary, data: &Path, events: &mut dyn Events) -> Result<Self, Failure> {
        let settings = wish.settings(&binary)?;
        let machine = wish.machine.clone();
        if machine.is_host() {
            return Ok(Self { emulated: None, binary, machine, settings, data: data.to_owned() });
        }
        let root = server::cache_dir()
            .ok_or_else(|| Failure::new(Kind::Connect, "no cache folder").hint("set TUNESMITH_CACHE_DIR"))?
            .join("lab");
        let emulated = Emulated::start(&machine, &root, ROOM).map_err(cannot_emulate)?;
        let left = emulated.leftovers();
        if left.folders > 0 {
            let note = format!(
                "took apart what killed runs had left: {} machines, {} disks, {} control groups",
                left.folders, left.disks, left.groups
            );
            events.event(&Event::Note(&note));
        }
        for lacking in emulated.lacking() {
            events.event(&Event::Note(&format!("{}: {lacking}", machine.name)));
        }
        let mut data = data.to_owned();
        if emulated.has_disk() {
            events
                .event(&Event::Preparing { what: "copying the data set to the machine's disk", share: None });
            let copy = emulated.path().join("data");
            clone_dir(&data, &copy)
                .map_err(|e| Failure::caused(Kind::Connect, "can't copy the data set", e))?;
            data = copy;
        }
        Ok(Self { emulated: Some(emulated), binary, machine, settings, data })
    }

    /// A folder for servers on the machine's disk.
    pub fn workdir(&self) -> Result<Workdir, Failure> {
        match &self.emulated {
            Some(emulated) if emulated.has_disk() => Workdir::create(&emulated.path().join("work")),
            _ => Workdir::platform(),
        }
        .map_err(no_place)
    }

    /// The data directory to start every run from.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// What servers on it have to join.
    pub fn control_groups(&self) -> Vec<PathBuf> {
        self.emulated.as_ref().map(Emulated::control_groups).unwrap_or_default()
    }

    /// The limit on its disk.
    pub fn throttle(&self) -> Option<&Throttle> {
        self.emulated.as_ref().and_then(Emulated::throttle)
    }

    /// How many processes its memory limit has killed so far.
    pub fn oom_kills(&self) -> u64 {
        self.emulated.as_ref().map_or(0, Emulated::oom_kills)
    }

    /// What of it is not emulated.
    pub fn lacking(&self) -> Vec<String> {
        self.emulated.iter().flat_map(|e| e.lacking()).map(ToString::to_string).collect()
    }

    /// Its size, for memory budgets.
    pub fn size(&self) -> Machine {
        let here = server::machine();
        Machine {
            memory: self.machine.memory.map(Bytes).or(here.memory),
            cores: self.machine.cpu.map(cores).or(here.cores),
        }
    }

    /// What a study's sandbox is made of on it.
    pub fn sandbox_options(&self) -> SandboxOptions {
        SandboxOptions {
            binary: self.binary.clone(),
            data: self.data.clone(),
            settings: self.settings.clone(),
            machine: self.size(),
            control_groups: self.control_groups(),
            storage_iops: self.machine.iops.filter(|_| self.throttle().is_some()).map(u64::from),
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0.01 to 4096")]
fn cores(cpu: f64) -> u32 {
    cpu.ceil().max(1.0) as u32
}

/// A machine that can't be made.
fn cannot_emulate(error: impl Error + Send + Sync + 'static) -> Failure {
    Failure::caused(Kind::Connect, "can't emulate the machine", error)
        .hint("tunesmith doctor tells what this computer allows; --machine host runs without emulation")
}

/// Puts the disk's limit on and off while a study goes on, and passes everything on.
pub struct Throttling<'a> {
    throttle: Option<Throttle>,
    inner: &'a mut dyn Events,
    /// Seconds of a warm-up that run without the limit.
    free: u64,
    warming: Option<u64>,
}

impl<'a> Throttling<'a> {
    /// For a study on a rig.
    pub fn new(rig: &Rig, inner: &'a mut dyn Events, warmup_seconds: u64) -> Self {
        Self { throttle: rig.throttle().cloned(), inner, free: warmup_seconds / 2, warming: None }
    }

    fn set(&mut self, on: bool) {
        let Some(throttle) = &self.throttle else { return };
        if let Err(e) = if on { throttle.on() } else { throttle.off() } {
            let why = e.source().map(ToString::to_string).unwrap_or_default();
            self.inner.event(&Event::Note(&format!("the disk's limit could not be changed: {e}: {why}")));
        }
    }
}

impl Events for Throttling<'_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Began { .. } => {
                self.warming = None;
                self.set(false);
            }
            Event::Entered { state: TrialState::Warming, .. } => {
                self.warming = Some(0);
                if self.free == 0 {
                    self.set(true);
                }
            }
            // Whatever became of the seconds: what is measured is measured under the limit.
            Event::Entered { state: TrialState::Measuring, .. } => {
                self.warming = None;
                self.set(true);
            }
            Event::Second { .. } => {
                if let Some(seconds) = &mut self.warming {
                    *seconds += 1;
                    if *seconds == self.free {
                        self.set(true);
                    }
                }
            }
            Event::Ended { .. } => self.set(false),
            _ => {}
        }
        self.inner.event(event);
    }
}
