//! From a snapshot to a catalogue of its halos.
//!
//! - in: a [`Snapshot`], read by [`ropewalk_io::read`] or made of points ([`Snapshot::new`]), and [`Options`]
//! - out: an [`Output`] with halos, catalogue, centres, profiles and notes. The caller writes files, draws pictures
//!   and prints
//! - cost: that of its parts, [`Fof`], [`CenterFinder`](ropewalk::halo::CenterFinder),
//!   [`overdensities`](ropewalk::halo::overdensities) and [`profiles`](ropewalk::halo::profiles)
//!
//! The snapshot is not copied, nor are tables that it shares ([`Table::shared`](ropewalk_io::Table::shared)), unless
//! points and velocities differ in precision.
//!
//! [`run`] executes all steps. A [`Pipeline`] executes them one by one, for callers that time them, need the centres
//! of a device, or run on ranks that share the particles ([`Pipeline::across`]).
//!
//! ```
//! use ropewalk_pipeline::{LinkingLength, Options};
//! use ropewalk_io::{Points, Snapshot, Table};
//!
//! let points = vec![0.5f32, 5.0, 5.0, 9.75, 5.0, 5.0, 3.0, 3.0, 3.0];
//! let mut snapshot = Snapshot::new(Points::F32(Table::new(3, points)?));
//! snapshot.box_size = Some(10.0);
//! let mut options = Options::default();
//! options.linking_length = LinkingLength::Length(1.0);
//! options.min_members = 2;
//! let output = ropewalk_pipeline::run(&snapshot, &options)?;
//! assert_eq!(output.halos.members(0), [0, 1]);
//! assert_eq!(output.catalog.halos()[0].center, [0.125, 5.0, 5.0]);
//! # Ok::<(), ropewalk::Error>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod across;
mod overdensity_across;
mod attached;
mod attaching;
mod census;
mod centers;
mod columns;
mod combined;
mod errors;
mod matter_fraction;
mod matter_fraction_notes;
mod group_set;
mod gathered;
mod group_catalog;
mod hop;
mod largest;
mod members;
mod meta;
#[cfg(feature = "gpu")]
mod on_device;
mod options;
mod others;
mod output;
mod particle_sets;
mod particles;
mod profiles_across;
mod linking_length;
mod halo_name;
mod halo_rows;
mod shared;
mod spanning_tree;
mod state;
mod suitable_fits;
mod titles;
mod particle_types;
mod shared_state;

pub use attached::Attached;
pub use group_set::{FoundHalos, Unbound};
pub use halo_name::HaloName;
pub use halo_rows::HaloRows;
pub use largest::{Largest, LargestProfiles, profile_columns};
pub use linking_length::Scales;
pub use meta::Note;
pub use options::{CenterKind, Finder, LinkingLength, Options};
pub use output::{Measured, Output};
pub use particle_sets::ParticleSets;
pub use particles::particles_of;
pub use state::Pipeline;
use state::with_particles;
pub use suitable_fits::SuitableFits;
pub use titles::{add_cosmology, describe_cosmology};

use group_set::OnDevice;
use ropewalk::cluster::Fof;
use ropewalk::distributed::agree;
use ropewalk::{Error, Result};
use ropewalk_io::Snapshot;
use ropewalk_table::Catalog;
use ropewalk_table::columns::Meta;
use shared::Processor;

/// Finds the halos of a snapshot and measures them, on the CPU.
///
/// # Errors
/// - as [`Options::check`] and [`Pipeline::new`]
/// - as [`Fof::run`], [`CenterFinder::run`](ropewalk::halo::CenterFinder::run) and
///   [`overdensities`](ropewalk::halo::overdensities)
/// - a column that the catalogue does not have
pub fn run(snapshot: &Snapshot, options: &Options) -> Result<Output> {
    let pipeline = Pipeline::new(snapshot, options)?;
    let found = pipeline.find()?;
    let Measured { catalog, centers, notes } = pipeline.measure(&found)?;
    let largest = match options.profiles {
        0 => None,
        count => Some(pipeline.largest(&found, &catalog, count)?),
    };
    let profiles = largest.as_ref().map_or(Ok(vec![]), |largest| pipeline.profiles(&found, largest))?;
    let (meta, universe) = (pipeline.meta(), pipeline.whole.universe);
    let FoundHalos { halos, subhalos, .. } = found;
    Ok(Output { halos, subhalos, catalog, centers, largest, profiles, meta, notes, universe })
}

