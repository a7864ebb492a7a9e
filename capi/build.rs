//! Sets the name by which the loader finds the shared library. CMake passes it, because the installed file has a name
//! with the interface version; without CMake the library has no such name.

fn main() {
    println!("cargo:rerun-if-env-changed=ROPEWALK_SONAME");
    let Ok(name) = std::env::var("ROPEWALK_SONAME") else { return };
    let option = match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        _ if name.is_empty() => return,
        Ok("windows") => return,
        Ok("macos") => "-install_name",
        _ => "-soname",
    };
    println!("cargo:rustc-cdylib-link-arg=-Wl,{option},{name}");
}
