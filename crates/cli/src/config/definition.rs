//! The definition of `ropewalk halos`, from which files of options are read and written.

use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::help;

/// The subcommand that has files of options.
pub const HALOS: &str = "halos";
/// The key of the snapshots, which have no long name.
pub const SNAPSHOT: &str = "snapshot";

/// Returns the complete definition of `ropewalk halos`.
pub fn halos_command() -> Command {
    let mut command = help::command();
    command.build();
    command.find_subcommand(HALOS).cloned().unwrap_or_default()
}

/// Returns the key of an argument in files; `None` if files do not have it.
pub fn key(arg: &Arg) -> Option<&str> {
    match arg.get_long() {
        Some("config" | "write-config" | "help" | "version") => None,
        None => arg.is_positional().then_some(SNAPSHOT),
        name => name,
    }
}

/// Returns `true` if the option may be given without a value, as `--report`.
pub fn may_lack_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set) && arg.get_num_args().is_some_and(|range| range.min_values() == 0)
}

/// Returns `true` if the argument is on the command line, or in the file whose options were inserted.
pub fn is_given(matches: &ArgMatches, arg: &Arg) -> bool {
    matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
}

/// Returns `true` if another given option excludes the argument.
pub fn is_excluded(command: &Command, matches: &ArgMatches, arg: &Arg) -> bool {
    let excludes =
        |a: &Arg, b: &Arg| command.get_arg_conflicts_with(a).iter().any(|other| other.get_id() == b.get_id());
    let others = command.get_arguments().filter(|other| other.get_id() != arg.get_id());
    others.filter(|other| is_given(matches, other)).any(|other| excludes(arg, other) || excludes(other, arg))
}

/// Describes a line of a file of options in messages.
pub fn place(path: &Path, line: usize) -> String {
    format!("{}: line {line}", path.display())
}
