//! The halo catalogue: mass, centre of mass and motion of each halo's members.
//!
//! In: [`Halos`] and the [`Particles`] in which they were found. Out: a [`Catalog`] with a row per halo, largest
//! first, which can be written as enhanced CSV. Column names are those of HACC's catalogues. `subhalos` adds the
//! columns of nested halos.
//! Cost: two passes over the members, in parallel over halos. Sums are in `f64` and in the order of the members, so
//! the result does not depend on the number of threads.

mod across;
mod halo;
mod measure;
mod subhalos;

use std::fmt;
use std::io::Write;

pub use halo::{Halo, Motion};
use measure::{measure, tag_of};

use ropewalk::geometry::Boundary;
use ropewalk::halo::{Halos, Particles, Subhalo};
use ropewalk::internals::brief::Brief;
use ropewalk::internals::cancel::check;
use ropewalk::internals::parallel::map;
use ropewalk::units::{KnownUnits, Quantity};
use ropewalk::{Error, Result, Scalar};

use crate::columns::{Column, Meta, Values, write_ecsv};
use crate::errors;

/// The default prefix of column names, see [`Catalog::prefix`].
const PREFIX: &str = "fof_halo";

/// A table with a row per halo: largest first, ties by tag, the smallest particle id.
///
/// [`Halos`] break ties by the smallest index instead; [`Catalog::order`] maps rows to their halos.
///
/// ```
/// use ropewalk_table::Catalog;
/// use ropewalk::halo::Particles;
/// use ropewalk::Fof;
///
/// let positions = [[0.5f64, 5.0, 5.0], [9.75, 5.0, 5.0], [3.0, 3.0, 3.0]];
/// let halos = Fof::new(1.0).periodic(10.0).run(&positions)?;
/// let catalog = Catalog::new(&halos, &Particles::new(&positions).ids(&[7, 4, 1]).mass(2.0))?;
/// let halo = &catalog.halos()[0];
/// assert_eq!((halo.tag, halo.count, halo.mass), (4, 2, 4.0));
/// assert_eq!((halo.center, halo.rms_radius, halo.max_radius), ([0.125, 5.0, 5.0], 0.375, 0.375));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Catalog {
    pub(crate) halos: Vec<Halo>,
    /// The index in [`Halos`] of each row.
    pub(crate) order: Vec<u32>,
    /// The label of each row.
    pub(crate) labels: Vec<u32>,
    /// The nesting of each row, with rows as parents and hosts; empty before [`Catalog::add_subhalos`].
    subhalos: Vec<Subhalo>,
    prefix: String,
    pub(crate) columns: Vec<Column>,
    units: KnownUnits,
    /// `true` if masses are numbers of particles.
    pub(crate) counts_particles: bool,
    boundary: Boundary,
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog")
            .field("halos", &Brief(&self.halos))
            .field("labels", &Brief(&self.labels))
            .field("subhalos", &Brief(&self.subhalos))
            .field("columns", &Brief(&self.columns))
            .field("prefix", &self.prefix)
            .field("units", &self.units)
            .finish()
    }
}

impl Catalog {
    /// Measures each halo, in the space in which the halos were found, or that of the particles.
    ///
    /// # Errors
    /// Fails if velocities, ids or masses are not one per particle, or if the halos were found among another number
    /// of particles, or in another space. Fails if a mass is negative or not finite, a velocity is not finite, or a
    /// periodic box is not positive.
    pub fn new<S: Scalar>(halos: &Halos, particles: &Particles<S>) -> Result<Self> {
        particles.check(halos.labels().as_slice().len())?;
        let said = particles.boundary()?;
        let boundary =
            Boundary::common(&[("the halos were found in", halos.boundary()), ("the particles are in", &said)])?;
        let space = boundary.space()?;
        let clusters = halos.clusters();
        let labels = halos.labels().as_slice();
        let row = |halo: u32| {
            let members = halos.members(halo as usize);
            let tag = tag_of(members, labels, clusters[halo as usize], particles);
            (measure(tag, members, particles, &space), halo)
        };
        let mut rows: Vec<(Halo, u32)> = map(halos.len(), 16, &|halo| row(halo as u32));
        rows.sort_by_key(|(halo, _)| (std::cmp::Reverse(halo.count), halo.tag));
        check();
        let (halos, order): (Vec<Halo>, Vec<u32>) = rows.into_iter().unzip();
        let labels: Vec<u32> = order.iter().map(|&halo| clusters[halo as usize]).collect();
        check();
        let columns = columns_of(&halos, particles.has_velocities());
        let (subhalos, prefix, units) = (vec![], PREFIX.into(), KnownUnits::default());
        Ok(Self { halos, order, labels, subhalos, prefix, columns, units, counts_particles: false, boundary })
    }

