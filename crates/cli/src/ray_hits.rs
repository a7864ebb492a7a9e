//! `ropewalk raycast --rays`: the first hit of each ray on a mesh.

use std::path::Path;

use ropewalk::search::RayHit;
use ropewalk::{Mesh, Ray};
use ropewalk_io::{AtomicFile, ExtendedTable, Fields, Points, Table, TableFormat};
use ropewalk_table::columns::{Column, Values};

use super::args::Raycast as Args;
use super::failure::Failure;
use super::input::STANDARD_INPUT;
use super::mesh_input::{describe, read};
use super::option_names;
use super::outputs::{Outputs, PointsFormat};
use super::phases::Phases;
use super::summary::Summary;
use super::text::{counted, grouped, share};

/// The numbers of a ray: three of the origin, three of the direction.
const NUMBERS: usize = 6;
/// The numbers of a hit, the columns of an array: the point, the triangle, and the parameter of the ray.
const COLUMNS: usize = 5;

/// Writes the first hit of each ray of the file `path`.
pub fn run(args: &Args, path: &Path) -> Result<String, Failure> {
    let format = PointsFormat::new("--out", &args.out)?;
    let targets: Vec<&Path> = [Some(&args.out), args.json.as_ref()].into_iter().flatten().map(AsRef::as_ref).collect();
    let mut outputs = Outputs::files(&targets, &[&args.file, path])?;
    let mut phases = Phases::default();
    let mesh = read(args, &mut phases)?;
    let fields = phases.run("read rays", || read_rays(path))?;
    // 64 bits represent all coordinates of vertices and rays.
    let tree = phases.run("tree", || match &mesh.vertices {
        Points::F32(vertices) => Ok(Mesh::build(vertices.rows::<3>().unwrap_or_default(), &mesh.faces)?.widened()),
        Points::F64(vertices) => Mesh::build(vertices.rows::<3>().unwrap_or_default(), &mesh.faces),
    })?;
    let rays: Vec<Ray<f64, 3>> = fields
        .values
        .chunks_exact(NUMBERS)
        .map(|ray| Ray::new([ray[0], ray[1], ray[2]], [ray[3], ray[4], ray[5]]))
        .collect();
    let hits = phases.run("rays", || tree.first_hits(&rays));
    let rows: Vec<[f64; COLUMNS]> = rays.iter().zip(&hits).map(|(ray, hit)| row(ray, hit.as_ref())).collect();
    phases.run("write", || {
        outputs.write(&args.out, |file| match format {
            PointsFormat::Npy => {
                Ok::<_, Failure>(ropewalk_io::write_npy_f64_rows_to(file, rows.as_flattened(), COLUMNS)?)
            }
            PointsFormat::Table(format) => write_table(file, format, &rows),
        })
    })?;
    let mut summary = Summary::default();
    describe(&mut summary, &mesh);
    summary.both("rays", grouped(rays.len() as u64), rays.len());
    summary.columns(&fields.names);
    let n_hits = hits.iter().flatten().count();
    summary.both("hits", share(n_hits as u64, rays.len() as u64), n_hits);
    let notes: Vec<String> = mesh.notes.iter().cloned().chain(option_names::notes(&fields.notes)).collect();
    summary.notes(&notes);
    summary.close(&phases, outputs, &targets, args.json.as_ref())
}

/// Reads a table or an array with one ray per row.
fn read_rays(path: &Path) -> Result<Fields, Failure> {
    if path.as_os_str() == STANDARD_INPUT {
        return Err("--rays: standard input is not supported; give a file".into());
    }
    let fields = ropewalk_io::read_fields(path, &[])?;
    let path = path.display();
    if fields.columns != NUMBERS {
        let n = counted(fields.columns as u64, "number");
        return Err(format!(
            "{path}: rows have {n}; rays have {NUMBERS}, three of the origin and three of the direction"
        )
        .into());
    }
    if let Some(at) = fields.values.iter().position(|value| !value.is_finite()) {
        let (ray, column, value) = (at / NUMBERS, at % NUMBERS + 1, fields.values[at]);
        return Err(format!("{path}: ray {ray}: column {column} is {value}; rays must be finite").into());
    }
    Ok(fields)
}

/// Returns the point, the triangle and the parameter of a hit; NaN, -1 and infinity without a hit.
fn row(ray: &Ray<f64, 3>, hit: Option<&RayHit>) -> [f64; COLUMNS] {
    hit.map_or([f64::NAN, f64::NAN, f64::NAN, -1.0, f64::INFINITY], |hit| {
        let [x, y, z] = ray.at(hit.t);
        [x, y, z, hit.triangle.into(), hit.t]
    })
}

/// Writes the table of the hits, with integers for triangles.
fn write_table(file: &mut AtomicFile, format: TableFormat, rows: &[[f64; COLUMNS]]) -> Result<(), Failure> {
    let points = rows.iter().flat_map(|&[x, y, z, ..]| [x, y, z]).collect();
    let table = ExtendedTable::of_points(&Points::F64(Table::new(3, points)?), &[], &[], format)?;
    let triangles = Values::Signed(rows.iter().map(|row| row[3] as i64).collect());
    let parameters = Values::Numbers(rows.iter().map(|row| row[4]).collect());
    Ok(table.write(file, &[Column::new("triangle", triangles), Column::new("t", parameters)])?)
}
