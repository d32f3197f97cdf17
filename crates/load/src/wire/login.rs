//! The handshake: capabilities, TLS and the authentication plugins.
//!
//! Sources: MySQL Internals, "Connection Phase"; MariaDB's protocol documentation, "Connecting" (the
//! extended capabilities). The scrambles themselves come from `mysql_common`, the driver's codec crate.

use super::connection::Channel;
use super::error::WireError;
use super::reply::lenenc_bytes;
use super::tls::TlsSettings;
use super::value::write_lenenc;
use mysql_common::crypto::encrypt;
use mysql_common::scramble::{create_response_for_ed25519, scramble_native, scramble_sha256};
use server::{ConnectOptions, SslMode};

const LONG_PASSWORD: u32 = 1;
const LONG_FLAG: u32 = 1 << 2;
const CONNECT_WITH_DB: u32 = 1 << 3;
const LOCAL_FILES: u32 = 1 << 7;
const PROTOCOL_41: u32 = 1 << 9;
const SSL: u32 = 1 << 11;
const TRANSACTIONS: u32 = 1 << 13;
const SECURE_CONNECTION: u32 = 1 << 15;
const PLUGIN_AUTH: u32 = 1 << 19;
const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
const DEPRECATE_EOF: u32 = 1 << 24;
/// MariaDB's extended bit 4 (36 of all): result sets of a prepared statement come without their column
/// definitions while these have not changed.
const CACHE_METADATA: u32 = 1 << 4;

/// `utf8mb4_general_ci`: every supported server knows it.
const CHARSET: u8 = 45;
const MAX_PACKET: u32 = 1 << 24;

/// What the two sides agreed on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Agreed {
    /// No EOF packets.
    pub deprecate_eof: bool,
    /// A flag in each result set says whether column definitions follow.
    pub cache_metadata: bool,
}

/// The server's first packet.
struct Greeting {
    version: String,
    connection_id: u32,
    capabilities: u32,
    extended: u32,
    nonce: Vec<u8>,
    plugin: String,
}

fn greeting(packet: &[u8]) -> Result<Greeting, WireError> {
    let bad = || WireError::Unexpected("the server's greeting is not protocol 10");
    if packet.first() != Some(&10) {
        return Err(bad());
    }
    let end = packet.iter().position(|&b| b == 0).ok_or_else(bad)?;
    let version = String::from_utf8_lossy(&packet[1..end]).into_owned();
    let rest = &packet[end + 1..];
    if rest.len() < 32 {
        return Err(bad());
    }
    let connection_id = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
    let mut nonce = rest[4..12].to_vec();
    let capabilities = u32::from_le_bytes([rest[13], rest[14], rest[18], rest[19]]);
    let nonce_length = usize::from(rest[20]);
    let extended = u32::from_le_bytes([rest[27], rest[28], rest[29], rest[30]]);
    let tail = &rest[31..];
    // The second part is at least 13 bytes, of which the last is a zero.
    let second = nonce_length.saturating_sub(8).max(13).min(tail.len());
    nonce.extend_from_slice(&tail[..second]);
    nonce.truncate(20);
    let plugin = tail[second..].split(|&b| b == 0).next().unwrap_or_default();
    Ok(Greeting {
        version,
        connection_id,
        capabilities,
        // The bytes are reserved (zero) unless bit 0 is off, MariaDB's sign.
        extended: if capabilities & LONG_PASSWORD == 0 { extended } else { 0 },
        nonce,
        plugin: String::from_utf8_lossy(plugin).into_owned(),
    })
}

/// Server version, connection id and the agreed capabilities.
pub struct Login {
    /// `SELECT version()` without asking.
    pub version: String,
    /// The server's number of this connection, for `KILL`.
    pub connection_id: u32,
    /// What was agreed.
    pub agreed: Agreed,
}

