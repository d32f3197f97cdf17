//! Logging in: plugins, TLS modes and transports, on both flavours.

#![expect(clippy::unwrap_used, reason = "a helper of a test that fails has no better way to say so")]

use knobs::Flavour;
use server::fixture::{Running, servers};
use server::{ConnectOptions, Endpoint, Secret, SslMode};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
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
    async fn each(settings: &[(&str, &str)]) -> Vec<Self> {
        let mut sites = Vec::new();
        for binary in servers() {
            let port = free_port();
            let text = port.to_string();
            let mut settings: Vec<(&str, &str)> = settings.to_vec();
            settings.extend([
                ("skip_networking", "OFF"),
                ("bind_address", "127.0.0.1"),
                ("port", text.as_str()),
            ]);
            // MariaDB's server package has the plugin, its core package has not.
            let plugins = std::env::var("TUNESMITH_MARIADB_PLUGIN_DIR").ok();
            if let Some(plugins) = plugins.as_deref().filter(|_| binary.flavour == Flavour::MariaDb) {
                settings.push(("plugin_dir", plugins));
            }
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
    for site in Site::each(&[]).await {
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

/// An authority of our own, and a certificate by it for 127.0.0.1.
struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, pem: String| std::fs::write(folder.path().join(name), pem).unwrap();
        for (authority, certificate) in [("ca.pem", "server-cert.pem"), ("other-ca.pem", "other-cert.pem")] {
            let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
            params.distinguished_name.push(rcgen::DnType::CommonName, "An authority of a test");
            let issuer =
                rcgen::CertifiedIssuer::self_signed(params, rcgen::KeyPair::generate().unwrap()).unwrap();
            write(authority, issuer.pem());
            let key = rcgen::KeyPair::generate().unwrap();
            let params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
            write(certificate, params.signed_by(&key, &issuer).unwrap().pem());
            write(&format!("{certificate}.key"), key.serialize_pem());
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn utf8(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn tls_by_mode() {
    let certificates = Certificates::new();
    let (ca, cert) = (certificates.path("ca.pem"), certificates.path("server-cert.pem"));
    let key = certificates.path("server-cert.pem.key");
    let settings = [("ssl_ca", utf8(&ca)), ("ssl_cert", utf8(&cert)), ("ssl_key", utf8(&key))];
    for site in Site::each(&settings).await {
        let with = |mode, ca: Option<&Path>| ConnectOptions {
            ssl_mode: mode,
            ssl_ca: ca.map(Path::to_owned),
            ..site.tcp.clone()
        };
        assert_eq!(cipher(&with(SslMode::Disabled, None)).unwrap(), "");
        assert_ne!(cipher(&with(SslMode::Preferred, None)).unwrap(), "");
        assert_ne!(cipher(&with(SslMode::Required, None)).unwrap(), "");
        assert_ne!(cipher(&with(SslMode::VerifyCa, Some(&ca))).unwrap(), "");
        assert_ne!(cipher(&with(SslMode::VerifyIdentity, Some(&ca))).unwrap(), "");
        // The certificate names 127.0.0.1 and not localhost.
        let mut localhost = with(SslMode::VerifyIdentity, Some(&ca));
        let Endpoint::Tcp { host, .. } = &mut localhost.endpoint else { panic!("a TCP endpoint") };
        "localhost".clone_into(host);
        let error = cipher(&localhost).unwrap_err().to_string();
        assert!(error.contains("TLS"), "{error}");
        localhost.ssl_mode = SslMode::VerifyCa;
        assert_ne!(cipher(&localhost).unwrap(), "");
        // Another authority's certificate, and none at all.
        let other = certificates.path("other-ca.pem");
        assert!(cipher(&with(SslMode::VerifyCa, Some(&other))).is_err());
        let error = cipher(&with(SslMode::VerifyCa, None)).unwrap_err().to_string();
        assert!(error.contains("--ssl-ca"), "{error}");
        // A password, an account that must use TLS, and the socket, where TLS has no purpose.
        let mut root = site.root();
        root.query_blocking("CREATE USER secured@'%' IDENTIFIED BY 's\\'ecr\u{e9}t' REQUIRE SSL").unwrap();
        let user = site.user("secured");
        assert_ne!(cipher(&ConnectOptions { ssl_mode: SslMode::Required, ..user.clone() }).unwrap(), "");
        let refused = cipher(&ConnectOptions { ssl_mode: SslMode::Disabled, ..user }).unwrap_err();
        assert_eq!(refused.code(), Some(1045), "{refused}");
        assert_eq!(cipher(&site.running.server.connect_options()).unwrap(), "");
    }
}

#[tokio::test]
async fn a_server_without_a_certificate() {
    // MariaDB 10.11 makes none of its own; MySQL makes one whose name fits no host.
    for site in Site::each(&[]).await {
        let with = |mode, ca| ConnectOptions { ssl_mode: mode, ssl_ca: ca, ..site.tcp.clone() };
        if site.flavour == Flavour::MariaDb {
            assert_eq!(cipher(&with(SslMode::Preferred, None)).unwrap(), "");
            let error = cipher(&with(SslMode::Required, None)).unwrap_err().to_string();
            assert!(error.contains("offers no TLS"), "{error}");
        } else {
            let ca = Some(site.running.server.datadir().join("ca.pem"));
            assert_ne!(cipher(&with(SslMode::VerifyCa, ca.clone())).unwrap(), "");
            let error = cipher(&with(SslMode::VerifyIdentity, ca)).unwrap_err().to_string();
            assert!(error.contains("TLS"), "{error}");
        }
    }
}
