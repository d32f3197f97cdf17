//! A disk of limited speed: a sparse file, a loop device over it, XFS on that, and a throttle on the device.
//!
//! The loop device reads and writes the file directly, so the host's page cache neither hides reads nor delays writes. XFS copies by
//! reference, so a data set of any size is laid out anew in a moment.

use super::cgroup::{Hierarchy, write};
use super::error::EmulateError;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const IMAGE: &str = "disk.img";
const MOUNT: &str = "disk";
/// XFS refuses less than 300 MB.
const LEAST: u64 = 512 << 20;

/// A mounted disk of our own; unmounted and detached on drop.
#[derive(Debug)]
pub(super) struct Disk {
    device: PathBuf,
    mount: PathBuf,
    /// Whether the host's page cache is out of the way.
    pub(super) direct: bool,
}

impl Disk {
    /// A new disk of at least `bytes` in `folder`. The file is sparse: it takes the room of what is written.
    pub(super) fn make(folder: &Path, bytes: u64) -> Result<Self, EmulateError> {
        let (image, mount) = (folder.join(IMAGE), folder.join(MOUNT));
        let file = fs::File::create_new(&image).map_err(EmulateError::at("make", &image))?;
        file.set_len(bytes.max(LEAST)).map_err(EmulateError::at("size", &image))?;
        let attach =
            |direct: &str| run(Command::new("losetup").args(["--find", "--show", direct]).arg(&image));
        // Not every file system can be read directly; in memory, for one.
        let (device, direct) = match attach("--direct-io=on") {
            Ok(device) => (device, true),
            Err(_) => (attach("--direct-io=off")?, false),
        };
        let disk = Self { device: PathBuf::from(device.trim()), mount, direct };
        run(Command::new("mkfs.xfs").args(["-q", "-m", "reflink=1"]).arg(&disk.device))?;
        fs::create_dir_all(&disk.mount).map_err(EmulateError::at("make", &disk.mount))?;
        run(Command::new("mount").args(["-t", "xfs", "-o", "noatime"]).arg(&disk.device).arg(&disk.mount))?;
        Ok(disk)
    }

    /// Where it is mounted.
    pub(super) fn path(&self) -> &Path {
        &self.mount
    }

    /// Its throttle in a hierarchy.
    pub(super) fn throttle(
        &self,
        place: Hierarchy,
        iops: Option<u32>,
        bytes_s: Option<u64>,
    ) -> Result<Throttle, EmulateError> {
        let device = fs::metadata(&self.device).map_err(EmulateError::at("look at", &self.device))?.rdev();
        let device = (rustix::fs::major(device), rustix::fs::minor(device));
        Ok(Throttle { place, device, iops, bytes_s })
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        unmount(&self.mount);
        let _ = run(Command::new("losetup").arg("--detach").arg(&self.device));
    }
}

/// Takes apart what a process that was killed left in `folder`. Whether there was anything.
pub(super) fn clear(folder: &Path) -> bool {
    let mounted = unmount(&folder.join(MOUNT));
    let image = folder.join(IMAGE);
    let devices = match image.exists() {
        true => run(Command::new("losetup")
            .args(["--noheadings", "--output", "NAME", "--associated"])
            .arg(&image)),
        false => Ok(String::new()),
    };
    let devices = devices.unwrap_or_default();
    for device in devices.split_whitespace() {
        let _ = run(Command::new("losetup").arg("--detach").arg(device));
    }
    mounted || !devices.trim().is_empty()
}

