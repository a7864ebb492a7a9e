//! The nearest triangles on a device, compared with the CPU bit for bit.

use common::random::Random;
use ropewalk::geometry::Triangle;
use ropewalk::{Nearest, ValueBvh, gpu};

use crate::values::{Places, device};

/// Compares the nearest triangles of points, with the same options for all and with options of each.
fn compare<const D: usize>(name: &str, triangles: Vec<Triangle<f32, D>>, points: &[[f32; D]], k: usize, reach: f64) {
    let theirs = ValueBvh::build(triangles.clone()).unwrap();
    let ours = gpu::ValueBvh::build(triangles, device()).unwrap();
    let same = [Nearest::new(k), Nearest::new(k).within(reach), Nearest::new(k).excluding_self()];
    for wanted in same {
        let found = ours.nearest_all(points, wanted).unwrap().read().unwrap();
        assert_eq!(found, theirs.nearest_all(points, wanted), "{name}: {wanted:?}");
    }
    let radii = [0.0, -1.0, f64::NAN, f64::INFINITY, reach / 4.0];
    let wanted: Vec<Nearest> = (0..points.len())
        .map(|i| if i % 3 == 0 { Nearest::new(i % (k + 1)).within(radii[i % 5]) } else { same[i % 3] })
        .collect();
    let found = ours.nearest_all_each(points, &wanted).unwrap().read().unwrap();
    assert_eq!(found, theirs.nearest_all_each(points, &wanted).unwrap(), "{name}: options of each query");
}

/// Returns triangles some of which coincide or are narrow, and points near and far. All have the size and the distances of
/// `scale`.
fn triangles<const D: usize>(n: usize, scale: f64, grid: f64) -> (Vec<Triangle<f32, D>>, Vec<[f32; D]>) {
    let mut random = Random::new(15);
    let mut places = Places { random: &mut random, grid };
    let scaled = |at: [f32; D]| at.map(|x| (scale * f64::from(x)) as f32);
    let mut triangles = vec![];
    for at in 0..n {
        let Triangle { vertices: [a, b, c] } = places.triangle::<f32, D>();
        let narrow = std::array::from_fn(|k| a[k] + 0.5 * (b[k] - a[k]) + 1e-3 * c[k]);
        let copies = if at % 10 == 0 { 12 } else { 1 };
        triangles.extend(vec![Triangle { vertices: [a, b, if at % 7 == 0 { narrow } else { c }].map(scaled) }; copies]);
    }
    let mut points: Vec<[f32; D]> = (0..100).map(|_| scaled(places.point())).collect();
    points.extend(triangles[..20].iter().flat_map(|triangle| triangle.vertices));
    points.extend([1e3, 1e30].map(|far: f32| scaled([far; D])).iter().filter(|at| at[0].is_finite()));
    points.push([f32::NAN; D]);
    (triangles, points)
}

fn compare_scale<const D: usize>(n: usize, scale: f64, grid: f64) {
    let (triangles, points) = triangles::<D>(n, scale, grid);
    let name = format!("{n} triangles in {D} dimensions, scale {scale:e}, grid {grid}");
    compare(&name, triangles, &points, 5, scale);
}

#[test]
fn in_space() {
    // Emulated warps sweep groups of queries near up to 256 triangles; the others walk.
    compare_scale::<3>(200, 1.0, 0.0);
    for (scale, grid) in [(1.0, 1.0), (1e-9, 0.0), (1e-25, 0.0), (1e-38, 0.0), (1e12, 0.5), (1e30, 0.0), (1e37, 0.0)] {
        compare_scale::<3>(60, scale, grid);
    }
}

/// Distances beyond the range of `f32`.
#[test]
fn far_away() {
    let at = |x: f32, by: f32| Triangle::new([x, x, x], [x + by, x, x], [x, x + by, x]);
    let triangles: Vec<Triangle<f32, 3>> = (0..40).map(|i| at([-1e38, -3e38][i % 2], 1e35 * i as f32)).collect();
    let points: Vec<[f32; 3]> = (0..64).map(|i| [1e38 + 2e36 * i as f32; 3]).collect();
    compare("far away", triangles, &points, 5, 1e39);
}

#[test]
#[ignore = "wide"]
fn wide_in_the_plane() {
    for (scale, grid) in [(1.0, 0.0), (1.0, 0.5), (1e-20, 0.0), (1e15, 0.0)] {
        compare_scale::<2>(100, scale, grid);
    }
}

/// More neighbours than candidates have places for, and more than there are triangles.
#[test]
#[ignore = "wide"]
fn wide_many_neighbors() {
    let (triangles, points) = triangles::<3>(100, 1.0, 0.0);
    for k in [16, 17, 500] {
        compare(&format!("{k} neighbours"), triangles.clone(), &points, k, 3.0);
    }
}
