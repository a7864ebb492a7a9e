//! `Header` and `Parameters` of a group catalogue.
//!
//! In: the halos that were found. Out: counts, box, epoch, cosmology and units, the particle types of the numbers,
//! and notes. Cost: negligible.

use ropewalk::units::Quantity;
use ropewalk_io::Snapshot;
use ropewalk_io::hdf5_write::{Group as Hdf5, Value};

use super::Tables;
use crate::ParticleSets;
use crate::meta::particle_notes;
use crate::particle_sets::listed;

impl Tables<'_> {
    pub(super) fn header<'d>(&self, ids: usize) -> Hdf5<'d> {
        let (groups, subhalos) = (self.structures.groups.len() as u64, self.structures.subhalos.len() as u64);
        let mut header = Hdf5::default();
        // AREPO calls subhalos subgroups.
        for (what, count) in [("groups", groups), ("subhalos", subhalos), ("subgroups", subhalos), ("ids", ids as u64)]
        {
            header.attribute(format!("N{what}_ThisFile"), count);
            header.attribute(format!("N{what}_Total"), count);
        }
        header.attribute("NumFiles", 1i32);
        header.attribute("Generator", concat!("ropewalk ", env!("CARGO_PKG_VERSION")));
        self.describe(&mut header);
        let sets = self.pipeline.particle_sets();
        for (name, kinds) in sets.lists().filter(|_| !sets.is_one_type()) {
            header.attribute(name, &*listed(kinds));
        }
        let shares = [
            ("mass_share_not_read", sets.unread_share),
            ("share_of_matter", self.pipeline.whole.scales.share_of_matter),
        ];
        for (name, share) in shares {
            if let Some(share) = share {
                header.attribute(name, share);
            }
        }
        let notes = self.notes(sets);
        if !notes.is_empty() {
            header.attribute("notes", Value::texts(&notes));
        }
        header
    }

    /// Returns sentences on the particles that numbers are over, and on missing data.
    fn notes(&self, sets: &ParticleSets) -> Vec<String> {
        let mut notes = particle_notes(self.pipeline, sets);
        let is_still = |others: &Snapshot| others.velocities.is_none() && !others.points.is_empty();
        if self.pipeline.velocities.is_some()
            && self.pipeline.others().is_some_and(is_still)
            && !sets.attached.is_empty()
        {
            notes.push("no velocities of groups: the attached particles have no velocities".into());
        }
        if let Some(side) = self.side().filter(|_| self.pipeline.whole.period.is_none()) {
            notes.push(format!("open boundaries: BoxSize is 0, and the box of side {side} is not used"));
        }
        notes
    }

    /// Returns the side of the box in the units of the file, whether or not the box is periodic.
    fn side(&self) -> Option<f64> {
        let side = self.pipeline.options.box_size.or(self.pipeline.snapshot.box_size)?;
        Some(side * self.factors.map_or(1.0, |factors| factors.of(Quantity::Length)))
    }

    pub(super) fn parameters<'d>(&self) -> Hdf5<'d> {
        let mut parameters = Hdf5::default();
        self.describe(&mut parameters);
        if let Some(cgs) = self.cgs {
            cgs.describe(&mut parameters);
        }
        parameters
    }

    /// Writes box, epoch and cosmology.
    fn describe(&self, group: &mut Hdf5<'_>) {
        let universe = &self.pipeline.whole.universe;
        let redshift = universe.redshift.unwrap_or(0.0);
        group.attribute("Time", 1.0 / (1.0 + redshift));
        group.attribute("Redshift", redshift);
        // 0 means open boundaries.
        group.attribute("BoxSize", self.side().filter(|_| self.pipeline.whole.period.is_some()).unwrap_or(0.0));
        group.attribute("Omega0", universe.omega_m.unwrap_or(0.0));
        group.attribute("OmegaLambda", universe.omega_lambda.unwrap_or(0.0));
        group.attribute("HubbleParam", universe.h.unwrap_or(0.0));
    }
}
