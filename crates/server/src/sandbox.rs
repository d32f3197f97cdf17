//! Sandboxes: private servers with a name that outlive the command that starts them.
//!
//! Each has a folder in the user's cache with its data directory, a lock and a card that says where the server is.
//! A *supervisor*, a process of its own, holds the lock, starts the server and stays until it is asked to end
//! (SIGTERM); the server dies with it. So a sandbox runs exactly while its lock is held.

use crate::clone::remove_dir;
use crate::lock::Lock;
use crate::process::ProcessId;
use crate::{
    Binary, CloneError, ConnectOptions, PrivateServer, StartError, StartOptions, Stopped, TemplateCache,
    TemplateError, Workdir, WorkdirError,
};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const CARD: &str = "sandbox.json";
const LOCK: &str = "owner.lock";
const DATA: &str = "data";
/// Shutting down writes all dirty pages, which takes its time on a slow disk.
const STOP_TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(50);

/// All sandboxes of this user.
#[derive(Debug, Clone)]
pub struct Sandboxes {
    root: PathBuf,
}

/// One sandbox, as listed.
#[derive(Debug, Clone, Serialize)]
pub struct Sandbox {
    /// Its name.
    pub name: String,
    /// Whether its server runs.
    pub running: bool,
    /// The server program, as people call it.
    pub server: String,
    /// The socket, while it runs.
    pub socket: Option<PathBuf>,
    /// The server's process number, while it runs.
    pub pid: Option<u32>,
    /// Bytes of its data directory.
    pub data_bytes: u64,
}

/// What a supervisor writes down about its server.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Card {
    server: String,
    socket: PathBuf,
    pid: u32,
    supervisor: ProcessId,
}

/// A sandbox whose server runs, in the hands of its supervisor.
#[derive(Debug)]
pub struct Supervised {
    server: PrivateServer,
    // Dropped after the server, the lock last.
    _work: Workdir,
    _lock: Lock,
}

/// What could not be done with a sandbox.
#[derive(Debug)]
pub struct SandboxError {
    attempted: String,
    detail: Option<String>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl fmt::Display for SandboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}", self.attempted)?;
        self.detail.as_ref().map_or(Ok(()), |detail| write!(f, ": {detail}"))
    }
}

impl Error for SandboxError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}

fn failed<E: Into<Box<dyn Error + Send + Sync>>>(what: &str, name: &str) -> impl FnOnce(E) -> SandboxError {
    let attempted = format!("{what} sandbox '{name}'");
    move |e| SandboxError { attempted, detail: None, source: Some(e.into()) }
}

fn refused(what: &str, name: &str, detail: impl Into<String>) -> SandboxError {
    SandboxError { attempted: format!("{what} sandbox '{name}'"), detail: Some(detail.into()), source: None }
}

impl Sandboxes {
    /// The user's sandboxes, in the platform's cache folder.
    pub fn platform() -> Result<Self, SandboxError> {
        let root = crate::paths::cache_dir().ok_or_else(|| {
            refused("find the folder of", "*", format!("set HOME or {}", crate::paths::CACHE_DIR_VARIABLE))
        })?;
        Ok(Self { root: root.join("sandboxes") })
    }

    /// Sandboxes in a folder of one's own.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// All sandboxes, by name.
    pub fn list(&self) -> Result<Vec<Sandbox>, SandboxError> {
        let entries = match std::fs::read_dir(&self.root) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed("list", "*"))?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let dir = entry.map_err(failed("list", "*"))?.path();
            let Some(name) = dir.file_name().and_then(|n| n.to_str()).filter(|_| dir.is_dir()) else {
                continue;
            };
            let card = read_card(&dir);
            let running = self.is_running(name)?;
            let live = card.as_ref().filter(|_| running);
            found.push(Sandbox {
                name: name.to_owned(),
                running,
                server: card.as_ref().map(|c| c.server.clone()).unwrap_or_default(),
                socket: live.map(|c| c.socket.clone()),
                pid: live.map(|c| c.pid),
                data_bytes: folder_bytes(&dir.join(DATA)),
            });
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn is_running(&self, name: &str) -> Result<bool, SandboxError> {
        let lock = self.root.join(name).join(LOCK);
        Ok(lock.exists() && Lock::try_take(&lock).map_err(failed("look at", name))?.is_none())
    }

