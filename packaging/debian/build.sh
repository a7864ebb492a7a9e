#!/usr/bin/env bash
# Builds the Debian package of the program, and prints its path. Needs a Rust toolchain and dpkg-dev.
#
#     packaging/debian/build.sh [FEATURES]     such as cuda
#
# The package has the program, manual pages, completions for bash, zsh and fish, and the licences of the crates in the program.
set -euo pipefail
cd "$(dirname "$0")/../.."

features=${1:-}
tool() { command -v "$1" > /dev/null || cargo install --quiet --locked "$1" >&2; }
tool cargo-deb
tool cargo-bundle-licenses

cargo build --quiet --release --locked --package ropewalk-cli --bin ropewalk --features "$features" >&2

files=target/release/debian-files
rm -rf "$files"
mkdir -p "$files"
target/release/ropewalk man --out "$files/man" >&2
for shell in bash zsh fish; do
    target/release/ropewalk completions "$shell" > "$files/ropewalk.$shell"
done
cargo bundle-licenses --format yaml --output "$files/THIRDPARTY.yml" >&2

cargo deb --quiet --no-build --package ropewalk-cli