/// Logs in over a fresh channel.
pub async fn login(
    channel: &mut Channel,
    options: &ConnectOptions,
    tls: &TlsSettings,
) -> Result<Login, WireError> {
    let packet = channel.packet().await?;
    if packet.first() == Some(&0xFF) {
        return Err(super::connection::server_error(packet));
    }
    let hello = greeting(packet)?;
    let mut capabilities = LONG_FLAG
        | LOCAL_FILES
        | PROTOCOL_41
        | TRANSACTIONS
        | SECURE_CONNECTION
        | PLUGIN_AUTH
        | PLUGIN_AUTH_LENENC
        | DEPRECATE_EOF;
    capabilities &= hello.capabilities | LONG_FLAG;
    capabilities |= hello.capabilities & LONG_PASSWORD;
    if options.database.is_some() {
        capabilities |= CONNECT_WITH_DB;
    }
    let extended = hello.extended & CACHE_METADATA;
    if wants_tls(channel, options, hello.capabilities)? {
        capabilities |= SSL;
        let out = channel.start(false);
        write_fixed(capabilities, extended, out);
        channel.send().await?;
        channel.transport.encrypt(tls.session(options)?).await?;
    }
    let password = options.password.as_ref().map(|p| p.expose()).unwrap_or_default();
    let private = channel.transport.is_private();
    let answer = scramble(&hello.plugin, password, &hello.nonce, private)?.unwrap_or_default();
    let out = channel.start(false);
    write_fixed(capabilities, extended, out);
    out.extend_from_slice(options.user.as_bytes());
    out.push(0);
    write_lenenc(answer.len() as u64, out);
    out.extend_from_slice(&answer);
    if let Some(database) = &options.database {
        out.extend_from_slice(database.as_bytes());
        out.push(0);
    }
    out.extend_from_slice(hello.plugin.as_bytes());
    out.push(0);
    channel.send().await?;
    authenticate(channel, password, hello.plugin, hello.nonce).await?;
    Ok(Login {
        version: hello.version.trim_start_matches("5.5.5-").to_owned(),
        connection_id: hello.connection_id,
        agreed: Agreed { deprecate_eof: capabilities & DEPRECATE_EOF != 0, cache_metadata: extended != 0 },
    })
}

fn wants_tls(channel: &Channel, options: &ConnectOptions, offered: u32) -> Result<bool, WireError> {
    let offered = offered & SSL != 0;
    match options.ssl_mode {
        SslMode::Disabled => Ok(false),
        // As the mysql client does: a socket never leaves the machine.
        _ if channel.transport.is_unix() => Ok(false),
        SslMode::Preferred => Ok(offered),
        SslMode::Required | SslMode::VerifyCa | SslMode::VerifyIdentity if offered => Ok(true),
        _ => Err(WireError::Tls(
            "the server offers no TLS; --ssl-mode=preferred or disabled connects without".into(),
        )),
    }
}

/// The part that the TLS request and the full answer share.
fn write_fixed(capabilities: u32, extended: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&capabilities.to_le_bytes());
    out.extend_from_slice(&MAX_PACKET.to_le_bytes());
    out.push(CHARSET);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&extended.to_le_bytes());
}

/// The plugin's first answer; `None` for a plugin that we do not know. `private`: nobody else can read it on its way.
fn scramble(plugin: &str, password: &str, nonce: &[u8], private: bool) -> Result<Option<Vec<u8>>, WireError> {
    let password_bytes = password.as_bytes();
    Ok(match plugin {
        "mysql_native_password" => {
            Some(scramble_native(nonce, password_bytes).map(Vec::from).unwrap_or_default())
        }
        "caching_sha2_password" => {
            Some(scramble_sha256(nonce, password_bytes).map(Vec::from).unwrap_or_default())
        }
        "client_ed25519" => Some(create_response_for_ed25519(password_bytes, nonce).to_vec()),
        "mysql_clear_password" if private => Some([password_bytes, &[0]].concat()),
        "mysql_clear_password" => {
            return Err(WireError::Login("the server asks for the password in the clear; use TLS".into()));
        }
        _ => None,
    })
}

