//! Dendrograms on a device, compared with the CPU merge by merge.

use common::clouds::{self, Cloud};
use common::random::Random;
use ropewalk::cluster::Merge;
use ropewalk::gpu::{self, Coordinate, Device, Points};
use ropewalk::sample::Sample;

fn merges<S: Coordinate, const D: usize>(points: &[[S; D]], side: Option<f64>, min_samples: usize) -> Vec<Merge> {
    let points = Points::new_periodic(points, side, Device::first().unwrap()).unwrap();
    let tree = gpu::MinimumSpanningTree::new().min_samples(min_samples).run(&points).unwrap();
    gpu::Dendrogram::new(&tree).unwrap().read().unwrap()
}

fn compare_in<S: Coordinate, const D: usize>(name: &str, points: &[[S; D]], side: Option<f64>, min_samples: usize) {
    let tree = ropewalk::MinimumSpanningTree::new().min_samples(min_samples).periodic(side).run(points).unwrap();
    let (ours, theirs) = (merges(points, side, min_samples), ropewalk::cluster::Dendrogram::new(&tree));
    assert_eq!(ours.len(), theirs.merges().len(), "{name}");
    let pair = ours.iter().zip(theirs.merges()).find(|(ours, theirs)| ours != theirs);
    assert_eq!(pair, None, "{name}, {min_samples} samples, {side:?}");
}

fn compare<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>) {
    compare_in(cloud.name, &cloud.points, None, 1);
}

#[test]
fn clouds_in_f32() {
    clouds::small::<f32, 2>().iter().for_each(compare);
    clouds::small::<f32, 3>().iter().for_each(compare);
    let cloud = clouds::clustered::<f32, 3>();
    compare_in(cloud.name, &cloud.points, Some(cloud.side), 5);
}

#[test]
fn clouds_in_f64() {
    clouds::small::<f64, 2>().iter().for_each(compare);
    clouds::small::<f64, 3>().iter().for_each(compare);
}

/// Many edges of equal weight, and copies of points.
#[test]
fn lattices_and_copies() {
    let mut random = Random::new(3);
    for (n, cells) in [(300, 3), (1500, 12)] {
        let mut point = || std::array::from_fn(|_| random.below(cells) as f32);
        let points: Vec<[f32; 3]> = (0..n).map(|_| point()).collect();
        compare_in("lattice with copies", &points, None, 1);
    }
}

/// Sizes close to those of blocks and tiles.
#[test]
fn sizes() {
    for n in [0, 1, 2, 3, 4, 5, 256, 257, 1024, 1025, 20_000] {
        let points = Sample::parse(&format!("halos:n={n},seed=5")).unwrap().points().unwrap();
        compare_in(&n.to_string(), &points, None, 1);
    }
}

/// Points on a line with ascending gaps, descending gaps, or both: dendrograms that are one path of all edges, or two
/// paths.
#[test]
fn lines() {
    let n = 20_000;
    let line = |gap: &dyn Fn(u32) -> u32| -> Vec<[f64; 2]> {
        let mut x = 0.0;
        (0..n)
            .map(|i| {
                x += f64::from(gap(i));
                [x, 0.0]
            })
            .collect()
    };
    compare_in("ascending", &line(&|i| i + 1), None, 1);
    compare_in("descending", &line(&|i| n - i), None, 1);
    compare_in("away from the middle", &line(&|i| i.abs_diff(n / 2) + 1), None, 1);
    compare_in("towards the middle", &line(&|i| n - i.abs_diff(n / 2)), None, 1);
    compare_in("in turns", &line(&|i| if i % 2 == 0 { i + 1 } else { n - i }), None, 1);
    compare_in("as a ruler", &line(&|i| 1 << (i + 1).trailing_zeros()), None, 1);
}

#[test]
fn columns() {
    let points = Sample::parse("halos:n=500,seed=2").unwrap().points().unwrap();
    let points = Points::new(&points, Device::first().unwrap()).unwrap();
    let dendrogram = gpu::Dendrogram::new(&gpu::minimum_spanning_tree(&points).unwrap()).unwrap();
    let (clusters, sizes) = (dendrogram.clusters().read().unwrap(), dendrogram.sizes().read().unwrap());
    let heights2 = dendrogram.heights2().read().unwrap();
    assert_eq!(dendrogram.n_points(), 500);
    for (i, merge) in dendrogram.read().unwrap().into_iter().enumerate() {
        assert_eq!((merge.clusters, merge.size), ([clusters[2 * i], clusters[2 * i + 1]], sizes[i]));
        assert_eq!(merge.height, ropewalk::geometry::distance_from_square(heights2[i]));
    }
}
