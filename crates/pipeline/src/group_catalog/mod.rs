//! Halos as a group catalogue of GADGET-4, `fof_subhalo_tab`, which yt and pynbody open.
//!
//! - in: the halos that were found, and their catalogue
//! - out: HDF5 with `Header`, `Parameters`, `Group`, `Subhalo` and `IDs`, in Gadget's units if those of the snapshot
//!   are known
//! - cost: one pass over the members
//!
//! A group is a halo that is not in another halo, and its subhalos are the structures in it. The first subhalo, of
//! rank 0, is the halo without the others, so that each member is in exactly one subhalo. Ids are sorted by group,
//! then by subhalo, then by type. Velocities are peculiar. Quantities that are not measured have no data set; missing
//! spheres have mass and radius 0.
//! Sources: the documentation of GADGET-4, "Groups and subhalos"; of IllustrisTNG, "Data specifications".

mod header;
mod members;
mod structures;
#[cfg(test)]
mod tests;

use std::io::Write;

use members::MemberSums;
use ropewalk::units::{Factors, Quantity, Units};
use ropewalk::{Error, Result};
use ropewalk_io::Snapshot;
use ropewalk_io::hdf5_write::{Dataset, Group as Hdf5};
use ropewalk_io::unit_constants::Cgs;
use ropewalk_table::columns::{Column, Values};
use ropewalk_table::{Catalog, Halo, Motion};
use structures::{OwnMembers, Structures};

use super::{FoundHalos, Pipeline};

/// The minimum number of types in data sets by type.
const TYPES: usize = 6;
/// The names of overdensities in this crate and in GADGET-4.
const SPHERES: [(&str, &str); 4] =
    [("200c", "Crit200"), ("500c", "Crit500"), ("200m", "Mean200"), ("vir", "TopHat200")];

impl Pipeline<'_> {
    /// Writes the halos as a group catalogue of GADGET-4, in HDF5. yt expects a file name `NAME.0.hdf5`, pynbody
    /// `fof_subhalo_tab_NAME.0.hdf5`.
    ///
    /// - units: comoving Mpc/h, 1e10 Msun/h and peculiar km/s, which readers assume, if the snapshot's units are
    ///   known
    /// - masses, counts, centres of mass, velocities and dispersions of groups are over linked members and attached
    ///   particles
    /// - positions are the centres if the options request centres, otherwise the centres of mass
    /// - missing are columns that [`Options::columns`](super::Options::columns) leaves out, and velocities of groups
    ///   and subhalos if attached particles have no velocities
    /// - `BoxSize` is 0 if boundaries are open
    /// - the group `IDs` is missing if some of the linked and attached particles have no ids
    /// - if the file has several types, the attributes `linked_types`, `attached_types`, `types_not_read` and
    ///   `mass_share_not_read` of `Header` say which particles the numbers are over
    /// - if particles fill only a part of the volume, `Header` has the attribute `share_of_matter`
    /// - the attribute `notes` of `Header` has further notes for readers, including those of the snapshot
    ///
    /// ```
    /// use ropewalk_pipeline::{LinkingLength, Options, Pipeline};
    /// use ropewalk_io::{Points, Snapshot, Table};
    ///
    /// let snapshot = Snapshot::new(Points::F32(Table::new(3, vec![0.0, 5.0, 5.0, 0.5, 5.0, 5.0])?));
    /// let mut options = Options::default();
    /// (options.linking_length, options.min_members) = (LinkingLength::Length(1.0), 2);
    /// let pipeline = Pipeline::new(&snapshot, &options)?;
    /// let found = pipeline.find()?;
    /// let catalog = pipeline.measure(&found)?.catalog;
    /// let mut bytes = vec![];
    /// pipeline.write_group_catalog(&mut bytes, &found, &catalog)?;
    /// assert!(bytes.starts_with(b"\x89HDF"));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// As `out` and [`Catalog::new`]; several ranks.
    pub fn write_group_catalog(&self, mut out: impl Write, found: &FoundHalos<'_>, catalog: &Catalog) -> Result<()> {
        self.require_one_rank("group catalogues")?;
        let structures = Structures::new(catalog);
        let (factors, cgs) = self.to_gadget().unzip();
        let tables = Tables { pipeline: self, found, catalog, structures, cgs, factors };
        tables.root()?.write(&mut out).map_err(Error::write)
    }

    /// Returns the factors from the snapshot's units to Gadget's, and Gadget's units in cgs. `None` if the units, or
    /// a required h, are not known.
    fn to_gadget(&self) -> Option<(Factors, Cgs)> {
        let (z, h) = (self.whole.universe.redshift.unwrap_or(0.0), self.whole.universe.h);
        let factors = Factors::new(self.whole.universe.units()?, &Units::GADGET, z, h).ok()?;
        Some((factors, Cgs::new(&Units::GADGET.conversion(z, h).ok()?)))
    }
}

