//! From a snapshot to a catalogue of its halos.
//!
//! - in: a [`Snapshot`], as [`ropewalk_io::read`] returns it or made of points ([`Snapshot::new`]), and [`Options`]
//! - out: an [`Output`] with halos, catalogue, centres, profiles and notes; files, pictures and printing are the caller's
//! - cost: that of its parts, [`Fof`], [`CenterFinder`](ropewalk::CenterFinder), [`overdensities`](ropewalk::halo::overdensities) and
//!   [`profiles`](ropewalk::halo::profiles); the snapshot is not copied, nor are tables that it shares ([`Table::shared`](ropewalk_io::Table::shared)), unless its
//!   velocities have another precision than its points
//!
//! [`run`] takes all steps; a [`Pipeline`] takes them one by one, for callers that time them or need the centres of a device.
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

mod across;
mod around;
mod attached;
mod centers;
mod columns;
mod combined;
mod errors;
mod filling;
mod found;
mod group_catalog;
mod hop;
mod largest;
mod largest_across;
mod members_across;
mod meta;
#[cfg(feature = "gpu")]
mod on_device;
mod options;
mod output;
mod others_across;
mod particle_sets;
mod particles;
mod scales;
mod spanning_tree;
mod state;
mod types;
mod whole;

use std::borrow::Cow;
use std::sync::OnceLock;

pub use across::Across;
pub use attached::Attached;
pub use found::{Found, Unbound};
pub use largest::{Largest, profile_columns};
pub use largest_across::{LargestAcross, LargestProfiles};
pub use meta::Note;
pub use options::{CenterKind, Finder, LinkingLength, Options};
pub use output::{Measured, Output};
pub use particle_sets::ParticleSets;
use particle_sets::{kinds, mass_sum};
pub use particles::particles_of;
pub use scales::Scales;
pub use state::Pipeline;
use state::with_particles;

use ropewalk::cluster::Fof;
use ropewalk::halo::Overdensity;
use ropewalk::{Error, Result};
use ropewalk_io::{Masses, Points, Snapshot};
use ropewalk_table::Catalog;
use ropewalk_table::columns::{Meta, Values};

const R200C: Overdensity = Overdensity::Critical(200.0);

/// Finds the halos of a snapshot and measures them, on the CPU.
///
/// Errors: what [`Options::check`] and [`Pipeline::new`] refuse; what [`Fof::run`], [`CenterFinder::run`](ropewalk::CenterFinder::run) and
/// [`overdensities`](ropewalk::halo::overdensities) refuse; a column that the catalogue does not have.
pub fn run(snapshot: &Snapshot, options: &Options) -> Result<Output> {
    let pipeline = Pipeline::new(snapshot, options)?;
    let found = pipeline.find()?;
    let Measured { catalog, centers, notes } = pipeline.measure(&found)?;
    let largest = match options.profiles {
        0 => None,
        count => Some(pipeline.largest(&found, &catalog, count)?),
    };
    let profiles = largest.as_ref().map_or(Ok(vec![]), |largest| pipeline.profiles(largest))?;
    let (meta, universe) = (pipeline.meta(), pipeline.universe);
    let Found { halos, subhalos, .. } = found;
    Ok(Output { halos, subhalos, catalog, centers, largest, profiles, meta, notes, universe })
}

