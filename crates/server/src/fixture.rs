//! Real servers for tests of this and other crates.

use crate::{Admin, Binary, PrivateServer, StartOptions, TemplateCache, Workdir};
use knobs::Flavour;

/// Makes a missing server a failure instead of a skipped test. `scripts/test` sets it.
const REQUIRED_VARIABLE: &str = "TUNESMITH_REQUIRE_SERVERS";

/// One server program of each flavour that is installed.
///
/// # Panics
/// If MySQL or MariaDB is missing and the environment requires both.
pub fn servers() -> Vec<Binary> {
    [Flavour::MariaDb, Flavour::MySql].into_iter().filter_map(server).collect()
}

/// A server program of one flavour, or `None` where it is not installed: the test is then skipped, and says so.
///
/// # Panics
/// If it is missing and the environment requires it.
pub fn server(flavour: Flavour) -> Option<Binary> {
    match Binary::find(Some(flavour), None) {
        Ok(binary) => Some(binary),
        Err(e) => {
            let required = std::env::var_os(REQUIRED_VARIABLE).is_some_and(|v| v == "1");
            assert!(!required, "{REQUIRED_VARIABLE}=1, but {e}; {}", e.hint());
            eprintln!("skipped: {e}");
            None
        }
    }
}

/// A running server on a fresh data directory. Gone with everything when dropped.
#[derive(Debug)]
pub struct Running {
    /// The server.
    pub server: PrivateServer,
    /// Its folder. Declared after the server, so dropped after it.
    pub work: Workdir,
}

impl Running {
    /// Starts a server with settings, on a copy of the cached template.
    ///
    /// # Panics
    /// If it does not start: a test has no use for the error.
    pub async fn start(binary: &Binary, settings: &[(&str, &str)]) -> Self {
        let work = Workdir::platform().unwrap_or_else(|e| panic!("{e}"));
        let template = TemplateCache::platform().unwrap_or_else(|e| panic!("{e}"));
        let template = template.get(binary).await.unwrap_or_else(|e| panic!("{e}"));
        let datadir = work.datadir("data");
        template.clone_to(&datadir).unwrap_or_else(|e| panic!("{e}"));
        let mut options = StartOptions::new(datadir, work.new_socket_dir().unwrap_or_else(|e| panic!("{e}")));
        for (name, value) in settings {
            options = options.set(*name, *value);
        }
        let server = PrivateServer::start(binary, &options).await.unwrap_or_else(|e| panic!("{e}"));
        Self { server, work }
    }

    /// A session as root.
    ///
    /// # Panics
    /// If the server does not let us in.
    pub async fn admin(&self) -> Admin {
        Admin::connect(&self.server.connect_options()).await.unwrap_or_else(|e| panic!("{e}"))
    }
}
