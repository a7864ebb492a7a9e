//! Minimum spanning trees: the GPU version of `cluster::mst`.
//!
//! In: points. Out: n - 1 edges in ascending order of (squared weight, lower index, higher index), equal to the edges
//! of the CPU. Weights are those of `f64` arithmetic on the coordinates.
//!
//! **Launch contract.** The kernels of `search` and `blocks` have no bounds checks. They rely on:
//! - the launch contract of `bvh::traverse`;
//! - components numbered from 0 on, with a bound and a size for each;
//! - a component for each position and each node, including the sentinel;
//! - a box for each block of positions;
//! - a list of positions of points that is not empty.

mod blocks;
mod boruvka;
mod cut;
mod merge_components;
mod least_edges;
mod edge_bounds;
mod search;
mod sort;
mod uniform;

use cubecl::prelude::*;

use crate::cluster::Edge;
use crate::cluster::mst::check_alpha;
use crate::error::{Error, Result};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, wait};
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::cluster::mst::boruvka::edges;
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::rounding::roots;

/// The options of a minimum spanning tree: the GPU version of [`crate::MinimumSpanningTree`]. Points are in a periodic
/// box if they were uploaded with one.
///
/// ```no_run
/// use ropewalk::gpu::{Device, MinimumSpanningTree, Points};
///
/// let points = Points::new_periodic(&[[0.0f32, 0.0], [1.0, 0.0], [3.0, 0.0], [9.5, 0.0]], 10.0, Device::first()?)?;
/// let tree = MinimumSpanningTree::new().min_samples(2).run(&points)?.read()?;
/// assert_eq!(tree.edges().iter().map(|edge| edge.weight()).collect::<Vec<_>>(), [0.5, 1.0, 2.0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MinimumSpanningTree {
    min_samples: usize,
    alpha: f64,
}

impl Default for MinimumSpanningTree {
    fn default() -> Self {
        Self { min_samples: 1, alpha: 1.0 }
    }
}

impl MinimumSpanningTree {
    /// Creates the default options: edges are weighted by their length.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of samples for mutual reachability, the point itself included. Default: 1, which weights edges by
    /// their length. Above 65 core distances take a search for each 64 samples.
    #[must_use]
    pub fn min_samples(mut self, min_samples: usize) -> Self {
        self.min_samples = min_samples;
        self
    }

    /// Sets the divisor of pair distances, but not of core distances: w(i, j) = max(core(i), core(j), d(i, j) / alpha).
    /// Default: 1. See [`crate::MinimumSpanningTree::alpha`].
    ///
    /// Searches visit the points within alpha times a core distance, so that a large alpha takes longer.
    #[must_use]
    pub fn alpha(mut self, alpha: impl Into<f64>) -> Self {
        self.alpha = alpha.into();
        self
    }

    /// Computes the minimum spanning tree of the points. The result is exact, and the same in every run.
    ///
    /// Memory besides the tree and the result: some 150 bytes per point. By mutual reachability 8 bytes more per
    /// point, and up to 16 per point and sample, but at most 1 KiB per point.
    ///
    /// # Errors
    /// Returns an error if:
    /// - `min_samples` is 0, or more than the number of points;
    /// - `alpha` is not positive, or its square is not a normal number;
    /// - the lists hold more than 2^32 - 1 neighbours in all;
    /// - the device fails.
    pub fn run<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<SpanningTree> {
        self.run_on(&Bvh::from_points(points)?)
    }

    /// Computes the minimum spanning tree of the points of a tree that is already built.
    ///
    /// # Errors
    /// Those of [`MinimumSpanningTree::run`].
    pub fn run_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<SpanningTree> {
        let (name, n) = ("min_samples", self.min_samples);
        let refuse = |must| Err(Error::parameter_must(name, n as f64, must));
        if n == 0 {
            return refuse("at least 1");
        }
        if n > bvh.len() && n > 1 {
            return refuse("at most the number of points");
        }
        check_alpha(self.alpha)?;
        on!(bvh.device, client => {
            let edges = edges(client, bvh, n, self.alpha)?;
            Ok(SpanningTree {
                device: bvh.device,
                n_points: bvh.len(),
                weight2: edges.weight2,
                low: edges.low,
                high: edges.high,
            })
        })
    }
}

