//! Tests that call the functions of `ropewalk_points.h` and `ropewalk_mesh.h`, and spheres, as C does. What they
//! return for many points is compared with Rust in `examples/answers.cpp`.

#![allow(unsafe_code)] // The tests call the C functions.

use std::ffi::{c_int, c_void};
use std::{ptr, slice};

use ropewalk::Mesh;
use ropewalk_table::Bvh;

use crate::c_interface::{message, particles};
use crate::ffi::clusters::*;
use crate::ffi::mesh::*;
use crate::ffi::spheres::*;
use crate::ffi::tree::*;
use crate::ffi::*;
use crate::types::*;

/// The corners of a square with sides of 2, and its middle.
const PLANE: [[f64; 2]; 5] = [[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0], [1.0, 1.0]];

fn array<const D: usize>(points: &[[f64; D]]) -> PointArray {
    PointArray { data: points.as_ptr().cast(), count: points.len() as u64, stride: 0, dim: D as u32, kind: F64 }
}

fn tree(points: &PointArray, sides: Option<&[f64]>) -> Result<*mut Bvh, String> {
    let mut tree = ptr::null_mut();
    let sides = sides.map_or(ptr::null(), <[f64]>::as_ptr);
    // SAFETY: `points` leads to live arrays, or is such that the function must refuse it; there is a side per axis.
    match unsafe { ropewalk_tree_build(points, sides, &mut tree) } {
        OK => Ok(tree),
        status => {
            assert!(status == INVALID && tree.is_null());
            Err(message())
        }
    }
}

/// Takes lists apart, and frees them. Distances are empty if there are none.
///
/// # Safety
/// `lists` are of this library, and have not been freed.
unsafe fn taken(lists: *mut Lists) -> (Vec<Vec<u32>>, Vec<f64>) {
    // SAFETY: the contract of this function; the library states the lengths.
    unsafe {
        let count = ropewalk_lists_count(lists) as usize;
        let offsets = slice::from_raw_parts(ropewalk_lists_offsets(lists), count + 1);
        let all = offsets[count] as usize;
        let indices = slice::from_raw_parts(ropewalk_lists_indices(lists), all);
        let distances = ropewalk_lists_distances(lists);
        let distances = if distances.is_null() { &[] } else { slice::from_raw_parts(distances, all) };
        let rows = offsets.windows(2).map(|at| indices[at[0] as usize..at[1] as usize].to_vec()).collect();
        let found = (rows, distances.to_vec());
        ropewalk_lists_free(lists);
        found
    }
}

#[test]
fn searches_of_a_tree() {
    // The last centre is at (0, 0) of the periodic box.
    let centers = [[0.25, 0.0], [1.0, 1.0], [9.0, 9.0]];
    let open = (vec![vec![0, 4], vec![4], vec![]], [2, 1, 0], vec![vec![0, 4], vec![4, 0], vec![]]);
    let periodic =
        (vec![vec![0, 1, 2, 4], vec![4], vec![0, 1, 2]], [4, 1, 1], vec![vec![0, 2], vec![4, 0], vec![0, 1]]);
    for (sides, (within, counts, nearest)) in [(None, open), (Some(&[3.0, 3.0][..]), periodic)] {
        let (tree, mut lists, mut counted) = (tree(&array(&PLANE), sides).unwrap(), ptr::null_mut(), [9; 3]);
        let (one, each) = ([1.25], [1.25, 1.0, 0.5]);
        // SAFETY: all pointers are those of live values, `counted` has a value per centre, and `lists` is stored.
        unsafe {
            assert_eq!((ropewalk_tree_count(tree), ropewalk_tree_dim(tree)), (5, 2));
            assert_eq!(ropewalk_tree_query_count(tree, &array(&centers), each.as_ptr(), 3, counted.as_mut_ptr()), OK);
            assert_eq!(counted, counts);
            assert_eq!(ropewalk_tree_query(tree, &array(&centers), one.as_ptr(), 1, &mut lists), OK);
            assert_eq!(taken(lists), (within, vec![]));
            assert_eq!(ropewalk_tree_nearest(tree, &array(&centers), 2, 1.5, &mut lists), OK);
            let (found, distances) = taken(lists);
            assert_eq!((found, &distances[2..4]), (nearest, &[0.0, 2f64.sqrt()][..]));
            ropewalk_tree_free(tree);
        }
    }
}

