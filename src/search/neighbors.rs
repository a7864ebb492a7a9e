//! Neighbours of all stored primitives: counts and lists.
//!
//! Input: a radius. Output: counts or lists in the order of the slice from which the tree was built.
//! One walk serves a whole leaf. It finds the leaves near it and, for each of them, the primitives that may have
//! neighbours there.
//! Cost: about |leaf|^2 distances for each pair of leaves that meet, eight at a time.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use crate::bvh::traverse::{Step, bits};
use crate::bvh::{Bvh, LEAF};
use crate::csr::{Csr, CsrChunk};
use crate::geometry::{Blocks, Scalar};
use crate::memory::{append, renew};
use crate::parallel::{for_tasks, map_tasks, plain, shared};
use crate::precompiled::precompiled;
use crate::search::radius_test::{RadiusTest, RadiusTests, with_radius_test};
use crate::simd::{Isa, dispatch};

/// Nodes per parallel task.
pub(super) const TASK: usize = 1 << 8;

/// The maximum memory that a thread's lists keep, in bytes.
const MOST_KEPT: usize = 1 << 20;

/// A stored primitive near another one: its index, and the squared distance and the vector to it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct NeighborAt<const D: usize> {
    /// The index in the slice from which the tree was built.
    pub index: u32,
    /// The squared distance: the squares of `offset`, summed in the order of the axes.
    pub distance2: f64,
    /// The vector to the nearest image of the neighbour: [`Space::offset`](crate::geometry::Space::offset) of the
    /// stored coordinates. For boxes, the gap between the two
    /// ([`Space::min_offset`](crate::geometry::Space::min_offset)).
    pub offset: [f64; D],
}

/// A leaf near another leaf, and a mask of the other leaf's primitives that may have neighbours in it.
pub(super) type LeafCandidates<'t, S, const D: usize> = (Blocks<'t, S, D>, u32);

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Counts the stored primitives within `radius` of each stored primitive, itself included. Returns one count per
    /// primitive, in the order of the slice from which the tree was built.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32], [5.0], [1.0]])?;
    /// assert_eq!(bvh.count_neighbors(1.0), [2, 1, 2]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn count_neighbors(&self, radius: impl Into<f64>) -> Vec<u32> {
        count(self, radius.into(), vec![])
    }

    /// Counts the stored primitives within `radius` of each stored primitive, itself included, and overwrites `counts`
    /// with the result of [`count_neighbors`](Self::count_neighbors). If the vector has held as many counts before,
    /// nothing is allocated.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32], [5.0], [1.0]])?;
    /// let mut counts = vec![];
    /// bvh.count_neighbors_into(1.0, &mut counts);
    /// assert_eq!(counts, [2, 1, 2]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn count_neighbors_into(&self, radius: impl Into<f64>, counts: &mut Vec<u32>) {
        *counts = count(self, radius.into(), std::mem::take(counts));
    }

    /// Lists the stored primitives within `radius` of each stored primitive, itself included. Returns one list per
    /// primitive, in the order of the slice from which the tree was built.
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

    /// Lists the stored primitives within `radius` of each stored primitive, itself included, and overwrites `lists`
    /// with the result of [`neighbors`](Self::neighbors).
    ///
    /// Made for loops in which points move: if `lists` has held somewhat more before, nothing is allocated. The
    /// search runs twice, first to count neighbours and then to write them in place. [`Bvh::neighbors`] searches once
    /// and copies the lists.
    ///
    /// ```
    /// let mut bvh = ropewalk::Bvh::build(&[[0.0f32], [5.0], [1.0]])?;
    /// let mut lists = ropewalk::Csr::default();
    /// for x in [5.0, 2.0] {
    ///     bvh.refit(&[[0.0], [x], [1.0]])?;
    ///     bvh.neighbors_into(1.0, &mut lists);
    ///     assert!(lists == bvh.neighbors(1.0));
    /// }
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn neighbors_into(&self, radius: impl Into<f64>, lists: &mut Csr<u32>) {
        let (offsets, values) = lists.take_parts();
        *lists = list_in(self, radius.into(), offsets, values);
    }
}

precompiled! { fn count = count_all(tree: same_ref &Bvh<S, D>, radius: keep f64, counts: keep Vec<u32>) -> Vec<u32> }
precompiled! { fn list = list_all(tree: same_ref &Bvh<S, D>, radius: keep f64) -> Csr<u32> }
precompiled! { fn list_in = list_all_in(tree: same_ref &Bvh<S, D>, radius: keep f64, offsets: keep Vec<usize>, values: keep Vec<u32>) -> Csr<u32> }

/// Computes the counts. Reuses the memory of `counts`.
fn count_all<S: Scalar, const D: usize>(tree: &Bvh<S, D>, radius: f64, mut counts: Vec<u32>) -> Vec<u32> {
    renew(&mut counts, tree.len(), 0);
    let counts = shared(counts);
    for_each_count(tree, radius, &|index, count| counts[index as usize].store(count, Relaxed));
    plain(counts)
}

