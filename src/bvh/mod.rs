//! The tree: a linear bounding volume hierarchy with ropes.
//!
//! In: bounded primitives in any order. Out: nodes in the order of a depth-first walk, and the primitives' corners in Morton order.
//! A node's left child is the next node, and its *rope* leads to where a walk goes on that skips the node; so a walk's whole
//! state is one index. Leaves hold up to [`LEAF`] primitives.
//! Cost: O(n) beyond the sort; `S * D + 4` bytes a point (twice the corners for boxes) and about 2 nodes per 20 points stay.
//! Source: Karras 2012 (trees from Morton codes); Apetrei 2014 (bottom-up construction); Prokopenko and
//! Lebrun-Grandié 2024 (ropes).

mod build;
mod duplicates;
mod hierarchy;
mod layout;
mod motion;
pub(crate) mod morton;
pub(crate) mod radix_sort;
mod ropes;
pub(crate) mod traverse;
mod reduce;
mod refit;
mod unfinished;
mod validate;

#[cfg(any(feature = "gpu", feature = "distributed"))]
pub(crate) use build::check_count;
#[cfg(feature = "reference")]
pub(crate) use build::place;
pub(crate) use build::{check, copied};
pub(crate) use hierarchy::DEPTH;
pub use hierarchy::LEAF;
use motion::Motion;

use std::sync::atomic::Ordering::Relaxed;

use crate::cancel::guarded;
use crate::error::{ErrorKind, Result};
use crate::geometry::{Aabb, Blocks, Bounded, BoxSize, Scalar, Space};
use crate::parallel::{atomics, for_tasks, plain};
use crate::simd::LANES;

/// A node: its box, its rope, and the first of its primitives in tree order.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Node<S, const D: usize> {
    /// The smallest box around everything below.
    pub bounds: Aabb<S, D>,
    /// The first node behind the subtree of this one. That of a leaf is the next node.
    pub rope: u32,
    /// The first primitive below, as a position in tree order. The last is the one before `first` of the node that the rope
    /// leads to.
    pub first: u32,
}

// SAFETY: zeros are a value of each field.
#[allow(unsafe_code)]
unsafe impl<S: bytemuck::Zeroable, const D: usize> bytemuck::Zeroable for Node<S, D> {}

/// A bounding volume hierarchy over points or boxes of `D` dimensions.
///
/// It keeps a copy of the coordinates and no borrow; all results are indices into the slice it was built from. Two are equal if all
/// nodes and primitives are.
///
/// | question | one | many, in parallel | all stored primitives, in parallel |
/// |---|---|---|---|
/// | what is within a radius, in a box, in a shape of mine? | [`query`](Bvh::query) | [`query_all`](Bvh::query_all) | [`neighbors`](Bvh::neighbors) |
/// | how many? | `query(..).count()` | [`count_all`](Bvh::count_all) | [`count_neighbors`](Bvh::count_neighbors) |
/// | which are the k nearest? | [`nearest`](Bvh::nearest), [`nearest_into`](Bvh::nearest_into) | [`nearest_all`](Bvh::nearest_all) | [`nearest_neighbors`](Bvh::nearest_neighbors) |
/// | which are the nearest by a distance of mine, or of those I choose? | [`nearest_by`](Bvh::nearest_by), [`nearest_where`](Bvh::nearest_where) | [`nearest_all_by`](Bvh::nearest_all_by) | |
/// | map each to a value of mine, by what is within a radius | | | [`map_neighbors`](Bvh::map_neighbors) |
/// | call me for each | it is an iterator | [`for_each_hit`](Bvh::for_each_hit) | [`for_each_pair`](Bvh::for_each_pair), each pair once |
/// | which pairs are within a radius, or overlap? | | | [`pairs`](Bvh::pairs), [`overlapping_pairs`](Bvh::overlapping_pairs) |
/// | what does a ray meet first? | [`cast`](Bvh::cast), with a test of mine; triangles: [`Mesh`](crate::Mesh) | | |
/// | how many pairs? | | | [`count_pairs`](Bvh::count_pairs) |
///
/// Where points move, [`refit`](Bvh::refit) follows them, [`rebuild`](Bvh::rebuild) builds anew in the same memory, and
/// [`degradation`](Bvh::degradation) says which is due; [`neighbors_into`](Bvh::neighbors_into),
/// [`count_neighbors_into`](Bvh::count_neighbors_into) and [`map_neighbors_into`](Bvh::map_neighbors_into) put results where the last ones were.
///
/// A [`ValueBvh`](crate::ValueBvh) owns what is stored, shapes or pairs of a shape and a value, and decides by the shapes where this knows their
/// boxes.
///
/// Many answers come as lists in one allocation ([`Csr`](crate::Csr)), in the order of the questions or of the caller's slice.
///
/// ```
/// use ropewalk::{Bvh, Sphere};
///
/// let points = [[0.0f32, 0.0], [1.0, 0.0], [5.0, 5.0]];
/// let bvh = Bvh::build(&points)?;
/// let mut near: Vec<u32> = bvh.query(Sphere::new([0.5, 0.0], 0.5)).collect();
/// near.sort();
/// assert_eq!(near, [0, 1]); // the radius is inclusive
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Bvh<S, const D: usize> {
    /// In depth-first order; the last one is a sentinel that holds nothing.
    nodes: Vec<Node<S, D>>,
    /// Lower corners in tree order, one array per axis, padded by [`LANES`].
    lo: [Vec<S>; D],
    /// Upper corners, unless all primitives are points.
    hi: Option<[Vec<S>; D]>,
    /// Tree order to the caller's order.
    index: Vec<u32>,
    space: Space<D>,
    /// What moving points leave behind; no part of the value.
    motion: Motion<S, D>,
}

