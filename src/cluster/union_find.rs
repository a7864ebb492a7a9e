//! A concurrent union-find.
//!
//! In: pairs of positions, from any number of threads. Out: a forest; the root of each tree is its smallest position.
//! Cost: 4 bytes per point. Source: Jaiganesh and Burtscher 2018 (ECL-CC), for intermediate pointer jumping and for
//! hooking the larger root to the smaller by compare-and-swap.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::parallel::{atomics, fill};

/// Points per parallel task.
const TASK: usize = 1 << 15;

/// A forest over positions. The root of a tree is its smallest position, whatever the order of the unions.
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

    /// Creates a forest with the given parents; a root is its own parent. For [`UnionFind::union`] no parent may be
    /// larger than its position.
    pub fn from_parents(parent: Vec<AtomicU32>) -> Self {
        Self { parent }
    }

    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Returns the root of a position and makes every node on the path point to its grandparent.
    ///
    /// Relaxed ordering suffices throughout: a stale parent is still an ancestor in the same tree.
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

    /// Unites two trees and returns the root of the result.
    #[inline]
    pub fn union(&self, a: u32, b: u32) -> u32 {
        let (mut a, mut b) = (self.find(a), self.find(b));
        while a != b {
            if a > b {
                (a, b) = (b, a);
            }
            match self.parent[b as usize].compare_exchange(b, a, Relaxed, Relaxed) {
                Ok(_) => return a,
                // Another thread hooked `b` in the meantime.
                Err(_) => b = self.find(b),
            }
            a = self.find(a);
        }
        a
    }
}
