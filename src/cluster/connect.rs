//! Unites all points within a radius of each other: the main phase of FOF and DBSCAN.
//!
//! In: a tree, a radius, and the participating points. Out: a union-find forest over tree order.
//! The half traversal visits each pair of leaves within the radius once. Pairs that are already known to be in one
//! component are skipped without computing distances.
//! Cost: O(n) walks in total; 4 bytes per point and 4 per node. Source: Prokopenko et al. 2023 (FDBSCAN: tree and
//! union-find). Cliques of the tree replace their grid of dense boxes (`dense_box`).

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::bvh::traverse::{Step, bits, low_bits};
use crate::bvh::{Bvh, LEAF};
use crate::cluster::union_find::UnionFind;
use crate::geometry::{Blocks, Scalar};
use crate::parallel::{atomics, for_tasks, for_tasks_reversed};
use crate::phases::mark;
use crate::search::pairs::each_leaf_pair;
use crate::search::radius_test::{RadiusTest, RadiusTests, with_radius_test};
use crate::simd::{Isa, dispatch};

/// Nodes per parallel task.
const TASK: usize = 1 << 10;
/// Marks a node that is not known to be uniform.
const NONE: u32 = u32::MAX;

/// The participating points: all, or those in a mask per leaf. The mask of an inner node is nonzero if any mask below
/// it is.
#[derive(Clone, Copy)]
pub(crate) enum Participants<'a> {
    All,
    Masks(&'a [u32]),
}

impl Participants<'_> {
    /// Returns the participants of a leaf, one bit each.
    #[inline(always)]
    pub fn of<S: Scalar, const D: usize>(self, tree: &Bvh<S, D>, leaf: usize) -> u32 {
        match self {
            Participants::All => low_bits(tree.span(leaf).len()),
            Participants::Masks(masks) => masks[leaf],
        }
    }
}

/// Unites all pairs of participants within `radius`.
///
/// A node is *uniform* once all participants below it are known to be in one component. A node whose diagonal is at
/// most `radius` is uniform from the start. Another leaf becomes uniform once its participants are in one component,
/// another inner node once its children are uniform and in the same component.
///
/// Leaves are processed from last to first. The nodes behind a leaf, which its half traversal visits, are then mostly
/// uniform already and are skipped as a whole. The marks only save work: a late mark costs time, and the components
/// are the same in any order.
pub(crate) fn connect<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    radius: f64,
    participants: Participants<'_>,
) -> UnionFind {
    let forest = UnionFind::new(tree.len());
    let uniform = atomics(tree.end(), NONE);
    let tests = RadiusTests::new(tree, radius);
    let merger = ClusterMerger { tree, tests, participants, forest: &forest, uniform: &uniform };
    for_tasks(tree.end(), TASK, &|nodes| merger.unite_cliques(nodes));
    for_tasks_reversed(tree.end(), TASK, &|nodes| {
        dispatch!(isa => for at in nodes.rev() {
            merger.merge(isa, at);
        });
    });
    mark("walk, union");
    forest
}

/// Tests and unites every pair of participants within `radius` (FDBSCAN). Leaves of exact duplicates are united with
/// their predecessor without tests.
pub(crate) fn connect_pairs<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    radius: f64,
    participants: Participants<'_>,
) -> UnionFind {
    let forest = UnionFind::new(tree.len());
    for_tasks(tree.end(), TASK, &|nodes| {
        for leaf in nodes.filter(|&at| tree.is_leaf(at) && tree.duplicates_predecessor(at)) {
            if participants.of(tree, leaf) != 0 {
                tree.span(leaf).for_each(|position| _ = forest.union(position as u32 - 1, position as u32));
            }
        }
    });
    each_leaf_pair(tree, radius, true, &|pairs| {
        let (rows, others) = match participants {
            Participants::All => (pairs.candidates, u32::MAX),
            Participants::Masks(masks) => (pairs.candidates & masks[pairs.leaf], masks[pairs.other]),
        };
        for row in bits(rows) {
            for hit in bits(pairs.hits[row] & others) {
                forest.union((pairs.first + row) as u32, (pairs.other_first + hit) as u32);
            }
        }
    });
    mark("walk, union");
    forest
}

