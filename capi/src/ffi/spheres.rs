//! Spheres about centres, of `ropewalk.h`.

use std::ffi::c_int;

use ropewalk::halo::{NoSphere, Particles as HaloParticles, SphericalOverdensity, overdensities};
use ropewalk::{Error, ErrorKind, Result, Scalar};
use ropewalk_io::{Points, Snapshot, Table};
use ropewalk_pipeline::particles_of;

use super::{alone, memory, required};
use crate::find::{box_size, invalid};
use crate::types::{self, Particles, Sphere, SphereOptions};

/// See `ropewalk.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_spheres(
    particles: *const Particles,
    centers: *const f64,
    center_count: u64,
    options: *const SphereOptions,
    spheres: *mut Sphere,
) -> c_int {
    // SAFETY: by the contract, pointers are null or valid, and `spheres` has room for a row of a sphere per threshold
    // for each centre. The snapshot is dropped before this function returns.
    alone(|| unsafe {
        let snapshot = memory::positions_and_masses(required("particles", particles)?)?;
        let options = required("options", options)?;
        let thresholds = memory::slice("thresholds", options.thresholds, options.threshold_count)?;
        if thresholds.is_empty() {
            return Err(invalid("threshold_count is 0; it must be at least 1"));
        }
        let centers: &[[f64; 3]] = memory::slice("centers", centers.cast(), center_count)?;
        let found = match &snapshot.points {
            Points::F32(table) => about(table, &snapshot, options, centers, thresholds)?,
            Points::F64(table) => about(table, &snapshot, options, centers, thresholds)?,
        };
        memory::write("spheres", spheres, &found)
    })
}

/// Returns the spheres about the centres, all thresholds of a centre after each other.
fn about<S: Scalar>(
    table: &Table<S>,
    snapshot: &Snapshot,
    options: &SphereOptions,
    centers: &[[f64; 3]],
    thresholds: &[f64],
) -> Result<Vec<Sphere>> {
    let rows = table.rows().ok_or_else(|| Error::dimension(table.dim()))?;
    let mut particles: HaloParticles<'_, S> = particles_of(rows, snapshot, None);
    if let Some(sides) = box_size(options.box_size) {
        snapshot.points.check_sides(&options.box_size)?;
        particles = particles.periodic(sides);
    }
    let found = overdensities(&particles, centers, thresholds)?;
    found.into_iter().flatten().map(sphere).collect()
}

fn sphere(found: std::result::Result<SphericalOverdensity, NoSphere>) -> Result<Sphere> {
    let missing = |status| Ok(Sphere { mass: f64::NAN, radius: f64::NAN, count: 0, status });
    match found {
        Ok(SphericalOverdensity { mass, radius, count }) => {
            Ok(Sphere { mass, radius, count: count as u64, status: types::SPHERE_FOUND })
        }
        Err(NoSphere::NotDense) => missing(types::SPHERE_NOT_DENSE),
        Err(NoSphere::BeyondHalfBox) => missing(types::SPHERE_BEYOND_HALF_BOX),
        Err(other) => Err(Error::new(ErrorKind::Internal, format!("internal error: {other}"))),
    }
}
