//! The columns of a snapshot's particles, of all requested files and types.
//!
//! In: the parts of a snapshot. Out: coordinates, velocities, ids and masses, in the order of the files, and within a
//! file in the order of the types. Cost: each column is read once, in parallel. Masses of types that are not
//! requested are only summed.

use std::collections::BTreeMap;
use std::path::Path;

use ropewalk::halo::MassSum;
use ropewalk::internals::parallel::map_tasks;
use ropewalk::units::{KnownUnits, MassUnit, VelocityUnit};
use ropewalk::{Error, Result};

use crate::hdf5::attributes::Attributes;
use crate::hdf5::bands::Band;
use crate::hdf5::dataset::Column;
use crate::hdf5::header::Header;
use crate::hdf5::parts::SnapshotFile;
use crate::hdf5::shape::Shape;
use crate::hdf5::units::Scaling;
use crate::read_columns::{ConstantRows, RowSource, fill};
use crate::reading::Reading;
use crate::snapshot::TypeRun;
use crate::total_mass::TotalMass;
use crate::{Masses, Points, Table};

/// The names of fields in the files of all codes. EAGLE uses `Velocity` and `Mass`.
pub(super) const COORDINATES: &[&str] = &["Coordinates"];
pub(super) const VELOCITIES: &[&str] = &["Velocities", "Velocity"];
pub(super) const IDS: &[&str] = &["ParticleIDs"];
/// Black holes of SWIFT have several masses; the dynamical ones determine gravity.
pub(super) const MASSES: &[&str] = &["Masses", "Mass", "DynamicalMasses"];

/// The relative difference up to which values are considered equal, since one of them may be in single precision.
const ROUNDING: f64 = 1e-6;

/// Returns `true` if two values differ by more than rounding.
fn differ(a: f64, b: f64) -> bool {
    let is_near = a == b || (a - b).abs() <= ROUNDING * a.abs().max(b.abs());
    !(is_near || a.is_nan() && b.is_nan())
}

/// Returns the name of the group of a type.
pub(super) fn group(particle_type: u8) -> String {
    format!("PartType{particle_type}")
}

/// Returns the error or note on a field that has different units for different types.
pub(super) fn mixed_units(field: &str) -> String {
    format!("has {field} in different units for different types; choose types with the same unit (ReadOptions::types)")
}

/// The data to read from the parts of a snapshot.
pub(super) struct Fields<'a> {
    pub path: &'a Path,
    pub reading: &'a Reading<'a>,
    pub parts: &'a [SnapshotFile],
    pub types: &'a [u8],
}

/// Particles of one type in one file.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub part: &'a SnapshotFile,
    pub particle_type: u8,
    pub rows: u64,
}

/// Masses of a piece: one per particle, or one for all.
enum Mass {
    Each(Box<Column>),
    One(f64),
}

impl Piece<'_> {
    /// Returns the field with this name, if it exists. It must have one row per particle.
    fn named(&self, name: &str, width: u64) -> Result<Option<Column>> {
        let Some(column) = self.part.file.column(&group(self.particle_type), name)? else { return Ok(None) };
        if (column.shape.rows, column.shape.width) != (self.rows, width) {
            return Err(column.error(self.wrong_shape(&column.shape, width)));
        }
        Ok(Some(column))
    }

    pub(super) fn wrong_shape(&self, shape: &Shape, wanted: u64) -> String {
        let (Shape { rows, width, .. }, own) = (shape, self.rows);
        format!(
            "has {rows} rows of {width}; it must have {own} rows of {wanted}, as its header declares {own} particles"
        )
    }

    /// Returns the mass of each particle in the header; `None` if the header states no mass for the type.
    fn table_mass(&self) -> Option<f64> {
        let mass = self.part.header.masses.get(usize::from(self.particle_type)).copied();
        mass.filter(|&mass| mass != 0.0)
    }

    pub(super) fn missing(&self, names: &[&str]) -> Error {
        let (group, rows) = (group(self.particle_type), self.rows);
        let names = names.join(" or ");
        self.part.file.error(format!("has no {group}/{names}, but its header declares {rows} particles of that type"))
    }
}

impl Mass {
    /// Returns the factor that makes the masses physical; `None` for a mass in a header without a unit of mass.
    fn scaling(&self, header: &Header) -> Result<Option<Scaling>> {
        match self {
            Self::Each(column) => Scaling::mass(&column.attributes, header).map(Some),
            Self::One(_) if header.cgs.mass.is_some() => Scaling::mass(&Attributes::default(), header).map(Some),
            Self::One(_) => Ok(None),
        }
    }
}

