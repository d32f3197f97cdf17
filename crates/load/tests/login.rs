//! Logging in: plugins, TLS modes and transports, on both flavours.

#![expect(clippy::unwrap_used, reason = "a helper of a test that fails has no better way to say so")]

use knobs::Flavour;
use server::fixture::{Running, servers};
use server::{ConnectOptions, Endpoint, Secret, SslMode};
use std::net::TcpListener;
use tunesmith_load::wire::{Connection, Connector, Protocol, WireError};

fn connect(options: &ConnectOptions) -> Result<Connection, WireError> {
    Connector::new(options, [].into(), Protocol::Text)?.connect_blocking()
}

/// The session's cipher; empty in the clear.
fn cipher(options: &ConnectOptions) -> Result<String, WireError> {
    let mut connection = connect(options)?;
    let reply = connection.query_blocking("SHOW SESSION STATUS LIKE 'Ssl_cipher'")?;
    let mut row = reply.row()?;
    row.text()?;
    Ok(row.text()?.unwrap_or_default())
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

struct Site {
    running: Running,
    flavour: Flavour,
    tcp: ConnectOptions,
}

impl Site {
    /// A server of each flavour that listens on TCP too.
    async fn each() -> Vec<Self> {
        let mut sites = Vec::new();
        for binary in servers() {
            let port = free_port();
            let text = port.to_string();
            let settings =
                [("skip_networking", "OFF"), ("bind_address", "127.0.0.1"), ("port", text.as_str())];
            let running = Running::start(&binary, &settings).await;
            let tcp = ConnectOptions {
                endpoint: Endpoint::Tcp { host: "127.0.0.1".into(), port },
                ..running.server.connect_options()
            };
            sites.push(Self { running, flavour: binary.flavour, tcp });
        }
        sites
    }

    fn root(&self) -> Connection {
        connect(&self.running.server.connect_options()).unwrap()
    }

    fn user(&self, name: &str) -> ConnectOptions {
        ConnectOptions { user: name.into(), password: Some(Secret::new("s'ecr\u{e9}t")), ..self.tcp.clone() }
    }
}

#[tokio::test]
async fn passwords_of_every_plugin() {
    for site in Site::each().await {
        let mut root = site.root();
        let mut accounts = vec![];
        match site.flavour {
            Flavour::MariaDb => {
                root.query_blocking("CREATE USER native@'%' IDENTIFIED BY 's\\'ecr\u{e9}t'").unwrap();
                accounts.push("native");
                if root.query_blocking("INSTALL SONAME 'auth_ed25519'").is_ok() {
                    root.query_blocking(
                        "CREATE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('s\\'ecr\u{e9}t')",
                    )
                    .unwrap();
                    accounts.push("ed");
                }
            }
            _ => {
                root.query_blocking(
                    "CREATE USER sha@'%' IDENTIFIED WITH caching_sha2_password BY 's\\'ecr\u{e9}t'",
                )
                .unwrap();
                accounts.push("sha");
            }
        }
        for name in accounts {
            for mode in [SslMode::Disabled, SslMode::Preferred] {
                let options = ConnectOptions { ssl_mode: mode, ..site.user(name) };
                // Flushed: the slow path. Again: the server's cache knows us.
                root.query_blocking("FLUSH PRIVILEGES").unwrap();
                for _ in 0..2 {
                    let mut session = connect(&options).unwrap_or_else(|e| panic!("{name} {mode:?}: {e}"));
                    let user = session
                        .query_blocking("SELECT CURRENT_USER()")
                        .unwrap()
                        .row()
                        .unwrap()
                        .text()
                        .unwrap();
                    assert_eq!(user.as_deref(), Some(format!("{name}@%").as_str()));
                }
                let socket = ConnectOptions {
                    endpoint: site.running.server.connect_options().endpoint,
                    ..options.clone()
                };
                root.query_blocking("FLUSH PRIVILEGES").unwrap();
                connect(&socket).unwrap_or_else(|e| panic!("{name} on the socket: {e}"));
                let wrong = ConnectOptions { password: Some(Secret::new("wrong")), ..options };
                let error = connect(&wrong).err().expect("a wrong password must not do");
                assert_eq!(error.code(), Some(1045), "{name} {mode:?}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn tls_by_mode() {
    for site in Site::each().await {
        let with = |mode, ca| ConnectOptions { ssl_mode: mode, ssl_ca: ca, ..site.tcp.clone() };
        assert_eq!(cipher(&with(SslMode::Disabled, None)).unwrap(), "");
        let mut root = site.root();
        let offers = {
            let reply = root.query_blocking("SHOW GLOBAL VARIABLES LIKE 'ssl_cert'").unwrap();
            let mut row = reply.row().unwrap();
            row.text().unwrap();
            row.text().unwrap().is_some_and(|v| !v.is_empty())
        };
        if !offers {
            // MariaDB 10.11 makes no certificate of its own.
            assert_eq!(cipher(&with(SslMode::Preferred, None)).unwrap(), "");
            let error = cipher(&with(SslMode::Required, None)).unwrap_err().to_string();
            assert!(error.contains("offers no TLS"), "{error}");
            continue;
        }
        assert_ne!(cipher(&with(SslMode::Preferred, None)).unwrap(), "");
        assert_ne!(cipher(&with(SslMode::Required, None)).unwrap(), "");
        let ca = Some(site.running.server.datadir().join("ca.pem"));
        assert_ne!(cipher(&with(SslMode::VerifyCa, ca.clone())).unwrap(), "");
        // The generated certificate names no host.
        let error = cipher(&with(SslMode::VerifyIdentity, ca)).unwrap_err().to_string();
        assert!(error.contains("TLS"), "{error}");
        let error = cipher(&with(SslMode::VerifyCa, None)).unwrap_err().to_string();
        assert!(error.contains("--ssl-ca"), "{error}");
        // Another authority's certificate.
        let other = site.running.server.datadir().join("server-cert.pem");
        assert!(cipher(&with(SslMode::VerifyCa, Some(other))).is_err());
    }
}
