//! Dendrograms of trees of any shape, compared with Kruskal's algorithm, and clusters of HDBSCAN* on long chains.

use common::random::Random;
use proptest::collection::vec;
use proptest::prelude::*;
use ropewalk::cluster::{ClusterSelection, Dendrogram, SpanningTree, Ties};
use ropewalk::{Hdbscan, MinimumSpanningTree, Scalar};

/// The clusters, height and size of the merge of each edge.
type Merges = Vec<([u32; 2], f64, u32)>;

/// Returns the merges of the tree's edges in their order.
fn kruskal(tree: &SpanningTree) -> Merges {
    let n = tree.n_points();
    // Each component is identified by one of its points, which stores the component's cluster and size.
    let mut parent: Vec<usize> = (0..n).collect();
    let mut own: Vec<(u32, u32)> = (0..n as u32).map(|point| (point, 1)).collect();
    let mut merges = vec![];
    for (at, edge) in tree.edges().iter().enumerate() {
        let [a, b] = [edge.low, edge.high].map(|point| {
            let mut at = point as usize;
            while parent[at] != at {
                parent[at] = parent[parent[at]];
                at = parent[at];
            }
            at
        });
        assert_ne!(a, b, "a tree has no circle");
        let (clusters, size) = ([own[a].0, own[b].0], own[a].1 + own[b].1);
        let (above, below) = if own[a].1 < own[b].1 { (b, a) } else { (a, b) };
        (parent[below], own[above]) = (above, ((n + at) as u32, size));
        merges.push((
            [clusters[0].min(clusters[1]), clusters[0].max(clusters[1])],
            ropewalk::geometry::distance_from_square(edge.weight2),
            size,
        ));
    }
    merges
}

fn merges(dendrogram: &Dendrogram) -> Merges {
    dendrogram.merges().iter().map(|merge| (merge.clusters, merge.height, merge.size)).collect()
}

/// Checks the merges, and the clusters for several options, with any number of threads.
fn check(tree: &SpanningTree, name: &str) -> Dendrogram {
    let options = [(2, Ties::Together), (5, Ties::Together), (5, Ties::Sequential), (300, Ties::Together)]
        .map(|(size, ties)| Hdbscan::new(size).ties(ties).allow_single_cluster(true));
    let run = || (Dendrogram::new(tree), options.clone().map(|options| options.run_on_spanning_tree(tree).unwrap()));
    let expected = run();
    assert!(merges(&expected.0) == kruskal(tree), "{name}");
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert!(pool.install(run) == expected, "{name}, {threads} threads");
    }
    expected.0
}

/// Returns points along a line with the given gaps, in random order, and the index of each.
fn chain(gaps: &[f64], seed: u64) -> (Vec<[f64; 1]>, Vec<usize>) {
    let (mut random, mut x, n) = (Random::new(seed), 0.0, gaps.len() + 1);
    let mut index: Vec<usize> = (0..n).collect();
    if seed > 0 {
        (1..n).for_each(|at| index.swap(at, random.below(at + 1)));
    }
    let mut points = vec![[0.0]; n];
    for (at, &place) in index.iter().enumerate() {
        points[place] = [x];
        x += gaps.get(at).copied().unwrap_or(0.0);
    }
    (points, index)
}

