//! Each stored primitive with its neighbours: counts and lists.
//!
//! In: a radius. Out: counts or lists in the caller's order.
//! One walk serves a whole leaf: it finds the leaves near it, and for each the primitives that can reach it.
//! Cost: about |leaf|^2 distances for each pair of leaves that meet, eight at a time.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use crate::bvh::traverse::{Step, bits};
use crate::bvh::{Bvh, LEAF};
use crate::csr::{Csr, CsrChunk};
use crate::geometry::{Blocks, Scalar};
use crate::parallel::{atomics, for_tasks, map_tasks, plain};
use crate::precompiled::precompiled;
use crate::search::ball_predicate::{BallPredicate, BallPredicates, with_predicate};
use crate::simd::{Isa, dispatch};

/// Nodes per parallel task.
pub(super) const TASK: usize = 1 << 8;

/// A leaf near another, and a mask of the other's primitives that may reach into it.
pub(super) type Near<'t, S, const D: usize> = (Blocks<'t, S, D>, u32);

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// How many stored primitives are within `radius` of each, itself included, in the caller's order.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32], [5.0], [1.0]])?;
    /// assert_eq!(bvh.count_neighbors(1.0), [2, 1, 2]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn count_neighbors(&self, radius: impl Into<f64>) -> Vec<u32> {
        count(self, radius.into())
    }

    /// The stored primitives within `radius` of each, itself included, as lists in the caller's order.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32], [5.0], [1.0]])?;
    /// let lists = bvh.neighbors(1.0);
    /// assert_eq!(lists.of(1), [1]);
    /// assert_eq!(lists.offsets(), [0, 2, 3, 5]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn neighbors(&self, radius: impl Into<f64>) -> Csr<u32> {
        list(self, radius.into())
    }
}

precompiled! { fn count = count_all(tree: same_ref &Bvh<S, D>, radius: keep f64) -> Vec<u32> }
precompiled! { fn list = list_all(tree: same_ref &Bvh<S, D>, radius: keep f64) -> Csr<u32> }

fn count_all<S: Scalar, const D: usize>(tree: &Bvh<S, D>, radius: f64) -> Vec<u32> {
    let predicates = BallPredicates::new(tree, radius);
    let counts = atomics(tree.len(), 0);
    for_tasks(tree.end(), TASK, &|nodes: Range<usize>| {
        dispatch!(isa => for leaf in nodes {
            if tree.is_leaf(leaf) {
                let own = count_leaf(tree, isa, &predicates, leaf);
                for (position, count) in tree.span(leaf).zip(own) {
                    counts[tree.order()[position] as usize].store(count, Relaxed);
                }
            }
        });
    });
    plain(counts)
}

fn list_all<S: Scalar, const D: usize>(tree: &Bvh<S, D>, radius: f64) -> Csr<u32> {
    let predicates = BallPredicates::new(tree, radius);
    let chunks = map_tasks(tree.end(), TASK, &|nodes: Range<usize>| {
        let mut chunk = CsrChunk::default();
        let mut near = Vec::new();
        dispatch!(isa => for leaf in nodes {
            if tree.is_leaf(leaf) {
                list_leaf(tree, isa, &predicates, leaf, &mut near, &mut chunk);
            }
        });
        chunk
    });
    Csr::gather(tree.order(), &chunks)
}

/// The number of neighbours of each primitive in a leaf.
#[inline(always)]
fn count_leaf<S: Scalar, I: Isa, const D: usize>(
    tree: &Bvh<S, D>,
    isa: I,
    predicates: &BallPredicates<S, D>,
    leaf: usize,
) -> [u32; LEAF] {
    with_predicate!(I, predicates, tree.node(leaf), |ball| count_leaf_by(tree, isa, ball, leaf))
}

#[inline(always)]
fn count_leaf_by<S: Scalar, I: Isa, const D: usize, const P: bool>(
    tree: &Bvh<S, D>,
    isa: I,
    ball: &BallPredicate<S, D, P>,
    leaf: usize,
) -> [u32; LEAF] {
    let mut counts = [0; LEAF];
    let here = tree.blocks(&tree.span(leaf));
    let bounds = &tree.node(leaf).bounds;
    tree.walk(
        0..tree.end(),
        #[inline(always)]
        |at, node| {
            if !ball.meets(bounds, &node.bounds) {
                return Step::Skip;
            }
            if ball.covers(bounds, &node.bounds) {
                // All of them, without a look.
                let all = tree.span(at).len() as u32;
                counts.iter_mut().for_each(|count| *count += all);
                return Step::Skip;
            }
            if tree.is_leaf(at) {
                let there = tree.blocks(&tree.span(at));
                for bit in bits(ball.candidates(isa, &node.bounds, &here)) {
                    counts[bit] += ball.hits(isa, &tree.item(here.first + bit), &there).count_ones();
                }
            }
            Step::Enter
        },
    );
    counts
}

/// Appends the neighbours of each primitive in a leaf.
#[inline(always)]
fn list_leaf<'t, S: Scalar, I: Isa, const D: usize>(
    tree: &'t Bvh<S, D>,
    isa: I,
    predicates: &BallPredicates<S, D>,
    leaf: usize,
    near: &mut Vec<Near<'t, S, D>>,
    chunk: &mut CsrChunk<u32>,
) {
    let own = tree.span(leaf);
    near.clear();
    with_predicate!(I, predicates, tree.node(leaf), |ball| {
        list_leaves(tree, isa, ball, leaf, near);
        list_hits(tree, isa, ball, own, near, chunk);
    });
}

/// The leaves that a leaf meets, each with a mask of the primitives that may reach into it.
#[inline(always)]
pub(super) fn list_leaves<'t, S: Scalar, I: Isa, const D: usize, const P: bool>(
    tree: &'t Bvh<S, D>,
    isa: I,
    ball: &BallPredicate<S, D, P>,
    leaf: usize,
    near: &mut Vec<Near<'t, S, D>>,
) {
    let here = tree.blocks(&tree.span(leaf));
    let bounds = &tree.node(leaf).bounds;
    tree.walk(
        0..tree.end(),
        #[inline(always)]
        |at, node| {
            if !ball.meets(bounds, &node.bounds) {
                return Step::Skip;
            }
            if tree.is_leaf(at) {
                near.push((tree.blocks(&tree.span(at)), ball.candidates(isa, &node.bounds, &here)));
            }
            Step::Enter
        },
    );
}

#[inline(always)]
fn list_hits<S: Scalar, I: Isa, const D: usize, const P: bool>(
    tree: &Bvh<S, D>,
    isa: I,
    ball: &BallPredicate<S, D, P>,
    own: Range<usize>,
    near: &[Near<'_, S, D>],
    chunk: &mut CsrChunk<u32>,
) {
    for (i, position) in own.enumerate() {
        let before = chunk.values.len();
        let item = tree.item(position);
        for there in reached(near, i) {
            let order = &tree.order()[there.first..][..there.len];
            chunk.values.extend(bits(ball.hits(isa, &item, there)).map(|bit| order[bit]));
        }
        chunk.lengths.push((chunk.values.len() - before) as u32);
    }
}

/// The leaves that primitive `i` of a leaf may reach into.
#[inline(always)]
pub(super) fn reached<'n, 't, S, const D: usize>(
    near: &'n [Near<'t, S, D>],
    i: usize,
) -> impl Iterator<Item = &'n Blocks<'t, S, D>> {
    near.iter().filter(move |(_, candidates)| candidates >> i & 1 == 1).map(|(there, _)| there)
}
