//! The tree: a linear bounding volume hierarchy with ropes.
//!
//! Input: bounded primitives in any order. Output: nodes in depth-first order, and the corners of the primitives in
//! Morton order. The left child of a node is the next node. The *rope* of a node leads to the node at which a walk
//! continues that skips it, so the whole state of a walk is one index. Leaves hold up to [`LEAF`] primitives.
//! Steps: codes (`morton`), sort (`radix_sort`, `sorted_primitives`), equal codes (`duplicates`), leaves and inner
//! nodes (`hierarchy`), nodes (`ropes`). `traverse` walks the tree. `export` writes it as text for pictures.
//! Cost: O(n) in addition to the sort. The tree keeps `size_of::<S>() * D + 4` bytes per point (twice the corners for
//! boxes) and about 2 nodes per 20 points.
//! Source: Karras 2012 (trees from Morton codes), Apetrei 2014 (bottom-up construction), Prokopenko and Lebrun-Grandié
//! 2024 (ropes).

mod build;
mod duplicates;
pub(crate) mod errors;
mod export;
mod hierarchy;
pub(crate) mod morton;
mod tree_state;
pub(crate) mod radix_sort;
mod reduce;
mod refit;
mod ropes;
mod sorted_primitives;
pub(crate) mod traverse;
mod tree;
mod clear_on_drop;
mod validate;

#[cfg(feature = "gpu")]
pub(crate) use build::box_fault;
#[cfg(any(feature = "gpu", feature = "distributed"))]
pub(crate) use build::check_count;
pub(crate) use build::check_instruction_set;
#[cfg(feature = "reference")]
pub(crate) use build::place;
pub use build::{check, copied};
pub(crate) use hierarchy::DEPTH;
pub use hierarchy::LEAF;
pub use tree::{Bvh, Node};

use crate::cancel::guarded;
use crate::error::Result;
use crate::geometry::{Bounded, BoxSize, Scalar, Space};

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Builds a tree over points or boxes in open space, in parallel. Accepts any number of primitives, including none,
    /// and any number of equal points.
    ///
    /// # Errors
    /// - A coordinate is NaN or infinite, or exceeds 1e150 in `f64`, where squares overflow.
    /// - The lower corner of a box exceeds its upper one.
    /// - There are more than 2^32 - 2 primitives.
    /// - `D` is not between 1 and 10.
    pub fn build<T: Bounded<S, D>>(primitives: &[T]) -> Result<Self> {
        Self::build_in(primitives, Space::OPEN)
    }

    /// Builds a tree over points or boxes in a periodic box, in parallel. All queries and pairs then use nearest
    /// images. A size without sides (`None`) builds the tree in open space.
    ///
    /// Points outside `[0, L]` are first wrapped into the box, rounded to `S`.
    ///
    /// ```
    /// use ropewalk::{Bvh, Sphere};
    ///
    /// let bvh = Bvh::build_periodic(&[[0.5f64, 5.0], [9.5, 5.0]], 10.0)?;
    /// assert_eq!(bvh.query(Sphere::new([0.0, 5.0], 0.5)).count(), 2);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Bvh::build`]; a box with a side that is not positive or exceeds 1e150, or with another number of
    /// sides than one or one per axis.
    pub fn build_periodic<T: Bounded<S, D>>(primitives: &[T], size: impl Into<BoxSize>) -> Result<Self> {
        Self::build_in(primitives, Space::periodic(size)?)
    }

    #[doc(hidden)]
    pub fn build_in<T: Bounded<S, D>>(primitives: &[T], space: Space<D>) -> Result<Self> {
        guarded(|| build::build(primitives, space))
    }

    /// Rebuilds the tree over any primitives in the same space. The result equals that of [`Bvh::build`].
    ///
    /// A rebuild works in the memory of the tree, and keeps its scratch memory for the next rebuild. This is about 6
    /// bytes per primitive, a work area per thread, and copies of primitives that are not arrays of coordinates.
    /// Trees that are never rebuilt, and clones, keep no such memory.
    ///
    /// Later rebuilds over the same number of primitives allocate only in these cases:
    /// - There are more threads.
    /// - One of the 2048 parts that are sorted separately holds 128 or more primitives (8 bytes for each,
    ///   temporarily).
    /// - More than [`LEAF`] primitives share a cell of the grid, which has 2^31 cells per side with two axes and 2^21
    ///   with three.
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
    ///
    /// # Errors
    /// Those of [`Bvh::build`]; the tree is then unchanged. If primitives change while they are read, or the call is
    /// [cancelled](crate::Cancel), the tree is empty afterwards.
    pub fn rebuild<T: Bounded<S, D>>(&mut self, primitives: &[T]) -> Result<()> {
        let mut memory = self.state.memory.take().unwrap_or_default();
        memory.keep_memory = true;
        let result = guarded(|| build::build_into(self, primitives, &mut memory));
        self.state.memory = Some(memory);
        if result.is_ok() {
            (self.state.built, self.state.degradation) = (None, 1.0);
        }
        self.clear_on_memory_error(result)
    }
}
