//! Server programs on this machine.
//!
//! Three kinds of place are looked at: folders on `PATH` and the usual ones, a folder that `scripts/fetch-mysql`
//! filled (recognised by its `server.json`), and whatever folder the user names: an unpacked tarball, or a program.

use knobs::{Flavour, Version};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders of server programs that are often not on the `PATH` of an ordinary user.
const USUAL_FOLDERS: [&str; 6] = [
    "/usr/sbin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/mysql/bin",
    "/usr/local/mariadb/bin",
    "/opt/mysql/bin",
];

/// Where `scripts/fetch-mysql` puts a server, if not into the checkout.
pub const MYSQL_DIR_VARIABLE: &str = "TUNESMITH_MYSQL_DIR";

/// A server program that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// The program itself, symbolic links resolved.
    pub server: PathBuf,
    /// MySQL, MariaDB or Percona.
    pub flavour: Flavour,
    /// The version that the program reports.
    version: Version,
    /// The whole of what it reports, such as `9.7.4-2 for Linux on x86_64 ((Debian))`.
    pub version_text: String,
    /// The folder that holds `share` and `lib`.
    pub basedir: PathBuf,
    launch: Launch,
}

/// How the program is run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Launch {
    /// A dynamic loader and its library path, for a program that is built against other libraries than the system's.
    loader: Option<(PathBuf, OsString)>,
    /// Options that say where its files are.
    options: Vec<OsString>,
}

/// No server program, or one that cannot be used.
#[derive(Debug)]
pub struct DiscoverError {
    text: String,
    source: Option<std::io::Error>,
}

impl DiscoverError {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), source: None }
    }

    /// How a server is installed.
    pub fn hint(&self) -> &'static str {
        "on Debian and Ubuntu: apt-get install mariadb-server-core, or scripts/fetch-mysql for MySQL; \
         --server-binary names a folder with another one"
    }
}

impl fmt::Display for DiscoverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for DiscoverError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e as _)
    }
}

/// `server.json`, as `scripts/fetch-mysql` writes it: paths are relative to its folder.
#[derive(Debug, Deserialize)]
struct Manifest {
    schema: u32,
    server: PathBuf,
    loader: PathBuf,
    libraries: Vec<PathBuf>,
    basedir: PathBuf,
    lc_messages_dir: PathBuf,
    plugin_dir: PathBuf,
    character_sets_dir: PathBuf,
}

impl Binary {
    /// All server programs that can be found, those of a named folder only if one is named. The same program
    /// under two names (`mysqld` is often a link to `mariadbd`) is listed once.
    ///
    /// # Errors
    /// If a folder is named and holds no server that runs. Without a folder the list may be empty.
    pub fn discover(folder: Option<&Path>) -> Result<Vec<Self>, DiscoverError> {
        let (found, mut refused) = match folder {
            Some(folder) => examine(places_in(folder)),
            None => examine(usual_places()),
        };
        match folder {
            Some(folder) if found.is_empty() => Err(refused.pop().unwrap_or_else(|| {
                DiscoverError::new(format!("no mariadbd or mysqld in {}", folder.display()))
            })),
            _ => Ok(found),
        }
    }

    /// The first program of a flavour, or of any.
    ///
    /// # Errors
    /// If there is none: the text says what was looked for, [`DiscoverError::hint`] how to get it.
    pub fn find(flavour: Option<Flavour>, folder: Option<&Path>) -> Result<Self, DiscoverError> {
        let wanted = |binary: &Self| flavour.is_none_or(|f| f == binary.flavour);
        Self::discover(folder)?.into_iter().find(wanted).ok_or_else(|| {
            let name = flavour.map_or_else(|| "MySQL or MariaDB".to_owned(), |f| f.to_string());
            DiscoverError::new(match folder {
                Some(folder) => format!("no {name} server in {}", folder.display()),
                None => format!("no {name} server is installed"),
            })
        })
    }

