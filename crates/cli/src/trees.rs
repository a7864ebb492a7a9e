//! `ropewalk emst` and `ropewalk linkage`: write spanning trees and dendrograms.

use std::io::Write as _;
use std::path::Path;

use ropewalk::MinimumSpanningTree;
use ropewalk::cluster::{Dendrogram, SpanningTree};
use ropewalk_io::{Points, Snapshot, Table};
#[cfg(feature = "gpu")]
use ropewalk_table::{DevicePoints, on_device};

use super::args::{Emst, Linkage, TreeArgs};
use super::device::{Device, DeviceArg};
use super::failure::Failure;
use super::input;
use super::outputs::{Column, Outputs, write_csv};
use super::phases::Phases;
use super::summary::Summary;
use super::text::{grouped, short};
use super::threads::start_threads;

pub fn emst(args: &Emst) -> Result<String, Failure> {
    args.spanned.points.refuse_skipping("emst")?;
    start_threads(args.spanned.points.threads)?;
    let device = args.device.find()?;
    let targets: Vec<&Path> = [Some(&args.out), args.weights.as_ref(), args.spanned.points.json.as_ref()]
        .into_iter()
        .flatten()
        .map(AsRef::as_ref)
        .collect();
    // Create the outputs first, so that a file that cannot be written is an error before hours of work.
    let mut outputs = Outputs::files(&targets, &[&args.spanned.points.file])?;
    let edges = Column::new("--out", &args.out)?;
    let weights = args.weights.as_ref().map(|path| Column::new("--weights", path)).transpose()?;

    let mut phases = Phases::default();
    let read = PointsAndTree::new(&args.spanned, device, &mut phases)?;
    phases.run("edges", || -> Result<(), Failure> {
        let ends: Vec<u32> = read.tree.edges().iter().flat_map(|edge| [edge.low, edge.high]).collect();
        outputs.write(&args.out, |out| match edges {
            Column::Npy => Ok::<_, Failure>(ropewalk_io::write_npy_u32_to(out, &ends, 2)?),
            Column::Csv => write_csv(out, &["low", "high"], &ends),
        })?;
        if let (Some(path), Some(column)) = (&args.weights, weights) {
            let weights: Vec<f64> = read.tree.edges().iter().map(|edge| edge.weight()).collect();
            outputs.write(path, |out| match column {
                Column::Npy => Ok::<_, Failure>(ropewalk_io::write_npy_f64_to(out, &weights)?),
                Column::Csv => write_csv(out, &["weight"], &weights),
            })?;
        }
        Ok(())
    })?;
    // Not `sum()`, which is -0 for an empty list.
    let sum = read.tree.edges().iter().fold(0.0, |sum, edge| sum + edge.weight());
    let mut summary = about(&args.spanned, &read);
    summary.both("sum of weights", short(sum), sum);
    if args.device != DeviceArg::Cpu {
        summary.both("device", args.device.to_string(), args.device.to_string());
    }
    summary.close(&phases, outputs, &targets, args.spanned.points.json.as_ref())
}

pub fn linkage(args: &Linkage) -> Result<String, Failure> {
    args.spanned.points.refuse_skipping("linkage")?;
    start_threads(args.spanned.points.threads)?;
    let targets: Vec<&Path> =
        [Some(&args.out), args.spanned.points.json.as_ref()].into_iter().flatten().map(AsRef::as_ref).collect();
    let mut outputs = Outputs::files(&targets, &[&args.spanned.points.file])?;
    let column = Column::new("--out", &args.out)?;

    let mut phases = Phases::default();
    let read = PointsAndTree::new(&args.spanned, Device::Cpu, &mut phases)?;
    phases.run("merges", || {
        let dendrogram = Dendrogram::new(&read.tree);
        let row = |merge: &ropewalk::cluster::Merge| {
            let [a, b] = merge.clusters.map(f64::from);
            [a, b, merge.height, f64::from(merge.size)]
        };
        outputs.write(&args.out, |out| match column {
            Column::Npy => {
                let rows: Vec<f64> = dendrogram.merges().iter().flat_map(row).collect();
                Ok::<_, Failure>(ropewalk_io::write_npy_to(out, &Points::F64(Table::new(4, rows)?))?)
            }
            Column::Csv => {
                writeln!(out, "a,b,height,size")?;
                for merge in dendrogram.merges() {
                    let [a, b] = merge.clusters;
                    writeln!(out, "{a},{b},{:?},{}", merge.height, merge.size)?;
                }
                Ok(())
            }
        })
    })?;
    about(&args.spanned, &read).close(&phases, outputs, &targets, args.spanned.points.json.as_ref())
}

/// The points of a file, and their spanning tree.
struct PointsAndTree {
    snapshot: Snapshot,
    /// The number of points outside of the periodic box.
    outside: u64,
    tree: SpanningTree,
}

impl PointsAndTree {
    fn new(args: &TreeArgs, device: Device, phases: &mut Phases) -> Result<Self, Failure> {
        let input::PointsInput { snapshot, outside } = input::points(&args.points, phases)?;
        let points = &snapshot.points;
        let tree = match device {
            Device::Cpu => {
                let options = MinimumSpanningTree::new().min_samples(args.min_samples).periodic(args.points.periodic);
                phases.run("spanning tree", || ropewalk_table::minimum_spanning_tree(points, &options))?
            }
            #[cfg(feature = "gpu")]
            Device::Gpu(device) => {
                let there = phases.run("upload", || DevicePoints::new(points, args.points.periodic, device))?;
                let options = ropewalk::gpu::MinimumSpanningTree::new().min_samples(args.min_samples);
                on_device!(DevicePoints, &there, points => phases.run("spanning tree", || options.run(points)?.read()))?
            }
        };
        Ok(Self { snapshot, outside, tree })
    }
}

/// Returns the part of the summary that both commands share.
fn about(args: &TreeArgs, read: &PointsAndTree) -> Summary {
    let mut summary = Summary::default();
    summary.describe(&read.snapshot, &args.points, read.outside);
    let weights = match args.min_samples {
        1 => "lengths".into(),
        samples => format!("mutual reachability, min_samples {samples}"),
    };
    summary.both("weights", weights.clone(), weights);
    let edges = read.tree.edges();
    summary.both("edges", grouped(edges.len() as u64), edges.len());
    if let (Some(shortest), Some(longest)) = (edges.first(), edges.last()) {
        summary.line("from, to", format!("{}, {}", short(shortest.weight()), short(longest.weight())));
        summary.value("shortest", shortest.weight());
        summary.value("longest", longest.weight());
    }
    summary
}
