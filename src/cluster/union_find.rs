//! A concurrent union-find.
//!
//! In: pairs, from any number of threads. Out: a forest whose roots are the smallest positions of their trees.
//! Cost: 4 bytes a point. Source: Jaiganesh and Burtscher 2018 (ECL-CC), for intermediate pointer jumping and hooking the larger
//! root to the smaller by compare-and-swap.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::parallel::{atomics, fill};

/// Points per parallel task.
const TASK: usize = 1 << 15;

/// A forest over positions. Roots of unions are the smallest position of their tree, whatever the order of the unions.
pub(crate) struct UnionFind {
    parent: Vec<AtomicU32>,
}

impl UnionFind {
    pub fn new(n: usize) -> Self {
        let mut parent = atomics(n, 0);
        fill(&mut parent, TASK, &|range, own| {
            own.iter_mut().zip(range).for_each(|(parent, at)| *parent = AtomicU32::new(at as u32));
        });
        Self { parent }
    }

    /// The forest of these parents; roots are their own. For [`UnionFind::union`] each must be at most the position itself.
    pub fn of(parent: Vec<AtomicU32>) -> Self {
        Self { parent }
    }

    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// The root, with every node on the way made to point to its grandparent.
    ///
    /// Relaxed suffices throughout: a parent is always above in the same tree, also when it is stale.
    #[inline]
    pub fn find(&self, mut at: u32) -> u32 {
        let mut parent = self.parent[at as usize].load(Relaxed);
        while parent != at {
            let grandparent = self.parent[parent as usize].load(Relaxed);
            if grandparent != parent {
                self.parent[at as usize].store(grandparent, Relaxed);
            }
            (at, parent) = (parent, grandparent);
        }
        at
    }

    /// Joins two trees and returns their root.
    #[inline]
    pub fn union(&self, a: u32, b: u32) -> u32 {
        let (mut a, mut b) = (self.find(a), self.find(b));
        while a != b {
            if a > b {
                (a, b) = (b, a);
            }
            match self.parent[b as usize].compare_exchange(b, a, Relaxed, Relaxed) {
                Ok(_) => return a,
                // Another thread hooked `b` meanwhile.
                Err(_) => b = self.find(b),
            }
            a = self.find(a);
        }
        a
    }
}