/// Calls `found` with the index and the count of each primitive.
fn for_each_count<S: Scalar, const D: usize>(tree: &Bvh<S, D>, radius: f64, found: &(impl Fn(u32, u32) + Sync)) {
    let tests = RadiusTests::new(tree, radius);
    for_tasks(tree.end(), TASK, &|nodes: Range<usize>| {
        dispatch!(isa => for leaf in nodes {
            if tree.is_leaf(leaf) {
                let own = count_leaf(tree, isa, &tests, leaf);
                for (position, count) in tree.span(leaf).zip(own) {
                    found(tree.order()[position], count);
                }
            }
        });
    });
}

/// Computes the lists. Reuses the memory of `offsets` and `values`.
fn list_all_in<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    radius: f64,
    mut offsets: Vec<usize>,
    mut values: Vec<u32>,
) -> Csr<u32> {
    renew(&mut offsets, tree.len() + 1, 0);
    let counts: Vec<AtomicUsize> = offsets.into_iter().map(AtomicUsize::new).collect();
    for_each_count(tree, radius, &|index, count| counts[index as usize + 1].store(count as usize, Relaxed));
    let mut offsets: Vec<usize> = counts.into_iter().map(AtomicUsize::into_inner).collect();
    let mut sum = 0;
    offsets[0] = 0;
    for offset in &mut offsets[1..] {
        sum += *offset;
        *offset = sum;
    }
    // Reserves a quarter more for the next call.
    renew(&mut values, sum, sum / 4);
    let values = shared(values);
    tree.kept().reserve::<Lists<'static, S, D>>(tree.end().div_ceil(TASK));
    let tests = RadiusTests::new(tree, radius);
    for_tasks(tree.end(), TASK, &|nodes: Range<usize>| {
        Lists::with_kept(tree, |lists| {
            dispatch!(isa => for leaf in nodes {
                if tree.is_leaf(leaf) {
                    lists.near.clear();
                    write_leaf(tree, isa, &tests, leaf, &mut lists.near, &offsets, &values);
                }
            });
        });
    });
    Csr::from_parts(offsets, plain(values))
}

/// Scratch memory of a task that lists neighbours.
pub(super) struct Lists<'t, S, const D: usize> {
    pub near: Vec<LeafCandidates<'t, S, D>>,
    /// For each neighbour, its index in the high half and its position in tree order in the low half.
    pub hits: Vec<u64>,
    pub neighbors: Vec<NeighborAt<D>>,
}

impl<S, const D: usize> Default for Lists<'static, S, D> {
    fn default() -> Self {
        // More than most lists need, because growth would allocate, too.
        Self { near: Vec::with_capacity(512), hits: Vec::with_capacity(2048), neighbors: Vec::with_capacity(2048) }
    }
}

impl<'t, S: Scalar, const D: usize> Lists<'t, S, D> {
    /// Runs a task with lists that the tree keeps from call to call, unless they have grown beyond 1 MiB.
    pub fn with_kept(tree: &Bvh<S, D>, task: impl FnOnce(&mut Self)) {
        tree.kept().with::<Lists<'static, S, D>, _>(|kept| {
            let Lists { near, hits, neighbors } =
                std::mem::replace(kept, Lists { near: vec![], hits: vec![], neighbors: vec![] });
            let mut lists = Lists { near, hits, neighbors };
            task(&mut lists);
            let Lists { mut near, hits, neighbors } = lists;
            near.clear();
            // Collected in place, which keeps the memory.
            let near = near.into_iter().map(|_: LeafCandidates<'t, S, D>| unreachable!("it was cleared")).collect();
            *kept = Lists { near, hits, neighbors };
            if kept.bytes() > MOST_KEPT {
                *kept = Lists::default();
            }
        });
    }

    fn bytes(&self) -> usize {
        size_of::<LeafCandidates<'t, S, D>>() * self.near.capacity()
            + size_of::<u64>() * self.hits.capacity()
            + size_of::<NeighborAt<D>>() * self.neighbors.capacity()
    }
}

/// Writes the neighbours of each primitive in a leaf to their final places.
#[inline(always)]
fn write_leaf<'t, S: Scalar, I: Isa, const D: usize>(
    tree: &'t Bvh<S, D>,
    isa: I,
    tests: &RadiusTests<S, D>,
    leaf: usize,
    near: &mut Vec<LeafCandidates<'t, S, D>>,
    offsets: &[usize],
    values: &[AtomicU32],
) {
    with_radius_test!(I, tests, tree.node(leaf), |test| {
        list_leaves(tree, isa, test, leaf, near);
        for (i, position) in tree.span(leaf).enumerate() {
            let index = tree.order()[position] as usize;
            let mut slots = values[offsets[index]..offsets[index + 1]].iter();
            let item = tree.item(position);
            for there in reached(near, i) {
                let order = &tree.order()[there.first..][..there.len];
                let hits = bits(test.hits(isa, &item, there));
                hits.zip(&mut slots).for_each(|(bit, slot)| slot.store(order[bit], Relaxed));
            }
        }
    });
}

