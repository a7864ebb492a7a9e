//! The k nearest neighbours of each stored point: the twin of `nearest`.
//!
//! In: `k`. Out: for each point its neighbours, nearest first, ties by index.
//! Where there are planes they find them by rounded distances (`quick`) and say which points they cannot answer for; these, and all
//! points elsewhere, are looked for by distances in `f64` (`exact`), which decide on the CPU, too.
//! Cost: O(k + depth) leaves for a compact cloud; more where many distances are equal, as in lattices, for these points are looked for
//! twice; n for each of n copies of a point. Source: as the CPU's; Karras 2012 for the order.

#![allow(unsafe_code)] // Kernels without checks of their own.

mod approx_heap;
mod exact_heap;

use cubecl::prelude::*;

use crate::error::{Kind, Result};
use crate::geometry::FilteredRadius;
use crate::gpu::buffer::{Buffer, UNITS, check_allocation, cubes, wait};
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::device::{Device, on};
use crate::gpu::primitives::warp::Warp;
use crate::search::nearest::{Excluded, Nearest, Neighbor};

/// The largest `k`.
pub(in crate::gpu) const MOST: usize = 64;
/// Units that look for the nearest of points in doubt, of which there are few in most cases.
const LISTED: usize = 1 << 18;

/// The nearest neighbours of each point, on a device. They may still be computed.
#[derive(Clone, Debug)]
pub struct Neighbors {
    device: Device,
    n: usize,
    k: usize,
    /// `k` a point in the caller's order; behind the last neighbour [`u32::MAX`].
    indices: Buffer<u32>,
    distances2: Buffer<f64>,
}

impl Neighbors {
    /// How many points have a list.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
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
    /// Errors: a `k` of more than 64; more than 2^32 - 1 neighbours in all, or more than a buffer of the device can hold; if the device fails.
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
        let (wanted, n) = (wanted.into(), self.len());
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
        on!(self.device, client => {
            check_allocation(client, 8 * n as u128 * k as u128)?;
            let (indices, distances2) = (Buffer::new(client, n * k), Buffer::new(client, n * k));
            let found = Neighbors { device: self.device, n, k, indices, distances2 };
            let Some(nodes) = self.nodes.as_ref().filter(|_| k > 0) else { return Ok(found) };
            // An approximate distance is at least this part of the exact one, but for what periodic boxes and underflow add.
            let [relative, absolute] = FilteredRadius::<S, D>::errors(&self.space);
            let numbers = [radius2, 1.0 - relative, absolute, S::SQUARES.start, f64::INFINITY];
            let numbers = Buffer::from_slice(client, &numbers);
            let warp = Warp::of(client).apart();
            let shape = KnnSpec {
                warp,
                d: D,
                periodic: self.space.period().is_some(),
                k,
                own: wanted.excluded == Excluded::Own,
                named: excluded != u32::MAX,
            };
            let (points, end, dim) = (n as u32, nodes.end() as u32, CubeDim::new_1d(UNITS));
            let listed = warp.is_some();
            let mut doubted = self.order.clone();
            if listed {
                // A rounded distance is so far from the exact one, and that again from another rounded one; with a little more.
                let factor = (1.0 - relative).powi(-6);
                let root = radius2.max(0.0).sqrt() + absolute;
                let limit = if radius2 < 0.0 { -1.0 } else { (root * root).max(S::SQUARES.start) * factor };
                let rough = [limit, factor, 2.0 * absolute, S::SQUARES.start, f64::INFINITY].map(S::from_f64);
                let (blocks, small) = warp.blocks(n, approx_heap::SMALL);
                doubted = Buffer::filled(client, n + 1, 0);
                // SAFETY: links are those of a tree, so they stay within its points; a rope leads forward, so the walk ends; each
                // unit writes its own point's places, and there is room to doubt each.
                unsafe { approx_heap::find_quickly::launch_unchecked::<S, _>(
                    client,
                    blocks,
                    small,
                    self.tree(client, nodes),
                    self.order.arg(),
                    Buffer::from_slice(client, &rough).arg(),
                    numbers.arg(),
                    found.indices.arg(),
                    found.distances2.arg(),
                    doubted.arg(),
                    points,
                    end,
                    excluded,
                    shape,
                ) };
            }
            let own_cubes = if listed { cubes(n.min(LISTED)) } else { cubes(n) };
            // SAFETY: as above.
            unsafe { exact_heap::find_exactly::launch_unchecked::<S, _>(
                client,
                own_cubes,
                dim,
                self.tree(client, nodes),
                self.order.arg(),
                numbers.arg(),
                doubted.arg(),
                found.indices.arg(),
                found.distances2.arg(),
                points,
                end,
                excluded,
                listed,
                shape,
            ) };
            Ok(found)
        })
    }
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
    own: bool,
    /// Whether one index is nobody's neighbour.
    named: bool,
}