/// Finds the Euclidean minimum spanning tree of points on a device, with the edges of [`crate::minimum_spanning_tree`].
///
/// ```no_run
/// use ropewalk::gpu::{Device, Points, minimum_spanning_tree};
///
/// let points = Points::new(&[[0.0f64, 0.0], [3.0, 4.0], [0.0, 1.0]], Device::first()?)?;
/// let tree = minimum_spanning_tree(&points)?.read()?;
/// assert_eq!((tree.edges()[0].low, tree.edges()[0].high), (0, 2));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Those of [`MinimumSpanningTree::run`].
pub fn minimum_spanning_tree<S: Coordinate, const D: usize>(points: &Points<S, D>) -> Result<SpanningTree> {
    MinimumSpanningTree::new().run(points)
}

/// A minimum spanning tree on a device: the GPU version of [`crate::cluster::SpanningTree`], with n - 1 edges in
/// ascending order of (squared weight, lower index, higher index).
#[derive(Clone, Debug)]
pub struct SpanningTree {
    pub(super) device: Device,
    pub(super) n_points: usize,
    pub(super) weight2: Buffer<f64>,
    pub(super) low: Buffer<u32>,
    pub(super) high: Buffer<u32>,
}

impl SpanningTree {
    /// Returns the number of points of the tree.
    pub fn n_points(&self) -> usize {
        self.n_points
    }

    /// Returns the squared weights of the edges, in the order of the edges: ascending.
    pub fn weights2(&self) -> DeviceVec<f64> {
        DeviceVec { device: self.device, values: self.weight2.clone() }
    }

    /// Returns the lower point index of each edge, in the order of the edges.
    pub fn low(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.device, values: self.low.clone() }
    }

    /// Returns the higher point index of each edge, in the order of the edges.
    pub fn high(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.device, values: self.high.clone() }
    }

    /// Computes the two point indices of each edge on the device, one edge after the other, the lower index first.
    ///
    /// # Errors
    /// A failing device.
    pub fn ends(&self) -> Result<DeviceVec<u32>> {
        let device = self.device;
        on!(device, client => Ok(DeviceVec { device, values: ends(client, &self.low, &self.high) }))
    }

    /// Computes the weights of the edges on the device, in ascending order: the roots of [`SpanningTree::weights2`].
    ///
    /// # Errors
    /// A failing device.
    pub fn weights(&self) -> Result<DeviceVec<f64>> {
        let device = self.device;
        on!(device, client => Ok(DeviceVec { device, values: roots(client, device, &self.weight2)? }))
    }

    /// Waits until the edges are computed.
    ///
    /// # Errors
    /// A failing device.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies the edges from the device.
    ///
    /// # Errors
    /// A failing device.
    pub fn read(&self) -> Result<crate::cluster::SpanningTree> {
        on!(self.device, client => {
            let (low, high) = (self.low.read(client)?, self.high.read(client)?);
            let ends = low.into_iter().zip(high);
            let edges = ends.zip(self.weight2.read(client)?).map(|((low, high), weight2)| Edge { low, high, weight2 });
            Ok(crate::cluster::SpanningTree::from_parts(self.n_points, edges.collect()))
        })
    }
}

/// Interleaves the lower and higher indices of edges.
fn ends<R: Runtime>(client: &ComputeClient<R>, low: &Buffer<u32>, high: &Buffer<u32>) -> Buffer<u32> {
    let n = low.len();
    let both = Buffer::new(client, 2 * n);
    pair_up::launch::<R>(
        client,
        blocks_for(n),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        low.arg(),
        high.arg(),
        both.arg(),
        n as u32,
    );
    both
}

#[cube(launch)]
fn pair_up(low: &Array<u32>, high: &Array<u32>, both: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        both[2 * i] = low[i];
        both[2 * i + 1] = high[i];
    }
}
