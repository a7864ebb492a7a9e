//! Particle types in the catalogue: how many members of each, their mass, and the particles that were attached.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::{Found, Pipeline, with_particles};
use crate::error::{Kind, Result};
use crate::geometry::Scalar;
use crate::halo::particles::check_masses;
use crate::halo::{
    Catalog, Centers, Column, Halos, NoSphere, Particles, Profile, Profiles, SphericalOverdensity, Values,
    overdensities,
};
use crate::io::{Masses, Points, Snapshot, Table};
use crate::parallel::map;
use crate::units::Quantity;

/// Of each centre, a sphere for each threshold.
pub(super) type Spheres = Vec<Vec<std::result::Result<SphericalOverdensity, NoSphere>>>;

/// Particles that joined halos after these were found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attached<'a> {
    /// The label of each in the order of their snapshot, as those of the halos; -1 for none.
    pub labels: Vec<i32>,
    /// Of each type, the number in each of the halos and their mass.
    sums: BTreeMap<u8, Sums>,
    /// Of each halo, the places of its particles in their snapshot, ascending.
    members: Vec<Vec<u32>>,
    pub(super) others: &'a Snapshot,
    /// Linked and attached particles together, once they are asked for.
    all: OnceLock<Snapshot>,
}

/// Of each halo, the number of particles of a type and their mass.
#[derive(Clone, Debug, PartialEq)]
struct Sums {
    counts: Vec<u64>,
    masses: Vec<f64>,
}

impl Attached<'_> {
    /// The places in their snapshot of the particles that joined a halo, ascending; none if there is no such halo.
    pub fn members(&self, halo: usize) -> &[u32] {
        self.members.get(halo).map_or(&[], Vec::as_slice)
    }

    /// The ids of all of them, if they have any.
    pub(super) fn ids(&self) -> Option<&[u64]> {
        self.others.ids.as_deref()
    }
}

impl<'a> Pipeline<'a> {
    /// Attaches the particles of `others`, which are in the units of the pipeline's snapshot, to the halos: each joins the halo of the
    /// nearest linked particle within the linking length ([`Halos::attach`]). The catalogue then has counts and masses of each type, and
    /// spheres and profiles are of all particles, linked or not, attached or not.
    ///
    /// What was attached before is replaced.
    ///
    /// Errors: as [`Halos::attach`]; particles that have not three coordinates, or more than 2^32 - 1 of them; masses of the linked or of the
    /// attached ones alone; halos with subhalos, whose particles have no linking length.
    pub fn attach(&self, found: &mut Found<'a>, others: &'a Snapshot) -> Result<()> {
        if found.subhalos.is_some() {
            let message = "particles are attached to halos of friends of friends or HOP, not to subhalos".into();
            return Err(Kind::Missing { name: "attach", message }.into());
        }
        let is_bare = |snapshot: &Snapshot| snapshot.masses == Masses::Unknown;
        if is_bare(self.snapshot) != is_bare(others) {
            let (with, without) = if is_bare(others) { ("linked", "attached") } else { ("attached", "linked") };
            let message = format!("the {with} particles have masses, and the {without} ones have none");
            return Err(Kind::Missing { name: "masses", message }.into());
        }
        match &others.masses {
            Masses::Equal(mass) => check_masses(&[*mass])?,
            Masses::Each(masses) => check_masses(masses)?,
            Masses::Unknown => {}
        }
        let (n, max) = (others.points.len(), u32::MAX as usize);
        if n > max {
            return Err(Kind::TooMany { n, max }.into());
        }
        let length = self.scales.linking_length;
        let labels = match (&*self.points, &others.points) {
            (Points::F32(linked), Points::F32(others)) => attach(&found.halos, linked, others, length)?,
            (Points::F64(linked), Points::F64(others)) => attach(&found.halos, linked, others, length)?,
            // Widening is exact.
            (Points::F32(linked), Points::F64(others)) => attach(&found.halos, &linked.widened(), others, length)?,
            (Points::F64(linked), Points::F32(others)) => attach(&found.halos, linked, &others.widened(), length)?,
        };
        let halo_of = found.halos.halo_of_clusters();
        let halo = |place: usize| {
            let label = usize::try_from(labels[place]).ok()?;
            usize::try_from(*halo_of.get(label)?).ok()
        };
        let mut members = vec![vec![]; found.halos.len()];
        for place in 0..labels.len() {
            if let Some(halo) = halo(place) {
                members[halo].push(place as u32);
            }
        }
        let sums = sums_of(others, found.halos.len(), &|halo| &members[halo]);
        found.attached = Some(Attached { labels, sums, members, others, all: OnceLock::new() });
        Ok(())
    }

    /// All particles together, if some are attached: positions and masses.
    fn all<'f>(&self, found: &'f Found<'_>) -> Option<&'f Snapshot> {
        let Attached { others, all, .. } = found.attached.as_ref()?;
        Some(all.get_or_init(|| {
            let points = match (&*self.points, &others.points) {
                (Points::F32(a), Points::F32(b)) => {
                    Points::F32(Table::of(a.dim(), [a.as_slice(), b.as_slice()].concat()))
                }
                (a, b) => Points::F64(Table::of(a.dim(), [a, b].map(wide).concat())),
            };
            let each = |snapshot: &Snapshot| match &snapshot.masses {
                Masses::Equal(mass) => vec![*mass; snapshot.points.len()],
                Masses::Each(masses) => masses.clone(),
                Masses::Unknown => vec![1.0; snapshot.points.len()],
            };
            let masses = Masses::Each([each(self.snapshot), each(others)].concat());
            Snapshot { masses, ..Snapshot::new(points) }
        }))
    }

