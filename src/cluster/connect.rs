//! Joining what is within a radius: the heart of FOF and of DBSCAN.
//!
//! In: a tree, a radius, and which primitives take part. Out: a union-find forest over tree order.
//! Every pair of leaves within reach meets once, in the half traversal; no distance is computed where union-find already
//! knows the answer.
//! Cost: O(n) walks in all; 4 bytes a point and 4 a node. Source: Prokopenko et al. 2023 (FDBSCAN: tree and union-find);
//! cliques of the tree take the place of their grid of dense boxes.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use crate::bvh::traverse::{BallPredicate, bits};
use crate::bvh::{Bvh, LEAF};
use crate::cluster::union_find::UnionFind;
use crate::geometry::Scalar;
use crate::phases::mark;
use crate::simd::{Isa, dispatch};

/// Nodes per parallel task.
const TASK: usize = 1 << 10;
/// A node that is not known to be uniform.
const NONE: u32 = u32::MAX;

/// The primitives that take part: all, or those in a mask for each leaf; then an inner node's mask is not 0 if any below is not.
#[derive(Clone, Copy)]
pub(crate) enum Participants<'a> {
    All,
    Masks(&'a [u32]),
}

impl Participants<'_> {
    /// Those of a leaf, a bit each.
    #[inline(always)]
    fn of<S: Scalar, const D: usize>(self, tree: &Bvh<S, D>, leaf: usize) -> u32 {
        match self {
            Participants::All => u32::MAX >> (u32::BITS - tree.span(leaf).len() as u32),
            Participants::Masks(masks) => masks[leaf],
        }
    }
}

/// Joins all pairs of members within `radius`.
///
/// A node is *uniform* once all members below it are known to be in one component: from the start where its diagonal is at
/// most `radius`, later when its children are uniform and in the same component. Leaves are taken from last to first, so
/// that what lies behind a leaf, where its half traversal leads, is mostly uniform already and can be skipped as a whole.
/// The marks only save work: a late one costs time, and the components are the same in any order.
pub(crate) fn connect<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    radius: f64,
    members: Participants<'_>,
) -> UnionFind {
    let forest = UnionFind::new(tree.len());
    let uniform: Vec<AtomicU32> = (0..tree.end()).map(|_| AtomicU32::new(NONE)).collect();
    let linker = ClusterMerger {
        tree,
        open: BallPredicate::new(tree, radius),
        general: BallPredicate::general(tree, radius),
        members,
        forest: &forest,
        uniform: &uniform,
    };
    let tasks = tree.end().div_ceil(TASK);
    let nodes = |task: usize| task * TASK..((task + 1) * TASK).min(tree.end());
    (0..tasks).into_par_iter().for_each(|task| linker.unite_cliques(nodes(task)));
    (0..tasks).into_par_iter().rev().for_each(|task| {
        dispatch!(level => for at in nodes(task).rev() {
            linker.merge(level, at);
        });
    });
    mark("walk, union");
    forest
}

/// The same, pair by pair: every pair of members within `radius` is tested and uniform, but for copies of the point before
/// them, which are members as it is.
pub(crate) fn connect_pairs<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    radius: f64,
    members: Participants<'_>,
) -> UnionFind {
    let forest = UnionFind::new(tree.len());
    (0..tree.end())
        .into_par_iter()
        .with_min_len(TASK)
        .filter(|&at| tree.is_leaf(at) && tree.duplicates_predecessor(at))
        .for_each(|leaf| {
            if members.of(tree, leaf) != 0 {
                tree.span(leaf).for_each(|primitive| _ = forest.union(primitive as u32 - 1, primitive as u32));
            }
        });
    tree.each_pair_of_leaves::<true>(radius, |leaf, primitive, other, hits| {
        let first = tree.span(leaf).start;
        let hits = match members {
            Participants::All => hits,
            Participants::Masks(masks) if masks[leaf] >> (primitive - first) & 1 == 1 => hits & masks[other],
            Participants::Masks(_) => 0,
        };
        for hit in bits(hits) {
            forest.union(primitive as u32, (tree.span(other).start + hit) as u32);
        }
    });
    mark("walk, union");
    forest
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Whether all primitives are surely within `radius` of each other.
    pub(crate) fn is_clique(&self, radius: f64) -> bool {
        let bounds = self.bounds();
        BallPredicate::<S, D, false>::new(self, radius).covers(&bounds, &bounds)
    }
}

struct ClusterMerger<'a, S, const D: usize> {
    tree: &'a Bvh<S, D>,
    open: BallPredicate<'a, S, D, false>,
    general: Option<BallPredicate<'a, S, D, true>>,
    members: Participants<'a>,
    forest: &'a UnionFind,
    /// One member below each uniform node, else `NONE`.
    uniform: &'a [AtomicU32],
}

