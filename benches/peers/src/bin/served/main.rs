//! Works on arrays of plain numbers in a folder, once for each line that comes in: `served mesh FOLDER`, `served values FOLDER`.
//!
//! A line is a library and an operation. The answer is a line of seconds, and for `build` of bytes that the result keeps and bytes
//! that were there at the most; results lie in the folder as `answer`. Numbers are little-endian. The first `build` of a library
//! makes what its other operations search. `mesh_peers.py` and `values_peers.py` beside `src` send the lines, and compare.

mod counted;
mod mesh;
mod moller_trumbore;
mod values;

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

use counted::Counted;

#[global_allocator]
static HEAP: Counted = Counted;

/// What is asked of a program's side: an operation of a library, timed.
pub trait Served {
    fn run(&mut self, library: &str, op: &str) -> Result<Done, Box<dyn Error>>;
}

/// What an operation took, and what it found: a number for each query.
pub struct Done {
    pub seconds: f64,
    /// What a build keeps, and the most that it had.
    pub bytes: Option<[usize; 2]>,
    pub answer: Vec<f64>,
    /// The triangles that were found.
    pub triangles: Vec<u32>,
}

impl Done {
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

/// The rows of a file of four or eight bytes a number.
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

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, folder] = arguments.as_slice() else { return Err("served mesh|values FOLDER".into()) };
    let folder = Path::new(folder);
    let mut served: Box<dyn Served> = match what.as_str() {
        "mesh" => Box::new(mesh::Meshes::read(folder)?),
        "values" => Box::new(values::Values::read(folder)?),
        _ => return Err(format!("{what:?} is neither mesh nor values").into()),
    };
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (library, op) = line.split_once(' ').ok_or("a line is a library and an operation")?;
        let done = served.run(library, op)?;
        write(folder, "answer", done.answer.iter().flat_map(|x| x.to_le_bytes()).collect())?;
        write(folder, "triangles", done.triangles.iter().flat_map(|x| x.to_le_bytes()).collect())?;
        let bytes = done.bytes.map_or(String::new(), |[kept, most]| format!(" {kept} {most}"));
        println!("{}{bytes}", done.seconds);
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn write(folder: &Path, file: &str, bytes: Vec<u8>) -> std::io::Result<()> {
    std::fs::write(folder.join(file), bytes)
}
