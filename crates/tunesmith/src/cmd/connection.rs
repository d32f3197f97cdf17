//! The connection options shared by all commands: those of every MySQL client, from the same places.
//!
//! In order, the first that names a thing wins: the command line, `--server URL`, the `[client]` groups of the option
//! files, and for the password at last `MYSQL_PWD`.

use crate::failure::{Failure, Kind};
use knobs::Flavour;
use server::{AdminError, ConnectOptions, Endpoint, OptionFile, Secret, ServerUrl, SslMode};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// Groups of the option files that concern us.
const GROUPS: [&str; 3] = ["client", "client-mariadb", "tunesmith"];

/// Where a server's socket usually is, on Debian, Red Hat and by MySQL's own default.
const USUAL_SOCKETS: [&str; 3] = ["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"];

/// Carries a password from a command line that everybody may read to the same program started anew without it. An
/// environment is readable by its owner only.
const HIDDEN_PASSWORD: &str = "TUNESMITH_HIDDEN_PASSWORD";

/// Where the server is and how to log in.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectionArgs {
    /// Host of the server; `localhost` means its socket, if it has one in the usual place.
    #[arg(short = 'h', long, global = true, value_name = "HOST")]
    pub host: Option<String>,
    /// Port of the server [default: 3306].
    #[arg(short = 'P', long, global = true, value_name = "PORT")]
    pub port: Option<u16>,
    /// Account to log in with [default: the name of the system's user].
    #[arg(short = 'u', long, global = true, value_name = "NAME")]
    pub user: Option<String>,
    /// Unix socket of the server.
    #[arg(short = 'S', long, global = true, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Password; without a value, it is asked for.
    #[arg(long, global = true, value_name = "PASSWORD", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub password: Option<Secret>,
    /// File with the password in its first line.
    #[arg(long, global = true, value_name = "PATH", conflicts_with = "password")]
    pub password_file: Option<PathBuf>,
    /// Read options from this file instead of the usual ones.
    #[arg(long, global = true, value_name = "PATH")]
    pub defaults_file: Option<PathBuf>,
    /// Whether TLS is used: DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY [default: PREFERRED].
    #[arg(long, global = true, value_name = "MODE")]
    pub ssl_mode: Option<SslMode>,
    /// File with the certificates of authorities to trust (PEM).
    #[arg(long, global = true, value_name = "PATH")]
    pub ssl_ca: Option<PathBuf>,
    /// Address of the server: mysql://user@host:port/database.
    #[arg(long, global = true, value_name = "URL")]
    pub server: Option<String>,
    /// Use a private server that tunesmith starts and stops itself: mysql or mariadb.
    #[arg(long, global = true, value_name = "FLAVOUR", num_args = 0..=1, require_equals = true, default_missing_value = "any",
          conflicts_with_all = ["server", "host", "socket"])]
    pub sandbox: Option<String>,
    /// Folder with the private server's program, or the program itself.
    #[arg(long, global = true, value_name = "PATH")]
    pub server_binary: Option<PathBuf>,
}

/// Where a command does its work.
#[derive(Debug, Clone)]
pub enum Place {
    /// On a private server.
    Sandbox {
        /// MySQL or MariaDB, if the user cares.
        flavour: Option<Flavour>,
        /// Where its program is, if the user says so.
        binary: Option<PathBuf>,
    },
    /// On a server that somebody else runs.
    Server(ConnectOptions),
}

impl ConnectionArgs {
    /// Whether the command line itself names a server or an account on one.
    pub fn names_a_server(&self) -> bool {
        self.host.is_some()
            || self.port.is_some()
            || self.user.is_some()
            || self.socket.is_some()
            || self.server.is_some()
            || self.defaults_file.is_some()
    }

    /// Where the options say that the work is done. May ask for a password on the terminal.
    pub fn place(&self) -> Result<Place, Failure> {
        match &self.sandbox {
            Some(flavour) => {
                Ok(Place::Sandbox { flavour: flavour_named(flavour)?, binary: self.server_binary.clone() })
            }
            None => Ok(Place::Server(self.options(&Surroundings::real()?)?)),
        }
    }

