//! What the kernel alone costs: point selects over a connection of ours, without the engine, its clock and its books.
//!
//! ```text
//! cargo run --release -p tunesmith-load --example floor -- SOCKET|HOST:PORT CONNECTIONS SECONDS blocking|epoll
//! ```
//!
//! `blocking` has a thread for each connection that sends and reads, two system calls a statement; `epoll` drives all
//! connections from one thread. The same statement with the same bytes each time, on sysbench's `sbtest.sbtest1` as root.
//! The difference to `bench sysbench run` is the engine; what is left is system calls, and cannot be had for less on this host.

use server::{ConnectOptions, Endpoint, SslMode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tunesmith_load::reactor::{Reactor, Task, block_on};
use tunesmith_load::session::{Session, Statement, StatementId};
use tunesmith_load::wire::{Connection, Connector, Protocol, Value, WireError};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Executes until the time is over; looks at the clock every 64 statements.
async fn statements(mut connection: Connection, until: Instant) -> Result<u64, WireError> {
    let mut done = 0_u64;
    while !done.is_multiple_of(64) || Instant::now() < until {
        connection.execute(StatementId(0), &[Value::Int(1)]).await?;
        done += 1;
    }
    Ok(done)
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [place, connections, seconds, mode] = &arguments[..] else {
        return Err("floor SOCKET|HOST:PORT CONNECTIONS SECONDS blocking|epoll".into());
    };
    let mut options = ConnectOptions::local(place, "root").with_database("sbtest");
    if let Some((host, port)) = place.rsplit_once(':') {
        options.endpoint = Endpoint::Tcp { host: host.to_owned(), port: port.parse()? };
        options.ssl_mode = SslMode::Disabled;
    }
    let connections: usize = connections.parse()?;
    let statement = [Statement::read("SELECT c FROM sbtest1 WHERE id=?")];
    let connector = Connector::new(&options, Arc::new(statement), Protocol::Prepared)?;
    let until = Instant::now() + Duration::from_secs(seconds.parse()?);
    let done = AtomicU64::new(0);
    if mode == "blocking" {
        std::thread::scope(|scope| {
            let one = || -> Result<(), WireError> {
                done.fetch_add(block_on(statements(connector.connect_blocking()?, until))?, Relaxed);
                Ok(())
            };
            let threads: Vec<_> = (0..connections).map(|_| scope.spawn(one)).collect();
            threads
                .into_iter()
                .try_for_each(|t| t.join().unwrap_or(Err(WireError::Unexpected("a thread failed"))))
        })?;
    } else {
        let reactor = Reactor::new()?;
        let task = || -> Task<'_> {
            Box::pin(async {
                let run = async { statements(connector.connect(&reactor).await?, until).await };
                match run.await {
                    Ok(n) => drop(done.fetch_add(n, Relaxed)),
                    Err(error) => eprintln!("{error}"),
                }
            })
        };
        reactor.run((0..connections).map(|_| task()).collect(), || false)?;
    }
    println!("queries: {}", done.into_inner());
    Ok(())
}
