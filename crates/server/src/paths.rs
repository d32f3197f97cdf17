//! Where things are kept: the cache, the work folders, the sockets.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Names another cache folder than the platform's.
pub const CACHE_DIR_VARIABLE: &str = "TUNESMITH_CACHE_DIR";

/// The longest path of a unix socket: `sun_path` is 108 bytes with the closing zero.
pub(crate) const LONGEST_SOCKET_PATH: usize = 107;

/// The user's cache folder for tunesmith, which may not exist yet: `$TUNESMITH_CACHE_DIR`, else
/// `$XDG_CACHE_HOME/tunesmith`, else `~/.cache/tunesmith`.
pub fn cache_dir() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    absolute(CACHE_DIR_VARIABLE)
        .or_else(|| absolute("XDG_CACHE_HOME").map(|dir| dir.join("tunesmith")))
        .or_else(|| absolute("HOME").map(|dir| dir.join(".cache/tunesmith")))
}

/// A folder for sockets, with a path short enough for them, and to which nobody else has access.
pub(crate) fn runtime_dir() -> io::Result<PathBuf> {
    let uid = rustix::process::geteuid().as_raw();
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let temporary = [std::env::temp_dir(), PathBuf::from("/tmp"), PathBuf::from("/var/tmp")];
    let candidates = runtime
        .map(|dir| dir.join("tunesmith"))
        .into_iter()
        .chain(temporary.into_iter().map(|dir| dir.join(format!("tunesmith-{uid}"))));
    let mut last = io::Error::other("no folder for sockets");
    for dir in candidates {
        // Room for `/12345678/999/s.sock`.
        if dir.as_os_str().len() + 24 > LONGEST_SOCKET_PATH {
            last = io::Error::other(format!("{} is too long a path for sockets", dir.display()));
            continue;
        }
        match private_dir(&dir, uid) {
            Ok(()) => return Ok(dir),
            Err(e) => last = e,
        }
    }
    Err(last)
}

/// Makes the folder, or checks that it is ours: in a folder that all may write to, somebody else may have made it.
fn private_dir(dir: &Path, uid: u32) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => return Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(e),
    }
    let found = std::fs::symlink_metadata(dir)?;
    if found.is_dir() && found.uid() == uid && found.mode() & 0o077 == 0 {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{} is not a private folder of this user", dir.display()),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_that_others_may_enter_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        let own = dir.path().join("own");
        private_dir(&own, uid).unwrap();
        private_dir(&own, uid).unwrap();
        std::fs::set_permissions(&own, Permissions::from_mode(0o755)).unwrap();
        assert!(private_dir(&own, uid).is_err());
        assert!(private_dir(&own, uid + 1).is_err());
        std::os::unix::fs::symlink("own", dir.path().join("link")).unwrap();
        assert!(private_dir(&dir.path().join("link"), uid).is_err());
    }

    #[test]
    fn sockets_get_a_short_folder() {
        assert!(runtime_dir().unwrap().as_os_str().len() <= LONGEST_SOCKET_PATH - 24);
    }
}