    /// Spheres about centres, over all particles that were read.
    pub(super) fn spheres(&self, found: &Found<'_>, centers: &Centers, thresholds: &[f64]) -> Result<Spheres> {
        match self.all(found).map(|all| (&all.points, all)) {
            None => with_particles!(self, |_positions, particles| overdensities(&particles, centers, thresholds)),
            Some((Points::F32(table), all)) => overdensities(&self.of(table, all)?, centers, thresholds),
            Some((Points::F64(table), all)) => overdensities(&self.of(table, all)?, centers, thresholds),
        }
    }

    /// Profiles about centres, over all particles that were read.
    pub(super) fn shells(
        &self,
        found: &Found<'_>,
        centers: &Centers,
        radii: &[f64],
        how: &Profiles,
    ) -> Result<Vec<Profile>> {
        match self.all(found).map(|all| (&all.points, all)) {
            None => with_particles!(self, |_positions, particles| how.run(&particles, centers, radii)),
            Some((Points::F32(table), all)) => how.run(&self.of(table, all)?, centers, radii),
            Some((Points::F64(table), all)) => how.run(&self.of(table, all)?, centers, radii),
        }
    }

    fn of<'s, S: Scalar>(&self, table: &'s Table<S>, all: &'s Snapshot) -> Result<Particles<'s, S>> {
        let rows = table.rows::<3>().ok_or(Kind::HaloDimension { what: "points", dim: table.dim() })?;
        Ok(Particles::of_snapshot(rows, all, self.period))
    }

    /// Adds counts and masses of each type, if there are several.
    pub(super) fn add_types(&self, catalog: &mut Catalog, found: &Found<'_>) -> Result<()> {
        let types = &self.snapshot.types;
        let is_one = types.iter().all(|run| Some(run.particle_type) == types.first().map(|first| first.particle_type));
        if is_one && found.attached.is_none() {
            return Ok(());
        }
        let halos = &found.halos;
        let linked = sums_of(self.snapshot, halos.len(), &|halo| halos.members(halo));
        let attached = found.attached.as_ref().map(|attached| &attached.sums);
        for (sums, how) in [(Some(&linked), "members"), (attached, "attached particles")] {
            for (kind, sums) in sums.into_iter().flatten() {
                let counts =
                    Column::new(catalog.name(&format!("count_type{kind}")), Values::Integers(sums.counts.clone()));
                catalog.add(counts.description(format!("{how} of type {kind}")))?;
                let masses =
                    Column::new(catalog.name(&format!("mass_type{kind}")), Values::Numbers(sums.masses.clone()));
                let masses = masses.quantity(Quantity::Mass);
                catalog.add(masses.description(format!("mass of the {how} of type {kind}")))?;
            }
        }
        Ok(())
    }
}

fn attach<S: Scalar>(halos: &Halos, linked: &Table<S>, others: &Table<S>, length: f64) -> Result<Vec<i32>> {
    let dim = |what, dim| crate::Error::from(Kind::HaloDimension { what, dim });
    let linked = linked.rows::<3>().ok_or_else(|| dim("points", linked.dim()))?;
    let others = others.rows::<3>().ok_or_else(|| dim("attached points", others.dim()))?;
    halos.attach(linked, others, length)
}

/// All coordinates, in 64 bits.
fn wide(points: &Points) -> Vec<f64> {
    match points {
        Points::F32(table) => table.widened().into_vec(),
        Points::F64(table) => table.as_slice().to_vec(),
    }
}

/// Counts and masses of each type in each halo; members are added in their order.
fn sums_of<'a>(snapshot: &Snapshot, halos: usize, members: &(dyn Fn(usize) -> &'a [u32] + Sync)) -> BTreeMap<u8, Sums> {
    let ends: Vec<usize> = snapshot
        .types
        .iter()
        .scan(0, |end, run| {
            *end += run.count;
            Some(*end)
        })
        .collect();
    let mut kinds: Vec<u8> = snapshot.types.iter().map(|run| run.particle_type).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mass_of = |place: usize| match &snapshot.masses {
        Masses::Equal(mass) => *mass,
        Masses::Each(masses) => masses[place],
        Masses::Unknown => 1.0,
    };
    let rows = map(halos, 16, &|halo| {
        let mut sums = vec![(0u64, 0.0); kinds.len()];
        for &member in members(halo) {
            let run = ends.partition_point(|&end| end <= member as usize);
            let kind = snapshot.types.get(run).and_then(|run| kinds.binary_search(&run.particle_type).ok());
            if let Some(sum) = kind.and_then(|kind| sums.get_mut(kind)) {
                *sum = (sum.0 + 1, sum.1 + mass_of(member as usize));
            }
        }
        sums
    });
    let of = |at: usize| Sums {
        counts: rows.iter().map(|row| row[at].0).collect(),
        masses: rows.iter().map(|row| row[at].1).collect(),
    };
    kinds.iter().enumerate().map(|(at, &kind)| (kind, of(at))).collect()
}
