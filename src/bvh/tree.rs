//! The nodes and primitives of a tree, and access to them.

use std::sync::atomic::Ordering::Relaxed;

use crate::bvh::tree_state::TreeState;
use crate::error::{ErrorKind, Result};
use crate::geometry::{Aabb, Blocks, Scalar, Space};
use crate::parallel::{ScratchPool, atomics, for_tasks, plain};
use crate::simd::LANES;

/// A node: its box, its rope, and the first of its primitives in tree order.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Node<S, const D: usize> {
    /// The smallest box around all primitives of the subtree.
    pub bounds: Aabb<S, D>,
    /// The first node after the subtree of this one. For a leaf it is the next node.
    pub rope: u32,
    /// The position in tree order of the first primitive of the subtree. Its last primitive precedes `first` of the
    /// node at `rope`.
    pub first: u32,
}

// SAFETY: zero bytes are a valid value of all fields, as `S: Zeroable`.
#[allow(unsafe_code)]
unsafe impl<S: bytemuck::Zeroable, const D: usize> bytemuck::Zeroable for Node<S, D> {}

/// A bounding volume hierarchy over points or boxes of `D` dimensions.
///
/// It keeps a copy of the coordinates and borrows nothing. All results are indices into the slice from which it was
/// built. Two trees are equal if their spaces and all their nodes and primitives are equal.
///
/// | task | one query | many queries, in parallel | all stored primitives, in parallel |
/// |---|---|---|---|
/// | primitives within a radius, in a box, or in your own shape | [`query`](Bvh::query) | [`query_all`](Bvh::query_all) | [`neighbors`](Bvh::neighbors) |
/// | their number | `query(..).count()` | [`count_all`](Bvh::count_all) | [`count_neighbors`](Bvh::count_neighbors) |
/// | k nearest primitives | [`nearest`](Bvh::nearest), [`nearest_into`](Bvh::nearest_into) | [`nearest_all`](Bvh::nearest_all) | [`nearest_neighbors`](Bvh::nearest_neighbors) |
/// | k nearest by your own distance, or with a filter | [`nearest_by`](Bvh::nearest_by), [`nearest_where`](Bvh::nearest_where) | [`nearest_all_by`](Bvh::nearest_all_by) | |
/// | a value for each primitive from its neighbours | | | [`map_neighbors`](Bvh::map_neighbors) |
/// | a callback for each hit | `query` is an iterator | [`for_each_hit`](Bvh::for_each_hit) | [`for_each_pair`](Bvh::for_each_pair), each pair once |
/// | pairs within a radius, or overlapping pairs | | | [`pairs`](Bvh::pairs), [`overlapping_pairs`](Bvh::overlapping_pairs) |
/// | first hit of a ray | [`cast`](Bvh::cast), with your own test; triangles: [`Mesh`](crate::Mesh) | | |
/// | each pair in the list of its lower index | | | [`half_neighbors`](Bvh::half_neighbors) |
/// | primitives within own radii | | | [`neighbors_within`](Bvh::neighbors_within) |
/// | overlapping spheres | | | [`overlapping_spheres`](Bvh::overlapping_spheres) |
/// | number of pairs | | | [`count_pairs`](Bvh::count_pairs) |
///
/// For moving points, [`refit`](Bvh::refit) updates the boxes, [`rebuild`](Bvh::rebuild) builds again in the same
/// memory, and [`degradation`](Bvh::degradation) shows when to rebuild. [`neighbors_into`](Bvh::neighbors_into),
/// [`count_neighbors_into`](Bvh::count_neighbors_into) and [`map_neighbors_into`](Bvh::map_neighbors_into) overwrite
/// earlier results in place.
///
/// [`write_graphviz`](Bvh::write_graphviz), [`write_tikz`](Bvh::write_tikz) and [`write_vtk`](Bvh::write_vtk) write the
/// nodes as text, for pictures of the tree.
///
/// A [`ValueBvh`](crate::ValueBvh) owns its primitives: shapes, or pairs of a shape and a value. It tests the shapes
/// themselves, whereas a `Bvh` knows only their boxes.
///
/// Results of many queries are lists in one allocation ([`Csr`](crate::Csr)), in the order of the queries or of the
/// caller's slice.
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
    /// The nodes in depth-first order; the last one is an empty sentinel.
    pub(super) nodes: Vec<Node<S, D>>,
    /// The lower corners in tree order, one array per axis, padded by [`LANES`].
    pub(super) lo: [Vec<S>; D],
    /// The upper corners; `None` if all primitives are points.
    pub(super) hi: Option<[Vec<S>; D]>,
    /// The caller's index of each primitive in tree order.
    pub(super) index: Vec<u32>,
    pub(super) space: Space<D>,
    /// Memory for moving points and for lists of neighbours; not part of the value.
    pub(super) state: TreeState<S, D>,
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
    /// Returns the result of a change. After an allocation failure the tree may be half changed, so it is emptied.
    pub(super) fn clear_on_memory_error(&mut self, result: Result<()>) -> Result<()> {
        if result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Memory) {
            self.state.memory = None;
            self.state.kept = ScratchPool::default();
            self.clear();
        }
        result
    }

    /// Scratch memory for searches of this tree.
    pub(crate) fn kept(&self) -> &ScratchPool {
        &self.state.kept
    }

    /// Removes all primitives, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.nodes.push(Node { bounds: Aabb::EMPTY, rope: 0, first: 0 });
        self.index.clear();
        for axis in self.lo.iter_mut().chain(self.hi.iter_mut().flatten()) {
            axis.clear();
            axis.resize(LANES, S::ZERO);
        }
        (self.state.built, self.state.degradation) = (None, 1.0);
    }

    /// Creates a tree from the parts that a device has built. `hi` is `None` if the primitives are points.
    #[cfg(feature = "gpu")]
    pub(crate) fn from_parts(
        nodes: Vec<Node<S, D>>,
        lo: [Vec<S>; D],
        hi: Option<[Vec<S>; D]>,
        index: Vec<u32>,
        space: Space<D>,
    ) -> Self {
        Self { nodes, lo, hi, index, space, state: TreeState::default() }
    }

    /// Returns the number of stored primitives.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns `true` if no primitives are stored.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Returns the bounding box of all primitives; [`Aabb::EMPTY`] for an empty tree.
    pub fn bounds(&self) -> Aabb<S, D> {
        self.nodes[0].bounds
    }

    /// Returns the space of the tree, open or periodic.
    pub fn space(&self) -> &Space<D> {
        &self.space
    }

    /// Returns the number of inner nodes and leaves.
    pub fn n_nodes(&self) -> usize {
        self.end()
    }

    /// Returns all nodes in depth-first order, without the sentinel. Equal input gives equal nodes on every device.
    #[doc(hidden)]
    pub fn nodes(&self) -> &[Node<S, D>] {
        &self.nodes[..self.end()]
    }

    /// Returns the index of each stored primitive in the slice from which the tree was built, in tree order: the order
    /// along the Morton curve.
    pub fn order(&self) -> &[u32] {
        &self.index
    }

    /// Returns the position in tree order of each primitive, in the order of the slice from which the tree was built.
    #[doc(hidden)]
    pub fn positions(&self) -> Vec<u32> {
        let positions = atomics(self.len(), 0);
        for_tasks(self.len(), 1 << 15, &|range| {
            range.for_each(|at| positions[self.index[at] as usize].store(at as u32, Relaxed));
        });
        plain(positions)
    }

    /// The index of the sentinel, at which every walk ends.
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

    /// The range of a node's primitives in tree order.
    #[inline(always)]
    pub(crate) fn span(&self, at: usize) -> std::ops::Range<usize> {
        let node = &self.nodes[at];
        node.first as usize..self.nodes[node.rope as usize].first as usize
    }

    /// Returns `true` if all primitives of a node are copies of one point.
    #[inline(always)]
    pub(crate) fn is_degenerate(&self, at: usize) -> bool {
        let bounds = &self.nodes[at].bounds;
        // Boxes with the same bounding box may differ.
        self.holds_points() && bounds.lo == bounds.hi
    }

    /// Returns `true` if all primitives of a node are copies of the point stored before its first one.
    ///
    /// Results for that point then hold for all of them, so a search for pairs may skip the node. In a fresh tree,
    /// copies are adjacent unless one leaf holds all of them. After a refit, copies that are not adjacent are
    /// searched one by one.
    #[inline(always)]
    pub(crate) fn duplicates_predecessor(&self, at: usize) -> bool {
        self.is_degenerate(at) && {
            let first = self.nodes[at].first as usize;
            first > 0 && self.lo.iter().all(|lo| lo[first - 1] == lo[first])
        }
    }

    /// The lower corners in tree order, one array per axis, and the upper ones unless the primitives are points.
    #[inline(always)]
    pub(crate) fn corners(&self) -> (&[Vec<S>; D], Option<&[Vec<S>; D]>) {
        (&self.lo, self.hi.as_ref())
    }

    /// Returns `true` if all stored primitives are points.
    #[inline(always)]
    pub(crate) fn holds_points(&self) -> bool {
        self.hi.is_none()
    }

    /// Returns the stored box at a position in tree order; for a point, both corners are equal.
    #[inline(always)]
    #[doc(hidden)]
    pub fn item(&self, position: usize) -> Aabb<S, D> {
        let lo = std::array::from_fn(|k| self.lo[k][position]);
        let hi = self.hi.as_ref().map_or(lo, |hi| std::array::from_fn(|k| hi[k][position]));
        Aabb { lo, hi }
    }

    /// The corners of a range of at most [`LEAF`] primitives.
    #[inline(always)]
    pub(crate) fn blocks(&self, span: &std::ops::Range<usize>) -> Blocks<'_, S, D> {
        let (lo, hi) = self.corners();
        Blocks::new(lo, hi, span)
    }
}
