//! Data sets of private servers: made once, kept in the platform's cache, and copied for every trial.

use crate::cancel::Cancel;
use crate::events::{Event, Events};
use crate::spec::Workload;
use load::sysbench::{self, Distribution};
use load::{LoadError, LoadObserver, LoadOptions, LoadReport, tpcc};
use server::{
    Binary, ConnectOptions, PrivateServer, StartOptions, TemplateCache, Workdir, cache_dir, free_bytes,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// Part of every data set's name: changes when the loader writes other bytes than before.
const FORMAT: u32 = 2;

/// A file that is there when the rest is complete.
const MARKER: &str = "complete";

/// Disk space of one more warehouse with its indexes and logs: 153 MB on MySQL 9.7, which writes a binary log by default (data
/// directories of 1 and 20 warehouses compared), and 82 MB on MariaDB 10.11 (2 and 12 warehouses).
const WAREHOUSE_BYTES: u64 = 160 << 20;

/// Disk space of one more row of sysbench's tables with its indexes and logs: data directories grew by 300 MiB (MariaDB 10.11) and
/// 430 MiB (MySQL 9.7, binary log included) with 1,000,000 rows.
const SYSBENCH_ROW_DISK_BYTES: u64 = 460;

/// Settings while loading. The server is ours, nobody reads from it, and it is shut down cleanly at the end: a crash here
/// costs nothing but time, so no write has to reach the disk before that.
const LOADING: [(&str, &str); 5] = [
    ("innodb_flush_log_at_trx_commit", "0"),
    ("innodb_doublewrite", "OFF"),
    ("innodb_buffer_pool_size", "2G"),
    ("innodb_io_capacity", "2000"),
    ("innodb_io_capacity_max", "20000"),
];

/// A data set could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetError {
    /// There is no cache folder.
    #[error("there is no folder for data sets; set TUNESMITH_CACHE_DIR to one")]
    NoCache,
    /// Too little room.
    #[error(
        "{path} has {} MB free and the data set needs about {} MB; free some, take fewer --warehouses, or set \
         TUNESMITH_CACHE_DIR to a larger disk", free >> 20, needed >> 20
    )]
    DiskFull {
        /// Where it would go.
        path: PathBuf,
        /// Bytes free.
        free: u64,
        /// Bytes needed.
        needed: u64,
    },
    /// The file system says no.
    #[error("{path}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// An empty data directory can't be made.
    #[error(transparent)]
    Template(#[from] server::TemplateError),
    /// It can't be copied.
    #[error(transparent)]
    Clone(#[from] server::CloneError),
    /// The server does not start.
    #[error(transparent)]
    Start(#[from] server::StartError),
    /// The data can't be loaded.
    #[error(transparent)]
    Load(#[from] load::LoadError),
    /// The user asked to stop.
    #[error("interrupted while the data set was made; nothing of it is kept")]
    Interrupted,
}

/// Loads data into an empty server; blocks.
pub type Loader = Box<dyn FnOnce(&ConnectOptions, &dyn LoadObserver) -> Result<LoadReport, LoadError> + Send>;

/// Data to be loaded once and kept.
pub struct DataSet {
    /// Its name in the cache: everything but the server that its bytes depend on.
    pub name: String,
    /// Disk space that it takes, bytes.
    pub bytes: u64,
    /// What it is, for people: `12 warehouses`.
    pub what: String,
    /// Loads it.
    pub load: Loader,
}

impl DataSet {
    /// The data of a workload.
    pub fn of(workload: &Workload, seed: u64) -> Self {
        let rows = workload.clone();
        Self {
            name: format!("{}-s{seed}", data_name(workload)),
            bytes: disk_bytes(workload),
            what: size_words(workload),
            load: Box::new(move |connection, observer| load_rows(connection, &rows, seed, observer)),
        }
    }
}

/// The data directory with the data, made now if it is not in the cache. Several processes may ask at once: each makes its own, and the first
/// to finish is kept.
pub async fn prepare_data(
    binary: &Binary,
    set: DataSet,
    work: &Workdir,
    events: &mut dyn Events,
    cancel: &Cancel,
) -> Result<PathBuf, DatasetError> {
    let root = cache_dir().ok_or(DatasetError::NoCache)?.join("datasets");
    let name = format!("{}-{}-{}-v{FORMAT}", binary.flavour, binary.version(), set.name);
    let folder = root.join(name.to_lowercase().replace(' ', "-"));
    let data = folder.join("data");
    if folder.join(MARKER).exists() {
        return Ok(data);
    }
    fs::create_dir_all(&root).map_err(io(&root))?;
    // The loaded directory and one copy of it for a trial.
    let needed = 2 * set.bytes + (1 << 30);
    if let Some(free) = free_bytes(&root).filter(|free| *free < needed) {
        return Err(DatasetError::DiskFull { path: root, free, needed });
    }
    let made = make(binary, set, work, events, cancel).await?;
    // Left by a process that was killed between the two renames of an earlier version, or by hand: no marker, no data set.
    if folder.exists() && !folder.join(MARKER).exists() {
        fs::remove_dir_all(&folder).map_err(io(&folder))?;
    }
    match fs::rename(&made, &folder) {
        Ok(()) => Ok(data),
        // Somebody else was faster; theirs is as good.
        Err(_) if folder.join(MARKER).exists() => Ok(data),
        Err(source) => Err(DatasetError::Io { path: folder, source }),
    }
}

/// Loads the data in the work folder; returns a folder that holds `data` and the marker.
async fn make(
    binary: &Binary,
    set: DataSet,
    work: &Workdir,
    events: &mut dyn Events,
    cancel: &Cancel,
) -> Result<PathBuf, DatasetError> {
    events.event(&Event::Preparing { what: "initialising a data directory", share: None });
    let template = TemplateCache::platform()?.get(binary).await?;
    let folder = work.path().join("dataset");
    let data = folder.join("data");
    fs::create_dir_all(&folder).map_err(io(&folder))?;
    template.clone_to(&data)?;
    let socket_dir = work.new_socket_dir().map_err(|e| DatasetError::Io {
        path: work.path().to_owned(),
        source: std::io::Error::other(e.to_string()),
    })?;
    let mut options = StartOptions::new(&data, socket_dir);
    for (name, value) in LOADING {
        options = options.set(name, value);
    }
    let server = PrivateServer::start(binary, &options).await?;
    load_data(&server, set, events, cancel).await?;
    events.event(&Event::Preparing { what: "shutting the loaded server down cleanly", share: None });
    server.stop(Duration::from_secs(300)).await.map_err(io(&data))?;
    fs::write(folder.join(MARKER), "").map_err(io(&folder))?;
    Ok(folder)
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> DatasetError {
    let path = path.to_owned();
    move |source| DatasetError::Io { path, source }
}

/// What the loader's threads tell.
enum Told {
    Progress(u64, u64),
    Phase(String),
}

/// Passes it on to the tuner's thread.
struct Relay {
    sender: UnboundedSender<Told>,
    cancel: Cancel,
}

impl Relay {
    fn tell(&self, told: Told) {
        // Nobody listens any more once the load was given up; that is seen by `should_stop`.
        let _ = self.sender.send(told);
    }
}

impl LoadObserver for Relay {
    fn progress(&self, rows: u64, of: u64) {
        self.tell(Told::Progress(rows, of));
    }

    fn phase(&self, name: &str) {
        self.tell(Told::Phase(name.to_owned()));
    }

    fn should_stop(&self) -> bool {
        self.cancel.is_requested()
    }
}

/// The part of a data set's name that says which data it is; terminals and scripts share it.
fn data_name(workload: &Workload) -> String {
    match workload {
        Workload::Tpcc { warehouses, .. } => format!("tpcc-w{warehouses}"),
        Workload::Sysbench { tables, table_size, .. } => format!("sysbench-t{tables}-r{table_size}"),
    }
}

fn size_words(workload: &Workload) -> String {
    match workload {
        Workload::Tpcc { warehouses, .. } => format!("{warehouses} warehouses"),
        Workload::Sysbench { tables, table_size, .. } => format!("{tables} tables of {table_size} rows"),
    }
}

/// Disk space of a loaded data directory beyond an empty one.
fn disk_bytes(workload: &Workload) -> u64 {
    match workload {
        Workload::Tpcc { warehouses, .. } => u64::from(*warehouses) * WAREHOUSE_BYTES,
        Workload::Sysbench { tables, table_size, .. } => {
            u64::from(*tables).saturating_mul(*table_size).saturating_mul(SYSBENCH_ROW_DISK_BYTES)
        }
    }
}

fn load_rows(
    connection: &ConnectOptions,
    workload: &Workload,
    seed: u64,
    observer: &dyn LoadObserver,
) -> Result<LoadReport, LoadError> {
    let options = LoadOptions::default();
    match *workload {
        Workload::Tpcc { warehouses, .. } => {
            tpcc::prepare(connection, &tpcc::DataSet::new(warehouses, seed), &options, observer)
        }
        Workload::Sysbench { tables, table_size, .. } => {
            let set = Workload::sysbench_tables(tables, table_size, seed);
            sysbench::prepare(connection, &set, Distribution::default(), &options, observer)
        }
    }
}

async fn load_data(
    server: &PrivateServer,
    set: DataSet,
    events: &mut dyn Events,
    cancel: &Cancel,
) -> Result<(), DatasetError> {
    let (sender, mut told) = unbounded_channel();
    let relay = Relay { sender, cancel: cancel.clone() };
    let connection = server.connect_options();
    let DataSet { what: loading, load, .. } = set;
    let (tell, mut done) = oneshot::channel();
    std::thread::Builder::new()
        .name("loader".to_owned())
        .spawn(move || {
            let _ = tell.send(load(&connection, &relay));
        })
        .map_err(io(server.datadir()))?;
    let mut phase = String::from("rows");
    let result = loop {
        tokio::select! {
            Some(told) = told.recv() => match told {
                Told::Phase(name) => phase = name,
                Told::Progress(rows, of) => {
                    let what = format!("loading {loading}: {phase}");
                    events.event(&Event::Preparing { what: &what, share: Some(rows as f64 / of.max(1) as f64) });
                }
            },
            result = &mut done => break result,
        }
    };
    if cancel.is_requested() {
        return Err(DatasetError::Interrupted);
    }
    match result {
        Ok(loaded) => loaded.map(|_| ()).map_err(DatasetError::from),
        Err(_) => Err(DatasetError::Interrupted),
    }
}
