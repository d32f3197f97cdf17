//! Work folders with an owner: what a process that was killed left behind, the next one sweeps.
//!
//! A work folder lives as long as its owner, who holds a lock on a file in it. The system releases the lock when the
//! owner is gone, however it went; a folder whose lock can be had is therefore nobody's. Before it is removed, servers
//! recorded in it are ended, if they still run: by process number *and* start time *and* command line.

use crate::clone::remove_dir;
use crate::lock::Lock;
use crate::paths;
use crate::private::record::Record;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const OWNER: &str = "owner.lock";
const RUN: &str = "run";
const GATE: &str = "gate.lock";

/// A folder for one process's servers: data directories in it, sockets in a folder of short path beside it. Both are
/// removed on drop; drop the servers first.
#[derive(Debug)]
pub struct Workdir {
    path: PathBuf,
    run: PathBuf,
    sockets: AtomicU32,
    swept: Swept,
    _owner: Lock,
}

/// What was left over and has been taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Work folders without an owner.
    pub folders: u32,
    /// Servers that still ran in them.
    pub servers: u32,
}

/// A work folder that could not be made or swept.
#[derive(Debug)]
pub struct WorkdirError {
    attempted: String,
    source: io::Error,
}

impl fmt::Display for WorkdirError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}", self.attempted)
    }
}

impl std::error::Error for WorkdirError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

fn failed(what: &str, path: &Path) -> impl FnOnce(io::Error) -> WorkdirError {
    let attempted = format!("{what} {}", path.display());
    move |source| WorkdirError { attempted, source }
}

impl Workdir {
    /// A new work folder in the platform's cache folder.
    pub fn platform() -> Result<Self, WorkdirError> {
        Self::create(&Self::platform_root()?)
    }

    /// Where work folders are by default.
    pub fn platform_root() -> Result<PathBuf, WorkdirError> {
        let none = || WorkdirError {
            attempted: "find a cache folder".into(),
            source: io::Error::other(format!("set HOME or {}", paths::CACHE_DIR_VARIABLE)),
        };
        Ok(paths::cache_dir().ok_or_else(none)?.join("work"))
    }

