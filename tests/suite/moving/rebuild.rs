//! Rebuilds: the same tree as a new build, in the existing memory.

use ropewalk::{Aabb, Bvh, ErrorKind, Scalar};

use super::{build, cloud, moved, with_threads};

fn many_sizes<S: Scalar, const D: usize>(side: Option<f64>) {
    let all = cloud::<S, D>(70_000, 20);
    let mut tree = build(&all[..0], side);
    for n in [0, 1, 2, 31, 32, 33, 100, 5000, 4999, 70_000, 69_000, 70_000, 33, 0, 1, 40_000] {
        let points = &moved(&all, 0.01, n as u64)[..n];
        tree.rebuild(points).unwrap();
        tree.validate().unwrap();
        assert!(tree == build(points, side), "{n} points");
        assert_eq!(tree.degradation(), 1.0);
        if n % 2 == 1 {
            tree.refit(&all[..n]).unwrap();
        }
    }
    // Points in one cell of the grid, and at one position.
    let mut patch: Vec<[S; D]> = all[..5000].iter().map(|point| point.map(|x| x * S::from_f64(1e-9))).collect();
    patch.extend([[S::from_f64(0.9); D]; 3000]);
    tree.rebuild(&patch).unwrap();
    assert!(tree == build(&patch, side));
    tree.rebuild(&all).unwrap();
    assert!(tree == build(&all, side));
}

#[test]
fn of_many_sizes() {
    many_sizes::<f32, 2>(None);
    many_sizes::<f64, 3>(Some(1.0));
    many_sizes::<f32, 5>(Some(1.0));
}

#[test]
fn of_other_types() {
    let points = cloud::<f32, 3>(3000, 21);
    let vectors: Vec<glam::Vec3> = points.iter().map(|&point| point.into()).collect();
    let boxes: Vec<Aabb<f32, 3>> = points.iter().map(|&lo| Aabb { lo, hi: lo.map(|x| x + 0.01) }).collect();
    let mut tree = Bvh::build(&vectors[..10]).unwrap();
    for _ in 0..2 {
        tree.rebuild(&vectors).unwrap();
        assert!(tree == Bvh::build(&points).unwrap());
        tree.rebuild(&boxes).unwrap();
        assert!(tree == Bvh::build(&boxes).unwrap());
        tree.rebuild(&points).unwrap();
        assert!(tree == Bvh::build(&points).unwrap());
    }
}

#[test]
fn on_any_number_of_threads() {
    let points = cloud::<f32, 3>(150_000, 22);
    let next = moved(&points, 0.05, 23);
    let fresh = build(&next, None);
    for threads in [1, 2, 5] {
        with_threads(threads, || {
            let mut tree = build(&points, None);
            tree.rebuild(&next).unwrap();
            assert!(tree == fresh, "{threads} threads");
            tree.rebuild(&points).unwrap();
            tree.rebuild(&next).unwrap();
            assert!(tree == fresh, "{threads} threads");
        });
    }
    // One tree, with changing numbers of threads.
    let mut tree = build(&points, None);
    for threads in [1, 5, 2] {
        with_threads(threads, || tree.rebuild(&next)).unwrap();
        assert!(tree == fresh, "{threads} threads");
    }
}

#[test]
fn bad_input_leaves_the_tree() {
    let points = cloud::<f64, 2>(2000, 24);
    let mut tree = build(&points, Some(1.0));
    tree.rebuild(&points).unwrap();
    let mut bad = points.clone();
    bad[1234][0] = f64::NAN;
    let error = tree.rebuild(&bad).unwrap_err();
    assert_eq!((error.kind(), error.index()), (ErrorKind::NotFinite, Some(1234)));
    assert!(tree == build(&points, Some(1.0)));
}

/// After a cancelled rebuild, the tree is empty and not partly built.
#[test]
fn a_rebuild_that_is_cancelled() {
    let points = cloud::<f32, 3>(50_000, 25);
    let mut tree = build(&points, None);
    let cancel = ropewalk::Cancel::new();
    cancel.cancel();
    for refits in [false, true] {
        let result = cancel.run(|| if refits { tree.refit(&points) } else { tree.rebuild(&points) });
        if tree.is_empty() {
            assert!(result.is_err());
        }
        tree.validate().unwrap();
        tree.rebuild(&points).unwrap();
        assert!(tree == build(&points, None));
    }
}
