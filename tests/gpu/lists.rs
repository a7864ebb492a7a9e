//! Lists for particle codes on a device, compared with the CPU and with integer arithmetic.

use common::random::Random;
use ropewalk::gpu::{self, BoxBvh, Coordinate, Device};
use ropewalk::{Aabb, Bvh, Sphere};

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

/// The side of the periodic box of points on a grid.
const SIDE: i64 = 24;

/// Returns points with whole coordinates, some of them copies.
fn on_grid<const D: usize>(random: &mut Random, n: usize) -> Vec<[i64; D]> {
    (0..n).map(|_| std::array::from_fn(|_| random.below(SIDE as usize) as i64)).collect()
}

fn as_points<S: Coordinate, const D: usize>(whole: &[[i64; D]]) -> Vec<[S; D]> {
    whole.iter().map(|point| point.map(|x| S::from_f64(x as f64))).collect()
}

fn trees<S: Coordinate, const D: usize>(points: &[[S; D]], side: Option<f64>) -> (Bvh<S, D>, gpu::Bvh<S, D>) {
    (Bvh::build_periodic(points, side).unwrap(), gpu::Bvh::build_periodic(points, side, device()).unwrap())
}

/// Returns the squared distance of two points.
fn distance2<const D: usize>(a: &[i64; D], b: &[i64; D], is_periodic: bool) -> i64 {
    let gap = |k: usize| {
        let gap = (a[k] - b[k]).abs();
        if is_periodic { gap.min(SIDE - gap) } else { gap }
    };
    (0..D).map(|k| gap(k).pow(2)).sum()
}

/// Returns the offsets and the entries of `n` lists, of which each holds the indices that `test` selects, ascending.
fn select(n: usize, test: impl Fn(usize, usize) -> bool) -> (Vec<usize>, Vec<u32>) {
    let (mut offsets, mut entries) = (vec![0], vec![]);
    for i in 0..n {
        entries.extend((0..n).filter(|&j| test(i, j)).map(|j| j as u32));
        offsets.push(entries.len());
    }
    (offsets, entries)
}

/// Half lists, full lists and pairs, compared with the CPU.
fn compare_half_lists<S: Coordinate, const D: usize>(theirs: &Bvh<S, D>, ours: &gpu::Bvh<S, D>, radius: f64) {
    let half = ours.half_neighbors(radius).unwrap();
    let their_half = theirs.half_neighbors(radius);
    assert_eq!(half.read().unwrap(), their_half, "radius {radius}");
    assert_eq!(half.symmetric().unwrap().read().unwrap(), their_half.symmetric().unwrap(), "radius {radius}");
    let pairs = ours.pairs(radius).unwrap();
    assert_eq!(pairs.read().unwrap(), theirs.pairs(radius), "radius {radius}");
    assert_eq!(pairs.values().read().unwrap(), theirs.pairs(radius).as_flattened());
    assert_eq!((pairs.len(), pairs.is_empty()), (their_half.values().len(), their_half.values().is_empty()));
}

/// Ties on a grid, against integer arithmetic and the CPU.
fn half_lists_on_a_grid<S: Coordinate, const D: usize>(random: &mut Random, n: usize) {
    let whole = on_grid::<D>(random, n);
    let points = as_points::<S, D>(&whole);
    for side in [None, Some(SIDE as f64)] {
        let (theirs, ours) = trees(&points, side);
        for radius in [0i64, 1, 5] {
            let near = |i: usize, j: usize| distance2(&whole[i], &whole[j], side.is_some()) <= radius * radius;
            let half = ours.half_neighbors(radius as f64).unwrap();
            let full = half.symmetric().unwrap().read().unwrap();
            assert_eq!(half.read().unwrap().into_parts(), select(n, |i, j| j > i && near(i, j)), "radius {radius}");
            assert_eq!(full.into_parts(), select(n, |i, j| j != i && near(i, j)), "radius {radius}");
            compare_half_lists(&theirs, &ours, radius as f64);
        }
        for radius in [-1.0, f64::NAN] {
            compare_half_lists(&theirs, &ours, radius);
        }
    }
}

#[test]
fn half_lists() {
    let mut random = Random::new(31);
    for n in [0, 1, 2, 300] {
        half_lists_on_a_grid::<f32, 3>(&mut random, n);
        half_lists_on_a_grid::<f64, 2>(&mut random, n);
    }
    let points: Vec<[f32; 3]> = (0..3000).map(|_| std::array::from_fn(|_| random.unit() as f32)).collect();
    for side in [None, Some(1.0)] {
        let (theirs, ours) = trees(&points, side);
        compare_half_lists(&theirs, &ours, 0.08);
    }
}

