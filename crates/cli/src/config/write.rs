//! Writing of a file of options.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::Value;

use super::definition::{is_excluded, is_given, key};
use crate::args::Halos;
use crate::failure::Failure;
use crate::outputs::Outputs;

/// Returns the contents of a file with all options of a run, in the groups of the help.
pub fn text(command: &Command, matches: &ArgMatches) -> String {
    let mut text = format!(
        "# Options of `ropewalk halos` {}. Repeat the run with: ropewalk halos --config FILE.toml\n",
        env!("CARGO_PKG_VERSION")
    );
    let mut groups: Vec<(&str, String)> = vec![];
    for arg in command.get_arguments() {
        let Some(name) = key(arg) else { continue };
        // A default that does not count.
        if !is_given(matches, arg) && is_excluded(command, matches, arg) {
            continue;
        }
        let Some(value) = value(arg, matches) else { continue };
        let heading = arg.get_help_heading().unwrap_or("Snapshots");
        let at = groups.iter().position(|(other, _)| *other == heading).unwrap_or_else(|| {
            groups.push((heading, String::new()));
            groups.len() - 1
        });
        // Writing to a string does not fail.
        _ = writeln!(groups[at].1, "{name} = {value}");
    }
    for (heading, lines) in groups {
        _ = write!(text, "\n# {heading}\n{lines}");
    }
    text
}

/// Returns the value of an argument; `None` if it was neither given nor has a default.
fn value(arg: &Arg, matches: &ArgMatches) -> Option<Value> {
    let id = arg.get_id().as_str();
    if !arg.get_action().takes_values() {
        return Some(Value::Boolean(matches.get_flag(id)));
    }
    let mut values = matches.get_raw(id)?.map(|raw| scalar(&raw.to_string_lossy()));
    match arg.get_action() {
        ArgAction::Append => Some(Value::Array(values.collect())),
        _ => values.next(),
    }
}

/// Returns a number if it has the same text, otherwise a string.
fn scalar(text: &str) -> Value {
    let integer = text.parse().map(Value::Integer).ok();
    let number = integer.or_else(|| text.parse().ok().filter(|x: &f64| x.is_finite()).map(Value::Float));
    number.filter(|number| number.to_string() == text).unwrap_or_else(|| Value::String(text.into()))
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
