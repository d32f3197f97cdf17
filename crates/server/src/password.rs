//! Passwords from a file or from the terminal.

use crate::connect::Secret;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

/// The first line of a file, without its end.
pub fn read_password_file(path: &Path) -> io::Result<Secret> {
    first_line(BufReader::new(File::open(path)?))
}

/// Asks on the terminal, without showing what is typed.
///
/// # Errors
/// If the process has no terminal, or the user gives up (end of input).
pub fn prompt_for_password(prompt: &str) -> io::Result<Secret> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let quiet = Quiet::begin(&terminal)?;
    write!(&terminal, "{prompt}")?;
    let secret = first_line(BufReader::new(&terminal));
    drop(quiet);
    writeln!(&terminal)?;
    secret
}

fn first_line(mut input: impl BufRead) -> io::Result<Secret> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Secret::new(line.trim_end_matches(['\r', '\n'])))
}

/// A terminal that does not show what is typed, until dropped.
struct Quiet<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> Quiet<'a> {
    fn begin(terminal: &'a File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(terminal, OptionalActions::Flush, &quiet)?;
        Ok(Self { terminal, before })
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.terminal, OptionalActions::Flush, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_its_first_line_as_it_is() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            read_password_file(file.path()).map(|s| s.expose().to_owned())
        };
        assert_eq!(read(" p ss \r\nsecond\n").unwrap(), " p ss ");
        assert_eq!(read("p").unwrap(), "p");
        assert_eq!(read("\n").unwrap(), "");
        assert_eq!(read("").unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