impl<S: std::fmt::Debug, const D: usize> std::fmt::Debug for Bvh<S, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let root = self.nodes.first().map(|root| &root.bounds);
        f.debug_struct("Bvh")
            .field("len", &self.index.len())
            .field("bounds", &root)
            .field("space", &self.space)
            .finish_non_exhaustive()
    }
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Builds the tree in parallel. Any input will do: empty, one point, all points equal.
    ///
    /// Errors: a coordinate that is NaN or infinite (or beyond 1e150 in `f64`, where squares overflow), a box with its lower
    /// corner above its upper one, more than 2^32 - 2 primitives, `D` outside of 1 to 10.
    pub fn build<T: Bounded<S, D>>(primitives: &[T]) -> Result<Self> {
        Self::build_in(primitives, Space::OPEN)
    }

    /// Builds the tree in a periodic box: every query and pair then means the nearest image.
    ///
    /// Points outside of `[0, L]` are brought inside first, rounded to `S`.
    ///
    /// Errors as [`Bvh::build`]; and unless the box has one positive side of at most 1e150, or one per axis.
    ///
    /// ```
    /// use ropewalk::{Bvh, Sphere};
    ///
    /// let bvh = Bvh::build_periodic(&[[0.5f64, 5.0], [9.5, 5.0]], 10.0)?;
    /// assert_eq!(bvh.query(Sphere::new([0.0, 5.0], 0.5)).count(), 2);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn build_periodic<T: Bounded<S, D>>(primitives: &[T], size: impl Into<BoxSize>) -> Result<Self> {
        Self::build_in(primitives, Space::periodic(size)?)
    }

    pub(crate) fn build_in<T: Bounded<S, D>>(primitives: &[T], space: Space<D>) -> Result<Self> {
        guarded(|| build::build(primitives, space))
    }

    /// Builds the tree anew, over any primitives, in the same space: it is then what [`Bvh::build`] gives.
    ///
    /// It works in the memory of the tree, and what it needs beside that is kept for the next: some 6 bytes a primitive, what each thread
    /// works in, and copies of primitives that are no arrays of coordinates. Trees that are never rebuilt keep nothing, nor do clones.
    /// Rebuilds of as many primitives then allocate nothing, unless there are more threads, one of the 2048 parts that are sorted by
    /// themselves holds 128 or more (8 bytes for each, for a moment), or more than [`LEAF`] share a cell of the grid, which has 2^31 cells to
    /// a side with two axes, 2^21 with three.
    ///
    /// Errors as [`Bvh::build`]: the tree is then as it was. If primitives change while they are read, or the call is
    /// [cancelled](crate::Cancel), the tree is empty afterwards.
    ///
    /// ```
    /// use ropewalk::Bvh;
    ///
    /// let mut bvh = Bvh::build_periodic(&[[0.5f32], [9.5]], 10.0)?;
    /// let points = [[1.0f32], [2.0], [9.0]];
    /// bvh.rebuild(&points)?;
    /// assert!(bvh == Bvh::build_periodic(&points, 10.0)?);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn rebuild<T: Bounded<S, D>>(&mut self, primitives: &[T]) -> Result<()> {
        let mut memory = self.motion.memory.take().unwrap_or_default();
        memory.keeps = true;
        let result = guarded(|| build::build_into(self, primitives, &mut memory));
        self.motion.memory = Some(memory);
        if result.is_ok() {
            (self.motion.built, self.motion.degradation) = (None, 1.0);
        }
        self.emptied_without_memory(result)
    }

    /// The result of a change. Without memory the tree may be half changed: then it is left empty.
    fn emptied_without_memory(&mut self, result: Result<()>) -> Result<()> {
        if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Memory) {
            self.motion.memory = None;
            self.clear();
        }
        result
    }

    /// A tree without anything, in the memory of this one.
    fn clear(&mut self) {
        self.nodes.clear();
        self.nodes.push(Node { bounds: Aabb::EMPTY, rope: 0, first: 0 });
        self.index.clear();
        for axis in self.lo.iter_mut().chain(self.hi.iter_mut().flatten()) {
            axis.clear();
            axis.resize(LANES, S::ZERO);
        }
        (self.motion.built, self.motion.degradation) = (None, 1.0);
    }

    /// What a device has built, of points.
    #[cfg(feature = "gpu")]
    pub(crate) fn from_parts(nodes: Vec<Node<S, D>>, lo: [Vec<S>; D], index: Vec<u32>, space: Space<D>) -> Self {
        Self { nodes, lo, hi: None, index, space, motion: Motion::default() }
    }

    /// How many primitives are stored.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The box around everything; [`Aabb::EMPTY`] if there is nothing.
    pub fn bounds(&self) -> Aabb<S, D> {
        self.nodes[0].bounds
    }

    /// Open or periodic.
    pub fn space(&self) -> &Space<D> {
        &self.space
    }

    /// How many nodes there are, inner ones and leaves.
    pub fn n_nodes(&self) -> usize {
        self.end()
    }

    /// All nodes in depth-first order, the sentinel left out. Equal input gives equal nodes on every device.
    #[doc(hidden)]
    pub fn nodes(&self) -> &[Node<S, D>] {
        &self.nodes[..self.end()]
    }

    /// Tree order: the caller's index of each stored primitive along the Morton curve.
    pub fn order(&self) -> &[u32] {
        &self.index
    }

    /// The position of each index in tree order.
    pub(crate) fn positions(&self) -> Vec<u32> {
        let positions = atomics(self.len(), 0);
        for_tasks(self.len(), 1 << 15, &|range| {
            range.for_each(|at| positions[self.index[at] as usize].store(at as u32, Relaxed));
        });
        plain(positions)
    }

    /// The sentinel's index, where every walk ends.
    #[inline(always)]
    pub(crate) fn end(&self) -> usize {
        self.nodes.len() - 1
    }

    #[inline(always)]
    pub(crate) fn node(&self, at: usize) -> &Node<S, D> {
        &self.nodes[at]
    }

    #[inline(always)]
    pub(crate) fn is_leaf(&self, at: usize) -> bool {
        self.nodes[at].rope as usize == at + 1
    }

    /// The positions of a node's primitives in tree order.
    #[inline(always)]
    pub(crate) fn span(&self, at: usize) -> std::ops::Range<usize> {
        let node = &self.nodes[at];
        node.first as usize..self.nodes[node.rope as usize].first as usize
    }

    /// Whether all primitives of a node are copies of one point or box.
    #[inline(always)]
    pub(crate) fn is_degenerate(&self, at: usize) -> bool {
        let bounds = &self.nodes[at].bounds;
        // Boxes with one box around them may differ.
        self.holds_points() && bounds.lo == bounds.hi
    }

    /// Whether all primitives of a node are copies of the point before its first: what holds for that one holds for them, so a
    /// search for pairs may leave them out. In a fresh tree copies are neighbours unless a leaf holds all of them; where points have moved
    /// (`refit`), those that are not neighbours are searched one by one.
    #[inline(always)]
    pub(crate) fn duplicates_predecessor(&self, at: usize) -> bool {
        self.is_degenerate(at) && {
            let first = self.nodes[at].first as usize;
            first > 0 && self.lo.iter().all(|lo| lo[first - 1] == lo[first])
        }
    }

    /// The lower corners in tree order, one array per axis, and the upper ones unless points are stored.
    #[inline(always)]
    pub(crate) fn corners(&self) -> (&[Vec<S>; D], Option<&[Vec<S>; D]>) {
        (&self.lo, self.hi.as_ref())
    }

    /// Whether only points are stored.
    #[inline(always)]
    pub(crate) fn holds_points(&self) -> bool {
        self.hi.is_none()
    }

    /// The stored box at a position in tree order.
    #[inline(always)]
    pub(crate) fn item(&self, position: usize) -> Aabb<S, D> {
        let lo = std::array::from_fn(|k| self.lo[k][position]);
        let hi = self.hi.as_ref().map_or(lo, |hi| std::array::from_fn(|k| hi[k][position]));
        Aabb { lo, hi }
    }

    /// The corners of a span of at most [`LEAF`] primitives.
    #[inline(always)]
    pub(crate) fn blocks(&self, span: &std::ops::Range<usize>) -> Blocks<'_, S, D> {
        let (lo, hi) = self.corners();
        Blocks::new(lo, hi, span)
    }
}
