//! The seam between the tuner and every kind of server.

use crate::error::TargetError;
use crate::readback::Coercion;
use knobs::{Configuration, Identity, LiveVariable, Machine};
use server::ConnectOptions;
use std::collections::BTreeMap;

/// A server plus the way to change it.
///
/// The steps of a trial, in order: [`set`](Self::set), [`restart`](Self::restart) where `set` asks for it,
/// [`verify`](Self::verify), the work, and at the end of everything [`go_home`](Self::go_home).
#[expect(async_fn_in_trait, reason = "only this workspace implements and calls it, on one thread")]
pub trait Target {
    /// What the server is.
    fn identity(&self) -> &Identity;

    /// The memory and cores that it may use.
    fn machine(&self) -> Machine;

    /// Random I/O operations a second of its storage, where that is known.
    fn storage_iops(&self) -> Option<u64> {
        None
    }

    /// Its variables as found, before anything was changed.
    fn found(&self) -> &BTreeMap<String, LiveVariable>;

    /// How to log in, as of the last restart.
    fn connection(&self) -> ConnectOptions;

    /// Whether trials start from identical data.
    fn restores_data(&self) -> bool;

    /// Sets a configuration; knobs that it does not name get the value found at the start. Returns whether a restart is
    /// needed before it is in effect.
    async fn set(&mut self, configuration: &Configuration) -> Result<bool, TargetError>;

    /// Restarts the server and waits until it answers.
    async fn restart(&mut self) -> Result<(), TargetError>;

    /// Reads back what was set. A value counts as applied when the server reports it.
    ///
    /// # Errors
    /// When a value is neither what was asked for nor a rounding of it.
    async fn verify(&mut self, configuration: &Configuration) -> Result<Vec<Coercion>, TargetError>;

    /// The end of the server's error log, where there is access to it.
    fn error_log(&self) -> Option<String>;

    /// Puts the server back to what was found, whatever was done to it. Idempotent.
    async fn go_home(&mut self) -> Result<(), TargetError>;
}