pub(super) struct ClusterMerger<'a, S, const D: usize> {
    pub tree: &'a Bvh<S, D>,
    pub tests: RadiusTests<'a, S, D>,
    pub participants: Participants<'a>,
    pub forest: &'a UnionFind,
    /// One participant below each uniform node, `NONE` for other nodes.
    pub uniform: &'a [AtomicU32],
}

impl<S: Scalar, const D: usize> ClusterMerger<'_, S, D> {
    /// Unites a leaf's participants with their neighbours in the leaf and behind it. For an inner node, updates its
    /// mark from its children, whose leaves have been processed.
    #[inline(always)]
    fn merge<I: Isa>(&self, isa: I, at: usize) {
        if !self.any_participants(at) {
            return;
        }
        if self.tree.is_leaf(at) {
            with_radius_test!(I, self.tests, self.tree.node(at), |test| self.merge_leaf(isa, test, at));
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
    fn merge_leaf<I: Isa, const GENERAL: bool>(&self, isa: I, test: &RadiusTest<S, D, GENERAL>, leaf: usize) {
        let here = self.tree.blocks(&self.tree.span(leaf));
        let participants = self.participants.of(self.tree, leaf);
        let mut root = self.uniform_root(leaf);
        if root.is_none() {
            let mut neighbors = [0; LEAF];
            for bit in bits(participants) {
                neighbors[bit] = test.hits(isa, &self.tree.item(here.first + bit), &here) & participants;
            }
            root = self.unite_components(here.first, participants, &neighbors);
            self.uniform[leaf].store(root.unwrap_or(NONE), Relaxed);
        }

        let bounds = &self.tree.node(leaf).bounds;
        self.tree.walk(
            self.tree.nodes_after(leaf),
            #[inline(always)]
            |at, node| {
                if !test.meets(bounds, &node.bounds) || !self.any_participants(at) {
                    return Step::Skip;
                }
                let other_root = self.uniform_root(at);
                if root.is_some() && root == other_root {
                    return Step::Skip;
                }
                if self.tree.is_leaf(at) {
                    let uniform = [root.is_some(), other_root.is_some()];
                    self.merge_pair(isa, test, &here, participants, at, uniform);
                    root = root.map(|root| self.forest.find(root));
                }
                Step::Enter
            },
        );
    }

    /// Unites the components of a leaf's participants, found from the neighbour masks alone. Returns the root if there
    /// is one component.
    #[inline(never)]
    fn unite_components(&self, start: usize, participants: u32, neighbors: &[u32; LEAF]) -> Option<u32> {
        let mut left = participants;
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
            root = (component == participants).then_some((start + first) as u32);
        }
        root.map(|root| self.forest.find(root))
    }

    /// Unites neighbours between a leaf's participants and those of another leaf. If both leaves are uniform, stops at
    /// the first pair.
    #[inline(always)]
    fn merge_pair<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<S, D, GENERAL>,
        here: &Blocks<'_, S, D>,
        participants: u32,
        other: usize,
        [own_uniform, other_uniform]: [bool; 2],
    ) {
        let there = self.tree.blocks(&self.tree.span(other));
        let others = self.participants.of(self.tree, other);
        for bit in bits(test.candidates(isa, &self.tree.node(other).bounds, here) & participants) {
            let position = (here.first + bit) as u32;
            if other_uniform && !own_uniform && Some(self.forest.find(position)) == self.uniform_root(other) {
                continue;
            }
            let hits = test.hits(isa, &self.tree.item(here.first + bit), &there) & others;
            for hit in bits(hits) {
                self.forest.union(position, (there.first + hit) as u32);
                if other_uniform {
                    break;
                }
            }
            if hits != 0 && own_uniform && other_uniform {
                return;
            }
        }
    }

    #[inline(always)]
    fn any_participants(&self, at: usize) -> bool {
        match self.participants {
            Participants::All => true,
            Participants::Masks(masks) => masks[at] != 0,
        }
    }

    /// The root of the component of all participants below a node, if the node is known to be uniform.
    #[inline(always)]
    fn uniform_root(&self, at: usize) -> Option<u32> {
        match self.uniform[at].load(Relaxed) {
            NONE => None,
            member => Some(self.forest.find(member)),
        }
    }
}
