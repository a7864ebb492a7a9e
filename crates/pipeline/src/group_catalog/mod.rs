//! Halos as a group catalogue of GADGET-4, `fof_subhalo_tab`, which yt and pynbody open.
//!
//! - in: what was found and its catalogue
//! - out: HDF5 with `Header`, `Parameters`, `Group`, `Subhalo` and `IDs`, in the units of the snapshot
//! - cost: one pass over the members
//!
//! A group is a halo that is in no other, a subhalo of its is one of the structures in it; the first of them, of rank 0, is what is left
//! without the others, so that each member is in one subhalo. Ids are group by group, in each subhalo by subhalo, and by type.
//! Velocities are peculiar ones. What is not measured has no data set; spheres that are not there have mass and radius 0.
//! Sources: the documentation of GADGET-4, "Groups and subhalos"; of IllustrisTNG, "Data specifications".

mod members;
mod structures;

use std::io::Write;

use members::Members;
use ropewalk::halo::Halos;
use ropewalk::units::{Factors, Quantity, Units};
use ropewalk::{Error, Result};
use ropewalk_io::Snapshot;
use ropewalk_io::cgs::Cgs;
use ropewalk_io::hdf5_write::{Dataset, Group as Hdf5, Value};
use ropewalk_table::columns::{Column, Values};
use ropewalk_table::{Catalog, Halo, Motion};
use structures::{Structures, own};

use super::meta::attached_sentence;
use super::particle_sets::listed;
use super::state::with_particles;
use super::{Found, Pipeline};

/// Types that every data set by type has.
const TYPES: usize = 6;
/// Overdensities as this crate names them and as GADGET-4 does.
const SPHERES: [(&str, &str); 4] =
    [("200c", "Crit200"), ("500c", "Crit500"), ("200m", "Mean200"), ("vir", "TopHat200")];

impl Pipeline<'_> {
    /// Writes the halos as a group catalogue of GADGET-4, in HDF5. yt wants such a file to be called `NAME.0.hdf5`, pynbody
    /// `fof_subhalo_tab_NAME.0.hdf5`.
    ///
    /// Numbers are in comoving Mpc/h, 1e10 Msun/h and peculiar km/s, which readers take for granted, where the snapshot's units are known.
    /// Masses, counts, centres of mass, velocities and dispersions of groups are over linked members and attached particles. Positions are
    /// the centres if the options ask for centres, else the centres of mass. Columns that [`Options::columns`](super::Options::columns)
    /// leaves out are missing, as are velocities of groups if attached particles have none. Where the file has several types, the attributes
    /// `linked_types`, `attached_types`, `types_in_spheres_only`, `types_not_read`, `mass_share_not_read` and `notes` of `Header` say which
    /// particles the numbers are over.
    ///
    /// Errors: what `out` refuses; as [`Catalog::new`].
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
    pub fn write_group_catalog(&self, mut out: impl Write, found: &Found<'_>, catalog: &Catalog) -> Result<()> {
        let structures = Structures::of(catalog);
        let (factors, cgs) = self.to_gadget().unzip();
        let tables = Tables { pipeline: self, found, catalog, structures, cgs, factors };
        tables.root()?.write(&mut out).map_err(Error::write)
    }

    /// From the snapshot's units to Gadget's, and what those are in cgs; nothing where units, or an h that they need, are not known.
    fn to_gadget(&self) -> Option<(Factors, Cgs)> {
        let (z, h) = (self.universe.redshift.unwrap_or(0.0), self.universe.h);
        let factors = Factors::new(self.universe.units()?, &Units::GADGET, z, h).ok()?;
        Some((factors, Cgs::of(&Units::GADGET.conversion(z, h).ok()?)))
    }
}

/// What the groups of the file are made from.
struct Tables<'a> {
    pipeline: &'a Pipeline<'a>,
    found: &'a Found<'a>,
    catalog: &'a Catalog,
    structures: Structures,
    cgs: Option<Cgs>,
    /// To the units that others take for granted.
    factors: Option<Factors>,
}

