//! `ropewalk dbscan --mpi`.

use std::path::{Path, PathBuf};

use ropewalk::distributed::{Labels, Reduction};
use ropewalk_io::SharedNpy;
use ropewalk_table::{check_box_across, dbscan_across};

use super::{Rank, describe, read};
use crate::args::{Dbscan as Args, Points};
use crate::device::DeviceArg;
use crate::failure::Failure;
use crate::outputs::{Outputs, PointsFormat, written};
use crate::summary::Summary;
use crate::text::{grouped, share, short};
use crate::{dbscan, input, periodic};

/// Finds the clusters of the points of all ranks. Rank 0 returns the report.
pub fn run(args: &Args, rank: &Rank<'_>) -> Result<Option<String>, Failure> {
    let ranks = rank.ranks;
    let refused = [
        (args.plot.is_some(), "--plot"),
        (args.device != DeviceArg::Cpu, "--device"),
        (args.points.skip_missing, "--skip-missing"),
    ];
    if let Some((_, option)) = refused.into_iter().find(|(is_given, _)| *is_given) {
        return Err(rank.refuse(option));
    }
    let format = args.out.as_ref().map(|out| PointsFormat::new("--out", out)).transpose()?;
    if matches!(format, Some(PointsFormat::Table(_))) {
        return Err("--out: with --mpi the name must end in .npy".into());
    }
    let points = Points { file: PathBuf::new(), threads: None, json: None, ..args.points.clone() };
    rank.check_options(&Args { points, out: None, ..args.clone() })?;
    let json: Vec<_> = args.points.json.iter().map(AsRef::as_ref).collect();
    let outputs = if ranks.rank() == 0 {
        let mut outputs = Outputs::files(&json, &[&args.points.file])?;
        args.out.iter().try_for_each(|out| outputs.reserve(out))?;
        Some(outputs)
    } else {
        None
    };
    let mut phases = rank.phases();
    let mut part = read(&args.points.file, args.points.options(), rank, &mut phases)?;
    part.notes.extend(input::sky_note(&part.columns));
    let outside = match args.points.periodic {
        Some(side) => check_box_across(ranks, &part.points, side, part.box_size == Some(side))?,
        None => 0,
    };
    let own = part.points.len() as u64;
    let shared = args.out.as_ref().map(|out| SharedNpy::create::<i32>(ranks, out, own, None)).transpose()?;
    let labels = phases.run("find clusters", || {
        let options = dbscan::on_host(args);
        dbscan_across(ranks, &part.points, &options)
    })?;
    if let Some(shared) = shared {
        phases.run("labels", || -> Result<(), Failure> {
            shared.write(&narrow(&labels)?)?;
            Ok(shared.commit()?)
        })?;
    }

    let is_core = |i: &usize| labels.is_core(*i);
    let n = part.points.len();
    let mut counts =
        [(0..n).filter(is_core).count() as u64, labels.as_slice().iter().filter(|&&label| label < 0).count() as u64];
    ranks.all_reduce(&mut counts, Reduction::Sum)?;
    let ([core, noise], all) = (counts, part.total_rows());
    let mut summary = Summary::default();
    describe(&mut summary, &phases, rank)?;
    let Some(outputs) = outputs else { return Ok(None) };
    summary.both("points", grouped(all), all);
    summary.columns(&part.columns);
    summary.notes(&part.notes);
    if let Some(side) = args.points.periodic.filter(|_| outside > 0) {
        summary.both("wrapped", periodic::sentence(outside, side), outside);
    }
    summary.both("eps", short(args.eps), args.eps);
    summary.both("min_samples", args.min_samples.to_string(), args.min_samples);
    summary.value("star", args.star);
    summary.both("clusters", grouped(labels.n_clusters()), labels.n_clusters());
    summary.both("core", share(core, all), core);
    summary.both("border", share(all - core - noise, all), all - core - noise);
    summary.both("noise", share(noise, all), noise);
    if args.out.is_none() {
        summary.line("written", "nothing; use --out LABELS.npy for labels");
    }
    let report = summary.close(&phases, outputs, &json, args.points.json.as_ref())?;
    let also: Vec<&Path> = args.out.iter().map(AsRef::as_ref).collect();
    Ok(Some(if also.is_empty() { report } else { report + &written(&also) }))
}

/// Returns the labels as 32-bit integers, as in one process.
fn narrow(labels: &Labels) -> Result<Vec<i32>, Failure> {
    let all: Result<Vec<i32>, _> = labels.as_slice().iter().map(|&label| i32::try_from(label)).collect();
    all.map_err(|_| "more than 2^31 - 1 clusters; labels have 32 bits".into())
}
