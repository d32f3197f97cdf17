//! The socket: unix or TCP, in the clear or under TLS, blocking or driven by the reactor.

use super::error::WireError;
use crate::reactor::{Reactor, TICK, pause};
use rustix::fd::{AsFd, BorrowedFd};
use rustls::ClientConnection;
use server::{ConnectOptions, Endpoint};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long a blocking connection attempt may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// An address that needs no further look-up.
#[derive(Debug, Clone)]
pub enum Address {
    /// A unix socket.
    Unix(PathBuf),
    /// A host's addresses, tried in order.
    Tcp(Vec<SocketAddr>),
}

impl Address {
    /// Resolves the endpoint's name.
    pub fn resolve(options: &ConnectOptions) -> Result<Self, WireError> {
        Ok(match &options.endpoint {
            Endpoint::Socket(path) => Self::Unix(path.clone()),
            Endpoint::Tcp { host, port } => Self::Tcp((host.as_str(), *port).to_socket_addrs()?.collect()),
        })
    }
}

enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Unix(s) => s.set_nonblocking(true),
            Self::Tcp(s) => s.set_nonblocking(true),
        }
    }

    /// Reads and writes fail with `WouldBlock` after this time.
    fn block_for(&self, time: Duration) -> io::Result<()> {
        match self {
            Self::Unix(s) => s.set_read_timeout(Some(time)).and_then(|()| s.set_write_timeout(Some(time))),
            Self::Tcp(s) => s.set_read_timeout(Some(time)).and_then(|()| s.set_write_timeout(Some(time))),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(s) => s.as_fd(),
            Self::Tcp(s) => s.as_fd(),
        }
    }
}

impl Read for &Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(s) => (&mut &*s).read(buffer),
            Socket::Tcp(s) => (&mut &*s).read(buffer),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(s) => (&mut &*s).write(bytes),
            Socket::Tcp(s) => (&mut &*s).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connected byte stream.
pub struct Transport {
    socket: Socket,
    tls: Option<Box<ClientConnection>>,
    reactor: Option<Rc<Reactor>>,
    /// A short read emptied the socket: the next read would only fail, so wait for its event first.
    drained: bool,
}

impl Transport {
    /// Connects. With a reactor the socket is non-blocking and belongs to the calling task.
    pub async fn connect(address: &Address, reactor: Option<Rc<Reactor>>) -> Result<Self, WireError> {
        // The connection itself is made blocking: it is local or one round trip, before the measurement or
        // after a break, and bounded by the timeout.
        let socket = match address {
            Address::Unix(path) => Socket::Unix(UnixStream::connect(path)?),
            Address::Tcp(addresses) => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
                let mut connected = None;
                for address in addresses {
                    match TcpStream::connect_timeout(address, CONNECT_TIMEOUT) {
                        Ok(stream) => {
                            connected = Some(stream);
                            break;
                        }
                        Err(error) => last = error,
                    }
                }
                let stream = connected.ok_or(last)?;
                stream.set_nodelay(true)?;
                Socket::Tcp(stream)
            }
        };
        if let Some(reactor) = &reactor {
            if reactor.is_solo() {
                socket.block_for(TICK)?;
            } else {
                socket.set_nonblocking()?;
                reactor.register(&socket)?;
            }
        }
        Ok(Self { socket, tls: None, reactor, drained: false })
    }

    /// Waits without blocking the thread's other connections.
    pub async fn sleep(&self, time: Duration) {
        match &self.reactor {
            Some(reactor) => reactor.sleep_until(Instant::now() + time).await,
            None => std::thread::sleep(time),
        }
    }

    /// Whether a password may be sent as it is.
    pub fn is_private(&self) -> bool {
        self.tls.is_some() || matches!(self.socket, Socket::Unix(_))
    }

    /// Whether this is a unix socket, where TLS has no purpose.
    pub fn is_unix(&self) -> bool {
        matches!(self.socket, Socket::Unix(_))
    }

    /// Performs the TLS handshake; everything after it is encrypted.
    pub async fn encrypt(&mut self, session: ClientConnection) -> Result<(), WireError> {
        let mut session = Box::new(session);
        while session.is_handshaking() {
            if session.wants_write() {
                match session.write_tls(&mut &self.socket) {
                    Ok(_) => continue,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait_writable().await?,
                    Err(error) => return Err(error.into()),
                }
            }
            if session.is_handshaking() && !session.wants_write() {
                match session.read_tls(&mut &self.socket) {
                    Ok(0) => return Err(closed().into()),
                    Ok(_) => {
                        session.process_new_packets().map_err(|e| WireError::Tls(e.to_string()))?;
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => pause().await,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        self.tls = Some(session);
        self.flush_tls().await
    }

    /// Reads at least one byte.
    pub async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, WireError> {
        if self.tls.is_some() {
            return self.read_tls(buffer).await;
        }
        if self.drained && self.reactor.as_ref().is_some_and(|r| !r.is_solo()) {
            pause().await;
        }
        loop {
            match (&self.socket).read(buffer) {
                Ok(0) => return Err(closed().into()),
                Ok(n) => {
                    self.drained = n < buffer.len();
                    return Ok(n);
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => pause().await,
                    io::ErrorKind::Interrupted => {}
                    _ => return Err(error.into()),
                },
            }
        }
    }

    /// Writes everything. `expects_reply`: the server answers only after this, so wait for the answer's event.
    pub async fn write_all(&mut self, mut bytes: &[u8]) -> Result<(), WireError> {
        self.drained = true;
        if let Some(session) = &mut self.tls {
            while !bytes.is_empty() {
                let n = session.writer().write(bytes)?;
                bytes = &bytes[n..];
                while session.wants_write() {
                    match session.write_tls(&mut &self.socket) {
                        Ok(_) => {}
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                            wait_writable(self.reactor.as_deref(), &self.socket).await?;
                        }
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            return Ok(());
        }
        while !bytes.is_empty() {
            match (&self.socket).write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => self.wait_writable().await?,
                    io::ErrorKind::Interrupted => {}
                    _ => return Err(error.into()),
                },
            }
        }
        Ok(())
    }

    async fn read_tls(&mut self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let Some(session) = &mut self.tls else { return Err(closed().into()) };
        loop {
            match session.reader().read(buffer) {
                Ok(0) => return Err(closed().into()),
                Ok(n) => return Ok(n),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
            match session.read_tls(&mut &self.socket) {
                Ok(0) => return Err(closed().into()),
                Ok(_) => {
                    session.process_new_packets().map_err(|e| WireError::Tls(e.to_string()))?;
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => pause().await,
                    io::ErrorKind::Interrupted => {}
                    _ => return Err(error.into()),
                },
            }
        }
    }

    async fn flush_tls(&mut self) -> Result<(), WireError> {
        while let Some(session) = &mut self.tls
            && session.wants_write()
        {
            match session.write_tls(&mut &self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    wait_writable(self.reactor.as_deref(), &self.socket).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn wait_writable(&self) -> Result<(), WireError> {
        wait_writable(self.reactor.as_deref(), &self.socket).await
    }
}

async fn wait_writable(reactor: Option<&Reactor>, socket: &Socket) -> Result<(), WireError> {
    match reactor {
        Some(reactor) if reactor.is_solo() => pause().await,
        Some(reactor) => {
            reactor.watch_writable(socket, true)?;
            pause().await;
            reactor.watch_writable(socket, false)?;
        }
        None => {}
    }
    Ok(())
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")
}