    /// Starts a sandbox's server, on new data or on what it had before. The caller becomes its supervisor.
    pub async fn start(
        &self,
        name: &str,
        binary: &Binary,
        settings: &[(String, String)],
    ) -> Result<Supervised, SandboxError> {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > 40 || !name.chars().all(legal) {
            return Err(refused("start", name, "a name has up to 40 letters, digits, '-' and '_'"));
        }
        let dir = self.root.join(name);
        std::fs::create_dir_all(&dir).map_err(failed("start", name))?;
        let lock = Lock::try_take(&dir.join(LOCK)).map_err(failed("start", name))?;
        let lock = lock.ok_or_else(|| refused("start", name, "it runs already"))?;
        if let Some(card) = read_card(&dir).filter(|card| card.server != title(binary)) {
            return Err(refused(
                "start",
                name,
                format!("its data belong to {}; take another name, or clean it first", card.server),
            ));
        }
        let is_new = !dir.join(DATA).exists();
        match Self::start_in(&dir, name, binary, settings).await {
            Ok((server, work)) => Ok(Supervised { server, _work: work, _lock: lock }),
            Err(e) => {
                // What never ran is no sandbox.
                if is_new {
                    let _ = remove_dir(&dir);
                }
                Err(e)
            }
        }
    }

    async fn start_in(
        dir: &Path,
        name: &str,
        binary: &Binary,
        settings: &[(String, String)],
    ) -> Result<(PrivateServer, Workdir), SandboxError> {
        let data = dir.join(DATA);
        if !data.exists() {
            let cache = TemplateCache::platform().map_err(failed::<TemplateError>("start", name))?;
            let template = cache.get(binary).await.map_err(failed::<TemplateError>("start", name))?;
            template.clone_to(&data).map_err(failed::<CloneError>("start", name))?;
        }
        let work = Workdir::platform().map_err(failed::<WorkdirError>("start", name))?;
        let socket_dir = work.new_socket_dir().map_err(failed::<WorkdirError>("start", name))?;
        let mut options = StartOptions::new(data, socket_dir);
        options.settings = settings.to_vec();
        let server =
            PrivateServer::start(binary, &options).await.map_err(failed::<StartError>("start", name))?;
        let supervisor =
            ProcessId::of(std::process::id()).ok_or_else(|| refused("start", name, "no /proc here"))?;
        let card =
            Card { server: title(binary), socket: server.socket().to_owned(), pid: server.pid(), supervisor };
        // Stays when the server is down: it says which program the data belong to.
        write_card(&dir.join(CARD), &card).map_err(failed("start", name))?;
        Ok((server, work))
    }

    /// Asks a sandbox's supervisor to end, and waits until the server is down.
    pub async fn stop(&self, name: &str) -> Result<(), SandboxError> {
        let dir = self.root.join(name);
        if !dir.is_dir() {
            return Err(refused("stop", name, "there is none of that name"));
        }
        if !self.is_running(name)? {
            return Err(refused("stop", name, "it does not run"));
        }
        let card = read_card(&dir).ok_or_else(|| refused("stop", name, "it is still starting; try again"))?;
        // Its lock is held, and so it lives: a process of that number with another start time is not it.
        if ProcessId::of(card.supervisor.pid).as_ref() != Some(&card.supervisor) {
            return Err(refused("stop", name, "it is still starting; try again"));
        }
        let pid = i32::try_from(card.supervisor.pid).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| refused("stop", name, "its card is damaged"))?;
        kill_process(pid, Signal::TERM).map_err(failed("stop", name))?;
        let deadline = Instant::now() + STOP_TIMEOUT + Duration::from_secs(10);
        while self.is_running(name)? {
            if Instant::now() >= deadline {
                return Err(refused("stop", name, "it does not end"));
            }
            tokio::time::sleep(POLL).await;
        }
        Ok(())
    }

    /// Removes a sandbox that does not run, with its data.
    pub fn remove(&self, name: &str) -> Result<(), SandboxError> {
        let dir = self.root.join(name);
        if !dir.is_dir() {
            return Err(refused("remove", name, "there is none of that name"));
        }
        let lock = Lock::try_take(&dir.join(LOCK)).map_err(failed("remove", name))?;
        if lock.is_none() {
            return Err(refused("remove", name, "it runs; stop it first"));
        }
        remove_dir(&dir).map_err(failed("remove", name))
    }
}

impl Supervised {
    /// How to log in as root.
    pub fn connect_options(&self) -> ConnectOptions {
        self.server.connect_options()
    }

