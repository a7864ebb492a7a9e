//! The k nearest neighbours of each stored point: the twin of `search::nearest`.
//!
//! In: `k`. Out: for each point its neighbours, nearest first, ties by index.
//! Warps find them by rounded distances (`approx_search`), and list the points that they cannot answer for. These, and all points of devices
//! without warps, are searched by distances in `f64` (`exact_search`), which decide on the CPU, too.
//! Cost: O(k + depth) leaves for a compact cloud; twice that where many distances are equal, as in lattices; n for each of n copies of a
//! point. Source: as the CPU's; Karras 2012 for the order.
//!
//! **Launch contract.** The kernels of this folder have no bounds checks. They rely on that of `bvh::traverse`, on rows of `k` neighbours
//! for each point, on a list of doubts with room for each point behind its count, and on an order that is a permutation.

#![allow(unsafe_code)] // Kernels without bounds checks.

mod approx_search;
mod bracket;
mod exact_search;
mod exact_walk;
mod kth_distance;

use cubecl::prelude::*;

use crate::error::{Kind, Result};
use crate::geometry::FilteredRadius;
use crate::gpu::buffer::{Buffer, UNITS, check_allocation, cubes, mark, wait};
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::rounding::roots;
use crate::gpu::primitives::warp::Warp;
use crate::gpu::search::nearest::approx_search::find_approximately;
use crate::gpu::search::nearest::exact_search::find_exactly;
pub(in crate::gpu) use crate::gpu::search::nearest::exact_search::widened;
pub(in crate::gpu) use crate::gpu::search::nearest::exact_walk::{Tally, point_of, walk_exactly};
pub(in crate::gpu) use crate::gpu::search::nearest::kth_distance::{MOST_KTH, kth_distances2};
use crate::search::nearest::{Excluded, Nearest, Neighbor};

/// The largest `k`.
pub(in crate::gpu) const MOST: usize = 64;
/// Units that search for points in doubt, of which there are few in most cases.
pub(in crate::gpu) const LISTED: usize = 1 << 18;

/// The nearest neighbours of each point, on a device. They may still be computed.
#[derive(Clone, Debug)]
pub struct Neighbors {
    device: Device,
    n: usize,
    pub(in crate::gpu) k: usize,
    /// `k` a point in the caller's order; behind the last neighbour [`u32::MAX`].
    pub(in crate::gpu) indices: Buffer<u32>,
    pub(in crate::gpu) distances2: Buffer<f64>,
}

impl Neighbors {
    /// How many points have a list, which is all.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// How many places each list has: the `k` asked for, or the number of points if that is less.
    pub fn k(&self) -> usize {
        self.k
    }

