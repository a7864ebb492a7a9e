//! Compiled kernels are kept between processes.
//!
//! In: the file that this code was loaded from, the devices of CUDA. Out: a directory that cubecl keeps compiled kernels in.
//! cubecl names a kernel by its type and its constants, not by its code, so a directory is of one file by its bytes: what is compiled
//! anew has kernels of its own. It is also of one machine, for only there is what several processes append put one after the other.
//! Cost: reading that file once a process. A directory that was not used for 30 days goes when another one is made.
//! Whatever fails here, kernels are compiled as without it.

use std::fs::{self, DirBuilder, File};
use std::io::{Result, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::time::Duration;

use cubecl::config::{CubeClRuntimeConfig, RuntimeConfig, cache::CacheConfig};
use cubecl::hash::StableHasher;

/// Where the directories are, if not in the user's; empty for no cache.
const VARIABLE: &str = "ROPEWALK_KERNEL_CACHE";
/// A directory that was not used for so long goes.
const EXPIRES: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// cubecl holds its lock for less than that, unless the process is no more.
const LOCKED: Duration = Duration::from_secs(10);
/// Some kernels are so large: where there is no room for them, cubecl's attempt to store one would end its thread.
const ROOM: usize = 1 << 20;
/// The file whose time is that of the last use.
const USED: &str = "used";

/// Tells cubecl where to keep kernels, unless it has been told before, by the program or by a file of its own. `devices` says what they
/// are compiled for, if that is one.
pub(super) fn start(devices: impl FnOnce() -> Option<String>) {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let Some(directory) = root().and_then(|root| directory(&root, &devices()?).ok()) else { return };
        // cubecl looks for its file in the current directory, and ends the thread if there is none.
        if std::env::current_dir().is_err() {
            return;
        }
        let mut config = CubeClRuntimeConfig::from_current_dir().override_from_env();
        config.compilation.cache.get_or_insert(CacheConfig::File(directory));
        CubeClRuntimeConfig::storage().lock().get_or_insert_with(|| Arc::new(config));
    });
}

/// Where the directories are.
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

/// The directory of this code and these devices, ready to be used.
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

/// The file that this code was loaded from: the program, or a library that it has loaded.
fn own_file() -> Result<PathBuf> {
    let own = own_file as fn() -> Result<PathBuf> as usize;
    let maps = fs::read_to_string("/proc/self/maps")?;
    // `start-end permissions offset device inode path`, the addresses in hexadecimal digits.
    let found = maps.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (first, behind) = words.next()?.split_once('-')?;
        let address = |digits| usize::from_str_radix(digits, 16).ok();
        let inode: u64 = words.nth(3)?.parse().ok()?;
        let path = &line[line.find('/')?..];
        (address(first)?..address(behind)?).contains(&own).then(|| (inode, PathBuf::from(path)))
    });
    let (inode, path) = found.ok_or(std::io::ErrorKind::NotFound)?;
    // What was replaced since is other code.
    if fs::metadata(&path)?.ino() == inode { Ok(path) } else { Err(std::io::ErrorKind::NotFound.into()) }
}

/// Sees to it that a directory is the user's alone, that there is room in it, and that no process that is no more has locked it.
fn prepare(directory: &Path) -> Result<()> {
    let found = fs::metadata(directory)?;
    // Kernels that are found are run.
    if found.uid() != fs::metadata("/proc/self")?.uid() || found.mode() & 0o022 != 0 {
        return Err(std::io::ErrorKind::PermissionDenied.into());
    }
    let mut used = File::create(directory.join(USED))?;
    used.write_all(&vec![0; ROOM])?;
    used.set_len(0)?;
    unlock(directory)
}

/// Removes old locks, some levels down.
fn unlock(directory: &Path) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            unlock(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "lock") && age(&path) > Some(LOCKED) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Removes directories that were not used for long. What cannot be removed stays.
fn expire(root: &Path) {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    for directory in entries.map(|entry| entry.path()) {
        if age(&directory.join(USED)) > Some(EXPIRES) {
            fs::remove_dir_all(directory).ok();
        }
    }
}

/// How long ago a file was written.
fn age(path: &Path) -> Option<Duration> {
    fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::time::SystemTime;

    use super::*;

    /// A directory of its own for a test, which goes with it.
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
