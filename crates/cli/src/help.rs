//! The help of the program: its commands in groups by task.

use std::fmt::Write;
use std::sync::LazyLock;

use clap::{Command, CommandFactory};

use super::args::Args;

/// The commands by task, in the order of the help.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Halos of simulations", &["halos"]),
    ("Clusters", &["dbscan", "hdbscan", "kdist"]),
    ("Neighbours and trees", &["knn", "pairs", "emst", "linkage"]),
    ("Fields and meshes", &["interpolate", "raycast"]),
    ("Files", &["info", "convert", "sample"]),
    ("This program", &["bench", "completions", "man", "help"]),
];

/// The end of the long help of the program.
static EXIT_AND_ENVIRONMENT: LazyLock<String> = LazyLock::new(|| {
    let mut text = String::from(
        "Exit codes:
  0        Success, also if the reader of standard output has ended, as head does
  1        Error in the input, in a value or in the run, also in one of several snapshots
  2        Wrong usage: unknown options, missing arguments, an invalid file of --config
  128 + N  Ended by signal N, as 130 after Ctrl-C

Environment variables:
  RAYON_NUM_THREADS      Number of threads without --threads; not with --mpi
  ROPEWALK_ISA           baseline: do without AVX2, with the same results
",
    );
    if cfg!(feature = "gpu") {
        text +=
            "  ROPEWALK_KERNEL_CACHE  Folder of compiled kernels, none if empty [default: ~/.cache/ropewalk/kernels]
  ROPEWALK_WARP          native, emulated or none: exchange between the threads of a warp
";
    }
    text += "  NO_COLOR               Print help without colours if it is not empty";
    text
});

/// The version and the optional features of this build.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all = [("cuda", cfg!(feature = "cuda")), ("vulkan", cfg!(feature = "vulkan")), ("mpi", cfg!(feature = "mpi"))];
    let [with, without] = [true, false].map(|is_built| {
        let names: Vec<&str> = all.iter().filter(|feature| feature.1 == is_built).map(|feature| feature.0).collect();
        if names.is_empty() { "none".to_string() } else { names.join(", ") }
    });
    format!("{}\nfeatures built in: {with}\nfeatures not built in: {without}", env!("CARGO_PKG_VERSION"))
});

/// Returns the parser of the command line, with the commands grouped in its help. Lines have at most 100 columns.
pub fn command() -> Command {
    let command = Args::command().max_term_width(100).mut_subcommands(accept_negative_numbers);
    let command = command.long_version(VERSION.as_str()).after_long_help(EXIT_AND_ENVIRONMENT.as_str());
    let mut template = String::from("{about}\n\n{usage-heading} {usage}\n");
    for (title, names) in GROUPS {
        // Writing to a string does not fail.
        _ = write!(template, "\n{title}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(|command| command.get_about());
            let about = about.map_or_else(|| "Print this message or the help of a command".into(), ToString::to_string);
            _ = writeln!(template, "  {name:<12} {about}");
        }
    }
    command.help_template(template + "\nOptions:\n{options}{after-help}")
}

/// Accepts negative numbers as values of all options, so that an error names the value and the option.
fn accept_negative_numbers(command: Command) -> Command {
    command.mut_args(|arg| {
        let has_value = arg.get_long().is_some() && arg.get_action().takes_values();
        if has_value { arg.allow_negative_numbers(true) } else { arg }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group_and_on_one_line() {
        let mut grouped = GROUPS.map(|(_, names)| names).concat();
        grouped.sort_unstable();
        let command = Args::command();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).chain(["help"]).collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
        for line in super::command().render_long_help().to_string().lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }

    #[test]
    fn the_help_of_commands_has_at_most_100_columns() {
        let mut command = super::command();
        command.build();
        for command in command.get_subcommands_mut() {
            let name = command.get_name().to_string();
            for line in command.render_long_help().to_string().lines() {
                assert!(line.chars().count() <= 100, "{name}: {line}");
            }
        }
    }
}