    /// The program's version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// A command that runs the program without any configuration file, told where its own files are.
    pub(crate) fn command(&self) -> Command {
        let mut command = bare_command(&self.server, &self.launch);
        command.arg("--no-defaults").args(&self.launch.options);
        let mut basedir = OsString::from("--basedir=");
        basedir.push(&self.basedir);
        command.arg(basedir);
        command
    }

    /// A name for this very program: another version, or the same path after an upgrade, has another one.
    pub(crate) fn fingerprint(&self) -> String {
        use std::os::unix::fs::MetadataExt;
        let changed = std::fs::metadata(&self.server).map_or((0, 0), |m| (m.size(), m.mtime()));
        let text = format!("{} {} {changed:?}", self.server.display(), self.version_text);
        let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let flavour: String = self.flavour.to_string().chars().map(safe).collect();
        format!("{flavour}-{}-{:016x}", self.version, fnv1a(text.as_bytes()))
    }
}

impl fmt::Display for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.flavour, self.version, self.server.display())
    }
}

/// Fowler, Noll, Vo: the 64-bit FNV-1a hash. The standard library's may change between versions of Rust, and this
/// one names folders that outlive us.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A program that may be a server, with how it would be run.
#[derive(Debug)]
struct Place {
    server: PathBuf,
    basedir: PathBuf,
    launch: Launch,
}

fn usual_places() -> Vec<Place> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect()).unwrap_or_default();
    folders.extend(USUAL_FOLDERS.map(PathBuf::from));
    let mut places: Vec<Place> = folders.iter().flat_map(|f| programs(f)).collect();
    places.extend(fetched_folders().iter().filter(|f| is_trustworthy(f)).filter_map(|f| manifest_place(f)));
    places
}

/// Where a fetched server may be: the folder that the environment names, the checkout that we are in or were
/// built in, the user's cache.
fn fetched_folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os(MYSQL_DIR_VARIABLE).map(PathBuf::from).into_iter().collect();
    let starts = [std::env::current_dir().ok(), std::env::current_exe().ok()];
    for start in starts.iter().flatten() {
        folders.extend(start.ancestors().map(|dir| dir.join(".cache/mysql")));
    }
    folders.extend(crate::paths::cache_dir().map(|dir| dir.join("mysql")));
    folders
}

/// Whether a folder that nobody named may tell us what to run: some folder above us may be writable by others.
fn is_trustworthy(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let own = [rustix::process::geteuid().as_raw(), 0];
    let Ok(folder) = folder.canonicalize() else { return false };
    [folder.join("server.json"), folder]
        .iter()
        .all(|path| path.symlink_metadata().is_ok_and(|m| !m.is_symlink() && own.contains(&m.uid())))
}

/// Places in a folder that the user names: the root of a tarball, its `bin`, a fetched folder, or a program itself.
fn places_in(folder: &Path) -> Vec<Place> {
    if folder.is_file() {
        return vec![place(folder.to_owned())];
    }
    if let Some(place) = manifest_place(folder) {
        return vec![place];
    }
    ["", "bin", "sbin", "libexec", "usr/sbin"].iter().flat_map(|sub| programs(&folder.join(sub))).collect()
}

fn programs(folder: &Path) -> Vec<Place> {
    // A relative entry of PATH would depend on where we happen to be.
    let candidates = ["mariadbd", "mysqld"].map(|name| folder.join(name));
    candidates.into_iter().filter(|p| p.is_absolute() && p.is_file()).map(place).collect()
}

fn place(server: PathBuf) -> Place {
    let server = server.canonicalize().unwrap_or(server);
    // PREFIX/bin/mysqld, PREFIX/sbin/mariadbd or PREFIX/libexec/mariadbd.
    let basedir = server.parent().and_then(Path::parent).unwrap_or(Path::new("/")).to_owned();
    Place { server, basedir, launch: Launch::default() }
}

