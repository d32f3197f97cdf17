//! Machines to run a server on: this one as it is, or an emulated one.

mod burst;
mod cgroup;
mod disk;
mod emulated;
mod error;
mod spec;

pub use burst::{Bucket, Volume};
pub use disk::Throttle;
pub use emulated::{Ability, Emulated, Lacking, Leftovers, abilities, sweep};
pub use error::EmulateError;
pub use spec::{MachineSpec, Origin, SpecError};
