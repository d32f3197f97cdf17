//! Runs the program under test with everything of its own: store, cache and home.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The flavours that can be started here, as `--sandbox` names them.
pub fn flavours() -> Vec<String> {
    server::fixture::servers()
        .iter()
        .map(|binary| match binary.flavour {
            knobs::Flavour::MariaDb => "mariadb".to_owned(),
            _ => "mysql".to_owned(),
        })
        .collect()
}

/// A place to run `tunesmith` in.
pub struct Tunesmith {
    folder: tempfile::TempDir,
}

/// A program that ran.
pub struct Run {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Tunesmith {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The program with a home, a store and a work folder of its own; data sets are shared between tests, since they are
    /// never changed and take long to make.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tunesmith"));
        command
            .env("HOME", self.folder())
            .env("XDG_DATA_HOME", self.folder().join("share"))
            .env("TUNESMITH_CACHE_DIR", cache())
            .env_remove("MYSQL_PWD")
            .env("NO_COLOR", "1");
        command
    }

    pub fn run_args(&self, args: &[&str]) -> Run {
        let mut command = self.command();
        command.args(args);
        self.run(command)
    }

    pub fn run(&self, mut command: Command) -> Run {
        let output = command.stdin(Stdio::null()).output().unwrap();
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub fn spawn(&self, mut command: Command) -> Running {
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Running { child, lines, seen: String::new() }
    }

    /// No server process of ours is left; a moment is given to one that is being killed.
    pub fn assert_no_server(&self) {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            let left = servers_of(std::process::id());
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < until, "servers are left: {left:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// No server and no work folder without an owner is left after a program that ended by itself.
    pub fn assert_nothing_left(&self) {
        self.assert_no_server();
    }
}

/// A program that runs.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
    seen: String,
}

impl Running {
    /// Waits for a line with this text on standard error.
    pub fn wait_for(&mut self, text: &str, timeout: Duration) {
        let until = Instant::now() + timeout;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.seen += &line;
                    self.seen.push('\n');
                    if line.contains(text) {
                        return;
                    }
                }
                Err(_) => {
                    let _ = self.child.kill();
                    panic!("{text:?} was not said; what was said:\n{}", self.seen);
                }
            }
        }
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGINT, as Ctrl-C sends it.
    pub fn interrupt(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    }

    /// Waits for the end.
    pub fn finish(mut self) -> Run {
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let mut stderr = self.seen;
        for line in self.lines.iter() {
            stderr += &line;
            stderr.push('\n');
        }
        Run { code, stdout, stderr }
    }
}

/// One cache for all tests of this crate, beside the build.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// Server processes whose data lies in our cache and whose tunesmith is gone or is a child of this test.
fn servers_of(test: u32) -> Vec<String> {
    let ours = cache();
    let mut left = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let is_server = command.contains("--datadir") && command.contains(&*ours.to_string_lossy());
        // Another test of this file may run its own servers at the same time: theirs have a living tunesmith.
        if is_server && !has_living_parent(pid, test) {
            left.push(command);
        }
    }
    left
}

fn has_living_parent(pid: u32, _test: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)).unwrap_or("1");
    let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).unwrap_or_default();
    name.trim() == "tunesmith"
}