    /// Returns the catalogue with other rows: halos, their indices and labels, and all columns.
    pub(crate) fn with_rows(self, halos: Vec<Halo>, order: Vec<u32>, labels: Vec<u32>, columns: Vec<Column>) -> Self {
        Self { halos, order, labels, columns, ..self }
    }

    /// Returns the space in which the halos were measured, as far as it is known.
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// Returns the halos, largest first.
    pub fn halos(&self) -> &[Halo] {
        &self.halos
    }

    /// Returns the index of each row in the [`Halos`] of the catalogue.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Returns the label of each row in [`Halos::labels`], which also count groups that are too small for a halo.
    ///
    /// The column `{prefix}_label` has the number of the row instead, the one number of a halo in all files.
    pub fn labels(&self) -> &[u32] {
        &self.labels
    }

    /// Sets the units of the particles, which are those of the catalogue.
    ///
    /// Columns of quantities without a known unit have no unit. If the unit of velocities is unknown, existing
    /// velocity columns have no unit. Velocities that are added later are then in km/s, if the units of length and
    /// mass are known.
    #[must_use]
    pub fn units(mut self, units: impl Into<KnownUnits>) -> Self {
        let units: KnownUnits = units.into();
        if units.velocity.is_none() {
            self.columns.iter_mut().filter(|column| column.quantity == Quantity::Velocity).for_each(|column| {
                column.quantity = Quantity::Dimensionless;
                column.description.push_str("; unit of the particles' velocities, which is unknown");
            });
        }
        self.units = units.completed();
        self
    }

    /// Declares masses to be numbers of particles, for particles without masses.
    ///
    /// Existing columns of masses lose their unit, and masses are not converted to other units. Columns that are
    /// added later are not changed.
    pub fn count_particles(&mut self) {
        self.counts_particles = true;
        self.columns.iter_mut().filter(|column| column.quantity == Quantity::Mass).for_each(|column| {
            column.quantity = Quantity::Dimensionless;
            column.description.push_str("; number of particles, because particles have no masses");
        });
    }

    /// Returns the units of the columns, as far as [`Catalog::units`] set them.
    pub fn column_units(&self) -> KnownUnits {
        self.units
    }

