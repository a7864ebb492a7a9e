//! The columns of a snapshot's particles, of all files and types that are wanted.
//!
//! In: the parts of a snapshot. Out: coordinates, velocities, ids and masses, in the order of the files, and in each of the types.
//! Cost: each column is read once, in parallel; masses of types that are not wanted are added up and forgotten.

use std::collections::BTreeMap;
use std::path::Path;

use ropewalk::halo::MassSum;
use ropewalk::internals::parallel::map_tasks;
use ropewalk::units::{KnownUnits, MassUnit, VelocityUnit};
use ropewalk::{Error, Result};

use crate::fill::{Constant, Rows, fill};
use crate::hdf5::attributes::Attributes;
use crate::hdf5::bands::Band;
use crate::hdf5::dataset::Column;
use crate::hdf5::header::Header;
use crate::hdf5::parts::Part;
use crate::hdf5::shape::Shape;
use crate::hdf5::units::Scaling;
use crate::matter::Matter;
use crate::reading::Reading;
use crate::snapshot::TypeRun;
use crate::{Masses, Points, Table};

/// What codes call a field; EAGLE is the one that says `Velocity` and `Mass`.
pub(super) const COORDINATES: &[&str] = &["Coordinates"];
pub(super) const VELOCITIES: &[&str] = &["Velocities", "Velocity"];
pub(super) const IDS: &[&str] = &["ParticleIDs"];
/// Black holes of SWIFT have several; the dynamical ones are those of gravity.
pub(super) const MASSES: &[&str] = &["Masses", "Mass", "DynamicalMasses"];

/// Relative difference of values that are taken for equal, one of which may be in single precision.
const ROUNDING: f64 = 1e-6;

/// Returns `true` for values that differ by more than rounding.
fn differ(a: f64, b: f64) -> bool {
    let is_near = a == b || (a - b).abs() <= ROUNDING * a.abs().max(b.abs());
    !(is_near || a.is_nan() && b.is_nan())
}

/// The group of a type.
pub(super) fn group(particle_type: u8) -> String {
    format!("PartType{particle_type}")
}

/// The error or note on a field that types have in different units.
pub(super) fn mixed_units(field: &str) -> String {
    format!("has {field} in different units for different types; read types of one unit alone (ReadOptions::types)")
}

/// What is wanted of the parts of a snapshot.
pub(super) struct Fields<'a> {
    pub path: &'a Path,
    pub reading: &'a Reading<'a>,
    pub parts: &'a [Part],
    pub types: &'a [u8],
}

/// Particles of one type in one file.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub part: &'a Part,
    pub particle_type: u8,
    pub rows: u64,
}

/// Masses of a piece: each its own, or one for all.
enum Mass {
    Each(Box<Column>),
    One(f64),
}

impl Piece<'_> {
    /// The field by one name, if it is there; it must have a row for each particle.
    fn named(&self, name: &str, width: u64) -> Result<Option<Column>> {
        let Some(column) = self.part.file.column(&group(self.particle_type), name)? else { return Ok(None) };
        if (column.shape.rows, column.shape.width) != (self.rows, width) {
            return Err(column.error(self.wrong_shape(&column.shape, width)));
        }
        Ok(Some(column))
    }

    pub(super) fn wrong_shape(&self, shape: &Shape, wanted: u64) -> String {
        let (Shape { rows, width, .. }, own) = (shape, self.rows);
        format!("has {rows} rows of {width}; for the header's {own} particles it must have {own} rows of {wanted}")
    }

    /// The mass of each particle in the header; `None` without one.
    fn table_mass(&self) -> Option<f64> {
        let mass = self.part.header.masses.get(usize::from(self.particle_type)).copied();
        mass.filter(|&mass| mass != 0.0)
    }

    pub(super) fn missing(&self, names: &[&str]) -> Error {
        let (group, rows) = (group(self.particle_type), self.rows);
        let names = names.join(" or ");
        self.part.file.error(format!("has no {group}/{names}, and its header promises {rows} particles of that type"))
    }
}

