//! `tunesmith doctor`: what this machine allows, what is missing and how to get it.

use crate::cli::Globals;
use crate::cmd::connection::{Place, admin_failure};
use crate::failure::Failure;
use knobs::{Bytes, Flavour};
use lab::machine::{Ability, abilities};
use serde::Serialize;
use server::{Admin, AdminErrorKind, Binary, CgroupVersion, ConnectOptions};
use std::path::{Path, PathBuf};

/// Version of the JSON document.
const SCHEMA: u32 = 1;

/// A data set, its copy for a trial and a template take about this much in the demonstration.
const COMFORTABLE_BYTES: u64 = 5 << 30;

/// Arguments of `tunesmith doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// What was found.
#[derive(Debug, Serialize)]
struct Findings {
    schema: u32,
    servers: Vec<FoundServer>,
    memory_bytes: Option<u64>,
    cores: Option<u32>,
    root: bool,
    cgroup_version: Option<u8>,
    loop_devices: bool,
    xfs: bool,
    cache: PathBuf,
    cache_free_bytes: Option<u64>,
    reflink: Option<bool>,
    /// What of a machine can be emulated here.
    emulation: Vec<Part>,
    /// The server that the command line names, if it names one.
    connected: Option<Connected>,
    missing: Vec<Missing>,
}

/// A server that we could log in to, and what the account may do there.
#[derive(Debug, Serialize)]
struct Connected {
    address: String,
    product: String,
    read_metrics: bool,
    change_settings: bool,
}

/// A part of a machine, whether it can be emulated, and how or why not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Part {
    what: &'static str,
    emulated: bool,
    how: String,
}

impl From<Ability> for Part {
    fn from(ability: Ability) -> Self {
        let emulated = ability.how.is_ok();
        let (Ok(how) | Err(how)) = ability.how;
        Self { what: ability.what, emulated, how }
    }
}

#[derive(Debug, Serialize)]
struct FoundServer {
    flavour: Flavour,
    version: String,
    path: PathBuf,
}

/// Something that is not there, what for it would be good, and what to do.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Missing {
    what: &'static str,
    consequence: &'static str,
    remedy: &'static str,
}

/// Runs the command.
pub async fn run(_args: Args, globals: &Globals) -> Result<(), Failure> {
    let mut findings = examine(globals.connection.server_binary.as_deref());
    if globals.connection.names_a_server()
        && let Place::Server(options) = globals.connection.place()?
    {
        findings.connected =
            Some(connected(&options).await.map_err(|e| admin_failure("can't examine the server", e))?);
        findings.missing = missing(&findings);
    }
    if globals.json {
        println!("{}", serde_json::to_string_pretty(&findings).unwrap_or_default());
    } else {
        print!("{}", text(&findings));
    }
    Ok(())
}

fn examine(folder: Option<&Path>) -> Findings {
    let servers = Binary::discover(folder).unwrap_or_default();
    let servers = servers.into_iter().map(|b| FoundServer {
        flavour: b.flavour,
        version: b.version().to_string(),
        path: b.server,
    });
    let machine = server::machine();
    let cache = server::cache_dir().unwrap_or_else(std::env::temp_dir);
    let existing = cache.ancestors().find(|p| p.is_dir()).map(Path::to_owned);
    let mut findings = Findings {
        schema: SCHEMA,
        servers: servers.collect(),
        memory_bytes: machine.memory.map(|m| m.0),
        cores: machine.cores,
        root: server::is_root(),
        cgroup_version: server::cgroup_version().map(|v| match v {
            CgroupVersion::V1 => 1,
            CgroupVersion::V2 => 2,
        }),
        loop_devices: Path::new("/dev/loop-control").exists(),
        xfs: on_path("mkfs.xfs"),
        cache_free_bytes: server::free_bytes(&cache),
        reflink: existing.and_then(|dir| server::reflink_works(&dir).ok()),
        cache,
        emulation: abilities().into_iter().map(Part::from).collect(),
        connected: None,
        missing: Vec::new(),
    };
    findings.missing = missing(&findings);
    findings
}

