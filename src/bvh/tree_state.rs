//! State of a tree that is not part of its value: memory for moving points and for the next search, and the tree
//! quality.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use crate::bvh::hierarchy::Hierarchy;
use crate::bvh::radix_sort::{Pool, SplitMemory};
use crate::geometry::Aabb;
use crate::parallel::ScratchPool;

/// The quality of the tree, and memory for the next step. Comparisons of trees ignore it, and a clone gets no memory.
#[derive(Debug)]
pub(super) struct TreeState<S, const D: usize> {
    /// The cost of the tree as built; `None` until the first refit computes it.
    pub built: Option<Cost>,
    /// The current cost divided by the cost as built.
    pub degradation: f64,
    /// The measures of all nodes, computed by a refit.
    pub measures: Vec<Measure<S, D>>,
    /// Scratch memory of a rebuild.
    pub memory: Option<Box<BuildScratch>>,
    /// Memory of earlier searches, reused by later ones.
    pub kept: ScratchPool,
}

/// The sum of the surface areas of all nodes, measured in the length `unit`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub sum: f64,
    pub unit: f64,
}

/// Properties of a node that are reduced from the leaves up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure<S, const D: usize> {
    pub bounds: Aabb<S, D>,
    /// The surface areas of this node and all nodes below it.
    pub area: f64,
    /// `true` if this node or one below it is an inner node that holds only copies of one point.
    pub has_copies: bool,
}

impl<S, const D: usize> Default for TreeState<S, D> {
    fn default() -> Self {
        Self { built: None, degradation: 1.0, measures: vec![], memory: None, kept: ScratchPool::default() }
    }
}

impl<S, const D: usize> Clone for TreeState<S, D> {
    fn clone(&self) -> Self {
        Self { built: self.built, degradation: self.degradation, ..Self::default() }
    }
}

impl<S, const D: usize> PartialEq for TreeState<S, D> {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// Scratch memory of a build, next to the memory of the tree.
#[derive(Default)]
pub(super) struct BuildScratch {
    /// `true` if the memory is kept for another build. Otherwise each part is freed as soon as it is no longer
    /// needed.
    pub keep_memory: bool,
    pub split: SplitMemory,
    pub deltas: Vec<u8>,
    pub hierarchy: Hierarchy,
    /// The part for one type of primitives. It is taken out for use, so a panic cannot leave it half changed.
    of: Option<AssertUnwindSafe<Box<dyn Any + Send + Sync>>>,
}

/// The part of the scratch memory that depends on the type of the stored primitives.
pub(super) struct TypedScratch<P> {
    /// Primitives of other types, converted to their stored form.
    pub copies: Vec<P>,
    pub pool: Pool<P>,
}

impl<P: Copy + bytemuck::Zeroable + Send> Default for TypedScratch<P> {
    fn default() -> Self {
        Self { copies: vec![], pool: Pool::default() }
    }
}

impl std::fmt::Debug for BuildScratch {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("BuildScratch").finish_non_exhaustive()
    }
}

impl BuildScratch {
    /// Returns the part for primitives of type `P`. A part for another type is freed.
    pub fn typed<P: Any + Copy + bytemuck::Zeroable + Send + Sync>(&mut self) -> &mut TypedScratch<P> {
        if !self.of.as_ref().is_some_and(|of| of.is::<TypedScratch<P>>()) {
            self.of = Some(AssertUnwindSafe(Box::new(TypedScratch::<P>::default())));
        }
        match self.of.as_mut().and_then(|of| of.downcast_mut()) {
            Some(of) => of,
            None => unreachable!("it was just made"),
        }
    }
}
