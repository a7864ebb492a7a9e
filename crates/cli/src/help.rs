//! The help of the program: its commands in groups by task.

use std::fmt::Write;

use clap::{Command, CommandFactory};

use super::args::Args;

/// The commands by task, in the order of the help.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Halos of simulations", &["halos"]),
    ("Clusters", &["dbscan", "hdbscan", "kdist"]),
    ("Neighbours and trees", &["knn", "pairs", "emst", "linkage"]),
    ("Fields and meshes", &["interpolate", "raycast"]),
    ("Files", &["info", "convert", "sample"]),
    ("This program", &["bench", "help"]),
];

/// Returns the parser of the command line, with the commands grouped in its help. Lines have at most 100 columns.
pub fn command() -> Command {
    let command = Args::command().max_term_width(100);
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
    command.help_template(template + "\nOptions:\n{options}")
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
        for line in super::command().render_help().to_string().lines() {
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
