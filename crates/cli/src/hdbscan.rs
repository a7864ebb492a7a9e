//! `ropewalk hdbscan`: finds the clusters of HDBSCAN*.

use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ropewalk::cluster::HdbscanClusters;
use ropewalk::{Error, Hdbscan};
use ropewalk_io::{AtomicFile, Snapshot};
use ropewalk_plot::PictureFormat;
use ropewalk_report::Figure;
#[cfg(feature = "gpu")]
use ropewalk_table::{DevicePoints, on_device};

use super::args::{Hdbscan as Args, Method};
use super::axis_names::with_unit;
use super::cluster_page::ClusterPage;
use super::clusters_picture;
use super::device::{Device, DeviceArg};
use super::failure::Failure;
use super::input;
use super::labelled::LabelsFile;
use super::outputs::{Column, Outputs, picture_format, plot_format, write_csv};
use super::phases::Phases;
use super::summary::Summary;
use super::text::{counted, grouped, share};
use super::threads::start_threads;

pub fn run(args: &Args) -> Result<String, Failure> {
    start_threads(args.points.threads)?;
    let device = args.device.find()?;
    let named = [&args.out, &args.probabilities, &args.outliers, &args.plot, &args.tree, &args.points.json];
    let targets: Vec<&Path> = named.into_iter().flatten().map(AsRef::as_ref).collect();
    // Create the outputs first, so that a file that cannot be written is an error before hours of work.
    let mut outputs = Outputs::files(&targets, &[&args.points.file])?;
    let labels_file = LabelsFile::new(&args.out)?;
    let probabilities_to = ColumnOutput::new("--probabilities", &args.probabilities)?;
    let outliers_to = ColumnOutput::new("--outliers", &args.outliers)?;
    let plotted = args.plot.as_ref().map(|plot| plot_format("--plot", plot)).transpose()?;
    let page = args.plot.as_ref().filter(|_| plotted == Some(None));
    let plotted = plotted.flatten();
    let format = args.tree.as_ref().map(|tree| picture_format("--tree", tree)).transpose()?;

    let mut phases = Phases::default();
    let input::PointsInput { mut snapshot, outside } = input::points(&args.points, &mut phases)?;
    let points = &snapshot.points;
    if plotted.is_some() {
        clusters_picture::check_dimension(&args.points.file, points)?;
    }
    let clusters = match device {
        Device::Cpu => phases.run("find clusters", || ropewalk_table::hdbscan(points, &hdbscan(args))),
        #[cfg(feature = "gpu")]
        Device::Gpu(device) => {
            let there = phases.run("upload", || DevicePoints::new(points, args.points.periodic, device))?;
            let hdbscan = ropewalk::gpu::Hdbscan::from(hdbscan(args));
            on_device!(DevicePoints, &there, points => phases.run("find clusters", || hdbscan.run(points)?.read()))
        }
    };
    let clusters = clusters.map_err(|error| with_option_name(&error))?;
    let labels = clusters.labels();
    phases.run("labels", || -> Result<(), Failure> {
        if let Some(file) = &labels_file {
            let scores = if file.is_table() { clusters.outlier_scores() } else { vec![] };
            let more = [("probability", clusters.probabilities(), 0.0), ("outlier_score", &scores[..], f64::NAN)];
            file.write(&mut outputs, &args.points.file, &mut snapshot, labels, &more)?;
        }
        let floats = |out: &mut AtomicFile, values: &[f64]| ropewalk_io::write_npy_f64_to(out, values);
        let of_rows = |values: &[f64], missing| input::of_rows(values, &snapshot.skipped, missing);
        probabilities_to.write(&mut outputs, "probability", || of_rows(clusters.probabilities(), 0.0), floats)?;
        outliers_to.write(&mut outputs, "outlier", || of_rows(&clusters.outlier_scores(), f64::NAN), floats)
    })?;
    let points = &snapshot.points;
    let title = Title::new(args, &clusters, &snapshot);
    if let (Some(path), Some(format)) = (&args.plot, plotted) {
        phases.run("picture", || -> Result<(), Failure> {
            let lines = [title.points.clone(), title.options.clone()];
            let shown = clusters_picture::shown(&snapshot, &args.points, lines, 0.0);
            let picture = clusters_picture::draw(points, labels, &shown, format)?;
            outputs.write(path, |out| out.write_all(&picture))
        })?;
    }
    if let (Some(path), Some(format)) = (&args.tree, format) {
        phases.run("tree", || -> Result<(), Failure> {
            let picture = ropewalk_plot::condensed_tree(&clusters, &title.points, format)?;
            outputs.write(path, |out| out.write_all(&picture))
        })?;
    }
    let n = points.len() as u64;
    let (noise, largest) = (labels.n_noise() as u64, labels.sizes().into_iter().max().unwrap_or(0));
    let mut summary = Summary::default();
    summary.describe(&snapshot, &args.points, outside);
    if args.device != DeviceArg::Cpu {
        summary.both("device", args.device.to_string(), args.device.to_string());
    }
    let (size, samples) = (args.min_cluster_size, hdbscan(args).samples(points.len()));
    summary.line("cluster size", format!("at least {}", grouped(size as u64)));
    summary.value("min_cluster_size", size);
    if size > points.len() {
        let points = grouped(n);
        summary.line("note", format!("--min-cluster-size is more than the {points} points, so that all are noise"));
    }
    summary.both("min_samples", grouped(samples as u64), samples);
    summary.both("clusters", grouped(labels.n_clusters() as u64), labels.n_clusters());
    summary.both("noise", share(noise, n), noise);
    summary.both("largest", counted(largest as u64, "point"), largest);
    if targets.iter().all(|target| args.points.json.as_deref() == Some(*target)) {
        summary.line(
            "written",
            "nothing; use --out LABELLED.csv or LABELS.npy for labels, --plot CLUSTERS.png for a picture",
        );
    }
    if let Some(path) = page {
        let tree = ropewalk_plot::condensed_tree(&clusters, &title.points, PictureFormat::Svg)?;
        let figures = vec![Figure { caption: "Condensed tree of the clusters".into(), image: tree }];
        let title = [title.points, title.options];
        let page = ClusterPage { args: &args.points, snapshot: &snapshot, labels, title: &title, figures };
        page.write(&mut outputs, path, &summary, &mut phases)?;
    }
    summary.close(&phases, outputs, &targets, args.points.json.as_ref())
}

