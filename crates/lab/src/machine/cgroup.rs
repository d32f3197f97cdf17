//! Control groups, version 1 and 2: processor quota, memory limit, disk throttle. Everything is a file that is written.

use super::error::EmulateError;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Period of the processor quota, microseconds: the kernel's default.
const PERIOD: u64 = 100_000;
/// The shortest quota that the kernel takes, microseconds.
const LEAST_QUOTA: u64 = 1000;

/// Where a controller lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Hierarchy {
    /// Version 1: a hierarchy of its own.
    V1(PathBuf),
    /// Version 2: the one hierarchy.
    V2(PathBuf),
}

impl Hierarchy {
    pub(super) fn root(&self) -> &Path {
        match self {
            Self::V1(root) | Self::V2(root) => root,
        }
    }
}

/// The controllers that this machine has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Controllers {
    pub(super) cpu: Option<Hierarchy>,
    pub(super) memory: Option<Hierarchy>,
    pub(super) io: Option<Hierarchy>,
}

impl Controllers {
    pub(super) fn of_this_machine() -> Self {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        Self::from_mounts(&mounts, |root| {
            fs::read_to_string(root.join("cgroup.controllers")).unwrap_or_default()
        })
    }

    /// From `/proc/self/mounts`; `offered` reads what a version 2 hierarchy offers. Machines in between have both versions mounted, with each
    /// controller in one of them.
    fn from_mounts(mounts: &str, offered: impl Fn(&Path) -> String) -> Self {
        let mut found = Self::default();
        for line in mounts.lines() {
            let mut fields = line.split(' ').skip(1);
            let (Some(root), Some(kind), Some(options)) = (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let root = PathBuf::from(root);
            match kind {
                "cgroup" => {
                    let has = |name: &str| options.split(',').any(|o| o == name);
                    // The first mount is the system's own; a chroot being made may have the same again, and take it away again.
                    let take = |slot: &mut Option<Hierarchy>, name: &str| {
                        if has(name) && !matches!(slot, Some(Hierarchy::V1(_))) {
                            *slot = Some(Hierarchy::V1(root.clone()));
                        }
                    };
                    take(&mut found.cpu, "cpu");
                    take(&mut found.memory, "memory");
                    take(&mut found.io, "blkio");
                }
                "cgroup2" => {
                    let offered = offered(&root);
                    let has = |name: &str| offered.split_whitespace().any(|o| o == name);
                    let here = || Some(Hierarchy::V2(root.clone()));
                    found.cpu = found.cpu.or_else(|| has("cpu").then(here).flatten());
                    found.memory = found.memory.or_else(|| has("memory").then(here).flatten());
                    found.io = found.io.or_else(|| has("io").then(here).flatten());
                }
                _ => {}
            }
        }
        found
    }

    fn all(&self) -> impl Iterator<Item = &Hierarchy> {
        [&self.cpu, &self.memory, &self.io].into_iter().flatten()
    }
}

/// Groups of one name, one in each hierarchy.
#[derive(Debug)]
pub(super) struct Groups {
    name: String,
    controllers: Controllers,
    made: Vec<PathBuf>,
}

impl Groups {
    /// No groups yet; those that are made are removed on drop.
    pub(super) fn new(name: &str, controllers: Controllers) -> Self {
        Self { name: name.to_owned(), controllers, made: Vec::new() }
    }

    pub(super) fn limit_cpu(&mut self, processors: f64) -> Result<(), EmulateError> {
        let Some(hierarchy) = self.controllers.cpu.clone() else { return Ok(()) };
        let group = self.make(&hierarchy, "cpu")?;
        let quota = quota(processors);
        match hierarchy {
            Hierarchy::V1(_) => {
                write(&group.join("cpu.cfs_period_us"), &PERIOD.to_string())?;
                write(&group.join("cpu.cfs_quota_us"), &quota.to_string())
            }
            Hierarchy::V2(_) => write(&group.join("cpu.max"), &format!("{quota} {PERIOD}")),
        }
    }

    pub(super) fn limit_memory(&mut self, bytes: u64) -> Result<(), EmulateError> {
        let Some(hierarchy) = self.controllers.memory.clone() else { return Ok(()) };
        let group = self.make(&hierarchy, "memory")?;
        match hierarchy {
            Hierarchy::V1(_) => write(&group.join("memory.limit_in_bytes"), &bytes.to_string()),
            Hierarchy::V2(_) => write(&group.join("memory.max"), &bytes.to_string()),
        }
    }

    /// Where a disk is throttled. In version 1 delayed writes are charged to the root group, so it is throttled there, for that one device; in
    /// version 2 they are charged to the writer.
    pub(super) fn throttled(&mut self) -> Result<Option<Hierarchy>, EmulateError> {
        match self.controllers.io.clone() {
            Some(Hierarchy::V1(root)) => Ok(Some(Hierarchy::V1(root))),
            Some(hierarchy) => Ok(Some(Hierarchy::V2(self.make(&hierarchy, "io")?))),
            None => Ok(None),
        }
    }

    /// Processes that the memory limit has killed: `oom_kill` in `memory.oom_control` (version 1) or `memory.events` (version 2).
    pub(super) fn oom_kills(&self) -> u64 {
        let count = |group: &PathBuf| {
            ["memory.oom_control", "memory.events"].iter().find_map(|file| {
                let text = fs::read_to_string(group.join(file)).ok()?;
                text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok())
            })
        };
        self.made.iter().filter_map(count).sum()
    }

    /// The groups that a server has to join.
    pub(super) fn to_join(&self) -> &[PathBuf] {
        &self.made
    }

