//! The MySQL client protocol as the hot path needs it: one command at a time, one reused buffer for each
//! direction, replies decoded in place.
//!
//! What it does not do: compression, multiple result sets, cursors, query attributes.

mod connection;
mod error;
mod login;
mod reply;
mod tls;
mod transport;
mod value;

pub use connection::{Connection, Connector, Protocol};
pub use error::WireError;
pub use reply::{Reply, Row, Rows};
pub use value::Value;

pub(crate) use value::write_decimal;
#[cfg(test)]
pub(crate) use {reply::Format, value::write_query};
