//! One operation of a library: its time and its result.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use crate::counted;

/// A set of arrays on which operations of libraries are run and timed.
pub trait OpServer {
    fn run(&mut self, library: &str, op: &str) -> Result<FinishedRun, Box<dyn Error>>;
}

/// The time of an operation, and a number for each query.
pub struct FinishedRun {
    pub seconds: f64,
    /// For a build, the bytes of the result and the peak of allocated bytes.
    pub bytes: Option<[usize; 2]>,
    pub answer: Vec<f64>,
    /// The triangle that each query found.
    pub triangles: Vec<u32>,
}

impl FinishedRun {
    pub fn build<T>(
        kept: &mut Option<T>,
        make: impl FnOnce() -> Result<T, Box<dyn Error>>,
    ) -> Result<Self, Box<dyn Error>> {
        *kept = None;
        let before = counted::restart();
        let start = Instant::now();
        *kept = Some(make()?);
        let seconds = start.elapsed().as_secs_f64();
        let bytes = counted::now_and_most().map(|bytes| bytes.saturating_sub(before));
        Ok(Self { seconds, bytes: Some(bytes), answer: vec![], triangles: vec![] })
    }

    pub fn queries<T>(work: impl FnOnce() -> Vec<T>, answer: impl Fn(&T) -> f64, triangle: impl Fn(&T) -> u32) -> Self {
        let start = Instant::now();
        let found = work();
        let seconds = start.elapsed().as_secs_f64();
        let (answer, triangles) = (found.iter().map(answer).collect(), found.iter().map(triangle).collect());
        Self { seconds, bytes: None, answer, triangles }
    }
}

/// Reads the rows of a file with four or eight bytes per number.
pub fn rows<const N: usize, const B: usize, T>(
    folder: &Path,
    file: &str,
    of: fn([u8; B]) -> T,
) -> Result<Vec<[T; N]>, Box<dyn Error>> {
    let bytes = std::fs::read(folder.join(file)).map_err(|error| format!("{file}: {error}"))?;
    let (numbers, _) = bytes.as_chunks::<B>();
    let (rows, _) = numbers.as_chunks::<N>();
    Ok(rows.iter().map(|row| row.map(of)).collect())
}
