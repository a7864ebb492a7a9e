//! The functions of `ropewalk_mesh.h`: rays on triangle meshes.

use std::ffi::c_int;

use ropewalk::internals::memory::collected;
use ropewalk::{Mesh, Ray, Result};
use ropewalk_table::{Points, Table};

use super::{alone, free, getters, memory, required, store};
use crate::find::invalid;
use crate::types::{self, MeshHit, MeshRay, PointArray};

/// See `ropewalk_mesh.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_mesh_build(
    vertices: *const PointArray,
    faces: *const u32,
    face_count: u64,
    mesh: *mut *mut Mesh<f64>,
) -> c_int {
    // SAFETY: by the contract, pointers are null or valid. Vertices and faces are not used after this function.
    alone(|| unsafe {
        store("mesh", mesh, || {
            let vertices = memory::points("vertices", required("vertices", vertices)?)?;
            let faces: &[[u32; 3]] = memory::slice("faces", faces.cast(), face_count)?;
            match vertices {
                Points::F64(table) => Mesh::build(rows(&table)?, faces),
                Points::F32(table) => {
                    let wide = collected(rows(&table)?.iter().map(|&vertex: &[f32; 3]| vertex.map(f64::from)));
                    Mesh::build(&wide, faces)
                }
            }
        })
    })
}

fn rows<S>(table: &Table<S>) -> Result<&[[S; 3]]> {
    table.rows().ok_or_else(|| invalid(format!("vertices.dim is {}; it must be 3", table.dim())))
}

/// See `ropewalk_mesh.h`.
///
/// # Safety
/// `mesh` is null, or a mesh of this library that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_mesh_free(mesh: *mut Mesh<f64>) {
    // SAFETY: the contract of this function is that of `free`.
    unsafe { free(mesh) }
}

getters! { Mesh<f64>:
    ropewalk_mesh_face_count -> u64, 0, |mesh| mesh.len() as u64;
}

/// See `ropewalk_mesh.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_mesh_first_hits(
    mesh: *const Mesh<f64>,
    rays: *const MeshRay,
    ray_count: u64,
    hits: *mut MeshHit,
) -> c_int {
    // SAFETY: by the contract, pointers are null or valid, and `hits` has room for a value per ray.
    alone(|| unsafe {
        let found = required("mesh", mesh)?.first_hits(&checked(memory::slice("rays", rays, ray_count)?)?);
        let none = MeshHit { t: f64::INFINITY, weights: [f64::NAN; 3], triangle: types::NO_TRIANGLE };
        let hits_of_rays = found
            .iter()
            .map(|hit| hit.map_or(none, |hit| MeshHit { t: hit.t, weights: hit.barycentric, triangle: hit.triangle }));
        memory::write("hits", hits, &collected(hits_of_rays))
    })
}

/// See `ropewalk_mesh.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_mesh_any_hits(
    mesh: *const Mesh<f64>,
    rays: *const MeshRay,
    ray_count: u64,
    is_hit: *mut u8,
) -> c_int {
    // SAFETY: by the contract, pointers are null or valid, and `is_hit` has room for a value per ray.
    alone(|| unsafe {
        let found = required("mesh", mesh)?.any_hits(&checked(memory::slice("rays", rays, ray_count)?)?);
        memory::write("is_hit", is_hit, &collected(found.iter().map(|&is| u8::from(is))))
    })
}

/// Converts rays. Refuses numbers that are not finite, and directions of zero.
fn checked(rays: &[MeshRay]) -> Result<Vec<Ray<f64, 3>>> {
    for (index, ray) in rays.iter().enumerate() {
        let invalid = |what: &str| Err(invalid(format!("ray {index}: {what}")).at(index));
        if !ray.origin.iter().chain(&ray.direction).all(|number| number.is_finite()) {
            return invalid(&format!("origin {:?} and direction {:?} must be finite", ray.origin, ray.direction));
        }
        if ray.direction == [0.0; 3] {
            return invalid("the direction is zero");
        }
        let is_range = ray.from <= ray.to;
        if !is_range {
            return invalid(&format!("from is {} and to is {}; from must be at most to", ray.from, ray.to));
        }
    }
    Ok(collected(rays.iter().map(|ray| {
        let to = if ray.from == 0.0 && ray.to == 0.0 { f64::INFINITY } else { ray.to };
        Ray::new(ray.origin, ray.direction).between(ray.from, to)
    })))
}
