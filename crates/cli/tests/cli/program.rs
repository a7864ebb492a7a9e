//! Running the program, and scratch directories for its files.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::data::root;

pub fn sample() -> PathBuf {
    root().join("data/p3m_64.gadget2")
}

/// An empty directory for one test, removed when dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Returns the names of the entries of a directory, sorted.
    pub fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory)).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// The exit status and the output of a run.
pub struct Output {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// Asserts success without messages, and returns standard output.
    pub fn success(self) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""));
        self.stdout
    }

    /// Asserts an error of one line and returns it.
    pub fn error(self) -> String {
        assert_eq!(self.stdout, "");
        assert_eq!(self.status, 1, "{}", self.stderr);
        self.line()
    }

    /// Returns the only line of standard error.
    pub fn line(self) -> String {
        let line = self.stderr.strip_suffix('\n').unwrap();
        assert!(line.starts_with("error: ") && !line.contains('\n'), "{line}");
        line.into()
    }
}

pub fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_ropewalk")).args(arguments).output().unwrap();
    Output {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: without_progress(&String::from_utf8(output.stderr).unwrap()),
    }
}

/// Removes the lines on progress, which a slow machine prints every ten seconds.
pub fn without_progress(stderr: &str) -> String {
    stderr.split_inclusive('\n').filter(|line| !line.starts_with("progress: ")).collect()
}

/// `ropewalk halos SNAPSHOT --out OUT OPTIONS`
pub fn halos(snapshot: &Path, out: &Path, options: &[&str]) -> Output {
    let arguments = ["halos".as_ref(), snapshot.as_os_str(), "--out".as_ref(), out.as_os_str()];
    run(arguments.into_iter().chain(options.iter().map(AsRef::as_ref)))
}

/// Returns a column of an enhanced CSV file.
pub fn column(text: &str, name: &str) -> Vec<f64> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let place = lines.next().unwrap().split(',').position(|other| other == name).unwrap();
    lines.map(|line| line.split(',').nth(place).unwrap().parse().unwrap()).collect()
}
