//! Copies of data directories: by reference where the file system can (XFS, Btrfs: "reflink"), else byte by byte.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// What a copy took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CloneStats {
    /// Regular files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that share their blocks with the original.
    pub reflinked: u64,
}

/// A copy that was not made. Nothing is at its place.
#[derive(Debug)]
pub struct CloneError {
    from: PathBuf,
    to: PathBuf,
    source: io::Error,
}

impl CloneError {
    /// Whether the disk was full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}

impl fmt::Display for CloneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to copy {} to {}", self.from.display(), self.to.display())
    }
}

impl std::error::Error for CloneError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Copies a folder with all that is in it to a place where nothing is. The copy appears there whole or not at all;
/// what an interrupted copy left beside it is taken away by the next.
///
/// The folder must not change meanwhile: stop the server first.
pub fn clone_dir(from: &Path, to: &Path) -> Result<CloneStats, CloneError> {
    let failed = |source| CloneError { from: from.to_owned(), to: to.to_owned(), source };
    if to.exists() {
        return Err(failed(io::Error::from(io::ErrorKind::AlreadyExists)));
    }
    let mut partial = to.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    remove_dir(&partial).map_err(failed)?;
    let mut stats = CloneStats::default();
    let copied = copy_tree(from, &partial, &mut stats).and_then(|()| fs::rename(&partial, to));
    copied.map_err(|e| {
        // Above all where the disk is full.
        let _ = remove_dir(&partial);
        failed(e)
    })?;
    Ok(stats)
}

fn copy_tree(from: &Path, to: &Path, stats: &mut CloneStats) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_tree(&source, &target, stats)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            copy_file(&source, &target, stats)?;
        }
        // A socket or a pipe belongs to a running server, not to its data.
    }
    fs::set_permissions(to, fs::metadata(from)?.permissions())
}

fn copy_file(from: &Path, to: &Path, stats: &mut CloneStats) -> io::Result<()> {
    let source = File::open(from)?;
    let metadata = source.metadata()?;
    let target = File::create_new(to)?;
    if rustix::fs::ioctl_ficlone(&target, &source).is_ok() {
        target.set_permissions(metadata.permissions())?;
        stats.reflinked += 1;
    } else {
        drop(target);
        fs::copy(from, to)?;
    }
    stats.files += 1;
    stats.bytes += metadata.len();
    Ok(())
}

/// Whether copies within this folder share blocks. Tries it with a file, which is gone afterwards.
pub fn reflink_works(dir: &Path) -> io::Result<bool> {
    let names = ["a", "b"].map(|n| dir.join(format!(".reflink-{}-{n}", std::process::id())));
    let tried = (|| {
        fs::write(&names[0], [0_u8; 4096])?;
        let (source, target) = (File::open(&names[0])?, File::create(&names[1])?);
        Ok(rustix::fs::ioctl_ficlone(&target, &source).is_ok())
    })();
    for name in &names {
        let _ = fs::remove_file(name);
    }
    tried
}

/// Removes a folder and what is in it; none there is as good.
pub(crate) fn remove_dir(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn original(dir: &Path) -> PathBuf {
        let from = dir.join("from");
        fs::create_dir_all(from.join("sub dir")).unwrap();
        fs::write(from.join("ibdata1"), vec![7_u8; 100_000]).unwrap();
        fs::write(from.join("sub dir/t.ibd"), "rows").unwrap();
        fs::set_permissions(from.join("sub dir/t.ibd"), fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink("ibdata1", from.join("link")).unwrap();
        from
    }

    #[test]
    fn a_copy_has_the_same_bytes_modes_and_links_and_is_independent() {
        let dir = tempfile::tempdir().unwrap();
        let from = original(dir.path());
        let to = dir.path().join("to");
        let stats = clone_dir(&from, &to).unwrap();
        assert_eq!((stats.files, stats.bytes), (2, 100_004));
        assert_eq!(fs::read(to.join("ibdata1")).unwrap(), vec![7_u8; 100_000]);
        assert_eq!(fs::metadata(to.join("sub dir/t.ibd")).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("ibdata1"));

        fs::write(to.join("sub dir/t.ibd"), "changed").unwrap();
        assert_eq!(fs::read_to_string(from.join("sub dir/t.ibd")).unwrap(), "rows");
    }

    #[test]
    fn what_an_interrupted_copy_left_is_not_part_of_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let from = original(dir.path());
        fs::create_dir(dir.path().join("to.partial")).unwrap();
        fs::write(dir.path().join("to.partial/stale"), "x").unwrap();
        clone_dir(&from, &dir.path().join("to")).unwrap();
        assert!(!dir.path().join("to/stale").exists());
        assert!(!dir.path().join("to.partial").exists());
    }

    #[test]
    fn nothing_is_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let from = original(dir.path());
        fs::create_dir(dir.path().join("to")).unwrap();
        let error = clone_dir(&from, &dir.path().join("to")).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_copy_that_fails_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        clone_dir(&dir.path().join("missing"), &dir.path().join("to")).unwrap_err();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn asking_for_reflinks_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        reflink_works(dir.path()).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
