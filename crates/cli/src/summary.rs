//! What a run found: lines for a reader, and the same numbers as JSON for a program.

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

/// Lines and numbers in the order in which they came.
#[derive(Default)]
pub struct Summary {
    pub text: String,
    pub values: Map<String, Value>,
}

impl Summary {
    /// A line of the report: a name, and what it is.
    pub fn line(&mut self, name: &str, text: impl AsRef<str>) {
        // Writing to a string does not fail.
        _ = writeln!(self.text, "{name:<16}{}", text.as_ref());
    }

    /// A number or a text for programs. What is not finite is null.
    pub fn value(&mut self, key: &str, value: impl Into<Value>) {
        self.values.insert(key.into(), value.into());
    }

    /// Both.
    pub fn both(&mut self, name: &str, text: impl AsRef<str>, value: impl Into<Value>) {
        self.line(name, text);
        self.value(&name.replace(' ', "_"), value);
    }

    /// Points: what the summaries of clustering begin with. `outside` of them lay outside of the periodic box.
    pub fn describe(&mut self, snapshot: &Snapshot, args: &args::Points, outside: u64) {
        let points = &snapshot.points;
        let bits = if let Points::F32(_) = points { 32 } else { 64 };
        let boundaries = match (args.periodic, snapshot.box_size) {
            (Some(side), _) => format!("{}, periodic", short(side)),
            // Nothing is assumed, but a snapshot that has a box was hardly meant without it.
            (None, Some(side)) => format!("open (the file names a box: --periodic {})", short(side)),
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

    /// The number of points outside of the periodic box, if there are any.
    pub fn wrapped(&mut self, name: &str, outside: u64, args: &args::Points) {
        if let Some(side) = args.periodic.filter(|_| outside > 0) {
            self.both(name, periodic::sentence(outside, side), outside);
        }
    }

    /// Adds the columns of a table that are coordinates.
    pub fn columns(&mut self, columns: &[String]) {
        if !columns.is_empty() {
            self.both("columns", columns.join(", "), columns);
        }
    }

    /// Adds the notes of the reader: assumptions, and columns that are left out.
    pub fn notes(&mut self, notes: &[String]) {
        for note in notes {
            self.line("note", note);
        }
        self.value("notes", notes.to_vec());
    }

    /// The times of the phases.
    pub fn times(&mut self, phases: &Phases) {
        _ = write!(self.text, "\n{}", phases.table());
        self.value("seconds", phases.seconds());
    }

    /// The times of the phases, and the files that were written.
    fn finish(&mut self, phases: &Phases, written: &[impl AsRef<Path>]) {
        self.times(phases);
        self.value("written", written.iter().map(|path| path.as_ref().display().to_string()).collect::<Value>());
    }

    /// Gives the outputs their names, with the summary where `json` asks for it; returns what is to be printed.
    pub fn close(
        mut self,
        phases: &Phases,
        mut outputs: Outputs,
        targets: &[&Path],
        json: Option<&PathBuf>,
    ) -> Result<String, Failure> {
        self.finish(phases, targets);
        if let Some(path) = json {
            let bytes = self.json()?;
            outputs.write(path, |out| out.write_all(&bytes))?;
        }
        let committed = outputs.commit()?;
        self.text += &written(targets);
        Ok(committed.report(self.text))
    }

    /// The JSON text.
    pub fn json(&self) -> Result<Vec<u8>, Failure> {
        let mut bytes = serde_json::to_vec_pretty(&self.values)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}
