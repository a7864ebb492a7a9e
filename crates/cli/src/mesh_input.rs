//! The mesh of `ropewalk raycast`.

use ropewalk_io::MeshData;

use super::args::Raycast as Args;
use super::failure::Failure;
use super::phases::Phases;
use super::summary::Summary;
use super::text::grouped;

/// Reads the mesh. Refuses one without triangles.
pub fn read(args: &Args, phases: &mut Phases) -> Result<MeshData, Failure> {
    let mesh = phases.run("read", || ropewalk_io::read_mesh(&args.file))?;
    if mesh.faces.is_empty() {
        let purpose = if args.rays.is_some() { "" } else { " to draw" };
        return Err(format!("{}: has no triangles{purpose}", args.file.display()).into());
    }
    Ok(mesh)
}

/// Adds the size of the mesh to the summary.
pub fn describe(summary: &mut Summary, mesh: &MeshData) {
    summary.both("vertices", grouped(mesh.vertices.len() as u64), mesh.vertices.len());
    summary.both("triangles", grouped(mesh.faces.len() as u64), mesh.faces.len());
}