/// Unmounts, as soon as the last process has let go. Whether there was something mounted.
fn unmount(mount: &Path) -> bool {
    if !is_mounted(mount) {
        return false;
    }
    let deadline = Instant::now() + Duration::from_secs(10);
    while is_mounted(mount) && run(Command::new("umount").arg(mount)).is_err() {
        if Instant::now() >= deadline {
            // Out of sight at once, and gone when its last user is.
            let _ = run(Command::new("umount").arg("--lazy").arg(mount));
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    true
}

/// Another device than the folder that it is in.
fn is_mounted(mount: &Path) -> bool {
    let device = |path: &Path| fs::metadata(path).map(|m| m.dev()).ok();
    match (device(mount), mount.parent().and_then(device)) {
        (Some(inside), Some(outside)) => inside != outside,
        _ => false,
    }
}

fn run(command: &mut Command) -> Result<String, EmulateError> {
    let out = command.output();
    let failed = |source| EmulateError::new(format!("run {}", command_line(command)), source);
    let out = match out {
        Ok(out) => out,
        Err(source) => return Err(failed(source)),
    };
    if out.status.success() {
        return Ok(String::from_utf8_lossy(&out.stdout).into_owned());
    }
    Err(failed(io::Error::other(String::from_utf8_lossy(&out.stderr).trim().to_owned())))
}

fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The limit on a disk: it can be taken off and put on again, for loading and shutting down are not what is measured.
#[derive(Debug, Clone)]
pub struct Throttle {
    place: Hierarchy,
    device: (u32, u32),
    iops: Option<u32>,
    bytes_s: Option<u64>,
}

impl Throttle {
    /// Puts the limit on.
    ///
    /// # Errors
    /// If the kernel does not take it.
    pub fn on(&self) -> Result<(), EmulateError> {
        self.write(self.iops, self.bytes_s)
    }

    /// Takes the limit off.
    ///
    /// # Errors
    /// If the kernel does not take it.
    pub fn off(&self) -> Result<(), EmulateError> {
        self.write(None, None)
    }

    /// Puts another rate on: that of a volume whose burst credits are used up.
    ///
    /// # Errors
    /// If the kernel does not take it.
    pub fn at_rate(&self, iops: u32) -> Result<(), EmulateError> {
        self.write(Some(iops), self.bytes_s)
    }

    fn write(&self, iops: Option<u32>, bytes_s: Option<u64>) -> Result<(), EmulateError> {
        let (major, minor) = self.device;
        match &self.place {
            Hierarchy::V1(root) => {
                for (unit, limit) in [("iops", iops.map(u64::from)), ("bps", bytes_s)] {
                    // Zero is no limit.
                    let text = format!("{major}:{minor} {}", limit.unwrap_or(0));
                    write(&root.join(format!("blkio.throttle.read_{unit}_device")), &text)?;
                    write(&root.join(format!("blkio.throttle.write_{unit}_device")), &text)?;
                }
                Ok(())
            }
            Hierarchy::V2(group) => {
                let word = |limit: Option<u64>| limit.map_or_else(|| "max".to_owned(), |n| n.to_string());
                let (n, b) = (word(iops.map(u64::from)), word(bytes_s));
                write(
                    &group.join("io.max"),
                    &format!("{major}:{minor} rbps={b} wbps={b} riops={n} wiops={n}"),
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_throttle_is_written_in_the_words_of_each_version() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_owned();
        let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
        let throttle = |place| Throttle { place, device: (7, 3), iops: Some(125), bytes_s: None };

        let v1 = throttle(Hierarchy::V1(root.clone()));
        v1.on().unwrap();
        assert_eq!(read("blkio.throttle.read_iops_device"), "7:3 125");
        assert_eq!(read("blkio.throttle.write_iops_device"), "7:3 125");
        assert_eq!(read("blkio.throttle.write_bps_device"), "7:3 0");
        v1.off().unwrap();
        assert_eq!(read("blkio.throttle.write_iops_device"), "7:3 0");

        let v2 = throttle(Hierarchy::V2(root.clone()));
        v2.on().unwrap();
        assert_eq!(read("io.max"), "7:3 rbps=max wbps=max riops=125 wiops=125");
        v2.at_rate(50).unwrap();
        assert_eq!(read("io.max"), "7:3 rbps=max wbps=max riops=50 wiops=50");
        v2.off().unwrap();
        assert_eq!(read("io.max"), "7:3 rbps=max wbps=max riops=max wiops=max");
    }

    #[test]
    fn a_folder_with_nothing_in_it_is_clear() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!clear(dir.path()));
        assert!(!is_mounted(&dir.path().join("disk")));
        assert!(is_mounted(Path::new("/proc")));
    }
}
