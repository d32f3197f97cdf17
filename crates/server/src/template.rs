//! Templates: data directories that were initialised once for each server program, to be copied from then on.
//!
//! Initialising takes seconds, copying a fraction of one. A template lies in the user's cache under the name of the
//! very program that made it, and counts as one only with its marker in it, which is written last.

use crate::binary::Binary;
use crate::clone::{CloneError, CloneStats, clone_dir, remove_dir};
use crate::lock::Lock;
use crate::private::{log, output_file, server_command, spawner};
use crate::process::free_bytes;
use knobs::Flavour;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

const MARKER: &str = "complete";
const POLL: Duration = Duration::from_millis(50);

/// Free space that initialising a data directory needs: measured 203 MB for MySQL 9.7 and 109 MB for MariaDB 10.11
/// with their own defaults, and as much again as a margin for temporary files.
const NEEDED_BYTES: u64 = 400 << 20;

/// The folder with all templates.
#[derive(Debug, Clone)]
pub struct TemplateCache {
    root: PathBuf,
}

/// An initialised data directory with an account root@localhost without a password and nothing else. Never started
/// itself; copies of it are.
#[derive(Debug, Clone)]
pub struct Template {
    datadir: PathBuf,
}

/// What kind of failure it was.
#[derive(Debug)]
pub enum TemplateErrorKind {
    /// There is no cache folder to put it into.
    NoCacheFolder,
    /// Less space than initialising takes: bytes free.
    DiskNearlyFull(u64),
    /// A file or a folder could not be written.
    Io(io::Error),
    /// The server ended with an error, here in its own words.
    Server(ExitStatus, String),
    /// A file of SQL statements that makes MariaDB's system tables is missing.
    NoSystemTables(PathBuf),
}

/// A data directory that could not be initialised.
#[derive(Debug)]
pub struct TemplateError {
    attempted: String,
    kind: TemplateErrorKind,
}

impl TemplateError {
    /// What kind of failure it was.
    pub fn kind(&self) -> &TemplateErrorKind {
        &self.kind
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}", self.attempted)?;
        match &self.kind {
            TemplateErrorKind::NoCacheFolder => {
                write!(f, ": set HOME or {}", crate::paths::CACHE_DIR_VARIABLE)
            }
            TemplateErrorKind::DiskNearlyFull(free) => write!(
                f,
                ": the disk is nearly full: {} MiB free, {} MiB needed; free some space or set {} to another disk",
                free >> 20,
                NEEDED_BYTES >> 20,
                crate::paths::CACHE_DIR_VARIABLE
            ),
            TemplateErrorKind::Io(_) => Ok(()),
            TemplateErrorKind::Server(status, said) => {
                write!(f, ": the server ended ({status}); it says:\n{said}")
            }
            TemplateErrorKind::NoSystemTables(path) => {
                write!(f, ": {} is missing; reinstall the server's package", path.display())
            }
        }
    }
}

impl std::error::Error for TemplateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            TemplateErrorKind::Io(e) => Some(e),
            _ => None,
        }
    }
}

impl Template {
    /// The template's data directory: to be copied, not to be used.
    pub fn datadir(&self) -> &Path {
        &self.datadir
    }

    /// A data directory of one's own, at a place where nothing is.
    pub fn clone_to(&self, datadir: &Path) -> Result<CloneStats, CloneError> {
        clone_dir(&self.datadir, datadir)
    }
}

impl TemplateCache {
    /// The cache in the platform's cache folder ([`cache_dir`](crate::cache_dir)).
    pub fn platform() -> Result<Self, TemplateError> {
        let none = || TemplateError {
            attempted: "find a cache folder".into(),
            kind: TemplateErrorKind::NoCacheFolder,
        };
        Ok(Self { root: crate::paths::cache_dir().ok_or_else(none)?.join("templates") })
    }

    /// A cache in a folder of one's own.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The program's template, made now if this is the first time. Several processes may ask at once: one makes it,
    /// the others wait.
    pub async fn get(&self, binary: &Binary) -> Result<Template, TemplateError> {
        let name = binary.fingerprint();
        let attempted = || format!("initialise a data directory of {} {}", binary.flavour, binary.version());
        let failed = |kind| TemplateError { attempted: attempted(), kind };
        let io_failed = |e: io::Error| failed(disk_full_or(e, &self.root));

        let place = self.root.join(&name);
        let template = Template { datadir: place.join("data") };
        if place.join(MARKER).is_file() {
            return Ok(template);
        }
        std::fs::create_dir_all(&self.root).map_err(io_failed)?;
        let lock = self.root.join(format!("{name}.lock"));
        let _lock = loop {
            match Lock::try_take(&lock).map_err(io_failed)? {
                Some(lock) => break lock,
                None => tokio::time::sleep(POLL).await,
            }
        };
        if place.join(MARKER).is_file() {
            return Ok(template);
        }
        // With the lock nobody is at work here: what lies there is left over from one that was killed.
        let partial = self.root.join(format!("{name}.partial"));
        remove_dir(&place).map_err(io_failed)?;
        remove_dir(&partial).map_err(io_failed)?;
        if let Some(free) = free_bytes(&self.root).filter(|free| *free < NEEDED_BYTES) {
            return Err(failed(TemplateErrorKind::DiskNearlyFull(free)));
        }
        std::fs::create_dir(&partial).map_err(io_failed)?;
        if let Err(kind) = initialise(binary, &partial).await {
            let _ = remove_dir(&partial);
            return Err(failed(kind));
        }
        complete(&partial, &binary.version_text)
            .and_then(|()| std::fs::rename(&partial, &place))
            .map_err(io_failed)?;
        Ok(template)
    }
}

