//! Reading of a file of options.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};
use toml::de::{DeTable, DeValue};

use super::definition::{HALOS, SNAPSHOT, halos_command, is_excluded, is_given, key, may_lack_value, place};
use crate::help;

/// A file of options, as arguments.
pub struct ConfigFile {
    path: PathBuf,
    arguments: Vec<OsString>,
    /// The keys and their lines.
    lines: Vec<(String, usize)>,
}

impl ConfigFile {
    /// Reads the file that `--config` names. `None` without `--config`, and if the arguments are wrong, which the
    /// complete parser reports.
    pub fn find(arguments: &[OsString]) -> Result<Option<Self>, String> {
        // Required arguments may be in the file.
        let lenient = help::command().mut_subcommand(HALOS, |halos| halos.mut_args(|arg| arg.required(false)));
        let Ok(matches) = lenient.try_get_matches_from(arguments) else { return Ok(None) };
        let Some(given) = matches.subcommand_matches(HALOS) else { return Ok(None) };
        let Some(path) = given.get_one::<PathBuf>("config") else { return Ok(None) };
        let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => format!("{}: not a text in UTF-8", path.display()),
            _ => format!("{}: cannot be opened: {error}", path.display()),
        })?;
        let line_of = |at: usize| text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1;
        let table = DeTable::parse(&text).map_err(|error| {
            let line = line_of(error.span().map_or(0, |span| span.start));
            format!("{}: {}", place(path, line), error.message().replace('\n', ", "))
        })?;
        let command = halos_command();
        let mut file = Self { path: path.clone(), arguments: vec![], lines: vec![] };
        let mut entries: Vec<_> = table.get_ref().iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (name, value) in entries {
            let line = line_of(name.span().start);
            let name: &str = name.get_ref();
            let failed = |why: String| format!("{}: {why}", place(path, line));
            let arg = command.get_arguments().find(|arg| key(arg) == Some(name));
            let arg = arg.ok_or_else(|| failed(unknown(name, &command)))?;
            let arguments = arguments_of(name, arg, value.get_ref()).map_err(failed)?;
            if !is_given(given, arg) && !is_excluded(&command, given, arg) {
                file.arguments.extend(arguments);
                file.lines.push((name.into(), line));
            }
        }
        Ok(Some(file))
    }

    /// Inserts the options after the name of the command.
    pub fn insert(&self, mut arguments: Vec<OsString>) -> Vec<OsString> {
        // Options before the command have no values.
        let at = arguments.iter().position(|argument| argument == HALOS).map_or(arguments.len(), |at| at + 1);
        arguments.splice(at..at, self.arguments.iter().cloned());
        arguments
    }

    /// Returns the line of an option of this file, as `run.toml: line 3`.
    pub fn place(&self, option: &str) -> Option<String> {
        let is_named =
            |key: &str| option.strip_prefix("--") == Some(key) || (key == SNAPSHOT && option.contains("SNAPSHOT"));
        self.lines.iter().find(|(key, _)| is_named(key)).map(|(_, line)| place(&self.path, *line))
    }
}

/// Returns the message for an unknown key.
fn unknown(name: &str, command: &Command) -> String {
    let hyphens = name.trim_start_matches('-').replace('_', "-");
    let known = command.get_arguments().filter_map(key).find(|key| *key == hyphens);
    let tip = known.map_or_else(
        || "; keys are the options of `ropewalk halos` without dashes".to_string(),
        |known| format!("; a similar key exists: {known}"),
    );
    format!("unknown key {}{tip}", name.escape_debug())
}

/// Returns the arguments for an entry of the file.
fn arguments_of(name: &str, arg: &Arg, value: &DeValue<'_>) -> Result<Vec<OsString>, String> {
    let (takes_values, may_lack_value) = (arg.get_action().takes_values(), may_lack_value(arg));
    match value {
        DeValue::Boolean(true) if !takes_values || may_lack_value => return Ok(vec![format!("--{name}").into()]),
        DeValue::Boolean(false) if !takes_values || may_lack_value => return Ok(vec![]),
        _ if !takes_values => return Err(format!("{name} must be true or false")),
        _ => {}
    }
    let values: Vec<&DeValue<'_>> = match value {
        DeValue::Array(list) if matches!(arg.get_action(), ArgAction::Append) => {
            list.iter().map(|item| item.get_ref()).collect()
        }
        DeValue::Array(_) => return Err(format!("{name} must be a single value, not a list")),
        single => vec![single],
    };
    let text = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Ok(text.to_string()),
        _ if may_lack_value => Err(format!("{name} must be true, false or a string")),
        DeValue::Float(number) => Ok(number.as_str().to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_string()),
        _ => Err(format!("{name} must be a string or a number")),
    };
    let argument = |value| {
        let text = text(value)?;
        Ok(match arg.is_positional() {
            // A path that looks like an option.
            true if text.starts_with('-') && text.len() > 1 => format!("./{text}"),
            true => text,
            false => format!("--{name}={text}"),
        })
    };
    values.into_iter().map(|value| argument(value).map(OsString::from)).collect()
}