/// Adds the hit to the vector in `context`. The first centre continues, the second ends its search, the others end all.
unsafe extern "C" fn note(context: *mut c_void, center: u64, point: u32) -> c_int {
    // SAFETY: the test passes a vector of its own.
    let seen = unsafe { &mut *context.cast::<Vec<(u64, u32)>>() };
    seen.push((center, point));
    match center {
        0 => CONTINUE,
        1 => NEXT_CENTER,
        _ => 7,
    }
}

#[test]
fn a_visitor_can_stop() {
    let tree = tree(&array(&PLANE), None).unwrap();
    let (centers, radius) = (array(&[[1.0, 1.0]; 5]), [10.0]);
    let mut seen: Vec<(u64, u32)> = vec![];
    let context = (&raw mut seen).cast();
    // SAFETY: all pointers are those of live values, and `note` gets the vector that it expects.
    unsafe {
        assert_eq!(ropewalk_tree_visit(tree, &centers, radius.as_ptr(), 1, Some(note), context), OK);
        ropewalk_tree_free(tree);
    }
    let of = |center: u64| seen.iter().filter(|hit| hit.0 == center).count();
    assert_eq!([of(0), of(1), of(2), of(3), of(4)], [5, 1, 1, 0, 0]);
}

#[test]
fn what_is_no_search_is_refused() {
    let good = array(&PLANE);
    let (odd, far) = ([[0.0, f64::NAN]], [[0.0, 0.0], [f64::INFINITY, 0.0]]);
    let none: [[f64; 2]; 0] = [];
    for (points, sides, word) in [
        (array(&odd), None, "NaN"),
        (array(&far), None, "inf"),
        (PointArray { dim: 0, ..good }, None, "dim is 0"),
        (PointArray { dim: 11, count: 1, ..good }, None, "dim is 11"),
        (PointArray { kind: U32, ..good }, None, "points.type is 3"),
        (PointArray { data: ptr::null(), ..good }, None, "points.data is NULL"),
        (PointArray { stride: 8, ..good }, None, "stride"),
        (good, Some(&[1.0, 1.0][..]), "the periodic box is 1, but along axis 0"),
        (good, Some(&[9.0, -1.0][..]), "box"),
    ] {
        let refused = tree(&points, sides).unwrap_err();
        assert!(refused.contains(word), "{word}: {refused}");
    }
    let empty = tree(&array(&none), None).unwrap();
    let (tree, solid, mut lists) = (tree(&good, None).unwrap(), array(&[[0.0; 3]]), ptr::null_mut());
    let (radius, mut counts) = ([1.0, -1.0, f64::NAN], [0u32; 5]);
    // SAFETY: all pointers are null or those of live values, and the functions accept null.
    unsafe {
        assert_eq!(ropewalk_tree_nearest(empty, &good, 3, f64::INFINITY, &mut lists), OK);
        assert_eq!(taken(lists).0, vec![vec![0u32; 0]; 5]);
        ropewalk_tree_free(empty);
        let refuses = |word: &str, status: c_int| {
            assert!(status == INVALID && message().contains(word), "{word}: {status}, {}", message());
        };
        refuses("points is NULL", ropewalk_tree_build(ptr::null(), ptr::null(), &mut ptr::null_mut()));
        refuses("tree is NULL", ropewalk_tree_build(&good, ptr::null(), ptr::null_mut()));
        refuses("tree is NULL", ropewalk_tree_query(ptr::null(), &good, radius.as_ptr(), 1, &mut lists));
        refuses("centers is NULL", ropewalk_tree_query(tree, ptr::null(), radius.as_ptr(), 1, &mut lists));
        refuses("radii", ropewalk_tree_query(tree, &good, ptr::null(), 1, &mut lists));
        refuses("radii", ropewalk_tree_query(tree, &good, radius.as_ptr(), 2, &mut lists));
        refuses("dimension", ropewalk_tree_query(tree, &solid, radius.as_ptr(), 1, &mut lists));
        refuses("counts is NULL", ropewalk_tree_query_count(tree, &good, radius.as_ptr(), 1, ptr::null_mut()));
        refuses("k is 0", ropewalk_tree_nearest(tree, &good, 0, 1.0, &mut lists));
        refuses("max_distance is NaN", ropewalk_tree_nearest(tree, &good, 1, f64::NAN, &mut lists));
        refuses("max_distance is -1", ropewalk_tree_nearest(tree, &good, 1, -1.0, &mut lists));
        refuses("visitor is NULL", ropewalk_tree_visit(tree, &good, radius.as_ptr(), 1, None, ptr::null_mut()));
        for odd in &radius[1..] {
            refuses(
                "must be finite and not negative",
                ropewalk_tree_query_count(tree, &good, odd, 1, counts.as_mut_ptr()),
            );
        }
        assert_eq!((ropewalk_tree_count(ptr::null()), ropewalk_lists_count(ptr::null())), (0, 0));
        assert!(ropewalk_lists_offsets(ptr::null()).is_null() && ropewalk_lists_indices(ptr::null()).is_null());
        ropewalk_lists_free(ptr::null_mut());
        ropewalk_tree_free(ptr::null_mut());
        ropewalk_tree_free(tree);
    }
}

