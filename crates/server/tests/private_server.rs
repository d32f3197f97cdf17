//! Private servers of every installed flavour: started, refused, killed, side by side.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use knobs::Flavour;
use server::fixture::{self, Running};
use server::{Admin, PrivateServer, StartErrorKind, StartOptions, Stopped, TemplateCache, Workdir};
use std::time::Duration;

const STOP: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_server_starts_with_its_settings_and_stops_cleanly() {
    for binary in fixture::servers() {
        let running =
            Running::start(&binary, &[("innodb_buffer_pool_size", "64M"), ("max_connections", "77")]).await;
        let mut admin = running.admin().await;
        assert_eq!(admin.global("innodb_buffer_pool_size").await.unwrap().as_deref(), Some("67108864"));
        assert_eq!(admin.global("max_connections").await.unwrap().as_deref(), Some("77"));
        let identity = admin.identity().await.unwrap();
        assert_eq!((identity.flavour, identity.version), (binary.flavour, binary.version()));
        admin.close().await.unwrap();
        assert_eq!(running.server.stop(STOP).await.unwrap(), Stopped::Clean, "{binary}");
    }
}

#[tokio::test]
async fn no_port_is_opened() {
    for binary in fixture::servers() {
        let running = Running::start(&binary, &[]).await;
        let sockets = socket_inodes(running.server.pid());
        assert!(!sockets.is_empty(), "at least the unix socket");
        let listening = listening_inodes();
        assert!(sockets.iter().all(|inode| !listening.contains(inode)), "{binary} listens on a port");
    }
}

/// Inodes of a process's sockets.
fn socket_inodes(pid: u32) -> Vec<String> {
    let links = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let targets = links.filter_map(|fd| std::fs::read_link(fd.unwrap().path()).ok());
    let inode =
        |t: std::path::PathBuf| Some(t.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned());
    targets.filter_map(inode).collect()
}

/// Inodes of all TCP sockets that listen (state 0A).
fn listening_inodes() -> Vec<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|t| std::fs::read_to_string(t).unwrap_or_default());
    let rows = tables.iter().flat_map(|t| t.lines().skip(1));
    let columns = rows.map(|row| row.split_ascii_whitespace().collect::<Vec<_>>());
    columns.filter(|c| c[3] == "0A").map(|c| c[9].to_owned()).collect()
}

#[tokio::test]
async fn a_setting_that_the_server_refuses_is_told_in_its_own_words_at_once() {
    for binary in fixture::servers() {
        let cases = [("nonsense_knob", "1", "nonsense"), ("innodb_page_size", "32768", "page")];
        for (name, value, word) in cases {
            let work = Workdir::platform().unwrap();
            let template = TemplateCache::platform().unwrap().get(&binary).await.unwrap();
            let datadir = work.datadir("data");
            template.clone_to(&datadir).unwrap();
            let socket_dir = work.new_socket_dir().unwrap();
            let mut options = StartOptions::new(datadir, &socket_dir).set(name, value);
            // Would the death go unnoticed, this would be the test's end.
            options.ready_timeout = Duration::from_secs(3600);
            let error = PrivateServer::start(&binary, &options).await.unwrap_err();
            assert!(matches!(error.kind(), StartErrorKind::Died(_)), "{error}");
            assert!(error.server_errors().to_lowercase().contains(word), "{binary}: {error}");
            assert!(error.to_string().contains(error.server_errors()));
            assert!(!socket_dir.join("server.record").exists(), "nothing left to sweep");
        }
    }
}

#[tokio::test]
async fn a_socket_path_that_is_too_long_is_refused_before_the_start() {
    let Some(binary) = fixture::servers().into_iter().next() else { return };
    let dir = tempfile::tempdir().unwrap();
    let socket_dir = dir.path().join("x".repeat(100));
    let error = PrivateServer::start(&binary, &StartOptions::new(dir.path().join("d"), socket_dir))
        .await
        .unwrap_err();
    assert!(matches!(error.kind(), StartErrorKind::SocketPathTooLong(_)), "{error}");
}