    /// Sweeps `root`, and makes a new work folder in it.
    pub fn create(root: &Path) -> Result<Self, WorkdirError> {
        fs::create_dir_all(root).map_err(failed("make", root))?;
        let root = root.canonicalize().map_err(failed("find", root))?;
        let runtime = paths::runtime_dir()
            .map_err(|source| WorkdirError { attempted: "make a folder for sockets".into(), source })?;
        // Held while folders come and go, so that nobody sweeps one that is not locked yet.
        let _gate = Lock::take(&root.join(GATE)).map_err(failed("lock", &root))?;
        let swept = sweep_unlocked(&root)?;
        let (path, run) = new_pair(&root, &runtime).map_err(failed("make a folder in", &root))?;
        let owner = Lock::try_take(&path.join(OWNER))
            .and_then(|lock| lock.ok_or_else(|| io::Error::other("somebody else has its lock")))
            .map_err(failed("lock", &path))?;
        fs::write(path.join(RUN), run.as_os_str().as_encoded_bytes()).map_err(failed("write in", &path))?;
        Ok(Self { path, run, sockets: AtomicU32::new(0), swept, _owner: owner })
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A place for a data directory: nothing is there yet.
    pub fn datadir(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A new folder for one server's socket, log and record.
    pub fn new_socket_dir(&self) -> Result<PathBuf, WorkdirError> {
        let dir = self.run.join(self.sockets.fetch_add(1, Ordering::Relaxed).to_string());
        fs::create_dir(&dir).map_err(failed("make", &dir))?;
        Ok(dir)
    }

    /// What was found and removed when this folder was made.
    pub fn swept(&self) -> Swept {
        self.swept
    }
}

impl Drop for Workdir {
    fn drop(&mut self) {
        let _ = remove_dir(&self.run);
        let _ = remove_dir(&self.path);
    }
}

/// Removes what owners that are gone left in `root`.
pub fn sweep(root: &Path) -> Result<Swept, WorkdirError> {
    if !root.is_dir() {
        return Ok(Swept::default());
    }
    let _gate = Lock::take(&root.join(GATE)).map_err(failed("lock", root))?;
    sweep_unlocked(root)
}

fn sweep_unlocked(root: &Path) -> Result<Swept, WorkdirError> {
    let mut swept = Swept::default();
    for entry in fs::read_dir(root).map_err(failed("read", root))? {
        let dir = entry.map_err(failed("read", root))?.path();
        if !dir.is_dir() {
            continue;
        }
        let owner = dir.join(OWNER);
        // Without a lock file its owner died before it was made; opening it here would make one.
        let lock = if owner.exists() {
            match Lock::try_take(&owner).map_err(failed("lock", &owner))? {
                None => continue,
                lock => lock,
            }
        } else {
            None
        };
        swept.servers += end_servers(&dir);
        remove_dir(&dir).map_err(failed("remove", &dir))?;
        drop(lock);
        swept.folders += 1;
    }
    Ok(swept)
}

/// Ends the servers recorded in a folder's socket folders, and removes those.
fn end_servers(dir: &Path) -> u32 {
    use std::os::unix::ffi::OsStringExt;
    let Ok(run) = fs::read(dir.join(RUN)) else { return 0 };
    let run = PathBuf::from(std::ffi::OsString::from_vec(run));
    let name = dir.file_name();
    // A damaged file must not make us remove something else: both folders have the same name.
    if run.file_name() != name || !run.is_absolute() {
        return 0;
    }
    let sockets = fs::read_dir(&run).into_iter().flatten().flatten();
    let killed = sockets.filter_map(|s| Record::read(&s.path())).filter(Record::kill).count();
    let _ = remove_dir(&run);
    u32::try_from(killed).unwrap_or(u32::MAX)
}

/// Two new folders of one name.
fn new_pair(root: &Path, runtime: &Path) -> io::Result<(PathBuf, PathBuf)> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let name =
            if n == 0 { format!("{}", std::process::id()) } else { format!("{}-{n}", std::process::id()) };
        let run = runtime.join(&name);
        match fs::create_dir(&run) {
            // Another root may use the same folder for sockets, and so may a namespace with the same numbers.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
            made => made?,
        }
        let path = root.join(&name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok((path, run)),
            Err(e) => {
                let _ = fs::remove_dir(&run);
                if e.kind() != io::ErrorKind::AlreadyExists {
                    return Err(e);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::tests::sleeper;

    #[test]
    fn a_folder_with_an_owner_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let first = Workdir::create(root.path()).unwrap();
        let second = Workdir::create(root.path()).unwrap();
        assert_eq!(second.swept(), Swept::default());
        assert!(first.path().is_dir() && first.path() != second.path());
    }

    #[test]
    fn folders_go_with_their_owner() {
        let root = tempfile::tempdir().unwrap();
        let work = Workdir::create(root.path()).unwrap();
        let (path, sockets) = (work.path().to_owned(), work.new_socket_dir().unwrap());
        drop(work);
        assert!(!path.exists() && !sockets.exists());
    }

    #[test]
    fn what_a_killed_owner_left_is_swept_with_its_server_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let runtime = paths::runtime_dir().unwrap();
        let name = format!("left-over-{}", std::process::id());
        let (dir, run) = (root.path().join(&name), runtime.join(&name));
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join(OWNER), "").unwrap();
        fs::write(dir.join(RUN), run.as_os_str().as_encoded_bytes()).unwrap();
        fs::create_dir_all(run.join("0")).unwrap();
        fs::create_dir_all(run.join("1")).unwrap();
        let mut stray = sleeper("61");
        let mut other = sleeper("62");
        Record::write(&run.join("0"), stray.id(), "61".as_ref()).unwrap();
        // The number was reused since: another command line.
        Record::write(&run.join("1"), other.id(), "61".as_ref()).unwrap();
        fs::create_dir(root.path().join("half-made")).unwrap();

        assert_eq!(sweep(root.path()).unwrap(), Swept { folders: 2, servers: 1 });

        assert!(!dir.exists() && !run.exists() && !root.path().join("half-made").exists());
        assert!(!stray.wait().unwrap().success());
        assert!(other.try_wait().unwrap().is_none(), "not ours");
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_damaged_folder_does_not_lead_elsewhere() {
        let root = tempfile::tempdir().unwrap();
        let precious = tempfile::tempdir().unwrap();
        let dir = root.path().join("1234");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join(OWNER), "").unwrap();
        fs::write(dir.join(RUN), precious.path().as_os_str().as_encoded_bytes()).unwrap();
        sweep(root.path()).unwrap();
        assert!(precious.path().exists() && !dir.exists());
    }
}