fn manifest_place(folder: &Path) -> Option<Place> {
    let text = std::fs::read(folder.join("server.json")).ok()?;
    let manifest: Manifest = serde_json::from_slice(&text).ok()?;
    if manifest.schema != 1 {
        return None;
    }
    let folder = folder.canonicalize().ok()?;
    let option = |name: &str, path: &Path| {
        let mut option = OsString::from(format!("--{name}="));
        option.push(folder.join(path));
        option
    };
    let libraries = std::env::join_paths(manifest.libraries.iter().map(|l| folder.join(l))).ok()?;
    Some(Place {
        server: folder.join(&manifest.server),
        basedir: folder.join(&manifest.basedir),
        launch: Launch {
            loader: Some((folder.join(&manifest.loader), libraries)),
            options: vec![
                option("lc-messages-dir", &manifest.lc_messages_dir),
                option("plugin-dir", &manifest.plugin_dir),
                option("character-sets-dir", &manifest.character_sets_dir),
            ],
        },
    })
}

fn bare_command(server: &Path, launch: &Launch) -> Command {
    let mut command = match &launch.loader {
        Some((loader, libraries)) => {
            let mut command = Command::new(loader);
            command.arg("--library-path").arg(libraries).arg(server);
            command
        }
        None => Command::new(server),
    };
    command.env_remove("LD_LIBRARY_PATH").env_remove("LD_PRELOAD");
    command
}

fn examine(places: Vec<Place>) -> (Vec<Binary>, Vec<DiscoverError>) {
    let mut seen = BTreeSet::new();
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for place in places {
        if seen.insert(place.server.clone()) {
            match ask(place) {
                Ok(binary) => found.push(binary),
                Err(e) => refused.push(e),
            }
        }
    }
    (found, refused)
}

/// Asks a program what it is.
fn ask(place: Place) -> Result<Binary, DiscoverError> {
    let output = bare_command(&place.server, &place.launch).args(["--no-defaults", "--version"]).output();
    let output = output.map_err(|e| DiscoverError {
        text: format!("cannot run {}", place.server.display()),
        source: Some(e),
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some((flavour, version, version_text)) = parse_version(&text) else {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or("nothing");
        return Err(DiscoverError::new(format!(
            "{} is no server that runs: it says '{said}'",
            place.server.display()
        )));
    };
    Ok(Binary {
        server: place.server,
        flavour,
        version,
        version_text,
        basedir: place.basedir,
        launch: place.launch,
    })
}

/// `/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)`.
fn parse_version(text: &str) -> Option<(Flavour, Version, String)> {
    let (_, told) = text.split_once(" Ver ")?;
    let told = told.trim();
    let version = told.parse().ok()?;
    let flavour = if told.contains("MariaDB") {
        Flavour::MariaDb
    } else if told.contains("Percona") {
        Flavour::Percona
    } else {
        Flavour::MySql
    };
    Some((flavour, version, told.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flavours_version_is_understood() {
        let of = |text: &str| parse_version(text).map(|(f, v, _)| (f, v.major, v.minor, v.patch));
        assert_eq!(
            of(
                "/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n"
            ),
            Some((Flavour::MariaDb, 10, 11, 19))
        );
        assert_eq!(
            of("/x/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))\n"),
            Some((Flavour::MySql, 9, 7, 4))
        );
        assert_eq!(
            of("mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28)"),
            Some((Flavour::Percona, 8, 0, 36))
        );
        assert_eq!(of("bash, version 5"), None);
        assert_eq!(of("x  Ver beta"), None);
    }

    #[test]
    fn a_folder_without_a_server_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let error = Binary::discover(Some(dir.path())).unwrap_err();
        assert!(error.to_string().contains(&dir.path().display().to_string()), "{error}");
        assert!(error.hint().contains("mariadb-server-core"));
    }

    #[test]
    fn a_program_that_is_no_server_is_refused_in_its_own_words() {
        let error = Binary::discover(Some(Path::new("/bin/ls"))).unwrap_err();
        assert!(error.to_string().contains("no server that runs"), "{error}");
    }

    #[test]
    fn the_same_program_under_two_names_is_found_once() {
        let found = Binary::discover(None).unwrap();
        let servers: BTreeSet<_> = found.iter().map(|b| &b.server).collect();
        assert_eq!(servers.len(), found.len());
    }
}
