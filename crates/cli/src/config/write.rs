//! The options of a run, as a file of options, and for its summary.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value as Json};
use toml::Value as Toml;

use super::definition::{SNAPSHOT, is_excluded, is_given, key, may_lack_value};
use crate::args::Halos;
use crate::failure::Failure;
use crate::outputs::Outputs;

/// The value of an argument, as it was given or by default.
enum Given {
    Flag(bool),
    One(String),
    List(Vec<String>),
}

impl Given {
    fn to_toml(&self) -> Toml {
        match self {
            Self::Flag(flag) => Toml::Boolean(*flag),
            Self::One(text) => scalar(text),
            Self::List(texts) => Toml::Array(texts.iter().map(|text| scalar(text)).collect()),
        }
    }

    fn to_json(&self) -> Json {
        // The same for all spellings of a number.
        let scalar = |text: &String| match text.parse::<f64>() {
            Ok(number) if number == f64::from(number as i32) => Json::from(number as i32),
            Ok(number) if number.is_finite() => Json::from(number),
            _ => Json::from(text.as_str()),
        };
        match self {
            Self::Flag(flag) => Json::Bool(*flag),
            Self::One(text) => scalar(text),
            Self::List(texts) => Json::Array(texts.iter().map(scalar).collect()),
        }
    }
}

/// The options of a run, with the keys of files and the headings of the help.
pub struct Options<'a>(Vec<(&'a str, &'a str, Given)>);

impl<'a> Options<'a> {
    /// Returns the options that were given or have a default, in the order of the help.
    pub fn new(command: &'a Command, matches: &ArgMatches) -> Self {
        // A default does not count if another option excludes it.
        let counts = |arg: &&Arg| is_given(matches, arg) || !is_excluded(command, matches, arg);
        let option =
            |arg: &'a Arg| Some((arg.get_help_heading().unwrap_or("Snapshots"), key(arg)?, given(arg, matches)?));
        Self(command.get_arguments().filter(counts).filter_map(option).collect())
    }

    /// Returns the contents of a file with all options, in the groups of the help.
    pub fn to_file(&self) -> String {
        let mut text = format!(
            "# Options of `ropewalk halos` {}. Repeat the run with: ropewalk halos --config FILE.toml\n",
            env!("CARGO_PKG_VERSION")
        );
        let mut groups: Vec<(&str, String)> = vec![];
        for (heading, key, value) in &self.0 {
            let at = groups.iter().position(|(other, _)| other == heading).unwrap_or_else(|| {
                groups.push((heading, String::new()));
                groups.len() - 1
            });
            // Writing to a string does not fail.
            _ = writeln!(groups[at].1, "{key} = {}", value.to_toml());
        }
        for (heading, lines) in groups {
            _ = write!(text, "\n# {heading}\n{lines}");
        }
        text
    }

    /// Returns the options that results depend on: all except input and output paths, `again`, and the options of
    /// threads and messages.
    pub fn of_results(&self) -> Map<String, Json> {
        const OTHERS: [&str; 5] = [SNAPSHOT, "out", "json", "again", "threads"];
        let depend = |(heading, key, _): &&(&str, &str, Given)| *heading != "Messages" && !OTHERS.contains(key);
        let value = |key: &str, value: &Given| if key == "report" { Json::Bool(true) } else { value.to_json() };
        self.0.iter().filter(depend).map(|(_, key, given)| ((*key).into(), value(key, given))).collect()
    }
}

/// Returns the value of an argument; `None` if it was neither given nor has a default.
fn given(arg: &Arg, matches: &ArgMatches) -> Option<Given> {
    let id = arg.get_id().as_str();
    if !arg.get_action().takes_values() {
        return Some(Given::Flag(matches.get_flag(id)));
    }
    let mut values = matches.get_raw(id)?.map(|raw| raw.to_string_lossy().into_owned());
    match arg.get_action() {
        ArgAction::Append => Some(Given::List(values.collect())),
        _ => values.next().map(Given::One).or(may_lack_value(arg).then_some(Given::Flag(true))),
    }
}

/// Returns a number if it has the same text, otherwise a string.
fn scalar(text: &str) -> Toml {
    let integer = text.parse().map(Toml::Integer).ok();
    let number = integer.or_else(|| text.parse().ok().filter(|x: &f64| x.is_finite()).map(Toml::Float));
    number.filter(|number| number.to_string() == text).unwrap_or_else(|| Toml::String(text.into()))
}

/// Checks before a run that the file of `--write-config` can be written and is not another file of the run.
pub fn check(args: &Halos) -> Result<(), Failure> {
    let Some(path) = &args.write_config else { return Ok(()) };
    let shown = path.display();
    if path.extension().is_none_or(|ending| ending != "toml") {
        return Err(format!("--write-config {shown}: the name must end in .toml").into());
    }
    let particles = &args.particles;
    let paths =
        args.snapshots.iter().chain([&particles.velocities, &particles.masses, &particles.ids].into_iter().flatten());
    if paths.chain(&args.json).any(|path| path.to_str().is_none()) || args.out.to_str().is_none() {
        return Err("--write-config: a path is not UTF-8, which TOML requires".into());
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !parent.is_dir() && !parent.starts_with(&args.out) {
        return Err(format!("--write-config {shown}: the folder does not exist").into());
    }
    let mut outputs = Outputs::files(&[], &inputs(args))?;
    args.json.iter().try_for_each(|json| outputs.reserve(json))?;
    outputs.reserve(path)
}

fn inputs(args: &Halos) -> Vec<&Path> {
    args.snapshots.iter().chain(&args.config).map(AsRef::as_ref).collect()
}

/// Writes the file of `--write-config`, if it is given, after a run that has succeeded.
pub fn write(args: &Halos) -> Result<(), Failure> {
    let Some(path) = &args.write_config else { return Ok(()) };
    let mut outputs = Outputs::files(&[path], &inputs(args))?;
    outputs.write(path, |out| out.write_all(args.config_text.as_bytes()))?;
    outputs.commit()?;
    Ok(())
}
