//! The machine that a local server would run on: how much memory and how many cores may be used.
//!
//! In a container or a limited service the machine's own figures are not what a server may use, so control groups
//! (both versions) are asked on the way up to the root; the smallest limit counts. Cores come from
//! [`std::thread::available_parallelism`], which heeds affinity and CPU quotas.

use knobs::{Bytes, Machine};
use std::fs;
use std::path::{Path, PathBuf};

/// Which version of control groups the system has mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CgroupVersion {
    /// One hierarchy for each controller.
    V1,
    /// One hierarchy for all.
    V2,
}

/// The machine that this process runs on. What cannot be found out is `None`.
pub fn machine() -> Machine {
    let cores = std::thread::available_parallelism().ok().and_then(|n| u32::try_from(n.get()).ok());
    Machine { memory: memory_at(Path::new("/")).map(Bytes), cores }
}

/// The version of control groups in use, or `None` where there are none.
pub fn cgroup_version() -> Option<CgroupVersion> {
    cgroup_version_at(Path::new("/"))
}

fn cgroup_version_at(root: &Path) -> Option<CgroupVersion> {
    let mount = root.join("sys/fs/cgroup");
    if mount.join("cgroup.controllers").exists() {
        Some(CgroupVersion::V2)
    } else if mount.join("memory").is_dir() || mount.join("cpu").exists() {
        Some(CgroupVersion::V1)
    } else {
        None
    }
}

/// Bytes of memory that this process may use: `MemTotal`, or the smallest limit of its control groups.
fn memory_at(root: &Path) -> Option<u64> {
    let total = mem_total(&fs::read_to_string(root.join("proc/meminfo")).ok()?)?;
    let limit = match cgroup_version_at(root) {
        Some(CgroupVersion::V2) => smallest_limit(root, "sys/fs/cgroup", "", "memory.max"),
        Some(CgroupVersion::V1) => {
            smallest_limit(root, "sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes")
        }
        None => None,
    };
    // "Unlimited" is `max` (v2) or a huge number (v1).
    Some(limit.map_or(total, |limit| limit.min(total)))
}

fn mem_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

fn smallest_limit(root: &Path, mount: &str, controller: &str, file: &str) -> Option<u64> {
    let mount = root.join(mount);
    let own = own_group(&fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default(), controller);
    // In a container the path may be the host's, which is not visible: whatever of it exists is looked at.
    let mut group: PathBuf = mount.join(own.trim_start_matches('/'));
    let mut smallest = None;
    loop {
        if let Ok(text) = fs::read_to_string(group.join(file))
            && let Ok(limit) = text.trim().parse::<u64>()
        {
            smallest = Some(smallest.map_or(limit, |s: u64| s.min(limit)));
        }
        if group == mount || !group.pop() {
            return smallest;
        }
    }
}

/// The path of this process's group: the line `ID:CONTROLLERS:PATH` that names the controller, or for version 2
/// (no controller) the line with none.
fn own_group(text: &str, controller: &str) -> String {
    let of = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let controllers = parts.next()?;
        let path = parts.next()?;
        controllers.split(',').any(|c| c == controller).then(|| path.to_owned())
    };
    text.lines().find_map(of).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// A root folder with the files given.
    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let meminfo = ("proc/meminfo", "MemTotal:       8388608 kB\nMemFree: 1 kB\n");
        for (path, text) in files.iter().chain([&meminfo]) {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    #[test]
    fn version_2_takes_the_smallest_limit_on_the_way_up() {
        let dir = root(&[
            ("sys/fs/cgroup/cgroup.controllers", "cpu memory"),
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/memory.max", "2147483648\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
        ]);
        assert_eq!(memory_at(dir.path()), Some(2 * GIB));
    }

    #[test]
    fn version_1_looks_at_the_memory_hierarchy() {
        let dir = root(&[
            ("proc/self/cgroup", "4:cpu,cpuacct:/x\n3:memory:/svc\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/svc/memory.limit_in_bytes", "1073741824\n"),
        ]);
        assert_eq!(memory_at(dir.path()), Some(GIB));
    }

    #[test]
    fn no_limit_leaves_the_machines_memory() {
        let unlimited = root(&[
            ("proc/self/cgroup", "3:memory:/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        assert_eq!(memory_at(unlimited.path()), Some(8 * GIB));
    }

    #[test]
    fn a_path_of_the_host_is_not_visible_and_the_mount_counts() {
        let container = root(&[
            ("sys/fs/cgroup/cgroup.controllers", ""),
            ("proc/self/cgroup", "0::/docker/4f2a\n"),
            ("sys/fs/cgroup/memory.max", "536870912\n"),
        ]);
        assert_eq!(memory_at(container.path()), Some(GIB / 2));
    }

    #[test]
    fn without_control_groups_the_machine_is_as_it_is() {
        assert_eq!(memory_at(root(&[]).path()), Some(8 * GIB));
        assert!(machine().cores.is_some_and(|n| n >= 1));
    }
}