impl Fields<'_> {
    /// Returns the pairs of part and type that have particles, in the order of the particles.
    pub(super) fn pieces<'b>(&'b self, types: &'b [u8]) -> impl Iterator<Item = Piece<'b>> {
        self.parts.iter().flat_map(move |part| {
            types.iter().filter_map(move |&particle_type| {
                let rows = *part.header.here.get(usize::from(particle_type))?;
                (rows > 0).then_some(Piece { part, particle_type, rows })
            })
        })
    }

    /// Returns the field of a piece with the first of these names that exists.
    ///
    /// Errors: another of the names exists, with different values.
    pub(super) fn column(&self, piece: Piece<'_>, names: &[&str], width: u64) -> Result<Option<Column>> {
        let mut first: Option<Column> = None;
        for name in names {
            let Some(column) = piece.named(name, width)? else { continue };
            match &first {
                None => first = Some(column),
                Some(known) if self.are_equal(known, &column)? => {}
                Some(known) => {
                    let (known, other) = (&known.name, &column.name);
                    let message = format!("has {known} and {other}, which differ; remove one of them");
                    return Err(piece.part.file.error(message));
                }
            }
        }
        Ok(first)
    }

    /// Returns `true` if two columns of one length have the same values, up to rounding, in the same unit.
    fn are_equal(&self, a: &Column, b: &Column) -> Result<bool> {
        let scaling = |column: &Column| Scaling::stated(&column.attributes);
        if scaling(a)? != scaling(b)? {
            return Ok(false);
        }
        let values = |column: &Column| -> Result<Vec<f64>> {
            Ok(self.fold(column, 0..column.shape.rows, <[f64]>::to_vec)?.concat())
        };
        let (a, b) = (values(a)?, values(b)?);
        Ok(a.iter().zip(&b).all(|(&a, &b)| !differ(a, b)))
    }

    /// Returns a field that all particles must have.
    pub(super) fn needed(&self, names: &[&str], width: u64) -> Result<Vec<Column>> {
        let column = |piece: Piece<'_>| self.column(piece, names, width)?.ok_or_else(|| piece.missing(names));
        self.pieces(self.types).map(column).collect()
    }

    /// Returns positions or velocities, with column `k` multiplied by `factor(k)`; `None` if there are no columns.
    /// The result is in single precision if all columns are.
    pub(super) fn vectors(&self, columns: &[Column], factor: impl Fn(usize) -> f64) -> Result<Option<Points>> {
        if columns.is_empty() {
            return Ok(None);
        }
        Ok(Some(if columns.iter().all(|column| column.shape.number.is_single()) {
            let data = self.gather(columns, |k| {
                let factor = factor(k);
                move |x| (x * factor) as f32
            })?;
            Points::F32(Table::from_valid(3, data))
        } else {
            let data = self.gather(columns, |k| {
                let factor = factor(k);
                move |x| x * factor
            })?;
            Points::F64(Table::from_valid(3, data))
        }))
    }

    /// Returns vectors of floats, with the numbers of column `k` converted by `convert(k)`.
    fn gather<T, F>(&self, columns: &[Column], convert: impl Fn(usize) -> F) -> Result<Vec<T>>
    where
        T: bytemuck::Pod + Send + Sync,
        F: Fn(f64) -> T + Copy + Send + Sync + 'static,
    {
        let rows = columns.iter().enumerate().map(|(k, column)| self.floats(column, convert(k)));
        fill(self.reading, self.path, 3, &rows.collect::<Result<Vec<_>>>()?)
    }

    fn floats<'b, T, F>(&'b self, column: &'b Column, convert: F) -> Result<Box<dyn RowSource<T> + 'b>>
    where
        T: Send + Sync + 'static,
        F: Fn(f64) -> T + Copy + Send + Sync + 'static,
    {
        match column.shape.number.floats(convert) {
            Some(take) => Ok(Box::new(Band::new(self.reading, column, take))),
            None => Err(column.error("must hold floats, but holds whole numbers")),
        }
    }

    /// Returns the factor that converts the stored velocities to peculiar ones.
    pub(super) fn velocity_factor(&self, attributes: &Attributes, header: &Header) -> Result<f64> {
        let options = self.reading.options;
        let scaling = Scaling::velocity(attributes, header)?;
        let power = match options.velocity_unit {
            Some(unit) => {
                if unit.is_internal {
                    0.5
                } else {
                    0.0
                }
            }
            None if header.epoch.scale_factor.is_none() => 0.0,
            None => scaling.a,
        };
        if power == 0.0 {
            return Ok(1.0);
        }
        let root = options.velocity_factor(VelocityUnit::GADGET, header.epoch.redshift, header.epoch.scale_factor);
        let root = root.map_err(|error| Error::file(self.path, error))?;
        Ok(if power == 0.5 { root } else { (root * root).powf(power) })
    }

    /// Returns the masses of a piece; `None` if the file does not state them.
    fn mass(&self, piece: Piece<'_>) -> Result<Option<Mass>> {
        if let Some(column) = self.column(piece, MASSES, 1)? {
            return Ok(Some(Mass::Each(Box::new(column))));
        }
        Ok(piece.table_mass().map(Mass::One))
    }

    /// Returns notes on types whose datasets contain masses other than that of the header.
    fn other_masses(&self, pieces: &[Piece<'_>], masses: &[Mass]) -> Result<Vec<String>> {
        let mut found: BTreeMap<u8, (&Column, f64, [f64; 2])> = BTreeMap::new();
        for (piece, mass) in pieces.iter().zip(masses) {
            let (Mass::Each(column), Some(table)) = (mass, piece.table_mass()) else { continue };
            let range = |masses: &[f64]| {
                let ends = |[low, high]: [f64; 2], &mass: &f64| [low.min(mass), high.max(mass)];
                masses.iter().fold([f64::INFINITY, f64::NEG_INFINITY], ends)
            };
            let (.., all) =
                found.entry(piece.particle_type).or_insert((&**column, table, [f64::INFINITY, f64::NEG_INFINITY]));
            // All rows are checked, so that all parts of a whole reach the same result.
            for [low, high] in self.fold(column, 0..column.shape.rows, range)? {
                *all = [all[0].min(low), all[1].max(high)];
            }
        }
        let other = found.into_iter().filter(|(_, (_, table, ends))| ends.iter().any(|&mass| differ(mass, *table)));
        let sentence = |(kind, (column, table, [low, high])): (u8, (&Column, f64, [f64; 2]))| {
            let name = &column.name;
            format!(
                "masses of type {kind} are read from {name}, {low} to {high}; {table} in the header's MassTable is ignored"
            )
        };
        Ok(other.map(sentence).collect())
    }

    /// Returns the masses. Sets the unit in `units` from their own attributes, and adds notes on masses of the header
    /// that are not used.
    pub(super) fn masses(&self, header: &Header, units: &mut KnownUnits, notes: &mut Vec<String>) -> Result<Masses> {
        let each = 1.0 / self.reading.keep.fraction;
        let (mut pieces, mut all, mut without) = (vec![], vec![], None);
        for piece in self.pieces(self.types) {
            match self.mass(piece)? {
                Some(mass) => all.push(mass),
                None => without = Some(piece.particle_type),
            }
            pieces.push(piece);
        }
        if let Some(particle_type) = without {
            // Masses of only some particles are not usable: particles without a mass would count as 1.
            return match all.is_empty() {
                true => Ok(Masses::Unknown),
                false => {
                    let message = format!("has masses, but none of type {particle_type}; leave this type out");
                    Err(Error::file(self.path, message))
                }
            };
        }
        let Some(first) = all.first() else { return Ok(Masses::Unknown) };
        let scalings = all.iter().filter_map(|mass| mass.scaling(header).transpose()).collect::<Result<Vec<_>>>()?;
        if scalings.windows(2).any(|pair| !pair[0].is_same_mass(pair[1])) {
            return Err(Error::file(self.path, mixed_units("Masses")));
        }
        let is_first = |mass: &Mass| matches!((mass, first), (Mass::One(mass), Mass::One(first)) if mass == first);
        if let (Mass::One(one), true) = (first, all.iter().all(is_first)) {
            self.mass_unit(None, header, units)?;
            return Ok(Masses::Equal(one * each));
        }
        notes.extend(self.other_masses(&pieces, &all)?);
        let own = all.iter().find_map(|mass| if let Mass::Each(column) = mass { Some(&**column) } else { None });
        self.mass_unit(own, header, units)?;
        let rows = all.iter().zip(&pieces).map(|(mass, piece)| -> Result<Box<dyn RowSource<f64> + '_>> {
            match mass {
                Mass::Each(column) => self.floats(column, move |mass| mass * each),
                Mass::One(mass) => Ok(Box::new(ConstantRows { rows: piece.rows, value: mass * each })),
            }
        });
        Ok(Masses::Each(fill(self.reading, self.path, 1, &rows.collect::<Result<Vec<_>>>()?)?))
    }

    /// Sets the unit of masses from the attributes of `own`. If masses are in the header, uses the attributes of the
    /// masses of any type.
    fn mass_unit(&self, own: Option<&Column>, header: &Header, units: &mut KnownUnits) -> Result<()> {
        let others: Vec<u8> = (0..header.counts.len() as u8).collect();
        let other = match own {
            Some(_) => None,
            None => self.pieces(&others).find_map(|piece| self.column(piece, MASSES, 1).transpose()).transpose()?,
        };
        if let Some(column) = own.or(other.as_ref()) {
            units.mass = Scaling::mass(&column.attributes, header)?.mass_unit();
        }
        Ok(())
    }

    /// Returns the mass of all particles of all `types` in `unit`. `None` if some have no mass or are in another
    /// unit, or if masses are not requested and would have to be read. Corrupt masses are reported only where the
    /// mass is used.
    pub(super) fn matter(&self, types: &[u8], read: &Masses, unit: Option<MassUnit>) -> Option<f64> {
        let (mut read, is_whole) = match read {
            Masses::Each(own) if self.reading.keep.is_all() && types == self.types => {
                let matter = TotalMass { share: Some(MassSum::from_values(own)), ..TotalMass::default() };
                return self.reading.matter(matter);
            }
            Masses::Each(all) => (all.as_slice(), self.reading.keeps_all()),
            _ => (&[][..], false),
        };
        let mut matter = TotalMass::default();
        for piece in self.pieces(types) {
            let is_read = is_whole && self.types.contains(&piece.particle_type);
            if is_read {
                let (own, rest) = read.split_at_checked(piece.rows as usize)?;
                read = rest;
                matter.share(&MassSum::from_values(own));
                continue;
            }
            let mass = self.mass(piece).ok()??;
            let own = mass.scaling(&piece.part.header).ok()?.and_then(Scaling::mass_unit);
            if unit.zip(own).is_some_and(|(unit, own)| unit != own) {
                return None;
            }
            match mass {
                Mass::One(mass) => matter.known.add_times(mass, piece.rows),
                Mass::Each(_) if !self.reading.options.masses => return None,
                Mass::Each(column) => matter.share(&self.sum(&column).unwrap_or_else(|_| MassSum::non_finite())),
            }
        }
        self.reading.matter(matter)
    }

    /// Returns the sum of this part's share of a column, read in bands.
    fn sum(&self, column: &Column) -> Result<MassSum> {
        let (step, all) = (self.floats(column, |x: f64| x)?.band().max(1), column.shape.rows);
        let share = self.reading.share(all.div_ceil(step));
        let rows = share.start * step..share.end.saturating_mul(step).min(all);
        let sums = self.fold(column, rows, MassSum::from_values)?;
        Ok(sums.iter().fold(MassSum::default(), |mut all, sum| {
            all.merge(sum);
            all
        }))
    }

    /// Returns the results of `work` for each band of these rows of floats, computed in parallel.
    pub(super) fn fold<T: Send + Sync>(
        &self,
        column: &Column,
        range: std::ops::Range<u64>,
        work: impl Fn(&[f64]) -> T + Sync,
    ) -> Result<Vec<T>> {
        let rows = self.floats(column, |x: f64| x)?;
        let step = rows.band().max(1);
        let bands = usize::try_from((range.end - range.start).div_ceil(step)).unwrap_or(usize::MAX);
        let each = map_tasks(bands, 1, &|at| -> Result<T> {
            let first = range.start + at.start as u64 * step;
            let mut values = vec![0.0; (step.min(range.end - first) * column.shape.width) as usize];
            rows.read(first, &mut values)?;
            Ok(work(&values))
        });
        each.into_iter().collect()
    }

    /// Returns the types of the particles that are kept.
    pub(super) fn runs(&self) -> Vec<TypeRun> {
        self.reading.runs(self.pieces(self.types).map(|piece| (piece.particle_type, piece.rows)))
    }
}
