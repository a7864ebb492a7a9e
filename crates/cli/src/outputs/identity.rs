//! The identity of files, so that two paths of the same file are recognized.
//!
//! Two paths are the same file in each of these cases:
//!
//! - they are equal after links, `.` and `..` are resolved
//! - they have the same device and inode (hard links)
//! - they differ only in case, in a folder that ignores case

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The name of standard input and standard output.
const STANDARD: &str = "-";

/// The file at a path. It need not exist.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The absolute path, with links, `.` and `..` resolved as far as the path exists.
    path: PathBuf,
    /// Device and inode, if the file exists and the system has inodes.
    inode: Option<(u64, u64)>,
}

impl Identity {
    /// Returns the file of an output. `-` is standard output.
    pub fn from_output(path: &Path) -> Self {
        if path.as_os_str() == STANDARD {
            return Self { path: path.to_path_buf(), inode: standard(1, |_| true) };
        }
        Self { path: resolved(path), inode: fs::metadata(path).ok().as_ref().and_then(inode) }
    }

    /// Returns the file of an input. `-` is the file that standard input is redirected from.
    pub fn from_input(path: &Path) -> Self {
        if path.as_os_str() == STANDARD {
            return Self { path: PathBuf::from("standard input"), inode: standard(0, fs::Metadata::is_file) };
        }
        Self::from_output(path)
    }

    /// Returns `true` if both are the same file. /dev/null is never the same, so that it can be named for several
    /// outputs.
    pub fn is_same(&self, other: &Self) -> bool {
        let is_inode = self.inode.is_some() && self.inode == other.inode;
        (is_inode || self.path == other.path || self.is_same_but_for_case(other)) && !self.is_null()
    }

    fn is_null(&self) -> bool {
        let null = Path::new("/dev/null");
        self.path == null || (self.inode.is_some() && self.inode == fs::metadata(null).ok().as_ref().and_then(inode))
    }

    fn is_same_but_for_case(&self, other: &Self) -> bool {
        let lower = |path: &Path| path.to_string_lossy().to_lowercase();
        self.path != other.path && lower(&self.path) == lower(&other.path) && ignores_case(&self.path)
    }
}

/// Resolves a path whose last components need not exist.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    match (absolute.parent(), absolute.file_name()) {
        (Some(parent), Some(name)) => resolved(parent).join(name),
        // The path ends in `..`.
        (Some(parent), None) => {
            let mut real = resolved(parent);
            real.pop();
            real
        }
        (None, _) => absolute,
    }
}

/// Returns `true` if file names ignore case in the folder of `path`, or in the closest ancestor that exists. Tests
/// whether a name in the folder is also found with its case swapped.
fn ignores_case(path: &Path) -> bool {
    let Some(folder) = path.ancestors().skip(1).find(|folder| folder.is_dir()) else { return false };
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| (folder, entry.file_name()));
    // An empty folder is assumed to behave as its parent.
    let own = folder.parent().zip(folder.file_name().map(OsString::from));
    let is_found = |(folder, name): (&Path, OsString)| {
        let name = name.into_string().ok()?;
        let swapped: String = name
            .chars()
            .map(|c| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
            .collect();
        let found = |name: &str| fs::symlink_metadata(folder.join(name)).ok().as_ref().and_then(inode);
        (swapped != name).then(|| found(&name).is_some() && found(&name) == found(&swapped))
    };
    cfg!(windows) || names.chain(own).find_map(is_found).unwrap_or(false)
}

#[cfg(unix)]
fn inode(meta: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// Returns device and inode of the file behind standard input (0) or standard output (any other number), if
/// `is_wanted` accepts it.
#[cfg(unix)]
fn standard(number: u8, is_wanted: impl Fn(&fs::Metadata) -> bool) -> Option<(u64, u64)> {
    use std::os::fd::AsFd;

    let own = match number {
        0 => std::io::stdin().as_fd().try_clone_to_owned(),
        _ => std::io::stdout().as_fd().try_clone_to_owned(),
    };
    let meta = fs::File::from(own.ok()?).metadata().ok().filter(is_wanted)?;
    inode(&meta)
}

#[cfg(not(unix))]
fn standard(_: u8, _: impl Fn(&fs::Metadata) -> bool) -> Option<(u64, u64)> {
    None
}

/// The files that a run reads.
#[derive(Debug, Default)]
pub struct Inputs(Vec<Identity>);

impl Inputs {
    /// Returns all files of the given snapshots, tables and arrays, and the files beside them that are read, too.
    pub fn from_paths<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Self {
        let files = |path: P| {
            let path = path.as_ref();
            let own = if path.as_os_str() == STANDARD { vec![path.to_path_buf()] } else { ropewalk_io::parts(path) };
            own.into_iter().chain(ropewalk_io::companions(path)).map(|file| Identity::from_input(&file))
        };
        Self(paths.into_iter().flat_map(files).collect())
    }

    /// Returns `true` if `file` is one of the inputs.
    pub fn contain(&self, file: &Identity) -> bool {
        self.0.iter().any(|input| input.is_same(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_file() {
        let is_same =
            |a: &str, b: &str| Identity::from_output(Path::new(a)).is_same(&Identity::from_output(Path::new(b)));
        for (a, b) in [
            ("Cargo.toml", "./Cargo.toml"),
            ("Cargo.toml", "src/../Cargo.toml"),
            ("src/none", "src/./none"),
            ("none/x", "none/../none/x"),
            ("src/none", "src/args/../none"),
        ] {
            assert!(is_same(a, b), "{a} {b}");
        }
        for (a, b) in [("Cargo.toml", "src/main.rs"), ("none/x", "none/y"), ("/dev/null", "/dev/null")] {
            assert!(!is_same(a, b), "{a} {b}");
        }
        #[cfg(target_os = "linux")]
        assert!(!is_same("src/none", "src/None") && !is_same("Cargo.toml", "cargo.toml"));
    }
}
