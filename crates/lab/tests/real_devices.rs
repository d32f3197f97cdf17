//! Machines on real control groups and loop devices. Where they can't be had, each test says why it is skipped.

#![expect(clippy::unwrap_used, reason = "a helper of a test that fails has no better way to say so")]

use lab::Catalogue;
use lab::machine::{Emulated, Leftovers, MachineSpec, sweep};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const HOLD: &str = "LAB_TEST_HOLD";

fn spec(text: &str) -> MachineSpec {
    MachineSpec::parse(text, None, 1, &Catalogue::builtin()).unwrap()
}

/// A folder on a real disk: the system's one for temporary files may be in memory.
fn root() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A machine with everything, or `None` after saying why not.
fn start(text: &str, root: &Path) -> Option<Emulated> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: no root");
        return None;
    }
    let machine = match Emulated::start(&spec(text), root, 1 << 30) {
        Ok(machine) => machine,
        Err(e) => {
            eprintln!("skipped: {e}: {}", std::error::Error::source(&e).unwrap());
            return None;
        }
    };
    if let Some(lacking) = machine.lacking().first() {
        eprintln!("skipped: {lacking}");
        return None;
    }
    Some(machine)
}

fn mounts_under(root: &Path) -> usize {
    let root = root.canonicalize().unwrap();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    mounts.lines().filter(|line| line.contains(root.to_str().unwrap())).count()
}

fn loops_over(root: &Path) -> usize {
    let root = root.canonicalize().unwrap();
    let out = Command::new("losetup").args(["--noheadings", "--output", "BACK-FILE"]).output().unwrap();
    String::from_utf8(out.stdout)
        .unwrap()
        .lines()
        .filter(|line| line.contains(root.to_str().unwrap()))
        .count()
}

#[test]
fn what_runs_in_the_groups_has_the_limits() {
    let root = root();
    let Some(machine) = start("cpu=0.5,memory=64M", root.path()) else { return };
    // It joins before it does anything, as the server does.
    let mut child = Command::new("sh")
        .args(["-c", "read go; cat /proc/self/cgroup"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    for group in machine.control_groups() {
        fs::write(group.join("cgroup.procs"), child.id().to_string()).unwrap();
    }
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let told = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(told.matches("/tunesmith-").count() >= 1, "{told}");

    let groups = machine.control_groups();
    drop(machine);
    assert!(groups.iter().all(|group| !group.exists()), "removed with the machine");
}

#[test]
fn a_copy_shares_its_bytes_and_all_is_gone_afterwards() {
    let root = root();
    let Some(machine) = start("iops=1000000", root.path()) else { return };
    assert!(machine.has_disk());
    let file = machine.path().join("a");
    fs::write(&file, vec![7; 64 << 20]).unwrap();
    let copied =
        Command::new("cp").arg("--reflink=always").arg(&file).arg(machine.path().join("b")).status().unwrap();
    assert!(copied.success());
    assert_eq!((mounts_under(root.path()), loops_over(root.path())), (1, 1));
    drop(machine);
    assert_eq!((mounts_under(root.path()), loops_over(root.path())), (0, 0));
    let left: Vec<_> = fs::read_dir(root.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["gate.lock"]);
}

/// Not how fast, only that it waits: 300 writes at 200 a second can't be done in less than a second, however fast or busy the computer is.
#[test]
fn a_throttled_disk_makes_writers_wait() {
    let root = root();
    let Some(machine) = start("iops=200", root.path()) else { return };
    let file = File::create(machine.path().join("a")).unwrap();
    let page = vec![1; 16 << 10];
    machine.throttle().unwrap().on().unwrap();
    let begin = std::time::Instant::now();
    for n in 0..300_u64 {
        file.write_all_at(&page, n << 14).unwrap();
        file.sync_data().unwrap();
    }
    let seconds = begin.elapsed().as_secs_f64();
    machine.throttle().unwrap().off().unwrap();
    assert!(seconds > 1.0, "{seconds} s");
}

/// What the next test kills.
#[test]
fn holder() {
    let Some(root) = std::env::var_os(HOLD).map(PathBuf::from) else { return };
    let machine = Emulated::start(&spec("cpu=0.5,memory=64M,iops=100"), &root, 1 << 30).unwrap();
    let mut child = Command::new("sleep").arg("600").spawn().unwrap();
    for group in machine.control_groups() {
        fs::write(group.join("cgroup.procs"), child.id().to_string()).unwrap();
    }
    fs::write(root.join("ready"), child.id().to_string()).unwrap();
    child.wait().unwrap();
}

#[test]
fn what_a_killed_process_leaves_is_found_and_taken_apart() {
    let root = root();
    if start("cpu=0.5,memory=64M,iops=100", root.path()).is_none() {
        return;
    }
    let ready = root.path().join("ready");
    for round in 0..3 {
        let mut holder = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "holder"])
            .env(HOLD, root.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while fs::read_to_string(&ready).is_ok_and(|text| text.is_empty()) || !ready.exists() {
            assert!(holder.try_wait().unwrap().is_none(), "the holder ended");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert_eq!(sweep(root.path()).unwrap(), Leftovers::default(), "what has an owner is left alone");
        holder.kill().unwrap();
        holder.wait().unwrap();
        assert_eq!((mounts_under(root.path()), loops_over(root.path())), (1, 1));
        let orphan = fs::read_to_string(&ready).unwrap();
        fs::remove_file(&ready).unwrap();

        let found = sweep(root.path()).unwrap();
        assert_eq!(found, Leftovers { folders: 1, disks: 1, groups: 1 }, "round {round}");
        assert_eq!((mounts_under(root.path()), loops_over(root.path())), (0, 0));
        assert!(!Path::new("/proc").join(orphan.trim()).join("exe").exists(), "its processes are gone too");
    }
}

#[test]
fn without_anything_to_emulate_there_is_only_a_folder() {
    let root = root();
    let machine = Emulated::start(&MachineSpec::host(), root.path(), 1 << 30).unwrap();
    assert!(
        machine.lacking().is_empty() && machine.control_groups().is_empty() && machine.throttle().is_none()
    );
    assert!(machine.path().is_dir());
}
