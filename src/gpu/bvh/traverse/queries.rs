//! The queries of a walk, on a device.

use cubecl::prelude::*;

use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::traverse::spec::QueriesLaunch;

/// The queries of a walk.
pub(in crate::gpu) struct WalkQueries<S> {
    /// Centres, axis by axis.
    pub axes: Buffer<S>,
    pub filters: Buffer<S>,
    pub radius2: Buffer<f64>,
    /// The number of queries.
    pub n: usize,
    /// `true` if each query has its own radius.
    pub own_radii: bool,
    /// `true` if the centres are the points of the tree.
    pub are_stored: bool,
}

impl<S: Coordinate> WalkQueries<S> {
    /// Returns the argument of kernels.
    pub fn arg<R: Runtime>(&self) -> QueriesLaunch<S, R> {
        QueriesLaunch::new(self.axes.arg(), self.filters.arg(), self.radius2.arg())
    }
}
