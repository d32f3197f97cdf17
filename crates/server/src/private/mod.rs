//! A private server: started, watched and ended by us alone.
//!
//! It reads no configuration file of the system, opens no port, listens on a unix socket in a folder that only this
//! user may enter, and dies with us: on drop, on a clean end, and on `kill -9` of our process (`spawner`).
//! A record beside the socket lets the next start find a server that was left over all the same
//! ([`Workdir`](crate::Workdir)).

mod error;
pub(crate) mod log;
pub(crate) mod record;
pub(crate) mod spawner;

pub use error::{StartError, StartErrorKind};

use crate::admin::{Admin, AdminErrorKind};
use crate::binary::Binary;
use crate::connect::ConnectOptions;
use crate::paths::LONGEST_SOCKET_PATH;
use knobs::Flavour;
use record::Record;
use rustix::process::Signal;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Folder of temporary tables and sort files, beside the socket.
const TMP_DIR: &str = "tmp";

/// How often a starting or stopping server is looked at.
const POLL: Duration = Duration::from_millis(20);

/// How a private server is started.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// Its data directory: a clone of a [`Template`](crate::Template), or one that was used before.
    pub datadir: PathBuf,
    /// A folder for the socket, the error log and the record; one for each server, with a short path.
    pub socket_dir: PathBuf,
    /// Settings as in a configuration file, name and value. What is not named keeps the server's own default.
    pub settings: Vec<(String, String)>,
    /// Control groups that it joins before it does anything, for the limits of an emulated machine.
    pub control_groups: Vec<PathBuf>,
    /// How long the server may take until it lets us log in. Recovery after a crash is part of it.
    pub ready_timeout: Duration,
}

impl StartOptions {
    /// The server's own defaults on a data directory.
    pub fn new(datadir: impl Into<PathBuf>, socket_dir: impl Into<PathBuf>) -> Self {
        Self {
            datadir: datadir.into(),
            socket_dir: socket_dir.into(),
            settings: Vec::new(),
            control_groups: Vec::new(),
            ready_timeout: Duration::from_secs(120),
        }
    }

    /// Adds a setting.
    #[must_use]
    pub fn set(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.push((name.into(), value.into()));
        self
    }
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// It wrote everything and went.
    Clean,
    /// It had to be killed, or had ended by itself with an error: the next start recovers.
    Hard,
}

/// A running private server. Killed when dropped; [`stop`](Self::stop) ends it in order.
#[derive(Debug)]
pub struct PrivateServer {
    child: Child,
    socket: PathBuf,
    datadir: PathBuf,
    log: PathBuf,
    log_start: u64,
    record: Record,
}

impl PrivateServer {
    /// Starts a server and waits until one can log in as root.
    ///
    /// # Errors
    /// With the server's own error text if it ends before it is ready, which is noticed at once.
    pub async fn start(binary: &Binary, options: &StartOptions) -> Result<Self, StartError> {
        let mut server = Self::launch(binary, options)?;
        match server.wait_until_ready(options.ready_timeout).await {
            Ok(()) => Ok(server),
            Err(kind) => {
                // Dropping it kills what is left.
                let log_tail = server.error_log_tail();
                Err(StartError {
                    attempted: format!("start {} {}", binary.flavour, binary.version()),
                    server_errors: log::errors(&log_tail),
                    kind: match kind {
                        StartErrorKind::Died(status) if log::tells_of_full_disk(&log_tail) => {
                            StartErrorKind::DiskFull(status)
                        }
                        kind => kind,
                    },
                    log_tail,
                })
            }
        }
    }

