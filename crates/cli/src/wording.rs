//! Sentences of the library in the words of the command line.
//!
//! In: sentences that name options of the library, as `ReadOptions::columns`. Out: the same with options of the program, as `--coordinates A,B`.

use super::args::Command;

/// Options of the library, and those of the program that stand for them.
const OPTIONS: [(&str, &str); 8] = [
    ("ReadOptions::columns", "--coordinates A,B"),
    ("ReadOptions::types", "--type"),
    ("ReadOptions::open", "--open"),
    ("ReadOptions::single_part", "--single-part"),
    ("ReadOptions::velocity_unit", "--velocity-unit"),
    ("ReadOptions::skip_missing", "ropewalk convert --skip-missing"),
    ("Snapshot::box_size", "--box, --periodic"),
    ("(read_fields)", "(--fields A,B)"),
];

/// A sentence with options of the program.
pub fn sentence(text: &str) -> String {
    OPTIONS.iter().fold(text.to_string(), |text, (own, option)| text.replace(own, option))
}

/// Notes with options of the program.
pub fn notes(notes: &[String]) -> Vec<String> {
    notes.iter().map(|note| sentence(note)).collect()
}

/// An error of a command with options of this command.
pub fn error(text: &str, command: &Command) -> String {
    let has_skipping =
        matches!(command, Command::Dbscan(_) | Command::Hdbscan(_) | Command::Kdist(_) | Command::Convert(_));
    match has_skipping {
        true => sentence(&text.replace("ReadOptions::skip_missing", "--skip-missing")),
        false => sentence(text),
    }
}
