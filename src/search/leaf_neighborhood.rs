//! Copies of the points near a leaf in contiguous arrays, through which each point of the leaf then searches.

use std::ops::Range;

use crate::bvh::Bvh;
use crate::geometry::{Blocks, Scalar};
use crate::simd::{Isa, LANES, numbers};

/// The maximum number of leaf points that share one copy. Smaller groups have fewer points around them, but copy
/// more.
const GROUP: usize = 12;

/// Splits the points of a leaf into groups of about equal size.
#[inline(always)]
pub(crate) fn groups(leaf: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let size = leaf.len().div_ceil(leaf.len().div_ceil(GROUP).max(1)).max(1);
    leaf.clone().step_by(size).map(move |first| first..leaf.end.min(first + size))
}

/// Copied points.
pub(crate) struct LeafNeighborhood<S, const D: usize> {
    /// One array per axis, padded so that a block can extend past the end.
    axes: [Vec<S>; D],
    /// The position of each point in tree order, padded as well.
    positions: Vec<u32>,
    len: usize,
    /// `true` if all distances from the leaf to the points are those of open space.
    pub is_open: bool,
}

impl<S: Scalar, const D: usize> LeafNeighborhood<S, D> {
    pub fn new() -> Self {
        Self { axes: [const { Vec::new() }; D], positions: vec![], len: 0, is_open: true }
    }

    /// Removes all points.
    pub fn clear(&mut self) {
        self.len = 0;
        self.is_open = true;
    }

    /// Returns the number of points.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn reserve(&mut self, more: usize) {
        if self.positions.len() < self.len + more + LANES {
            self.grow(more);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let len = 2 * (self.len + more + LANES);
        self.axes.iter_mut().for_each(|axis| axis.resize(len, S::ZERO));
        self.positions.resize(len, 0);
    }

    /// Adds the points of a block of a leaf whose bits are set in `mask`.
    #[inline(always)]
    pub fn add<I: Isa>(&mut self, isa: I, leaf: &Blocks<'_, S, D>, block: usize, mask: u32) {
        self.reserve(LANES);
        let at = self.len;
        for (k, axis) in self.axes.iter_mut().enumerate() {
            axis[at..at + LANES].copy_from_slice(&S::compress(isa, leaf.axis(k, block), mask));
        }
        let first = (leaf.first + block * LANES) as u32;
        self.positions[at..at + LANES].copy_from_slice(&isa.compress_u32(&numbers(first), mask));
        self.len += mask.count_ones() as usize;
    }

    /// Adds all points of a range.
    pub fn add_span(&mut self, tree: &Bvh<S, D>, span: Range<usize>) {
        self.reserve(span.len());
        let end = self.len + span.len();
        for (axis, from) in self.axes.iter_mut().zip(tree.corners().0) {
            axis[self.len..end].copy_from_slice(&from[span.clone()]);
        }
        self.positions[self.len..end].iter_mut().zip(span).for_each(|(position, at)| *position = at as u32);
        self.len = end;
    }

    /// Returns the points as blocks, counted from 0.
    #[inline(always)]
    pub fn blocks(&self) -> Blocks<'_, S, D> {
        Blocks::new(&self.axes, None, &(0..self.len))
    }

    /// Returns the position of each point in tree order.
    #[inline(always)]
    pub fn positions(&self) -> &[u32] {
        &self.positions[..self.len]
    }

    /// Returns the coordinates, one array per axis.
    #[inline(always)]
    pub fn axes(&self) -> [&[S]; D] {
        self.axes.each_ref().map(|axis| &axis[..self.len])
    }
}
