//! Writing of snapshots as HDF5 in the layout of Gadget: a group `Header`, and a group for each particle type.
//!
//! In: a [`Snapshot`]. Out: a file that [`read`](crate::read), yt and pynbody recognise as a Gadget snapshot. Cost:
//! one pass. Ids and masses are scanned once more to choose the smallest number type that represents them. Source:
//! Springel, Users guide for GADGET-2, section 6.3; the documentation of GADGET-4, "Snapshot format".

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use ropewalk::halo::UniverseOptions;
use ropewalk::internals::units::{GRAMS, MPC};
use ropewalk::units::{Frame, KnownUnits, Quantity, VelocityUnit};
use ropewalk::{Error, Result};

use crate::hdf5_write::{Dataset, Group};
use crate::snapshot_write::epoch::Epoch;
use crate::snapshot_write::types::{Types, pieces};
use crate::unit_constants::Cgs;
use crate::{Masses, Points, Snapshot};

/// The minimum number of types in a header.
const TYPES: usize = 6;

pub(super) fn write(out: &mut dyn Write, path: &Path, snapshot: &Snapshot) -> Result<()> {
    root(path, snapshot)?.write(out).map_err(Error::write)
}

fn root<'a>(path: &Path, snapshot: &'a Snapshot) -> Result<Group<'a>> {
    for (what, points) in [("points", Some(&snapshot.points)), ("velocities", snapshot.velocities.as_ref())] {
        if let Some(dim) = points.map(Points::dim).filter(|&dim| dim != 3) {
            return Err(Error::file(
                path,
                format!("cannot be written: {what} have {dim} components; Gadget's must have 3"),
            ));
        }
    }
    let types = Types::new(snapshot, path)?;
    let epoch = Epoch::new(snapshot);
    let universe = snapshot.universe(&UniverseOptions::default(), snapshot.box_size);
    let cgs = universe.units().and_then(|units| units.conversion(epoch.redshift, universe.h).ok());
    // Velocities are written in km/s, which programs assume if they ignore the units.
    let cgs = cgs.map(|mut conversion| {
        conversion.velocity = 1.0;
        Cgs::new(&conversion)
    });
    let velocity = universe.known_units().velocity.map(|_| VelocityUnit::KM_S);
    let stated = Stated { cgs, known: KnownUnits { velocity, ..universe.known_units() } };
    let mut root = Group::default();
    root.group("Header", header(snapshot, &types, epoch, cgs));
    for (kind, stretches) in types.iter() {
        root.group(format!("PartType{kind}"), particles(snapshot, stretches, epoch, stated));
    }
    Ok(root)
}

fn header<'a>(snapshot: &Snapshot, types: &Types, epoch: Epoch, cgs: Option<Cgs>) -> Group<'a> {
    let most = types.iter().map(|(kind, _)| usize::from(kind) + 1).max().unwrap_or(0).max(TYPES);
    let (mut counts, mut masses) = (vec![0u64; most], vec![0.0; most]);
    for (kind, stretches) in types.iter() {
        counts[usize::from(kind)] = stretches.iter().map(|rows| rows.len() as u64).sum();
        if let Masses::Equal(mass) = snapshot.masses {
            masses[usize::from(kind)] = mass;
        }
    }
    let low: Vec<u32> = counts.iter().map(|&count| count as u32).collect();
    let high: Vec<u32> = counts.iter().map(|&count| (count >> 32) as u32).collect();
    let background = snapshot.background;
    let mut header = Group::default();
    header.attribute("NumPart_ThisFile", &counts[..]);
    header.attribute("NumPart_Total", &low[..]);
    header.attribute("NumPart_Total_HighWord", &high[..]);
    header.attribute("MassTable", &masses[..]);
    header.attribute("Time", epoch.time);
    header.attribute("Redshift", epoch.redshift);
    header.attribute("BoxSize", snapshot.box_size.unwrap_or(0.0));
    header.attribute("NumFilesPerSnapshot", 1i32);
    header.attribute("Omega0", background.omega_m.unwrap_or(0.0));
    header.attribute("OmegaLambda", background.omega_lambda.unwrap_or(0.0));
    header.attribute("HubbleParam", background.h.unwrap_or(0.0));
    for flag in ["Sfr", "Cooling", "StellarAge", "Metals", "Feedback"] {
        header.attribute(format!("Flag_{flag}"), 0i32);
    }
    header.attribute("Flag_DoublePrecision", i32::from(matches!(snapshot.points, Points::F64(_))));
    header.attribute("Generator", concat!("ropewalk ", env!("CARGO_PKG_VERSION")));
    if let Some(cgs) = cgs {
        cgs.describe(&mut header);
    }
    header
}