async fn connected(options: &ConnectOptions) -> Result<Connected, server::AdminError> {
    let mut admin = Admin::connect(options).await?;
    let identity = admin.identity().await?;
    let read_metrics = match admin.innodb_metrics().await {
        Ok(_) => true,
        Err(e) if e.kind() == AdminErrorKind::MissingPrivilege => false,
        Err(e) => return Err(e),
    };
    let grants = admin.rows::<String>("SHOW GRANTS").await?;
    admin.close().await?;
    Ok(Connected {
        address: options.to_string(),
        product: identity.to_string(),
        read_metrics,
        change_settings: grants.iter().any(|grant| grants_settings(grant)),
    })
}

/// Whether a line of `SHOW GRANTS` allows `SET GLOBAL`: on all databases, everything, SUPER (MariaDB, and MySQL as it
/// was) or SYSTEM_VARIABLES_ADMIN (MySQL 8 on).
fn grants_settings(grant: &str) -> bool {
    let grant = grant.to_ascii_uppercase();
    let Some((privileges, _)) = grant.split_once(" ON *.*") else { return false };
    let privileges = privileges.trim_start_matches("GRANT ").split(',').map(str::trim);
    privileges.into_iter().any(|p| matches!(p, "ALL PRIVILEGES" | "SUPER" | "SYSTEM_VARIABLES_ADMIN"))
}

fn on_path(program: &str) -> bool {
    let usual = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(usual).any(|folder| folder.join(program).is_file())
}

fn missing(f: &Findings) -> Vec<Missing> {
    let has = |flavour| f.servers.iter().any(|s| s.flavour == flavour);
    let may = |allowed: fn(&Connected) -> bool| f.connected.as_ref().is_none_or(allowed);
    let wanted = [
        (
            may(|c| c.read_metrics),
            "the privilege PROCESS on the server",
            "transactions cannot be counted by the server itself",
            "GRANT PROCESS ON *.* TO the account",
        ),
        (
            may(|c| c.change_settings),
            "the right to change settings of the server",
            "nothing can be tuned on it, only read",
            "GRANT SYSTEM_VARIABLES_ADMIN (MySQL) or SUPER (MariaDB) ON *.* TO the account",
        ),
        (
            has(Flavour::MariaDb),
            "a MariaDB server program",
            "--sandbox=mariadb cannot be used",
            "apt-get install mariadb-server-core",
        ),
        (
            has(Flavour::MySql) || has(Flavour::Percona),
            "a MySQL server program",
            "--sandbox=mysql cannot be used",
            "scripts/fetch-mysql, or --server-binary FOLDER",
        ),
        (
            f.root,
            "root",
            "machines cannot be emulated: limits of IOPS, CPU and memory need it",
            "run with sudo",
        ),
        (
            f.cgroup_version.is_some(),
            "control groups",
            "machines cannot be emulated",
            "mount cgroup2 on /sys/fs/cgroup, or leave the container",
        ),
        (
            f.loop_devices,
            "loop devices",
            "a disk of limited IOPS cannot be emulated",
            "modprobe loop, or start the container with --privileged",
        ),
        (
            f.reflink == Some(true) || f.xfs,
            "copies by reference",
            "each trial copies its data byte by byte",
            "put the cache on XFS or Btrfs (TUNESMITH_CACHE_DIR), or apt-get install xfsprogs",
        ),
        (
            f.cache_free_bytes.is_none_or(|free| free >= COMFORTABLE_BYTES),
            "disk space",
            "a data set may not fit",
            "free 5 GiB, or set TUNESMITH_CACHE_DIR to another disk",
        ),
    ];
    let lacking = wanted.into_iter().filter(|(there, ..)| !there);
    lacking.map(|(_, what, consequence, remedy)| Missing { what, consequence, remedy }).collect()
}

