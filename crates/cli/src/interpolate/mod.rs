//! `ropewalk interpolate`: interpolates values from sources to targets.

use std::path::Path;

use ropewalk::interpolate::{InverseDistance, MovingLeastSquares, SmoothingKernel, Sph};
use ropewalk_io::Fields;
use ropewalk_table::{Interpolation, interpolator};

use super::args::{Interpolate as Args, InterpolationMethod as Method};
use super::failure::Failure;
use super::input;
use super::outputs::{Column, Outputs, write_csv};
use super::phases::Phases;
use super::summary::Summary;
use super::text::{grouped, short};
use super::threads::start_threads;

/// The default degree of mls.
const DEGREE: usize = 2;

pub fn run(args: &Args) -> Result<String, Failure> {
    check(args)?;
    args.points.refuse_skipping("interpolate")?;
    start_threads(args.points.threads)?;
    let targets: Vec<&Path> =
        [Some(&args.out), args.points.json.as_ref()].into_iter().flatten().map(AsRef::as_ref).collect();
    let mut outputs = Outputs::files(&targets, &[&args.points.file, &args.values, &args.targets])?;
    let out = Column::new("--out", &args.out)?;

    let mut phases = Phases::default();
    let input::PointsInput { mut snapshot, outside } = input::points(&args.points, &mut phases)?;
    let fields = input::fields(&args.values, &args.fields, snapshot.points.len())?;
    let targets_read = input::points_of(&args.targets, &args.points, &mut phases)?;
    snapshot.notes.extend(input::notes_of("fields", &fields.notes));
    snapshot.notes.extend(input::notes_of("targets", &targets_read.snapshot.notes));
    let places = targets_read.snapshot.points;
    let prepared = phases.run("coefficients", || interpolator(&method(args), &snapshot.points, &places))?;
    let values = phases
        .run("values", || prepared.apply_rows(&fields.values, fields.columns))
        .map_err(|error| of_value(error, &args.values, &fields))?;
    phases.run("write", || {
        outputs.write(&args.out, |file| match out {
            Column::Npy if fields.columns == 1 => Ok::<_, Failure>(ropewalk_io::write_npy_f64_to(file, &values)?),
            Column::Npy => Ok(ropewalk_io::write_npy_f64_rows_to(file, &values, fields.columns)?),
            Column::Csv => write_csv(file, &fields.names.iter().map(String::as_str).collect::<Vec<_>>(), &values),
        })
    })?;
    let mut summary = Summary::default();
    summary.describe(&snapshot, &args.points, outside);
    summary.both("targets", grouped(places.len() as u64), places.len());
    summary.wrapped("targets wrapped", targets_read.outside, &args.points);
    summary.line("fields", format!("{}: {}", fields.columns, listed(&fields.names)));
    summary.value("fields", fields.columns);
    summary.value("field_names", fields.names);
    if let Some(radius) = args.radius {
        summary.both("radius", short(radius), radius);
    }
    if args.method == Method::Mls {
        let degree = args.degree.unwrap_or(DEGREE);
        summary.both("degree", degree.to_string(), degree);
        let lower = prepared.n_lower();
        summary.both("lower degree", format!("{} targets", grouped(lower as u64)), lower);
    }
    let alone = prepared.n_without_neighbors();
    let whose = if args.method == Method::Scatter { "sources" } else { "targets" };
    summary.both("no neighbours", format!("{} {whose}", grouped(alone as u64)), alone);
    summary.close(&phases, outputs, &targets, args.points.json.as_ref())
}

/// Returns an error about a source with the name of the field whose value there is not finite, if there is one.
fn of_value(error: ropewalk::Error, path: &Path, fields: &Fields) -> Failure {
    let row = error.index().and_then(|source| fields.values.chunks(fields.columns).nth(source));
    match row.and_then(|row| row.iter().zip(&fields.names).find(|(value, _)| !value.is_finite())) {
        Some((_, name)) => format!("{}: the field {name}: {error}", path.display()).into(),
        None => error.into(),
    }
}

/// Refuses options of other methods.
fn check(args: &Args) -> Result<(), Failure> {
    let (is_mls, is_idw) = (args.method == Method::Mls, args.method == Method::Idw);
    let is_scatter = args.method == Method::Scatter;
    for (is_given, is_used, name, methods) in [
        (args.degree.is_some(), is_mls, "degree", "mls"),
        (args.weight.is_some(), is_mls, "weight", "mls"),
        (args.kernel.is_some(), !is_mls && !is_idw, "kernel", "sph or scatter"),
        (args.power.is_some(), is_idw, "power", "idw"),
        (args.fallback.is_some(), !is_scatter, "fallback", "mls, sph or idw"),
    ] {
        if is_given && !is_used {
            return Err(format!("--{name} requires --method {methods}").into());
        }
    }
    Ok(())
}

fn method(args: &Args) -> Interpolation {
    let (k, size) = (args.k.map(|k| k as usize), args.points.periodic);
    let fallback = args.fallback.map(Into::into).unwrap_or_default();
    let sph = || Sph::new(args.kernel.map_or(SmoothingKernel::CubicSpline, Into::into));
    // The option types have the same methods, but no common trait.
    macro_rules! with_reach {
        ($options:expr) => {{
            let options = $options.fallback(fallback).periodic(size);
            match (k, args.radius) {
                (_, Some(radius)) => options.radius(radius),
                (Some(k), None) => options.neighbors(k),
                (None, None) => options,
            }
        }};
    }
    match args.method {
        Method::Mls => {
            let options = MovingLeastSquares::new(args.degree.unwrap_or(DEGREE))
                .weight(args.weight.map(Into::into).unwrap_or_default());
            Interpolation::MovingLeastSquares(with_reach!(options))
        }
        Method::Sph => Interpolation::Gather(with_reach!(sph())),
        Method::Scatter => Interpolation::Scatter(with_reach!(sph())),
        Method::Idw => Interpolation::InverseDistance(with_reach!(InverseDistance::new(args.power.unwrap_or(2.0)))),
    }
}

/// Joins names by commas, at most the first 12.
fn listed(names: &[String]) -> String {
    const MOST: usize = 12;
    let first = names.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MOST) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
