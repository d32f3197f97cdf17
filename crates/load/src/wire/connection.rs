//! A logged-in session: statements prepared on first use, executed, and their replies framed.

use super::error::WireError;
use super::login::{Agreed, login, skip_string};
use super::reply::{ColumnType, Format, Reply, lenenc};
use super::tls::TlsSettings;
use super::transport::{Address, Transport};
use super::value::{Value, write_execute, write_query};
use crate::reactor::{Reactor, block_on};
use crate::session::{Session, Statement, StatementId};
use server::ConnectOptions;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Enough for most replies; grows to the largest one seen.
const FIRST_BUFFER: usize = 4096;
/// The largest payload of one packet.
const MAX_PAYLOAD: usize = (1 << 24) - 1;

/// How statements with parameters travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Prepared once on each connection, then executed in binary.
    #[default]
    Prepared,
    /// As SQL text: for proxies without prepared statements and a full `max_prepared_stmt_count`.
    Text,
}

/// Opens connections to one server: name resolved and TLS configured once.
#[derive(Clone)]
pub struct Connector {
    options: Arc<ConnectOptions>,
    address: Address,
    tls: TlsSettings,
    protocol: Protocol,
    statements: Arc<[Statement]>,
}

impl Connector {
    /// Prepares for connections that execute `statements`.
    pub fn new(
        options: &ConnectOptions,
        statements: Arc<[Statement]>,
        protocol: Protocol,
    ) -> Result<Self, WireError> {
        Ok(Self {
            options: Arc::new(options.clone()),
            address: Address::resolve(options)?,
            tls: TlsSettings::new(options)?,
            protocol,
            statements,
        })
    }

    /// A connection that belongs to the calling task of the reactor.
    pub async fn connect(&self, reactor: &Rc<Reactor>) -> Result<Connection, WireError> {
        self.open(Some(Rc::clone(reactor))).await
    }

    /// A blocking connection, for administration and loading.
    pub fn connect_blocking(&self) -> Result<Connection, WireError> {
        block_on(self.open(None))
    }

    async fn open(&self, reactor: Option<Rc<Reactor>>) -> Result<Connection, WireError> {
        let transport = Transport::connect(&self.address, reactor).await?;
        let mut channel = Channel::new(transport);
        let login = login(&mut channel, &self.options, &self.tls).await?;
        Ok(Connection {
            channel,
            agreed: login.agreed,
            version: login.version,
            id: login.connection_id,
            protocol: self.protocol,
            statements: Arc::clone(&self.statements),
            prepared: Vec::new(),
            columns: Vec::new(),
        })
    }
}

/// Packets over a transport, one buffer each way.
pub struct Channel {
    pub(super) transport: Transport,
    out: Vec<u8>,
    input: Vec<u8>,
    filled: usize,
    /// Where the next packet's header begins.
    next: usize,
    sequence: u8,
}

impl Channel {
    fn new(transport: Transport) -> Self {
        Self {
            transport,
            out: Vec::with_capacity(256),
            input: vec![0; FIRST_BUFFER],
            filled: 0,
            next: 0,
            sequence: 0,
        }
    }

    /// Begins a packet; its payload is appended to the returned buffer. A command starts a new sequence.
    pub fn start(&mut self, command: bool) -> &mut Vec<u8> {
        if command {
            self.sequence = 0;
            self.filled = 0;
            self.next = 0;
        }
        self.out.clear();
        self.out.extend_from_slice(&[0; 4]);
        &mut self.out
    }

    /// Sends the packet that was begun.
    pub async fn send(&mut self) -> Result<(), WireError> {
        let length = self.out.len() - 4;
        if length > MAX_PAYLOAD {
            return Err(WireError::Unexpected("a statement is larger than 16 MiB"));
        }
        let header = (length as u32).to_le_bytes();
        self.out[..3].copy_from_slice(&header[..3]);
        self.out[3] = self.sequence;
        self.sequence = self.sequence.wrapping_add(1);
        self.transport.write_all(&self.out).await
    }

    /// The next packet's place in the buffer.
    async fn frame(&mut self) -> Result<(usize, usize), WireError> {
        let start = self.next + 4;
        while self.filled < start {
            self.fill().await?;
        }
        let header = &self.input[self.next..start];
        let length = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        self.sequence = header[3].wrapping_add(1);
        let end = start + length;
        while self.filled < end {
            self.fill().await?;
        }
        self.next = end;
        Ok((start, end))
    }

    async fn fill(&mut self) -> Result<(), WireError> {
        if self.filled == self.input.len() {
            self.input.resize(self.input.len() * 2, 0);
        }
        self.filled += self.transport.read(&mut self.input[self.filled..]).await?;
        Ok(())
    }

    /// The next packet's payload.
    pub async fn packet(&mut self) -> Result<&[u8], WireError> {
        let (start, end) = self.frame().await?;
        Ok(&self.input[start..end])
    }
}

/// What a connection knows of a statement that it has prepared.
struct Prepared {
    id: u32,
    bound: bool,
    columns: Box<[ColumnType]>,
}