fn text(f: &Findings) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    let yes_no = |yes: bool| if yes { "yes" } else { "no" };
    let bytes = |n: Option<u64>| n.map_or_else(|| "unknown".into(), |n| Bytes(n).to_string());
    let mut row = |name: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{name:<18} {value}");
    };
    for (n, s) in f.servers.iter().enumerate() {
        row(
            if n == 0 { "servers" } else { "" },
            &format!("{} {} at {}", s.flavour, s.version, s.path.display()),
        );
    }
    if f.servers.is_empty() {
        row("servers", "none");
    }
    if let Some(c) = &f.connected {
        row("connected", &format!("{} at {}", c.product, c.address));
        row("  read metrics", yes_no(c.read_metrics));
        row("  change settings", yes_no(c.change_settings));
    }
    row("memory", &bytes(f.memory_bytes));
    row("cores", &f.cores.map_or_else(|| "unknown".into(), |n| n.to_string()));
    row("root", yes_no(f.root));
    row("control groups", &f.cgroup_version.map_or_else(|| "none".into(), |v| format!("version {v}")));
    row("loop devices", yes_no(f.loop_devices));
    row("mkfs.xfs", yes_no(f.xfs));
    row("cache", &f.cache.display().to_string());
    row("  free", &bytes(f.cache_free_bytes));
    row("  reflink", f.reflink.map_or("unknown", yes_no));
    for (n, part) in f.emulation.iter().enumerate() {
        let what = part.what.trim_start_matches("the ");
        let text = if part.emulated {
            format!("{what}: by {}", part.how)
        } else {
            format!("{what}: no, {}", part.how)
        };
        row(if n == 0 { "emulation" } else { "" }, &text);
    }
    for m in &f.missing {
        let _ = write!(out, "\nmissing: {}\n  so:   {}\n  get:  {}\n", m.what, m.consequence, m.remedy);
    }
    if f.missing.is_empty() {
        out.push_str("\nnothing is missing\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete() -> Findings {
        let found = |flavour| FoundServer { flavour, version: "1.2.3".into(), path: "/s".into() };
        Findings {
            schema: SCHEMA,
            servers: vec![found(Flavour::MariaDb), found(Flavour::MySql)],
            memory_bytes: Some(4 << 30),
            cores: Some(2),
            root: true,
            cgroup_version: Some(2),
            loop_devices: true,
            xfs: false,
            cache: "/c".into(),
            cache_free_bytes: Some(COMFORTABLE_BYTES),
            reflink: Some(true),
            emulation: vec![Part { what: "the disk", emulated: true, how: "a loop device".into() }],
            connected: None,
            missing: Vec::new(),
        }
    }

    #[test]
    fn a_complete_machine_misses_nothing() {
        assert_eq!(missing(&complete()), []);
        assert!(text(&complete()).contains("nothing is missing"));
    }

    #[test]
    fn everything_that_is_missing_comes_with_its_remedy() {
        let bare = Findings {
            servers: Vec::new(),
            root: false,
            cgroup_version: None,
            loop_devices: false,
            cache_free_bytes: Some(1),
            reflink: Some(false),
            connected: Some(Connected {
                address: "a".into(),
                product: "p".into(),
                read_metrics: false,
                change_settings: false,
            }),
            ..complete()
        };
        let missing = missing(&bare);
        assert_eq!(missing.len(), 9);
        let text = text(&Findings { missing, ..bare });
        assert!(text.contains("apt-get install mariadb-server-core") && text.contains("scripts/fetch-mysql"));
    }

    #[test]
    fn what_can_be_emulated_is_told_with_how_and_why_not() {
        let no =
            Part::from(Ability { what: "the memory limit", how: Err("it needs root; run with sudo".into()) });
        let yes = Part::from(Ability { what: "the disk", how: Ok("a loop device with XFS".into()) });
        let text = text(&Findings { emulation: vec![yes, no], ..complete() });
        assert!(text.contains("emulation          disk: by a loop device with XFS"), "{text}");
        assert!(text.contains("memory limit: no, it needs root; run with sudo"), "{text}");
    }

    #[test]
    fn the_right_to_change_settings_is_read_from_the_grants() {
        for (grant, allowed) in [
            ("GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION", true),
            ("GRANT PROCESS, SUPER ON *.* TO `a`@`%`", true),
            ("GRANT AUDIT_ADMIN,SYSTEM_VARIABLES_ADMIN ON *.* TO `a`@`%`", true),
            ("GRANT USAGE ON *.* TO `super`@`%`", false),
            ("GRANT ALL PRIVILEGES ON `shop`.* TO `a`@`%`", false),
            ("GRANT SESSION_VARIABLES_ADMIN ON *.* TO `a`@`%`", false),
        ] {
            assert_eq!(grants_settings(grant), allowed, "{grant}");
        }
    }
}
