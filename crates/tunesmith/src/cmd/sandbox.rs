//! `tunesmith sandbox`: private servers by hand.

use crate::cli::Globals;
use crate::cmd::connection::flavour_named;
use crate::failure::{Failure, Kind};
use serde::{Deserialize, Serialize};
use server::{Binary, Sandboxes, Stopped};
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Version of the JSON documents.
const SCHEMA: u32 = 1;

/// Arguments of `tunesmith sandbox`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Start a server that stays until it is stopped.
    Start(Start),
    /// Stop a server; its data stay.
    Stop {
        /// Name of the sandbox.
        #[arg(required_unless_present = "all")]
        name: Option<String>,
        /// Stop all that run.
        #[arg(long)]
        all: bool,
    },
    /// Show all sandboxes.
    List,
    /// Remove stopped sandboxes with their data, and what killed processes left behind.
    Clean {
        /// Only this one.
        name: Option<String>,
    },
    /// What `start` leaves running.
    #[command(hide = true)]
    Supervise(Start),
}

/// Which server, and how.
#[derive(Debug, clap::Args)]
struct Start {
    /// Name of the sandbox.
    #[arg(long, default_value = "default")]
    name: String,
    /// mysql or mariadb; the first that is found, if not said.
    #[arg(long, default_value = "any")]
    flavour: String,
    /// A setting of the server, as in an option file; may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// The one line that a supervisor says to whoever started it.
#[derive(Debug, Serialize, Deserialize)]
enum Word {
    Ready { server: String, socket: PathBuf, pid: u32 },
    Failed { text: String, hint: Option<String> },
}

/// Runs the command.
pub async fn run(args: Args, globals: &Globals) -> Result<(), Failure> {
    let sandboxes = Sandboxes::platform().map_err(|e| Failure::caused(Kind::Connect, "no sandboxes", e))?;
    match args.action {
        Action::Start(start) => detach(&start, globals),
        Action::Supervise(start) => supervise(&sandboxes, &start, globals).await,
        Action::Stop { name, all } => stop(&sandboxes, name, all, globals).await,
        Action::List => list(&sandboxes, globals),
        Action::Clean { name } => clean(&sandboxes, name, globals),
    }
}

/// Starts a process of ourselves that keeps the server, and waits for its word.
fn detach(start: &Start, globals: &Globals) -> Result<(), Failure> {
    flavour_named(&start.flavour)?;
    let mut command = Command::new("/proc/self/exe");
    command.args(["sandbox", "supervise", "--name", &start.name, "--flavour", &start.flavour]);
    for (name, value) in &start.settings {
        command.arg("--set").arg(format!("{name}={value}"));
    }
    if let Some(folder) = &globals.connection.server_binary {
        command.arg("--server-binary").arg(folder);
    }
    let failed = |e| Failure::caused(Kind::Bug, "can't start the supervisor", e);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut line).map_err(failed)?;
    }
    match serde_json::from_str(&line) {
        Ok(Word::Ready { server, socket, pid }) => {
            if globals.json {
                let document = serde_json::json!({
                    "schema": SCHEMA, "name": start.name, "server": server, "socket": socket, "pid": pid,
                });
                println!("{document}");
            } else {
                println!("{server} runs as sandbox '{}', process {pid}", start.name);
                println!("  connect:  mysql -u root -S {}", socket.display());
                println!("  stop:     tunesmith sandbox stop {}", start.name);
            }
            Ok(())
        }
        Ok(Word::Failed { text, hint }) => {
            let failure = Failure::new(Kind::Connect, text);
            Err(match hint {
                Some(hint) => failure.hint(hint),
                None => failure,
            })
        }
        Err(_) => Err(Failure::new(Kind::Bug, "the supervisor ended without a word")),
    }
}

