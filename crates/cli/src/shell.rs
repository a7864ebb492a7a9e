//! `ropewalk completions` and `ropewalk man`: files for shells and packages, from the definition of the command line.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Command;

use super::args::{Completions, Man};
use super::failure::Failure;
use super::help;
use super::outputs::Outputs;

/// Returns the completions for a shell.
pub fn completions(args: &Completions) -> Result<String, Failure> {
    let mut script = vec![];
    clap_complete::generate(args.shell, &mut help::command(), "ropewalk", &mut script);
    Ok(String::from_utf8(script)?)
}

/// Writes the manual pages of the program and its commands; returns the report.
pub fn man(args: &Man) -> Result<String, Failure> {
    // The program that shows a page wraps its lines.
    let mut command = help::command_of_width(usize::MAX).disable_help_subcommand(true);
    command.build();
    let mut pages = vec![page(&args.out, &command)?];
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        pages.push(page(&args.out, command)?);
    }
    fs::create_dir_all(&args.out).map_err(|error| format!("--out {}: {error}", args.out.display()))?;
    let targets: Vec<&Path> = pages.iter().map(|(path, _)| path.as_path()).collect();
    let mut outputs = Outputs::files(&targets, &[])?;
    for (path, text) in &pages {
        outputs.write(path, |out| out.write_all(text))?;
    }
    outputs.commit()?;
    Ok(format!("{} manual pages are in {}\n", pages.len(), args.out.display()))
}

/// Returns the path and the text of the page of a command.
fn page(folder: &Path, command: &Command) -> Result<(PathBuf, Vec<u8>), Failure> {
    let page = clap_mangen::Man::new(command.clone());
    let mut text = vec![];
    page.render(&mut text)?;
    Ok((folder.join(page.get_filename()), text))
}
