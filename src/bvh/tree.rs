//! The nodes and primitives of a tree, and how they are looked up.

use std::sync::atomic::Ordering::Relaxed;

use crate::bvh::motion::Motion;
use crate::error::{ErrorKind, Result};
use crate::geometry::{Aabb, Blocks, Scalar, Space};
use crate::parallel::{Kept, atomics, for_tasks, plain};
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
    pub(super) nodes: Vec<Node<S, D>>,
    /// Lower corners in tree order, one array per axis, padded by [`LANES`].
    pub(super) lo: [Vec<S>; D],
    /// Upper corners, unless all primitives are points.
    pub(super) hi: Option<[Vec<S>; D]>,
    /// Tree order to the caller's order.
    pub(super) index: Vec<u32>,
    pub(super) space: Space<D>,
    /// Memory for moving points and for lists of neighbours; no part of the value.
    pub(super) motion: Motion<S, D>,
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
    /// The result of a change. Without memory the tree may be half changed: then it is left empty.
    pub(super) fn emptied_without_memory(&mut self, result: Result<()>) -> Result<()> {
        if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Memory) {
            self.motion.memory = None;
            self.motion.kept = Kept::default();
            self.clear();
        }
        result
    }

    /// Memory that searches of this tree work in.
    pub(crate) fn kept(&self) -> &Kept {
        &self.motion.kept
    }

    /// A tree without anything, in the memory of this one.
    pub(super) fn clear(&mut self) {
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
    #[doc(hidden)]
    pub fn positions(&self) -> Vec<u32> {
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
    #[doc(hidden)]
    pub fn item(&self, position: usize) -> Aabb<S, D> {
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