/// Where a reply's rows lie, and its OK packet's numbers.
struct Outcome {
    affected: u64,
    warnings: u16,
    rows: (usize, usize),
}

/// A logged-in session.
pub struct Connection {
    channel: Channel,
    agreed: Agreed,
    version: String,
    id: u32,
    protocol: Protocol,
    statements: Arc<[Statement]>,
    prepared: Vec<Option<Prepared>>,
    /// Column types of the last text result set.
    columns: Vec<ColumnType>,
}

impl Connection {
    /// The server's version string.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The server's number of this connection, for `KILL`.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Executes SQL text.
    pub async fn query(&mut self, sql: &str) -> Result<Reply<'_>, WireError> {
        self.query_with(sql, &[]).await
    }

    /// [`Self::query`] for SQL that is built as bytes.
    pub async fn query_bytes(&mut self, sql: &[u8]) -> Result<Reply<'_>, WireError> {
        let out = self.channel.start(true);
        out.push(0x03);
        out.extend_from_slice(sql);
        self.query_sent().await
    }

    async fn query_with(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Reply<'_>, WireError> {
        write_query(sql, values, self.channel.start(true));
        self.query_sent().await
    }

    async fn query_sent(&mut self) -> Result<Reply<'_>, WireError> {
        self.channel.send().await?;
        let mut columns = std::mem::take(&mut self.columns);
        let outcome = self.read_reply(Format::Text, &mut columns).await;
        self.columns = columns;
        let outcome = outcome?;
        Ok(self.reply(Format::Text, &self.columns, &outcome))
    }

    /// [`Self::query`] on a blocking connection.
    pub fn query_blocking(&mut self, sql: &str) -> Result<Reply<'_>, WireError> {
        block_on(self.query(sql))
    }

    /// `LOAD DATA LOCAL`: executes `sql` and answers the server's request for the file with the chunks that
    /// `next` produces, each below 16 MiB, until it leaves the buffer empty. Returns the rows loaded.
    pub fn load_local(&mut self, sql: &str, mut next: impl FnMut(&mut Vec<u8>)) -> Result<u64, WireError> {
        block_on(async {
            write_query(sql, &[], self.channel.start(true));
            self.channel.send().await?;
            let packet = self.channel.packet().await?;
            match packet {
                [0xFB, ..] => {}
                [0xFF, ..] => return Err(server_error(packet)),
                _ => return Err(WireError::Unexpected("no request for the data of LOAD DATA LOCAL")),
            }
            loop {
                let out = self.channel.start(false);
                next(out);
                let last = out.len() == 4;
                self.channel.send().await?;
                if last {
                    break;
                }
            }
            let packet = self.channel.packet().await?;
            match packet {
                [0x00, rest @ ..] => Ok(ok_packet(rest)?.0),
                [0xFF, ..] => Err(server_error(packet)),
                _ => Err(WireError::Unexpected("no result of LOAD DATA LOCAL")),
            }
        })
    }

    async fn execute_prepared(
        &mut self,
        id: StatementId,
        values: &[Value<'_>],
    ) -> Result<Reply<'_>, WireError> {
        let slot = id.0;
        if self.prepared.get(slot).is_none_or(Option::is_none) {
            self.prepare(slot).await?;
        }
        let Some(Some(statement)) = self.prepared.get_mut(slot) else {
            return Err(WireError::Unexpected("a statement is missing"));
        };
        write_execute(statement.id, values, !statement.bound, self.channel.start(true));
        statement.bound = true;
        self.channel.send().await?;
        let mut columns = Vec::new();
        let outcome = self.read_reply(Format::Binary, &mut columns).await?;
        let Some(Some(statement)) = self.prepared.get_mut(slot) else {
            return Err(WireError::Unexpected("a statement is missing"));
        };
        if !columns.is_empty() && *statement.columns != *columns {
            statement.columns = columns.into();
        }
        let columns = self.prepared[slot].as_ref().map_or(&[][..], |s| &s.columns);
        Ok(self.reply(Format::Binary, columns, &outcome))
    }

    fn reply<'a>(&'a self, format: Format, columns: &'a [ColumnType], outcome: &Outcome) -> Reply<'a> {
        Reply {
            affected: outcome.affected,
            warnings: outcome.warnings,
            format,
            columns,
            rows: &self.channel.input[outcome.rows.0..outcome.rows.1],
        }
    }

    async fn prepare(&mut self, slot: usize) -> Result<(), WireError> {
        let statements = Arc::clone(&self.statements);
        let sql = &statements
            .get(slot)
            .ok_or(WireError::Unexpected("a statement is not in the workload's list"))?
            .sql;
        let out = self.channel.start(true);
        out.push(0x16);
        out.extend_from_slice(sql.as_bytes());
        self.channel.send().await?;
        let packet = self.channel.packet().await?;
        let (id, columns, parameters) = match packet {
            [0x00, a, b, c, d, c0, c1, p0, p1, ..] => (
                u32::from_le_bytes([*a, *b, *c, *d]),
                u16::from_le_bytes([*c0, *c1]),
                u16::from_le_bytes([*p0, *p1]),
            ),
            [0xFF, ..] => return Err(server_error(packet)),
            _ => return Err(WireError::Unexpected("no answer to a prepare")),
        };
        self.skip_definitions(usize::from(parameters), &mut Vec::new()).await?;
        let mut types = Vec::new();
        self.skip_definitions(usize::from(columns), &mut types).await?;
        if self.prepared.len() <= slot {
            self.prepared.resize_with(slot + 1, || None);
        }
        self.prepared[slot] = Some(Prepared { id, bound: false, columns: types.into() });
        Ok(())
    }

    /// Reads `count` column definitions (and the EOF after them) for their types.
    async fn skip_definitions(&mut self, count: usize, types: &mut Vec<ColumnType>) -> Result<(), WireError> {
        if count == 0 {
            return Ok(());
        }
        types.clear();
        for _ in 0..count {
            types.push(definition_type(self.channel.packet().await?)?);
        }
        if !self.agreed.deprecate_eof {
            self.channel.frame().await?;
        }
        Ok(())
    }

    /// Reads a whole reply. `columns` is left alone where the server sent no definitions.
    async fn read_reply(
        &mut self,
        format: Format,
        columns: &mut Vec<ColumnType>,
    ) -> Result<Outcome, WireError> {
        let (start, end) = self.channel.frame().await?;
        let packet = &self.channel.input[start..end];
        let mut rest = match packet {
            [0x00, rest @ ..] => {
                let (affected, warnings) = ok_packet(rest)?;
                return Ok(Outcome { affected, warnings, rows: (0, 0) });
            }
            [0xFF, ..] => return Err(server_error(packet)),
            [0xFB, ..] => return Err(WireError::Unexpected("a request for a local file")),
            rest => rest,
        };
        let count =
            lenenc(&mut rest).ok_or(WireError::Unexpected("a result set without a column count"))? as usize;
        let definitions_follow = !self.agreed.cache_metadata || rest.first() != Some(&0);
        if definitions_follow {
            self.skip_definitions(count, columns).await?;
        } else if format == Format::Text {
            return Err(WireError::Unexpected("a text result set without column definitions"));
        }
        let first = self.channel.next;
        loop {
            let last = self.channel.next;
            let (start, end) = self.channel.frame().await?;
            match &self.channel.input[start..end] {
                // An OK or EOF packet in the place of a row; a row that begins so would be 16 MiB long.
                [0xFE, rest @ ..] if end - start < MAX_PAYLOAD => {
                    let warnings = if self.agreed.deprecate_eof { ok_packet(rest)?.1 } else { 0 };
                    return Ok(Outcome { affected: 0, warnings, rows: (first, last) });
                }
                packet @ [0xFF, ..] => return Err(server_error(packet)),
                _ => {}
            }
        }
    }
}

