//! How time grows with the number of points, on sets without a scale or with copies: `cargo bench --bench growth`.
//!
//! For each set and operation it prints the exponent of n between two sizes. As a test it runs once with few points.

use std::hint::black_box;
use std::time::Instant;

use ropewalk::{AdaptaHop, Bvh, Hdbscan, KernelDensity, MovingLeastSquares, Nearest, minimum_spanning_tree};

#[path = "../src/work/sets.rs"]
mod sets;

fn seconds<R>(task: impl Fn() -> R) -> f64 {
    let best = (0..2).map(|_| {
        let start = Instant::now();
        black_box(task());
        start.elapsed().as_secs_f64()
    });
    best.fold(f64::INFINITY, f64::min)
}

fn times<const D: usize>(points: &[[f64; D]]) -> Vec<(&'static str, f64)> {
    let tree = Bvh::build(points).expect("points are finite");
    let mut all = vec![
        ("build", seconds(|| Bvh::build(points))),
        ("nearest", seconds(|| tree.nearest_neighbors(Nearest::new(8).excluding_self()))),
        ("spanning tree", seconds(|| minimum_spanning_tree(points))),
        ("HDBSCAN", seconds(|| Hdbscan::new(5).run(points))),
        ("moving least squares", seconds(|| MovingLeastSquares::new(1).prepare(points, points))),
    ];
    if (2..=3).contains(&D) {
        let finder = AdaptaHop::new().density(KernelDensity::new().volume(1.0));
        all.push(("AdaptaHOP", seconds(|| finder.run_on(&tree))));
    }
    all
}

fn print<const D: usize>(name: &str, sizes: [usize; 2], of: impl Fn(usize) -> Vec<[f64; D]>) {
    let [few, many] = sizes.map(|n| times(&of(n)));
    let by = (sizes[1] as f64 / sizes[0] as f64).ln();
    for ((what, few), (_, many)) in few.iter().zip(&many) {
        println!("{name:>12} {what:>20} {few:>10.4} s {many:>10.4} s   n^{:.2}", (many / few).ln() / by);
    }
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let sizes = if is_bench { [1 << 14, 1 << 18] } else { [1 << 8, 1 << 9] };
    print("uniform", sizes, sets::uniform);
    print("radii 3-D", sizes, |n| sets::exponential::<3>(n, 300.0));
    print("radii 2-D", sizes, |n| sets::exponential::<2>(n, 300.0));
    print("axis", sizes, sets::along_axis);
    print("progression", sizes, sets::progression);
    print("copies", sizes, sets::copies);
    print("heaps", sizes, sets::heaps);
    print("outlier", sizes, sets::outlier);
}