    fn options(&self, around: &Surroundings) -> Result<ConnectOptions, Failure> {
        let files = self.option_files(around)?;
        let url = match &self.server {
            Some(url) => ServerUrl::parse(url).map_err(|e| Failure::caused(Kind::Usage, "--server", e))?,
            None => ServerUrl::default(),
        };
        let told = |name: &str| files.get(name).filter(|v| !v.is_empty()).map(str::to_owned);
        let port_told = match told("port") {
            Some(port) => Some(port.parse().map_err(|_| bad_option("port", &port))?),
            None => None,
        };
        let ssl_told = match told("ssl-mode") {
            Some(mode) => Some(mode.parse().map_err(|_| bad_option("ssl-mode", &mode))?),
            None => files.get("skip-ssl").map(|_| SslMode::Disabled),
        };
        let endpoint = self.endpoint(&url, told("host"), port_told, told("socket"), around);
        Ok(ConnectOptions {
            user: self
                .user
                .clone()
                .or(url.user)
                .or_else(|| told("user"))
                .unwrap_or_else(|| around.user.clone()),
            password: self.password(url.password, told("password"), around)?,
            database: url.database.or_else(|| told("database")),
            ssl_mode: self.ssl_mode.or(url.ssl_mode).or(ssl_told).unwrap_or_default(),
            ssl_ca: self.ssl_ca.clone().or(url.ssl_ca).or_else(|| told("ssl-ca").map(PathBuf::from)),
            endpoint,
        })
    }

    /// A socket beats a host only where it is at least as near: on the command line, in the address, in the files.
    fn endpoint(
        &self,
        url: &ServerUrl,
        host_told: Option<String>,
        port_told: Option<u16>,
        socket_told: Option<String>,
        around: &Surroundings,
    ) -> Endpoint {
        let near_port = self.port.or(url.port);
        let port = near_port.or(port_told).unwrap_or(3306);
        let tcp = |host: String| Endpoint::Tcp { host, port };
        if let Some(socket) = self.socket.as_ref().or(url.socket.as_ref()) {
            return Endpoint::Socket(socket.clone());
        }
        let host = self.host.clone().or_else(|| url.host.clone()).or(host_told);
        match host {
            Some(host) if host != "localhost" => tcp(host),
            // A port named beside it says that a socket is not meant, whatever other clients do.
            _ if near_port.is_some() => tcp("127.0.0.1".into()),
            _ => match socket_told.map(PathBuf::from).or_else(|| around.socket()) {
                Some(socket) => Endpoint::Socket(socket),
                None => tcp("127.0.0.1".into()),
            },
        }
    }

    fn option_files(&self, around: &Surroundings) -> Result<OptionFile, Failure> {
        let mut files = OptionFile::default();
        let read = match &self.defaults_file {
            Some(named) => files.read(named, &GROUPS),
            None => {
                around.option_files.iter().filter(|f| f.is_file()).try_for_each(|f| files.read(f, &GROUPS))
            }
        };
        read.map_err(|e| Failure::caused(Kind::Usage, "can't find the connection's options", e))?;
        for path in files.skipped() {
            eprintln!("tunesmith: {} is not read: everybody may write to it", path.display());
        }
        Ok(files)
    }

    fn password(
        &self,
        in_url: Option<Secret>,
        told: Option<String>,
        around: &Surroundings,
    ) -> Result<Option<Secret>, Failure> {
        if let Some(path) = &self.password_file {
            let secret = server::read_password_file(path);
            return secret.map(Some).map_err(|e| {
                Failure::caused(Kind::Usage, format!("can't read the password in {}", path.display()), e)
            });
        }
        match (&self.password, &around.hidden_password) {
            // Given with a value, and taken off the command line by `hide_passwords`.
            (_, Some(hidden)) => Ok(Some(hidden.clone())),
            (Some(given), _) if !given.expose().is_empty() => Ok(Some(given.clone())),
            (Some(_), _) => server::prompt_for_password("Enter password: ").map(Some).map_err(|e| {
                Failure::caused(Kind::Usage, "can't ask for the password", e)
                    .hint("without a terminal use --password-file, ~/.my.cnf or MYSQL_PWD")
            }),
            (None, _) => Ok(in_url.or_else(|| told.map(Secret::new)).or_else(|| around.mysql_pwd.clone())),
        }
    }
}

/// What of the process's surroundings matters for a connection.
#[derive(Debug, Clone)]
struct Surroundings {
    user: String,
    option_files: Vec<PathBuf>,
    usual_sockets: Vec<PathBuf>,
    mysql_pwd: Option<Secret>,
    hidden_password: Option<Secret>,
}

