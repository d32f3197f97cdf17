//! What can go wrong while talking to a server.

use mysql_async::{DriverError, Error as Driver};
use std::fmt;
use std::time::Duration;

/// What kind of failure it was: decides the exit code and what the user can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminErrorKind {
    /// Nobody answers at the address, or the connection broke.
    Unreachable,
    /// User or password are wrong, or the host may not log in.
    AccessDenied,
    /// Logged in, but this account may not do that.
    MissingPrivilege,
    /// The server has no TLS and it was asked for.
    NoTls,
    /// The server has no such variable.
    UnknownVariable,
    /// The variable cannot be changed while the server runs.
    ReadOnlyVariable,
    /// The variable does not take this value.
    BadValue,
    /// All connections of the server are taken.
    TooManyConnections,
    /// Anything else.
    Other,
}

/// A failed request to a server. Its text is whole: the driver's errors repeat one another along their chain, so only
/// the innermost is kept.
#[derive(Debug)]
pub struct AdminError {
    attempted: String,
    kind: AdminErrorKind,
    detail: String,
    code: Option<u16>,
}

impl AdminError {
    pub(crate) fn driver(attempted: String, source: Driver) -> Self {
        let (detail, code) = match &source {
            Driver::Server(e) => (format!("{} (error {})", e.message, e.code), Some(e.code)),
            other => (innermost(other), None),
        };
        Self { attempted, kind: kind_of(&source), detail, code }
    }

    pub(crate) fn timed_out(attempted: String, after: Duration) -> Self {
        let detail = format!("no answer within {} s", after.as_secs());
        Self { attempted, kind: AdminErrorKind::Unreachable, detail, code: None }
    }

    pub(crate) fn unexpected(attempted: String, detail: String) -> Self {
        Self { attempted, kind: AdminErrorKind::Other, detail, code: None }
    }

    /// What kind of failure it was.
    pub fn kind(&self) -> AdminErrorKind {
        self.kind
    }

    /// The server's own error number, if the server answered at all.
    pub fn server_code(&self) -> Option<u16> {
        self.code
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self.kind {
            AdminErrorKind::Unreachable => {
                "check that the server runs and that -h/-P or -S name it; --sandbox needs no server at all"
            }
            AdminErrorKind::AccessDenied => {
                "check -u and the password: --password asks for it, ~/.my.cnf [client] and MYSQL_PWD are read"
            }
            AdminErrorKind::MissingPrivilege => {
                "tunesmith needs PROCESS, and to change settings SYSTEM_VARIABLES_ADMIN (MySQL) or SUPER (MariaDB)"
            }
            AdminErrorKind::NoTls => "the server offers no TLS; --ssl-mode=DISABLED connects without",
            AdminErrorKind::TooManyConnections => "raise max_connections or close idle connections",
            AdminErrorKind::ReadOnlyVariable => "this variable needs a restart of the server",
            AdminErrorKind::UnknownVariable | AdminErrorKind::BadValue | AdminErrorKind::Other => {
                return None;
            }
        })
    }
}

/// Numbers from the servers' own tables of errors (MySQL `errmsg-utf8.txt`; MariaDB shares those below 1900).
fn kind_of(error: &Driver) -> AdminErrorKind {
    match error {
        Driver::Server(e) => match e.code {
            // ER_ACCESS_DENIED_ERROR, ER_DBACCESS_DENIED_ERROR, ER_HOST_IS_BLOCKED, ER_HOST_NOT_PRIVILEGED,
            // ER_ACCESS_DENIED_NO_PASSWORD_ERROR
            1044 | 1045 | 1129 | 1130 | 1698 => AdminErrorKind::AccessDenied,
            // ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR,
            // ER_PROCACCESS_DENIED_ERROR
            1142 | 1143 | 1227 | 1370 => AdminErrorKind::MissingPrivilege,
            1040 => AdminErrorKind::TooManyConnections,
            1193 => AdminErrorKind::UnknownVariable,
            // ER_INCORRECT_GLOBAL_LOCAL_VAR, ER_VARIABLE_IS_READONLY
            1238 | 1621 => AdminErrorKind::ReadOnlyVariable,
            // ER_WRONG_VALUE_FOR_VAR, ER_WRONG_TYPE_FOR_VAR
            1231 | 1232 => AdminErrorKind::BadValue,
            _ => AdminErrorKind::Other,
        },
        Driver::Io(_) | Driver::Driver(DriverError::ConnectionClosed) => AdminErrorKind::Unreachable,
        Driver::Driver(DriverError::NoClientSslFlagFromServer) => AdminErrorKind::NoTls,
        _ => AdminErrorKind::Other,
    }
}

/// The last cause's text.
fn innermost(error: &Driver) -> String {
    let mut last: &dyn std::error::Error = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

impl fmt::Display for AdminError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}: {}", self.attempted, self.detail)
    }
}

impl std::error::Error for AdminError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_told_once() {
        let io = std::io::Error::other("the cable is out");
        let error = AdminError::driver("connect to a".into(), Driver::Io(io.into()));
        assert_eq!(error.to_string(), "failed to connect to a: the cable is out");
        assert_eq!((error.kind(), error.server_code()), (AdminErrorKind::Unreachable, None));
        assert!(std::error::Error::source(&error).is_none());
    }
}