    fn launch(binary: &Binary, options: &StartOptions) -> Result<Self, StartError> {
        let socket = options.socket_dir.join("s.sock");
        if socket.as_os_str().len() > LONGEST_SOCKET_PATH {
            return Err(StartError::new("start a server", StartErrorKind::SocketPathTooLong(socket)));
        }
        let failed = |what: &str| {
            let attempted = format!("{what} in {}", options.socket_dir.display());
            |e| StartError::io(attempted, e)
        };
        std::fs::create_dir_all(options.socket_dir.join(TMP_DIR)).map_err(failed("make a folder"))?;
        let log = options.socket_dir.join("error.log");
        let out =
            OpenOptions::new().create(true).append(true).open(&log).map_err(failed("open the error log"))?;
        let log_start = out.metadata().map_or(0, |m| m.len());
        let err = out.try_clone().map_err(failed("open the error log"))?;

        let mut command = server_command(binary, &options.datadir);
        command.args(private_options(binary.flavour, &socket, &options.socket_dir));
        command.args(options.settings.iter().map(|(name, value)| format!("--{name}={value}")));
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        let mut child = spawner::spawn(command)
            .map_err(|e| StartError::io(format!("run {}", binary.server.display()), e))?;
        let recorded = Record::write(&options.socket_dir, child.id(), &datadir_option(&options.datadir))
            .and_then(|record| join(&options.control_groups, child.id()).map(|()| record));
        match recorded {
            Ok(record) => {
                Ok(Self { child, socket, datadir: options.datadir.clone(), log, log_start, record })
            }
            Err(e) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(failed("write the server's record, or put it into its control groups,")(e))
            }
        }
    }

    async fn wait_until_ready(&mut self, timeout: Duration) -> Result<(), StartErrorKind> {
        let deadline = Instant::now() + timeout;
        let options = self.connect_options();
        loop {
            if let Some(status) = self.child.try_wait().map_err(StartErrorKind::Io)? {
                return Err(StartErrorKind::Died(status));
            }
            // The socket appears before the server is ready to talk, and one of a server that was killed stays.
            if self.socket.exists() {
                match Admin::connect(&options).await {
                    Ok(admin) => {
                        let _ = admin.close().await;
                        return Ok(());
                    }
                    // It knows its accounts, so it is ready; which account its user wants is not our business.
                    Err(e) if e.kind() == AdminErrorKind::AccessDenied => return Ok(()),
                    Err(_) => {}
                }
            }
            if Instant::now() >= deadline {
                return Err(StartErrorKind::NotReady(timeout));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// How to log in as root: without a password, which is how templates are made.
    pub fn connect_options(&self) -> ConnectOptions {
        ConnectOptions::local(&self.socket, "root")
    }

    /// The process's number, for measurements of it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The unix socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The server's data directory.
    pub fn datadir(&self) -> &Path {
        &self.datadir
    }

    /// What the server logged since this start (at most its last 64 KiB).
    pub fn error_log_tail(&self) -> String {
        log::tail(&self.log, self.log_start).unwrap_or_default()
    }

    /// The server's own errors since this start, a line each.
    pub fn errors(&self) -> String {
        log::errors(&self.error_log_tail())
    }

    /// `Some` once the server has ended by itself.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Asks the server to end, and waits for it; kills it if it takes longer than `timeout`.
    pub async fn stop(mut self, timeout: Duration) -> io::Result<Stopped> {
        if self.child.try_wait()?.is_none() {
            spawner::signal(&self.child, Signal::TERM)?;
        }
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(if status.success() { Stopped::Clean } else { Stopped::Hard });
            }
            if Instant::now() >= deadline {
                self.end_now();
                return Ok(Stopped::Hard);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Ends the server at once, as a power cut would.
    pub fn kill(mut self) {
        self.end_now();
    }

    fn end_now(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.record.remove();
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Puts a process into control groups.
fn join(groups: &[PathBuf], pid: u32) -> io::Result<()> {
    groups.iter().try_for_each(|group| std::fs::write(group.join("cgroup.procs"), pid.to_string()))
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        self.end_now();
    }
}

/// The server program on a data directory, as the user that we are.
pub(crate) fn server_command(binary: &Binary, datadir: &Path) -> Command {
    let mut command = binary.command();
    // Both flavours refuse to run as root unless told to. Any other user they keep anyway, and the server must
    // keep ours: see `spawner`.
    if rustix::process::geteuid().is_root() {
        command.arg("--user=root");
    }
    command.arg(datadir_option(datadir));
    if binary.flavour != Flavour::MariaDb {
        // The folder that is compiled in exists only where the distribution's server package is installed.
        command.arg("--secure-file-priv=NULL");
    }
    command
}

fn datadir_option(datadir: &Path) -> OsString {
    let mut option = OsString::from("--datadir=");
    option.push(datadir);
    option
}

/// What keeps a server to itself.
fn private_options(flavour: Flavour, socket: &Path, dir: &Path) -> Vec<OsString> {
    let path_option = |name: &str, path: &Path| {
        let mut option = OsString::from(name);
        option.push(path);
        option
    };
    let mut options = vec![
        path_option("--socket=", socket),
        path_option("--pid-file=", &dir.join("server.pid")),
        // MariaDB clears its temporary folder of temporary tables when it starts: those of another server too.
        path_option("--tmpdir=", &dir.join(TMP_DIR)),
        "--skip-networking".into(),
    ];
    if flavour != Flavour::MariaDb {
        options.push("--mysqlx=OFF".into());
    }
    options
}

/// Opens a file for a child's output, empty.
pub(crate) fn output_file(path: &Path) -> io::Result<(File, File)> {
    let out = File::create(path)?;
    let err = out.try_clone()?;
    Ok((out, err))
}
