//! `ropewalk kdist`.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use rayon::prelude::*;
use ropewalk::io::ReadOptions;
use ropewalk::{Bvh, Nearest, Scalar, plot};

use super::args::Kdist as Args;
use super::dimensions::{compiled, with_compiled_rows, with_rows};
use super::outputs::Outputs;
use super::phases::Phases;
use super::{Failure, describe, grouped, picture_format, short, start_threads};

/// Shares of the points, in percent, whose distance is told.
const QUANTILES: [usize; 10] = [1, 5, 10, 25, 50, 75, 90, 95, 99, 100];
/// Where the chord begins, in percent of the distances that are not zero.
const CHORD: usize = 5;
/// How far below the chord a knee is at least, in parts of the chord's height. Moons in noise are 0.58 below, blobs 0.41;
/// galaxies, whose density knows no gap, 0.14: what the formula finds there is the emptiest voids.
const LEAST_DEPTH: f64 = 0.2;

pub fn run(args: &Args) -> Result<String, Failure> {
    start_threads(args.threads)?;
    let format = args.plot.as_ref().map(|plot| picture_format(plot, &["png", "svg"])).transpose()?;
    if args.k == 0 {
        return Err("--k is 0; it must be at least 1".into());
    }
    let targets: Vec<&Path> = [&args.out, &args.plot].into_iter().flatten().map(AsRef::as_ref).collect();
    let outputs = Outputs::files(&targets, &args.file)?;

    let mut phases = Phases::default();
    let snapshot = phases.run("read", || ropewalk::io::read(&args.file, &ReadOptions::default()))?;
    let (points, n) = (&snapshot.points, snapshot.points.len());
    if n <= args.k {
        let (file, k, others) = (args.file.display(), args.k, n.saturating_sub(1));
        return Err(format!("{file}: --k is {k}, but of {n} points each has only {others} others").into());
    }
    let sorted = phases.run("neighbours", || {
        let points = compiled(points, args.periodic)?;
        with_compiled_rows!(&*points, rows => distances(rows, args.k, args.periodic).map_err(Failure::from))
            .unwrap_or_else(|| Err(format!("points have {} dimensions; there may be 1 to 10", points.dim()).into()))
    })?;
    let knee = knee(&sorted);
    let advice = knee.and_then(|[_, knee]| sorted.get(knee)).map(|&eps| {
        // Above the knee some may have its distance, too.
        let core = sorted.partition_point(|&distance| distance <= eps);
        (short(eps), format!("{:.1}%", 100.0 * core as f64 / n as f64))
    });
    let min_pts = args.k.saturating_add(1);
    if let Some(path) = &args.out {
        phases.run("distances", || outputs.write(path, |path| ropewalk::io::write_npy_f64(path, &sorted)))?;
    }
    if let (Some(path), Some(format)) = (&args.plot, format) {
        phases.run("picture", || -> Result<(), Failure> {
            let found = match &advice {
                Some((_, core)) => format!("; at the knee, {core} are core with min_pts = {min_pts}"),
                None => "; no clear knee".into(),
            };
            let chart = plot::k_distances(&sorted, args.k, knee, &format!("{} points{found}", grouped(n as u64)));
            let picture = if format == "svg" { chart.svg().into_bytes() } else { chart.png()? };
            outputs.write(path, |path| fs::write(path, picture))
        })?;
    }
    outputs.commit()?;

    let mut report = String::new();
    for (name, value) in describe(points, snapshot.box_size, args.periodic) {
        // Writing to a string does not fail.
        _ = writeln!(report, "{name:<16}{value}");
    }
    _ = writeln!(report, "{:<16}{}, for min_pts {min_pts}", "k", args.k);
    match &advice {
        Some((eps, core)) => {
            _ = writeln!(report, "{:<16}{eps}, the knee: {core} of the points are core", "eps to try");
            _ = writeln!(report, "{:<16}a starting point, not an answer; look at the curve (--plot)", "");
        }
        None => _ = writeln!(report, "{:<16}none: the curve has no clear knee", "eps to try"),
    }
    _ = writeln!(report, "\n{:<16}with a distance of at most", "points");
    for percent in QUANTILES {
        let distance = sorted.get((n * percent).div_ceil(100) - 1).copied().unwrap_or(0.0);
        _ = writeln!(report, "{:<16}{}", format!("{percent:>3}%"), short(distance));
    }
    _ = write!(report, "\n{}", phases.table());
    if !targets.is_empty() {
        let names: Vec<String> = targets.iter().map(|target| target.display().to_string()).collect();
        _ = writeln!(report, "\nwritten: {}", names.join(", "));
    }
    Ok(report)
}

