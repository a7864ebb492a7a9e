//! The nearest triangles on a device, compared with the CPU bit for bit.

use common::random::Random;
use ropewalk::geometry::Triangle;
use ropewalk::{Nearest, ValueBvh, gpu};

use crate::values::{Places, device};

/// The five nearest of triangles that coincide, are narrow, or have the size and the distances of `scale`, and options of
/// each query.
fn compare_triangles<const D: usize>(scale: f64, grid: f64) {
    let mut random = Random::new(15);
    let mut places = Places { random: &mut random, grid };
    let scaled = |at: [f32; D]| at.map(|x| (scale * f64::from(x)) as f32);
    let mut triangles = vec![];
    for at in 0..200 {
        let Triangle { vertices: [a, b, c] } = places.triangle::<f32, D>();
        let narrow = std::array::from_fn(|k| a[k] + 0.5 * (b[k] - a[k]) + 1e-3 * c[k]);
        let copies = if at % 10 == 0 { 12 } else { 1 };
        triangles.extend(vec![Triangle { vertices: [a, b, if at % 7 == 0 { narrow } else { c }].map(scaled) }; copies]);
    }
    let mut points: Vec<[f32; D]> = (0..100).map(|_| scaled(places.point())).collect();
    points.extend(triangles[..20].iter().flat_map(|triangle| triangle.vertices));
    points.extend([1e3, 1e30].map(|far: f32| scaled([far; D])).iter().filter(|at| at[0].is_finite()));
    let name = format!("{D} dimensions, scale {scale:e}, grid {grid}");
    let theirs = ValueBvh::build(triangles.clone()).unwrap();
    let ours = gpu::ValueBvh::build(triangles, device()).unwrap();
    let same = [Nearest::new(5), Nearest::new(5).within(scale), Nearest::new(5).excluding_self()];
    for wanted in same {
        let found = ours.nearest_all(&points, wanted).unwrap().read().unwrap();
        assert_eq!(found, theirs.nearest_all(&points, wanted), "{name}: {wanted:?}");
    }
    let wanted: Vec<Nearest> = (0..points.len())
        .map(|i| if i % 3 == 0 { Nearest::new(i % 6).within(scale * i as f64 / 40.0) } else { same[i % 3] })
        .collect();
    let found = ours.nearest_all_each(&points, &wanted).unwrap().read().unwrap();
    assert_eq!(found, theirs.nearest_all_each(&points, &wanted).unwrap(), "{name}: options of each query");
}

#[test]
fn in_space() {
    for (scale, grid) in [(1.0, 0.0), (1.0, 1.0), (1e-9, 0.0), (1e-25, 0.0), (1e12, 0.5), (1e30, 0.0)] {
        compare_triangles::<3>(scale, grid);
    }
}

#[test]
#[ignore = "wide"]
fn wide_in_the_plane() {
    for (scale, grid) in [(1.0, 0.0), (1.0, 0.5), (1e-20, 0.0), (1e15, 0.0)] {
        compare_triangles::<2>(scale, grid);
    }
}