impl<'a> Pipeline<'a> {
    /// Checks the options and the snapshot against each other, before the work.
    ///
    /// Errors: what [`Options::check`] refuses; points or velocities that have not three coordinates; points that span more than
    /// the box; no mean separation, if the linking length is in that; overdensities, profiles or unbinding without masses, units or a density
    /// of matter ([`ErrorKind::Missing`](ropewalk::ErrorKind::Missing)).
    pub fn new(snapshot: &'a Snapshot, options: &'a Options) -> Result<Self> {
        options.check()?;
        particles::check_dimensions(snapshot)?;
        // Widening is exact.
        let (points, velocities) = match (&snapshot.points, &snapshot.velocities) {
            (Points::F32(points), Some(velocities @ Points::F64(_))) => {
                (Cow::Owned(Points::F64(points.widened())), Some(Cow::Borrowed(velocities)))
            }
            (points @ Points::F64(_), Some(Points::F32(velocities))) => {
                (Cow::Borrowed(points), Some(Cow::Owned(Points::F64(velocities.widened()))))
            }
            (points, velocities) => (Cow::Borrowed(points), velocities.as_ref().map(Cow::Borrowed)),
        };
        let side = options.box_size.or(snapshot.box_size);
        let universe = snapshot.universe(&options.universe, side);
        let (n, volume) = (snapshot.points.len() as u64, scales::volume(&snapshot.points, side));
        let mass = filling::mass(snapshot, snapshot.matter, [&kinds(snapshot), &[]], || mass_sum(snapshot));
        let share = filling::share(&universe, mass, volume);
        let scales = Scales::of(options.linking_length, n, volume, share)?;
        let period = side.filter(|_| !options.open);
        let outside = match period {
            Some(side) => snapshot.points.check_box(side, snapshot.box_size == Some(side))?,
            None => 0,
        };
        let thresholds = |overdensities: &[Overdensity], what: &str| {
            if universe.omega_m.is_some() && snapshot.masses == Masses::Unknown {
                let message = format!("{what} need masses, and the snapshot has none");
                return Err(Error::missing("masses", message));
            }
            universe.thresholds(overdensities, what)
        };
        let spheres = match &options.overdensities[..] {
            [] => vec![],
            overdensities => thresholds(overdensities, "overdensities")?,
        };
        let r200c = match options.profiles {
            0 => thresholds(&[R200C], "profiles").ok(),
            _ => Some(thresholds(&[R200C], "profiles")?),
        };
        let r200c = r200c.and_then(|thresholds| thresholds.first().copied());
        let unbinding = hop::unbinding(options, snapshot, &universe)?;
        Ok(Self {
            snapshot,
            options,
            points,
            velocities,
            scales,
            period,
            outside,
            outside_others: 0,
            universe,
            thresholds: spheres,
            r200c,
            unbinding,
            n,
            has_ids: snapshot.ids.is_some(),
            others: None,
            others_without_ids: vec![],
            all: OnceLock::new(),
            whole_sets: None,
        })
    }