#[test]
#[ignore = "wide"]
fn wide_half_lists() {
    let mut random = Random::new(32);
    for n in [33, 1500] {
        half_lists_on_a_grid::<f32, 2>(&mut random, n);
        half_lists_on_a_grid::<f64, 3>(&mut random, n);
        half_lists_on_a_grid::<f64, 1>(&mut random, n);
    }
    for cloud in common::clouds::small::<f32, 3>() {
        let Ok(theirs) = Bvh::build(&cloud.points) else { continue };
        let ours = gpu::Bvh::build(&cloud.points, device()).unwrap();
        cloud.radii.iter().for_each(|&radius| compare_half_lists(&theirs, &ours, radius));
    }
}

/// Other lists are rejected as on the CPU.
#[test]
fn lists_that_are_not_half_lists() {
    let (theirs, ours) = trees(&[[0.0f32, 0.0], [1.0, 0.0], [2.0, 0.0]], None);
    let error = ours.neighbors(1.0).unwrap().symmetric().unwrap_err();
    assert_eq!(error.to_string(), theirs.neighbors(1.0).symmetric().unwrap_err().to_string());
}

/// Own radii on a grid, against integer arithmetic and the CPU.
fn own_radii_on_a_grid<S: Coordinate, const D: usize>(random: &mut Random, n: usize) {
    let whole = on_grid::<D>(random, n);
    let points = as_points::<S, D>(&whole);
    let whole_radii: Vec<i64> = (0..n).map(|_| [0, 1, 2, 3, 5, -1][random.below(6)]).collect();
    let radii: Vec<f64> = whole_radii.iter().map(|&radius| radius as f64).collect();
    for side in [None, Some(SIDE as f64)] {
        let (theirs, ours) = trees(&points, side);
        let lists = ours.neighbors_within(&radii).unwrap().read().unwrap();
        assert_eq!(lists, theirs.neighbors_within(&radii).unwrap());
        let sorted: Vec<u32> = lists
            .iter()
            .flat_map(|list| {
                let mut list = list.to_vec();
                list.sort_unstable();
                list
            })
            .collect();
        let near = |i: usize, j: usize, radius: i64| {
            radius >= 0 && distance2(&whole[i], &whole[j], side.is_some()) <= radius * radius
        };
        assert_eq!((lists.offsets().to_vec(), sorted), select(n, |i, j| near(i, j, whole_radii[i])));

        let spheres: Vec<Sphere<S, D>> =
            points.iter().zip(&radii).map(|(&point, radius)| Sphere::new(point, radius.abs())).collect();
        let theirs = Bvh::build_periodic(&spheres, side).unwrap();
        let ours = BoxBvh::build_periodic(&spheres, side, device()).unwrap();
        let pairs = ours.overlapping_spheres(&spheres).unwrap().read().unwrap();
        assert_eq!(pairs, theirs.overlapping_spheres(&spheres).unwrap());
        let overlap = |i: usize, j: usize| j > i && near(i, j, whole_radii[i].abs() + whole_radii[j].abs());
        let expected: Vec<[u32; 2]> = (0..n as u32)
            .flat_map(|i| (0..n as u32).map(move |j| [i, j]))
            .filter(|&[i, j]| overlap(i as usize, j as usize))
            .collect();
        assert_eq!(pairs, expected);
        assert_eq!(ours.overlapping_pairs().unwrap().read().unwrap(), theirs.overlapping_pairs());
    }
}

/// Spheres of many sizes, partly outside the periodic box, and their boxes.
fn overlapping<S: Coordinate, const D: usize>(random: &mut Random, n: usize) {
    let mut spheres: Vec<Sphere<S, D>> = (0..n)
        .map(|_| {
            let center = std::array::from_fn(|_| S::from_f64(random.unit() * 3.0 - 1.0));
            Sphere::new(center, [0.0, 0.01, 0.05, 0.4][random.below(4)] * random.unit())
        })
        .collect();
    spheres.extend_from_within(..n / 20);
    let boxes: Vec<Aabb<S, D>> = spheres.iter().map(ropewalk::geometry::Bounded::bounds).collect();
    for side in [None, Some(1.0)] {
        let theirs = Bvh::build_periodic(&spheres, side).unwrap();
        let ours = BoxBvh::build_periodic(&spheres, side, device()).unwrap();
        let pairs = ours.overlapping_spheres(&spheres).unwrap().read().unwrap();
        assert_eq!(pairs, theirs.overlapping_spheres(&spheres).unwrap());
        let ours = BoxBvh::build_periodic(&boxes, side, device()).unwrap();
        assert_eq!(ours.overlapping_pairs().unwrap().read().unwrap(), theirs.overlapping_pairs());
    }
}

