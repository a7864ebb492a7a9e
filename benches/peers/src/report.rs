//! Output as a Markdown table and as JSON lines.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::answer::Answer;
use crate::input::Input;
use crate::op::Op;
use crate::peer::Peer;

#[derive(Serialize)]
pub struct Row {
    op: String,
    library: &'static str,
    version: &'static str,
    n: usize,
    threads: usize,
    reps: usize,
    median_s: Option<f64>,
    min_s: Option<f64>,
    /// The median divided by that of `versus`.
    ratio: Option<f64>,
    versus: Option<&'static str>,
    agrees: Option<String>,
    check: Option<Answer>,
    skipped: Option<String>,
}

/// The library that a row is compared with, and its median time.
#[derive(Clone, Copy)]
pub struct Reference {
    pub library: &'static str,
    pub median_s: f64,
}

impl Row {
    pub fn timed(
        op: Op,
        peer: &dyn Peer,
        input: &Input,
        seconds: &[f64],
        check: Answer,
        versus: Reference,
        agrees: String,
    ) -> Self {
        let median = median(seconds);
        Self {
            reps: seconds.len(),
            median_s: Some(median),
            min_s: seconds.iter().copied().min_by(f64::total_cmp),
            ratio: Some(median / versus.median_s),
            versus: Some(versus.library),
            agrees: Some(agrees),
            check: Some(check),
            ..Self::empty(op, peer, input)
        }
    }

    pub fn skipped(op: Op, peer: &dyn Peer, input: &Input, reason: String) -> Self {
        Self { skipped: Some(reason), ..Self::empty(op, peer, input) }
    }

    fn empty(op: Op, peer: &dyn Peer, input: &Input) -> Self {
        Self {
            op: op.name(),
            library: peer.name(),
            version: version(peer.package()),
            n: input.points.len(),
            threads: if peer.is_serial(op) { 1 } else { input.parameters.threads },
            reps: 0,
            median_s: None,
            min_s: None,
            ratio: None,
            versus: None,
            agrees: None,
            check: None,
            skipped: None,
        }
    }
}

pub fn markdown(rows: &[Row]) -> String {
    let mut text =
        String::from("| op | library | threads | median s | min s | ratio | agrees |\n|---|---|---|---|---|---|---|\n");
    for row in rows {
        let Row { op, library, version, threads, .. } = row;
        let number = |value: Option<f64>, digits| value.map_or_else(|| "-".into(), |value| format!("{value:.digits$}"));
        let mut ratio = number(row.ratio, 2);
        if let Some(other) = row.versus.filter(|&versus| versus != "ropewalk") {
            ratio += &format!(" of {other}");
        }
        let note = match (&row.agrees, &row.skipped) {
            (_, Some(reason)) => format!("skipped: {reason}"),
            (Some(agrees), _) if row.reps == 1 => format!("{agrees} (one repetition)"),
            (agrees, _) => agrees.clone().unwrap_or_default(),
        };
        let (median, min) = (number(row.median_s, 4), number(row.min_s, 4));
        text += &format!("| {op} | {library} {version} | {threads} | {median} | {min} | {ratio} | {note} |\n");
    }
    text
}

/// Writes one object per line.
pub fn write_json(path: &Path, rows: &[Row]) -> io::Result<()> {
    let mut file = File::create(path)?;
    for row in rows {
        writeln!(file, "{}", serde_json::to_string(row)?)?;
    }
    Ok(())
}

/// Returns the median of times, in seconds.
pub fn median(seconds: &[f64]) -> f64 {
    let mut seconds = seconds.to_vec();
    seconds.sort_by(f64::total_cmp);
    let middle = seconds.len() / 2;
    if seconds.len() % 2 == 1 { seconds[middle] } else { (seconds[middle - 1] + seconds[middle]) / 2.0 }
}

/// Returns the memory peak of this process, or `None` on systems without /proc.
pub fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
}

/// Returns the version of a package in Cargo.lock, the newest if there are several.
fn version(package: &str) -> &'static str {
    let lock: &'static str = include_str!("../Cargo.lock");
    let name = format!("name = \"{package}\"");
    lock.split("[[package]]")
        .filter(|entry| entry.lines().any(|line| line == name))
        .filter_map(|entry| entry.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"')))
        .last()
        .unwrap_or("")
}
