//! `ropewalk halos --config` and `--write-config`: files with the options of a run.
//!
//! Both follow from the definition of the command line. The options of a file are inserted as arguments before those
//! that are given, so that they are parsed and checked in the same way.

mod definition;
mod read;
mod write;

use std::ffi::OsString;

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue};

use super::args::{self, Args};
use super::help;
use definition::{HALOS, halos_command};
use read::ConfigFile;
use write::Options;
pub use write::{check, write};

/// An error in the arguments.
pub enum ParseError {
    /// An error of the parser, or a request for help.
    Clap(clap::Error),
    /// An error in the file of options.
    File(String),
}

/// Parses the arguments, with the options of the file of `--config` if there is one.
pub fn parse(arguments: Vec<OsString>) -> Result<Args, ParseError> {
    let file = ConfigFile::find(&arguments).map_err(ParseError::File)?;
    let arguments = file.as_ref().map_or(arguments.clone(), |file| file.insert(arguments));
    let parsed = help::command().try_get_matches_from(arguments).and_then(|matches| {
        let mut args = Args::from_arg_matches(&matches).map_err(|error| error.format(&mut help::command()))?;
        if let (args::Command::Halos(halos), Some(given)) = (&mut args.command, matches.subcommand_matches(HALOS)) {
            let command = halos_command();
            let options = Options::new(&command, given);
            halos.config_text = options.to_file();
            halos.recorded = options.of_results();
        }
        Ok(args)
    });
    parsed.map_err(|error| match (&file, invalid_option(&error)) {
        (Some(file), Some(option)) => match file.place(&option) {
            Some(place) => {
                ParseError::File(format!("{place}: {}", super::usage::message(&error).trim_start_matches("error: ")))
            }
            None => ParseError::Clap(error),
        },
        _ => ParseError::Clap(error),
    })
}

/// Returns the name of the option that an error is about, as `--eps`.
fn invalid_option(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(shown) => shown.split([' ', '=']).next().map(String::from),
        _ => None,
    }
}