fn hdbscan(args: &Args) -> Hdbscan {
    let mut hdbscan = Hdbscan::new(args.min_cluster_size)
        .cluster_selection(args.method.into())
        .cluster_selection_epsilon(args.epsilon)
        .allow_single_cluster(args.allow_single)
        .alpha(args.alpha)
        .ties(args.ties.into())
        .periodic(args.points.periodic);
    if let Some(samples) = args.min_samples {
        hdbscan = hdbscan.min_samples(samples);
    }
    if let Some(size) = args.max_cluster_size {
        hdbscan = hdbscan.max_cluster_size(size);
    }
    hdbscan
}

/// Returns the error with the command-line name of its parameter.
fn with_option_name(error: &Error) -> Failure {
    match error.parameter() {
        Some(name @ "cluster_selection_epsilon") => error.to_string().replacen(name, "--epsilon", 1).into(),
        _ => error.to_string().replace("Ties::Together", "--ties together").into(),
    }
}

/// The file and format of a column; `None` if it is not written.
struct ColumnOutput<'a>(Option<(&'a PathBuf, Column)>);

impl<'a> ColumnOutput<'a> {
    fn new(option: &str, path: &'a Option<PathBuf>) -> Result<Self, Failure> {
        Ok(Self(path.as_ref().map(|path| Column::new(option, path).map(|column| (path, column))).transpose()?))
    }

    /// Writes the values. They are computed only if there is a file.
    fn write<T: std::fmt::Debug>(
        &self,
        outputs: &mut Outputs,
        name: &str,
        values: impl FnOnce() -> Vec<T>,
        npy: impl FnOnce(&mut AtomicFile, &[T]) -> ropewalk::Result<()>,
    ) -> Result<(), Failure> {
        let Some((path, column)) = self.0 else { return Ok(()) };
        let values = values();
        outputs.write(path, |out| match column {
            Column::Npy => npy(out, &values).map_err(Failure::from),
            Column::Csv => write_csv(out, &[name], &values),
        })
    }
}

/// The title lines of the pictures.
struct Title {
    points: String,
    options: String,
}

impl Title {
    fn new(args: &Args, clusters: &HdbscanClusters, snapshot: &Snapshot) -> Self {
        let labels = clusters.labels();
        let found = counted(labels.n_clusters() as u64, "cluster");
        let points = counted(labels.as_slice().len() as u64, "point");
        let samples = hdbscan(args).samples(labels.as_slice().len());
        let mut options = format!("min_cluster_size {}, min_samples {samples}", args.min_cluster_size);
        if args.method == Method::Leaf {
            options += ", leaves";
        }
        if args.epsilon > 0.0 {
            _ = write!(options, ", epsilon {}", with_unit(args.epsilon, snapshot));
        }
        if let Some(side) = args.points.periodic {
            _ = write!(options, ", periodic box of {}", with_unit(side, snapshot));
        }
        _ = write!(options, "; {} noise", grouped(labels.n_noise() as u64));
        Self { points: format!("HDBSCAN*: {points}, {found}"), options }
    }
}