    /// Finds the halos on the CPU, which finds their centres, too.
    ///
    /// Errors as [`Fof::run`], [`Hop::run`](ropewalk::Hop::run), or [`AdaptaHop::run`](ropewalk::AdaptaHop::run).
    pub fn find(&self) -> Result<Found<'a>> {
        match &self.options.finder {
            Finder::FriendsOfFriends => {}
            Finder::Hop(hop) => return self.find_by_hop(hop),
            Finder::AdaptaHop { finder, .. } => return self.find_by_adaptahop(finder),
        }
        let fof = Fof::new(self.scales.linking_length).min_members(self.options.min_members).periodic(self.period);
        let halos = with_particles!(self, |positions, _particles| fof.run(positions))?;
        Ok(Found { halos, density: None, subhalos: None, unbound: None, on_device: None, attached: None })
    }

    /// Measures the halos: catalogue, centres, and spheres with the structure inside.
    ///
    /// Errors: as [`Catalog::new`], [`CenterFinder::run`](ropewalk::CenterFinder::run) and [`overdensities`](ropewalk::halo::overdensities); a column that is asked for and
    /// not there; particles of [`Pipeline::attaching`] that [`Pipeline::attach`] has not attached.
    pub fn measure(&self, found: &Found<'_>) -> Result<Measured> {
        if self.others.is_some() && self.joins() && found.attached.is_none() {
            let message = "particles are to be attached to the halos before these are measured";
            return Err(Error::missing("attach", message));
        }
        let mut measured = self.members_of(found)?;
        if let Some(centers) = measured.centers.as_ref().filter(|_| !self.options.overdensities.is_empty()) {
            let spheres = self.spheres(centers, &self.thresholds)?;
            self.add_spheres(found, &spheres, &mut measured)?;
        }
        self.describe_and_keep(&mut measured)?;
        Ok(measured)
    }

    /// What the members of halos tell: all but the spheres.
    fn members_of(&self, found: &Found<'_>) -> Result<Measured> {
        let (halos, options) = (&found.halos, self.options);
        let mut catalog = with_particles!(self, |_positions, particles| Catalog::new(halos, &particles))?;
        catalog = catalog.units(self.universe.known_units()).prefix(options.finder.column_prefix());
        if let Some(subhalos) = &found.subhalos {
            catalog.add_subhalos(subhalos)?;
        }
        if let Some(unbound) = &found.unbound {
            columns::add_unbound(&mut catalog, unbound)?;
        }
        self.add_types(&mut catalog, found)?;
        let sets = self.particle_sets();
        let mut notes: Vec<Note> = sets.unread_sentence().map(Note::TypesNotRead).into_iter().collect();
        // Without units nobody takes a count for a mass.
        if self.counts_particles() && self.universe.units().is_some() {
            notes.push(Note::NoMasses);
        }
        if meta::has_some_ids(self, &sets) {
            notes.extend(meta::notes_on_ids(self, &sets).into_iter().map(Note::SomeIds));
        }
        notes.extend(sets.in_spheres_sentence(options.finder.column_prefix()).map(Note::TypesInSpheres));
        notes.extend(self.filling_sentence().map(Note::PartOfVolume));
        notes.extend(self.filling_unknown().map(Note::FillingUnknown));
        notes.extend(self.contamination_sentence().map(Note::NoContamination));
        if self.universe.redshift.is_none() && (self.unbinding.is_some() || !options.overdensities.is_empty()) {
            notes.push(Note::NoRedshift);
        }
        let mut centers = None;
        if let Some(kind) = options.center_kind() {
            let found = self.centers(found, kind)?;
            columns::add_centers(&mut catalog, kind, &found, self.snapshot.ids.as_deref())?;
            notes.extend(meta::without_centers(&found, &catalog));
            centers = Some(found);
        }
        if options.most_connected {
            let found = self.centers(found, CenterKind::MostConnected)?;
            columns::add_most_connected(&mut catalog, &found, self.snapshot.ids.as_deref())?;
        }
        Ok(Measured { catalog, centers, notes })
    }

    /// The spheres about the centres, and the structure of halos, which depends on them.
    fn add_spheres(&self, found: &Found<'_>, all: &combined::Spheres, measured: &mut Measured) -> Result<()> {
        let Measured { catalog, centers, notes } = measured;
        let Some(centers) = centers else { return Ok(()) };
        let gravity = self.universe.conversion("overdensities")?.gravity();
        // Of a part of a whole without particles the whole knows whether the others have velocities.
        let is_empty = |others: &Snapshot| others.points.is_empty() && self.whole_sets.is_none();
        let is_still = |attached: &Attached<'_>| attached.others.velocities.is_none() && !is_empty(attached.others);
        let lacks_velocities = found.attached.as_ref().is_some_and(is_still);
        let with_spin = self.universe.has_velocity_unit && self.velocities.is_some() && !lacks_velocities;
        if self.velocities.is_some() && !self.universe.has_velocity_unit {
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

    /// Says which particles columns are over, and keeps only the columns that are asked for.
    fn describe_and_keep(&self, measured: &mut Measured) -> Result<()> {
        if self.counts_particles() {
            measured.catalog.count_particles();
        }
        self.particle_sets().describe(&mut measured.catalog);
        let columns = &self.options.columns;
        if columns.is_empty() { Ok(()) } else { measured.catalog.keep(columns) }
    }

    /// The linked members of all halos in the order of the catalogue: `offsets`, and the `ids` one halo after the other; for each
    /// attached type `offsets_type0` and `ids_type0` likewise. Particles without ids are named by their index: among the linked ones,
    /// or among the attached ones of their type.
    pub fn members(&self, found: &Found<'_>, catalog: &Catalog) -> Vec<(&'static str, Values)> {
        let ids = self.snapshot.ids.as_deref();
        let linked = |halo: usize| found.halos.members(halo).iter().map(|&member| columns::id(ids, member)).collect();
        let linked = columns::lists(catalog, &linked);
        let mut members: Vec<_> = ["offsets", "ids"].into_iter().zip(linked).collect();
        for kind in found.attached.iter().flat_map(Attached::types) {
            let lists = found.attached.as_ref().map(|attached| attached.ids_of_type(kind)).unwrap_or_default();
            let lists = columns::lists(catalog, &|halo| lists[halo].clone());
            members.extend(attached::list_names(kind).into_iter().zip(lists));
        }
        members
    }

    /// Entries for the header of the catalogue: how the halos were found, units, cosmology, notes.
    pub fn meta(&self) -> Vec<(&'static str, Meta)> {
        meta::entries(self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ropewalk_io::Table;

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
