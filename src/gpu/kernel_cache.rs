//! The cache of compiled kernels, which keeps them for later processes.
//!
//! In: the file from which this code was loaded, and the CUDA devices. Out: a directory in which cubecl keeps
//! compiled kernels.
//! cubecl identifies a kernel by its type and constants, not by its code. Each directory therefore belongs to one
//! program file, identified by its bytes: a recompiled program compiles its kernels again. Each directory also
//! belongs to one machine, because concurrent appends to a file are atomic only within one machine.
//! Cost: the program file is read once per process. A directory that was not used for 30 days is removed when another
//! one is created.
//! If anything fails here, kernels are compiled as without the cache.

use std::fs::{self, DirBuilder, File};
use std::io::{Result, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::time::Duration;

use cubecl::config::{CubeClRuntimeConfig, RuntimeConfig, cache::CacheConfig};
use cubecl::hash::StableHasher;

/// The environment variable for the parent of the directories; the default is in the user's cache. If it is empty,
/// there is no cache.
const VARIABLE: &str = "ROPEWALK_KERNEL_CACHE";
/// The age after which an unused directory is removed.
const EXPIRES: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The age after which a lock is stale. cubecl holds a lock for less than this, unless its process died.
const LOCKED: Duration = Duration::from_secs(10);
/// The free disk space that is required. Some kernels are this large, and without space for one, cubecl's attempt to
/// store it would end its thread.
const ROOM: usize = 1 << 20;
/// The file whose modification time is the time of the last use.
const USED: &str = "used";

/// Sets cubecl's cache directory, unless the program or cubecl's configuration file has set one. `devices` describes
/// the devices that kernels are compiled for, or is `None` if they differ.
pub(super) fn start(devices: impl FnOnce() -> Option<String>) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let Some(directory) = root().and_then(|root| directory(&root, &devices()?).ok()) else { return };
        // cubecl looks for its configuration file in the current directory, and panics if there is no current
        // directory.
        if std::env::current_dir().is_err() {
            return;
        }
        let mut config = CubeClRuntimeConfig::from_current_dir().override_from_env();
        config.compilation.cache.get_or_insert(CacheConfig::File(directory));
        CubeClRuntimeConfig::storage().lock().get_or_insert_with(|| Arc::new(config));
    });
}

/// The parent of the directories.
fn root() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match std::env::var_os(VARIABLE) {
        Some(path) if path.is_empty() => None,
        Some(path) => std::path::absolute(path).ok(),
        None => {
            let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
            Some(cache.join("ropewalk").join("kernels"))
        }
    }
}

/// The directory for this program file and these devices, created if necessary and ready for use.
fn directory(root: &Path, devices: &str) -> Result<PathBuf> {
    let code = StableHasher::hash_one(&fs::read(own_file()?)?);
    let machine = fs::read_to_string("/proc/sys/kernel/hostname")?;
    let directory = root.join(format!("{:032x}", StableHasher::hash_one(&(code, devices, machine.trim()))));
    if !directory.exists() {
        expire(root);
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
    }
    prepare(&directory)?;
    Ok(directory)
}

/// The file from which this code was loaded: the program, or a shared library that it loaded.
fn own_file() -> Result<PathBuf> {
    let own = own_file as fn() -> Result<PathBuf> as usize;
    let maps = fs::read_to_string("/proc/self/maps")?;
    // `start-end permissions offset device inode path`, with hexadecimal addresses.
    let found = maps.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (first, behind) = words.next()?.split_once('-')?;
        let address = |digits| usize::from_str_radix(digits, 16).ok();
        let inode: u64 = words.nth(3)?.parse().ok()?;
        let path = &line[line.find('/')?..];
        (address(first)?..address(behind)?).contains(&own).then(|| (inode, PathBuf::from(path)))
    });
    let (inode, path) = found.ok_or(std::io::ErrorKind::NotFound)?;
    // A file replaced since then holds other code.
    if fs::metadata(&path)?.ino() == inode { Ok(path) } else { Err(std::io::ErrorKind::NotFound.into()) }
}

/// Checks that nobody but the user can write to the directory and that it has free space, and removes stale locks.
fn prepare(directory: &Path) -> Result<()> {
    let found = fs::metadata(directory)?;
    // Kernels from the cache are executed, so nobody else may write them.
    if found.uid() != fs::metadata("/proc/self")?.uid() || found.mode() & 0o022 != 0 {
        return Err(std::io::ErrorKind::PermissionDenied.into());
    }
    let mut used = File::create(directory.join(USED))?;
    used.write_all(&vec![0; ROOM])?;
    used.set_len(0)?;
    unlock(directory)
}

/// Removes stale locks from the directory and its subdirectories.
fn unlock(directory: &Path) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            unlock(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "lock") && age(&path) > Some(LOCKED) {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Removes a file, unless another process has already removed it.
fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Removes directories that were not used for [`EXPIRES`]. Errors are ignored.
fn expire(root: &Path) {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    for directory in entries.map(|entry| entry.path()) {
        if age(&directory.join(USED)) > Some(EXPIRES) {
            fs::remove_dir_all(directory).ok();
        }
    }
}

/// The time since a file was written.
fn age(path: &Path) -> Option<Duration> {
    fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    use super::*;

    /// A test directory, removed on drop.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ropewalk_{name}_{}", std::process::id()));
            fs::remove_dir_all(&path).ok();
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    fn set_age(path: &Path, age: Duration) {
        File::options().append(true).open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn this_code_is_in_the_file_of_the_test_program() {
        assert_eq!(own_file().unwrap(), std::env::current_exe().unwrap().canonicalize().unwrap());
    }

    #[test]
    fn a_directory_is_of_the_devices_and_stays() {
        let root = Scratch::new("kernels_of_devices");
        let first = directory(&root.0, "9.0").unwrap();
        assert_eq!(first.metadata().unwrap().mode() & 0o777, 0o700);
        assert_eq!(directory(&root.0, "9.0").unwrap(), first);
        assert_ne!(directory(&root.0, "8.0").unwrap(), first);
        assert_eq!(first.join(USED).metadata().unwrap().len(), 0);
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_not_used() {
        let root = Scratch::new("kernels_of_others");
        let first = directory(&root.0, "9.0").unwrap();
        fs::set_permissions(&first, Permissions::from_mode(0o770)).unwrap();
        assert!(directory(&root.0, "9.0").is_err());
    }

    #[test]
    fn locks_of_processes_that_are_no_more_are_removed() {
        let root = Scratch::new("kernels_locked");
        let first = directory(&root.0, "9.0").unwrap();
        let below = first.join("cuda").join("ptx");
        fs::create_dir_all(&below).unwrap();
        let (old, fresh) = (below.join("toc.json.log.lock"), below.join("other.lock"));
        File::create(&old).unwrap();
        File::create(&fresh).unwrap();
        set_age(&old, 2 * LOCKED);
        directory(&root.0, "9.0").unwrap();
        assert!(!old.exists() && fresh.exists());
        // Another process that starts at the same time finds the same lock.
        remove(&old).unwrap();
    }

    #[test]
    fn a_new_directory_takes_the_place_of_those_that_expired() {
        let root = Scratch::new("kernels_expired");
        let [first, second] = ["8.0", "9.0"].map(|devices| directory(&root.0, devices).unwrap());
        let other = root.0.join("other");
        fs::create_dir(&other).unwrap();
        set_age(&first.join(USED), 2 * EXPIRES);
        directory(&root.0, "10.0").unwrap();
        assert!(!first.exists() && second.exists() && other.exists());
    }
}
