//! Tests of union-find with loom, which tries every order in which two or three threads may load, store and exchange
//! parents, with every value that relaxed atomics may return.
#![cfg(test)]

#[allow(dead_code)]
mod union_find {
    include!(concat!(env!("OUT_DIR"), "/union_find.rs"));
}

/// A serial replacement for the part of `ropewalk`'s module that creates a forest.
mod parallel {
    use std::ops::Range;

    use loom::sync::atomic::AtomicU32;

    pub fn atomics(n: usize, value: u32) -> Vec<AtomicU32> {
        (0..n).map(|_| AtomicU32::new(value)).collect()
    }

    pub fn fill<T>(values: &mut [T], _: usize, value: &dyn Fn(Range<usize>, &mut [T])) {
        value(0..values.len(), values);
    }
}

use loom::sync::Arc;
use union_find::UnionFind;

/// Runs the unions of each thread in every order, those of the first on the main thread, and checks the roots at the
/// end.
fn all_orders(n: u32, threads: &'static [&'static [(u32, u32)]], roots: &'static [u32]) {
    loom::model(move || {
        let forest = Arc::new(UnionFind::new(n as usize));
        let unite = |forest: &UnionFind, pairs: &[(u32, u32)]| {
            for &(a, b) in pairs {
                let root = forest.union(a, b);
                // The tree may have grown meanwhile, but a root is never above its members.
                assert!(root <= a && root <= b);
            }
        };
        let others: Vec<_> = threads[1..]
            .iter()
            .map(|pairs| {
                let forest = Arc::clone(&forest);
                loom::thread::spawn(move || unite(&forest, pairs))
            })
            .collect();
        unite(&forest, threads[0]);
        others.into_iter().for_each(|thread| thread.join().unwrap());
        let found: Vec<u32> = (0..n).map(|at| forest.find(at)).collect();
        assert_eq!(found, roots);
    });
}

#[test]
fn two_threads_hook_the_same_root() {
    all_orders(3, &[&[(0, 2)], &[(1, 2)]], &[0, 0, 0]);
}

#[test]
fn two_threads_unite_the_same_pair() {
    all_orders(2, &[&[(0, 1)], &[(1, 0)]], &[0, 0]);
}

#[test]
fn chains_meet() {
    all_orders(4, &[&[(2, 3), (1, 2)], &[(0, 1)]], &[0, 0, 0, 0]);
}

/// One thread halves a path while another attaches the path's root.
#[test]
fn a_path_is_halved_while_its_root_moves() {
    all_orders(5, &[&[(3, 4), (2, 3), (4, 2)], &[(0, 2)]], &[0, 1, 0, 0, 0]);
}

#[test]
fn two_components_stay_apart() {
    all_orders(4, &[&[(0, 2)], &[(1, 3)]], &[0, 1, 0, 1]);
}

#[test]
fn three_threads() {
    all_orders(4, &[&[(0, 3)], &[(1, 3)], &[(2, 3)]], &[0, 0, 0, 0]);
}
