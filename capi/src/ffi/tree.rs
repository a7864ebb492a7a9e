//! The functions of `ropewalk_points.h` on trees: construction, searches, and their lists.
//!
//! In: points and centres in the memory of a program. Out: a tree, which copies the coordinates, and lists of points.
//! The caller frees both.

use std::ffi::{c_int, c_void};
use std::ptr;

use ropewalk::geometry::BoxSize;
use ropewalk::internals::memory::collected;
use ropewalk::{Nearest, Result};
use ropewalk_table::{AfterHit, Bvh, Points, Radii};

use super::{address, alone, free, getters, memory, required, store};
use crate::find::{invalid, saturating_usize};
use crate::types::{self, Lists, PointArray, Visitor};

/// Returns the periodic box of points; open space for null. Refuses points that span more than the box.
///
/// # Safety
/// `sides` is null, or leads to a value for each coordinate of a point.
pub(super) unsafe fn box_size(sides: *const f64, points: &Points) -> Result<BoxSize> {
    if sides.is_null() {
        return Ok(BoxSize::default());
    }
    // SAFETY: the contract of this function.
    let sides = unsafe { memory::slice("box_size", sides, points.dim() as u64) }?;
    points.check_sides(sides)?;
    Ok(BoxSize::from(sides.to_vec()))
}

/// Returns one radius for all centres if `count` is 1, else one for each.
///
/// # Safety
/// `radii` is null, or leads to `count` values that nothing writes to during `'a`.
unsafe fn radii<'a>(radii: *const f64, count: u64) -> Result<Radii<'a>> {
    // SAFETY: the contract of this function.
    Ok(match unsafe { memory::slice("radii", radii, count) }? {
        [radius] => Radii::Same(*radius),
        each => Radii::Each(each),
    })
}

/// See `ropewalk_points.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_tree_build(
    points: *const PointArray,
    sides: *const f64,
    tree: *mut *mut Bvh,
) -> c_int {
    // SAFETY: by the contract, pointers are null or valid. The points are dropped before this function returns.
    alone(|| unsafe {
        store("tree", tree, || {
            let points = memory::points("points", required("points", points)?)?;
            Bvh::build_periodic(&points, box_size(sides, &points)?)
        })
    })
}

/// See `ropewalk_points.h`.
///
/// # Safety
/// `tree` is null, or a tree of this library that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_tree_free(tree: *mut Bvh) {
    // SAFETY: the contract of this function is that of `free`.
    unsafe { free(tree) }
}

getters! { Bvh:
    ropewalk_tree_count -> u64, 0, |tree| tree.len() as u64;
    ropewalk_tree_dim -> u32, 0, |tree| tree.dim() as u32;
}

/// See `ropewalk_points.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_tree_query(
    tree: *const Bvh,
    centers: *const PointArray,
    radius: *const f64,
    radius_count: u64,
    lists: *mut *mut Lists,
) -> c_int {
    // SAFETY: by the contract, pointers are null or valid. The centres are dropped before this function returns.
    alone(|| unsafe {
        store("lists", lists, || {
            let tree = required("tree", tree)?;
            let centers = memory::points("centers", required("centers", centers)?)?;
            let (offsets, indices) = tree.query(&centers, radii(radius, radius_count)?)?.into_parts();
            Ok(Lists { offsets: wide(&offsets), indices, distances: None })
        })
    })
}

/// See `ropewalk_points.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_tree_query_count(
    tree: *const Bvh,
    centers: *const PointArray,
    radius: *const f64,
    radius_count: u64,
    counts: *mut u32,
) -> c_int {
    // SAFETY: by the contract, pointers are null or valid, and `counts` has room for a value per centre.
    alone(|| unsafe {
        let tree = required("tree", tree)?;
        let centers = memory::points("centers", required("centers", centers)?)?;
        memory::write("counts", counts, &tree.count(&centers, radii(radius, radius_count)?)?)
    })
}

/// See `ropewalk_points.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_tree_nearest(
    tree: *const Bvh,
    centers: *const PointArray,
    k: u64,
    max_distance: f64,
    lists: *mut *mut Lists,
) -> c_int {
    // SAFETY: by the contract, pointers are null or valid. The centres are dropped before this function returns.
    alone(|| unsafe {
        store("lists", lists, || {
            let tree = required("tree", tree)?;
            let centers = memory::points("centers", required("centers", centers)?)?;
            if k == 0 {
                return Err(invalid("k is 0; it must be at least 1"));
            }
            if max_distance.is_nan() || max_distance < 0.0 {
                let must = "it must not be negative; INFINITY means no limit";
                return Err(invalid(format!("max_distance is {max_distance}; {must}")));
            }
            let wanted = Nearest::new(saturating_usize(k)).within(max_distance);
            let (offsets, found) = tree.nearest(&centers, wanted)?.into_parts();
            Ok(Lists {
                offsets: wide(&offsets),
                indices: collected(found.iter().map(|near| near.index)),
                distances: Some(collected(found.iter().map(|near| near.distance()))),
            })
        })
    })
}

/// See `ropewalk_points.h`.
///
/// # Safety
/// Pointers are null or valid as the header says. `visitor` may be called with `context`, and returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_tree_visit(
    tree: *const Bvh,
    centers: *const PointArray,
    radius: *const f64,
    radius_count: u64,
    visitor: Visitor,
    context: *mut c_void,
) -> c_int {
    // SAFETY: by the contract, pointers are null or valid. `Bvh::visit` calls the visitor on this thread.
    alone(|| unsafe {
        let tree = required("tree", tree)?;
        let centers = memory::points("centers", required("centers", centers)?)?;
        let visitor = visitor.ok_or_else(|| invalid("visitor is NULL"))?;
        tree.visit(&centers, radii(radius, radius_count)?, |center, point| {
            match visitor(context, center as u64, point) {
                types::CONTINUE => AfterHit::Continue,
                types::NEXT_CENTER => AfterHit::NextCenter,
                _ => AfterHit::Stop,
            }
        })
    })
}

fn wide(offsets: &[usize]) -> Vec<u64> {
    collected(offsets.iter().map(|&offset| offset as u64))
}

getters! { Lists:
    ropewalk_lists_count -> u64, 0, |lists| lists.offsets.len() as u64 - 1;
    ropewalk_lists_offsets -> *const u64, ptr::null(), |lists| lists.offsets.as_ptr();
    ropewalk_lists_indices -> *const u32, ptr::null(), |lists| lists.indices.as_ptr();
    ropewalk_lists_distances -> *const f64, ptr::null(), |lists| address(lists.distances.as_ref());
}

/// See `ropewalk_points.h`.
///
/// # Safety
/// `lists` is null, or lists of this library that have not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_lists_free(lists: *mut Lists) {
    // SAFETY: the contract of this function is that of `free`.
    unsafe { free(lists) }
}