impl<S: Scalar, const D: usize> ClusterMerger<'_, S, D> {
    /// Joins what is below nodes with a diagonal of at most the radius.
    fn unite_cliques(&self, nodes: Range<usize>) {
        let mut at = nodes.start;
        while at < nodes.end {
            let node = self.tree.node(at);
            if !self.open.covers(&node.bounds, &node.bounds) {
                at += 1;
                continue;
            }
            let below = at..node.rope as usize;
            let leaves = below.clone().filter(|&at| self.tree.is_leaf(at));
            let mut primitives = leaves.flat_map(|leaf| {
                let first = self.tree.node(leaf).first;
                bits(self.members.of(self.tree, leaf)).map(move |bit| first + bit as u32)
            });
            if let Some(first) = primitives.next() {
                primitives.for_each(|primitive| _ = self.forest.union(first, primitive));
                below.clone().for_each(|at| self.uniform[at].store(first, Relaxed));
            }
            at = below.end;
        }
    }

    /// Finds the neighbours of a leaf's members, in it and behind it; or marks an inner node, whose leaves are settled.
    #[inline(always)]
    fn merge<L: Isa>(&self, level: L, at: usize) {
        if !self.any_participants(at) {
            return;
        }
        if self.tree.is_leaf(at) {
            match &self.general {
                Some(probe) if probe.is_for(&self.tree.node(at).bounds) => self.merge_leaf(level, probe, at),
                _ => self.merge_leaf(level, &self.open, at),
            }
        } else if self.uniform_root(at).is_none() {
            let (left, right) = (at + 1, self.tree.node(at + 1).rope as usize);
            let root = match (self.any_participants(left), self.any_participants(right)) {
                (true, true) => self.uniform_root(left).filter(|&root| self.uniform_root(right) == Some(root)),
                (true, false) => self.uniform_root(left),
                _ => self.uniform_root(right),
            };
            self.uniform[at].store(root.unwrap_or(NONE), Relaxed);
        }
    }

    #[inline(always)]
    fn merge_leaf<L: Isa, const P: bool>(&self, level: L, probe: &BallPredicate<S, D, P>, leaf: usize) {
        let own = self.tree.span(leaf);
        let members = self.members.of(self.tree, leaf);
        let mut root = self.uniform_root(leaf);
        if root.is_none() {
            let mut neighbors = [0; LEAF];
            for bit in bits(members) {
                neighbors[bit] = probe.hits(level, &self.tree.item(own.start + bit), own.clone()) & members;
            }
            root = self.unite_components(own.start, members, &neighbors);
            self.uniform[leaf].store(root.unwrap_or(NONE), Relaxed);
        }

        let bounds = &self.tree.node(leaf).bounds;
        let mut at = self.tree.node(leaf).rope as usize;
        while at < self.tree.end() {
            let node = self.tree.node(at);
            if !probe.meets(bounds, &node.bounds) || !self.any_participants(at) {
                at = node.rope as usize;
                continue;
            }
            let other_root = self.uniform_root(at);
            if root.is_some() && root == other_root {
                at = node.rope as usize;
                continue;
            }
            if self.tree.is_leaf(at) {
                self.merge_pair(level, probe, own.clone(), members, root.is_some(), at, other_root.is_some());
                root = root.map(|root| self.forest.find(root));
            }
            at += 1;
        }
    }

    /// Joins the components of a leaf's members, found on the masks of neighbours alone. The root, if there is but one.
    #[inline(always)]
    fn unite_components(&self, start: usize, members: u32, neighbors: &[u32; LEAF]) -> Option<u32> {
        let mut left = members;
        let mut root = None;
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let (mut component, mut open) = (neighbors[first], neighbors[first] & !(1 << first));
            while open != 0 {
                let next = neighbors[open.trailing_zeros() as usize];
                open = (open & (open - 1)) | (next & !component);
                component |= next;
            }
            for member in bits(component & !(1 << first)) {
                self.forest.union((start + first) as u32, (start + member) as u32);
            }
            left &= !component;
            root = (component == members).then_some((start + first) as u32);
        }
        root.map(|root| self.forest.find(root))
    }

    /// Joins the pairs between a leaf's members and those of another leaf; one pair will do where both are uniform.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn merge_pair<L: Isa, const P: bool>(
        &self,
        level: L,
        probe: &BallPredicate<S, D, P>,
        own: Range<usize>,
        members: u32,
        own_joined: bool,
        other: usize,
        other_joined: bool,
    ) {
        let primitives = self.tree.span(other);
        let others = self.members.of(self.tree, other);
        for bit in bits(probe.candidates(level, &self.tree.node(other).bounds, own.clone()) & members) {
            let primitive = (own.start + bit) as u32;
            if other_joined && !own_joined && Some(self.forest.find(primitive)) == self.uniform_root(other) {
                continue;
            }
            let hits = probe.hits(level, &self.tree.item(own.start + bit), primitives.clone()) & others;
            for hit in bits(hits) {
                self.forest.union(primitive, (primitives.start + hit) as u32);
                if other_joined {
                    break;
                }
            }
            if hits != 0 && own_joined && other_joined {
                return;
            }
        }
    }

    #[inline(always)]
    fn any_participants(&self, at: usize) -> bool {
        match self.members {
            Participants::All => true,
            Participants::Masks(masks) => masks[at] != 0,
        }
    }

    /// The root of the component that all members below a node are known to be in.
    #[inline(always)]
    fn uniform_root(&self, at: usize) -> Option<u32> {
        match self.uniform[at].load(Relaxed) {
            NONE => None,
            member => Some(self.forest.find(member)),
        }
    }
}