impl Surroundings {
    fn real() -> Result<Self, Failure> {
        let variable = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        let mut option_files = vec![PathBuf::from("/etc/my.cnf"), PathBuf::from("/etc/mysql/my.cnf")];
        option_files.extend(std::env::home_dir().map(|home| home.join(".my.cnf")));
        Ok(Self {
            user: variable("USER").or_else(|| variable("LOGNAME")).unwrap_or_else(|| "root".into()),
            option_files,
            usual_sockets: USUAL_SOCKETS.map(PathBuf::from).into(),
            mysql_pwd: variable("MYSQL_PWD").map(Secret::new),
            hidden_password: variable(HIDDEN_PASSWORD).map(Secret::new),
        })
    }

    fn socket(&self) -> Option<PathBuf> {
        self.usual_sockets.iter().find(|path| path.exists()).cloned()
    }
}

fn bad_option(name: &str, value: &str) -> Failure {
    Failure::new(Kind::Usage, format!("'{value}' is no value for the option '{name}' in an option file"))
}

/// The flavour that a user names; `any` is no wish.
pub fn flavour_named(name: &str) -> Result<Option<Flavour>, Failure> {
    match name {
        "any" => Ok(None),
        _ => name.parse().map(Some).map_err(|e| Failure::new(Kind::Usage, e)),
    }
}

