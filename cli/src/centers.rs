//! What `ropewalk halos` adds to the catalogue about the centres of halos.

use ropewalk::{
    Catalog, Center, CenterFinder, Centers, Column, HaloCenter, Halos, NoSphere, Overdensity, Particles, Quantity,
    Scalar, SphericalOverdensity, Structure, Values, measure_structure, overdensities,
};

use super::Failure;
use super::device::OnDevice;

/// What stands for no particle in a column of ids: all bits, which readers of signed numbers see as -1.
const NO_ID: u64 = u64::MAX;

/// Which centre.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Kind {
    /// Most bound particle, exact
    Mbp,
    /// The same by sums over all pairs
    MbpBrute,
    /// The same by a best-first search on a grid
    MbpAstar,
    /// Most bound particle near the lowest cell of a grid's potential
    MbpPoisson,
    /// Most connected particle
    Mcp,
    /// Centre of mass
    Com,
    /// Centre of mass within a sphere that shrinks about it
    ShrinkingSphere,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Mbp | Self::MbpBrute | Self::MbpAstar => "most bound particle",
            Self::MbpPoisson => "most bound particle near the lowest cell of a grid's potential",
            Self::Mcp => "most connected particle",
            Self::Com => "centre of mass",
            Self::ShrinkingSphere => "centre of mass within a shrinking sphere",
        }
    }

    pub fn center(self, softening: f64, linking_length: f64) -> Center {
        match self {
            Self::Mbp => Center::MostBound { softening },
            Self::MbpBrute => Center::MostBoundBrute { softening },
            Self::MbpAstar => Center::MostBoundAStar { softening },
            Self::MbpPoisson => Center::poisson(softening),
            Self::Mcp => Center::MostConnected { linking_length },
            Self::Com => Center::CenterOfMass,
            Self::ShrinkingSphere => Center::shrinking_sphere(),
        }
    }
}

/// The halos, and what is needed to look into them.
pub struct Case<'a, S> {
    pub halos: &'a Halos,
    pub positions: &'a [[S; 3]],
    pub particles: &'a Particles<'a, S>,
    pub ids: Option<&'a [u64]>,
    pub masses: Option<&'a [f64]>,
    pub period: Option<f64>,
    pub linking_length: f64,
    /// On a device, unless the CPU does it.
    pub center_finder: Option<OnDevice<'a>>,
    /// Spheres of fewer particles are noise.
    pub least_in_sphere: usize,
}

