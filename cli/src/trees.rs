//! `ropewalk emst` and `ropewalk linkage`.

use std::fmt::Write;
use std::path::Path;

use ropewalk::io::{Points, ReadOptions, Snapshot, Table};
use ropewalk::{Dendrogram, MinimumSpanningTree, SpanningTree};

use super::args::{Emst, Linkage, Spanned};
#[cfg(any(feature = "cuda", feature = "vulkan"))]
use super::device::on_device;
use super::device::{Device, Name};
#[cfg(any(feature = "cuda", feature = "vulkan"))]
use super::dimensions::with_rows;
use super::outputs::{Column, Outputs, write_csv, written};
use super::phases::Phases;
use super::{Failure, describe, grouped, periodic, short, start_threads};

pub fn emst(args: &Emst) -> Result<String, Failure> {
    start_threads(args.spanned.threads)?;
    let device = args.device.find()?;
    let targets: Vec<&Path> =
        [Some(&args.out), args.weights.as_ref()].into_iter().flatten().map(AsRef::as_ref).collect();
    // First, so that hours of work do not end at a full disk's closed door.
    let mut outputs = Outputs::files(&targets, &args.spanned.file)?;
    let edges = Column::of("--out", &args.out)?;
    let weights = args.weights.as_ref().map(|path| Column::of("--weights", path)).transpose()?;

    let mut phases = Phases::default();
    let read = Read::new(&args.spanned, device, &mut phases)?;
    phases.run("edges", || -> Result<(), Failure> {
        let ends = read.tree.edges().iter().flat_map(|edge| [edge.low, edge.high]).collect();
        outputs.write(&args.out, |out| match edges {
            Column::Npy => Ok::<_, Failure>(ropewalk::io::write_npy_u32_to(out, &Table::new(2, ends)?)?),
            Column::Csv => write_csv(out, &["low", "high"], &ends),
        })?;
        if let (Some(path), Some(column)) = (&args.weights, weights) {
            let weights: Vec<f64> = read.tree.edges().iter().map(|edge| edge.weight()).collect();
            outputs.write(path, |out| match column {
                Column::Npy => Ok::<_, Failure>(ropewalk::io::write_npy_f64_to(out, &weights)?),
                Column::Csv => write_csv(out, &["weight"], &weights),
            })?;
        }
        Ok(())
    })?;
    // Not `sum`, which is -0 of nothing.
    let sum = read.tree.edges().iter().fold(0.0, |sum, edge| sum + edge.weight());
    let mut more = vec![("sum of weights", short(sum))];
    if args.device != Name::Cpu {
        more.push(("device", args.device.to_string()));
    }
    finish(&args.spanned, &read, &more, &phases, outputs, &targets)
}

pub fn linkage(args: &Linkage) -> Result<String, Failure> {
    start_threads(args.spanned.threads)?;
    let targets = [args.out.as_path()];
    let mut outputs = Outputs::files(&targets, &args.spanned.file)?;
    let column = Column::of("--out", &args.out)?;

    let mut phases = Phases::default();
    let read = Read::new(&args.spanned, Device::Cpu, &mut phases)?;
    phases.run("merges", || {
        let dendrogram = Dendrogram::new(&read.tree);
        let row = |merge: &ropewalk::cluster::Merge| {
            let [a, b] = merge.clusters.map(f64::from);
            [a, b, merge.height, f64::from(merge.size)]
        };
        let rows: Vec<f64> = dendrogram.merges().iter().flat_map(row).collect();
        outputs.write(&args.out, |out| match column {
            Column::Npy => Ok::<_, Failure>(ropewalk::io::write_npy_to(out, &Points::F64(Table::new(4, rows)?))?),
            Column::Csv => write_csv(out, &["a", "b", "height", "size"], &rows),
        })
    })?;
    finish(&args.spanned, &read, &[], &phases, outputs, &targets)
}

/// A file and its spanning tree.
struct Read {
    snapshot: Snapshot,
    /// Points outside of the periodic box.
    outside: u64,
    tree: SpanningTree,
}

impl Read {
    fn new(args: &Spanned, device: Device, phases: &mut Phases) -> Result<Self, Failure> {
        let options = ReadOptions::default().columns(&args.columns);
        let snapshot = phases.run("read", || ropewalk::io::read(&args.file, &options))?;
        let outside = periodic::wrapped(&snapshot.points, args.periodic, snapshot.box_size)?;
        let points = &snapshot.points;
        let tree = match device {
            Device::Cpu => {
                let options = MinimumSpanningTree::new().min_samples(args.min_samples).periodic(args.periodic);
                phases.run("spanning tree", || ropewalk::table::minimum_spanning_tree(points, &options))?
            }
            #[cfg(any(feature = "cuda", feature = "vulkan"))]
            Device::Gpu(device) => {
                with_rows!(points, f32 [2, 3], f64 [2, 3], rows => span_on(device, args, rows, phases))
                    .ok_or_else(|| on_device(points.dim()))??
            }
        };
        Ok(Self { snapshot, outside, tree })
    }
}

#[cfg(any(feature = "cuda", feature = "vulkan"))]
fn span_on<S: super::device::Coordinate, const D: usize>(
    device: ropewalk::gpu::Device,
    args: &Spanned,
    points: &[[S; D]],
    phases: &mut Phases,
) -> ropewalk::Result<SpanningTree> {
    let points = phases.run("upload", || ropewalk::gpu::Points::new_periodic(points, args.periodic, device))?;
    let options = ropewalk::gpu::MinimumSpanningTree::new().min_samples(args.min_samples);
    phases.run("spanning tree", || options.run(&points)?.read())
}

/// Gives the outputs their names, and reports.
fn finish(
    args: &Spanned,
    read: &Read,
    more: &[(&str, String)],
    phases: &Phases,
    outputs: Outputs,
    targets: &[&Path],
) -> Result<String, Failure> {
    let committed = outputs.commit()?;
    let weights = match args.min_samples {
        1 => "lengths".into(),
        samples => format!("mutual reachability, min_samples {samples}"),
    };
    let mut lines = describe(&read.snapshot, args.periodic, read.outside);
    lines.extend([("weights", weights), ("edges", grouped(read.tree.edges().len() as u64))]);
    if let (Some(shortest), Some(longest)) = (read.tree.edges().first(), read.tree.edges().last()) {
        lines.push(("from, to", format!("{}, {}", short(shortest.weight()), short(longest.weight()))));
    }
    lines.extend_from_slice(more);
    let mut report = String::new();
    for (name, value) in lines {
        // Writing to a string does not fail.
        _ = writeln!(report, "{name:<16}{value}");
    }
    _ = write!(report, "\n{}{}", phases.table(), written(targets));
    Ok(committed.report(report))
}
