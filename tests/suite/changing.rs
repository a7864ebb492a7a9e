//! Points that change while they are read: the result is an error, or a result for some points, but the call ends.
//!
//! Safe code can return another box at each call, or exchange memory that it owns. The tree's own tests go further.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use common::random::Random;
use ropewalk::geometry::BoxSize;
use ropewalk::reference::{fof_all_pairs, fof_bins};
use ropewalk::{Aabb, Bounded, Bvh, Dbscan, Error, ErrorKind, Fof, Hdbscan, Hop, MinimumSpanningTree, Nearest};
use ropewalk_io::{Points, Table};

/// Fewer points without optimization.
const N: usize = if cfg!(debug_assertions) { 3_000 } else { 20_000 };

/// A point that changes at each call, in the way that `MODE` selects.
struct Changing<const MODE: u32> {
    at: [f64; 3],
    asked: AtomicU64,
}

impl<const MODE: u32> Bounded<f64, 3> for Changing<MODE> {
    const IS_POINT: bool = true;

    fn bounds(&self) -> Aabb<f64, 3> {
        let asked = self.asked.fetch_add(1, Relaxed);
        let [x, y, z] = self.at;
        let mut random = Random::new(asked ^ x.to_bits());
        Aabb::point(match MODE {
            0 => [random.unit(), random.unit(), random.unit()],
            1 => [if asked > 0 { f64::NAN } else { x }, y, z],
            2 => [x, y + asked as f64, z],
            3 => [x, if random.below(1000) == 0 { f64::INFINITY } else { y }, z],
            _ => [0.5, 0.5, if asked > 1 { z } else { 0.5 }],
        })
    }
}

/// A box that changes at each call, and is sometimes inverted.
struct ChangingBox([f64; 3], AtomicU64);

impl Bounded<f64, 3> for ChangingBox {
    fn bounds(&self) -> Aabb<f64, 3> {
        let mut random = Random::new(self.1.fetch_add(1, Relaxed) ^ self.0[0].to_bits());
        let size = if random.below(50_000) == 0 { -0.01 } else { 0.01 };
        Aabb { lo: self.0, hi: self.0.map(|x| x + size * random.unit()) }
    }
}

fn numbers() -> Vec<[f64; 3]> {
    let mut random = Random::new(11);
    (0..N).map(|_| std::array::from_fn(|_| random.unit())).collect()
}

/// Checks that an error concerns the points.
fn looked_at<T>(result: Result<T, Error>) -> Option<T> {
    result
        .map_err(|error| {
            let kind = error.kind();
            assert!(matches!(kind, ErrorKind::Input | ErrorKind::NotFinite | ErrorKind::Parameter), "{error}");
        })
        .ok()
}

fn on_two_threads(run: impl FnOnce() + Send) {
    rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap().install(run);
}

fn all_of<T: Bounded<f64, 3> + Send>(points: &[T]) {
    for side in [None, Some(0.8)] {
        let tree = side.map_or_else(|| Bvh::build(points), |side| Bvh::build_periodic(points, side));
        if let Some(tree) = looked_at(tree) {
            tree.validate().unwrap();
            assert_eq!(tree.neighbors(0.05).len(), N);
            assert_eq!(tree.nearest_all(points, Nearest::new(4)).len(), N);
            assert_eq!(tree.nearest_neighbors(Nearest::new(8).excluding_self()).len(), N);
            // Afterwards the tree is updated, unchanged or empty, but never half updated.
            let mut moving = tree;
            for _ in 0..3 {
                for refits in [true, false] {
                    looked_at(if refits { moving.refit(points) } else { moving.rebuild(points) });
                    moving.validate().unwrap();
                    assert!(moving.len() == N || moving.is_empty());
                }
            }
        }
        looked_at(Dbscan::new(0.05, 5).periodic(side).run(points));
        looked_at(Fof::new(0.05).periodic(side).run(points));
        looked_at(fof_all_pairs(&Fof::new(0.05).periodic(side), &points[..N / 4]));
        if T::IS_POINT {
            looked_at(fof_bins(&Fof::new(0.05).periodic(side), points));
            looked_at(Hop::new(80.0 * N as f64).periodic(side).run(points));
        }
        looked_at(MinimumSpanningTree::new().periodic(side).run(points));
        if let Some(clusters) = looked_at(Hdbscan::new(10).periodic(side).run(points)) {
            looked_at(Hdbscan::new(10).periodic(side).predict(points, &clusters, points));
        }
    }
}

fn points<const MODE: u32>() {
    let points: Vec<Changing<MODE>> =
        numbers().into_iter().map(|at| Changing { at, asked: AtomicU64::new(0) }).collect();
    on_two_threads(|| all_of(&points));
}

#[test]
fn points_that_change() {
    points::<0>();
    points::<1>();
    points::<2>();
    points::<3>();
    points::<4>();
}

#[test]
fn boxes_that_change() {
    let boxes: Vec<ChangingBox> = numbers().into_iter().map(|at| ChangingBox(at, AtomicU64::new(0))).collect();
    on_two_threads(|| all_of(&boxes));
}

/// An owner that returns other memory at each call.
struct Exchanged(Vec<Vec<f64>>, AtomicU64);

impl AsRef<[f64]> for Exchanged {
    fn as_ref(&self) -> &[f64] {
        &self.0[self.1.fetch_add(1, Relaxed) as usize % self.0.len()]
    }
}

#[test]
fn tables_whose_owner_changes_them() {
    for dim in [2, 3, 5] {
        let values =
            |scale: f64| -> Vec<f64> { numbers().as_flattened()[..N / dim * dim].iter().map(|x| scale * x).collect() };
        let mut spoilt = values(1.0);
        spoilt[100] = f64::NAN;
        let short = values(1.0)[..dim * 7].to_vec();
        let owner = Exchanged(vec![values(1.0), values(1.0), values(1e3), short, spoilt], AtomicU64::new(0));
        let points = Points::F64(Table::shared(dim, Arc::new(owner)).unwrap());
        on_two_threads(|| {
            for _ in 0..10 {
                if let Some(tree) = looked_at(ropewalk_table::Bvh::build(&points)) {
                    looked_at(tree.nearest(&points, 3));
                }
                looked_at(ropewalk_table::dbscan(&points, &Dbscan::new(0.05, 5)));
                looked_at(ropewalk_table::fof(&points, &Fof::new(0.05)));
                looked_at(ropewalk_table::minimum_spanning_tree(&points, &MinimumSpanningTree::new()));
                looked_at(ropewalk_table::nearest_neighbors(&points, Nearest::new(3), BoxSize::default()));
                if let Some(clusters) = looked_at(ropewalk_table::hdbscan(&points, &Hdbscan::new(10))) {
                    looked_at(ropewalk_table::hdbscan_predict(&points, &clusters, &points, &Hdbscan::new(10)));
                }
            }
        });
    }
}
