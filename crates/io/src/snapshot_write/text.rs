//! Writing of snapshots as text. The columns of coordinates are x, y, z, or have the names with which the snapshot
//! was read. They are followed by vx, vy, vz, id and mass, and by type if not all particles are dark matter.
//!
//! In: a [`Snapshot`]. Out: CSV with a line of names, which [`read`](crate::read) reads back. Enhanced CSV has a
//! header before it, with units, box, redshift and cosmology. Numbers have as many digits as are needed to restore
//! them exactly. Those of 32 bits are written as 64-bit numbers, since readers parse them as such. Cost: one pass.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use ropewalk::halo::UniverseOptions;
use ropewalk::units::{Frame, KnownUnits, VelocityUnit};
use ropewalk::{Error, Result};
use ropewalk_table::columns::{HeaderEntry, Meta, csv_name, write_header};

use crate::snapshot_write::names::Names;
use crate::snapshot_write::types::Types;
use crate::{Masses, Points, Snapshot};

/// The maximum number of components of velocities.
const MAX_AXES: usize = 3;

pub(super) fn write(out: &mut dyn Write, path: &Path, snapshot: &Snapshot, is_enhanced: bool) -> Result<()> {
    let types = Types::new(snapshot, path)?;
    let columns = columns(path, snapshot)?;
    write_lines(out, snapshot, &types, &columns, is_enhanced).map_err(Error::write)
}

/// The content of a column.
#[derive(Clone, Copy)]
pub(super) enum ColumnContent {
    Position(usize),
    Velocity(usize),
    Id,
    Mass,
    Type,
}

pub(super) fn columns(path: &Path, snapshot: &Snapshot) -> Result<Vec<(String, ColumnContent)>> {
    let dim = snapshot.points.dim();
    let Names { coordinates, velocities: speeds } = Names::new(snapshot);
    let numbered = |names: Vec<String>, part: fn(usize) -> ColumnContent| {
        names.into_iter().enumerate().map(move |(axis, name)| (name, part(axis)))
    };
    let mut columns: Vec<(String, ColumnContent)> = numbered(coordinates, ColumnContent::Position).collect();
    if let Some(velocities) = &snapshot.velocities {
        if velocities.dim() != dim || dim > MAX_AXES {
            let message = format!("cannot be written: points have {dim} components, velocities {}", velocities.dim());
            return Err(Error::file(path, message + "; text tables store up to 3 of both"));
        }
        columns.extend(numbered(speeds, ColumnContent::Velocity));
    }
    columns.extend(snapshot.ids.as_ref().map(|_| ("id".into(), ColumnContent::Id)));
    if snapshot.masses != Masses::Unknown {
        columns.push(("mass".into(), ColumnContent::Mass));
    }
    if snapshot.has_types() {
        columns.push(("type".into(), ColumnContent::Type));
    }
    Ok(columns)
}

fn write_lines(
    out: &mut dyn Write,
    snapshot: &Snapshot,
    types: &Types,
    columns: &[(String, ColumnContent)],
    is_enhanced: bool,
) -> io::Result<()> {
    if is_enhanced {
        let universe = snapshot.universe(&UniverseOptions::default(), snapshot.box_size);
        let units = universe.known_units();
        let heads: Vec<HeaderEntry<'_>> = columns.iter().map(|(name, part)| head(name, *part, units)).collect();
        write_header(out, &heads, &meta(snapshot))?;
    }
    let names: Vec<String> = columns.iter().map(|(name, _)| csv_name(name)).collect();
    writeln!(out, "{}", names.join(","))?;
    let mut runs: Vec<(Range<usize>, u8)> =
        types.iter().flat_map(|(kind, rows)| rows.iter().map(move |rows| (rows.clone(), kind))).collect();
    runs.sort_by_key(|(rows, _)| rows.start);
    for (rows, kind) in runs {
        for row in rows {
            for (k, (_, part)) in columns.iter().enumerate() {
                if k > 0 {
                    out.write_all(b",")?;
                }
                write_value(out, snapshot, *part, row, kind)?;
            }
            out.write_all(b"\n")?;
        }
    }
    out.flush()
}

fn write_value(out: &mut dyn Write, snapshot: &Snapshot, part: ColumnContent, row: usize, kind: u8) -> io::Result<()> {
    match part {
        ColumnContent::Position(axis) => write!(out, "{}", Exact(component(&snapshot.points, row, axis))),
        ColumnContent::Velocity(axis) => {
            let velocity = snapshot.velocities.as_ref().map_or(f64::NAN, |points| component(points, row, axis));
            write!(out, "{}", Exact(velocity))
        }
        ColumnContent::Id => {
            write!(out, "{}", snapshot.ids.as_ref().and_then(|ids| ids.get(row)).copied().unwrap_or(0))
        }
        ColumnContent::Mass => match &snapshot.masses {
            Masses::Equal(mass) => write!(out, "{}", Exact(*mass)),
            Masses::Each(masses) => write!(out, "{}", Exact(masses.get(row).copied().unwrap_or(f64::NAN))),
            Masses::Unknown => Ok(()),
        },
        ColumnContent::Type => write!(out, "{kind}"),
    }
}

pub(super) fn component(points: &Points, row: usize, axis: usize) -> f64 {
    let place = row * points.dim() + axis;
    match points {
        Points::F32(table) => table.as_slice().get(place).map_or(f64::NAN, |&x| x.into()),
        Points::F64(table) => table.as_slice().get(place).copied().unwrap_or(f64::NAN),
    }
}

/// A number with all its digits, with an exponent if that is shorter.
struct Exact(f64);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number) = *self;
        if number == 0.0 || (1e-4..1e15).contains(&number.abs()) {
            write!(f, "{number}")
        } else {
            write!(f, "{number:e}")
        }
    }
}

fn head(name: &str, part: ColumnContent, units: KnownUnits) -> HeaderEntry<'_> {
    let (unit, description) = match part {
        ColumnContent::Position(_) => {
            let frame = units.length.map(|unit| if unit.frame == Frame::Physical { "physical" } else { "comoving" });
            (units.length.map(|unit| unit.astropy_name()), frame.unwrap_or_default())
        }
        ColumnContent::Velocity(_) => (units.velocity.map(|unit: VelocityUnit| unit.astropy_name()), "peculiar"),
        ColumnContent::Mass => (units.mass.map(|unit| unit.astropy_name()), ""),
        ColumnContent::Id => (None, "of the particle"),
        ColumnContent::Type => {
            (None, "0 gas, 1 dark matter, 2 and 3 others, 4 stars, 5 black holes or boundary, 6 neutrinos")
        }
    };
    let datatype = match part {
        ColumnContent::Id => "uint64",
        ColumnContent::Type => "uint8",
        _ => "float64",
    };
    HeaderEntry { name, unit, datatype, description: description.into() }
}

pub(super) fn meta(snapshot: &Snapshot) -> Vec<(&'static str, Meta)> {
    let background = snapshot.background;
    let mass = if let Masses::Equal(mass) = snapshot.masses { Some(mass) } else { None };
    let numbers = [
        ("box_size", snapshot.box_size),
        ("redshift", snapshot.redshift),
        ("omega_m", background.omega_m),
        ("omega_lambda", background.omega_lambda),
        ("h", background.h),
        ("particle_mass", mass),
    ];
    let mut meta = vec![("program", Meta::Text(concat!("ropewalk ", env!("CARGO_PKG_VERSION")).into()))];
    meta.extend(numbers.into_iter().filter_map(|(name, number)| Some((name, Meta::Number(number?)))));
    meta
}