    fn make(&mut self, hierarchy: &Hierarchy, controller: &str) -> Result<PathBuf, EmulateError> {
        if let Hierarchy::V2(root) = hierarchy {
            write(&root.join("cgroup.subtree_control"), &format!("+{controller}"))?;
        }
        let group = hierarchy.root().join(&self.name);
        fs::create_dir_all(&group).map_err(EmulateError::at("make the control group", &group))?;
        if !self.made.contains(&group) {
            self.made.push(group.clone());
        }
        Ok(group)
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        for group in &self.made {
            remove(group);
        }
    }
}

/// Ends what runs in the groups of a name, and removes them.
pub(super) fn remove_named(name: &str, controllers: &Controllers) -> bool {
    let groups: Vec<PathBuf> =
        controllers.all().map(|h| h.root().join(name)).filter(|g| g.is_dir()).collect();
    groups.iter().for_each(|group| remove(group));
    !groups.is_empty()
}

fn remove(group: &Path) {
    let deadline = Instant::now() + Duration::from_secs(10);
    // A group can be removed when the last process in it is gone, which the kernel notices a moment later.
    while fs::remove_dir(group).is_err_and(|e| e.kind() != io::ErrorKind::NotFound)
        && Instant::now() < deadline
    {
        let members = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        for pid in members.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few processors")]
fn quota(processors: f64) -> u64 {
    ((processors * PERIOD as f64) as u64).max(LEAST_QUOTA)
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), EmulateError> {
    fs::write(path, text).map_err(|e| EmulateError::new(format!("write {text:?} to {}", path.display()), e))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu,cpuacct 0 0\n\
        cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n\
        cgroup /sys/fs/cgroup/blkio cgroup rw,relatime,blkio 0 0\n\
        cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n";
    const NEW: &str = "/dev/sda1 / ext4 rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n";

    #[test]
    fn controllers_are_found_in_either_version() {
        let old = Controllers::from_mounts(OLD, |_| String::new());
        assert_eq!(old.io, Some(Hierarchy::V1("/sys/fs/cgroup/blkio".into())));
        assert_eq!(old.cpu, Some(Hierarchy::V1("/sys/fs/cgroup/cpu".into())));
        let new = Controllers::from_mounts(NEW, |_| "cpuset cpu io memory pids\n".into());
        let here = Some(Hierarchy::V2("/sys/fs/cgroup".into()));
        assert_eq!((&new.cpu, &new.memory, &new.io), (&here, &here, &here));
        let again = OLD.replace("/sys/fs", "/mnt/chroot/sys/fs");
        let twice = Controllers::from_mounts(&format!("{OLD}{again}"), |_| String::new());
        assert_eq!(twice, old, "a second mount, as in a chroot, changes nothing");
        let poor = Controllers::from_mounts(NEW, |_| "cpuset cpu\n".into());
        assert_eq!((poor.cpu.is_some(), poor.memory, poor.io), (true, None, None));
        assert_eq!(Controllers::from_mounts("nonsense", |_| String::new()), Controllers::default());
    }

    fn written(path: &Path) -> String {
        fs::read_to_string(path).unwrap()
    }

    /// A folder in place of the kernel's: what is written where is all that these functions do.
    #[test]
    fn limits_are_written_in_the_words_of_each_version() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        let v1 = |name: &str| {
            fs::create_dir_all(root.join(name)).unwrap();
            Some(Hierarchy::V1(root.join(name)))
        };
        let controllers = Controllers { cpu: v1("cpu"), memory: v1("memory"), io: v1("blkio") };
        let mut groups = std::mem::ManuallyDrop::new(Groups::new("g", controllers));
        groups.limit_cpu(0.5).unwrap();
        groups.limit_memory(4 << 30).unwrap();
        assert_eq!(written(&root.join("cpu/g/cpu.cfs_quota_us")), "50000");
        assert_eq!(written(&root.join("memory/g/memory.limit_in_bytes")), "4294967296");
        assert_eq!(groups.throttled().unwrap(), Some(Hierarchy::V1(root.join("blkio"))));
        assert_eq!(groups.to_join(), [root.join("cpu/g"), root.join("memory/g")]);

        assert_eq!(groups.oom_kills(), 0);
        let control = "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n";
        fs::write(root.join("memory/g/memory.oom_control"), control).unwrap();
        assert_eq!(groups.oom_kills(), 2, "what the memory limit killed is counted");

        let v2 = root.join("unified");
        fs::create_dir(&v2).unwrap();
        let one = Some(Hierarchy::V2(v2.clone()));
        let controllers = Controllers { cpu: one.clone(), memory: one.clone(), io: one };
        let mut groups = std::mem::ManuallyDrop::new(Groups::new("g", controllers));
        groups.limit_cpu(2.0).unwrap();
        assert_eq!(written(&v2.join("cgroup.subtree_control")), "+cpu");
        groups.limit_memory(1 << 30).unwrap();
        assert_eq!(groups.throttled().unwrap(), Some(Hierarchy::V2(v2.join("g"))));
        assert_eq!(written(&v2.join("g/cpu.max")), "200000 100000");
        assert_eq!(written(&v2.join("g/memory.max")), "1073741824");
        assert_eq!(groups.to_join(), [v2.join("g")]);
        fs::write(v2.join("g/memory.events"), "low 0\noom 1\noom_kill 1\noom_group_kill 0\n").unwrap();
        assert_eq!(groups.oom_kills(), 1);
    }

    #[test]
    fn a_quota_is_never_shorter_than_the_kernel_takes() {
        assert_eq!((quota(1.0), quota(0.001)), (100_000, 1000));
    }
}
