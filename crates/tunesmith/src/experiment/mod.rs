//! What `compare` and `sweep` share: the work, the place where it runs, and the file of what was measured.

mod journal;
mod seat;
mod work;

pub use journal::{Book, Journal};
pub use seat::{Plan, Run, Seat, chain};
pub use work::WorkArgs;

use crate::emulation::Wish;
use crate::failure::{Failure, Kind};
use lab::machine::{MachineSpec, Origin};
use lab::price::{self, Storage, StorageKind, Usd};

/// The confidence of every interval.
pub const CONFIDENCE: f64 = 0.95;

/// What the machine costs a year in full size, whatever the scale; storage left out, as the published studies do. `None` without a price.
pub fn yearly(machine: &MachineSpec) -> Option<Usd> {
    let Origin::Class { class, provisioned, .. } = &machine.origin else { return None };
    let kind = if provisioned.is_some() { StorageKind::Io1 } else { StorageKind::Gp3 };
    let iops = u64::from(provisioned.unwrap_or(0));
    price::yearly(class, &Storage { kind, gigabytes: 0, iops, multi_az: false })
        .ok()
        .map(|parts| parts.total())
}

/// A machine with the provider's defaults, where it has any.
pub fn wish(machine: MachineSpec, defaults: Option<&str>) -> Result<Wish, Failure> {
    // `none` is for all; a family is of a provider's classes only.
    let family = defaults.filter(|family| *family == "none" || machine.instance().is_some());
    Wish::of(machine, family)
}

/// The private server's flavour and program, for commands that restart their servers.
pub fn sandbox(
    globals: &crate::cli::Globals,
    command: &str,
) -> Result<(Option<String>, Option<std::path::PathBuf>), Failure> {
    match globals.connection.place()? {
        crate::cmd::connection::Place::Sandbox { flavour, binary } => {
            Ok((flavour.map(|f| f.to_string().to_lowercase()), binary))
        }
        crate::cmd::connection::Place::Server(_) => Err(Failure::new(
            Kind::Usage,
            format!("{command} restarts its servers, so they have to be private ones"),
        )
        .hint("use --sandbox, --sandbox=mysql or --sandbox=mariadb")),
    }
}

/// Writes a report, and says where.
pub fn write_report(path: &std::path::Path, page: &str) -> Result<(), Failure> {
    std::fs::write(path, page)
        .map_err(|e| Failure::caused(Kind::Usage, format!("can't write {}", path.display()), e))?;
    eprintln!("report written to {}", path.display());
    Ok(())
}
