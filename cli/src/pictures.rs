//! The pictures of `ropewalk halos`, and the words on them.

use ropewalk::halo::MassFunction;
use ropewalk::halo::pipeline::{Pipeline, Universe};
use ropewalk::io::{Masses, Points, Snapshot, Table};
use ropewalk::plot::{self, PictureFormat};
use ropewalk::{Catalog, Particles, Scalar};

use super::args::{self, Halos as Args};
use super::{Failure, grouped, short};

pub const MASS_FUNCTION: &str = "mass_function.svg";
pub const PROJECTION: &str = "projection.png";
pub const DENDROGRAM: &str = "dendrogram.svg";

/// The linking length and its meaning for the user.
pub fn linking_length(pipeline: &Pipeline<'_>) -> String {
    let scales = pipeline.scales();
    let length = short(scales.linking_length);
    match scales.separations {
        Some(separations) => format!("{length} ({} mean separations)", short(separations)),
        None => length,
    }
}

/// The projection of all particles, the mass function, and the dendrogram of a halo if there are subhalos: names and contents.
pub fn pictures(
    args: &Args,
    snapshot: &Snapshot,
    pipeline: &Pipeline<'_>,
    catalog: &Catalog,
    remarks: &mut Vec<String>,
) -> Result<Vec<(&'static str, Vec<u8>)>, Failure> {
    let n = grouped(snapshot.points.len() as u64);
    let [halos, subhalos] = counts(catalog);
    let place = pipeline.period().map_or("open boundaries".into(), |side| format!("box {}", short(side)));
    let projection = projection(pipeline, snapshot, catalog, &format!("{n} particles, {place}, {halos}{subhalos}"))?;
    let how = match args.finder {
        args::Finder::Fof => format!("linking length {}", linking_length(pipeline)),
        args::Finder::Hop => "HOP".into(),
        args::Finder::AdaptaHop => "AdaptaHOP".into(),
    };
    let title = format!("{halos} of {} or more particles, {how}", args.min_members);
    let unit = match (&snapshot.masses, pipeline.universe().units()) {
        (Masses::Unknown, _) => "particles".into(),
        (_, Some(units)) => units.mass.to_string(),
        (_, None) => "snapshot mass unit".into(),
    };
    // A picture's curve is no reason to lose a catalogue.
    let curves = expected(snapshot, pipeline.universe(), catalog).unwrap_or_else(|why| {
        remarks.push(format!("no expected mass functions: {why}"));
        vec![]
    });
    let mass_function = plot::mass_function(catalog, pipeline.scales().volume, &curves, &title, &unit)?;
    let mut pictures = vec![(PROJECTION, projection), (MASS_FUNCTION, mass_function)];
    if args.finder == args::Finder::AdaptaHop {
        pictures.push((DENDROGRAM, dendrogram(args, catalog, &unit)?));
    }
    Ok(pictures)
}

/// How many halos a catalogue has, and after a comma how many subhalos, if it knows them.
fn counts(catalog: &Catalog) -> [String; 2] {
    let hosts = (0..catalog.halos().len()).filter(|&row| catalog.is_host(row)).count();
    let name = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{} {what}s", grouped(count as u64)),
    };
    let subhalos = match catalog.subhalos().len() {
        0 => String::new(),
        all => format!(", {}", name(all - hosts, "subhalo")),
    };
    [name(hosts, "halo"), subhalos]
}

/// The tree of the halo that is asked for, or of the largest.
fn dendrogram(args: &Args, catalog: &Catalog, unit: &str) -> Result<Vec<u8>, Failure> {
    let row = match args.adaptahop.dendrogram {
        None => 0,
        Some(label) => catalog
            .labels()
            .iter()
            .position(|&other| other == label)
            .ok_or_else(|| format!("--dendrogram: no halo or subhalo has the label {label}"))?,
    };
    let title = match (catalog.halos().get(row), catalog.labels().get(row)) {
        (Some(halo), Some(label)) => {
            let count = grouped(halo.count as u64);
            format!("label {label}: {count} particles, mass {} [{unit}]", short(halo.mass))
        }
        _ => String::new(),
    };
    Ok(plot::dendrogram(catalog, row, &title, PictureFormat::Svg)?)
}

/// The picture of all particles, in the precision of the snapshot.
fn projection(
    pipeline: &Pipeline<'_>,
    snapshot: &Snapshot,
    catalog: &Catalog,
    title: &str,
) -> Result<Vec<u8>, Failure> {
    fn of<S: Scalar>(
        table: &Table<S>,
        snapshot: &Snapshot,
        period: Option<f64>,
        catalog: &Catalog,
        title: &str,
    ) -> Result<Vec<u8>, Failure> {
        let positions = table.rows().ok_or("points have not three coordinates")?;
        Ok(plot::projection(&Particles::of_snapshot(positions, snapshot, period), catalog, title)?)
    }
    match &snapshot.points {
        Points::F32(table) => of(table, snapshot, pipeline.period(), catalog, title),
        Points::F64(table) => of(table, snapshot, pipeline.period(), catalog, title),
    }
}

/// The mass functions that are expected, in the snapshot's units, or why there are none.
fn expected(snapshot: &Snapshot, universe: &Universe, catalog: &Catalog) -> Result<Vec<plot::Expected>, String> {
    let masses = catalog.halos().iter().map(|halo| halo.mass).filter(|&mass| mass > 0.0);
    let (lightest, heaviest) = masses.fold((f64::INFINITY, 0.0), |(lo, hi), mass| (mass.min(lo), mass.max(hi)));
    if snapshot.masses == Masses::Unknown {
        return Err("the snapshot has no masses".into());
    }
    if heaviest <= 0.0 {
        return Ok(vec![]);
    }
    // A little beyond both ends.
    let (from, to) = (0.7 * lightest, 2.0 * heaviest);
    let masses: Vec<f64> = (0..=100).map(|i| from * (to / from).powf(f64::from(i) / 100.0)).collect();
    let curve = |name: &str, function| -> Result<plot::Expected, String> {
        let numbers = universe.halos_above(&masses, function).map_err(|error| error.to_string())?;
        let points = masses.iter().zip(numbers).map(|(&mass, number)| [mass, number]).collect();
        Ok(plot::Expected { name: name.into(), points })
    };
    Ok(vec![
        curve("Warren et al. 2006", MassFunction::Warren2006)?,
        curve("Tinker et al. 2008, 200m", MassFunction::Tinker2008)?,
    ])
}
