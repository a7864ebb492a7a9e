//! Minimum spanning trees on a device against those of the CPU, edge by edge.

use common::clouds::{self, Cloud};
use common::random::Random;
use ropewalk::gpu::{self, Coordinate, Device, Points};
use ropewalk::sample::Sample;

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

fn upload<S: Coordinate, const D: usize>(points: &[[S; D]], side: Option<f64>) -> gpu::Bvh<S, D> {
    gpu::Bvh::of(&Points::new_periodic(points, side, device()).unwrap()).unwrap()
}

fn compare_in<S: Coordinate, const D: usize>(name: &str, points: &[[S; D]], samples: &[usize], side: Option<f64>) {
    let ours = upload(points, side);
    let theirs = ropewalk::Bvh::build_periodic(points, side).unwrap();
    for &min_samples in samples {
        if min_samples > 1 && min_samples > points.len() {
            continue;
        }
        let tree = gpu::MinimumSpanningTree::new().min_samples(min_samples).run_on(&ours).unwrap().read().unwrap();
        let expected = ropewalk::MinimumSpanningTree::new().min_samples(min_samples).run_on(&theirs).unwrap();
        assert_eq!(tree.n_points(), points.len());
        let differing = tree.edges().iter().zip(expected.edges()).position(|(ours, theirs)| ours != theirs);
        let differing = differing.map(|at| (at, tree.edges()[at], expected.edges()[at]));
        assert_eq!((tree.edges().len(), differing), (expected.edges().len(), None), "{name}, {min_samples}, {side:?}");
    }
}

fn compare<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>) {
    for side in [None, Some(cloud.side)] {
        compare_in(cloud.name, &cloud.points, &[1, 2, 5, 10], side);
    }
}

#[test]
fn clouds_in_f32() {
    clouds::small::<f32, 2>().iter().for_each(compare);
    clouds::small::<f32, 3>().iter().for_each(compare);
}

#[test]
fn clouds_in_f64() {
    clouds::small::<f64, 2>().iter().for_each(compare);
    clouds::small::<f64, 3>().iter().for_each(compare);
}

/// Few distances, many edges of one weight.
#[test]
fn lattices_and_copies() {
    let mut random = Random::new(3);
    for (n, cells) in [(300, 3), (1500, 12)] {
        let mut point = || std::array::from_fn(|_| random.below(cells) as f32);
        let points: Vec<[f32; 3]> = (0..n).map(|_| point()).collect();
        compare(&Cloud { name: "lattice with copies", points, radii: vec![], side: cells as f64 });
    }
}

#[test]
fn sizes() {
    for n in [0, 1, 2, 3, 4, 5, 6, 32, 33, 255, 256, 257, 1025] {
        let points = Sample::parse(&format!("halos:n={n},seed=5")).unwrap().points().unwrap();
        compare_in(&n.to_string(), &points, &[1, 2, 3, 6], None);
    }
}

/// Halos with voids between: the rounds at the end search far.
#[test]
fn halos() {
    let points = Sample::parse("halos:n=20000,seed=3").unwrap().points().unwrap();
    compare_in("halos", &points, &[1, 5], None);
    compare_in("halos", &points, &[1], Some(1.0));
}