/// A failed request to a server as the user sees it.
pub fn admin_failure(attempted: &str, error: AdminError) -> Failure {
    let hint = error.hint();
    let failure = Failure::caused(Kind::Connect, attempted, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Takes a password off the command line, where every user of the machine can read it: the program starts itself
/// anew without it. Call it before anything else. Returns if there is no password to hide, or if it cannot be hidden.
pub fn hide_passwords() {
    use std::os::unix::process::CommandExt;
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_else(|| "tunesmith".into());
    let Some((rest, password)) = without_password(arguments.collect()) else { return };
    let error = std::process::Command::new("/proc/self/exe")
        .arg0(name)
        .args(rest)
        .env(HIDDEN_PASSWORD, password)
        .exec();
    eprintln!(
        "tunesmith: the password on the command line can be read by everybody on this machine ({error})"
    );
}

/// The arguments with the password taken out, and the password; `None` if there is none in them.
fn without_password(arguments: Vec<OsString>) -> Option<(Vec<OsString>, String)> {
    let mut password = None;
    let mut rest = Vec::with_capacity(arguments.len());
    let mut after_server = false;
    for argument in arguments {
        let text = argument.to_str().unwrap_or_default();
        if let Some(given) = text.strip_prefix("--password=").filter(|p| !p.is_empty()) {
            password = Some(given.to_owned());
            continue;
        }
        let (prefix, url) = match text.strip_prefix("--server=") {
            Some(url) => ("--server=", Some(url)),
            None => ("", after_server.then_some(text)),
        };
        after_server = argument == OsStr::new("--server");
        match url.and_then(url_without_password) {
            Some((url, given)) => {
                password = password.or(Some(given));
                rest.push(OsString::from(format!("{prefix}{url}")));
            }
            None => rest.push(argument),
        }
    }
    Some((rest, password?))
}

fn url_without_password(url: &str) -> Option<(String, String)> {
    let password = ServerUrl::parse(url).ok()?.password?.expose().to_owned();
    let (scheme, rest) = url.split_once("://")?;
    // As the parser does: the account ends at the last '@' before the path.
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let at = rest[..end].rfind('@')?;
    let colon = rest[..at].find(':')?;
    Some((format!("{scheme}://{}{}", &rest[..colon], &rest[at..]), password))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    #[command(disable_help_flag = true)]
    struct Line {
        #[command(flatten)]
        connection: ConnectionArgs,
    }

    fn around(option_file: Option<PathBuf>) -> Surroundings {
        Surroundings {
            user: "me".into(),
            option_files: option_file.into_iter().collect(),
            usual_sockets: Vec::new(),
            mysql_pwd: None,
            hidden_password: None,
        }
    }

    fn parse(arguments: &str) -> ConnectionArgs {
        Line::try_parse_from(std::iter::once("x").chain(arguments.split_whitespace())).unwrap().connection
    }

    fn address(arguments: &str, around: &Surroundings) -> String {
        parse(arguments).options(around).unwrap().to_string()
    }

    #[test]
    fn the_options_are_those_of_every_client() {
        let none = around(None);
        assert_eq!(address("-h db -P 3307 -u ann", &none), "ann@db:3307");
        assert_eq!(address("-S /run/s.sock -u ann", &none), "ann@/run/s.sock");
        assert_eq!(address("", &none), "me@127.0.0.1:3306");
        assert_eq!(address("--server mysql://bob@db:3308/shop", &none), "bob@db:3308");
        assert_eq!(address("--server mysql://bob@db:3308 -u ann -P 1", &none), "ann@db:1");
    }

    #[test]
    fn localhost_is_the_socket_unless_a_port_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s.sock");
        std::fs::write(&socket, "").unwrap();
        let with_socket = Surroundings { usual_sockets: vec![socket.clone()], ..around(None) };
        let at_socket = format!("me@{}", socket.display());
        assert_eq!(address("", &with_socket), at_socket);
        assert_eq!(address("-h localhost", &with_socket), at_socket);
        assert_eq!(address("-h localhost -P 3307", &with_socket), "me@127.0.0.1:3307");
        assert_eq!(address("-h 127.0.0.1", &with_socket), "me@127.0.0.1:3306");
    }

    #[test]
    fn the_option_file_is_read_and_the_command_line_wins() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my.cnf");
        std::fs::write(
            &path,
            "[client]\nhost=db\nport=3307\nuser=ann\npassword=\"p#w\"\nssl-mode=REQUIRED\n",
        )
        .unwrap();
        let around = Surroundings { mysql_pwd: Some(Secret::new("last")), ..around(Some(path.clone())) };
        let options = parse("").options(&around).unwrap();
        assert_eq!(options.to_string(), "ann@db:3307");
        assert_eq!(options.password, Some(Secret::new("p#w")));
        assert_eq!(options.ssl_mode, SslMode::Required);
        assert_eq!(address("-u bob -h other", &around), "bob@other:3307");

        let elsewhere = Surroundings { option_files: Vec::new(), ..around.clone() };
        assert_eq!(parse("").options(&elsewhere).unwrap().password, Some(Secret::new("last")));
        let named = format!("--defaults-file {}", path.display());
        assert_eq!(address(&named, &elsewhere), "ann@db:3307");
        assert!(parse("--defaults-file /no/such/file").options(&elsewhere).is_err());
    }

    #[test]
    fn the_password_comes_from_the_nearest_place() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pw");
        std::fs::write(&file, "from file\n").unwrap();
        let none = around(None);
        let password = |arguments: &str, around: &Surroundings| {
            parse(arguments).options(around).unwrap().password.map(|p| p.expose().to_owned())
        };
        assert_eq!(password("", &none), None);
        assert_eq!(password("--password=secret", &none).as_deref(), Some("secret"));
        assert_eq!(
            password(&format!("--password-file {}", file.display()), &none).as_deref(),
            Some("from file")
        );
        assert_eq!(password("--server mysql://a:in-url@h", &none).as_deref(), Some("in-url"));
        let hidden = Surroundings { hidden_password: Some(Secret::new("hidden")), ..around(None) };
        assert_eq!(password("--server mysql://a@h", &hidden).as_deref(), Some("hidden"));
    }

    #[test]
    fn a_sandbox_and_a_server_exclude_each_other() {
        assert!(matches!(
            parse("--sandbox=mysql").place().unwrap(),
            Place::Sandbox { flavour: Some(Flavour::MySql), .. }
        ));
        assert!(matches!(parse("--sandbox").place().unwrap(), Place::Sandbox { flavour: None, .. }));
        assert!(parse("--sandbox=oracle").place().is_err());
        assert!(Line::try_parse_from(["x", "--sandbox", "-h", "db"]).is_err());
    }

    #[test]
    fn passwords_are_taken_off_the_command_line() {
        let hide = |arguments: &[&str]| without_password(arguments.iter().map(OsString::from).collect());
        let shown = |arguments: &[&str]| arguments.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(hide(&["tune", "--password", "-u", "ann"]), None);
        assert_eq!(hide(&["--server", "mysql://ann@h/d"]), None);
        assert_eq!(hide(&["tune", "--password=x y", "-v"]), Some((shown(&["tune", "-v"]), "x y".into())));
        assert_eq!(
            hide(&["--server", "mysql://ann:p%40w@h:1/d?ssl-mode=DISABLED"]),
            Some((shown(&["--server", "mysql://ann@h:1/d?ssl-mode=DISABLED"]), "p@w".into()))
        );
        assert_eq!(hide(&["--server=mysql://a:b@h"]), Some((shown(&["--server=mysql://a@h"]), "b".into())));
    }
}
