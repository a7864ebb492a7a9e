//! The memory that a tree keeps beside its value, for moving points and for the next search, and how good it is.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use crate::bvh::hierarchy::Hierarchy;
use crate::bvh::radix_sort::{Pool, SplitMemory};
use crate::geometry::Aabb;
use crate::parallel::Kept;

/// How good the tree was and is, and memory for the next step. Trees are equal whatever they keep, and a clone keeps no memory.
#[derive(Debug)]
pub(super) struct Motion<S, const D: usize> {
    /// The cost of the tree as it was built, once it has been asked for.
    pub built: Option<Cost>,
    /// How many times that its cost is now.
    pub degradation: f64,
    /// What a refit makes of each node.
    pub measures: Vec<Measure<S, D>>,
    /// What a rebuild works in.
    pub memory: Option<Box<Memory>>,
    /// Memory of the last searches, for the next ones.
    pub kept: Kept,
}

/// The sum of the surface areas of all nodes, in a unit of length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub sum: f64,
    pub unit: f64,
}

/// What is told of a node from its leaves up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure<S, const D: usize> {
    pub bounds: Aabb<S, D>,
    /// The surface areas of this node and all below.
    pub area: f64,
    /// Whether an inner node that is this one or below holds copies of one point.
    pub has_copies: bool,
}

impl<S, const D: usize> Default for Motion<S, D> {
    fn default() -> Self {
        Self { built: None, degradation: 1.0, measures: vec![], memory: None, kept: Kept::default() }
    }
}

impl<S, const D: usize> Clone for Motion<S, D> {
    fn clone(&self) -> Self {
        Self { built: self.built, degradation: self.degradation, ..Self::default() }
    }
}

impl<S, const D: usize> PartialEq for Motion<S, D> {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// What a build works in, besides the memory of the tree.
#[derive(Default)]
pub(super) struct Memory {
    /// Whether there will be another build. If not, each part is given back as soon as it has served.
    pub keeps: bool,
    pub split: SplitMemory,
    pub deltas: Vec<u8>,
    pub hierarchy: Hierarchy,
    /// No panic leaves it half changed: it is taken out to be used.
    of: Option<AssertUnwindSafe<Box<dyn Any + Send + Sync>>>,
}

/// That part of it which depends on what is stored.
pub(super) struct MemoryOf<P> {
    /// Primitives of other types, as they are stored.
    pub copies: Vec<P>,
    pub pool: Pool<P>,
}

impl<P: Copy + bytemuck::Zeroable + Send> Default for MemoryOf<P> {
    fn default() -> Self {
        Self { copies: vec![], pool: Pool::default() }
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

impl Memory {
    /// The part for primitives of one type; what was there of another is given back.
    pub fn of<P: Any + Copy + bytemuck::Zeroable + Send + Sync>(&mut self) -> &mut MemoryOf<P> {
        if !self.of.as_ref().is_some_and(|of| of.is::<MemoryOf<P>>()) {
            self.of = Some(AssertUnwindSafe(Box::new(MemoryOf::<P>::default())));
        }
        match self.of.as_mut().and_then(|of| of.downcast_mut()) {
            Some(of) => of,
            None => unreachable!("it was just made"),
        }
    }
}