impl<S: Scalar> Case<'_, S> {
    fn centers(&self, center: Center) -> Result<Centers, Failure> {
        match &self.center_finder {
            Some(find) => Ok(find(center)?),
            None => self.centers_of(self.halos, center),
        }
    }

    /// The centres of some of the halos, by the CPU.
    pub fn centers_of(&self, halos: &Halos, center: Center) -> Result<Centers, Failure> {
        let mut centering = CenterFinder::new(center);
        if let Some(side) = self.period {
            centering = centering.periodic(side);
        }
        if let Some(masses) = self.masses {
            centering = centering.masses(masses);
        }
        Ok(centering.run(self.positions, halos)?)
    }

    /// The id of a particle, or its index.
    fn id(&self, index: u32) -> u64 {
        self.ids.map_or(index.into(), |ids| ids[index as usize])
    }

    /// Adds the columns of the centre; the centres. Where a halo has none, its position is NaN and its id [`NO_ID`].
    pub fn add_centers(&self, catalog: &mut Catalog, center: Center) -> Result<Centers, Failure> {
        let centers = self.centers(center)?;
        let rows = centers.as_slice();
        for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
            let values = Values::Numbers(rows.iter().map(|row| row.position[k]).collect());
            let column = Column::new(format!("fof_halo_center_{axis}"), values).quantity(Quantity::Length);
            catalog.add(column.description("the centre, as the header says"))?;
        }
        // Means are no particles.
        if !matches!(center, Center::CenterOfMass | Center::ShrinkingSphere { .. }) {
            let ids = Column::new("fof_halo_center_id", Values::Integers(self.ids_of(rows)));
            catalog.add(ids.description("id of the particle that is the centre; 2^64 - 1 where there is none"))?;
        }
        Ok(centers)
    }

    /// Adds the columns of the most connected particle.
    pub fn add_most_connected(&self, catalog: &mut Catalog) -> Result<(), Failure> {
        let centers = self.centers(Center::MostConnected { linking_length: self.linking_length })?;
        let rows = centers.as_slice();
        let numbers = |value: fn(&HaloCenter) -> Option<u32>| {
            Values::Integers(rows.iter().map(|row| value(row).unwrap_or(0).into()).collect())
        };
        let columns = [
            (
                "fof_halo_mcp_id",
                Values::Integers(self.ids_of(rows)),
                "id of the member with most others within the linking length",
            ),
            ("fof_halo_mcp_friends", numbers(|row| row.friends), "how many these are"),
            ("fof_halo_mcp_ties", numbers(|row| row.ties), "how many members have as many"),
        ];
        for (name, values, description) in columns {
            catalog.add(Column::new(name, values).description(description))?;
        }
        Ok(())
    }

    fn ids_of(&self, rows: &[HaloCenter]) -> Vec<u64> {
        rows.iter().map(|row| row.member.map_or(NO_ID, |member| self.id(member))).collect()
    }

    /// Adds mass, radius and count of overdense spheres about the centres, and the structure within the first of them. NaN
    /// where the density is too low at the centre or does not fall so far within half the box, where few particles are in the
    /// sphere, and where a halo has no centre. `gravity` is in the snapshot's units; spins need velocities in their unit.
    pub fn add_spheres(
        &self,
        catalog: &mut Catalog,
        centers: &Centers,
        spheres: &[(Overdensity, f64)],
        gravity: f64,
        with_spin: bool,
    ) -> Result<(), Failure> {
        let thresholds: Vec<f64> = spheres.iter().map(|&(_, threshold)| threshold).collect();
        let found = overdensities(self.particles, centers, &thresholds)?;
        let is_measured = |sphere: &SphericalOverdensity| sphere.count >= self.least_in_sphere.max(1);
        let column = |which: usize, value: fn(SphericalOverdensity) -> f64| {
            let value = |row: &Vec<Result<SphericalOverdensity, NoSphere>>| {
                row[which].ok().filter(is_measured).map_or(f64::NAN, value)
            };
            Values::Numbers(found.iter().map(value).collect())
        };
        for (which, (name, _)) in spheres.iter().enumerate() {
            let mass = Column::new(format!("sod_halo_m{name}"), column(which, |sphere| sphere.mass));
            catalog.add(mass.quantity(Quantity::Mass).description("mass within the sphere"))?;
            let radius = Column::new(format!("sod_halo_r{name}"), column(which, |sphere| sphere.radius));
            catalog.add(radius.quantity(Quantity::Length).description("radius of the sphere"))?;
            let counts = found.iter().map(|row| row[which].map_or(0, |sphere| sphere.count as u64)).collect();
            let count = Column::new(format!("sod_halo_count_{name}"), Values::Integers(counts));
            catalog.add(count.description("particles within the sphere, members or not"))?;
        }
        let first = |row: &Vec<Result<SphericalOverdensity, NoSphere>>| {
            row.first().and_then(|sphere| sphere.ok()).filter(is_measured).unwrap_or_default()
        };
        let first: Vec<SphericalOverdensity> = found.iter().map(first).collect();
        let rows = measure_structure(self.halos, self.particles, centers, &first, gravity)?;
        let of_sphere = |value: fn(&Structure) -> f64| -> Values {
            let values = rows.iter().zip(&first);
            Values::Numbers(
                values.map(|(row, sphere)| if sphere.radius > 0.0 { value(row) } else { f64::NAN }).collect(),
            )
        };
        let of_halo = |value: fn(&Structure) -> f64| Values::Numbers(rows.iter().map(value).collect());
        let mut columns = vec![
            (
                "fof_halo_vmax",
                Quantity::Velocity,
                of_halo(|row| row.v_max),
                "largest circular velocity of the members, sqrt(G M / r) with the physical r",
            ),
            (
                "fof_halo_rvmax",
                Quantity::Length,
                of_halo(|row| row.v_max_radius),
                "radius of the largest circular velocity",
            ),
            (
                "fof_halo_half_mass_radius",
                Quantity::Length,
                of_halo(|row| row.half_mass_radius),
                "radius about the centre with half of the members' mass",
            ),
        ];
        if with_spin {
            columns.push((
                "fof_halo_spin",
                Quantity::Pure,
                of_sphere(|row| row.spin.unwrap_or(f64::NAN)),
                "spin of the members within the first sphere: Bullock et al. 2001, equation 5",
            ));
        }
        columns.extend([
            (
                "fof_halo_axis_ratio_b",
                Quantity::Pure,
                of_halo(|row| row.axis_ratio_b),
                "middle axis over the longest, of the members",
            ),
            (
                "fof_halo_axis_ratio_c",
                Quantity::Pure,
                of_halo(|row| row.axis_ratio_c),
                "shortest axis over the longest, of the members",
            ),
            (
                "fof_halo_center_offset",
                Quantity::Pure,
                of_sphere(|row| row.center_offset),
                "distance of the centre of mass from the centre, in radii of the first sphere",
            ),
        ]);
        for (name, quantity, values, description) in columns {
            catalog.add(Column::new(name, values).quantity(quantity).description(description))?;
        }
        Ok(())
    }

    /// The members of all halos in the order of the catalogue: offsets, and the ids one halo after the other.
    pub fn members(&self, catalog: &Catalog) -> [(&'static str, Values); 2] {
        let (mut offsets, mut ids) = (vec![0], vec![]);
        for &halo in catalog.order() {
            ids.extend(self.halos.members(halo as usize).iter().map(|&member| self.id(member)));
            offsets.push(ids.len() as u64);
        }
        [("offsets", Values::Integers(offsets)), ("ids", Values::Integers(ids))]
    }
}
