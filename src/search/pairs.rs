//! Pairs within a radius, each found once by the half traversal.
//!
//! Input: a radius. Output: a callback for each pair, their number, or half lists and pairs in ascending order, made
//! from the lists of neighbours.
//! The walk from a leaf covers the nodes after it, so that every two leaves meet once. Pairs within the leaf come
//! first.
//! Cost: half that of the neighbour search. Source: Prokopenko and Lebrun-Grandié 2024, section 4 (pair traversal).

use std::ops::Range;

use crate::bvh::traverse::{Step, bits};
use crate::bvh::{Bvh, LEAF};
use crate::csr::Csr;
use crate::geometry::Scalar;
use crate::memory::append;
use crate::parallel::{for_tasks, list_tasks, map_tasks};
use crate::precompiled::precompiled;
use crate::search::radius_test::{RadiusTest, RadiusTests, with_radius_test};
use crate::simd::{Isa, dispatch};

/// Nodes per parallel task.
const TASK: usize = 1 << 8;

/// Primitives per parallel task that lists pairs.
const LISTED: usize = 1 << 10;

/// The pairs between two leaves, or within one leaf.
pub(crate) struct LeafPairs<'a> {
    pub leaf: usize,
    /// The other leaf, which comes after `leaf`, or `leaf` itself.
    pub other: usize,
    /// The first positions of the two leaves in tree order.
    pub first: usize,
    pub other_first: usize,
    /// A mask of the primitives of the leaf that may have hits.
    pub candidates: u32,
    /// For each primitive in `candidates`, a mask of the primitives of the other leaf that form a pair with it.
    pub hits: &'a [u32; LEAF],
}

/// A callback for the pairs of two leaves, called in parallel.
pub(crate) type PairCallback<'a> = &'a (dyn Fn(&LeafPairs) + Sync);

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Calls `visit` once for every pair of stored primitives within `radius` of each other, in parallel and in
    /// unspecified order.
    ///
    /// The arguments are `(i, j)` with `i < j`.
    ///
    /// ```
    /// use std::sync::Mutex;
    ///
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32], [5.0], [1.0]])?;
    /// let pairs = Mutex::new(vec![]);
    /// bvh.for_each_pair(1.0, |i, j| pairs.lock().unwrap().push((i, j)));
    /// assert_eq!(pairs.into_inner().unwrap(), [(0, 2)]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn for_each_pair(&self, radius: impl Into<f64>, visit: impl Fn(u32, u32) + Sync) {
        let order = self.order();
        each_leaf_pair(self, radius.into(), false, &|pairs| {
            for row in bits(pairs.candidates) {
                for bit in bits(pairs.hits[row]) {
                    let (i, j) = (order[pairs.first + row], order[pairs.other_first + bit]);
                    visit(i.min(j), i.max(j));
                }
            }
        });
    }

    /// Finds all pairs of stored primitives within `radius` of each other (inclusive), each once, in ascending order.
    ///
    /// The lower index of a pair comes first. There are no pairs if the radius is negative or NaN.
    ///
    /// Cost: that of [`Bvh::neighbors`], and a sort of each list. Memory: 8 bytes per pair, temporarily up to 32. If
    /// that may be too much, call [`Bvh::count_pairs`] first, or use [`Bvh::for_each_pair`], which stores no pairs.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[3.0f32], [5.0], [1.0], [1.5]])?;
    /// assert_eq!(bvh.pairs(2.0), [[0, 1], [0, 2], [0, 3], [2, 3]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn pairs(&self, radius: impl Into<f64>) -> Vec<[u32; 2]> {
        pairs_where(&self.half_neighbors(radius), |_, _| true)
    }

    /// Lists all pairs of stored primitives within `radius` of each other (inclusive), each once: list `i` holds the
    /// neighbours of primitive `i` with a higher index, in ascending order.
    ///
    /// Returns one list per primitive, in the order of the slice from which the tree was built. The lists are empty if
    /// the radius is negative or NaN. [`Csr::symmetric`] expands them to full lists.
    ///
    /// Cost: that of [`Bvh::neighbors`], and a sort of each list. Memory: 4 bytes per pair and 8 per primitive,
    /// temporarily that of the neighbours.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[3.0f32], [5.0], [1.0], [1.5]])?;
    /// let lists = bvh.half_neighbors(2.0);
    /// assert_eq!((lists.of(0), lists.of(2)), (&[1, 2, 3][..], &[3][..]));
    /// assert!(lists.of(1).is_empty());
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn half_neighbors(&self, radius: impl Into<f64>) -> Csr<u32> {
        self.neighbors(radius).upper_half()
    }

    /// Finds all pairs of stored boxes that touch or overlap, each once, in the order of [`Bvh::pairs`]: the broad
    /// phase of a collision test.
    ///
    /// In a periodic box any images may touch. For points, the pairs are copies of each other. The pairs are those at
    /// distance 0. Its square is computed in `f64`, so boxes less than 1e-162 apart count as touching.
    ///
    /// ```
    /// use ropewalk::{Aabb, Bvh};
    ///
    /// let boxes = [Aabb::new([0.0f32, 0.0], [1.0, 1.0]), Aabb::new([2.0, 0.0], [3.0, 1.0]), Aabb::new([1.0, 1.0], [2.5, 2.0])];
    /// assert_eq!(Bvh::build(&boxes)?.overlapping_pairs(), [[0, 2], [1, 2]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn overlapping_pairs(&self) -> Vec<[u32; 2]> {
        self.pairs(0.0)
    }

    /// Counts the pairs of stored primitives within `radius` of each other (inclusive), each once.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32], [5.0], [1.0]])?;
    /// assert_eq!(bvh.count_pairs(1.0), 1);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn count_pairs(&self, radius: impl Into<f64>) -> u64 {
        count(self, radius.into())
    }
}