async fn authenticate(
    channel: &mut Channel,
    password: &str,
    mut plugin: String,
    mut nonce: Vec<u8>,
) -> Result<(), WireError> {
    loop {
        let packet = channel.packet().await?;
        match packet {
            [0x00, ..] => return Ok(()),
            [0xFF, ..] => return Err(super::connection::server_error(packet)),
            [0xFE, rest @ ..] => {
                let mut parts = rest.splitn(2, |&b| b == 0);
                plugin = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
                nonce = parts.next().unwrap_or_default().to_vec();
                if plugin != "client_ed25519" || nonce.len() > 32 {
                    nonce.truncate(if plugin == "client_ed25519" { 32 } else { 20 });
                }
                let private = channel.transport.is_private();
                let answer = scramble(&plugin, password, &nonce, private)?.ok_or_else(|| {
                    WireError::Login(format!("the account uses the plugin {plugin}, which is not supported"))
                })?;
                channel.start(false).extend_from_slice(&answer);
                channel.send().await?;
            }
            // caching_sha2_password: 3 is "the cache knew you", an OK packet follows.
            [0x01, 3] => {}
            [0x01, 4] if plugin == "caching_sha2_password" => {
                full_authentication(channel, password, &nonce).await?
            }
            _ => return Err(WireError::Unexpected("an authentication packet of unknown kind")),
        }
    }
}

/// caching_sha2_password's slow path: the password itself, in private or under the server's RSA key.
async fn full_authentication(channel: &mut Channel, password: &str, nonce: &[u8]) -> Result<(), WireError> {
    let mut clear = [password.as_bytes(), &[0]].concat();
    if channel.transport.is_private() {
        channel.start(false).extend_from_slice(&clear);
        return channel.send().await;
    }
    channel.start(false).push(2);
    channel.send().await?;
    let packet = channel.packet().await?;
    let key = match packet {
        [0x01, key @ ..] if key.starts_with(b"-----BEGIN") => key.to_vec(),
        [0xFF, ..] => return Err(super::connection::server_error(packet)),
        _ => return Err(WireError::Login("the server sent no public key; use TLS".into())),
    };
    for (byte, salt) in clear.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= salt;
    }
    let sealed = encrypt(&clear, &key);
    channel.start(false).extend_from_slice(&sealed);
    channel.send().await
}

/// Skips a length-encoded string; for callers that only need what follows.
pub fn skip_string(bytes: &mut &[u8]) -> Result<(), WireError> {
    lenenc_bytes(bytes).map(drop).ok_or(WireError::Unexpected("a packet is cut short"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{ED25519, UnparsedPublicKey};

    #[test]
    fn an_ed25519_answer_is_a_signature_that_the_account_s_public_key_verifies() {
        // Base64 of the public key that MariaDB's documentation of the plugin gives for the password `secret`:
        // ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY
        let key = [
            0x64, 0x88, 0x14, 0x44, 0x45, 0x20, 0xe4, 0xf5, 0x60, 0x43, 0xa2, 0xec, 0x92, 0x15, 0xe6, 0x3b,
            0xe7, 0x99, 0x2d, 0x2d, 0x27, 0x0b, 0xc6, 0xde, 0xe8, 0x73, 0xe3, 0x61, 0x64, 0x78, 0x60, 0x96,
        ];
        let nonce: Vec<u8> = (0..32).collect();
        let answer = |password| scramble("client_ed25519", password, &nonce, false).unwrap().unwrap();
        let verifies =
            |signature: &[u8]| UnparsedPublicKey::new(&ED25519, key).verify(&nonce, signature).is_ok();
        assert!(verifies(&answer("secret")));
        assert!(!verifies(&answer("Secret")));
    }

    #[test]
    fn a_password_in_the_clear_is_for_private_ways_only() {
        assert_eq!(scramble("mysql_clear_password", "x", &[], true).unwrap().unwrap(), b"x\0");
        assert!(scramble("mysql_clear_password", "x", &[], false).is_err());
        assert!(scramble("auth_gssapi_client", "x", &[], true).unwrap().is_none());
    }
}