    /// Sets the prefix of the columns of halos, `{prefix}_tag`, `{prefix}_mass` and so on. Default: `fof_halo`,
    /// HACC's name of friends-of-friends halos.
    ///
    /// The usual prefix for halos of other finders is `halo` (halotools).
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        for column in &mut self.columns {
            if let Some(name) = column.name.strip_prefix(&self.prefix).filter(|name| name.starts_with('_')) {
                column.name = format!("{prefix}{name}");
            }
        }
        self.prefix = prefix;
        self
    }

    /// Returns the name of a column of halos, with the prefix.
    #[doc(hidden)]
    pub fn name(&self, what: &str) -> String {
        format!("{}_{what}", self.prefix)
    }

    /// Adds a column, with values in the order of [`Halos`].
    ///
    /// # Errors
    /// Fails if the number of values is not that of the halos, or if the name is taken.
    pub fn add(&mut self, column: Column) -> Result<()> {
        let Column { name, values, .. } = &column;
        if values.len() != self.halos.len() {
            return Err(Error::column_length(name, values.len(), self.halos.len()));
        }
        if self.columns.iter().any(|other| other.name == *name) {
            return Err(errors::column_taken(name));
        }
        let values = values.at(&self.order);
        self.columns.push(Column { values, ..column });
        Ok(())
    }

    /// Sets the total mass of each halo ([`Halo::total_mass`]); `masses` is in the order of [`Halos`].
    #[doc(hidden)]
    pub fn set_total_masses(&mut self, masses: &[f64]) {
        for (row, &halo) in self.halos.iter_mut().zip(&self.order) {
            row.total_mass = masses[halo as usize];
        }
    }

    /// Returns the columns, so that descriptions can be changed.
    #[doc(hidden)]
    pub fn columns_mut(&mut self) -> &mut [Column] {
        &mut self.columns
    }

    /// Returns the columns, in the order in which they are written.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Keeps only the columns with these names, in this order.
    ///
    /// ```
    /// use ropewalk_table::Catalog;
    /// use ropewalk::halo::Particles;
    /// use ropewalk::Fof;
    ///
    /// let positions = [[0.0f32, 5.0, 5.0], [0.5, 5.0, 5.0]];
    /// let mut catalog = Catalog::new(&Fof::new(1.0).run(&positions)?, &Particles::new(&positions))?;
    /// catalog.keep(&["fof_halo_count", "fof_halo_tag"])?;
    /// let mut text = vec![];
    /// catalog.write_ecsv(&mut text, &[]).unwrap();
    /// assert!(text.ends_with(b"fof_halo_count,fof_halo_tag\n2,0\n"));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if there is no column of a name.
    pub fn keep(&mut self, names: &[impl AsRef<str>]) -> Result<()> {
        let find = |name: &str| self.columns.iter().find(|column| column.name == name).cloned();
        let unknown = |name: &str| {
            let known = self.columns.iter().map(Column::name).collect::<Vec<_>>().join(", ");
            errors::column_unknown(name, &known)
        };
        self.columns = names
            .iter()
            .map(|name| find(name.as_ref()).ok_or_else(|| unknown(name.as_ref())))
            .collect::<Result<_>>()?;
        Ok(())
    }

    /// Writes the catalogue as enhanced CSV, with entries for its header: see [`write_ecsv`].
    ///
    /// Without velocities there are no velocity columns.
    ///
    /// # Errors
    /// Fails if writing to `out` fails.
    pub fn write_ecsv(&self, out: impl Write, meta: &[(&str, Meta)]) -> Result<()> {
        write_ecsv(out, &self.columns, self.units, meta)
    }
}

/// Returns the values of the column `{prefix}_label`: the numbers of the rows.
fn row_numbers(rows: usize) -> Values {
    Values::Integers((0..rows as u64).collect())
}

/// Returns the columns of every catalogue.
fn columns_of(halos: &[Halo], has_motion: bool) -> Vec<Column> {
    let mut columns = vec![];
    let mut add = |name: &str, quantity, values, description: &str| {
        columns.push(Column::new(format!("{PREFIX}_{name}"), values).quantity(quantity).description(description));
    };
    let integers = |value: &dyn Fn(&Halo) -> u64| Values::Integers(halos.iter().map(value).collect());
    let numbers = |value: &dyn Fn(&Halo) -> f64| Values::Numbers(halos.iter().map(value).collect());
    add(
        "tag",
        Quantity::Dimensionless,
        integers(&|halo| halo.tag),
        "smallest particle id of the members; index from 0 if there are no ids",
    );
    add(
        "label",
        Quantity::Dimensionless,
        row_numbers(halos.len()),
        "row of the catalogue, from 0, which is the label of the members in labels.npy",
    );
    add("count", Quantity::Dimensionless, integers(&|halo| halo.count as u64), "number of members");
    add("mass", Quantity::Mass, numbers(&|halo| halo.mass), "mass of the members");
    for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
        let values = numbers(&|halo| halo.center[k]);
        add(&format!("mean_{axis}"), Quantity::Length, values, "centre of mass");
    }
    if has_motion {
        let motion = |halo: &Halo| halo.motion.unwrap_or(Motion { mean: [0.0; 3], dispersion: 0.0 });
        for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
            let values = numbers(&|halo| motion(halo).mean[k]);
            add(&format!("mean_v{axis}"), Quantity::Velocity, values, "mean velocity, weighted by mass");
        }
        let values = numbers(&|halo| motion(halo).dispersion);
        add("vel_disp", Quantity::Velocity, values, "one-dimensional dispersion of velocities");
    }
    let values = numbers(&|halo| halo.rms_radius);
    let description = "root mean square distance of the members from the centre of mass, weighted by mass";
    add("rms_radius", Quantity::Length, values, description);
    let values = numbers(&|halo| halo.max_radius);
    add("max_radius", Quantity::Length, values, "distance of the farthest member from the centre of mass");
    columns
}

