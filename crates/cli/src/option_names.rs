//! Rewording of library messages for the command line.
//!
//! Messages name options of the library, such as `ReadOptions::columns`. They are replaced by options of the program,
//! such as `--coordinates A,B`.

use super::args::Command;

/// Options of the library, and the corresponding options of the program.
const OPTIONS: [(&str, &str); 8] = [
    ("ReadOptions::columns", "--coordinates A,B"),
    ("ReadOptions::types", "--type"),
    ("ReadOptions::open", "--open"),
    ("ReadOptions::single_part", "--single-part"),
    ("ReadOptions::velocity_unit", "--velocity-unit"),
    ("ReadOptions::skip_missing", "ropewalk convert --skip-missing"),
    ("Snapshot::box_size", "--box"),
    ("(read_fields)", "(--fields A,B)"),
];

/// Returns a sentence with the options of the program.
pub fn sentence(text: &str) -> String {
    OPTIONS.iter().fold(text.to_string(), |text, (own, option)| text.replace(own, option))
}

/// Returns notes with the options of the program.
pub fn notes(notes: &[String]) -> Vec<String> {
    notes.iter().map(|note| sentence(note)).collect()
}

/// Returns the error of a command with the options of that command.
pub fn error(text: &str, command: &Command) -> String {
    let has_skipping =
        matches!(command, Command::Dbscan(_) | Command::Hdbscan(_) | Command::Kdist(_) | Command::Convert(_));
    match has_skipping {
        true => sentence(&text.replace("ReadOptions::skip_missing", "--skip-missing")),
        false => sentence(text),
    }
}
