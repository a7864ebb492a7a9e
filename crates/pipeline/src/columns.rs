//! Columns of the catalogue about centres, most connected particles, unbinding, spheres and structure.

use ropewalk::Result;
use ropewalk::halo::{BoundStructure, Centers, HaloCenter, NoSphere, Overdensity, SphericalOverdensity, Structure};
use ropewalk::units::Quantity;
use ropewalk_table::Catalog;
use ropewalk_table::columns::{Column, Values};

use crate::Unbound;
use crate::options::CenterKind;
use crate::overdensity_across::Spheres as SphereTable;

/// The id for a missing particle: all bits set, which is -1 as a signed number.
const NO_ID: u64 = u64::MAX;

/// Returns the id of a particle, or its index if there are no ids.
pub(super) fn id(ids: Option<&[u64]>, index: u32) -> u64 {
    ids.map_or(index.into(), |ids| ids[index as usize])
}

fn ids_of(rows: &[HaloCenter], ids: Option<&[u64]>) -> Values {
    Values::Integers(rows.iter().map(|row| row.member.map_or(NO_ID, |member| id(ids, member))).collect())
}

/// Adds the columns of centres. The position of a missing centre is NaN, its id [`NO_ID`].
pub(super) fn add_centers(
    catalog: &mut Catalog,
    kind: CenterKind,
    centers: &Centers,
    ids: Option<&[u64]>,
) -> Result<()> {
    let rows = centers.as_slice();
    for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
        let values = Values::Numbers(rows.iter().map(|row| row.position[k]).collect());
        let column = Column::new(catalog.name(&format!("center_{axis}")), values).quantity(Quantity::Length);
        catalog.add(column.description("centre of the halo; the header has its definition"))?;
    }
    if kind.is_particle() {
        let column = Column::new(catalog.name("center_id"), ids_of(rows, ids));
        catalog.add(column.description("id of the particle at the centre; 2^64 - 1 if there is no centre"))?;
    }
    Ok(())
}

/// Adds the position, the id and the number of friends of the most connected particle.
pub(super) fn add_most_connected(catalog: &mut Catalog, centers: &Centers, ids: Option<&[u64]>) -> Result<()> {
    let rows = centers.as_slice();
    let numbers = |value: fn(&HaloCenter) -> Option<u32>| {
        Values::Integers(rows.iter().map(|row| value(row).unwrap_or(0).into()).collect())
    };
    for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
        let values = Values::Numbers(rows.iter().map(|row| row.position[k]).collect());
        let column = Column::new(catalog.name(&format!("mcp_{axis}")), values).quantity(Quantity::Length);
        catalog.add(column.description("position of the most connected particle"))?;
    }
    let columns = [
        ("mcp_id", ids_of(rows, ids), "id of the member with the most other members within the linking length"),
        ("mcp_friends", numbers(|row| row.friends), "number of members within the linking length of it"),
        ("mcp_ties", numbers(|row| row.ties), "number of members with this number of friends"),
    ];
    for (name, values, description) in columns {
        catalog.add(Column::new(catalog.name(name), values).description(description))?;
    }
    Ok(())
}

/// Adds the columns of unbinding.
pub(super) fn add_unbound(catalog: &mut Catalog, unbound: &Unbound) -> Result<()> {
    let numbers = |value: fn(&BoundStructure) -> f64| Values::Numbers(unbound.rows.iter().map(value).collect());
    let columns = [
        (
            "found_mass",
            Quantity::Mass,
            Values::Numbers(unbound.found_masses.clone()),
            "mass before unbound particles were removed, including that of all subhalos",
        ),
        (
            "bound_vmax",
            Quantity::Velocity,
            numbers(|row| row.v_max),
            "largest circular velocity of the members about the most bound of its own particles, sqrt(G M / r) with the physical r",
        ),
        (
            "bound_rvmax",
            Quantity::Length,
            numbers(|row| row.v_max_radius),
            "radius of the largest circular velocity about the most bound of its own particles",
        ),
    ];
    for (name, quantity, values, description) in columns {
        catalog.add(Column::new(catalog.name(name), values).quantity(quantity).description(description))?;
    }
    Ok(())
}

/// The options for the columns of spheres, and of the structure within the first sphere of each halo.
pub(super) struct Spheres<'a> {
    pub overdensities: &'a [Overdensity],
    /// Spheres of fewer particles are noise and have no mass and radius.
    pub min_particles: usize,
    /// `true` if velocities and their unit are known.
    pub with_spin: bool,
}

