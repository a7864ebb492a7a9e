//! Runs an operation on arrays in a folder for each input line: `op_server mesh FOLDER`, `op_server values FOLDER`.
//!
//! An input line is a library and an operation. The output is a line with seconds and, for `build`, the bytes of the
//! result and the peak of allocated bytes. Results are written to the files `answer` and `triangles` of the folder.
//! Numbers are little-endian. `build` creates the structure that a library's other operations search. The scripts
//! `mesh_peers.py` and `values_peers.py`, in the folder above `src`, send the lines and compare the results.

mod counted;
mod mesh;
mod moller_trumbore;
mod operation;
mod values;

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::Path;

use counted::Counted;
use operation::OpServer;

#[global_allocator]
static HEAP: Counted = Counted;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, folder] = arguments.as_slice() else { return Err("usage: op_server mesh|values FOLDER".into()) };
    let folder = Path::new(folder);
    let mut server: Box<dyn OpServer> = match what.as_str() {
        "mesh" => Box::new(mesh::Meshes::read(folder)?),
        "values" => Box::new(values::Values::read(folder)?),
        _ => return Err(format!("{what:?} is invalid; use mesh or values").into()),
    };
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (library, op) = line.split_once(' ').ok_or("a line must hold a library and an operation")?;
        let done = server.run(library, op)?;
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
