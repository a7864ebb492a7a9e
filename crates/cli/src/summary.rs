//! The results of a run: lines for people, and the same values as JSON for programs.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ropewalk_io::{Points, Snapshot};
use serde_json::{Map, Value};

use super::failure::Failure;
use super::outputs::{Outputs, written};
use super::phases::Phases;
use super::text::{grouped, short};
use super::{args, periodic};

/// The lines and the values of a report, in the order in which they were added.
#[derive(Default)]
pub struct Summary {
    pub text: String,
    /// The names and values of all lines.
    pub lines: Vec<(String, String)>,
    pub values: Map<String, Value>,
}

impl Summary {
    /// Adds a line with a name and its value to the report.
    pub fn line(&mut self, name: &str, text: impl AsRef<str>) {
        // Writing to a string does not fail.
        _ = writeln!(self.text, "{name:<16}{}", text.as_ref());
        self.lines.push((name.into(), text.as_ref().into()));
    }

    /// Adds a value to the JSON. Numbers that are not finite become null.
    pub fn value(&mut self, key: &str, value: impl Into<Value>) {
        self.values.insert(key.into(), value.into());
    }

    /// Adds a line to the report and a value to the JSON.
    pub fn both(&mut self, name: &str, text: impl AsRef<str>, value: impl Into<Value>) {
        self.line(name, text);
        self.value(&name.replace(' ', "_"), value);
    }

    /// Adds the points, their dimensions, columns and notes, and the box. `outside` is the number of points outside
    /// of the periodic box.
    pub fn describe(&mut self, snapshot: &Snapshot, args: &args::Points, outside: u64) {
        let points = &snapshot.points;
        let bits = if let Points::F32(_) = points { 32 } else { 64 };
        let boundaries = match (args.periodic, snapshot.box_size) {
            (Some(side), _) => format!("{}, periodic", short(side)),
            // Boundaries are open by default, but a file that names a box was probably meant to be periodic.
            (None, Some(side)) => format!("open (the file names a box: --box {})", short(side)),
            (None, None) => "open".into(),
        };
        self.value("file", args.file.display().to_string());
        self.both("points", grouped(points.len() as u64), points.len());
        self.both("dimensions", format!("{}, {bits}-bit floats", points.dim()), points.dim());
        self.columns(&snapshot.columns);
        if args.skip_missing {
            let (skipped, all) = (snapshot.skipped.len(), snapshot.skipped.len() + points.len());
            self.both("skipped", format!("{} of {} rows", grouped(skipped as u64), grouped(all as u64)), skipped);
        }
        self.notes(&snapshot.notes);
        self.both("box", boundaries, args.periodic);
        self.wrapped("wrapped", outside, args);
    }

    /// Adds the number of points outside of the periodic box, if there are any.
    pub fn wrapped(&mut self, name: &str, outside: u64, args: &args::Points) {
        if let Some(side) = args.periodic.filter(|_| outside > 0) {
            self.both(name, periodic::sentence(outside, side), outside);
        }
    }

    /// Adds the names of the coordinate columns, if the points are from a table.
    pub fn columns(&mut self, columns: &[String]) {
        if !columns.is_empty() {
            self.both("columns", columns.join(", "), columns);
        }
    }

    /// Adds the notes of the reader, on assumptions and unused columns.
    pub fn notes(&mut self, notes: &[String]) {
        for note in notes {
            self.line("note", note);
        }
        self.value("notes", notes.to_vec());
    }

    /// Adds the times of the phases.
    pub fn times(&mut self, phases: &Phases) {
        _ = write!(self.text, "\n{}", phases.table());
        self.value("seconds", phases.seconds());
    }

    /// Adds the times of the phases and the names of the files that were written.
    fn finish(&mut self, phases: &Phases, written: &[impl AsRef<Path>]) {
        self.times(phases);
        self.value("written", written.iter().map(|path| path.as_ref().display().to_string()).collect::<Value>());
    }

    /// Commits the outputs, after writing the summary to the file of `--json`; returns the text to print.
    pub fn close(
        mut self,
        phases: &Phases,
        mut outputs: Outputs,
        targets: &[&Path],
        json: Option<&PathBuf>,
    ) -> Result<String, Failure> {
        // A summary on standard output is not a file.
        let is_file = |target: &&&Path| target.as_os_str() != "-" || json.is_none_or(|json| json.as_path() != **target);
        let files: Vec<&Path> = targets.iter().filter(is_file).copied().collect();
        self.finish(phases, &files);
        if let Some(path) = json {
            let bytes = self.json()?;
            outputs.write(path, |out| out.write_all(&bytes))?;
        }
        let committed = outputs.commit()?;
        self.text += &written(&files);
        Ok(committed.report(self.text))
    }

    /// Returns the values as a JSON text.
    pub fn json(&self) -> Result<Vec<u8>, Failure> {
        let mut bytes = serde_json::to_vec_pretty(&self.values)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}
