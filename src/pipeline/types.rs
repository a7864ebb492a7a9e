//! Particle types in the catalogue: particles that join halos, and the number and mass of each type in each halo.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::particle_sets::kinds;
use super::{Found, Pipeline};
use crate::columns::{Column, Values};
use crate::error::{Kind, Result};
use crate::geometry::Scalar;
use crate::halo::{Catalog, Halos};
use crate::io::{Masses, Points, Snapshot, Table};
use crate::parallel::map;
use crate::units::Quantity;

/// Types that are dark matter of low resolution in zoom runs.
const LOW_RESOLUTION: [u8; 2] = [2, 3];

/// The names of the lists of members of a type.
pub(super) fn list_names(kind: u8) -> [&'static str; 2] {
    static NAMES: LazyLock<Vec<[String; 2]>> = LazyLock::new(|| {
        (0..=u8::MAX).map(|kind| ["offsets", "ids"].map(|what| format!("{what}_type{kind}"))).collect()
    });
    NAMES[usize::from(kind)].each_ref().map(String::as_str)
}

/// Particles that joined halos after these were found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Attached<'a> {
    /// The label of each particle in the order of the snapshot of attached particles, -1 for none. Labels are those of the halos.
    /// [`Snapshot::of_type`] gives those of one type.
    pub labels: Vec<i32>,
    /// For each type, the number and the mass of its particles in each halo.
    sums: BTreeMap<u8, Sums>,
    /// For each halo, the places of its particles in their snapshot, ascending.
    members: Vec<Vec<u32>>,
    pub(super) others: &'a Snapshot,
}

/// For each halo, the number of particles of a type and their mass.
#[derive(Clone, Debug, PartialEq)]
struct Sums {
    counts: Vec<u64>,
    masses: Vec<f64>,
}

impl<'a> Attached<'a> {
    /// Particles of `others` that joined one of `halos` halos each: `halo_of` has the halo of each, `None` for none.
    pub(super) fn new(
        others: &'a Snapshot,
        labels: Vec<i32>,
        halos: usize,
        halo_of: impl Iterator<Item = Option<usize>>,
    ) -> Self {
        let mut members = vec![vec![]; halos];
        for (place, halo) in (0..).zip(halo_of) {
            if let Some(list) = halo.and_then(|halo| members.get_mut(halo)) {
                list.push(place);
            }
        }
        let sums = sums_of(others, halos, &|halo| &members[halo]);
        Self { labels, sums, members, others }
    }

    /// The places in their snapshot of the particles that joined a halo, ascending; empty if there is no such halo.
    pub fn members(&self, halo: usize) -> &[u32] {
        self.members.get(halo).map_or(&[], Vec::as_slice)
    }

    /// The snapshot of all particles that could join a halo.
    pub fn snapshot(&self) -> &'a Snapshot {
        self.others
    }

    /// The types of the attached particles, ascending.
    pub fn types(&self) -> Vec<u8> {
        kinds(self.others)
    }

    /// The particles of one type in each halo: their ids, or where they have none their indices among the particles of their type.
    pub(super) fn ids_of_type(&self, kind: u8) -> Vec<Vec<u64>> {
        let each = type_of_each(self.others);
        let ids = ids_or_places(self.others);
        let of = |list: &Vec<u32>| {
            let of_kind = list.iter().map(|&place| place as usize).filter(|&place| each.get(place) == Some(&kind));
            of_kind.map(|place| ids[place]).collect()
        };
        self.members.iter().map(of).collect()
    }
}

/// The type of each particle.
pub(super) fn type_of_each(snapshot: &Snapshot) -> Vec<u8> {
    snapshot.types.iter().flat_map(|run| std::iter::repeat_n(run.particle_type, run.count)).collect()
}

/// The id of each particle, or its index among the particles of its type where there are no ids.
fn ids_or_places(snapshot: &Snapshot) -> Vec<u64> {
    snapshot.ids.clone().unwrap_or_else(|| places_in_types(snapshot, &[0; 256]))
}

/// The index of each particle among those of its type, of which `before` come earlier.
pub(super) fn places_in_types(snapshot: &Snapshot, before: &[u64; 256]) -> Vec<u64> {
    let mut next = *before;
    let place = |kind: u8| {
        let place = &mut next[usize::from(kind)];
        *place += 1;
        *place - 1
    };
    type_of_each(snapshot).into_iter().map(place).collect()
}