impl Session for Connection {
    async fn execute(&mut self, id: StatementId, values: &[Value<'_>]) -> Result<Reply<'_>, WireError> {
        let prepare =
            self.protocol == Protocol::Prepared && self.statements.get(id.0).is_some_and(|s| s.prepare);
        if prepare {
            return self.execute_prepared(id, values).await;
        }
        let statements = Arc::clone(&self.statements);
        let statement =
            statements.get(id.0).ok_or(WireError::Unexpected("a statement is not in the workload's list"))?;
        self.query_with(&statement.sql, values).await
    }

    async fn pause(&mut self, time: Duration) {
        self.channel.transport.sleep(time).await;
    }
}

/// Affected rows and warnings of an OK packet behind its first byte.
fn ok_packet(mut rest: &[u8]) -> Result<(u64, u16), WireError> {
    let cut = WireError::Unexpected("an OK packet is cut short");
    let (Some(affected), Some(_)) = (lenenc(&mut rest), lenenc(&mut rest)) else { return Err(cut) };
    match rest {
        [_, _, a, b, ..] => Ok((affected, u16::from_le_bytes([*a, *b]))),
        _ => Err(cut),
    }
}

/// The type byte of a column definition.
fn definition_type(mut packet: &[u8]) -> Result<ColumnType, WireError> {
    // catalog, schema, table, original table, name, original name
    for _ in 0..6 {
        skip_string(&mut packet)?;
    }
    // length of the fixed part, charset (2), length (4), type
    packet.get(7).copied().ok_or(WireError::Unexpected("a column definition is cut short"))
}

/// The error of an error packet.
pub fn server_error(packet: &[u8]) -> WireError {
    let code = packet.get(1..3).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]));
    let rest = packet.get(3..).unwrap_or_default();
    let (state, message) = match rest {
        [b'#', rest @ ..] if rest.len() >= 5 => rest.split_at(5),
        _ => (&b"HY000"[..], rest),
    };
    WireError::Server {
        code,
        state: String::from_utf8_lossy(state).into_owned(),
        message: String::from_utf8_lossy(message).into_owned(),
    }
}
