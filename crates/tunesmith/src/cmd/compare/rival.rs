//! MySQLTuner as a contender: the installed script is asked after the same work on a default server, and its list is followed line by line.

use crate::experiment::{Book, Plan, Seat};
use crate::failure::{Failure, Kind};
use knobs::{Configuration, Flavour};
use lab::mysqltuner::Advice;
use server::{ConnectOptions, Endpoint};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const MIB: u64 = 1 << 20;

/// What MySQLTuner says, in values.
///
/// # Errors
/// If it is not installed, can't log in, or says nothing at all.
pub async fn mysqltuner(seat: &mut Seat, plan: &Plan, terminals: u32) -> Result<Book, Failure> {
    let (identity, found) = seat.look().await?;
    // The script looks at the memory of the computer that it runs on, which is not the machine's.
    let memory = seat.rig().size().memory.map_or(1024, |m| m.0 / MIB);
    let output = seat
        .after_work(plan, terminals as usize, |connection| ask(connection, memory))
        .await?
        .map_err(|e| {
            Failure::caused(Kind::Usage, "can't ask MySQLTuner", e)
                .hint("apt-get install mysqltuner mariadb-client")
        })?;
    let advice = Advice::read(&output);
    if !advice.complete && advice.wishes.is_empty() {
        let last = output.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("it printed nothing");
        return Err(Failure::new(Kind::Usage, format!("MySQLTuner came to no advice: {}", last.trim()))
            .hint("it needs the programs mysql and mysqladmin: apt-get install mariadb-client"));
    }
    let mut book = Book::default();
    if !advice.complete {
        book.notes
            .push("MySQLTuner died before its list; what it had said until then is followed".to_owned());
    }
    let one_redo_size = found.contains_key("innodb_redo_log_capacity");
    for wish in &advice.wishes {
        // Of one file, of which such a server has none; the script's own aim is a quarter of the pool in all.
        let name = if wish.knob == "innodb_log_file_size" && one_redo_size {
            "innodb_redo_log_capacity"
        } else {
            wish.knob.as_str()
        };
        if found.contains_key(name) {
            book.configuration.set(name, crate::studying::size(&wish.value));
            book.notes.push(format!("MySQLTuner: {} -> {name} = {}", wish.line, wish.value));
        } else {
            book.notes.push(format!("MySQLTuner: {} -> not on {}, left out", wish.line, identity));
        }
    }
    book.notes
        .extend(advice.unread.iter().map(|line| format!("MySQLTuner: {line} -> names no value, left out")));
    if identity.flavour == Flavour::MariaDb && book.configuration == Configuration::default() {
        book.notes.push("MySQLTuner: nothing of it can be set here".to_owned());
    }
    Ok(book)
}

/// Runs the script; all that it printed.
fn ask(connection: &ConnectOptions, memory_mib: u64) -> std::io::Result<String> {
    let Endpoint::Socket(socket) = &connection.endpoint else {
        return Err(std::io::Error::other("the server has no socket"));
    };
    // With --socket it also gives a port, and MariaDB's client then goes by TCP, where nobody listens.
    let folder = socket.parent().unwrap_or(Path::new("/tmp"));
    let options = folder.join("mysqltuner.cnf");
    let mut file = std::fs::File::create(&options)?;
    writeln!(file, "[client]\nuser=root\nsocket={}", socket.display())?;
    let output = Command::new("mysqltuner")
        .arg("--defaults-file")
        .arg(&options)
        .args(["--nocolor", "--noask", "--forcemem", &memory_mib.to_string(), "--forceswap", "1"])
        .stdin(Stdio::null())
        .output()?;
    // Perl's warnings first: the list is the last thing that the script prints, and ends with its output.
    let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.push('\n');
    text.push_str(&String::from_utf8_lossy(&output.stdout));
    Ok(text)
}
