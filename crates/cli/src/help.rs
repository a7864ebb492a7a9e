//! The help of the program: its commands in groups by task.

use std::fmt::Write;
use std::sync::LazyLock;

use clap::{Args as _, Command, CommandFactory};

use super::args::{Args, Points, metric};

/// The commands by task, in the order of the help.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Halos of simulations", &["halos"]),
    ("Clusters", &["dbscan", "hdbscan", "kdist"]),
    ("Neighbours and trees", &["knn", "pairs", "emst", "linkage", "tree"]),
    ("Fields and meshes", &["interpolate", "raycast"]),
    ("Files", &["info", "convert", "sample"]),
    ("This program", &["bench", "completions", "man", "help"]),
];

/// The exit codes and their meanings.
const EXIT_CODES: [(&str, &str); 4] = [
    ("0", "Success, also if the reader of standard output has ended, as head does"),
    ("1", "Error in the input, in a value or in the run, also in one of several snapshots"),
    ("2", "Wrong usage: unknown options, missing arguments, an invalid file of --config"),
    ("128 + N", "Ended by signal N, as 130 after Ctrl-C"),
];

/// The environment variables, their effects, and whether this build uses them.
const ENVIRONMENT: [(&str, &str, bool); 5] = [
    ("RAYON_NUM_THREADS", "Number of threads without --threads; not with --mpi", true),
    ("ROPEWALK_ISA", "baseline: do without AVX2, with the same results", true),
    (
        "ROPEWALK_KERNEL_CACHE",
        "Folder of compiled kernels, none if empty [default: ~/.cache/ropewalk/kernels]",
        cfg!(feature = "gpu"),
    ),
    ("ROPEWALK_WARP", "native, emulated or none: exchange between the threads of a warp", cfg!(feature = "gpu")),
    ("NO_COLOR", "Print help without colours if it is not empty", true),
];

/// The maximum width of help in columns.
const MAX_WIDTH: usize = 100;

/// The version and the optional features of this build.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let all = [("cuda", cfg!(feature = "cuda")), ("vulkan", cfg!(feature = "vulkan")), ("mpi", cfg!(feature = "mpi"))];
    let [with, without] = [true, false].map(|is_built| {
        let names: Vec<&str> = all.iter().filter(|feature| feature.1 == is_built).map(|feature| feature.0).collect();
        if names.is_empty() { "none".to_string() } else { names.join(", ") }
    });
    format!("{}\nfeatures built in: {with}\nfeatures not built in: {without}", env!("CARGO_PKG_VERSION"))
});

/// Returns the parser of the command line. Its help lists the commands in groups, and fits the terminal.
pub fn command() -> Command {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)).or_else(columns);
    command_of_width(width.filter(|&width| width > 0).unwrap_or(MAX_WIDTH).min(MAX_WIDTH))
}

/// Returns the parser of the command line, whose help has lines of at most `width` columns.
pub fn command_of_width(width: usize) -> Command {
    let command = Args::command().term_width(width).mut_subcommands(accept_negative_numbers);
    let command = command.mut_subcommands(order_options);
    let command = command.long_version(VERSION.as_str()).after_long_help(exit_and_environment(width));
    let mut template = String::from("{about}\n\n{usage-heading} {usage}\n");
    for (title, names) in GROUPS {
        // Writing to a string does not fail.
        _ = write!(template, "\n{title}:\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(|command| command.get_about());
            let about = about.map_or_else(|| "Print this message or the help of a command".into(), ToString::to_string);
            template += &row(&format!("  {name:<12} "), &about, width);
        }
    }
    command.help_template(template + "\nOptions:\n{options}{after-help}")
}

/// Returns the end of the long help of the program.
fn exit_and_environment(width: usize) -> String {
    let mut text = String::from("Exit codes:\n");
    for (code, meaning) in EXIT_CODES {
        text += &row(&format!("  {code:<9}"), meaning, width);
    }
    text += "\nEnvironment variables:\n";
    for (name, effect, _) in ENVIRONMENT.iter().filter(|(.., is_used)| *is_used) {
        text += &row(&format!("  {name:<23}"), effect, width);
    }
    text.truncate(text.trim_end().len());
    text
}

/// Returns a row of a table in lines of at most `width` columns. The text is aligned after its label.
fn row(label: &str, text: &str, width: usize) -> String {
    let indent = label.chars().count();
    let mut row = label.to_string();
    let mut column = indent;
    for word in text.split(' ') {
        let len = word.chars().count();
        if column > indent && column + 1 + len > width {
            // Writing to a string does not fail.
            _ = write!(row, "\n{:indent$}", "");
            column = indent;
        }
        if column > indent {
            row.push(' ');
            column += 1;
        }
        row += word;
        column += len;
    }
    row.push('\n');
    row
}

/// Lists required options of a command first, then its other options, then those of all commands on points. Commands
/// on points also have the option `--metric`.
fn order_options(command: Command) -> Command {
    let of_points: Vec<String> = Points::augment_args(Command::new("points"))
        .get_arguments()
        .filter(|arg| !arg.is_positional())
        .map(|arg| arg.get_id().to_string())
        .collect();
    let is_on_points = {
        let ids: Vec<&str> = command.get_arguments().map(|arg| arg.get_id().as_str()).collect();
        of_points.iter().all(|id| ids.contains(&id.as_str()))
    };
    let command = if is_on_points { command.arg(metric()) } else { command };
    let mut place = 0;
    command.mut_args(|arg| {
        if arg.is_positional() {
            return arg;
        }
        place += 1;
        let is_shared = is_on_points && of_points.iter().any(|id| arg.get_id() == id.as_str());
        // Clap lists options in ascending order, and --help at 999.
        let group = if arg.is_required_set() {
            0
        } else if is_shared {
            400
        } else {
            200
        };
        arg.display_order(group + place)
    })
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
    fn each_command_is_in_one_group() {
        let mut grouped = GROUPS.map(|(_, names)| names).concat();
        grouped.sort_unstable();
        let command = Args::command();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).chain(["help"]).collect();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }

    #[test]
    fn help_fits_its_width() {
        for width in [80, 100] {
            let mut command = command_of_width(width);
            command.build();
            let mut all = vec![command.render_long_help(), command.render_help()];
            for command in command.get_subcommands_mut() {
                all.extend([command.render_long_help(), command.render_help()]);
            }
            for line in all.iter().flat_map(|help| help.to_string().lines().map(String::from).collect::<Vec<_>>()) {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn rows_of_tables() {
        assert_eq!(row("  a   ", "one two three", 13), "  a   one two\n      three\n");
        assert_eq!(row("  a   ", "one two", 12), "  a   one\n      two\n");
        assert_eq!(row("  a   ", "one", 2), "  a   one\n");
    }
}
