//! `ropewalk tree`: writes the search tree of points for programs that draw it.

use std::path::Path;

use ropewalk_table::{Bvh, TreeFormat};

use super::args::Tree;
use super::failure::Failure;
use super::input;
use super::outputs::Outputs;
use super::phases::Phases;
use super::summary::Summary;
use super::text::grouped;
use super::threads::start_threads;

pub fn run(args: &Tree) -> Result<String, Failure> {
    args.points.refuse_skipping("tree")?;
    start_threads(args.points.threads)?;
    let format = TreeFormat::from_path(&args.out).map_err(|error| format!("--out {error}"))?;
    let targets: Vec<&Path> =
        [Some(&args.out), args.points.json.as_ref()].into_iter().flatten().map(AsRef::as_ref).collect();
    let mut outputs = Outputs::files(&targets, &[&args.points.file])?;

    let mut phases = Phases::default();
    let input::PointsInput { snapshot, outside } = input::points(&args.points, &mut phases)?;
    let tree = phases.run("tree", || Bvh::build_periodic(&snapshot.points, args.points.periodic))?;
    phases.run("write", || outputs.write(&args.out, |out| tree.write(format, out)))?;
    let mut summary = Summary::default();
    summary.describe(&snapshot, &args.points, outside);
    summary.both("nodes", grouped(tree.n_nodes() as u64), tree.n_nodes());
    summary.close(&phases, outputs, &targets, args.points.json.as_ref())
}
