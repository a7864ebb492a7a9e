//! Copies the union-find of `ropewalk`, with loom's atomics instead of the standard library's.

use std::path::Path;
use std::{env, fs};

fn main() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../src/cluster/union_find.rs");
    println!("cargo::rerun-if-changed={source}");
    let text = fs::read_to_string(source).expect("the union-find");
    let atomics = "use std::sync::atomic::";
    assert_eq!(text.matches(atomics).count(), 1, "one line to replace in {source}");
    // An included file cannot have inner documentation.
    let text = text.replace(atomics, "use loom::sync::atomic::").replace("//!", "//");
    let out = env::var_os("OUT_DIR").expect("a build script");
    fs::write(Path::new(&out).join("union_find.rs"), text).expect("a file");
}