impl<'a> Pipeline<'a> {
    /// Finds the halos on the CPU; [`Pipeline::measure`] then finds their centres on the CPU, too. Collective.
    ///
    /// # Errors
    /// As [`Fof::run`], [`Hop::run`](ropewalk::Hop::run), or [`AdaptaHop::run`](ropewalk::AdaptaHop::run).
    pub fn find(&self) -> Result<FoundHalos<'a>> {
        if self.ranks.size() > 1 {
            return self.find_across(Processor::Cpu);
        }
        match &self.options.finder {
            Finder::FriendsOfFriends => {}
            Finder::Hop(hop) => return self.find_by_hop(hop),
            Finder::AdaptaHop { finder, .. } => return self.find_by_adaptahop(finder),
        }
        let fof = Fof::new(self.whole.scales.linking_length)
            .min_members(self.options.min_members)
            .periodic(self.whole.period);
        let halos = with_particles!(self, |positions, _particles| fof.run(positions))?;
        Ok(FoundHalos::new(halos))
    }

    /// Measures the halos: catalogue, centres, spheres, and the structure inside. Collective.
    ///
    /// Each of several ranks measures and keeps its own halos. Labels are those of all ranks, notes those of this
    /// rank; [`Pipeline::gather`] returns the rows of all ranks. Ranks exchange data only for spheres.
    ///
    /// # Errors
    /// - as [`Catalog::new`], [`CenterFinder::run`](ropewalk::halo::CenterFinder::run) and
    ///   [`overdensities`](ropewalk::halo::overdensities)
    /// - a column of the options that does not exist
    /// - particles of [`Pipeline::attaching`] that [`Pipeline::attach`] has not attached
    pub fn measure(&self, found: &FoundHalos<'_>) -> Result<Measured> {
        if self.others.is_some() && found.attached.is_none() {
            let message = "the other particles are not attached to the halos; call `attach` before `measure`";
            return Err(Error::missing("attach", message));
        }
        let here = self.owner_pipeline(found);
        let device = agree(self.ranks, here.device_of(found))?;
        let on_device = device.as_ref().or(found.on_device.as_ref());
        let mut measured = agree(self.ranks, here.members_of(found, on_device))?;
        if let Some(centers) = measured.centers.as_ref().filter(|_| !self.options.overdensities.is_empty())
            && let Some(spheres) = self.spheres(found, &found.halos, centers, &self.whole.thresholds)?
        {
            agree(self.ranks, here.add_spheres(found, &spheres, &mut measured))?;
        }
        agree(self.ranks, here.describe_and_keep(&mut measured))?;
        if let Some(halos) = found.across() {
            measured.catalog = measured.catalog.labelled(&halos.numbers());
        }
        Ok(measured)
    }

    /// Finds the centres of this rank's halos on its device, if several ranks have found halos on devices.
    fn device_of(&self, found: &FoundHalos<'_>) -> Result<Option<OnDevice<'_>>> {
        match found.shared.as_ref().map_or(Processor::Cpu, |shared| shared.place) {
            Processor::Cpu => Ok(None),
            #[cfg(feature = "gpu")]
            Processor::Device(device) => self.centers_on(&found.halos, device).map(Some),
        }
    }

    /// Measures everything that needs the members of halos only, that is, all except spheres and structure.
    fn members_of(&self, found: &FoundHalos<'_>, on_device: Option<&OnDevice<'_>>) -> Result<Measured> {
        let (halos, options) = (&found.halos, self.options);
        let mut catalog = with_particles!(self, |_positions, particles| Catalog::new(halos, &particles))?;
        catalog = catalog.units(self.whole.universe.known_units()).prefix(options.finder.column_prefix());
        if let Some(subhalos) = &found.subhalos {
            catalog.add_subhalos(subhalos)?;
        }
        if let Some(unbound) = &found.unbound {
            columns::add_unbound(&mut catalog, unbound)?;
        }
        self.add_types(&mut catalog, found)?;
        let (sets, universe) = (&self.whole.sets, &self.whole.universe);
        let mut notes: Vec<Note> = sets.unread_sentence().map(Note::TypesNotRead).into_iter().collect();
        // Without units a count cannot be mistaken for a mass.
        if self.counts_particles() && universe.units().is_some() {
            notes.push(Note::NoMasses);
        }
        if meta::has_some_ids(self, sets) {
            notes.extend(meta::notes_on_ids(self, sets).into_iter().map(Note::SomeIds));
        }
        notes.extend(meta::other_box(self).map(Note::OtherBox));
        notes.extend(self.filling_sentence().map(Note::PartOfVolume));
        notes.extend(self.filling_unknown().map(Note::FillingUnknown));
        if universe.redshift.is_none() && (self.whole.unbinding.is_some() || !options.overdensities.is_empty()) {
            notes.push(Note::NoRedshift);
        }
        let mut centers = None;
        if let Some(kind) = options.center_kind() {
            let found = self.centers(found, on_device, kind)?;
            columns::add_centers(&mut catalog, kind, &found, self.snapshot.ids.as_deref())?;
            notes.extend(meta::without_centers(&found, &catalog));
            centers = Some(found);
        }
        if options.most_connected {
            let found = self.centers(found, on_device, CenterKind::MostConnected)?;
            columns::add_most_connected(&mut catalog, &found, self.snapshot.ids.as_deref())?;
        }
        Ok(Measured { catalog, centers, notes })
    }

    /// Adds the spheres about the centres, and the structure of halos, which depends on them.
    fn add_spheres(
        &self,
        found: &FoundHalos<'_>,
        all: &overdensity_across::Spheres,
        measured: &mut Measured,
    ) -> Result<()> {
        let Measured { catalog, centers, notes } = measured;
        let Some(centers) = centers else { return Ok(()) };
        let universe = &self.whole.universe;
        let gravity = universe.conversion("overdensities")?.gravity();
        let lacks_velocities =
            found.attached.is_some() && self.others.as_ref().is_some_and(|others| !others.census.has_velocities);
        let with_spin = universe.has_velocity_unit && self.velocities.is_some() && !lacks_velocities;
        if self.velocities.is_some() && !universe.has_velocity_unit {
            notes.push(Note::NoVelocityUnit);
        } else if self.velocities.is_some() && lacks_velocities {
            notes.push(Note::NoAttachedVelocities);
        }
        let spheres = columns::Spheres {
            overdensities: &self.options.overdensities,
            min_particles: self.options.min_sphere_particles.max(1),
            with_spin,
        };
        let first = spheres.first(all);
        let structure = self.structure(found, centers, &first, gravity)?;
        spheres.add(catalog, all)?;
        spheres.add_structure(catalog, &structure, &first)
    }

    /// Adds to the descriptions of columns which particles these are over, and keeps only the columns of the options.
    fn describe_and_keep(&self, measured: &mut Measured) -> Result<()> {
        if self.counts_particles() {
            measured.catalog.count_particles();
        }
        self.whole.sets.describe(&mut measured.catalog);
        let columns = &self.options.columns;
        if columns.is_empty() { Ok(()) } else { measured.catalog.keep(columns) }
    }

    /// Returns the entries for the header of the catalogue: finder and its options, units, cosmology, notes.
    pub fn meta(&self) -> Vec<(&'static str, Meta)> {
        meta::entries(self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ropewalk_io::{Points, Table};

    use super::*;

    #[test]
    fn shared_tables_are_not_copied() {
        let values = Arc::new(vec![0.5f64, 5.0, 5.0, 9.75, 5.0, 5.0]);
        let table = || Points::F64(Table::shared(3, values.clone()).unwrap());
        let mut snapshot = Snapshot::new(table());
        snapshot.velocities = Some(table());
        snapshot.box_size = Some(10.0);
        let options = Options::default();
        let pipeline = Pipeline::new(&snapshot, &options).unwrap();
        for used in [&*pipeline.points, pipeline.velocities.as_deref().unwrap()] {
            let Points::F64(used) = used else { panic!("of another precision") };
            assert_eq!(used.as_slice().as_ptr(), values.as_ptr());
        }
    }
}