#[test]
fn own_radii() {
    let mut random = Random::new(33);
    for n in [0, 1, 2, 300] {
        own_radii_on_a_grid::<f32, 3>(&mut random, n);
        own_radii_on_a_grid::<f64, 2>(&mut random, n);
    }
    overlapping::<f32, 3>(&mut random, 3000);
    let points: Vec<[f32; 3]> = (0..3000).map(|_| std::array::from_fn(|_| random.unit() as f32)).collect();
    let radii: Vec<f64> =
        (0..3000).map(|i| [0.01, 0.1, 0.03, f64::NAN, -1.0, 0.05, 0.3][i % 7] * random.unit()).collect();
    let (theirs, ours) = trees(&points, Some(1.0));
    assert_eq!(ours.neighbors_within(&radii).unwrap().read().unwrap(), theirs.neighbors_within(&radii).unwrap());
}

#[test]
#[ignore = "wide"]
fn wide_own_radii() {
    let mut random = Random::new(34);
    for n in [33, 1500] {
        own_radii_on_a_grid::<f32, 2>(&mut random, n);
        own_radii_on_a_grid::<f64, 3>(&mut random, n);
        own_radii_on_a_grid::<f64, 1>(&mut random, n);
    }
    overlapping::<f64, 3>(&mut random, 3000);
    overlapping::<f32, 2>(&mut random, 3000);
    overlapping::<f64, 5>(&mut random, 1000);
}

#[test]
fn numbers_of_radii_and_spheres() {
    let (theirs, ours) = trees(&[[0.0f32, 0.0], [1.0, 0.0]], None);
    let error = ours.neighbors_within(&[1.0]).unwrap_err();
    assert_eq!(error.to_string(), theirs.neighbors_within(&[1.0]).unwrap_err().to_string());
    let boxes = BoxBvh::upload(&theirs, device()).unwrap();
    let error = boxes.overlapping_spheres(&[]).unwrap_err();
    assert_eq!(error.to_string(), theirs.overlapping_spheres(&[]).unwrap_err().to_string());
    let spheres = [f64::NAN, -1.0].map(|radius| Sphere::new([0.0f32; 2], radius));
    assert!(boxes.overlapping_spheres(&spheres).unwrap().is_empty());
}

/// Results in reused memory, of which some is too small, shared with a clone, or of another tree.
#[test]
fn reused_memory() {
    let mut random = Random::new(35);
    let mut points =
        |n: usize| -> Vec<[f32; 3]> { (0..n).map(|_| std::array::from_fn(|_| random.unit() as f32)).collect() };
    let mut counts = trees(&points(5), None).1.count_neighbors(1.0).unwrap();
    let mut lists = trees(&points(5), None).1.neighbors(1.0).unwrap();
    let mut clones = vec![];
    for (n, radius) in [(300, 0.2), (700, 0.1), (2, 9.0), (0, 1.0), (1, 0.0), (600, 0.1), (600, f64::NAN), (601, 0.1)] {
        let (theirs, ours) = trees(&points(n), Some(1.0));
        ours.count_neighbors_into(radius, &mut counts).unwrap();
        ours.neighbors_into(radius, &mut lists).unwrap();
        assert_eq!(counts.read().unwrap(), theirs.count_neighbors(radius), "{n} points");
        assert_eq!((counts.len(), lists.len()), (n, n));
        assert_eq!(lists.read().unwrap(), theirs.neighbors(radius), "{n} points");
        assert_eq!(lists.n_values(), theirs.neighbors(radius).values().len());
        if n == 300 {
            clones.push((counts.clone(), lists.values(), theirs.count_neighbors(radius), theirs.neighbors(radius)));
        }
    }
    for (counts, values, their_counts, their_lists) in clones {
        assert_eq!((counts.read().unwrap(), values.read().unwrap().as_slice()), (their_counts, their_lists.values()));
    }
}

/// Spheres that are not those of the stored boxes: only boxes that touch are tested.
#[test]
fn spheres_that_do_not_fit_the_boxes() {
    let mut random = common::random::Random::new(15);
    let at = |random: &mut common::random::Random| [random.unit() * 9.0, random.unit() * 9.0];
    let stored: Vec<Sphere<f64, 2>> = (0..200).map(|_| Sphere::new(at(&mut random), random.unit())).collect();
    let other: Vec<Sphere<f64, 2>> = (0..200).map(|_| Sphere::new(at(&mut random), 3.0 * random.unit())).collect();
    let theirs = Bvh::build(&stored).unwrap().overlapping_spheres(&other).unwrap();
    let ours = gpu::BoxBvh::build(&stored, device()).unwrap().overlapping_spheres(&other).unwrap();
    assert_eq!(ours.read().unwrap(), theirs);
}