fn list_all<S: Scalar, const D: usize>(tree: &Bvh<S, D>, radius: f64) -> Csr<u32> {
    let tests = RadiusTests::new(tree, radius);
    let chunks = map_tasks(tree.end(), TASK, &|nodes: Range<usize>| {
        let mut chunk = CsrChunk::default();
        let mut near = Vec::new();
        dispatch!(isa => for leaf in nodes {
            if tree.is_leaf(leaf) {
                list_leaf(tree, isa, &tests, leaf, &mut near, &mut chunk);
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
    tests: &RadiusTests<S, D>,
    leaf: usize,
) -> [u32; LEAF] {
    with_radius_test!(I, tests, tree.node(leaf), |test| count_leaf_by(tree, isa, test, leaf))
}

#[inline(always)]
fn count_leaf_by<S: Scalar, I: Isa, const D: usize, const GENERAL: bool>(
    tree: &Bvh<S, D>,
    isa: I,
    test: &RadiusTest<S, D, GENERAL>,
    leaf: usize,
) -> [u32; LEAF] {
    let mut counts = [0; LEAF];
    let here = tree.blocks(&tree.span(leaf));
    let bounds = &tree.node(leaf).bounds;
    tree.walk(
        0..tree.end(),
        #[inline(always)]
        |at, node| {
            if !test.meets(bounds, &node.bounds) {
                return Step::Skip;
            }
            if test.covers(bounds, &node.bounds) {
                // All primitives of the node, without a test of each.
                let all = tree.span(at).len() as u32;
                counts.iter_mut().for_each(|count| *count += all);
                return Step::Skip;
            }
            if tree.is_leaf(at) {
                let there = tree.blocks(&tree.span(at));
                for bit in bits(test.candidates(isa, &node.bounds, &here)) {
                    counts[bit] += test.hits(isa, &tree.item(here.first + bit), &there).count_ones();
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
    tests: &RadiusTests<S, D>,
    leaf: usize,
    near: &mut Vec<LeafCandidates<'t, S, D>>,
    chunk: &mut CsrChunk<u32>,
) {
    let own = tree.span(leaf);
    near.clear();
    with_radius_test!(I, tests, tree.node(leaf), |test| {
        list_leaves(tree, isa, test, leaf, near);
        list_hits(tree, isa, test, own, near, chunk);
    });
}

/// Lists the leaves that a leaf meets, each with a mask of the leaf's primitives that may have neighbours in it.
#[inline(always)]
pub(super) fn list_leaves<'t, S: Scalar, I: Isa, const D: usize, const GENERAL: bool>(
    tree: &'t Bvh<S, D>,
    isa: I,
    test: &RadiusTest<S, D, GENERAL>,
    leaf: usize,
    near: &mut Vec<LeafCandidates<'t, S, D>>,
) {
    let here = tree.blocks(&tree.span(leaf));
    let bounds = &tree.node(leaf).bounds;
    tree.walk(
        0..tree.end(),
        #[inline(always)]
        |at, node| {
            if !test.meets(bounds, &node.bounds) {
                return Step::Skip;
            }
            if tree.is_leaf(at) {
                near.push((tree.blocks(&tree.span(at)), test.candidates(isa, &node.bounds, &here)));
            }
            Step::Enter
        },
    );
}

#[inline(always)]
fn list_hits<S: Scalar, I: Isa, const D: usize, const GENERAL: bool>(
    tree: &Bvh<S, D>,
    isa: I,
    test: &RadiusTest<S, D, GENERAL>,
    own: Range<usize>,
    near: &[LeafCandidates<'_, S, D>],
    chunk: &mut CsrChunk<u32>,
) {
    for (i, position) in own.enumerate() {
        let before = chunk.values.len();
        let item = tree.item(position);
        for there in reached(near, i) {
            let order = &tree.order()[there.first..][..there.len];
            append(&mut chunk.values, bits(test.hits(isa, &item, there)).map(|bit| order[bit]));
        }
        chunk.lengths.push((chunk.values.len() - before) as u32);
    }
}

/// The leaves in which primitive `i` of a leaf may have neighbours.
#[inline(always)]
pub(super) fn reached<'n, 't, S, const D: usize>(
    near: &'n [LeafCandidates<'t, S, D>],
    i: usize,
) -> impl Iterator<Item = &'n Blocks<'t, S, D>> {
    near.iter().filter(move |(_, candidates)| candidates >> i & 1 == 1).map(|(there, _)| there)
}
