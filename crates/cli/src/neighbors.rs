//! `ropewalk knn` and `ropewalk pairs`: write neighbours and pairs of points.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use ropewalk::Nearest;
use ropewalk::search::Neighbor;

use super::args::{Knn, Pairs};
use super::failure::Failure;
use super::input;
use super::outputs::{Column, Outputs, write_csv};
use super::phases::Phases;
use super::summary::Summary;
use super::text::{grouped, short};
use super::threads::start_threads;

pub fn knn(args: &Knn) -> Result<String, Failure> {
    args.points.refuse_skipping("knn")?;
    start_threads(args.points.threads)?;
    let targets = targets([Some(&args.out), args.distances.as_ref(), args.points.json.as_ref()]);
    let inputs: Vec<&Path> =
        [Some(&args.points.file), args.queries.as_ref()].into_iter().flatten().map(AsRef::as_ref).collect();
    let mut outputs = Outputs::files(&targets, &inputs)?;
    let out = Column::new("--out", &args.out)?;
    let distances = args.distances.as_ref().map(|path| Column::new("--distances", path)).transpose()?;

    let mut phases = Phases::default();
    let input::PointsInput { mut snapshot, outside } = input::points(&args.points, &mut phases)?;
    let queries = match &args.queries {
        Some(file) => {
            let queries = input::points_of(file, &args.points, &mut phases)?;
            snapshot.notes.extend(input::notes_of("queries", &queries.snapshot.notes));
            Some((queries.snapshot.points, queries.outside))
        }
        None => None,
    };
    let points = &snapshot.points;
    let (k, others) = (args.k as usize, points.len().saturating_sub(usize::from(queries.is_none())));
    if others < k && !points.is_empty() {
        let file = args.points.file.display();
        return Err(
            format!("{file}: --k is {k}, but of {} points there are only {others} to find", points.len()).into()
        );
    }
    let lists = phases.run("neighbours", || match &queries {
        Some((queries, _)) => ropewalk_table::nearest_to(queries, points, k, args.points.periodic),
        None => ropewalk_table::nearest_neighbors(points, Nearest::new(k).excluding_self(), args.points.periodic),
    })?;
    let all = lists.values();
    phases.run("write", || -> Result<(), Failure> {
        outputs.write(&args.out, |file| match out {
            Column::Npy => {
                let indices: Vec<u32> = all.iter().map(|near| near.index).collect();
                Ok::<_, Failure>(ropewalk_io::write_npy_u32_to(file, &indices, k)?)
            }
            Column::Csv => {
                writeln!(file, "point,neighbor,distance")?;
                for (point, list) in lists.iter().enumerate() {
                    for near in list {
                        writeln!(file, "{point},{},{:?}", near.index, near.distance())?;
                    }
                }
                Ok(())
            }
        })?;
        let Some((path, column)) = args.distances.as_ref().zip(distances) else { return Ok(()) };
        let distances: Vec<f64> = all.iter().map(|near| near.distance()).collect();
        write_distances(&mut outputs, path, column, Some(k), distances)
    })?;
    let mut summary = Summary::default();
    summary.describe(&snapshot, &args.points, outside);
    if let Some((queries, outside)) = &queries {
        summary.both("queries", grouped(queries.len() as u64), queries.len());
        summary.wrapped("queries wrapped", *outside, &args.points);
    }
    summary.both("k", k.to_string(), k);
    let farthest = all.iter().map(Neighbor::distance).fold(0.0, f64::max);
    summary.both("farthest", short(farthest), farthest);
    summary.close(&phases, outputs, &targets, args.points.json.as_ref())
}

pub fn pairs(args: &Pairs) -> Result<String, Failure> {
    args.points.refuse_skipping("pairs")?;
    start_threads(args.points.threads)?;
    let targets = targets([Some(&args.out), args.distances.as_ref(), args.points.json.as_ref()]);
    let mut outputs = Outputs::files(&targets, &[&args.points.file])?;
    let out = Column::new("--out", &args.out)?;
    let distances = args.distances.as_ref().map(|path| Column::new("--distances", path)).transpose()?;

    let mut phases = Phases::default();
    let input::PointsInput { snapshot, outside } = input::points(&args.points, &mut phases)?;
    let points = &snapshot.points;
    let found = phases.run("pairs", || ropewalk_table::pairs(points, args.radius, args.points.periodic))?;
    let lengths: Vec<f64> =
        found.distances2.iter().map(|&distance2| ropewalk::geometry::distance_from_square(distance2)).collect();
    phases.run("write", || -> Result<(), Failure> {
        outputs.write(&args.out, |file| match out {
            Column::Npy => Ok::<_, Failure>(ropewalk_io::write_npy_u32_to(file, found.indices.as_slice(), 2)?),
            Column::Csv => {
                writeln!(file, "low,high,distance")?;
                let rows = found.indices.rows::<2>().unwrap_or_default();
                for ([low, high], length) in rows.iter().zip(&lengths) {
                    writeln!(file, "{low},{high},{length:?}")?;
                }
                Ok(())
            }
        })?;
        let Some((path, column)) = args.distances.as_ref().zip(distances) else { return Ok(()) };
        write_distances(&mut outputs, path, column, None, lengths)
    })?;
    let mut summary = Summary::default();
    summary.describe(&snapshot, &args.points, outside);
    summary.both("radius", short(args.radius), args.radius);
    let pairs = found.indices.len();
    summary.both("pairs", grouped(pairs as u64), pairs);
    summary.close(&phases, outputs, &targets, args.points.json.as_ref())
}

fn targets(named: [Option<&PathBuf>; 3]) -> Vec<&Path> {
    named.into_iter().flatten().map(AsRef::as_ref).collect()
}

/// Writes distances: an array with rows of `width` values, or a one-dimensional array if `width` is `None`.
fn write_distances(
    outputs: &mut Outputs,
    path: &Path,
    column: Column,
    width: Option<usize>,
    distances: Vec<f64>,
) -> Result<(), Failure> {
    outputs.write(path, |file| match (column, width) {
        (Column::Npy, None) => Ok::<_, Failure>(ropewalk_io::write_npy_f64_to(file, &distances)?),
        (Column::Npy, Some(width)) => Ok(ropewalk_io::write_npy_f64_rows_to(file, &distances, width)?),
        (Column::Csv, _) => write_csv(file, &["distance"], &distances),
    })
}