    /// The indices of the neighbours, [`Neighbors::k`] a point; behind the last one of a shorter list [`u32::MAX`].
    pub fn indices(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.device, values: self.indices.clone() }
    }

    /// The squared distances of the neighbours, in the places of [`Neighbors::indices`]; those of places without one mean nothing.
    pub fn distances2(&self) -> DeviceVec<f64> {
        DeviceVec { device: self.device, values: self.distances2.clone() }
    }

    /// The distances of the neighbours, the roots of [`Neighbors::distances2`].
    ///
    /// Errors: if the device fails.
    pub fn distances(&self) -> Result<DeviceVec<f64>> {
        let device = self.device;
        on!(device, client => Ok(DeviceVec { device, values: roots(client, device, &self.distances2)? }))
    }

    /// Waits until the neighbours are there.
    ///
    /// Errors: if the device fails.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies the lists from the device, one for each point in the caller's order.
    ///
    /// Errors: if the device fails.
    pub fn read(&self) -> Result<crate::Csr<Neighbor>> {
        on!(self.device, client => {
            let (indices, distances2) = (self.indices.read(client)?, self.distances2.read(client)?);
            let mut offsets = Vec::with_capacity(self.n + 1);
            let mut values = Vec::with_capacity(self.n * self.k);
            offsets.push(0);
            for row in 0..self.n {
                let row = row * self.k..(row + 1) * self.k;
                let found = indices[row.clone()].iter().zip(&distances2[row]).take_while(|(index, _)| **index != u32::MAX);
                values.extend(found.map(|(&index, &d2)| Neighbor { index, distance2: d2 }));
                offsets.push(values.len());
            }
            Ok(crate::Csr::from_parts(offsets, values))
        })
    }
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// The nearest stored points to each, nearest first, ties by index, in the caller's order: as
    /// [`crate::Bvh::nearest_neighbors`]. `wanted` is `k` or a [`Nearest`].
    ///
    /// Memory: 12 `k` bytes a point, and 4 more while it runs.
    ///
    /// Errors: a `k` of more than 64; more than 2^32 - 1 neighbours in all, or more than a buffer of the device can hold; if the device
    /// fails.
    ///
    /// ```no_run
    /// use ropewalk::Nearest;
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [1.0, 0.0], [5.0, 0.0]], Device::first()?)?;
    /// let graph = bvh.nearest_neighbors(Nearest::new(1).excluding_self())?.read()?;
    /// assert_eq!(graph.values().iter().map(|n| n.index).collect::<Vec<_>>(), [1, 0, 1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest_neighbors(&self, wanted: impl Into<Nearest>) -> Result<Neighbors> {
        on!(self.device, client => self.nearest_rows(client, wanted.into(), RowOrder::Caller))
    }

    /// The same, with rows in an order.
    pub(in crate::gpu) fn nearest_rows<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        wanted: Nearest,
        row_order: RowOrder,
    ) -> Result<Neighbors> {
        let n = self.len();
        // More than there are is the same as all.
        let k = wanted.k.min(n);
        if k > MOST {
            return Err(Kind::DeviceNearest { k, most: MOST }.into());
        }
        if n * k > u32::MAX as usize {
            return Err(Kind::DeviceLists { values: (n * k) as u64 }.into());
        }
        let radius2 = if wanted.radius >= 0.0 { wanted.radius * wanted.radius } else { -1.0 };
        // The index that is left out, if it is the same for all.
        let excluded = if let Excluded::Index(index) = wanted.excluded { index } else { u32::MAX };
        check_allocation(client, 8 * n as u128 * k as u128)?;
        let (indices, distances2) = (Buffer::new(client, n * k), Buffer::new(client, n * k));
        let found = Neighbors { device: self.device, n, k, indices, distances2 };
        let Some(nodes) = self.nodes.as_ref().filter(|_| k > 0) else { return Ok(found) };
        let [relative, absolute] = FilteredRadius::<S, D>::errors(&self.space);
        let limits = self.limits(client, radius2);
        let search =
            || SearchLaunch::new(self.order.arg(), LimitsLaunch::new(limits.arg()), nodes.end() as u32, excluded);
        let rows = || RowsLaunch::new(found.indices.arg(), found.distances2.arg());
        let warp = Warp::of(client).apart();
        let spec = KnnSpec {
            warp,
            d: D,
            periodic: self.space.period().is_some(),
            k,
            excludes_self: wanted.excluded == Excluded::Own,
            excludes_index: excluded != u32::MAX,
            row_order,
        };
        let listed = warp.is_some();
        let mut doubted = self.order.clone();
        if listed {
            // A rounded distance is so far from the exact one, and that again from another rounded one; with a little more.
            let factor = (1.0 - relative).powi(-6);
            let root = radius2.max(0.0).sqrt() + absolute;
            let limit = if radius2 < 0.0 { -1.0 } else { (root * root).max(S::SQUARES.start) * factor };
            let approx = [limit, factor, 2.0 * absolute, S::SQUARES.start, f64::INFINITY].map(S::from_f64);
            let approx = ApproxLimitsLaunch::new(Buffer::from_slice(client, &approx).arg());
            doubted = Buffer::filled(client, n + 1, 0);
            let (blocks, dim) = warp.blocks(n, approx_search::SMALL);
            let (tree, search, rows) = (self.tree(client, nodes), search(), rows());
            // SAFETY: the launch contract of this module.
            unsafe {
                find_approximately::launch_unchecked::<S, _>(
                    client,
                    blocks,
                    dim,
                    tree,
                    search,
                    approx,
                    rows,
                    doubted.arg(),
                    spec,
                );
            }
        }
        mark(client, "nearest")?;
        let (blocks, dim) = (cubes(if listed { n.min(LISTED) } else { n }), CubeDim::new_1d(UNITS));
        let (tree, search, rows) = (self.tree(client, nodes), search(), rows());
        // SAFETY: the launch contract of this module; a list of doubts holds positions of points.
        unsafe {
            find_exactly::launch_unchecked::<S, _>(
                client,
                blocks,
                dim,
                tree,
                search,
                doubted.arg(),
                rows,
                listed,
                spec,
            );
        }
        mark(client, "in doubt")?;
        Ok(found)
    }

    /// What [`Limits`] holds, for a squared radius.
    pub(in crate::gpu) fn limits<R: Runtime>(&self, client: &ComputeClient<R>, radius2: f64) -> Buffer<f64> {
        // An approximate distance is at least this part of the exact one, but for what periodic boxes and underflow add.
        let [relative, absolute] = FilteredRadius::<S, D>::errors(&self.space);
        let squares = S::SQUARES;
        Buffer::from_slice(client, &[radius2, 1.0 - relative, absolute, squares.start, f64::INFINITY, squares.end])
    }
}

