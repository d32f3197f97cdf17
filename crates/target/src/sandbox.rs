//! A private server of ours: every trial starts from the same bytes.

use crate::apply::Target;
use crate::error::{TargetError, TargetErrorKind};
use crate::readback::Coercion;
use crate::running::read_back;
use knobs::{Configuration, Identity, LiveVariable, Machine, Value};
use server::{Admin, Binary, ConnectOptions, PrivateServer, StartOptions, Workdir, clone_dir, free_bytes};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Room that a trial's server needs besides its data and redo log: undo, temporary files, the binary log.
const MARGIN: u64 = 512 << 20;

/// How long a server may take from its start to the first login. Recovery never happens here (the data set was shut down
/// cleanly), but a redo log of many gigabytes has to be laid out first.
const READY: Duration = Duration::from_secs(120);

/// What a sandbox is made of.
#[derive(Debug)]
pub struct SandboxOptions {
    /// The server's program.
    pub binary: Binary,
    /// The data directory to start every trial from; never started itself.
    pub data: PathBuf,
    /// Settings that hold in every trial, below the configuration.
    pub settings: Vec<(String, String)>,
    /// What the server may use.
    pub machine: Machine,
    /// Control groups that the servers join, for the limits of an emulated machine.
    pub control_groups: Vec<PathBuf>,
    /// I/O operations a second of the machine's disk, where it is limited. A server on such a disk reads its tables once before its trial, while
    /// the limit is off: what is measured is a server that has been up for a while, not how fast it fills its pool.
    pub storage_iops: Option<u64>,
}

/// A private server and its data directories.
#[derive(Debug)]
pub struct Sandbox {
    seat: Seat,
    identity: Identity,
    found: BTreeMap<String, LiveVariable>,
}

/// The place where the servers of the trials run, one after the other.
#[derive(Debug)]
struct Seat {
    // Dropped before the folder that it works in.
    server: Option<PrivateServer>,
    options: SandboxOptions,
    /// What the next start gets.
    configuration: Configuration,
    /// The data directory of the present trial.
    datadir: Option<PathBuf>,
    data_bytes: u64,
    copies: u64,
    error_log: Option<String>,
    work: Workdir,
}

impl Sandbox {
    /// Starts the server once with no configuration at all, to find its defaults.
    pub async fn open(options: SandboxOptions, work: Workdir) -> Result<Self, TargetError> {
        const OPERATION: &str = "failed to start a private server";
        let data_bytes = folder_bytes(&options.data).map_err(|source| {
            TargetError::new(OPERATION, TargetErrorKind::Io { path: options.data.clone(), source })
        })?;
        let mut seat = Seat {
            server: None,
            options,
            configuration: Configuration::default(),
            datadir: None,
            data_bytes,
            copies: 0,
            error_log: None,
            work,
        };
        seat.lay_out(&Configuration::default())?;
        seat.start().await?;
        let mut admin = seat.admin(OPERATION).await?;
        let identity = admin.identity().await.map_err(|e| TargetError::new(OPERATION, e))?;
        let found = admin.variables().await.map_err(|e| TargetError::new(OPERATION, e))?;
        Ok(Self { seat, identity, found })
    }

    /// Bytes of the data set.
    pub fn data_bytes(&self) -> u64 {
        self.seat.data_bytes
    }
}

impl Seat {
    fn connection(&self) -> ConnectOptions {
        match &self.server {
            Some(server) => server.connect_options(),
            None => ConnectOptions::local(self.work.path().join("no-server"), "root"),
        }
    }

    async fn admin(&self, operation: &'static str) -> Result<Admin, TargetError> {
        Admin::connect(&self.connection()).await.map_err(|e| TargetError::new(operation, e))
    }

    /// Ends the present server the quick way: nothing of its data is wanted any more.
    fn discard(&mut self) {
        if let Some(server) = self.server.take() {
            self.error_log = Some(server.errors());
            server.kill();
        }
        if let Some(datadir) = self.datadir.take() {
            // What can't be removed now is removed with the work folder.
            let _ = std::fs::remove_dir_all(datadir);
        }
    }

    fn check_room(&self, configuration: &Configuration) -> Result<(), TargetErrorKind> {
        let redo = ["innodb_redo_log_capacity", "innodb_log_file_size"]
            .iter()
            .filter_map(|name| match configuration.get(name) {
                Some(Value::Int(bytes)) => u64::try_from(*bytes).ok(),
                _ => None,
            })
            .max()
            .unwrap_or(0);
        let needed = self.data_bytes + redo + MARGIN;
        match free_bytes(self.work.path()) {
            Some(free) if free < needed => {
                Err(TargetErrorKind::DiskFull { path: self.work.path().to_owned(), free, needed })
            }
            _ => Ok(()),
        }
    }