#[test]
fn clusters_of_points_of_any_dimension() {
    let line = [[0.0], [0.5], [1.0], [9.0], [9.5], [10.0], [50.0]];
    let (points, mut result) = (array(&line), ptr::null_mut());
    let dbscan = PointDbscanOptions { eps: 0.5, min_samples: 3, box_size: ptr::null() };
    let defaults = HdbscanOptions {
        min_cluster_size: 3,
        min_samples: 0,
        max_cluster_size: 0,
        cluster_selection_epsilon: 0.0,
        alpha: 0.0,
        cluster_selection: EXCESS_OF_MASS,
        allow_single_cluster: 0,
        box_size: ptr::null(),
    };
    let cluster = |options: &HdbscanOptions| {
        let mut result = ptr::null_mut();
        // SAFETY: all pointers are those of live values.
        (unsafe { ropewalk_hdbscan(&points, options, &mut result) }, result)
    };
    // SAFETY: all pointers are those of live values, and results have a value per point.
    unsafe {
        let of = |values: *const i64| slice::from_raw_parts(values, line.len()).to_vec();
        assert_eq!(ropewalk_points_dbscan(&points, &dbscan, &mut result), OK);
        assert_eq!(of(ropewalk_result_labels(result)), [0, 0, 0, 1, 1, 1, -1]);
        let core = slice::from_raw_parts(ropewalk_result_core(result), line.len());
        assert_eq!((core, ropewalk_result_clusters(result)), (&[0, 1, 0, 0, 1, 0, 0][..], 2));
        ropewalk_result_free(result);
        let (status, result) = cluster(&defaults);
        assert_eq!((status, of(ropewalk_result_labels(result))), (OK, vec![0, 0, 0, 1, 1, 1, -1]));
        assert_eq!(*ropewalk_result_probabilities(result).add(6), 0.0);
        ropewalk_result_free(result);
    }
    for (options, word) in [
        (HdbscanOptions { min_cluster_size: 0, ..defaults }, "min_cluster_size"),
        (HdbscanOptions { cluster_selection: 9, ..defaults }, "ROPEWALK_LEAF, got 9"),
        (HdbscanOptions { alpha: -1.0, ..defaults }, "alpha"),
        (HdbscanOptions { cluster_selection_epsilon: f64::NAN, ..defaults }, "epsilon"),
    ] {
        let (status, result) = cluster(&options);
        assert!(status == INVALID && result.is_null() && message().contains(word), "{word}: {}", message());
    }
    // SAFETY: all pointers are null or those of live values.
    let status = unsafe { ropewalk_points_dbscan(&points, ptr::null(), &mut result) };
    assert_eq!((status, message()), (INVALID, "options is NULL".into()));
}

