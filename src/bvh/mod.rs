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
mod errors;
mod hierarchy;
mod layout;
mod motion;
pub(crate) mod morton;
pub(crate) mod radix_sort;
mod ropes;
pub(crate) mod traverse;
mod reduce;
mod refit;
mod tree;
mod unfinished;
mod validate;

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

    #[doc(hidden)]
    pub fn build_in<T: Bounded<S, D>>(primitives: &[T], space: Space<D>) -> Result<Self> {
        guarded(|| build::build(primitives, space))
    }

    /// Builds the tree anew, over any primitives, in the same space: it is then what [`Bvh::build`] gives.
    ///
    /// It works in the memory of the tree, and what it needs beside that is kept for the next: some 6 bytes a primitive, what each thread
    /// works in, and copies of primitives that are no arrays of coordinates. Trees that are never rebuilt keep nothing for it, nor do clones.
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
}