/// The data from which the groups of the file are made.
struct Tables<'a> {
    pipeline: &'a Pipeline<'a>,
    found: &'a FoundHalos<'a>,
    catalog: &'a Catalog,
    structures: Structures,
    cgs: Option<Cgs>,
    /// The factors to the units that readers assume.
    factors: Option<Factors>,
}

impl Tables<'_> {
    fn root<'d>(&self) -> Result<Hdf5<'d>> {
        let width = self.types();
        let (group, ids) = self.groups(width)?;
        // Indices of particles without ids could coincide with ids of other particles.
        let ids = Some(ids).filter(|_| self.pipeline.notes_on_ids().is_empty());
        let mut root = Hdf5::default();
        root.group("Header", self.header(ids.as_ref().map_or(0, Vec::len)));
        root.group("Parameters", self.parameters());
        root.group("Group", group);
        root.group("Subhalo", self.subhalos(width)?);
        if let Some(ids) = ids {
            let mut members = Hdf5::default();
            members.dataset("ID", Dataset::owned(ids, None));
            root.group("IDs", members);
        }
        Ok(root)
    }

    /// Returns the number of types in data sets by type.
    fn types(&self) -> usize {
        let attached = self.found.attached.as_ref().map(|attached| &*attached.others);
        let snapshots = [Some(self.pipeline.snapshot), attached];
        let kinds = snapshots.into_iter().flatten().flat_map(|snapshot| &snapshot.types);
        kinds.map(|run| usize::from(run.particle_type) + 1).max().unwrap_or(0).max(TYPES)
    }

    /// Returns the data sets of groups, and the ids of all members, which are meaningful only if all particles have
    /// ids.
    fn groups<'d>(&self, width: usize) -> Result<(Hdf5<'d>, Vec<u64>)> {
        let groups = &self.structures.groups;
        let (mut counts, mut masses, mut ids) = (vec![], vec![], vec![]);
        for group in groups {
            let mut all = MemberSums::new(width);
            let inner = &self.structures.subhalos[group.subhalos.clone()];
            // Without subhalos all members are the group's own.
            let rows = if inner.is_empty() { vec![group.row] } else { inner.iter().map(|inner| inner.row).collect() };
            let own: Vec<OwnMembers> = rows.into_iter().map(|row| self.own(row)).collect();
            // Readers find the ids of a subhalo by the numbers of particles in those before it.
            own.iter().for_each(|own| all.add(self.parts(own)));
            counts.extend(all.counts);
            masses.extend(all.masses);
            ids.append(&mut all.ids);
        }
        let rows: Vec<usize> = groups.iter().map(|group| group.row).collect();
        let of_all = self.pipeline.halos_of_all(self.found)?;
        let halo = |&row: &usize| match &of_all {
            Some(halos) => &halos[self.catalog.order()[row] as usize],
            None => &self.catalog.halos()[row],
        };
        let halos: Vec<&Halo> = rows.iter().map(halo).collect();
        let lengths = counts.chunks_exact(width).map(|counts| counts.iter().sum::<u64>()).collect();
        let totals = masses.chunks_exact(width).map(|masses| masses.iter().sum()).collect();
        let redshift = self.pipeline.whole.universe.redshift.unwrap_or(0.0);
        let mut out = Hdf5::default();
        out.dataset("GroupLen", Dataset::owned(lengths, None));
        out.dataset("GroupLenType", Dataset::owned(counts, Some(width)));
        out.dataset("GroupMass", self.scaled(totals, None, Quantity::Mass));
        out.dataset("GroupMassType", self.scaled(masses, Some(width), Quantity::Mass));
        out.dataset("GroupPos", self.positions(&rows, &halos));
        let centers = halos.iter().flat_map(|halo| halo.center).collect();
        out.dataset("GroupCM", self.scaled(centers, Some(3), Quantity::Length));
        self.add_motions(&mut out, "Group", &halos.iter().map(|halo| halo.motion).collect::<Vec<_>>());
        out.dataset("GroupAscale", Dataset::owned(vec![1.0 / (1.0 + redshift); rows.len()], None));
        let first =
            |group: &structures::Group| if group.subhalos.is_empty() { -1 } else { group.subhalos.start as i64 };
        out.dataset("GroupFirstSub", Dataset::owned(groups.iter().map(first).collect(), None));
        let n_subhalos = groups.iter().map(|group| group.subhalos.len() as i32).collect();
        out.dataset("GroupNsubs", Dataset::owned(n_subhalos, None));
        for (ours, theirs) in SPHERES {
            for (kind, quantity) in [("M", Quantity::Mass), ("R", Quantity::Length)] {
                let name = format!("sod_halo_{}{ours}", kind.to_lowercase());
                if let Some(values) = self.column(&name) {
                    let values = rows.iter().map(|&row| if values[row].is_nan() { 0.0 } else { values[row] }).collect();
                    out.dataset(format!("Group_{kind}_{theirs}"), self.scaled(values, None, quantity));
                }
            }
        }
        Ok((out, ids))
    }

    /// Returns the data sets of subhalos. The members of a subhalo are its own, without nested subhalos.
    fn subhalos<'d>(&self, width: usize) -> Result<Hdf5<'d>> {
        let subhalos = &self.structures.subhalos;
        let mut out = Hdf5::default();
        if subhalos.is_empty() {
            return Ok(out);
        }
        let lists: Vec<OwnMembers> = subhalos.iter().map(|subhalo| self.own(subhalo.row)).collect();
        let (mut counts, mut masses) = (vec![], vec![]);
        for list in &lists {
            let mut all = MemberSums::new(width);
            all.add(self.parts(list));
            counts.extend(all.counts);
            masses.extend(all.masses);
        }
        let measured = self.measured(&lists)?;
        let rows: Vec<usize> = subhalos.iter().map(|subhalo| subhalo.row).collect();
        let first_of = |group: usize| self.structures.groups[group].subhalos.start;
        let lengths = counts.chunks_exact(width).map(|counts| counts.iter().sum::<u64>()).collect();
        let totals = masses.chunks_exact(width).map(|masses| masses.iter().sum()).collect();
        out.dataset("SubhaloLen", Dataset::owned(lengths, None));
        out.dataset("SubhaloLenType", Dataset::owned(counts, Some(width)));
        out.dataset("SubhaloMass", self.scaled(totals, None, Quantity::Mass));
        out.dataset("SubhaloMassType", self.scaled(masses, Some(width), Quantity::Mass));
        let halos: Vec<&Halo> = measured.iter().collect();
        out.dataset("SubhaloPos", self.positions(&rows, &halos));
        let centers = halos.iter().flat_map(|halo| halo.center).collect();
        out.dataset("SubhaloCM", self.scaled(centers, Some(3), Quantity::Length));
        self.add_motions(&mut out, "Subhalo", &halos.iter().map(|halo| halo.motion).collect::<Vec<_>>());
        let groups: Vec<i64> = subhalos.iter().map(|subhalo| subhalo.group as i64).collect();
        // AREPO's name and GADGET-4's name.
        out.dataset("SubhaloGrNr", Dataset::owned(groups.clone(), None));
        out.dataset("SubhaloGroupNr", Dataset::owned(groups, None));
        let ranks = subhalos.iter().zip(0..).map(|(subhalo, i): (_, usize)| (i - first_of(subhalo.group)) as i32);
        out.dataset("SubhaloRankInGr", Dataset::owned(ranks.collect(), None));
        let parents = subhalos.iter().map(|subhalo| subhalo.parent_rank as i32).collect();
        out.dataset("SubhaloParentRank", Dataset::owned(parents, None));
        Ok(out)
    }

    /// Returns the members of a row that are in none of its subhalos.
    fn own(&self, row: usize) -> OwnMembers {
        OwnMembers::new(row, self.catalog, self.found)
    }

    /// Returns members with the snapshots that they are in.
    fn parts<'o>(&'o self, own: &'o OwnMembers) -> impl Iterator<Item = (&'o Snapshot, &'o [u32])> {
        let attached = self.found.attached.as_ref().map(|all| (&*all.others, &own.attached[..]));
        [(self.pipeline.snapshot, &own.linked[..])].into_iter().chain(attached)
    }

    /// Measures lists of members as halos. An empty list gets the centre and the motion of its row.
    fn measured(&self, lists: &[OwnMembers]) -> Result<Vec<Halo>> {
        let is_empty = |list: &OwnMembers| list.linked.is_empty() && list.attached.is_empty();
        let there: Vec<usize> = (0..lists.len()).filter(|&i| !is_empty(&lists[i])).collect();
        let (mut offsets, mut members) = (vec![0], vec![]);
        for &i in &there {
            members.extend_from_slice(&lists[i].linked);
            members.extend(lists[i].attached.iter().map(|place| self.pipeline.points.len() as u32 + place));
            offsets.push(members.len());
        }
        let own = self.pipeline.halos_of_lists(self.found, &offsets, &members)?;
        let mut still = self.catalog.halos()[0];
        (still.count, still.mass, still.rms_radius, still.max_radius) = (0, 0.0, 0.0, 0.0);
        let row_of = |i: usize| self.structures.subhalos[i].row;
        let mut measured: Vec<Halo> = (0..lists.len())
            .map(|i| {
                let Halo { center, motion, .. } = self.catalog.halos()[row_of(i)];
                (still.center, still.motion) = (center, motion);
                still
            })
            .collect();
        there.into_iter().zip(own).for_each(|(i, halo)| measured[i] = halo);
        Ok(measured)
    }

    /// Returns the centres of rows. If the catalogue has no centre, or NaN, the centre of mass is used.
    fn positions<'d>(&self, rows: &[usize], halos: &[&Halo]) -> Dataset<'d> {
        let columns = ["x", "y", "z"].map(|axis| self.column(&self.catalog.name(&format!("center_{axis}"))));
        let position = |(&row, halo): (&usize, &&Halo)| {
            let center = columns.map(|column| column.map_or(f64::NAN, |values| values[row]));
            if center.iter().any(|x| x.is_nan()) { halo.center } else { center }
        };
        let positions = rows.iter().zip(halos).flat_map(position).collect();
        self.scaled(positions, Some(3), Quantity::Length)
    }

    fn add_motions(&self, out: &mut Hdf5<'_>, of: &str, motions: &[Option<Motion>]) {
        let Some(motions) = motions.iter().copied().collect::<Option<Vec<Motion>>>() else { return };
        let means = motions.iter().flat_map(|motion| motion.mean).collect();
        out.dataset(format!("{of}Vel"), self.scaled(means, Some(3), Quantity::Velocity));
        let dispersions = motions.iter().map(|motion| motion.dispersion).collect();
        out.dataset(format!("{of}VelDisp"), self.scaled(dispersions, None, Quantity::Velocity));
    }

    /// Returns the numbers of a column of the catalogue, if it exists.
    fn column(&self, name: &str) -> Option<&[f64]> {
        let column = self.catalog.columns().iter().find(|column| column.name() == name).map(Column::values);
        if let Some(Values::Numbers(values)) = column { Some(values) } else { None }
    }

    fn scaled<'d>(&self, values: Vec<f64>, width: Option<usize>, quantity: Quantity) -> Dataset<'d> {
        // Numbers of particles have no unit.
        let is_count = quantity == Quantity::Mass && self.pipeline.counts_particles();
        let quantity = if is_count { Quantity::Dimensionless } else { quantity };
        let factor = self.factors.map_or(1.0, |factors| factors.of(quantity));
        let values = Dataset::owned(values.into_iter().map(|value| value * factor).collect::<Vec<f64>>(), width);
        // Peculiar velocities do not scale with the scale factor.
        if let Some(cgs) = self.cgs { cgs.scale(values, quantity, 0.0) } else { values }
    }
}