/// How far the k-th neighbour of each point is, ascending.
fn distances<S: Scalar, const D: usize>(
    points: &[[S; D]],
    k: usize,
    periodic: Option<f64>,
) -> ropewalk::Result<Vec<f64>> {
    let tree = match periodic {
        Some(side) => Bvh::build_periodic(points, side)?,
        None => Bvh::build(points)?,
    };
    let lists = tree.try_nearest_neighbors(Nearest::new(k).excluding_self())?;
    // Anew from the coordinates: squares of what an `f32` can hold may be more than it can, or less.
    let distance =
        |i: usize| lists.of(i).last().map(|near| between(&points[i], &points[near.index as usize], periodic));
    let mut sorted: Vec<f64> = (0..points.len()).into_par_iter().filter_map(distance).collect();
    sorted.par_sort_unstable_by(f64::total_cmp);
    Ok(sorted)
}

/// The distance of two points that may lie outside of the periodic box.
fn between<S: Scalar, const D: usize>(a: &[S; D], b: &[S; D], periodic: Option<f64>) -> f64 {
    let mut sum = 0.0;
    for k in 0..D {
        let d = (Into::<f64>::into(a[k]) - Into::<f64>::into(b[k])).abs();
        let d = periodic.map_or(d, |side| {
            let inside = d.rem_euclid(side);
            inside.min(side - inside)
        });
        sum += d * d;
    }
    sum.sqrt()
}

/// Where the chord of the ascending distances begins and which is the farthest below it, on a logarithmic axis; none if the
/// curve hardly bends.
fn knee(sorted: &[f64]) -> Option<[usize; 2]> {
    let zeros = sorted.partition_point(|&distance| distance <= 0.0);
    let start = zeros + (sorted.len() - zeros) * CHORD / 100;
    let end = sorted.len().checked_sub(1)?;
    let (from, to) = (sorted.get(start)?.ln(), sorted.get(end)?.ln());
    let run = end.checked_sub(start).filter(|&run| run > 0)? as f64;
    let depth = |rank: usize| from + (to - from) * (rank - start) as f64 / run - sorted[rank].ln();
    // The first of equals: chunks are compared in order.
    let deepest = (start..=end).into_par_iter().map(|rank| (depth(rank), rank));
    let (depth, rank) = deepest.reduce_with(|a, b| if b.0 > a.0 || (b.0 == a.0 && b.1 < a.1) { b } else { a })?;
    (depth > LEAST_DEPTH * (to - from)).then_some([start, rank])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_is_where_the_curve_turns() {
        let bend: Vec<f64> = (0..100).map(|i| if i < 90 { 1.0 } else { 1.0 + f64::from(i - 89) }).collect();
        assert_eq!(knee(&bend), Some([5, 89]));
        let with_copies: Vec<f64> = [0.0; 50].into_iter().chain(bend).collect();
        assert_eq!(knee(&with_copies), Some([55, 139]));
        for straight in [vec![], vec![0.0; 9], vec![3.0], vec![2.0; 40], (1..50).map(|i| 1.1f64.powi(i)).collect()] {
            assert_eq!(knee(&straight), None);
        }
        let hollow: Vec<f64> = (1..50).map(|i| f64::from(i).sqrt()).collect();
        assert_eq!(knee(&hollow), None);
    }

    #[test]
    fn distances_around_the_boundary() {
        let points = [[0.25f32, 0.0], [9.75, 0.0], [20.5, 0.0], [5.0, 5.0]];
        assert_eq!(distances(&points, 1, Some(10.0)).unwrap()[..3], [0.25, 0.25, 0.5]);
        let far = distances(&[[-1e30f32], [1e30], [1e-30]], 1, None).unwrap();
        assert!(far.iter().all(|&x| (x / 1e30 - 1.0).abs() < 1e-6), "{far:?}");
        assert!(distances(&[[0.0f64], [f64::NAN]], 1, None).is_err());
    }
}
