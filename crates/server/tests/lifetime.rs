//! Nothing outlives us, and what a killed process leaves is no obstacle: with processes that really are killed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use server::fixture::{self, Running};
use server::{TemplateCache, TemplateErrorKind, Workdir, sweep};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Set for a copy of this test program that plays a part in a test.
const PART: &str = "TUNESMITH_TEST_PART";

/// Runs one ignored test of this program in a process of its own, with a folder.
fn play(part: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "--test-threads=1", part])
        .env(PART, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn folder() -> Option<PathBuf> {
    std::env::var_os(PART).map(PathBuf::from)
}

/// The rest of the first line of output that starts with `mark`.
fn told(child: &mut Child, mark: &str) -> String {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let found =
        lines.map_while(Result::ok).find_map(|line| line.split_once(mark).map(|(_, rest)| rest.to_owned()));
    found.expect("the other process ended without a word")
}

#[tokio::test]
#[ignore = "a part of `no_server_outlives_a_killed_process`"]
async fn part_hold_a_server() {
    let (Some(root), Some(binary)) = (folder(), fixture::servers().pop()) else { return };
    let binary = match std::env::var("TUNESMITH_TEST_FLAVOUR") {
        Ok(name) => fixture::servers().into_iter().find(|b| b.flavour.to_string() == name).unwrap_or(binary),
        Err(_) => binary,
    };
    let work = Workdir::create(&root).unwrap();
    let template = TemplateCache::platform().unwrap().get(&binary).await.unwrap();
    let datadir = work.datadir("data");
    template.clone_to(&datadir).unwrap();
    let options = server::StartOptions::new(datadir, work.new_socket_dir().unwrap());
    let server = server::PrivateServer::start(&binary, &options).await.unwrap();
    println!("SERVER {}", server.pid());
    loop {
        tokio::time::sleep(Duration::from_secs(3600)).await;
    }
}

#[test]
fn no_server_outlives_a_killed_process() {
    for binary in fixture::servers() {
        let root = tempfile::tempdir().unwrap();
        let mut holder = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "--test-threads=1", "part_hold_a_server"])
            .env(PART, root.path())
            .env("TUNESMITH_TEST_FLAVOUR", binary.flavour.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = told(&mut holder, "SERVER ");
        let process = PathBuf::from(format!("/proc/{pid}"));
        assert!(process.exists());

        holder.kill().unwrap();
        holder.wait().unwrap();
        // The kernel has sent the signal by now; dying takes the server a moment.
        while is_running(&process) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 2, "its folder and the gate are left");
        let swept = sweep(root.path()).unwrap();
        assert_eq!((swept.folders, swept.servers), (1, 0), "{binary}");
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 1);
    }
}

fn is_running(process: &Path) -> bool {
    std::fs::read_to_string(process.join("stat")).is_ok_and(|s| !s.contains(") Z "))
}

#[tokio::test]
#[ignore = "a part of `two_processes_make_one_template`"]
async fn part_get_a_template() {
    let (Some(root), Some(binary)) = (folder(), fixture::servers().into_iter().next()) else { return };
    let template = TemplateCache::at(&root).get(&binary).await.unwrap();
    println!("TEMPLATE {}", template.datadir().display());
}

#[test]
fn two_processes_make_one_template() {
    if fixture::servers().is_empty() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    // All are started before the first is waited for.
    let processes: Vec<Child> = (0..3).map(|_| play("part_get_a_template", root.path())).collect();
    let ended = processes.into_iter().map(|p| p.wait_with_output().unwrap());
    let places: Vec<String> = ended
        .map(|output| {
            assert!(output.status.success());
            let text = String::from_utf8(output.stdout).unwrap();
            text.lines().find_map(|line| Some(line.split_once("TEMPLATE ")?.1.to_owned())).unwrap()
        })
        .collect();
    assert!(places.iter().all(|p| p == &places[0] && Path::new(p).join("mysql").is_dir()), "{places:?}");
    // The template and its lock; nothing half-made.
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn a_template_without_its_marker_is_made_anew() {
    let Some(binary) = fixture::servers().into_iter().next() else { return };
    let root = tempfile::tempdir().unwrap();
    let cache = TemplateCache::at(root.path());
    let template = cache.get(&binary).await.unwrap();
    let place = template.datadir().parent().unwrap().to_owned();
    // As if the process had been killed half-way, both before and after the renaming.
    std::fs::remove_file(place.join("complete")).unwrap();
    std::fs::remove_file(template.datadir().join("ibdata1")).unwrap();
    let partial = place.with_file_name(format!("{}.partial", place.file_name().unwrap().to_str().unwrap()));
    std::fs::create_dir(&partial).unwrap();

    let again = cache.get(&binary).await.unwrap();
    assert!(
        again.datadir().join("ibdata1").is_file() && place.join("complete").is_file() && !partial.exists()
    );
}

#[tokio::test]
async fn a_nearly_full_disk_is_told_before_anything_is_written() {
    let Some(binary) = fixture::servers().into_iter().next() else { return };
    let Some(small) = SmallDisk::mount() else { return };
    let error = TemplateCache::at(small.0.path().join("cache")).get(&binary).await.unwrap_err();
    assert!(matches!(error.kind(), TemplateErrorKind::DiskNearlyFull(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("nearly full") && text.contains("MiB needed"), "{text}");
}

#[tokio::test]
async fn a_copy_or_a_start_that_fills_the_disk_says_so_and_leaves_nothing() {
    let Some(small) = SmallDisk::mount() else { return };
    for binary in fixture::servers() {
        let template = TemplateCache::platform().unwrap().get(&binary).await.unwrap();
        let error = template.clone_to(&small.0.path().join("data")).unwrap_err();
        assert!(error.is_disk_full(), "{error}");
        assert_eq!(std::fs::read_dir(small.0.path()).unwrap().count(), 0);
    }
}

/// A file system of 16 MiB in memory; only root can make one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=16m", "none"]).arg(dir.path()).output();
        if mount.is_ok_and(|m| m.status.success()) {
            Some(Self(dir))
        } else {
            eprintln!("skipped: no right to mount a file system");
            None
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[tokio::test]
async fn many_servers_start_at_once_from_one_cache() {
    let Some(binary) = fixture::servers().into_iter().next() else { return };
    let (a, b, c) = tokio::join!(
        Running::start(&binary, &[]),
        Running::start(&binary, &[]),
        Running::start(&binary, &[])
    );
    let pids = [a.server.pid(), b.server.pid(), c.server.pid()];
    assert!(pids[0] != pids[1] && pids[1] != pids[2]);
}