    /// The server's unix socket.
    pub fn socket(&self) -> &Path {
        self.server.socket()
    }

    /// The server's process number.
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Stays until `asked` is done or the server ends by itself, then ends the server in order.
    pub async fn until(self, asked: impl Future<Output = ()>) -> io::Result<Stopped> {
        let Self { mut server, _work, _lock } = self;
        let ended = async {
            while !matches!(server.ended(), Ok(Some(_)) | Err(_)) {
                tokio::time::sleep(POLL).await;
            }
        };
        tokio::select! {
            () = asked => {}
            () = ended => {}
        }
        server.stop(STOP_TIMEOUT).await
    }
}

fn title(binary: &Binary) -> String {
    format!("{} {}", binary.flavour, binary.version())
}

fn read_card(dir: &Path) -> Option<Card> {
    serde_json::from_slice(&std::fs::read(dir.join(CARD)).ok()?).ok()
}

fn write_card(path: &Path, card: &Card) -> io::Result<()> {
    let new = path.with_extension("new");
    std::fs::write(&new, serde_json::to_vec_pretty(card)?)?;
    std::fs::rename(&new, path)
}

fn folder_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => folder_bytes(&entry.path()),
            _ => entry.metadata().map_or(0, |m| m.len()),
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Admin, fixture};

    #[tokio::test]
    async fn a_sandbox_keeps_its_data_from_one_start_to_the_next() {
        for binary in fixture::servers() {
            let dir = tempfile::tempdir().unwrap();
            let sandboxes = Sandboxes::at(dir.path());
            let settings = [("max_connections".to_owned(), "55".to_owned())];
            let first = sandboxes.start("mine", &binary, &settings).await.unwrap();
            let listed = sandboxes.list().unwrap();
            assert!(listed[0].running && listed[0].pid == Some(first.pid()) && listed[0].data_bytes > 0);
            let again = sandboxes.start("mine", &binary, &[]).await.unwrap_err();
            assert!(again.to_string().contains("runs already"), "{again}");
            assert!(sandboxes.remove("mine").unwrap_err().to_string().contains("stop it first"));

            let mut admin = Admin::connect(&first.connect_options()).await.unwrap();
            assert_eq!(admin.global("max_connections").await.unwrap().as_deref(), Some("55"));
            admin.execute("CREATE DATABASE kept").await.unwrap();
            drop(admin);
            assert_eq!(first.until(std::future::ready(())).await.unwrap(), Stopped::Clean);
            assert!(!sandboxes.list().unwrap()[0].running);

            let second = sandboxes.start("mine", &binary, &[]).await.unwrap();
            let mut admin = Admin::connect(&second.connect_options()).await.unwrap();
            assert!(admin.rows::<String>("SHOW DATABASES").await.unwrap().contains(&"kept".to_owned()));
            // The server ends by itself, and its supervisor with it.
            admin.execute("SHUTDOWN").await.unwrap();
            assert_eq!(second.until(std::future::pending()).await.unwrap(), Stopped::Clean);
            sandboxes.remove("mine").unwrap();
            assert!(sandboxes.list().unwrap().is_empty());
        }
    }

    #[tokio::test]
    async fn a_name_cannot_lead_out_of_the_folder() {
        let Some(binary) = fixture::servers().into_iter().next() else { return };
        let dir = tempfile::tempdir().unwrap();
        for name in ["", "..", "a/b", "a b"] {
            assert!(Sandboxes::at(dir.path()).start(name, &binary, &[]).await.is_err(), "{name:?}");
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn what_never_ran_leaves_no_sandbox() {
        let Some(binary) = fixture::servers().into_iter().next() else { return };
        let dir = tempfile::tempdir().unwrap();
        let bad = [("nonsense_knob".to_owned(), "1".to_owned())];
        let error = Sandboxes::at(dir.path()).start("x", &binary, &bad).await.unwrap_err();
        assert!(error.source().unwrap().to_string().contains("nonsense"), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn what_is_not_there_or_does_not_run_cannot_be_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let sandboxes = Sandboxes::at(dir.path());
        assert!(sandboxes.stop("none").await.unwrap_err().to_string().contains("none of that name"));
        std::fs::create_dir(dir.path().join("idle")).unwrap();
        assert!(sandboxes.stop("idle").await.unwrap_err().to_string().contains("does not run"));
        sandboxes.remove("idle").unwrap();
    }
}
