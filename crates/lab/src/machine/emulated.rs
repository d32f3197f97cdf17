//! An emulated machine: a folder with an owner, a disk in it, control groups beside it.
//!
//! All names follow from the folder's, so that whoever finds a folder without an owner can take the whole machine apart: its processes, its
//! mount, its loop device, its groups, at last the folder.

use super::cgroup::{Controllers, Groups, Hierarchy, remove_named};
use super::disk::{self, Disk, Throttle};
use super::error::EmulateError;
use super::spec::MachineSpec;
use rustix::fs::{FlockOperation, flock};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const OWNER: &str = "owner.lock";
const GATE: &str = "gate.lock";

/// What of a machine cannot be emulated here, and what then holds instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lacking {
    /// `the processor quota`, `the memory limit`, `the disk`.
    pub what: &'static str,
    /// Why not, and what to do about it.
    pub why: String,
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not emulated: {}", self.what, self.why)
    }
}

/// A part of a machine, and whether it can be emulated on this computer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ability {
    /// `the processor quota`, `the memory limit`, `the disk`: as in [`Lacking`].
    pub what: &'static str,
    /// How it is done here, or why it can't be, with what to do about it.
    pub how: Result<String, String>,
}

/// What of a machine can be emulated on this computer; changes nothing.
pub fn abilities() -> Vec<Ability> {
    let controllers = Controllers::of_this_machine();
    let root = rustix::process::geteuid().is_root();
    let by = |what, hierarchy: &Option<Hierarchy>, controller| {
        let how = match (missing(root, hierarchy.is_some(), controller), hierarchy) {
            (Some(why), _) => Err(why),
            (None, Some(Hierarchy::V1(at))) => Ok(format!("control groups, version 1, in {}", at.display())),
            (None, Some(Hierarchy::V2(at))) => Ok(format!("control groups, version 2, in {}", at.display())),
            (None, None) => Err(String::new()),
        };
        Ability { what, how }
    };
    let disk = by("the disk", &controllers.io, "disks");
    let how =
        disk.how.and_then(|how| loop_tools().map(|()| format!("a loop device with XFS, throttled by {how}")));
    vec![
        by("the processor quota", &controllers.cpu, "processors"),
        by("the memory limit", &controllers.memory, "memory"),
        Ability { what: "the disk", how },
    ]
}

fn missing(root: bool, there: bool, controller: &str) -> Option<String> {
    match (root, there) {
        (false, _) => Some("it needs root; run with sudo".to_owned()),
        (true, false) => Some(format!("the kernel offers no control group for {controller} here")),
        (true, true) => None,
    }
}

/// Machines that killed processes had left, and that are gone now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Leftovers {
    /// Folders.
    pub folders: u32,
    /// Mounts with their loop devices.
    pub disks: u32,
    /// Control groups with what ran in them.
    pub groups: u32,
}

/// A machine to run servers on, for as long as this value lives. Drop the servers first.
#[derive(Debug)]
pub struct Emulated {
    spec: MachineSpec,
    // Order of dropping: the limit, the processes, the disk, the folder.
    throttle: Option<Throttle>,
    groups: Groups,
    disk: Option<Disk>,
    lacking: Vec<Lacking>,
    leftovers: Leftovers,
    folder: PathBuf,
    _owner: File,
}

impl Emulated {
    /// Makes the machine in a new folder in `root`, with a disk for `bytes`, unthrottled. What cannot be emulated here is left as it is, and
    /// told by [`lacking`](Self::lacking).
    ///
    /// # Errors
    /// If something that should work here does not.
    pub fn start(spec: &MachineSpec, root: &Path, bytes: u64) -> Result<Self, EmulateError> {
        fs::create_dir_all(root).map_err(EmulateError::at("make", root))?;
        let root = root.canonicalize().map_err(EmulateError::at("find", root))?;
        // Held while folders come and go, so that nobody sweeps one that is not locked yet.
        let gate = lock(&root.join(GATE), FlockOperation::LockExclusive)?;
        let controllers = Controllers::of_this_machine();
        let leftovers = sweep_with(&root, &controllers)?;
        let folder = new_folder(&root)?;
        let owner = lock(&folder.join(OWNER), FlockOperation::NonBlockingLockExclusive)?;
        drop(gate);
        let mut machine = Self {
            spec: spec.clone(),
            throttle: None,
            groups: Groups::new(&group_name(&folder), controllers.clone()),
            disk: None,
            lacking: Vec::new(),
            leftovers,
            folder,
            _owner: owner,
        };
        machine.emulate(&controllers, bytes)?;
        Ok(machine)
    }

