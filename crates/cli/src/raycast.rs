//! `ropewalk raycast`: draws a triangle mesh, or finds the hits of rays (`ray_hits`).

use std::io::Write as _;
use std::path::Path;

use ropewalk::{Mesh, Scalar};
use ropewalk_io::{MeshData, Points};
use ropewalk_plot::{View, shaded};

use super::args::Raycast as Args;
use super::failure::Failure;
use super::mesh_input::{describe, read};
use super::outputs::{Outputs, ending};
use super::phases::Phases;
use super::ray_hits;
use super::summary::Summary;
use super::text::grouped;
use super::threads::start_threads;

pub fn run(args: &Args) -> Result<String, Failure> {
    start_threads(args.threads)?;
    if let Some(rays) = &args.rays {
        return ray_hits::run(args, rays);
    }
    ending("--out", &args.out, &["png"])?;
    let &[width, height] = &args.size[..] else {
        return Err("--size must be two numbers of pixels, as 1200,900".into());
    };
    let view = View { azimuth: args.azimuth, elevation: args.elevation, width, height };
    let targets: Vec<&Path> = [Some(&args.out), args.json.as_ref()].into_iter().flatten().map(AsRef::as_ref).collect();
    let mut outputs = Outputs::files(&targets, &[&args.file])?;
    let mut phases = Phases::default();
    let mesh = read(args, &mut phases)?;
    let (picture, rays) = match &mesh.vertices {
        Points::F32(vertices) => draw(vertices.rows::<3>().unwrap_or_default(), &mesh, &view, &mut phases)?,
        Points::F64(vertices) => draw(vertices.rows::<3>().unwrap_or_default(), &mesh, &view, &mut phases)?,
    };
    outputs.write(&args.out, |out| out.write_all(&picture))?;
    let mut summary = Summary::default();
    describe(&mut summary, &mesh);
    summary.both("rays", grouped(rays), rays);
    for note in &mesh.notes {
        summary.line("note", note);
    }
    summary.close(&phases, outputs, &targets, args.json.as_ref())
}

fn draw<S: Scalar>(
    vertices: &[[S; 3]],
    data: &MeshData,
    view: &View,
    phases: &mut Phases,
) -> ropewalk::Result<(Vec<u8>, u64)> {
    let mesh = phases.run("tree", || Mesh::build(vertices, &data.faces))?;
    phases.run("rays", || shaded(&mesh, data.corner_colors().as_deref(), view))
}