precompiled! { fn count = count_all(tree: same_ref &Bvh<S, D>, radius: keep f64) -> u64 }
precompiled! {
    /// Calls `visit` with the pairs of every two leaves that may have pairs. `once` skips nodes that
    /// [duplicate](Bvh::duplicates_predecessor) the point before them.
    pub(crate) fn each_leaf_pair = each_leaf_pair_of(
        tree: same_ref &Bvh<S, D>, radius: keep f64, once: keep bool, visit: keep PairCallback<'_>
    ) -> ()
}

/// The pairs of half lists for which `keep` returns `true`.
pub(super) fn pairs_where(lists: &Csr<u32>, keep: impl Fn(u32, u32) -> bool + Sync) -> Vec<[u32; 2]> {
    list_tasks(lists.len(), LISTED, &|range| {
        let mut pairs = vec![];
        for i in range {
            let i = i as u32;
            append(&mut pairs, lists.of(i as usize).iter().filter(|&&j| keep(i, j)).map(|&j| [i, j]));
        }
        pairs
    })
}

fn count_all<S: Scalar, const D: usize>(tree: &Bvh<S, D>, radius: f64) -> u64 {
    let tests = RadiusTests::new(tree, radius);
    let counts = map_tasks(tree.end(), TASK, &|nodes: Range<usize>| {
        let mut count = 0;
        dispatch!(isa => for leaf in nodes {
            if tree.is_leaf(leaf) {
                count += count_of_leaf(tree, isa, &tests, leaf);
            }
        });
        count
    });
    counts.into_iter().sum()
}

fn each_leaf_pair_of<S: Scalar, const D: usize>(tree: &Bvh<S, D>, radius: f64, once: bool, visit: PairCallback<'_>) {
    let tests = RadiusTests::new(tree, radius);
    for_tasks(tree.end(), TASK, &|nodes: Range<usize>| {
        dispatch!(isa => for leaf in nodes {
            if tree.is_leaf(leaf) && !(once && tree.duplicates_predecessor(leaf)) {
                pairs_of_leaf(tree, isa, &tests, leaf, once, visit);
            }
        });
    });
}

