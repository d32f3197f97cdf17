//! Servers: connections, identity, snapshots of variables and metrics, and private servers of our own.
//!
//! Two kinds of server meet here: one that somebody else runs and that we only talk to
//! ([`ConnectOptions`], [`Admin`], [`TrxMonitor`]), and a private one whose whole life is ours ([`Binary`],
//! [`TemplateCache`], [`Workdir`], [`PrivateServer`]).
//!
//! Private servers work on Linux only: the promise that none outlives us rests on its parent-death signal.

mod admin;
mod binary;
mod clone;
mod connect;
#[cfg(any(test, feature = "test-support"))]
pub mod fixture;
mod lock;
mod machine;
mod option_file;
mod password;
mod paths;
mod private;
mod process;
mod sandbox;
mod scheduling;
mod snapshot;
mod supervisor;
mod template;
mod url;
mod workdir;

pub use admin::{Admin, AdminError, AdminErrorKind, Metric, TrxCounts, TrxMonitor, Warning};
pub use binary::{Binary, DiscoverError, MYSQL_DIR_VARIABLE};
pub use clone::{CloneError, CloneStats, clone_dir, reflink_works};
pub use connect::{ConnectOptions, Endpoint, Secret, SslMode, UnknownSslMode};
pub use machine::{CgroupVersion, cgroup_version, machine};
pub use option_file::{OptionFile, OptionFileError, OptionFileErrorKind};
pub use password::{prompt_for_password, read_password_file};
pub use paths::{CACHE_DIR_VARIABLE, cache_dir};
pub use private::{PrivateServer, StartError, StartErrorKind, StartOptions, Stopped};
pub use process::{free_bytes, is_root};
pub use sandbox::{Sandbox, SandboxError, Sandboxes, Supervised};
pub use scheduling::never_preempt;
pub use snapshot::{Scope, collect};
pub use supervisor::{asked_to_end, leave_terminal};
pub use template::{Template, TemplateCache, TemplateError, TemplateErrorKind};
pub use url::{ServerUrl, UrlError};
pub use workdir::{Swept, Workdir, WorkdirError, sweep};