#[test]
fn rays_on_a_triangle() {
    let vertices = [[0.0, 0.0, 1.0], [4.0, 0.0, 1.0], [0.0, 4.0, 1.0]];
    let (face, wrong, mut mesh) = ([0u32, 1, 2], [0u32, 1, 3], ptr::null_mut::<Mesh<f64>>());
    let up = MeshRay { origin: [1.0, 1.0, 0.0], direction: [0.0, 0.0, 2.0], from: 0.0, to: 0.0 };
    let rays = [up, MeshRay { to: 0.25, ..up }, MeshRay { direction: [0.0, 0.0, -1.0], ..up }];
    let mut hits = [MeshHit { t: 0.0, weights: [0.0; 3], triangle: 5 }; 3];
    let mut is_hit = [9u8; 3];
    // SAFETY: all pointers are null or those of live values, and results have room for a value per ray.
    unsafe {
        assert_eq!(ropewalk_mesh_build(&array(&vertices), wrong.as_ptr(), 1, &mut mesh), INVALID);
        assert!(mesh.is_null() && message().contains("vertex"), "{}", message());
        assert_eq!(ropewalk_mesh_build(&array(&PLANE), face.as_ptr(), 1, &mut mesh), INVALID);
        assert_eq!(message(), "vertices.dim is 2; it must be 3");
        assert_eq!(ropewalk_mesh_build(&array(&vertices), face.as_ptr(), 1, &mut mesh), OK);
        assert_eq!(ropewalk_mesh_face_count(mesh), 1);
        assert_eq!(ropewalk_mesh_first_hits(mesh, rays.as_ptr(), 3, hits.as_mut_ptr()), OK);
        assert_eq!((hits[0].t, hits[0].triangle, hits[0].weights), (0.5, 0, [0.5, 0.25, 0.25]));
        assert!(hits[1..].iter().all(|hit| hit.t == f64::INFINITY && hit.triangle == NO_TRIANGLE));
        assert_eq!(ropewalk_mesh_any_hits(mesh, rays.as_ptr(), 3, is_hit.as_mut_ptr()), OK);
        assert_eq!(is_hit, [1, 0, 0]);
        for (ray, word) in [
            (MeshRay { direction: [0.0; 3], ..up }, "ray 0: the direction is zero"),
            (MeshRay { origin: [f64::NAN; 3], ..up }, "must be finite"),
            (MeshRay { from: 2.0, to: 1.0, ..up }, "from must be at most to"),
        ] {
            assert_eq!(ropewalk_mesh_any_hits(mesh, &ray, 1, is_hit.as_mut_ptr()), INVALID);
            assert!(message().contains(word), "{word}: {}", message());
        }
        ropewalk_mesh_free(mesh);
        ropewalk_mesh_free(ptr::null_mut());
        assert_eq!(ropewalk_mesh_face_count(ptr::null()), 0);
    }
}

#[test]
fn spheres_about_a_centre() {
    // Eight particles at each of the distances 1, 2 and 3 from the origin.
    let corner = |i: i32, r: f64| -> [f64; 3] {
        [0, 1, 2].map(|k| if i >> k & 1 == 0 { r / 3f64.sqrt() } else { -r / 3f64.sqrt() })
    };
    let points: Vec<[f64; 3]> = [1.0, 2.0, 3.0].iter().flat_map(|&r| (0..8).map(move |i| corner(i, r))).collect();
    let particles = Particles { mass: 1.0, ..particles(&points) };
    // The mean density within r is 8 / (4/3 pi r^3) for r from 1 to 2.
    let density = 8.0 / (4.0 / 3.0 * std::f64::consts::PI * 1.5f64.powi(3));
    let (thresholds, centers) = ([density, 1e9], [0.0; 3]);
    let options = SphereOptions { thresholds: thresholds.as_ptr(), threshold_count: 2, box_size: [0.0; 3] };
    let mut spheres = [Sphere { mass: 0.0, radius: 0.0, count: 9, status: 9 }; 2];
    // SAFETY: all pointers are those of live values, and `spheres` has a row per threshold.
    unsafe {
        assert_eq!(ropewalk_spheres(&particles, centers.as_ptr(), 1, &options, spheres.as_mut_ptr()), OK);
        let none = SphereOptions { threshold_count: 0, ..options };
        assert_eq!(ropewalk_spheres(&particles, centers.as_ptr(), 1, &none, spheres.as_mut_ptr()), INVALID);
        assert_eq!(message(), "threshold_count is 0; it must be at least 1");
    }
    assert_eq!((spheres[1].status, spheres[1].count), (SPHERE_NOT_DENSE, 0));
    assert_eq!((spheres[0].status, spheres[0].count, spheres[0].mass), (SPHERE_FOUND, 8, 8.0));
    assert!((spheres[0].radius - 1.5).abs() < 1e-12, "{:?}", spheres[0]);
}
