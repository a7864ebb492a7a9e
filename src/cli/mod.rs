//! What the program can be told, and what it answers.

mod args;
mod bench;
mod centers;
mod dbscan;
mod device;
mod dimensions;
mod halos;
mod info;
mod kdist;
mod largest;
mod outputs;
mod phases;
mod sample;
mod universe;

use std::ffi::OsStr;
use std::path::Path;

use ropewalk::io::Points;

pub use args::{Args, usage_error};

/// An error for the user: its text is all that is shown.
pub type Failure = Box<dyn std::error::Error>;

/// Does what `args` ask for; the text is for standard output.
pub fn run(args: &Args) -> Result<String, Failure> {
    match &args.command {
        args::Command::Halos(args) => halos::run(args),
        args::Command::Dbscan(args) => dbscan::run(args),
        args::Command::Kdist(args) => kdist::run(args),
        args::Command::Info(args) => info::run(args),
        args::Command::Sample(args) => sample::run(args),
        args::Command::Bench(args) => bench::run(args),
    }
}

/// Limits the number of threads, if that was asked for.
fn start_threads(threads: Option<u16>) -> Result<(), Failure> {
    let Some(threads) = threads else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into());
    pool.build_global().map_err(|error| format!("{threads} threads cannot be started: {error}").into())
}

/// What the summaries of clustering begin with.
fn describe(points: &Points, file_box: Option<f64>, periodic: Option<f64>) -> [(&'static str, String); 3] {
    let bits = if let Points::F32(_) = points { 32 } else { 64 };
    let boundaries = match (periodic, file_box) {
        (Some(side), _) => format!("{}, periodic", short(side)),
        // Nothing is assumed, but a snapshot that has a box was hardly meant without it.
        (None, Some(side)) => format!("open (the file names a box: --periodic {})", short(side)),
        (None, None) => "open".into(),
    };
    [
        ("points", grouped(points.len() as u64)),
        ("dimensions", format!("{}, {bits}-bit floats", points.dim())),
        ("box", boundaries),
    ]
}

/// The ending of a picture's name, in lower case, if it is one of those that can be written.
fn picture_format(path: &Path, known: &[&'static str]) -> Result<&'static str, Failure> {
    let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
    let found = known.iter().find(|known| ending.as_deref() == Some(OsStr::new(known)));
    found.copied().ok_or_else(|| {
        let endings: Vec<String> = known.iter().map(|known| format!(".{known}")).collect();
        format!("--plot {}: the name must end in {}", path.display(), endings.join(" or ")).into()
    })
}

/// A number with a comma before every three digits.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Six significant digits, no trailing zeros.
fn short(x: f64) -> String {
    let rounded: f64 = format!("{x:.5e}").parse().unwrap_or(x);
    if rounded == 0.0 || (1e-4..1e9).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_legible() {
        assert_eq!([1, 999, 1000, 1_234_567].map(grouped), ["1", "999", "1,000", "1,234,567"]);
        assert_eq!([0.1f64 + 0.2, 32.0, -1e-9, f64::NAN].map(short), ["0.3", "32", "-1e-9", "NaN"]);
    }
}