impl Mass {
    /// The factor that makes the masses physical; `None` for a single mass of a header without a unit of mass.
    fn scaling(&self, header: &Header) -> Result<Option<Scaling>> {
        match self {
            Self::Each(column) => Scaling::mass(&column.attributes, header).map(Some),
            Self::One(_) if header.cgs.mass.is_some() => Scaling::mass(&Attributes::default(), header).map(Some),
            Self::One(_) => Ok(None),
        }
    }
}

impl Fields<'_> {
    /// Parts and types that have particles, in the order of the particles.
    pub(super) fn pieces<'b>(&'b self, types: &'b [u8]) -> impl Iterator<Item = Piece<'b>> {
        self.parts.iter().flat_map(move |part| {
            types.iter().filter_map(move |&particle_type| {
                let rows = *part.header.here.get(usize::from(particle_type))?;
                (rows > 0).then_some(Piece { part, particle_type, rows })
            })
        })
    }

    /// The field of a piece by the first of these names that is there.
    ///
    /// Errors: another of the names is there, and has other values.
    pub(super) fn column(&self, piece: Piece<'_>, names: &[&str], width: u64) -> Result<Option<Column>> {
        let mut first: Option<Column> = None;
        for name in names {
            let Some(column) = piece.named(name, width)? else { continue };
            match &first {
                None => first = Some(column),
                Some(known) if self.are_equal(known, &column)? => {}
                Some(known) => {
                    let (known, other) = (&known.name, &column.name);
                    let message = format!("has {known} and {other}, which differ: remove the one that is not meant");
                    return Err(piece.part.file.error(message));
                }
            }
        }
        Ok(first)
    }

    /// Returns `true` if two columns of one length have the same values, but for rounding, in the same unit.
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

    /// A field that all particles must have.
    pub(super) fn needed(&self, names: &[&str], width: u64) -> Result<Vec<Column>> {
        let column = |piece: Piece<'_>| self.column(piece, names, width)?.ok_or_else(|| piece.missing(names));
        self.pieces(self.types).map(column).collect()
    }

    /// Positions or velocities, those of column `k` times `factor(k)`; `None` without columns. Single precision stays so if all
    /// columns have it.
    pub(super) fn vectors(&self, columns: &[Column], factor: impl Fn(usize) -> f64) -> Result<Option<Points>> {
        if columns.is_empty() {
            return Ok(None);
        }
        Ok(Some(if columns.iter().all(|column| column.shape.number.is_single()) {
            let data = self.gather(columns, |k| {
                let factor = factor(k);
                move |x| (x * factor) as f32
            })?;
            Points::F32(Table::of(3, data))
        } else {
            let data = self.gather(columns, |k| {
                let factor = factor(k);
                move |x| x * factor
            })?;
            Points::F64(Table::of(3, data))
        }))
    }

    /// Vectors of floats, each number of column `k` as `convert(k)` makes it.
    fn gather<T, F>(&self, columns: &[Column], convert: impl Fn(usize) -> F) -> Result<Vec<T>>
    where
        T: bytemuck::Pod + Send + Sync,
        F: Fn(f64) -> T + Copy + Send + Sync + 'static,
    {
        let rows = columns.iter().enumerate().map(|(k, column)| self.floats(column, convert(k)));
        fill(self.reading, self.path, 3, &rows.collect::<Result<Vec<_>>>()?)
    }

    fn floats<'b, T, F>(&'b self, column: &'b Column, convert: F) -> Result<Box<dyn Rows<T> + 'b>>
    where
        T: Send + Sync + 'static,
        F: Fn(f64) -> T + Copy + Send + Sync + 'static,
    {
        match column.shape.number.floats(convert) {
            Some(take) => Ok(Box::new(Band::new(self.reading, column, take))),
            None => Err(column.error("must hold floats, and holds whole numbers")),
        }
    }

    /// What the stored velocities are to be multiplied with to be peculiar ones.
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

    /// The masses of a piece; `None` if the file does not say.
    fn mass(&self, piece: Piece<'_>) -> Result<Option<Mass>> {
        if let Some(column) = self.column(piece, MASSES, 1)? {
            return Ok(Some(Mass::Each(Box::new(column))));
        }
        Ok(piece.table_mass().map(Mass::One))
    }

    /// Sentences on types whose datasets have other masses than the header.
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
            // All rows decide, so that all parts of a whole decide alike.
            for [low, high] in self.fold(column, 0..column.shape.rows, range)? {
                *all = [all[0].min(low), all[1].max(high)];
            }
        }
        let other = found.into_iter().filter(|(_, (_, table, ends))| ends.iter().any(|&mass| differ(mass, *table)));
        let sentence = |(kind, (column, table, [low, high])): (u8, (&Column, f64, [f64; 2]))| {
            let name = &column.name;
            format!(
                "masses of type {kind} are those of {name}, from {low} to {high}, and not {table} of the header's MassTable"
            )
        };
        Ok(other.map(sentence).collect())
    }

    /// Masses; `units` gets what their own attributes say, and `notes` sentences on those of the header that are not used.
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
            // Some masses are no masses: each would weigh 1.
            return match all.is_empty() {
                true => Ok(Masses::Unknown),
                false => {
                    let message =
                        format!("has no masses of type {particle_type}, though of others; leave this type out");
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
        let rows = all.iter().zip(&pieces).map(|(mass, piece)| -> Result<Box<dyn Rows<f64> + '_>> {
            match mass {
                Mass::Each(column) => self.floats(column, move |mass| mass * each),
                Mass::One(mass) => Ok(Box::new(Constant { rows: piece.rows, value: mass * each })),
            }
        });
        Ok(Masses::Each(fill(self.reading, self.path, 1, &rows.collect::<Result<Vec<_>>>()?)?))
    }

    /// The unit of masses by the attributes of a column: this one, or where masses are in the header those of any type.
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

    /// The mass of all particles of all `types` in `unit`; `None` where some have none or are in another unit, and where masses are not
    /// wanted and would have to be read. Masses that are broken are told where they are needed.
    pub(super) fn matter(&self, types: &[u8], read: &Masses, unit: Option<MassUnit>) -> Option<f64> {
        let (mut read, is_whole) = match read {
            Masses::Each(own) if self.reading.keep.is_all() && types == self.types => {
                let matter = Matter { share: Some(MassSum::of(own)), ..Matter::default() };
                return self.reading.matter(matter);
            }
            Masses::Each(all) => (all.as_slice(), self.reading.keeps_all()),
            _ => (&[][..], false),
        };
        let mut matter = Matter::default();
        for piece in self.pieces(types) {
            let is_read = is_whole && self.types.contains(&piece.particle_type);
            if is_read {
                let (own, rest) = read.split_at_checked(piece.rows as usize)?;
                read = rest;
                matter.share(&MassSum::of(own));
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
                Mass::Each(column) => matter.share(&self.sum(&column).unwrap_or_else(|_| MassSum::broken())),
            }
        }
        self.reading.matter(matter)
    }

    /// The sum of this part's share of a column, a band at a time.
    fn sum(&self, column: &Column) -> Result<MassSum> {
        let (step, all) = (self.floats(column, |x: f64| x)?.band().max(1), column.shape.rows);
        let share = self.reading.share(all.div_ceil(step));
        let rows = share.start * step..share.end.saturating_mul(step).min(all);
        let sums = self.fold(column, rows, MassSum::of)?;
        Ok(sums.iter().fold(MassSum::default(), |mut all, sum| {
            all.merge(sum);
            all
        }))
    }

    /// What `work` makes of each band of these rows of floats, in parallel.
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

    /// The types of the particles that are kept.
    pub(super) fn runs(&self) -> Vec<TypeRun> {
        self.reading.runs(self.pieces(self.types).map(|piece| (piece.particle_type, piece.rows)))
    }
}
