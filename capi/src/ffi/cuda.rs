//! The functions of `ropewalk_cuda.h`: points and results in the memory of an NVIDIA GPU.
//!
//! In: addresses in the memory of a program. Out: trees, lists and labels, which the caller frees. Without the feature
//! `cuda`, each call that makes one of them returns an error.

use std::ffi::c_int;
use std::ptr;

use ropewalk::Result;

use super::{alone, free, getters, memory, required, store};
use crate::device::{Labels, Lists, Tree};
use crate::types::{PointArray, PointDbscanOptions};

/// Returns the sides of the periodic box, `None` for null.
///
/// # Safety
/// `sides` is null, or leads to a value for each coordinate of a point.
unsafe fn sides_of(sides: *const f64, points: &PointArray) -> Result<Option<Vec<f64>>> {
    if sides.is_null() {
        return Ok(None);
    }
    // SAFETY: the contract of this function. Other dimensions than 1 to 10 are refused after this, so no more are read.
    Ok(Some(unsafe { memory::slice("box_size", sides, u64::from(points.dim.min(10))) }?.to_vec()))
}

/// See `ropewalk_cuda.h`.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_cuda_built() -> c_int {
    c_int::from(cfg!(feature = "cuda"))
}

/// See `ropewalk_cuda.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_cuda_tree_build(
    points: *const PointArray,
    sides: *const f64,
    tree: *mut *mut Tree,
) -> c_int {
    // SAFETY: by the contract, pointers are null or valid.
    alone(|| unsafe {
        store("tree", tree, || {
            let points = required("points", points)?;
            Tree::build(points, sides_of(sides, points)?)
        })
    })
}

/// See `ropewalk_cuda.h`.
///
/// # Safety
/// `tree` is null, or a tree of this library that has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_cuda_tree_free(tree: *mut Tree) {
    // SAFETY: the contract of this function is that of `free`.
    unsafe { free(tree) }
}

getters! { Tree:
    ropewalk_cuda_tree_count -> u64, 0, |tree| tree.count();
}

/// See `ropewalk_cuda.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_cuda_tree_count_pairs(tree: *const Tree, radius: f64, pairs: *mut u64) -> c_int {
    // SAFETY: by the contract, pointers are null or valid.
    alone(|| unsafe { memory::write("pairs", pairs, &[required("tree", tree)?.count_pairs(radius)?]) })
}

/// See `ropewalk_cuda.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_cuda_tree_neighbors(tree: *const Tree, radius: f64, lists: *mut *mut Lists) -> c_int {
    // SAFETY: by the contract, pointers are null or valid.
    alone(|| unsafe { store("lists", lists, || required("tree", tree)?.neighbors(radius)) })
}

/// See `ropewalk_cuda.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_cuda_tree_nearest(tree: *const Tree, k: u64, lists: *mut *mut Lists) -> c_int {
    // SAFETY: by the contract, pointers are null or valid.
    alone(|| unsafe { store("lists", lists, || required("tree", tree)?.nearest(k)) })
}

getters! { Lists:
    ropewalk_cuda_lists_count -> u64, 0, |lists| lists.count();
    ropewalk_cuda_lists_total -> u64, 0, |lists| lists.total();
    ropewalk_cuda_lists_offsets -> *const u32, ptr::null(), |lists| lists.offsets();
    ropewalk_cuda_lists_indices -> *const u32, ptr::null(), |lists| lists.indices();
    ropewalk_cuda_lists_distances -> *const f64, ptr::null(), |lists| lists.distances();
}

/// See `ropewalk_cuda.h`.
///
/// # Safety
/// `lists` is null, or lists of this library that have not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_cuda_lists_free(lists: *mut Lists) {
    // SAFETY: the contract of this function is that of `free`.
    unsafe { free(lists) }
}

/// See `ropewalk_cuda.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_cuda_dbscan(
    points: *const PointArray,
    options: *const PointDbscanOptions,
    labels: *mut *mut Labels,
) -> c_int {
    // SAFETY: by the contract, pointers are null or valid.
    alone(|| unsafe {
        store("labels", labels, || {
            let (points, options) = (required("points", points)?, required("options", options)?);
            Labels::dbscan(points, sides_of(options.box_size, points)?, options.eps, options.min_samples)
        })
    })
}

getters! { Labels:
    ropewalk_cuda_labels_count -> u64, 0, |found| found.count();
    ropewalk_cuda_labels_clusters -> u64, 0, |found| found.clusters();
    ropewalk_cuda_labels_data -> *const i32, ptr::null(), |found| found.labels();
}

/// See `ropewalk_cuda.h`.
///
/// # Safety
/// `labels` is null, or labels of this library that have not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_cuda_labels_free(labels: *mut Labels) {
    // SAFETY: the contract of this function is that of `free`.
    unsafe { free(labels) }
}