#[cfg(test)]
mod tests {
    use ropewalk::Fof;
    use ropewalk::units::Units;

    use super::*;

    #[test]
    fn masses_weigh() {
        let positions = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0]];
        let velocities = [[0.0f32, 3.0, 0.0], [0.0, -1.0, 0.0]];
        let halos = Fof::new(1.0).run(&positions).unwrap();
        let particles = Particles::new(&positions).velocities(&velocities).masses(&[1.0, 3.0]);
        let catalog = Catalog::new(&halos, &particles).unwrap();
        let halo = catalog.halos()[0];
        assert_eq!((halo.mass, halo.center, halo.max_radius), (4.0, [0.75, 0.0, 0.0], 0.75));
        let motion = halo.motion.unwrap();
        assert_eq!((motion.mean, motion.dispersion), ([0.0; 3], 1.0));

        let massless = Catalog::new(&halos, &particles.clone().mass(0.0)).unwrap();
        assert_eq!((massless.halos()[0].mass, massless.halos()[0].center), (0.0, [0.5, 0.0, 0.0]));
    }

    #[test]
    fn ties_go_by_tag() {
        let positions = [[0.0f32; 3], [0.0; 3], [9.0; 3], [9.0; 3], [9.0; 3], [5.0; 3], [5.0; 3]];
        let halos = Fof::new(1.0).run(&positions).unwrap();
        let catalog = Catalog::new(&halos, &Particles::new(&positions).ids(&[8, 9, 1, 2, 3, 6, 5])).unwrap();
        assert_eq!(catalog.halos().iter().map(|halo| halo.tag).collect::<Vec<_>>(), [1, 5, 8]);
    }

    #[test]
    fn mismatches_are_errors() {
        let positions = [[0.0f32; 3]; 2];
        let halos = Fof::new(1.0).run(&positions).unwrap();
        let message = |particles: &Particles<f32>| Catalog::new(&halos, particles).unwrap_err().to_string();
        assert_eq!(message(&Particles::new(&positions).ids(&[1])), "1 ids for 2 particles; expected one per particle");
        assert_eq!(message(&Particles::new(&positions[..1])), "2 labels for 1 particles; expected one per particle");
        assert_eq!(
            message(&Particles::new(&positions).masses(&[1.0, -2.0])),
            "particle 1: its mass is -2; masses must be finite and not negative"
        );
    }

    #[test]
    fn columns_have_units() {
        let positions = [[0.5f32, 1.0, 2.0]; 3];
        let halos = Fof::new(1.0).run(&positions).unwrap();
        let mut out = Vec::new();
        let catalog = Catalog::new(&halos, &Particles::new(&positions)).unwrap().units(Units::GADGET);
        catalog.write_ecsv(&mut out, &[]).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains(
                r#"# - {name: fof_halo_mean_y, unit: Mpc / littleh, datatype: float64, description: "centre of mass; comoving"}"#
            )
        );
        let names = "fof_halo_tag,fof_halo_label,fof_halo_count,fof_halo_mass,fof_halo_mean_x,fof_halo_mean_y,\
                     fof_halo_mean_z,fof_halo_rms_radius,fof_halo_max_radius";
        assert!(text.ends_with(&format!("\n{names}\n0,0,3,3,0.5,1,2,0,0\n")), "{text}");
    }
}