async fn supervise(sandboxes: &Sandboxes, start: &Start, globals: &Globals) -> Result<(), Failure> {
    // Away from the terminal and its signals. Fails where we lead a process group already, which is as good.
    let _ = server::leave_terminal();
    let say = |word: &Word| {
        let line = serde_json::to_string(word).unwrap_or_default();
        // Whoever asked may have gone meanwhile.
        let _ = writeln!(std::io::stdout(), "{line}").and_then(|()| std::io::stdout().flush());
    };
    let failed = |error: &dyn Error, hint: Option<&str>| Word::Failed {
        text: chain(error),
        hint: hint.map(str::to_owned),
    };
    // Before the server starts: a signal that comes meanwhile must not end us without it.
    let asked =
        server::asked_to_end().map_err(|e| Failure::caused(Kind::Bug, "can't listen to signals", e))?;
    let flavour = flavour_named(&start.flavour)?;
    let binary = match Binary::find(flavour, globals.connection.server_binary.as_deref()) {
        Ok(binary) => binary,
        Err(e) => {
            say(&failed(&e, Some(e.hint())));
            return Ok(());
        }
    };
    match sandboxes.start(&start.name, &binary, &start.settings).await {
        Err(e) => say(&failed(&e, None)),
        Ok(supervised) => {
            let server = format!("{} {}", binary.flavour, binary.version());
            say(&Word::Ready { server, socket: supervised.socket().to_owned(), pid: supervised.pid() });
            let ended = supervised.until(asked).await;
            if !matches!(ended, Ok(Stopped::Clean)) {
                return Err(Failure::new(Kind::Connect, "the server did not end in order"));
            }
        }
    }
    Ok(())
}

/// An error with all its causes.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

fn failure(error: server::SandboxError) -> Failure {
    Failure::caused(Kind::Usage, "sandbox", error)
}

async fn stop(
    sandboxes: &Sandboxes,
    name: Option<String>,
    all: bool,
    globals: &Globals,
) -> Result<(), Failure> {
    let names = match name {
        Some(name) if !all => vec![name],
        _ => running(sandboxes)?,
    };
    for name in &names {
        sandboxes.stop(name).await.map_err(failure)?;
        if !globals.json {
            println!("sandbox '{name}' is stopped; its data stay until 'tunesmith sandbox clean'");
        }
    }
    if globals.json {
        println!("{}", serde_json::json!({ "schema": SCHEMA, "stopped": names }));
    } else if names.is_empty() {
        println!("no sandbox runs");
    }
    Ok(())
}

fn running(sandboxes: &Sandboxes) -> Result<Vec<String>, Failure> {
    let all = sandboxes.list().map_err(failure)?;
    Ok(all.into_iter().filter(|s| s.running).map(|s| s.name).collect())
}

fn list(sandboxes: &Sandboxes, globals: &Globals) -> Result<(), Failure> {
    let all = sandboxes.list().map_err(failure)?;
    if globals.json {
        println!("{}", serde_json::json!({ "schema": SCHEMA, "sandboxes": all }));
    } else if all.is_empty() {
        println!("no sandboxes; 'tunesmith sandbox start' makes one");
    } else {
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        table.set_header(["name", "server", "state", "data", "socket"]);
        for s in all {
            let state = if s.running { "running" } else { "stopped" };
            let socket = s.socket.map(|p| p.display().to_string()).unwrap_or_default();
            table.add_row([s.name, s.server, state.into(), knobs::Bytes(s.data_bytes).to_string(), socket]);
        }
        println!("{table}");
    }
    Ok(())
}

fn clean(sandboxes: &Sandboxes, name: Option<String>, globals: &Globals) -> Result<(), Failure> {
    let mut removed = Vec::new();
    let stopped = sandboxes.list().map_err(failure)?.into_iter().filter(|s| !s.running).map(|s| s.name);
    for name in name.map_or_else(|| stopped.collect(), |name| vec![name]) {
        sandboxes.remove(&name).map_err(failure)?;
        removed.push(name);
    }
    let root = server::Workdir::platform_root();
    let swept = root.and_then(|root| server::sweep(&root));
    let swept = swept.map_err(|e| Failure::caused(Kind::Connect, "can't clean up", e))?;
    if globals.json {
        let document = serde_json::json!({
            "schema": SCHEMA, "removed": removed,
            "swept": { "folders": swept.folders, "servers": swept.servers },
        });
        println!("{document}");
    } else {
        println!(
            "removed {} sandboxes, {} work folders and {} servers that killed processes had left",
            removed.len(),
            swept.folders,
            swept.servers
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_a_name_and_a_value() {
        assert_eq!(setting("a = b=c").unwrap(), ("a".to_owned(), "b=c".to_owned()));
        assert!(setting("a").is_err());
    }

    #[test]
    fn an_error_is_told_with_its_causes() {
        let io = std::io::Error::other("the cause");
        assert_eq!(chain(&io), "the cause");
        let outer = server::read_password_file(std::path::Path::new("/no/such/file")).unwrap_err();
        assert!(chain(&outer).contains("No such file"));
    }
}