impl<'a> Pipeline<'a> {
    /// Attaches the particles of [`Pipeline::attaching`] to the halos: each joins the halo of the nearest linked particle within the
    /// linking length ([`Halos::attach`]). Particles that were attached before are replaced. Without such particles, and for finders of
    /// subhalos, nothing happens.
    ///
    /// Errors: as [`Halos::attach`].
    pub fn attach(&self, found: &mut Found<'a>) -> Result<()> {
        let Some(others) = self.others.filter(|_| self.joins()) else { return Ok(()) };
        let length = self.scales.linking_length;
        let labels = match (&*self.points, &others.points) {
            (Points::F32(linked), Points::F32(others)) => attach(&found.halos, linked, others, length)?,
            (Points::F64(linked), Points::F64(others)) => attach(&found.halos, linked, others, length)?,
            // Widening is exact.
            (Points::F32(linked), Points::F64(others)) => attach(&found.halos, &linked.widened(), others, length)?,
            (Points::F64(linked), Points::F32(others)) => attach(&found.halos, linked, &others.widened(), length)?,
        };
        let halo_of = found.halos.halo_of_clusters();
        let halo = |label: &i32| usize::try_from(*halo_of.get(usize::try_from(*label).ok()?)?).ok();
        let halos: Vec<Option<usize>> = labels.iter().map(halo).collect();
        found.attached = Some(Attached::new(others, labels, found.halos.len(), halos.into_iter()));
        Ok(())
    }

    /// Adds the number and the mass of particles of each type, if there are several; where particles are attached, also their sums.
    pub(super) fn add_types(&self, catalog: &mut Catalog, found: &Found<'_>) -> Result<()> {
        let types = &self.snapshot.types;
        let is_one = types.iter().all(|run| Some(run.particle_type) == types.first().map(|first| first.particle_type));
        if is_one && found.attached.is_none() {
            return Ok(());
        }
        let halos = &found.halos;
        let mut all = sums_of(self.snapshot, halos.len(), &|halo| halos.members(halo));
        let linked: Vec<u8> = all.keys().copied().collect();
        if let Some(attached) = &found.attached {
            all.extend(attached.sums.iter().map(|(kind, sums)| (*kind, sums.clone())));
            add_totals(catalog, &all, halos.len())?;
        }
        for (kind, sums) in &all {
            let how = if linked.contains(kind) { "linked members" } else { "attached particles" };
            let counts = Column::new(catalog.name(&format!("count_type{kind}")), Values::Integers(sums.counts.clone()));
            catalog.add(counts.description(format!("{how} of type {kind}")))?;
            let masses = Column::new(catalog.name(&format!("mass_type{kind}")), Values::Numbers(sums.masses.clone()));
            let masses = masses.quantity(Quantity::Mass);
            catalog.add(masses.description(format!("mass of the {how} of type {kind}")))?;
        }
        add_contamination(catalog, &all, halos.len())
    }
}

/// Adds the number and the mass of all particles of each halo.
fn add_totals(catalog: &mut Catalog, all: &BTreeMap<u8, Sums>, halos: usize) -> Result<()> {
    let counts = (0..halos).map(|halo| all.values().map(|sums| sums.counts[halo]).sum()).collect();
    let masses: Vec<f64> = (0..halos).map(|halo| all.values().map(|sums| sums.masses[halo]).sum()).collect();
    catalog.set_total_masses(&masses);
    let counts = Column::new(catalog.name("count_total"), Values::Integers(counts));
    catalog.add(counts.description("number of linked members and attached particles"))?;
    let masses = Column::new(catalog.name("mass_total"), Values::Numbers(masses)).quantity(Quantity::Mass);
    catalog.add(masses.description("mass of the linked members and attached particles"))
}

/// Adds the share of types 2 and 3 in the mass of each halo, if there are particles of these types beside others.
fn add_contamination(catalog: &mut Catalog, all: &BTreeMap<u8, Sums>, halos: usize) -> Result<()> {
    let is_low = |kind: &u8| LOW_RESOLUTION.contains(kind);
    if !all.keys().any(is_low) || all.keys().all(is_low) {
        return Ok(());
    }
    let share = |halo: usize| {
        let mass = |wanted: &dyn Fn(&u8) -> bool| -> f64 {
            all.iter().filter(|(kind, _)| wanted(kind)).map(|(_, sums)| sums.masses[halo]).sum()
        };
        let total = mass(&|_| true);
        if total > 0.0 { mass(&is_low) / total } else { 0.0 }
    };
    let shares = Values::Numbers((0..halos).map(share).collect());
    let description =
        "share of types 2 and 3 in the mass of the halo: contamination where these are low-resolution dark matter";
    catalog.add(Column::new(catalog.name("contamination"), shares).description(description))
}

fn attach<S: Scalar>(halos: &Halos, linked: &Table<S>, others: &Table<S>, length: f64) -> Result<Vec<i32>> {
    let dim = |what, dim| crate::Error::from(Kind::HaloDimension { what, dim });
    let linked = linked.rows::<3>().ok_or_else(|| dim("points", linked.dim()))?;
    let others = others.rows::<3>().ok_or_else(|| dim("attached points", others.dim()))?;
    halos.attach(linked, others, length)
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