fn disk_full_or(e: io::Error, at: &Path) -> TemplateErrorKind {
    match e.kind() {
        io::ErrorKind::StorageFull => TemplateErrorKind::DiskNearlyFull(free_bytes(at).unwrap_or(0)),
        _ => TemplateErrorKind::Io(e),
    }
}

/// Everything on disk, then the marker: after a power cut there is no marker without the data.
fn complete(dir: &Path, version: &str) -> io::Result<()> {
    rustix::fs::syncfs(File::open(dir)?)?;
    let mut marker = File::create(dir.join(MARKER))?;
    writeln!(marker, "{version}")?;
    marker.sync_all()
}

async fn initialise(binary: &Binary, dir: &Path) -> Result<(), TemplateErrorKind> {
    let datadir = dir.join("data");
    let log_path = dir.join("initialise.log");
    let mut command = server_command(binary, &datadir);
    // A MariaDB that starts removes all temporary tables that it finds in its folder: also those of another one that is
    // being initialised at the same time, which then fails.
    let tmp = dir.join("tmp");
    std::fs::create_dir(&tmp).map_err(|e| disk_full_or(e, dir))?;
    let mut tmp_option = OsString::from("--tmpdir=");
    tmp_option.push(&tmp);
    command.arg(tmp_option);
    let (out, err) = output_file(&log_path).map_err(|e| disk_full_or(e, dir))?;
    if binary.flavour == Flavour::MariaDb {
        let sql_path = dir.join("bootstrap.sql");
        std::fs::write(&sql_path, mariadb_system_tables(&binary.basedir)?)
            .map_err(|e| disk_full_or(e, dir))?;
        std::fs::create_dir_all(datadir.join("mysql")).map_err(|e| disk_full_or(e, dir))?;
        // The options that MariaDB's own mariadb-install-db gives. That script itself cannot be used: run as root it
        // changes owner and mode of a system folder (that of the PAM plug-in), and it breaks on a path with a space.
        command.args([
            "--bootstrap",
            "--enforce-storage-engine=",
            "--max-allowed-packet=8M",
            "--net-buffer-length=16K",
        ]);
        command.stdin(File::open(&sql_path).map_err(TemplateErrorKind::Io)?);
    } else {
        command.arg("--initialize-insecure").stdin(Stdio::null());
    }
    command.stdout(out).stderr(err);
    let status = run(command).await.map_err(TemplateErrorKind::Io)?;
    if !status.success() {
        let mut said = String::new();
        let _ = File::open(&log_path).and_then(|mut f| f.read_to_string(&mut said));
        return Err(match free_bytes(dir) {
            Some(free) if log::tells_of_full_disk(&said) => TemplateErrorKind::DiskNearlyFull(free),
            _ => TemplateErrorKind::Server(status, log::errors(&said)),
        });
    }
    let _ = remove_dir(&tmp);
    // The server's own unique number, made anew by each copy at its first start.
    let _ = std::fs::remove_file(datadir.join("auto.cnf"));
    Ok(())
}

/// Runs a child to its end. It is killed if this future is dropped or our process ends.
async fn run(command: std::process::Command) -> io::Result<ExitStatus> {
    struct Killed(std::process::Child);
    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let mut child = Killed(spawner::spawn(command)?);
    loop {
        if let Some(status) = child.0.try_wait()? {
            return Ok(status);
        }
        tokio::time::sleep(POLL).await;
    }
}

/// The statements that make MariaDB's system tables, from the files of the server's package, in the order in which
/// mariadb-install-db reads them. The help tables are left out: nobody asks a private server for help.
fn mariadb_system_tables(basedir: &Path) -> Result<Vec<u8>, TemplateErrorKind> {
    const PARTS: [&str; 5] = [
        "system_tables.sql",
        "performance_tables.sql",
        "system_tables_data.sql",
        "maria_add_gis_sp_bootstrap.sql",
        "sys_schema.sql",
    ];
    let folders = ["share/mysql", "share/mariadb", "share"].map(|f| basedir.join(f));
    // Versions before 11 say mysql_, later ones mariadb_.
    let find = |part: &str| {
        let names = ["mysql_", "mariadb_", ""].map(|prefix| format!("{prefix}{part}"));
        folders.iter().flat_map(|f| names.iter().map(|n| f.join(n))).find(|p| p.is_file())
    };
    let mut sql = b"CREATE DATABASE IF NOT EXISTS mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n".to_vec();
    for part in PARTS {
        let path = find(part).ok_or_else(|| TemplateErrorKind::NoSystemTables(folders[0].join(part)))?;
        sql.extend(std::fs::read(&path).map_err(TemplateErrorKind::Io)?);
        sql.push(b'\n');
    }
    Ok(sql)
}
