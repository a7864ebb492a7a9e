//! `ropewalk dbscan`: finds the clusters of DBSCAN.

use std::io::Write as _;
use std::path::Path;

use rayon::prelude::*;
use ropewalk::{Dbscan, Labels};
use ropewalk_io::Snapshot;
#[cfg(feature = "gpu")]
use ropewalk_table::{DevicePoints, on_device};

use super::args::Dbscan as Args;
use super::axis_names::with_unit;
use super::cluster_page::ClusterPage;
use super::clusters_picture;
use super::device::{Device, DeviceArg};
use super::failure::Failure;
use super::input;
use super::labelled::LabelsFile;
use super::outputs::{Outputs, plot_format};
use super::phases::Phases;
use super::summary::Summary;
use super::text::{counted, grouped, share, short};
use super::threads::start_threads;

pub fn run(args: &Args) -> Result<String, Failure> {
    start_threads(args.points.threads)?;
    let device = args.device.find()?;
    let targets: Vec<&Path> =
        [&args.out, &args.plot, &args.points.json].into_iter().flatten().map(AsRef::as_ref).collect();
    // Create the outputs first, so that a file that cannot be written is an error before hours of work.
    let mut outputs = Outputs::files(&targets, &[&args.points.file])?;
    let labels_file = LabelsFile::new(&args.out)?;
    let format = args.plot.as_ref().map(|plot| plot_format("--plot", plot)).transpose()?;
    let page = args.plot.as_ref().filter(|_| format == Some(None));
    let format = format.flatten();

    let mut phases = Phases::default();
    let input::PointsInput { mut snapshot, outside } = input::points(&args.points, &mut phases)?;
    let points = &snapshot.points;
    if format.is_some() {
        clusters_picture::check_dimension(&args.points.file, points)?;
    }
    let labels = match device {
        Device::Cpu => phases.run("find clusters", || ropewalk_table::dbscan(points, &on_host(args)))?,
        #[cfg(feature = "gpu")]
        Device::Gpu(device) => {
            let there = phases.run("upload", || DevicePoints::new(points, args.points.periodic, device))?;
            let dbscan = ropewalk::gpu::Dbscan::from(on_host(args));
            on_device!(DevicePoints, &there, points => phases.run("find clusters", || dbscan.run(points)?.read()))?
        }
    };
    let counts = Counts::new(&labels);
    if let Some(file) = &labels_file {
        phases.run("labels", || file.write(&mut outputs, &args.points.file, &mut snapshot, &labels, &[]))?;
    }
    let points = &snapshot.points;
    if let (Some(path), Some(format)) = (&args.plot, format) {
        phases.run("picture", || -> Result<(), Failure> {
            let shown = clusters_picture::shown(&snapshot, &args.points, counts.title(args, &snapshot), args.eps);
            let picture = clusters_picture::draw(points, &labels, &shown, format)?;
            outputs.write(path, |out| out.write_all(&picture))
        })?;
    }
    let mut summary = Summary::default();
    summary.describe(&snapshot, &args.points, outside);
    if args.device != DeviceArg::Cpu {
        summary.both("device", args.device.to_string(), args.device.to_string());
    }
    summary.both("eps", short(args.eps), args.eps);
    summary.both("min_samples", args.min_samples.to_string(), args.min_samples);
    summary.value("star", args.star);
    summary.both("clusters", grouped(counts.clusters), counts.clusters);
    summary.both("core", share(counts.core, counts.points), counts.core);
    let border = if args.star { "0; with --star they are noise".into() } else { share(counts.border, counts.points) };
    summary.both("border", border, if args.star { 0 } else { counts.border });
    summary.both("noise", share(counts.noise, counts.points), counts.noise);
    summary.both("largest", counted(counts.largest, "point"), counts.largest);
    if args.out.is_none() && args.plot.is_none() {
        summary.line(
            "written",
            "nothing; use --out LABELLED.csv or LABELS.npy for labels, --plot CLUSTERS.png for a picture",
        );
    }
    if let Some(path) = page {
        let title = counts.title(args, &snapshot);
        let (args, snapshot, labels) = (&args.points, &snapshot, &labels);
        let page = ClusterPage { args, snapshot, labels, title: &title, figures: vec![] };
        page.write(&mut outputs, path, &summary, &mut phases)?;
    }
    summary.close(&phases, outputs, &targets, args.points.json.as_ref())
}

pub fn on_host(args: &Args) -> Dbscan {
    Dbscan::new(args.eps, args.min_samples)
        .algorithm(args.algorithm.into())
        .star(args.star)
        .periodic(args.points.periodic)
}

/// The numbers of points of each kind.
struct Counts {
    points: u64,
    clusters: u64,
    core: u64,
    border: u64,
    noise: u64,
    largest: u64,
}

impl Counts {
    fn new(labels: &Labels) -> Self {
        let points = labels.as_slice().len();
        let core = (0..points).into_par_iter().filter(|&i| labels.is_core(i)).count();
        let noise = labels.n_noise();
        Self {
            points: points as u64,
            clusters: labels.n_clusters() as u64,
            core: core as u64,
            border: (points - core - noise) as u64,
            noise: noise as u64,
            largest: labels.sizes().into_iter().max().unwrap_or(0) as u64,
        }
    }

    /// Returns the two title lines of the picture.
    fn title(&self, args: &Args, snapshot: &Snapshot) -> [String; 2] {
        let clusters = counted(self.clusters, "cluster");
        let name = if args.star { "DBSCAN*" } else { "DBSCAN" };
        let place = args
            .points
            .periodic
            .map_or(String::new(), |side| format!(", periodic box of {}", with_unit(side, snapshot)));
        [
            format!("{name}: {}, {clusters}", counted(self.points, "point")),
            format!(
                "eps {}, min_samples {}{place}; {} core, {} border, {} noise",
                with_unit(args.eps, snapshot),
                args.min_samples,
                grouped(self.core),
                grouped(self.border),
                grouped(self.noise)
            ),
        ]
    }
}