/// Returns gaps that are sums of powers of two, so that differences of coordinates are exact: ascending, descending,
/// alternating, and in heaps of equal gaps.
fn gaps(n: usize) -> [(&'static str, Vec<f64>); 4] {
    let step = |at: usize| 1.0 + at as f64 / f64::from(1 << 20);
    [
        ("ascending", (0..n).map(step).collect()),
        ("descending", (0..n).map(|at| step(n - at)).collect()),
        ("alternating", (0..n).map(|at| step(if at % 2 == 0 { at } else { 2 * n - at })).collect()),
        ("heaps", (0..n).map(|at| f64::from(1 << (at + 1).trailing_zeros().min(9))).collect()),
    ]
}

/// Long paths of any direction: two points merge at the widest gap between them.
#[test]
fn chains_of_points() {
    chains(60_000);
}

#[test]
#[ignore = "wide"]
fn wide_chains_of_points() {
    chains(300_000);
}

fn chains(n: usize) {
    for (seed, (name, gaps)) in gaps(n - 1).iter().enumerate() {
        let (points, index) = chain(gaps, seed as u64);
        let tree = MinimumSpanningTree::new().run(&points).unwrap();
        let dendrogram = check(&tree, name);
        let mut random = Random::new(5);
        for _ in 0..200 {
            let [a, b] = [random.below(n), random.below(n)];
            let widest = gaps[a.min(b)..a.max(b)].iter().copied().fold(0.0, f64::max);
            assert_eq!(dendrogram.cophenetic_distance(index[a], index[b]), widest, "{name}");
        }
    }
}

/// With ascending gaps, points join one by one: point i leaves at the gap before it, and the first five points leave
/// together.
#[test]
fn one_cluster_along_a_chain() {
    let n = 100_000;
    for (name, gaps) in &gaps(n - 1)[..2] {
        let (points, index) = chain(gaps, 3);
        for ties in [Ties::Together, Ties::Sequential] {
            let options = Hdbscan::new(5).min_samples(1).ties(ties).allow_single_cluster(true);
            let found = options.cluster_selection(ClusterSelection::ExcessOfMass).run(&points).unwrap();
            let tree = found.condensed_tree();
            assert_eq!((tree.clusters().len(), tree.clusters()[0].size as usize), (1, n));
            let mut stability = 0.0;
            for (at, &point) in index.iter().enumerate() {
                let gap = match *name {
                    "ascending" => gaps[at.max(4) - 1],
                    _ => gaps[at.min(n - 5)],
                };
                assert_eq!((tree.cluster(point), tree.lambda(point)), (0, 1.0 / gap), "{name} {at}");
                stability += 1.0 / gap;
            }
            assert!((tree.clusters()[0].stability / stability - 1.0).abs() < 1e-10, "{name}");
        }
    }
}

/// Few different weights: nodes with many or all edges.
#[test]
fn lattices_and_copies() {
    let mut random = Random::new(8);
    let copies = vec![[0.25, 0.5, -1.0]; 50_000];
    let lattice: Vec<[f64; 3]> = (0..27_000).map(|at| [at % 30, at / 30 % 30, at / 900].map(f64::from)).collect();
    let heaps: Vec<[f64; 3]> = (0..60_000).map(|_| [random.below(40), random.below(40), 0].map(|x| x as f64)).collect();
    for (name, points) in [("copies", copies), ("lattice", lattice), ("heaps", heaps)] {
        for min_samples in [1, 4] {
            check(&MinimumSpanningTree::new().min_samples(min_samples).run(&points).unwrap(), name);
        }
    }
}

fn check_points<S: Scalar, const D: usize>(points: &[[S; D]], min_samples: usize) {
    let options = MinimumSpanningTree::new().min_samples(min_samples.min(points.len().max(1)));
    let tree = options.run(points).unwrap();
    assert_eq!(merges(&Dendrogram::new(&tree)), kruskal(&tree));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_points(points in vec([-50.0f32..50.0, -50.0..50.0], 0..300), min_samples in 1usize..6) {
        check_points(&points, min_samples);
    }

    #[test]
    fn points_of_a_grid(points in vec([0i8..6, 0..6, 0..3], 0..300), min_samples in 1usize..6) {
        let points: Vec<_> = points.iter().map(|point| point.map(f64::from)).collect();
        check_points(&points, min_samples);
    }

    #[test]
    fn points_of_a_line(points in vec(-30_000i16..30_000, 0..2000)) {
        let points: Vec<_> = points.iter().map(|&x| [f32::from(x)]).collect();
        check_points(&points, 1);
    }
}
