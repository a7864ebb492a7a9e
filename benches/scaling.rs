//! Growth of time with the number of points, on scale-free sets and on sets with copies:
//! `cargo bench --bench scaling`.
//!
//! Prints for each set and operation the seconds at several sizes, and the exponent of n between the smallest and the
//! largest. Names after `--` select sets: `cargo bench --bench scaling -- radii-3d copies`. Run as a test, it runs
//! once with few points.

use std::hint::black_box;
use std::time::Instant;

use ropewalk::cluster::KernelDensity;
use ropewalk::interpolate::MovingLeastSquares;
use ropewalk::{AdaptaHop, Bvh, Hdbscan, Nearest, minimum_spanning_tree};

#[path = "../src/work/sets.rs"]
mod sets;

/// An operation on points and their tree.
type Run<'a, const D: usize> = &'a dyn Fn(&[[f64; D]], &Bvh<f64, D>);

/// Returns the shorter of two times of an operation.
fn seconds<const D: usize>(points: &[[f64; D]], run: Run<'_, D>) -> f64 {
    let tree = Bvh::build(points).expect("points are finite");
    let times = (0..2).map(|_| {
        let start = Instant::now();
        run(points, &tree);
        start.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Measures the operations on a set, unless other sets were named, and prints each result when it is known.
fn print<const D: usize>(named: &[String], name: &str, sizes: &[usize], of: impl Fn(usize) -> Vec<[f64; D]>) {
    if !named.is_empty() && !named.iter().any(|named| named == name) {
        return;
    }
    let mut operations: Vec<(&str, Run<'_, D>)> = vec![
        ("build", &|points, _| drop(black_box(Bvh::build(points).expect("points are finite")))),
        ("nearest", &|_, tree| drop(black_box(tree.nearest_neighbors(Nearest::new(8).excluding_self())))),
        ("spanning tree", &|points, _| drop(black_box(minimum_spanning_tree(points).expect("points are finite")))),
        ("HDBSCAN", &|points, _| drop(black_box(Hdbscan::new(5).run(points).expect("points are finite")))),
        ("moving least squares", &|points, _| {
            drop(black_box(MovingLeastSquares::new(1).prepare(points, points).expect("points are finite")))
        }),
    ];
    if (2..=3).contains(&D) {
        operations.push(("AdaptaHOP", &|_, tree| {
            drop(black_box(
                AdaptaHop::new()
                    .density(KernelDensity::new().volume(1.0))
                    .run_on(tree)
                    .expect("there are enough points"),
            ));
        }));
    }
    for (what, run) in operations {
        print!("{name:>12} {what:>20}");
        let times: Vec<f64> = sizes.iter().map(|&n| seconds(&of(n), run)).collect();
        times.iter().for_each(|time| print!(" {time:>8.4} s"));
        let exponent =
            (times[times.len() - 1] / times[0]).ln() / (sizes[sizes.len() - 1] as f64 / sizes[0] as f64).ln();
        println!("   n^{exponent:.2}");
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sizes: &[usize] = match arguments.iter().any(|argument| argument == "--bench") {
        true => &[1 << 14, 1 << 16, 1 << 18, 1 << 20],
        false => &[1 << 8, 1 << 9],
    };
    let named: Vec<String> = arguments.into_iter().filter(|argument| !argument.starts_with("--")).collect();
    let known = ["uniform", "radii-3d", "radii-2d", "axis", "progression", "copies", "heaps", "outlier"];
    if let Some(name) = named.iter().find(|name| !known.contains(&name.as_str())) {
        panic!("unknown set {name}; known sets: {}", known.join(", "));
    }
    print(&named, "uniform", sizes, sets::uniform);
    print(&named, "radii-3d", sizes, |n| sets::exponential::<3>(n, 300.0));
    print(&named, "radii-2d", sizes, |n| sets::exponential::<2>(n, 300.0));
    print(&named, "axis", sizes, sets::along_axis);
    print(&named, "progression", sizes, sets::progression);
    print(&named, "copies", sizes, sets::copies);
    print(&named, "heaps", sizes, sets::heaps);
    print(&named, "outlier", sizes, sets::outlier);
}
