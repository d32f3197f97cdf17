//! Servers: connections, identity, snapshots of variables and metrics, and private servers of our own.
//!
//! Two kinds of server meet here: one that somebody else runs and that we only talk to
//! ([`ConnectOptions`]), and a private one whose whole life is ours.

mod connect;

pub use connect::{ConnectOptions, Endpoint, Secret, SslMode};
