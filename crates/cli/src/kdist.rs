//! `ropewalk kdist`: prints and draws the distances to k-th neighbours.

use std::io::Write as _;
use std::path::Path;

use ropewalk_table::knee;

use super::args::Kdist as Args;
use super::axis_names::unit_of;
use super::failure::Failure;
use super::input;
use super::outputs::{Column, Outputs, picture_format, write_csv};
use super::phases::Phases;
use super::summary::Summary;
use super::text::{counted, percent, rounded_up, short};
use super::threads::start_threads;

/// The percentiles that are printed.
const QUANTILES: [usize; 10] = [1, 5, 10, 25, 50, 75, 90, 95, 99, 100];
pub fn run(args: &Args) -> Result<String, Failure> {
    start_threads(args.points.threads)?;
    if args.k == 0 {
        return Err("--k is 0; it must be at least 1".into());
    }
    let targets: Vec<&Path> =
        [&args.out, &args.plot, &args.points.json].into_iter().flatten().map(AsRef::as_ref).collect();
    let mut outputs = Outputs::files(&targets, &[&args.points.file])?;
    let column = args.out.as_ref().map(|out| Column::new("--out", out)).transpose()?;
    let format = args.plot.as_ref().map(|plot| picture_format("--plot", plot)).transpose()?;

    let mut phases = Phases::default();
    let input::PointsInput { snapshot, outside } = input::points(&args.points, &mut phases)?;
    let (points, n) = (&snapshot.points, snapshot.points.len());
    if n <= args.k {
        let (file, k, others) = (args.points.file.display(), args.k, n.saturating_sub(1));
        return Err(format!("{file}: --k is {k}; each of {n} points has only {others} others").into());
    }
    let sorted = phases.run("neighbours", || ropewalk_table::k_distances(points, args.k, args.points.periodic))?;
    let knee = knee(&sorted);
    let advice = knee.and_then(|[_, knee]| sorted.get(knee)).map(|&eps| {
        // Rounded up, so that the point at the knee is core with the printed eps. Points slightly above may be core,
        // too.
        let eps = rounded_up(eps);
        let core = sorted.partition_point(|&distance| distance <= eps);
        (short(eps), percent(core as f64, n as f64))
    });
    let min_samples = args.k.saturating_add(1);
    if let (Some(path), Some(column)) = (&args.out, column) {
        phases.run("distances", || {
            outputs.write(path, |out| match column {
                Column::Npy => ropewalk_io::write_npy_f64_to(out, &sorted).map_err(Failure::from),
                Column::Csv => write_csv(out, &["distance"], &sorted),
            })
        })?;
    }
    if let (Some(path), Some(format)) = (&args.plot, format) {
        phases.run("picture", || -> Result<(), Failure> {
            let found = match &advice {
                Some((_, core)) => format!("; at the knee, {core} are core with min_samples = {min_samples}"),
                None => "; no clear knee".into(),
            };
            let title = format!("{}{found}", counted(n as u64, "point"));
            let unit = unit_of(&snapshot).unwrap_or_default();
            let picture = ropewalk_plot::k_distances(&sorted, args.k, knee, &title, &unit, format)?;
            outputs.write(path, |out| out.write_all(&picture))
        })?;
    }
    let mut summary = Summary::default();
    summary.describe(&snapshot, &args.points, outside);
    summary.both("k", format!("{}, for min_samples {min_samples}", args.k), args.k);
    summary.value("min_samples", min_samples);
    match &advice {
        Some((eps, core)) => {
            summary.line("eps to try", format!("{eps}, the knee: {core} of the points are core"));
            summary.line("", "a starting point: look at the curve (--plot)");
        }
        None => summary.line("eps to try", "none: no clear knee in the curve"),
    }
    summary.value("eps", advice.as_ref().and_then(|(eps, _)| eps.parse::<f64>().ok()));
    summary.text.push('\n');
    summary.line("points", "with a distance of at most");
    for percent in QUANTILES {
        let distance = sorted.get((n * percent).div_ceil(100) - 1).copied().unwrap_or(0.0);
        summary.line(&format!("{percent:>3}%"), short(rounded_up(distance)));
        summary.value(&format!("distance_{percent}_percent"), distance);
    }
    summary.close(&phases, outputs, &targets, args.points.json.as_ref())
}