    fn emulate(&mut self, controllers: &Controllers, bytes: u64) -> Result<(), EmulateError> {
        let root = rustix::process::geteuid().is_root();
        let missing = |there: bool, controller: &str| missing(root, there, controller);
        let mut lack = |what, why: Option<String>| match why {
            Some(why) => {
                self.lacking.push(Lacking { what, why });
                false
            }
            None => true,
        };
        if let Some(cpu) = self.spec.cpu {
            let here = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
            let too_many = (cpu > here).then(|| {
                format!("{cpu} processors are asked for and this computer has {here}; use a larger --scale")
            });
            if lack("the processor quota", missing(controllers.cpu.is_some(), "processors").or(too_many)) {
                self.groups.limit_cpu(cpu)?;
            }
        }
        if let Some(memory) = self.spec.memory
            && lack("the memory limit", missing(controllers.memory.is_some(), "memory"))
        {
            self.groups.limit_memory(memory)?;
        }
        let limited = self.spec.iops.is_some() || self.spec.bytes_s.is_some();
        if limited && lack("the disk", missing(controllers.io.is_some(), "disks").or(loop_tools().err())) {
            let disk = Disk::make(&self.folder, bytes)?;
            if !disk.direct {
                let why = "the file system under it allows no direct access, so the page cache of this computer helps; put the cache on another \
                           file system (TUNESMITH_CACHE_DIR)";
                self.lacking.push(Lacking { what: "a disk without a cache", why: why.into() });
            }
            let place = self.groups.throttled()?;
            self.throttle = place.map(|p| disk.throttle(p, self.spec.iops, self.spec.bytes_s)).transpose()?;
            self.disk = Some(disk);
        }
        Ok(())
    }

    /// What the machine is.
    pub fn spec(&self) -> &MachineSpec {
        &self.spec
    }

    /// Where its servers keep their data: on the emulated disk, if there is one.
    pub fn path(&self) -> &Path {
        self.disk.as_ref().map_or(&self.folder, Disk::path)
    }

    /// Whether its disk is emulated.
    pub fn has_disk(&self) -> bool {
        self.disk.is_some()
    }

    /// The control groups that its servers have to join.
    pub fn control_groups(&self) -> Vec<PathBuf> {
        self.groups.to_join().to_vec()
    }

    /// The limit on its disk.
    pub fn throttle(&self) -> Option<&Throttle> {
        self.throttle.as_ref()
    }

    /// How many processes its memory limit has killed so far.
    pub fn oom_kills(&self) -> u64 {
        self.groups.oom_kills()
    }

    /// What of it is not emulated, and why.
    pub fn lacking(&self) -> &[Lacking] {
        &self.lacking
    }

    /// What earlier machines had left and was taken away first.
    pub fn leftovers(&self) -> Leftovers {
        self.leftovers
    }
}

impl Drop for Emulated {
    fn drop(&mut self) {
        if let Some(throttle) = &self.throttle {
            // What is still to be written is written at the speed of this computer.
            let _ = throttle.off();
        }
        remove_named(&group_name(&self.folder), &Controllers::of_this_machine());
        self.disk = None;
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Takes machines apart whose owners are gone.
///
/// # Errors
/// If the folder can't be read.
pub fn sweep(root: &Path) -> Result<Leftovers, EmulateError> {
    if !root.is_dir() {
        return Ok(Leftovers::default());
    }
    let root = root.canonicalize().map_err(EmulateError::at("find", root))?;
    let _gate = lock(&root.join(GATE), FlockOperation::LockExclusive)?;
    sweep_with(&root, &Controllers::of_this_machine())
}

fn sweep_with(root: &Path, controllers: &Controllers) -> Result<Leftovers, EmulateError> {
    let mut found = Leftovers::default();
    for entry in fs::read_dir(root).map_err(EmulateError::at("read", root))? {
        let folder = entry.map_err(EmulateError::at("read", root))?.path();
        if !folder.is_dir() {
            continue;
        }
        // Without a lock file, its owner died before it was made.
        let held = match folder.join(OWNER).exists() {
            true => lock(&folder.join(OWNER), FlockOperation::NonBlockingLockExclusive).map(Some),
            false => Ok(None),
        };
        let Ok(held) = held else { continue };
        found.groups += u32::from(remove_named(&group_name(&folder), controllers));
        found.disks += u32::from(disk::clear(&folder));
        fs::remove_dir_all(&folder).map_err(EmulateError::at("remove", &folder))?;
        drop(held);
        found.folders += 1;
    }
    Ok(found)
}

fn group_name(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("tunesmith-{name}")
}

/// Process numbers come again, and one process may want several machines.
fn new_folder(root: &Path) -> Result<PathBuf, EmulateError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = root.join(format!("{}-{n}", std::process::id()));
        match fs::create_dir(&folder) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder.clone()).map_err(EmulateError::at("make", &folder)),
        }
    }
}

fn lock(path: &Path, how: FlockOperation) -> Result<File, EmulateError> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(EmulateError::at("open", path))?;
    flock(&file, how).map_err(|e| EmulateError::new(format!("lock {}", path.display()), e.into()))?;
    Ok(file)
}

fn loop_tools() -> Result<(), String> {
    if !Path::new("/dev/loop-control").exists() {
        return Err(
            "there are no loop devices; modprobe loop, or start the container with --privileged".into()
        );
    }
    disk_tools()
}

fn disk_tools() -> Result<(), String> {
    let usual = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(usual).collect();
    let lacks = |tool: &str| !folders.iter().any(|folder| folder.join(tool).is_file());
    match ["losetup", "mkfs.xfs", "mount"].into_iter().find(|tool| lacks(tool)) {
        Some("mkfs.xfs") => Err("mkfs.xfs is missing; apt-get install xfsprogs".into()),
        Some(tool) => Err(format!("{tool} is missing; apt-get install util-linux mount")),
        None => Ok(()),
    }
}
