//! Results for many copies of one point, and for many points in one cell of the Morton grid, for which some trees
//! take quadratic time. `src/work.rs` counts the computed distances.

use common::random::Random;
use ropewalk::internals::LEAF;
use ropewalk::reference::BruteForce;
use ropewalk::{Bvh, Fof, Nearest, Scalar, Sphere};

/// Returns `n` points at `heaps` positions in turn.
fn heaps<S: Scalar, const D: usize>(n: usize, heaps: usize) -> Vec<[S; D]> {
    (0..n).map(|i| [S::from_f64((i % heaps) as f64); D]).collect()
}

#[test]
fn pairs_of_copies() {
    let n = 1_000_000;
    let bvh = Bvh::build(&vec![[0.5f32, 0.5]; n]).unwrap();
    assert_eq!(bvh.count_pairs(0.0), n as u64 * (n as u64 - 1) / 2);
    assert!(bvh.count_neighbors(1.0).iter().all(|&count| count == n as u32));
    let bvh = Bvh::build(&heaps::<f64, 1>(n, 4)).unwrap();
    let within = (n / 4) as u64 * (n as u64 / 4 - 1) / 2;
    assert_eq!(bvh.count_pairs(1.0), 4 * within + 3 * (n as u64 / 4).pow(2));
}

/// Among copies, those with the lowest indices count as nearest.
fn nearest_copies<S: Scalar, const D: usize>(side: Option<f64>) {
    let (n, places) = (60_000usize, 3);
    let points = heaps::<S, D>(n, places);
    let bvh = side.map_or_else(|| Bvh::build(&points), |side| Bvh::build_periodic(&points, side)).unwrap();
    for k in [1, 4, 40, 100] {
        for wanted in [Nearest::new(k), Nearest::new(k).excluding_self()] {
            let graph = bvh.nearest_neighbors(wanted);
            for i in 0..n {
                let is_excluded = wanted != Nearest::new(k);
                let lowest = (i % places..n).step_by(places).filter(|&other| !(is_excluded && other == i)).take(k);
                let found = graph.of(i).iter().map(|near| near.index as usize);
                assert!(found.eq(lowest), "{k} nearest of {i}: {:?}", graph.of(i));
                assert!(graph.of(i).iter().all(|near| near.distance2 == 0.0));
            }
        }
    }
    // More neighbours than there are at one position, so that some are at the next.
    let some = &points[..10];
    let wanted = Nearest::new(n / places + 5);
    let brute = side.map_or_else(|| BruteForce::build(&points), |side| BruteForce::build_periodic(&points, side));
    assert!(bvh.nearest_all(some, wanted) == brute.unwrap().nearest_all(some, wanted));
}

#[test]
fn nearest_of_copies() {
    nearest_copies::<f32, 2>(None);
    nearest_copies::<f64, 3>(None);
    nearest_copies::<f32, 3>(Some(8.0));
}

/// A large `k` does not take quadratic time in `k`.
#[test]
fn half_of_all_points() {
    let mut random = Random::new(5);
    let points: Vec<[f32; 2]> = (0..200_000).map(|_| [random.unit() as f32, random.unit() as f32]).collect();
    let bvh = Bvh::build(&points).unwrap();
    let brute = BruteForce::build(&points).unwrap();
    for k in [63, 64, 65, 66, 1000, 100_000, 200_000, 300_000, usize::MAX] {
        let near = bvh.nearest(points[7], k);
        assert!(near == brute.nearest(points[7], k), "k = {k}");
    }
}

/// Returns the sum of the sides of all leaves.
fn perimeter<S: Scalar, const D: usize>(bvh: &Bvh<S, D>) -> f64 {
    let nodes = bvh.nodes();
    let leaves = (0..nodes.len()).filter(|&at| nodes[at].rope as usize == at + 1);
    let sides = leaves.map(|at| nodes[at].bounds).map(|bounds| {
        bounds.hi.iter().zip(&bounds.lo).map(|(&hi, &lo)| Into::<f64>::into(hi) - Into::<f64>::into(lo)).sum::<f64>()
    });
    sides.sum()
}

/// A patch that fits into one cell of the grid of the whole domain is sorted as well as a separate set.
fn patch<S: Scalar, const D: usize>(size: f64, n: usize) {
    let mut random = Random::new(6);
    let patch: Vec<[S; D]> = (0..n).map(|_| std::array::from_fn(|_| S::from_f64(size * random.unit()))).collect();
    let mut all = patch.clone();
    all.extend([[S::from_f64(-1e6); D], [S::from_f64(1e6); D]]);
    let (alone, among) = (Bvh::build(&patch).unwrap(), Bvh::build(&all).unwrap());
    among.validate().unwrap();
    let ratio = perimeter(&among) / perimeter(&alone);
    assert!(ratio < 2.0, "leaves are {ratio} times as large");
    let eps = 0.1 * D as f64 * size / (n as f64).powf(1.0 / D as f64);
    let halos = Fof::new(eps).run(&all).unwrap();
    assert_eq!(halos.labels().as_slice()[..n], *Fof::new(eps).run(&patch).unwrap().labels().as_slice());
    assert!(halos.len() > n / 100);
}

#[test]
fn many_points_in_one_cell() {
    patch::<f64, 2>(1e-6, 100_000);
    patch::<f64, 3>(1e-9, 300_000);
    patch::<f32, 3>(1e-3, 300_000);
    patch::<f64, 8>(1e-2, 20_000);
}

/// Patches within patches: the grid is refined repeatedly.
#[test]
fn cells_within_cells() {
    let mut random = Random::new(7);
    let points: Vec<[f64; 2]> = (0..60_000)
        .map(|i| {
            let size = 1e-7f64.powi(i % 20);
            [size * random.unit(), size * random.unit()]
        })
        .collect();
    let bvh = Bvh::build(&points).unwrap();
    bvh.validate().unwrap();
    let leaves = bvh.nodes().len().div_ceil(2);
    assert!(leaves < 4 * points.len() / LEAF, "{leaves} leaves");
    // Each sphere contains all patches from one size on.
    for level in 0..20 {
        let radius = 2.0 * 1e-7f64.powi(level);
        let expected = points.iter().filter(|[x, y]| x * x + y * y <= radius * radius).count();
        assert_eq!(bvh.query(Sphere::new([0.0, 0.0], radius)).count(), expected);
    }
}
