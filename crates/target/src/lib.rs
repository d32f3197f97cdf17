//! How a configuration is applied to a server, verified, and taken back.
//!
//! A target is a server plus the way to change it. The tuner drives every kind through [`Target`], one small step at a
//! time, so that each step is in the store before it is taken. The steps are shaped by the narrowest platform: a batch
//! of settings, a restart that may take long, a wait until the server is back, a reading of what it really runs with.

#![forbid(unsafe_code)]

mod apply;
mod error;
mod readback;
mod running;
mod sandbox;

pub use apply::Target;
pub use error::{TargetError, TargetErrorKind};
pub use readback::{Coercion, compare};
pub use running::RunningServer;
pub use sandbox::{Sandbox, SandboxOptions};
