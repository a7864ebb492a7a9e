//! `ropewalk interpolate`: interpolates values from sources to targets.

mod inputs;

use std::io::Write as _;
use std::path::Path;

use inputs::{Files, Inputs, Targets};
use ropewalk::interpolate::{InverseDistance, MovingLeastSquares, SmoothingKernel, Sph};
use ropewalk_io::{AtomicFile, ExtendedTable, Fields, TableFormat};
use ropewalk_plot::{Map, PictureFormat};
use ropewalk_table::columns::{Column, Values};
use ropewalk_table::{Interpolation, interpolator};

use super::args::{Interpolate as Args, InterpolationMethod as Method};
use super::axis_names::axis_names;
use super::failure::Failure;
use super::outputs::{Outputs, PointsFormat, picture_format};
use super::phases::Phases;
use super::summary::Summary;
use super::text::{counted, grouped, short};
use super::threads::start_threads;

/// The default degree of mls.
const DEGREE: usize = 2;

pub fn run(args: &Args) -> Result<String, Failure> {
    check(args)?;
    args.points.refuse_skipping("interpolate")?;
    start_threads(args.points.threads)?;
    let files = Files::new(args)?;
    let named = [&args.out, &args.plot, &args.points.json];
    let targets: Vec<&Path> = named.into_iter().flatten().map(AsRef::as_ref).collect();
    let mut outputs = Outputs::files(&targets, &files.all(args))?;
    let out = args.out.as_ref().map(|out| Ok::<_, Failure>((out, PointsFormat::new("--out", out)?))).transpose()?;
    let plot = args.plot.as_ref().map(|plot| Ok::<_, Failure>((plot, picture_format("--plot", plot)?))).transpose()?;
    if out.is_none() && plot.is_none() {
        return Err("nothing to write; give --out OUT.csv, or --plot MAP.png with --grid".into());
    }

    let mut phases = Phases::default();
    let inputs = Inputs::read(args, &files, &mut phases)?;
    let Inputs { sources, outside, fields, targets: Targets { places, grid, outside: wrapped, .. } } = &inputs;
    let flat = grid.as_ref().filter(|grid| grid.cells.len() == 2);
    if plot.is_some() && (flat.is_none() || fields.columns != 1) {
        let dimensions = counted(places.dim() as u64, "dimension");
        let of_fields = counted(fields.columns as u64, "field");
        let what = if grid.is_none() {
            "there is no --grid".into()
        } else {
            format!("the grid has {dimensions} and {of_fields}")
        };
        return Err(format!("--plot: {what}; a map is of a grid in two dimensions and one field").into());
    }
    let prepared = phases.run("coefficients", || interpolator(&method(args), &sources.points, places))?;
    let values = phases
        .run("values", || prepared.apply_rows(&fields.values, fields.columns))
        .map_err(|error| of_value(error, files.values, fields))?;
    if let Some((path, format)) = out {
        phases.run("write", || {
            outputs.write(path, |file| match format {
                PointsFormat::Npy => {
                    let shape = shape(&inputs);
                    Ok::<_, Failure>(ropewalk_io::write_npy_f64_shaped_to(file, &values, &shape)?)
                }
                PointsFormat::Table(format) => write_table(file, format, &inputs, &values),
            })
        })?;
    }
    if let (Some((path, format)), Some(grid)) = (plot, flat) {
        let picture =
            phases.run("picture", || picture(args, &inputs, [grid.cells[0], grid.cells[1]], &values, format))?;
        outputs.write(path, |file| file.write_all(&picture))?;
    }
    let mut summary = Summary::default();
    summary.describe(sources, &args.points, *outside);
    if let Some(grid) = grid {
        let cells: Vec<String> = grid.cells.iter().map(usize::to_string).collect();
        summary.both("grid", cells.join(" x "), grid.cells.clone());
        let corner = |at: &[f64]| at.iter().map(|&x| short(x)).collect::<Vec<_>>().join(", ");
        summary.line("corners", format!("({}) to ({})", corner(&grid.lo), corner(&grid.hi)));
        summary.value("corners", vec![grid.lo.clone(), grid.hi.clone()]);
    }
    summary.both("targets", grouped(places.len() as u64), places.len());
    summary.wrapped("targets wrapped", *wrapped, &args.points);
    summary.line("fields", format!("{}: {}", fields.columns, listed(&fields.names)));
    summary.value("fields", fields.columns);
    summary.value("field_names", fields.names.clone());
    if let Some(radius) = args.radius {
        summary.both("radius", short(radius), radius);
    }
    if args.method == Method::Mls {
        let degree = args.degree.unwrap_or(DEGREE);
        summary.both("degree", degree.to_string(), degree);
        let lower = prepared.n_lower();
        summary.both("lower degree", counted(lower as u64, "target"), lower);
    }
    let alone = prepared.n_without_neighbors();
    let whose = if args.method == Method::Scatter { "source" } else { "target" };
    summary.both("no neighbours", counted(alone as u64, whose), alone);
    summary.close(&phases, outputs, &targets, args.points.json.as_ref())
}

/// Writes the coordinates of the targets, and their values.
fn write_table(file: &mut AtomicFile, format: TableFormat, inputs: &Inputs, values: &[f64]) -> Result<(), Failure> {
    let Inputs { fields, targets, .. } = inputs;
    let table = ExtendedTable::of_points(&targets.places, &targets.names, &[], format)?;
    let column = |(place, name): (usize, &String)| {
        let values = values.iter().skip(place).step_by(fields.columns).copied().collect();
        Column::new(table.free_name(name, "interpolated"), Values::Numbers(values))
    };
    let columns: Vec<Column> = fields.names.iter().enumerate().map(column).collect();
    Ok(table.write(file, &columns)?)
}

/// Returns the shape of an array of the values: the axes of the grid, or one axis of targets, and an axis of the
/// fields if there are several.
fn shape(inputs: &Inputs) -> Vec<usize> {
    let Inputs { fields, targets: Targets { places, grid, .. }, .. } = inputs;
    let mut shape = grid.as_ref().map_or_else(|| vec![places.len()], |grid| grid.cells.clone());
    if fields.columns > 1 {
        shape.push(fields.columns);
    }
    shape
}

/// Draws the map of a field on a grid of two dimensions.
fn picture(
    args: &Args,
    inputs: &Inputs,
    cells: [usize; 2],
    values: &[f64],
    format: PictureFormat,
) -> Result<Vec<u8>, Failure> {
    let Inputs { sources, fields, targets, .. } = inputs;
    let corner = |at: &[f64]| [at[0], at[1]];
    let corners = targets.grid.as_ref().map_or([[0.0; 2], [1.0; 2]], |grid| [corner(&grid.lo), corner(&grid.hi)]);
    // The grid has the coordinates of the sources.
    let axes = axis_names(sources);
    let axis = |k: usize| axes.get(k).cloned().unwrap_or_default();
    let name = fields.names.first().cloned().unwrap_or_default();
    let method = match args.method {
        Method::Mls => "moving least squares",
        Method::Sph => "smoothed particles",
        Method::Scatter => "distributed values",
        Method::Idw => "inverse distances",
    };
    let title = format!("{name} of {} points by {method}", grouped(sources.points.len() as u64));
    let map = Map { cells, corners, axes: [axis(0), axis(1)], name, title };
    Ok(ropewalk_plot::map(values, &map, format)?)
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
