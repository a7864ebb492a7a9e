//! Particle types: attaches particles to halos, and adds the number and mass of each type in each halo to the
//! catalogue.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ropewalk::halo::Halos;
use ropewalk::units::Quantity;
use ropewalk::{Result, Scalar};
use ropewalk_io::{Points, Table};
use ropewalk_table::Catalog;
use ropewalk_table::columns::{Column, Values};

use super::attached::{Sums, sums_of};
use super::{Attached, FoundHalos, Pipeline};
use crate::errors;
use crate::matter_fraction::LOW_RESOLUTION;

impl<'a> Pipeline<'a> {
    /// Attaches the particles of [`Pipeline::attaching`] to the halos. Each joins the halo of the nearest linked
    /// particle within the linking length ([`Halos::attach`]). If that particle is in a subhalo, the other joins the
    /// subhalo, and all structures that contain it. Replaces particles that were attached before. Does nothing
    /// without such particles. Collective.
    ///
    /// Unbinding ([`Finder::AdaptaHop`](super::Finder::AdaptaHop)) comes first, and applies to linked particles only. A
    /// particle joins no halo if its nearest linked particle became ungrouped.
    ///
    /// # Errors
    /// As [`Halos::attach`].
    pub fn attach(&self, found: &mut FoundHalos<'a>) -> Result<()> {
        let Some(others) = &self.others else { return Ok(()) };
        if let Some(shared) = &mut found.shared {
            found.attached = Some(self.attach_across(others, shared)?);
            return Ok(());
        }
        let (others, length) = (others.part, self.whole.scales.linking_length);
        let labels = match (&*self.points, &others.points) {
            (Points::F32(linked), Points::F32(others)) => attach(&found.halos, linked, others, length)?,
            (Points::F64(linked), Points::F64(others)) => attach(&found.halos, linked, others, length)?,
            // Widening is exact.
            (Points::F32(linked), Points::F64(others)) => attach(&found.halos, &linked.widened(), others, length)?,
            (Points::F64(linked), Points::F32(others)) => attach(&found.halos, linked, &others.widened(), length)?,
        };
        let mut members = vec![vec![]; found.halos.len()];
        let halo_of = found.halos.halo_of_clusters();
        for (place, label) in (0..).zip(&labels) {
            let halo = usize::try_from(*label).ok().and_then(|label| usize::try_from(*halo_of.get(label)?).ok());
            match (halo, &found.subhalos) {
                (None, _) => {}
                (Some(halo), None) => members[halo].push(place),
                (Some(halo), Some(subhalos)) => subhalos.ancestors(halo).for_each(|at| members[at].push(place)),
            }
        }
        found.attached = Some(Attached::new(Cow::Borrowed(others), labels, members));
        Ok(())
    }

    /// Adds the number and the mass of particles of each type if there are several types, and their sums if particles
    /// are attached.
    pub(super) fn add_types(&self, catalog: &mut Catalog, found: &FoundHalos<'_>) -> Result<()> {
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

/// Adds the share of types 2 and 3 in the mass of each halo, if there are particles of these and of other types.
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
        "share of types 2 and 3 in the mass of the halo, the contamination if these are low-resolution dark matter";
    catalog.add(Column::new(catalog.name("contamination"), shares).description(description))
}

fn attach<S: Scalar>(halos: &Halos, linked: &Table<S>, others: &Table<S>, length: f64) -> Result<Vec<i32>> {
    let dim = |what, dim| errors::halo_dimension(what, dim);
    let linked = linked.rows::<3>().ok_or_else(|| dim("points", linked.dim()))?;
    let others = others.rows::<3>().ok_or_else(|| dim("attached points", others.dim()))?;
    halos.attach(linked, others, length)
}
