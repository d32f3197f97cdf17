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

impl std::str::FromStr for Secret {
    type Err = std::convert::Infallible;

    fn from_str(password: &str) -> Result<Self, Self::Err> {
        Ok(Self::new(password))
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

/// A value that `--ssl-mode` does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownSslMode;

impl fmt::Display for UnknownSslMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY is expected")
    }
}

impl std::error::Error for UnknownSslMode {}

impl std::str::FromStr for SslMode {
    type Err = UnknownSslMode;

    /// The names of MySQL's clients, in any case, with `_` or `-`.
    fn from_str(name: &str) -> Result<Self, UnknownSslMode> {
        match name.to_ascii_uppercase().replace('-', "_").as_str() {
            "DISABLED" => Ok(Self::Disabled),
            "PREFERRED" => Ok(Self::Preferred),
            "REQUIRED" => Ok(Self::Required),
            "VERIFY_CA" => Ok(Self::VerifyCa),
            "VERIFY_IDENTITY" => Ok(Self::VerifyIdentity),
            _ => Err(UnknownSslMode),
        }
    }
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

impl ConnectOptions {
    /// An account on a unix socket of this machine, without a password: how private servers are reached.
    pub fn local(socket: impl Into<PathBuf>, user: impl Into<String>) -> Self {
        Self {
            endpoint: Endpoint::Socket(socket.into()),
            user: user.into(),
            password: None,
            database: None,
            ssl_mode: SslMode::Disabled,
            ssl_ca: None,
        }
    }

    /// Another default database, everything else the same.
    #[must_use]
    pub fn with_database(mut self, database: impl Into<String>) -> Self {
        self.database = Some(database.into());
        self
    }

    /// The driver's form of these options.
    ///
    /// [`SslMode::Preferred`] asks for TLS over TCP; falling back to a plain connection is the caller's step.
    /// [`Admin::connect`](crate::Admin::connect) takes it, and its
    /// [`connect_options`](crate::Admin::connect_options) are then settled either way.
    /// No TLS is ever used on a unix socket: nothing can listen in there, and not every server offers it.
    pub fn to_driver_opts(&self) -> mysql_async::Opts {
        let mut builder = mysql_async::OptsBuilder::default()
            .user(Some(self.user.as_str()))
            .pass(self.password.as_ref().map(Secret::expose))
            .db_name(self.database.as_deref())
            // The driver would otherwise leave the address that it was given for a socket path that the server
            // names, which in a container or behind a tunnel is somebody else's.
            .prefer_socket(false);
        match &self.endpoint {
            Endpoint::Socket(path) => builder = builder.socket(Some(path.to_string_lossy())),
            Endpoint::Tcp { host, port } => {
                builder = builder.ip_or_hostname(host.as_str()).tcp_port(*port).ssl_opts(self.tls());
            }
        }
        builder.into()
    }

    fn tls(&self) -> Option<mysql_async::SslOpts> {
        let roots = self.ssl_ca.iter().map(|path| path.clone().into()).collect();
        let verifying = mysql_async::SslOpts::default().with_root_certs(roots);
        match self.ssl_mode {
            SslMode::Disabled => None,
            SslMode::Preferred | SslMode::Required => Some(
                mysql_async::SslOpts::default()
                    .with_danger_accept_invalid_certs(true)
                    .with_danger_skip_domain_validation(true),
            ),
            SslMode::VerifyCa => Some(verifying.with_danger_skip_domain_validation(true)),
            SslMode::VerifyIdentity => Some(verifying),
        }
    }
}

/// `user@host:port` or `user@socket`; never the password.
impl fmt::Display for ConnectOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.endpoint {
            Endpoint::Socket(path) => write!(f, "{}@{}", self.user, path.display()),
            Endpoint::Tcp { host, port } if host.contains(':') => write!(f, "{}@[{host}]:{port}", self.user),
            Endpoint::Tcp { host, port } => write!(f, "{}@{host}:{port}", self.user),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(ssl_mode: SslMode) -> ConnectOptions {
        ConnectOptions {
            endpoint: Endpoint::Tcp { host: "db.example".into(), port: 3307 },
            user: "ann".into(),
            password: Some(Secret::new("hunter2")),
            database: Some("shop".into()),
            ssl_mode,
            ssl_ca: Some("/ca.pem".into()),
        }
    }

    #[test]
    fn the_driver_is_told_what_the_user_said() {
        let opts = tcp(SslMode::Disabled).to_driver_opts();
        assert_eq!(
            (opts.ip_or_hostname(), opts.tcp_port(), opts.user(), opts.pass(), opts.db_name()),
            ("db.example", 3307, Some("ann"), Some("hunter2"), Some("shop"))
        );
        assert!(opts.ssl_opts().is_none());
        assert!(!opts.prefer_socket());
    }

    #[test]
    fn only_the_verifying_modes_check_the_certificate() {
        let checks = |mode| {
            let opts = tcp(mode).to_driver_opts();
            let ssl = opts.ssl_opts().unwrap().clone();
            (!ssl.accept_invalid_certs(), !ssl.skip_domain_validation(), ssl.root_certs().len())
        };
        assert_eq!(checks(SslMode::Preferred), (false, false, 0));
        assert_eq!(checks(SslMode::Required), (false, false, 0));
        assert_eq!(checks(SslMode::VerifyCa), (true, false, 1));
        assert_eq!(checks(SslMode::VerifyIdentity), (true, true, 1));
    }

    #[test]
    fn a_socket_is_never_wrapped_in_tls() {
        let mut options = tcp(SslMode::Required);
        options.endpoint = Endpoint::Socket("/run/s.sock".into());
        let opts = options.to_driver_opts();
        assert_eq!(opts.socket(), Some("/run/s.sock"));
        assert!(opts.ssl_opts().is_none());
    }

    #[test]
    fn neither_display_nor_debug_shows_the_password() {
        let options = tcp(SslMode::Preferred);
        assert_eq!(options.to_string(), "ann@db.example:3307");
        assert!(!format!("{options:?}").contains("hunter2"));
    }
}
