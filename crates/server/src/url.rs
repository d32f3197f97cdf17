//! `mysql://user:password@host:port/database`, the address that many programs share.

use crate::connect::{ConnectOptions, Endpoint, Secret, SslMode};
use std::fmt;
use std::path::PathBuf;

/// An address that is not understood. Its text never holds the address: there may be a password in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlError(String);

impl fmt::Display for UrlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to understand the address: {}; write mysql://user@host:port/database", self.0)
    }
}

impl std::error::Error for UrlError {}

fn wrong(what: &str) -> UrlError {
    UrlError(what.to_owned())
}

/// The parts that an address names; what it leaves out is `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerUrl {
    /// Account name.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<Secret>,
    /// Host name or address; none if a socket is named.
    pub host: Option<String>,
    /// TCP port.
    pub port: Option<u16>,
    /// Default database.
    pub database: Option<String>,
    /// Unix socket, from `?socket=`.
    pub socket: Option<PathBuf>,
    /// From `?ssl-mode=`.
    pub ssl_mode: Option<SslMode>,
    /// From `?ssl-ca=`.
    pub ssl_ca: Option<PathBuf>,
}

impl ServerUrl {
    /// Takes an address apart: scheme `mysql` or `mariadb`, parts percent-encoded where they hold `:/@?%`.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let rest = ["mysql://", "mariadb://"].iter().find_map(|s| text.strip_prefix(s));
        let rest = rest.ok_or_else(|| wrong("it does not begin with mysql://"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let mut url = Self { database: part(database)?, ..Self::default() };
        let place = match authority.rsplit_once('@') {
            Some((account, place)) => {
                let (user, password) = account.split_once(':').map_or((account, None), |(u, p)| (u, Some(p)));
                url.user = part(user)?;
                url.password = password.map(decode).transpose()?.map(Secret::new);
                place
            }
            None => authority,
        };
        url.place(place)?;
        for pair in query.split('&').filter(|p| !p.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decode(value)?;
            match name {
                "socket" => url.socket = Some(value.into()),
                "ssl-mode" => {
                    url.ssl_mode = Some(value.parse().map_err(|_| wrong("ssl-mode has no such value"))?)
                }
                "ssl-ca" => url.ssl_ca = Some(value.into()),
                _ => return Err(wrong("after '?' only socket, ssl-mode and ssl-ca are known")),
            }
        }
        Ok(url)
    }

    fn place(&mut self, place: &str) -> Result<(), UrlError> {
        let (host, port) = if let Some(rest) = place.strip_prefix('[') {
            let (host, rest) = rest.split_once(']').ok_or_else(|| wrong("a '[' without its ']'"))?;
            (host, rest.strip_prefix(':'))
        } else {
            place.split_once(':').map_or((place, None), |(h, p)| (h, Some(p)))
        };
        self.host = part(host)?;
        self.port =
            port.map(|p| p.parse().map_err(|_| wrong("the port is no number up to 65535"))).transpose()?;
        Ok(())
    }

    /// The whole of a connection, where the parts that are missing get the usual values.
    pub fn into_options(self, default_user: &str) -> ConnectOptions {
        let endpoint = match self.socket {
            Some(socket) => Endpoint::Socket(socket),
            None => Endpoint::Tcp {
                host: self.host.unwrap_or_else(|| "127.0.0.1".into()),
                port: self.port.unwrap_or(3306),
            },
        };
        ConnectOptions {
            endpoint,
            user: self.user.unwrap_or_else(|| default_user.to_owned()),
            password: self.password,
            database: self.database,
            ssl_mode: self.ssl_mode.unwrap_or_default(),
            ssl_ca: self.ssl_ca,
        }
    }
}

fn part(text: &str) -> Result<Option<String>, UrlError> {
    if text.is_empty() { Ok(None) } else { decode(text).map(Some) }
}

/// Resolves `%41`.
fn decode(text: &str) -> Result<String, UrlError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = tail.get(..2).and_then(|d| std::str::from_utf8(d).ok());
        let digits = digits.filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let byte = digits.and_then(|d| u8::from_str_radix(d, 16).ok());
        bytes.push(byte.ok_or_else(|| wrong("a '%' without two hexadecimal digits (write %25 for itself)"))?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong("a part is no UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_parts() {
        let url =
            ServerUrl::parse("mysql://ann:p%40ss@db.example:3307/shop?ssl-mode=VERIFY_CA&ssl-ca=/ca.pem")
                .unwrap();
        assert_eq!(url.user.as_deref(), Some("ann"));
        assert_eq!(url.password, Some(Secret::new("p@ss")));
        assert_eq!((url.host.as_deref(), url.port), (Some("db.example"), Some(3307)));
        assert_eq!(url.database.as_deref(), Some("shop"));
        assert_eq!(url.ssl_mode, Some(SslMode::VerifyCa));
        assert_eq!(url.ssl_ca.as_deref(), Some("/ca.pem".as_ref()));
    }

    #[test]
    fn what_is_left_out_gets_the_usual_value() {
        let options = ServerUrl::parse("mysql://db").unwrap().into_options("ann");
        assert_eq!(options.to_string(), "ann@db:3306");
        let options = ServerUrl::parse("mysql://root@/shop?socket=/run/s.sock").unwrap().into_options("ann");
        assert_eq!(options.to_string(), "root@/run/s.sock");
        let options = ServerUrl::parse("mysql://ann@[::1]:3307").unwrap().into_options("x");
        assert_eq!(options.to_string(), "ann@[::1]:3307");
    }

    #[test]
    fn an_error_says_what_is_wrong_and_shows_no_password() {
        for (url, word) in [
            ("http://a:hunter2@b", "mysql://"),
            ("mysql://a:hunter2@b:x", "port"),
            ("mysql://a:hunter2%zz@b", "%25"),
            ("mysql://a:hunter2@b?tls=1", "ssl-mode"),
            ("mysql://a:hunter2@[::1", "']'"),
        ] {
            let text = ServerUrl::parse(url).unwrap_err().to_string();
            assert!(text.contains(word) && !text.contains("hunter2"), "{text}");
        }
    }

    fn encode(text: &str) -> String {
        text.bytes()
            .map(|b| if b.is_ascii_alphanumeric() { (b as char).to_string() } else { format!("%{b:02x}") })
            .collect()
    }

    proptest! {
        #[test]
        fn any_account_survives_the_encoding(user in "\\PC{1,20}", password in "\\PC{0,20}", port: u16) {
            let url = format!("mysql://{}:{}@h:{port}/", encode(&user), encode(&password));
            let parsed = ServerUrl::parse(&url).unwrap();
            prop_assert_eq!(parsed.user, Some(user));
            prop_assert_eq!(parsed.password, Some(Secret::new(password)));
            prop_assert_eq!(parsed.port, Some(port));
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,100}") {
            let _ = ServerUrl::parse(&format!("mysql://{text}"));
        }
    }
}
