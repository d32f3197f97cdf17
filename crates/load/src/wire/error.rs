//! What can go wrong between us and the server.

use std::io;

/// An error of the wire or of the server.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The server answered with an error packet.
    #[error("server error {code} ({state}): {message}")]
    Server {
        /// Error number, such as 1213.
        code: u16,
        /// SQLSTATE.
        state: String,
        /// The server's text.
        message: String,
    },
    /// The connection is gone.
    #[error("the connection to the server was lost")]
    Lost(#[source] io::Error),
    /// The server sent what the protocol does not allow here, or data that the workload cannot have.
    #[error("unexpected answer: {0}")]
    Unexpected(&'static str),
    /// The login failed before the server could say why.
    #[error("cannot log in: {0}")]
    Login(String),
    /// TLS failed.
    #[error("TLS with the server failed: {0}")]
    Tls(String),
}

impl WireError {
    /// The server's error number, if it sent one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Server { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The number under which the error is booked: the server's, or what the `mysql` client calls the same thing
    /// (`CR_SERVER_LOST`, `CR_SSL_CONNECTION_ERROR`, `CR_MALFORMED_PACKET`, `CR_AUTH_PLUGIN_ERR`).
    pub fn number(&self) -> u16 {
        match self {
            Self::Server { code, .. } => *code,
            Self::Lost(_) => 2013,
            Self::Tls(_) => 2026,
            Self::Unexpected(_) => 2027,
            Self::Login(_) => 2061,
        }
    }
}

impl From<io::Error> for WireError {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}