impl Spheres<'_> {
    /// Adds mass, radius and count of the spheres. Mass and radius are NaN in these cases:
    ///
    /// - the density is too low at the centre, or does not fall to the threshold within half the box
    /// - the sphere has too few particles
    /// - the halo has no centre
    pub fn add(&self, catalog: &mut Catalog, found: &SphereTable) -> Result<()> {
        let is_measured = |sphere: &SphericalOverdensity| sphere.count >= self.min_particles;
        let column = |which: usize, value: fn(SphericalOverdensity) -> f64| {
            let value = |row: &Vec<std::result::Result<SphericalOverdensity, NoSphere>>| {
                row[which].ok().filter(is_measured).map_or(f64::NAN, value)
            };
            Values::Numbers(found.iter().map(value).collect())
        };
        for (which, name) in self.overdensities.iter().enumerate() {
            let mass = Column::new(format!("sod_halo_m{name}"), column(which, |sphere| sphere.mass));
            catalog.add(mass.quantity(Quantity::Mass).description("mass within the sphere"))?;
            let radius = Column::new(format!("sod_halo_r{name}"), column(which, |sphere| sphere.radius));
            catalog.add(radius.quantity(Quantity::Length).description("radius of the sphere"))?;
            let counts = found.iter().map(|row| row[which].map_or(0, |sphere| sphere.count as u64)).collect();
            let count = Column::new(format!("sod_halo_count_{name}"), Values::Integers(counts));
            catalog.add(count.description("particles within the sphere, members or not"))?;
        }
        Ok(())
    }

    /// Returns the first sphere of each halo, with radius 0 if it is not measured.
    pub fn first(&self, found: &SphereTable) -> Vec<SphericalOverdensity> {
        let is_measured = |sphere: &SphericalOverdensity| sphere.count >= self.min_particles;
        let first = |row: &Vec<std::result::Result<SphericalOverdensity, NoSphere>>| {
            row.first().and_then(|sphere| sphere.ok()).filter(is_measured).unwrap_or_default()
        };
        found.iter().map(first).collect()
    }

    /// Adds the columns of the structure of halos.
    pub fn add_structure(
        &self,
        catalog: &mut Catalog,
        rows: &[Structure],
        first: &[SphericalOverdensity],
    ) -> Result<()> {
        let of_sphere = |value: fn(&Structure) -> f64| -> Values {
            let values = rows.iter().zip(first);
            Values::Numbers(
                values.map(|(row, sphere)| if sphere.radius > 0.0 { value(row) } else { f64::NAN }).collect(),
            )
        };
        let of_halo = |value: fn(&Structure) -> f64| Values::Numbers(rows.iter().map(value).collect());
        let mut columns = vec![
            (
                "vmax",
                Quantity::Velocity,
                of_halo(|row| row.v_max),
                "largest circular velocity of the members about the centre, sqrt(G M / r) with the physical r",
            ),
            (
                "rvmax",
                Quantity::Length,
                of_halo(|row| row.v_max_radius),
                "radius about the centre of the largest circular velocity",
            ),
            (
                "half_mass_radius",
                Quantity::Length,
                of_halo(|row| row.half_mass_radius),
                "radius about the centre with half of the members' mass",
            ),
        ];
        if self.with_spin {
            columns.push((
                "spin",
                Quantity::Dimensionless,
                of_sphere(|row| row.spin.unwrap_or(f64::NAN)),
                "spin of the members within the first sphere, with their angular momentum and their mass: Bullock et al. 2001, equation 5",
            ));
        }
        columns.extend([
            (
                "axis_ratio_b",
                Quantity::Dimensionless,
                of_halo(|row| row.axis_ratio_b),
                "middle axis over the longest: roots of the second moments of the members' mass about the centre, which are not those about the centre of mass",
            ),
            (
                "axis_ratio_c",
                Quantity::Dimensionless,
                of_halo(|row| row.axis_ratio_c),
                "shortest axis over the longest: roots of the second moments of the members' mass about the centre, which are not those about the centre of mass",
            ),
            (
                "center_offset",
                Quantity::Dimensionless,
                of_sphere(|row| row.center_offset),
                "distance of the centre of mass from the centre, in radii of the first sphere",
            ),
        ]);
        for (name, quantity, values, description) in columns {
            catalog.add(Column::new(catalog.name(name), values).quantity(quantity).description(description))?;
        }
        Ok(())
    }
}

/// Returns lists of ids of all halos in the order of the catalogue: offsets, and ids.
pub(super) fn lists(catalog: &Catalog, ids: &dyn Fn(usize) -> Vec<u64>) -> [Values; 2] {
    let (mut offsets, mut all) = (vec![0], vec![]);
    for &halo in catalog.order() {
        all.extend(ids(halo as usize));
        offsets.push(all.len() as u64);
    }
    [Values::Integers(offsets), Values::Integers(all)]
}
