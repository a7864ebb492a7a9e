//! Benchmarks of single parts on point sets that take a laptop a moment: `cargo bench`. Run as a test, each part runs
//! once.
//!
//! For whole operations on your own data see `ropewalk bench`; for comparison with other libraries see
//! `benches/peers`.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use ropewalk::cluster::DbscanAlgorithm;
use ropewalk::phases::timed;
use ropewalk::sample::{MockHalos, Uniform};
use ropewalk::{Bvh, Dbscan, Fof, Sphere};

const N: usize = 100_000;

/// A uniform and a clustered point set, each with a radius of 0.3 mean separations.
fn clouds() -> [(&'static str, Vec<[f32; 3]>, f64); 2] {
    let radius = 0.3 * (1.0 / N as f64).cbrt();
    let made = "the parameters of the sample are valid";
    [
        ("uniform", Uniform::new(N).seed(1).points().expect(made), radius),
        ("halos", MockHalos::new(N).seed(1).points().expect(made), radius),
    ]
}

/// The phases of a build: bounds, codes and sort, build.
fn build(criterion: &mut Criterion) {
    for (cloud, points, _) in clouds() {
        let (tree, steps) = timed(|| Bvh::build(&points));
        tree.and_then(|tree| tree.validate()).expect("the tree is valid");
        for (i, (step, _)) in steps.into_iter().enumerate() {
            criterion.bench_function(&format!("{cloud}/build: {step}"), |bencher| {
                bencher.iter_custom(|times| (0..times).map(|_| timed(|| black_box(Bvh::build(&points))).1[i].1).sum());
            });
        }
    }
}

fn traversal(criterion: &mut Criterion) {
    for (cloud, points, radius) in clouds() {
        let tree = Bvh::build(&points).expect("points are finite");
        let pairs = tree.count_pairs(radius);
        assert_eq!(
            tree.count_neighbors(radius).iter().map(|&count| u64::from(count)).sum::<u64>(),
            2 * pairs + N as u64
        );
        criterion.bench_function(&format!("{cloud}/pairs"), |bencher| {
            bencher.iter(|| black_box(tree.count_pairs(radius)));
        });
        criterion.bench_function(&format!("{cloud}/count of all"), |bencher| {
            bencher.iter(|| black_box(tree.count_neighbors(radius)));
        });
        criterion.bench_function(&format!("{cloud}/lists of all"), |bencher| {
            bencher.iter_batched(|| (), |()| tree.neighbors(radius), BatchSize::LargeInput);
        });
        criterion.bench_function(&format!("{cloud}/10 nearest of all"), |bencher| {
            bencher.iter_batched(|| (), |()| tree.nearest_neighbors(10), BatchSize::LargeInput);
        });
    }
}

/// Single queries, in unspecified order.
fn queries(criterion: &mut Criterion) {
    for (cloud, points, radius) in clouds() {
        let tree = Bvh::build(&points).expect("points are finite");
        let mut centers = points.iter().cycle();
        criterion.bench_function(&format!("{cloud}/one count"), |bencher| {
            bencher.iter(|| centers.next().map(|&center| tree.query(Sphere::new(center, radius)).count()));
        });
        criterion.bench_function(&format!("{cloud}/one core test"), |bencher| {
            bencher.iter(|| centers.next().map(|&center| tree.query(Sphere::new(center, radius)).nth(9)));
        });
        criterion.bench_function(&format!("{cloud}/one of 10 nearest"), |bencher| {
            bencher.iter(|| centers.next().map(|&center| tree.nearest(center, 10)));
        });
    }
}

fn clustering(criterion: &mut Criterion) {
    for (cloud, points, radius) in clouds() {
        let tree = Bvh::build(&points).expect("points are finite");
        criterion.bench_function(&format!("{cloud}/fof"), |bencher| {
            bencher.iter(|| black_box(Fof::new(radius).run_on(&tree)));
        });
        let labels = |algorithm| Dbscan::new(radius, 10).algorithm(algorithm).run_on(&tree).expect("eps is positive");
        assert_eq!(labels(DbscanAlgorithm::Fdbscan), labels(DbscanAlgorithm::DenseBox));
        for algorithm in [DbscanAlgorithm::Fdbscan, DbscanAlgorithm::DenseBox] {
            criterion.bench_function(&format!("{cloud}/dbscan {algorithm:?}"), |bencher| {
                bencher.iter(|| black_box(labels(algorithm)));
            });
        }
    }
}

criterion_group!(benches, build, traversal, queries, clustering);
criterion_main!(benches);