/// The order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum RowOrder {
    Caller,
    Tree,
}

/// What is known when a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct KnnSpec {
    /// How the units of a warp search together, if they do.
    warp: Warp,
    d: usize,
    periodic: bool,
    k: usize,
    /// Whether a point is not its own neighbour.
    excludes_self: bool,
    /// Whether the point of one index is no neighbour of any.
    excludes_index: bool,
    row_order: RowOrder,
}

/// What to search, and how far.
#[derive(CubeType, CubeLaunch)]
struct Search {
    /// The index of each point.
    order: Array<u32>,
    limits: Limits,
    /// How many nodes there are.
    end: u32,
    /// The index that is left out.
    excluded: u32,
}

/// The rows of the result.
#[derive(CubeType, CubeLaunch)]
struct Rows {
    indices: Array<u32>,
    distances2: Array<f64>,
}

/// The row of a query.
#[cube]
fn row(order: &Array<u32>, query: u32, #[comptime] row_order: RowOrder) -> usize {
    let mut row = query as usize;
    if comptime!(row_order == RowOrder::Caller) {
        row = order[query as usize] as usize;
    }
    row
}

/// Limits of exact squared distances.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct Limits {
    values: Array<f64>,
}

#[cube]
impl Limits {
    fn radius2(&self) -> f64 {
        self.values[0]
    }

    /// An approximate distance is at least this part of the exact one.
    fn relative(&self) -> f64 {
        self.values[1]
    }

    /// What periodic boxes add to the error of a distance.
    fn absolute(&self) -> f64 {
        self.values[2]
    }

    /// The least square that underflow does not blur.
    fn least_square(&self) -> f64 {
        self.values[3]
    }

    /// No literal: CUDA's compiler knows no word for it.
    pub(in crate::gpu) fn infinity(&self) -> f64 {
        self.values[4]
    }

    /// A rounded squared distance up to which the exact one is at most `radius2`; negative if nothing says so.
    pub(in crate::gpu) fn sure<F: Float>(&self, radius2: f64, #[comptime] periodic: bool) -> F {
        let mut inner = radius2 * (self.relative() * self.relative());
        if comptime!(periodic) {
            let root = (inner.sqrt() - self.absolute()).max(f64::new(0.0));
            inner = root * root;
        }
        // Outside of the range of squares underflow or overflow may have a say.
        let is_square = inner >= self.least_square() && inner < self.values[5];
        F::cast_from(select(is_square, inner, f64::new(-1.0)))
    }

    /// What an exact squared distance is at most, where the rounded one is `distance2`.
    fn at_most(&self, distance2: f64, #[comptime] periodic: bool) -> f64 {
        let mut outer = distance2.max(self.least_square()) / (self.relative() * self.relative());
        if comptime!(periodic) {
            let root = outer.sqrt() + self.absolute();
            outer = root * root;
        }
        outer
    }

    /// What it is at least, likewise.
    fn at_least(&self, distance2: f64, #[comptime] periodic: bool) -> f64 {
        // Larger squares may have overflowed, smaller ones have lost all of their digits.
        let mut inner = distance2.min(self.values[5]) * (self.relative() * self.relative());
        if distance2 < self.least_square() {
            inner = f64::new(0.0);
        }
        if comptime!(periodic) {
            let root = (inner.sqrt() - self.absolute()).max(f64::new(0.0));
            inner = root * root;
        }
        inner
    }
}

/// Limits of rounded squared distances.
#[derive(CubeType, CubeLaunch)]
struct ApproxLimits<F: Float> {
    values: Array<F>,
}

#[cube]
impl<F: Float> ApproxLimits<F> {
    /// The limit before anything is found.
    fn radius2(&self) -> F {
        self.values[0]
    }

    /// Widens one rounded squared distance to an upper limit of others.
    fn factor(&self) -> F {
        self.values[1]
    }

    /// What periodic boxes add to the errors of two distances.
    fn absolute(&self) -> F {
        self.values[2]
    }

    /// The least square that underflow does not blur.
    fn least_square(&self) -> F {
        self.values[3]
    }

    fn infinity(&self) -> F {
        self.values[4]
    }
}
