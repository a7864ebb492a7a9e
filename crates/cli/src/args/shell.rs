//! The arguments of `ropewalk completions` and `ropewalk man`, for shells and packages.

use std::path::PathBuf;

use clap_complete::Shell;

/// Print completions of commands and options for a shell.
///
/// Examples:
///
///   ropewalk completions bash > ~/.local/share/bash-completion/completions/ropewalk
///
///   ropewalk completions fish > ~/.config/fish/completions/ropewalk.fish
///
///   ropewalk completions zsh > _ropewalk    # in a folder of $fpath
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// Shell to complete for
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Write manual pages, one for the program and one per command.
///
/// The pages are ropewalk.1, ropewalk-halos.1 and so on. Show one with `man DIR/ropewalk-halos.1`.
#[derive(Debug, clap::Args)]
pub struct Man {
    /// Folder for the pages, created if missing
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}