#[tokio::test]
async fn two_copies_of_one_template_run_side_by_side_and_share_nothing() {
    for binary in fixture::servers() {
        let (one, two) = tokio::join!(Running::start(&binary, &[]), Running::start(&binary, &[]));
        let (mut one, mut two) = (one.admin().await, two.admin().await);
        one.execute("CREATE DATABASE only_here").await.unwrap();
        assert!(databases(&mut one).await.contains(&"only_here".to_owned()));
        assert!(!databases(&mut two).await.contains(&"only_here".to_owned()));
        // A MariaDB that starts empties the folder, whoever else works in it.
        assert_ne!(one.global("tmpdir").await.unwrap(), two.global("tmpdir").await.unwrap());
        if binary.flavour != Flavour::MariaDb {
            assert_ne!(one.global("server_uuid").await.unwrap(), two.global("server_uuid").await.unwrap());
        }
    }
}

async fn databases(admin: &mut Admin) -> Vec<String> {
    admin.rows("SHOW DATABASES").await.unwrap()
}

#[tokio::test]
async fn what_was_committed_survives_a_kill() {
    for binary in fixture::servers() {
        let work = Workdir::platform().unwrap();
        let template = TemplateCache::platform().unwrap().get(&binary).await.unwrap();
        let datadir = work.datadir("data");
        template.clone_to(&datadir).unwrap();
        let options = StartOptions::new(datadir, work.new_socket_dir().unwrap());

        let first = PrivateServer::start(&binary, &options).await.unwrap();
        let mut admin = Admin::connect(&first.connect_options()).await.unwrap();
        admin.execute("CREATE DATABASE d").await.unwrap();
        admin.execute("CREATE TABLE d.t (a INT) ENGINE=InnoDB").await.unwrap();
        admin.execute("INSERT INTO d.t VALUES (42)").await.unwrap();
        let pid = first.pid();
        first.kill();
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());

        // The same place again: the old socket and process file are in nobody's way.
        let second = PrivateServer::start(&binary, &options).await.unwrap();
        let mut admin = Admin::connect(&second.connect_options()).await.unwrap();
        assert_eq!(admin.rows::<i64>("SELECT a FROM d.t").await.unwrap(), [42], "{binary}");
    }
}

#[tokio::test]
async fn a_path_with_spaces_is_a_path_like_any_other() {
    for binary in fixture::servers() {
        let root = tempfile::tempdir().unwrap();
        let work = Workdir::create(&root.path().join("my work")).unwrap();
        let cache = TemplateCache::at(root.path().join("my cache"));
        let datadir = work.datadir("my data");
        cache.get(&binary).await.unwrap().clone_to(&datadir).unwrap();
        let options = StartOptions::new(&datadir, work.new_socket_dir().unwrap());
        let server = PrivateServer::start(&binary, &options).await.unwrap();
        let mut admin = Admin::connect(&server.connect_options()).await.unwrap();
        let told = admin.global("datadir").await.unwrap().unwrap();
        assert_eq!(told.trim_end_matches('/'), datadir.to_str().unwrap());
    }
}

#[tokio::test]
async fn a_dropped_server_is_gone() {
    for binary in fixture::servers() {
        let running = Running::start(&binary, &[]).await;
        let (pid, path) = (running.server.pid(), running.work.path().to_owned());
        drop(running);
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{binary} still runs");
        assert!(!path.exists());
    }
}

#[tokio::test]
async fn a_server_that_ends_by_itself_is_noticed() {
    for binary in fixture::servers() {
        let mut running = Running::start(&binary, &[]).await;
        assert!(running.server.ended().unwrap().is_none());
        let mut admin = running.admin().await;
        admin.execute("SHUTDOWN").await.unwrap();
        while running.server.ended().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(running.server.stop(STOP).await.unwrap(), Stopped::Clean);
    }
}
