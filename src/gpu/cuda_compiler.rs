//! The check for what compiles CUDA kernels while the program runs: the library NVRTC and CUDA's headers.
//!
//! Without them, cubecl panics in a thread of its own. Both are searched for where cubecl searches: NVRTC by the dynamic
//! loader, and the headers in the folder of [`root`].

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::Result;
use crate::gpu::errors;

/// The header that each kernel includes.
const HEADER: &str = "include/cuda_runtime.h";

/// Returns an error if kernels cannot be compiled. The search is done once.
pub(super) fn check() -> Result<()> {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    MISSING.get_or_init(missing).as_ref().map_or(Ok(()), |what| Err(errors::no_cuda_compiler(what)))
}

/// Describes what is missing, as the start of a sentence, or returns `None`.
fn missing() -> Option<String> {
    if !has_nvrtc() {
        return Some("the library NVRTC (libnvrtc) was not found by the dynamic loader".into());
    }
    let path = std::env::var("CUDA_PATH").ok();
    missing_header(path.as_deref(), Path::exists)
}

/// Describes the missing headers for a value of `CUDA_PATH`.
fn missing_header(cuda_path: Option<&str>, exists: impl Fn(&Path) -> bool) -> Option<String> {
    let Some(root) = root(cuda_path, &exists) else {
        return Some("the headers of CUDA are not in /usr/local/cuda or /opt/cuda, and CUDA_PATH is not set".into());
    };
    let header = root.join(HEADER);
    (!exists(&header)).then(|| format!("the header {} of CUDA does not exist", header.display()))
}

/// The folder in which cubecl expects CUDA.
fn root(cuda_path: Option<&str>, exists: impl Fn(&Path) -> bool) -> Option<PathBuf> {
    if let Some(path) = cuda_path {
        return Some(path.into());
    }
    if cfg!(windows) {
        return Some("C:/Program Files/NVIDIA GPU Computing Toolkit/CUDA/".into());
    }
    let folders = [("/usr/local/cuda", "/usr/local/cuda"), ("/opt/cuda", "/opt/cuda"), ("/usr/bin/nvcc", "/usr")];
    folders.into_iter().find(|(sign, _)| exists(Path::new(sign))).map(|(_, root)| root.into())
}

fn has_nvrtc() -> bool {
    #![allow(unsafe_code)] // Loading the library runs its initialization code.
    // SAFETY: the function only looks for NVIDIA's library; loading that library is sound.
    unsafe { cudarc::nvrtc::sys::is_culib_present() }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn message(cuda_path: Option<&str>, present: &[&str]) -> Option<String> {
        missing_header(cuda_path, |path| present.iter().any(|p| Path::new(p) == path))
    }

    #[test]
    fn headers_are_searched_for_where_cubecl_does() {
        for (sign, header) in [
            ("/usr/local/cuda", "/usr/local/cuda/include/cuda_runtime.h"),
            ("/opt/cuda", "/opt/cuda/include/cuda_runtime.h"),
            ("/usr/bin/nvcc", "/usr/include/cuda_runtime.h"),
        ] {
            assert_eq!(message(None, &[sign, header]), None);
            assert!(message(None, &[sign]).unwrap().contains(header));
        }
        assert!(message(None, &[]).unwrap().contains("CUDA_PATH is not set"));
        assert_eq!(message(Some("/a"), &["/a/include/cuda_runtime.h"]), None);
        // A folder in CUDA_PATH is the only one.
        let elsewhere = ["/usr/local/cuda", "/usr/local/cuda/include/cuda_runtime.h"];
        assert!(message(Some("/a"), &elsewhere).unwrap().contains("/a/include/cuda_runtime.h"));
    }
}