    fn lay_out(&mut self, configuration: &Configuration) -> Result<(), TargetError> {
        const OPERATION: &str = "failed to lay out the data for a trial";
        self.discard();
        self.error_log = None;
        self.check_room(configuration).map_err(|kind| TargetError::new(OPERATION, kind))?;
        self.copies += 1;
        let datadir = self.work.datadir(&format!("trial-{}", self.copies));
        clone_dir(&self.options.data, &datadir).map_err(|e| {
            let source = std::io::Error::other(e.to_string());
            TargetError::new(OPERATION, TargetErrorKind::Io { path: datadir.clone(), source })
        })?;
        self.datadir = Some(datadir);
        self.configuration = configuration.clone();
        Ok(())
    }

    async fn start(&mut self) -> Result<(), TargetError> {
        const OPERATION: &str = "the server does not start with this configuration";
        let io = |path: &Path, source| {
            TargetError::new(OPERATION, TargetErrorKind::Io { path: path.to_owned(), source })
        };
        let datadir = self.datadir.clone().ok_or_else(|| {
            io(self.work.path(), std::io::Error::other("no data was laid out; this is a bug of tunesmith"))
        })?;
        let socket_dir = self
            .work
            .new_socket_dir()
            .map_err(|e| io(self.work.path(), std::io::Error::other(e.to_string())))?;
        let mut options = StartOptions::new(datadir, socket_dir);
        options.ready_timeout = READY;
        options.control_groups.clone_from(&self.options.control_groups);
        for (name, value) in &self.options.settings {
            options = options.set(name, value);
        }
        for (name, value) in self.configuration.iter() {
            options = options.set(name, value.to_cnf());
        }
        match PrivateServer::start(&self.options.binary, &options).await {
            Ok(server) => {
                self.server = Some(server);
                Ok(())
            }
            Err(e) => Err(TargetError::new(OPERATION, e)),
        }
    }
}

impl Seat {
    /// Reads every table of the data set once.
    async fn fill(&self) -> Result<(), TargetError> {
        const OPERATION: &str = "failed to read the tables into the buffer pool";
        let mut admin = self.admin(OPERATION).await?;
        let sql = "SELECT CONCAT('`', table_schema, '`.`', table_name, '`') FROM information_schema.tables WHERE table_type = 'BASE TABLE' \
                   AND table_schema NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')";
        let tables = admin.rows::<String>(sql).await.map_err(|e| TargetError::new(OPERATION, e))?;
        for table in tables {
            let count = format!("SELECT COUNT(*) FROM {table}");
            admin.rows::<u64>(&count).await.map_err(|e| TargetError::new(OPERATION, e))?;
        }
        admin.close().await.map_err(|e| TargetError::new(OPERATION, e))
    }
}

impl Target for Sandbox {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn machine(&self) -> Machine {
        self.seat.options.machine
    }

    fn storage_iops(&self) -> Option<u64> {
        self.seat.options.storage_iops
    }

    fn found(&self) -> &BTreeMap<String, LiveVariable> {
        &self.found
    }

    fn connection(&self) -> ConnectOptions {
        self.seat.connection()
    }

    fn restores_data(&self) -> bool {
        true
    }

    async fn set(&mut self, configuration: &Configuration) -> Result<bool, TargetError> {
        self.seat.lay_out(configuration)?;
        Ok(true)
    }

    async fn restart(&mut self) -> Result<(), TargetError> {
        self.seat.start().await?;
        if self.seat.options.storage_iops.is_some() {
            self.seat.fill().await?;
        }
        Ok(())
    }

    async fn verify(&mut self, configuration: &Configuration) -> Result<Vec<Coercion>, TargetError> {
        let mut admin = self.seat.admin("failed to read back what was set").await?;
        let expected = configuration.iter().map(|(knob, value)| (knob.to_owned(), value.clone())).collect();
        read_back(&mut admin, &expected).await
    }

    fn error_log(&self) -> Option<String> {
        self.seat.server.as_ref().map(PrivateServer::errors).or_else(|| self.seat.error_log.clone())
    }

    async fn go_home(&mut self) -> Result<(), TargetError> {
        // What was found is an untouched data set: there is nothing to put back.
        self.seat.discard();
        Ok(())
    }
}

fn folder_bytes(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { folder_bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}
