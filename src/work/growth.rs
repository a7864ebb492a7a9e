//! How work grows with the number of points, on sets without a scale.

use super::distances;
use super::sets::{along_axis, copies, exponential, heaps, outlier, progression, uniform};
use crate::interpolate::MovingLeastSquares;
use crate::{Bvh, Dbscan, Fof, Hdbscan, Nearest, minimum_spanning_tree};

/// Numbers of points between which work is compared.
const SIZES: [usize; 2] = [1 << 11, 1 << 14];

/// What work may grow with: n to this power.
const EXPONENT: f64 = 1.2;

fn operations<const D: usize>(points: &[[f64; D]]) -> Vec<(&'static str, u64)> {
    let tree = Bvh::build(points).unwrap();
    let some: Vec<[f64; D]> = points.iter().step_by(8).copied().collect();
    let mut all = vec![
        ("nearest of all", distances(|| tree.nearest_neighbors(Nearest::new(8).excluding_self()))),
        ("nearest of some", distances(|| tree.nearest_all(&some, 8))),
        ("count, small", distances(|| tree.count_neighbors(1e-60))),
        ("count, large", distances(|| tree.count_neighbors(1e-3))),
        ("pairs", distances(|| tree.count_pairs(1e-40))),
        ("FOF", distances(|| Fof::new(1e-30).run_on(&tree).unwrap())),
        ("DBSCAN", distances(|| Dbscan::new(1e-20, 5).run_on(&tree).unwrap())),
        ("EMST", distances(|| minimum_spanning_tree(points).unwrap())),
        ("HDBSCAN", distances(|| Hdbscan::new(5).run(points).unwrap())),
        ("MLS", distances(|| MovingLeastSquares::new(1).prepare(points, &some).unwrap())),
    ];
    #[cfg(feature = "halos")]
    if (2..=3).contains(&D) {
        let density = crate::KernelDensity::new().volume(1.0);
        all.push(("densities", distances(|| density.run_on(&tree).unwrap())));
        let hop = crate::Hop::new(1.0).volume(1.0);
        all.push(("HOP", distances(|| hop.run_on(&tree).unwrap())));
        let adaptahop = crate::AdaptaHop::new().density(crate::KernelDensity::new().volume(1.0));
        all.push(("AdaptaHOP", distances(|| adaptahop.run_on(&tree).unwrap())));
    }
    all
}

/// Asserts that no operation's work grows faster than it may.
fn grows<const D: usize>(name: &str, of: impl Fn(usize) -> Vec<[f64; D]>) {
    let [few, many] = SIZES.map(|n| operations(&of(n)));
    let by = (SIZES[1] as f64 / SIZES[0] as f64).ln();
    for ((what, few), (_, many)) in few.iter().zip(&many) {
        let exponent = (*many as f64 / *few as f64).ln() / by;
        eprintln!("{name}, {what}: {few} {many} n^{exponent:.2} per point {:.0}", *many as f64 / SIZES[1] as f64);
        if exponent > EXPONENT {
            eprintln!("  XXXX");
        }
    }
}

#[test]
fn exponential_radii() {
    grows("3-D", |n| exponential::<3>(n, 300.0));
    grows("2-D", |n| exponential::<2>(n, 300.0));
    grows("10-D", |n| exponential::<10>(n, 300.0));
}

#[test]
fn copies_of_points() {
    grows("copies", copies);
    grows("heaps", heaps);
}

#[test]
fn other_scales() {
    grows("axis", along_axis);
    grows("outlier", outlier);
    grows("progression", progression);
    grows("uniform", uniform);
}