impl Tables<'_> {
    fn root<'d>(&self) -> Result<Hdf5<'d>> {
        let width = self.types();
        let (group, ids) = self.groups(width)?;
        let mut root = Hdf5::default();
        root.group("Header", self.header(ids.len()));
        root.group("Parameters", self.parameters());
        root.group("Group", group);
        root.group("Subhalo", self.subhalos(width)?);
        let mut members = Hdf5::default();
        members.dataset("ID", Dataset::owned(ids, None));
        root.group("IDs", members);
        Ok(root)
    }

    /// How many types data sets have.
    fn types(&self) -> usize {
        let attached = self.found.attached.as_ref().map(|attached| attached.others);
        let snapshots = [Some(self.pipeline.snapshot), attached];
        let kinds = snapshots.into_iter().flatten().flat_map(|snapshot| &snapshot.types);
        kinds.map(|run| usize::from(run.particle_type) + 1).max().unwrap_or(0).max(TYPES)
    }

    fn header<'d>(&self, ids: usize) -> Hdf5<'d> {
        let (groups, subhalos) = (self.structures.groups.len() as u64, self.structures.subhalos.len() as u64);
        let mut header = Hdf5::default();
        // AREPO says subgroups.
        for (what, count) in [("groups", groups), ("subhalos", subhalos), ("subgroups", subhalos), ("ids", ids as u64)]
        {
            header.attribute(format!("N{what}_ThisFile"), count);
            header.attribute(format!("N{what}_Total"), count);
        }
        header.attribute("NumFiles", 1i32);
        header.attribute("Generator", concat!("ropewalk ", env!("CARGO_PKG_VERSION")));
        self.describe(&mut header);
        self.describe_types(&mut header);
        header
    }

    /// The types that numbers are over, and those that are left out.
    fn describe_types(&self, header: &mut Hdf5<'_>) {
        let sets = self.pipeline.particle_sets();
        if sets.is_one_type() {
            return;
        }
        for (name, kinds) in sets.lists() {
            header.attribute(name, &*listed(kinds));
        }
        if let Some(share) = sets.unread_share {
            header.attribute("mass_share_not_read", share);
        }
        let prefix = self.pipeline.options.finder.column_prefix();
        let attached = attached_sentence(&sets, prefix);
        let sentences = [sets.unread_sentence(), attached, sets.in_spheres_sentence(prefix)];
        let mut notes: Vec<String> = sentences.into_iter().flatten().collect();
        let is_still = |others: &Snapshot| others.velocities.is_none() && !others.points.is_empty();
        if self.pipeline.velocities.is_some() && self.pipeline.others.is_some_and(is_still) && !sets.attached.is_empty()
        {
            notes.push("no velocities of groups: the attached particles have no velocities".into());
        }
        if !notes.is_empty() {
            header.attribute("notes", Value::texts(&notes));
        }
    }

    fn parameters<'d>(&self) -> Hdf5<'d> {
        let mut parameters = Hdf5::default();
        self.describe(&mut parameters);
        if let Some(cgs) = self.cgs {
            cgs.describe(&mut parameters);
        }
        parameters
    }

    /// Box, epoch and cosmology.
    fn describe(&self, group: &mut Hdf5<'_>) {
        let universe = &self.pipeline.universe;
        let redshift = universe.redshift.unwrap_or(0.0);
        let side = self.pipeline.options.box_size.or(self.pipeline.snapshot.box_size);
        group.attribute("Time", 1.0 / (1.0 + redshift));
        group.attribute("Redshift", redshift);
        let length = self.factors.map_or(1.0, |factors| factors.of(Quantity::Length));
        group.attribute("BoxSize", side.unwrap_or(0.0) * length);
        group.attribute("Omega0", universe.omega_m.unwrap_or(0.0));
        group.attribute("OmegaLambda", universe.omega_lambda.unwrap_or(0.0));
        group.attribute("HubbleParam", universe.h.unwrap_or(0.0));
    }

    /// The data sets of groups, and the ids of all members.
    fn groups<'d>(&self, width: usize) -> Result<(Hdf5<'d>, Vec<u64>)> {
        let groups = &self.structures.groups;
        let (mut counts, mut masses, mut ids) = (vec![], vec![], vec![]);
        for group in groups {
            let mut all = Members::new(width);
            match &self.structures.subhalos[group.subhalos.clone()] {
                [] => {
                    let halo = self.catalog.order()[group.row] as usize;
                    let linked = (self.pipeline.snapshot, self.found.halos.members(halo));
                    let attached = self.found.attached.as_ref().map(|all| (all.others, all.members(halo)));
                    all.add([linked].into_iter().chain(attached));
                }
                inner => {
                    for inner in inner {
                        let own = own(inner.row, self.catalog, &self.found.halos);
                        all.add([(self.pipeline.snapshot, &own[..])]);
                    }
                }
            }
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
        let redshift = self.pipeline.universe.redshift.unwrap_or(0.0);
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

    /// The data sets of subhalos, whose members are their own.
    fn subhalos<'d>(&self, width: usize) -> Result<Hdf5<'d>> {
        let subhalos = &self.structures.subhalos;
        let mut out = Hdf5::default();
        if subhalos.is_empty() {
            return Ok(out);
        }
        let lists: Vec<Vec<u32>> =
            subhalos.iter().map(|subhalo| own(subhalo.row, self.catalog, &self.found.halos)).collect();
        let (mut counts, mut masses) = (vec![], vec![]);
        for list in &lists {
            let mut all = Members::new(width);
            all.add([(self.pipeline.snapshot, &list[..])]);
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
        // AREPO's name, and GADGET-4's.
        out.dataset("SubhaloGrNr", Dataset::owned(groups.clone(), None));
        out.dataset("SubhaloGroupNr", Dataset::owned(groups, None));
        let ranks = subhalos.iter().zip(0..).map(|(subhalo, i): (_, usize)| (i - first_of(subhalo.group)) as i32);
        out.dataset("SubhaloRankInGr", Dataset::owned(ranks.collect(), None));
        let parents = subhalos.iter().map(|subhalo| subhalo.parent_rank as i32).collect();
        out.dataset("SubhaloParentRank", Dataset::owned(parents, None));
        Ok(out)
    }

    /// Lists of members measured as halos; one without members is where its row is.
    fn measured(&self, lists: &[Vec<u32>]) -> Result<Vec<Halo>> {
        let there: Vec<usize> = (0..lists.len()).filter(|&i| !lists[i].is_empty()).collect();
        let (mut offsets, mut members) = (vec![0], vec![]);
        for &i in &there {
            members.extend_from_slice(&lists[i]);
            offsets.push(members.len());
        }
        let halos = Halos::from_lists(self.pipeline.points.len(), &offsets, &members)?;
        let own = with_particles!(self.pipeline, |_positions, particles| Catalog::new(&halos, &particles))?;
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
        for (halo, &i) in own.halos().iter().zip(own.order()) {
            measured[there[i as usize]] = *halo;
        }
        Ok(measured)
    }

    /// The centres of rows; where the catalogue has none, or NaN, the centres of mass.
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

    /// The numbers of a column of the catalogue, if it is there.
    fn column(&self, name: &str) -> Option<&[f64]> {
        let column = self.catalog.columns().iter().find(|column| column.name() == name).map(Column::values);
        if let Some(Values::Numbers(values)) = column { Some(values) } else { None }
    }

    fn scaled<'d>(&self, values: Vec<f64>, width: Option<usize>, quantity: Quantity) -> Dataset<'d> {
        let factor = self.factors.map_or(1.0, |factors| factors.of(quantity));
        let values = Dataset::owned(values.into_iter().map(|value| value * factor).collect::<Vec<f64>>(), width);
        // Peculiar velocities have no power of the scale factor.
        if let Some(cgs) = self.cgs { cgs.scale(values, quantity, 0.0) } else { values }
    }
}

#[cfg(test)]
mod tests {
    use hdf5_reader::Hdf5File;

    use ropewalk_io::{Masses, Points, Snapshot, Table, TypeRun};

    use crate::{LinkingLength, Options, Pipeline};

    fn snapshot(x: &[f64], types: &[(u8, usize)], ids: &[u64], masses: Masses) -> Snapshot {
        let points = x.iter().flat_map(|&x| [x, 5.0, 5.0]).collect();
        let mut snapshot = Snapshot::new(Points::F64(Table::new(3, points).unwrap()));
        snapshot.types = types.iter().map(|&(particle_type, count)| TypeRun { particle_type, count }).collect();
        snapshot.ids = Some(ids.to_vec());
        snapshot.masses = masses;
        snapshot
    }

    #[test]
    fn particles_of_all_types_count() {
        let mut linked =
            snapshot(&[1.0, 7.0, 7.5, 1.5, 2.0], &[(1, 3), (2, 2)], &[50, 51, 52, 53, 54], Masses::Equal(2.0));
        let mut others = snapshot(
            &[1.1, 7.1, 4.0, 7.2],
            &[(0, 1), (4, 3)],
            &[60, 61, 62, 63],
            Masses::Each(vec![1.0, 0.5, 9.0, 0.25]),
        );
        linked.file_types = vec![(0, 1), (1, 3), (2, 2), (4, 3), (5, 9)];
        linked.matter = Some(40.0);
        let along_x = |x: &[f64]| Points::F64(Table::new(3, x.iter().flat_map(|&x| [x, 0.0, 0.0]).collect()).unwrap());
        linked.velocities = Some(along_x(&[1.0, 2.0, 3.0, 1.0, 1.0]));
        let file = written(&linked, &others);
        let numbers = |name: &str| file.dataset(name).unwrap().read_array::<f64>().unwrap().into_raw_vec_and_offset().0;
        let counts = |name: &str| file.dataset(name).unwrap().read_array::<u64>().unwrap().into_raw_vec_and_offset().0;
        assert_eq!(counts("Group/GroupLen"), [4, 4]);
        assert_eq!(counts("Group/GroupLenType"), [1, 1, 2, 0, 0, 0, 0, 2, 0, 0, 2, 0]);
        assert_eq!(numbers("Group/GroupMassType"), [1.0, 2.0, 4.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.75, 0.0]);
        assert_eq!(numbers("Group/GroupMass"), [7.0, 4.75]);
        // Over all types: (2 (1 + 1.5 + 2) + 1.1) / 7 and (2 (7 + 7.5) + 7.1 / 2 + 7.2 / 4) / 4.75.
        for name in ["Group/GroupPos", "Group/GroupCM"] {
            let near = |(a, b): (&f64, f64)| (a - b).abs() < 1e-12;
            let centers = [10.1 / 7.0, 5.0, 5.0, 34.35 / 4.75, 5.0, 5.0];
            assert!(numbers(name).iter().zip(centers).all(near), "{name} {:?}", numbers(name));
        }
        assert_eq!(counts("IDs/ID"), [60, 50, 53, 54, 51, 52, 61, 63]);
        assert!(file.dataset("Subhalo/SubhaloLen").is_err());
        // Velocities of some members alone are not those of the group.
        assert!(file.dataset("Group/GroupVel").is_err());
        let text = |file: &Hdf5File, name: &str| {
            file.group("Header").unwrap().attribute(name).unwrap().read_strings().unwrap()
        };
        assert_eq!(text(&file, "linked_types"), ["1, 2"]);
        assert_eq!(text(&file, "attached_types"), ["0, 4"]);
        assert_eq!(text(&file, "types_not_read"), ["5"]);
        let share =
            file.group("Header").unwrap().attribute("mass_share_not_read").unwrap().read_scalar::<f64>().unwrap();
        assert!((share - (1.0 - 20.75 / 40.0)).abs() < 1e-12, "{share}");
        assert!(text(&file, "notes").iter().any(|note| note.contains("the attached particles have no velocities")));

        others.velocities = Some(along_x(&[4.0, 5.0, 6.0, 7.0]));
        let file = written(&linked, &others);
        let numbers = |name: &str| file.dataset(name).unwrap().read_array::<f64>().unwrap().into_raw_vec_and_offset().0;
        let means = [(2.0 * 3.0 + 4.0) / 7.0, (2.0 * 5.0 + 0.5 * 5.0 + 0.25 * 7.0) / 4.75];
        let found = numbers("Group/GroupVel");
        assert!((0..2).all(|i| (found[3 * i] - means[i]).abs() < 1e-12), "{found:?} {means:?}");
        let dispersion = ((6.0 * (1.0 - means[0]).powi(2) + (4.0 - means[0]).powi(2)) / 21.0).sqrt();
        let found = numbers("Group/GroupVelDisp");
        assert!((found[0] - dispersion).abs() < 1e-12, "{found:?} {dispersion}");
        assert!(!text(&file, "notes").iter().any(|note| note.contains("no velocities")));
    }

    /// The group catalogue of linked particles and others that join their halos.
    fn written(linked: &Snapshot, others: &Snapshot) -> Hdf5File {
        let mut options = Options::default();
        (options.linking_length, options.min_members) = (LinkingLength::Length(0.6), 2);
        let pipeline = Pipeline::new(linked, &options).unwrap().attaching(others).unwrap();
        let mut found = pipeline.find().unwrap();
        pipeline.attach(&mut found).unwrap();
        let catalog = pipeline.measure(&found).unwrap().catalog;
        let mut bytes = vec![];
        pipeline.write_group_catalog(&mut bytes, &found, &catalog).unwrap();
        Hdf5File::from_vec(bytes).unwrap()
    }

    #[test]
    fn no_groups() {
        let lonely = snapshot(&[1.0, 7.0], &[], &[1, 2], Masses::Unknown);
        let mut options = Options::default();
        (options.linking_length, options.min_members) = (LinkingLength::Length(0.6), 2);
        let pipeline = Pipeline::new(&lonely, &options).unwrap();
        let found = pipeline.find().unwrap();
        let catalog = pipeline.measure(&found).unwrap().catalog;
        let mut bytes = vec![];
        pipeline.write_group_catalog(&mut bytes, &found, &catalog).unwrap();
        let file = Hdf5File::from_vec(bytes).unwrap();
        assert_eq!(file.dataset("Group/GroupLenType").unwrap().shape(), [0, 6]);
    }
}
