//! Where a server is and how to log in to it.

use std::fmt;
use std::path::PathBuf;

/// A password: never printed, logged or serialised.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes ownership of a password.
    pub fn new(password: impl Into<String>) -> Self {
        Self(password.into())
    }

    /// The password itself, for the login handshake only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A unix socket on this machine.
    Socket(PathBuf),
    /// A host and a port.
    Tcp {
        /// Name or address of the host.
        host: String,
        /// TCP port, 3306 unless told otherwise.
        port: u16,
    },
}

/// The `--ssl-mode` of every MySQL client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SslMode {
    /// No TLS; no request for it is sent.
    Disabled,
    /// TLS where the server offers it.
    #[default]
    Preferred,
    /// TLS or no connection.
    Required,
    /// TLS with a certificate signed by a known authority.
    VerifyCa,
    /// The same, and the certificate names the host.
    VerifyIdentity,
}

/// Everything needed to open a connection.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// The server's address.
    pub endpoint: Endpoint,
    /// Account name.
    pub user: String,
    /// Its password; `None` sends an empty one.
    pub password: Option<Secret>,
    /// Default database of the session.
    pub database: Option<String>,
    /// Whether and how TLS is used.
    pub ssl_mode: SslMode,
    /// File with the authorities' certificates (PEM).
    pub ssl_ca: Option<PathBuf>,
}
