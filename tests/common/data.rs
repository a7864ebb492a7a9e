//! Files that are too large for the repository.
//!
//! A test that needs them is `#[ignore]`d and has their name in its own: `cargo test -- --ignored p3m_128` runs it.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().find(|folder| folder.join("Cargo.lock").exists()).unwrap_or(package)
}

/// Returns the path of a file in the folder that `ROPEWALK_DATA` names; tests/README.md lists these files.
///
/// Panics if the variable is not set or the file does not exist: a requested test must not pass without running.
pub fn large(name: &str) -> PathBuf {
    let folder = std::env::var_os("ROPEWALK_DATA")
        .unwrap_or_else(|| panic!("ROPEWALK_DATA is not set: it names the folder of {name} (tests/README.md)"));
    let path = Path::new(&folder).join(name);
    assert!(path.is_file(), "ROPEWALK_DATA: {} is not there (tests/README.md)", path.display());
    path
}
