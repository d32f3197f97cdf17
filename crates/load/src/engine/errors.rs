//! What an error means for the transaction and its connection.

use crate::wire::WireError;

/// What to do after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Roll back and try the same transaction again.
    Retry,
    /// The connection is gone or useless: reconnect; the transaction has failed.
    Reconnect,
    /// The transaction has failed, the connection is fine.
    Fail,
    /// It would fail every time: the data set or a privilege is missing.
    Abort,
}

/// Judges errors; further codes can be made retryable.
#[derive(Debug, Clone, Default)]
pub struct ErrorPolicy {
    /// Error numbers that are retried besides the built-in ones.
    pub retry: Vec<u16>,
}

impl ErrorPolicy {
    /// Numbers from the MySQL and MariaDB error references.
    pub fn judge(&self, error: &WireError) -> Verdict {
        let code = match error {
            WireError::Lost(_) | WireError::Tls(_) => return Verdict::Reconnect,
            WireError::Unexpected(_) | WireError::Login(_) => return Verdict::Abort,
            WireError::Server { code, .. } => *code,
        };
        match code {
            _ if self.retry.contains(&code) => Verdict::Retry,
            // lock wait timeout, deadlock, record changed since last read, and the clusters' certification
            // failures (XA_RBDEADLOCK, Galera's WSREP conflict, Group Replication).
            1205 | 1213 | 1020 | 1614 | 3101 => Verdict::Retry,
            // shutdown, killed, aborted, server gone, forced kill, idle kill; read-only and "not yet in the
            // cluster": after a failover the name leads to another server.
            1053
            | 1077
            | 1079
            | 1152
            | 1158..=1161
            | 1184
            | 1927
            | 2006
            | 2013
            | 3169
            | 4031
            | 1290
            | 1836
            | 1792
            | 1047
            | 3100
            | 1040
            | 1203
            | 1461 => Verdict::Reconnect,
            // syntax, unknown table, column, database, privilege: the set-up is wrong.
            1044 | 1045 | 1046 | 1049 | 1054 | 1064 | 1142 | 1143 | 1146 | 1698 => Verdict::Abort,
            _ => Verdict::Fail,
        }
    }
}

/// Whether a failed login is worth another try: a server that restarts, or has no free connection.
pub fn login_may_succeed_later(error: &WireError) -> bool {
    match error {
        WireError::Lost(_) | WireError::Tls(_) => true,
        // too many connections, shutdown in progress, host blocked by errors, too many for the user
        WireError::Server { code, .. } => matches!(code, 1040 | 1053 | 1129 | 1203 | 1226 | 1047),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(code: u16) -> WireError {
        WireError::Server { code, state: "HY000".into(), message: String::new() }
    }

    #[test]
    fn classes() {
        let policy = ErrorPolicy { retry: vec![1317] };
        for (code, verdict) in [
            (1205, Verdict::Retry),
            (1213, Verdict::Retry),
            (1317, Verdict::Retry),
            (1290, Verdict::Reconnect),
            (2006, Verdict::Reconnect),
            (2013, Verdict::Reconnect),
            (1062, Verdict::Fail),
            (1146, Verdict::Abort),
        ] {
            assert_eq!(policy.judge(&server(code)), verdict, "{code}");
        }
        assert_eq!(ErrorPolicy::default().judge(&server(1317)), Verdict::Fail);
        assert_eq!(
            policy.judge(&std::io::Error::from(std::io::ErrorKind::ConnectionReset).into()),
            Verdict::Reconnect
        );
    }
}
