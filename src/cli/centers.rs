//! What `ropewalk halos` adds to the catalogue about the centres of halos.

use ropewalk::{
    Catalog, Center, Centering, Centers, HaloCenter, Halos, NoSphere, Overdense, Overdensity, Particles, Scalar,
    Structure, Values, overdensities, structures,
};

use super::Failure;
use super::device::CenterFinder;

/// Newton's constant for lengths in Mpc/h, velocities in km/s and masses in 1e10 Msun/h.
const GRAVITY: f64 = 43.0091;

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
    pub center_finder: Option<CenterFinder<'a>>,
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
        let mut centering = Centering::new(center);
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

    /// Adds the columns of the centre, and of the most connected particle; the centres. Where a halo has none, its position is NaN
    /// and its id [`NO_ID`].
    pub fn add_centers(&self, catalog: &mut Catalog, center: Center) -> Result<Centers, Failure> {
        let centers = self.centers(center)?;
        let rows = centers.as_slice();
        for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
            let values = rows.iter().map(|row| row.position[k]).collect();
            catalog.add(format!("fof_halo_center_{axis}"), Values::Numbers(values))?;
        }
        let ids = |rows: &[HaloCenter]| -> Vec<u64> {
            rows.iter().map(|row| row.member.map_or(NO_ID, |member| self.id(member))).collect()
        };
        // Means are no particles.
        if !rows.is_empty() && !matches!(center, Center::CenterOfMass | Center::ShrinkingSphere { .. }) {
            catalog.add("fof_halo_center_id", Values::Integers(ids(rows)))?;
        }
        let connected = match center {
            Center::MostConnected { .. } => centers.clone(),
            _ => self.centers(Center::MostConnected { linking_length: self.linking_length })?,
        };
        let numbers = |value: fn(&HaloCenter) -> Option<u32>| {
            Values::Integers(connected.as_slice().iter().map(|row| value(row).unwrap_or(0).into()).collect())
        };
        catalog.add("fof_halo_mcp_id", Values::Integers(ids(connected.as_slice())))?;
        catalog.add("fof_halo_mcp_friends", numbers(|row| row.friends))?;
        catalog.add("fof_halo_mcp_ties", numbers(|row| row.ties))?;
        Ok(centers)
    }

    /// Adds mass, radius and count of overdense spheres about the centres, and the structure within the first of them. NaN
    /// where the density does not fall so far within half the box, and where a halo has no centre; 0 where it is not dense enough.
    pub fn add_spheres(
        &self,
        catalog: &mut Catalog,
        centers: &Centers,
        spheres: &[(Overdensity, f64)],
    ) -> Result<(), Failure> {
        let thresholds: Vec<f64> = spheres.iter().map(|&(_, threshold)| threshold).collect();
        let found = overdensities(self.particles, centers, &thresholds)?;
        let column = |which: usize, value: fn(Overdense) -> f64| {
            let value = |sphere: &Result<Overdense, NoSphere>| match sphere {
                Ok(sphere) => value(*sphere),
                Err(NoSphere::NotDense) => 0.0,
                Err(_) => f64::NAN,
            };
            Values::Numbers(found.iter().map(|row| value(&row[which])).collect())
        };
        for (which, (name, _)) in spheres.iter().enumerate() {
            catalog.add(format!("sod_halo_m{name}"), column(which, |sphere| sphere.mass))?;
            catalog.add(format!("sod_halo_r{name}"), column(which, |sphere| sphere.radius))?;
            let counts = found.iter().map(|row| row[which].map_or(0, |sphere| sphere.count as u64)).collect();
            catalog.add(format!("sod_halo_count_{name}"), Values::Integers(counts))?;
        }
        let first: Vec<Overdense> =
            found.iter().map(|row| row.first().and_then(|sphere| sphere.ok()).unwrap_or_default()).collect();
        let rows = structures(self.halos, self.particles, centers, &first, GRAVITY)?;
        let mut add = |name: &str, value: fn(&Structure) -> f64| {
            catalog.add(name, Values::Numbers(rows.iter().map(value).collect()))
        };
        add("fof_halo_vmax", |row| row.v_max)?;
        add("fof_halo_rvmax", |row| row.v_max_radius)?;
        add("fof_halo_half_mass_radius", |row| row.half_mass_radius)?;
        if rows.iter().any(|row| row.spin.is_some()) {
            add("fof_halo_spin", |row| row.spin.unwrap_or(0.0))?;
        }
        add("fof_halo_axis_ratio_b", |row| row.axis_ratio_b)?;
        add("fof_halo_axis_ratio_c", |row| row.axis_ratio_c)?;
        add("fof_halo_center_offset", |row| row.center_offset)?;
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