/// The units of a snapshot: either all of them in CGS, or those that are known.
#[derive(Clone, Copy)]
struct Stated {
    cgs: Option<Cgs>,
    known: KnownUnits,
}

/// Adds the scaling attributes of values whose unit is known, with its powers of the scale factor and of h.
fn scale_known(values: Dataset<'_>, quantity: Quantity, velocity_a: f64, known: KnownUnits) -> Dataset<'_> {
    let per_h = |per_h: bool| if per_h { -1.0 } else { 0.0 };
    let scaling = match quantity {
        Quantity::Length => known.length.map(|unit| {
            let a = if unit.frame == Frame::Comoving { 1.0 } else { 0.0 };
            [1.0, 0.0, 0.0, a, per_h(unit.per_h), unit.mpc * MPC * 100.0]
        }),
        Quantity::Mass => known.mass.map(|unit| [0.0, 1.0, 0.0, 0.0, per_h(unit.per_h), unit.msun * GRAMS]),
        Quantity::Velocity => known.velocity.map(|unit| [0.0, 0.0, 1.0, velocity_a, 0.0, unit.km_s * 1e5]),
        _ => None,
    };
    match scaling {
        Some([length, mass, velocity, a, h, cgs]) => values
            .attribute("a_scaling", a)
            .attribute("h_scaling", h)
            .attribute("length_scaling", length)
            .attribute("mass_scaling", mass)
            .attribute("velocity_scaling", velocity)
            .attribute("to_cgs", cgs),
        None => values,
    }
}

/// Returns the group of the particles in these rows.
fn particles<'a>(snapshot: &'a Snapshot, stretches: &[Range<usize>], epoch: Epoch, stated: Stated) -> Group<'a> {
    let velocity_a = if epoch.is_comoving { 0.5 } else { 0.0 };
    let scale = |values: Dataset<'a>, quantity| match stated.cgs {
        Some(cgs) => cgs.scale(values, quantity, velocity_a),
        None => scale_known(values, quantity, velocity_a, stated.known),
    };
    let mut group = Group::default();
    group.dataset("Coordinates", scale(vectors(&snapshot.points, stretches, 1.0), Quantity::Length));
    if let Some(velocities) = &snapshot.velocities {
        let to_km_s = snapshot.units.velocity.map_or(1.0, |unit| unit.km_s);
        group.dataset(
            "Velocities",
            scale(vectors(velocities, stretches, epoch.velocity_divisor() / to_km_s), Quantity::Velocity),
        );
    }
    if let Some(ids) = &snapshot.ids {
        let pieces = pieces(ids, 1, stretches);
        let is_small = pieces.iter().copied().flatten().all(|&id| id <= u64::from(u32::MAX));
        let ids =
            if is_small { Dataset::converted(pieces, None, |id| id as u32) } else { Dataset::pieces(pieces, None) };
        group.dataset("ParticleIDs", scale(ids, Quantity::Dimensionless));
    }
    if let Masses::Each(masses) = &snapshot.masses {
        let pieces = pieces(masses, 1, stretches);
        let is_small = pieces.iter().copied().flatten().all(|&mass| f64::from(mass as f32) == mass);
        let masses =
            if is_small { Dataset::converted(pieces, None, |mass| mass as f32) } else { Dataset::pieces(pieces, None) };
        group.dataset("Masses", scale(masses, Quantity::Mass));
    }
    group
}

/// Returns the data set of vectors divided by `divisor`, in the precision of the points.
fn vectors<'a>(points: &'a Points, stretches: &[Range<usize>], divisor: f64) -> Dataset<'a> {
    match points {
        Points::F32(table) => {
            let pieces = pieces(table.as_slice(), 3, stretches);
            if divisor == 1.0 {
                return Dataset::pieces(pieces, Some(3));
            }
            Dataset::converted(pieces, Some(3), move |x: f32| (f64::from(x) / divisor) as f32)
        }
        Points::F64(table) => {
            let pieces = pieces(table.as_slice(), 3, stretches);
            if divisor == 1.0 {
                return Dataset::pieces(pieces, Some(3));
            }
            Dataset::converted(pieces, Some(3), move |x: f64| x / divisor)
        }
    }
}