/// The number of pairs within a leaf, and between the leaf and those after it.
#[inline(always)]
fn count_of_leaf<S: Scalar, I: Isa, const D: usize>(
    tree: &Bvh<S, D>,
    isa: I,
    tests: &RadiusTests<S, D>,
    leaf: usize,
) -> u64 {
    with_radius_test!(I, tests, tree.node(leaf), |test| count_by(tree, isa, test, leaf))
}

#[inline(always)]
fn count_by<S: Scalar, I: Isa, const D: usize, const GENERAL: bool>(
    tree: &Bvh<S, D>,
    isa: I,
    test: &RadiusTest<S, D, GENERAL>,
    leaf: usize,
) -> u64 {
    let own = tree.span(leaf);
    let mut count = 0;
    let here = tree.blocks(&own);
    for position in own.clone() {
        let hits = test.hits(isa, &tree.item(position), &here);
        count += u64::from((hits & later_mask(true, position - own.start)).count_ones());
    }
    let bounds = &tree.node(leaf).bounds;
    tree.walk(
        tree.nodes_after(leaf),
        #[inline(always)]
        |at, node| {
            if !test.meets(bounds, &node.bounds) {
                return Step::Skip;
            }
            if test.covers(bounds, &node.bounds) {
                // All pairs of the two nodes, without a test of each.
                count += own.len() as u64 * tree.span(at).len() as u64;
                return Step::Skip;
            }
            if tree.is_leaf(at) {
                let there = tree.blocks(&tree.span(at));
                for bit in bits(test.candidates(isa, &node.bounds, &here)) {
                    count += u64::from(test.hits(isa, &tree.item(own.start + bit), &there).count_ones());
                }
            }
            Step::Enter
        },
    );
    count
}

/// A mask of the primitives that may form a pair with primitive `bit` of a leaf: those after it in its own leaf, all
/// in others.
#[inline(always)]
fn later_mask(is_own: bool, bit: usize) -> u32 {
    if is_own { !1 << bit } else { u32::MAX }
}

/// Calls `visit` with the pairs within a leaf, and those between the leaf and the leaves after it.
#[inline(always)]
fn pairs_of_leaf<S: Scalar, I: Isa, const D: usize>(
    tree: &Bvh<S, D>,
    isa: I,
    tests: &RadiusTests<S, D>,
    leaf: usize,
    once: bool,
    visit: PairCallback<'_>,
) {
    with_radius_test!(I, tests, tree.node(leaf), |test| pairs_by(tree, isa, test, leaf, once, visit));
}

#[inline(always)]
fn pairs_by<S: Scalar, I: Isa, const D: usize, const GENERAL: bool>(
    tree: &Bvh<S, D>,
    isa: I,
    test: &RadiusTest<S, D, GENERAL>,
    leaf: usize,
    once: bool,
    visit: PairCallback<'_>,
) {
    let here = tree.blocks(&tree.span(leaf));
    let first = here.first;
    let mut hits = [0; LEAF];
    let bounds = &tree.node(leaf).bounds;
    tree.walk(
        leaf..tree.end(),
        #[inline(always)]
        |at, node| {
            if !test.meets(bounds, &node.bounds) || (once && tree.duplicates_predecessor(at)) {
                return Step::Skip;
            }
            if tree.is_leaf(at) {
                let there = tree.blocks(&tree.span(at));
                let candidates = test.candidates(isa, &node.bounds, &here);
                for bit in bits(candidates) {
                    hits[bit] = test.hits(isa, &tree.item(first + bit), &there) & later_mask(at == leaf, bit);
                }
                visit(&LeafPairs { leaf, other: at, first, other_first: there.first, candidates, hits: &hits });
            }
            Step::Enter
        },
    );
}
