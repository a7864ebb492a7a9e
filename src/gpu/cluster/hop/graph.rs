//! The graph of chains on a device: the GPU version of `cluster::hop::graph`.

use cubecl::prelude::*;

use crate::cluster::hop::boundaries::descending_key as falling_of;
use crate::cluster::{ChainBoundary, Peak};
use crate::error::Result;
use crate::geometry::Boundary;
use crate::gpu::buffer::{Buffer, wait};
use crate::gpu::cluster::hop::boundaries::Boundaries;
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::scatter::invert;

/// Chains of particles, and the boundaries between them, on a device: the GPU version of [`crate::cluster::HopChains`].
/// [`Hop::chains`](crate::gpu::Hop::chains) finds them.
#[derive(Clone, Debug)]
pub struct HopChains {
    pub(super) device: Device,
    /// The index of each position.
    pub(super) order: Buffer<u32>,
    /// The density and the chain of each position, and the positions of peaks in the order of the chains.
    pub(super) density: Buffer<f64>,
    pub(super) chain: Buffer<u32>,
    pub(super) peaks: Buffer<u32>,
    pub(super) boundaries: Boundaries,
    pub(super) space: Boundary,
}

impl HopChains {
    /// Returns the number of particles.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns `true` if there are no particles.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of chains.
    pub fn n_chains(&self) -> usize {
        self.peaks.len()
    }

    /// Returns the number of boundaries between chains.
    pub fn n_boundaries(&self) -> usize {
        self.boundaries.descending_key.len()
    }

    /// Computes the density of each particle in the order of the points as they were given, or its value of the field
    /// passed to [`Hop::chains_with_density`](crate::gpu::Hop::chains_with_density).
    ///
    /// # Errors
    /// A failing device.
    pub fn density(&self) -> Result<DeviceVec<f64>> {
        self.by_index(&self.density)
    }

    /// Computes the number of the chain of each particle, in the order of the points as they were given.
    ///
    /// # Errors
    /// A failing device.
    pub fn chain(&self) -> Result<DeviceVec<u32>> {
        self.by_index(&self.chain)
    }

    fn by_index<T: CubeElement + Numeric>(&self, values: &Buffer<T>) -> Result<DeviceVec<T>> {
        let device = self.device;
        on!(device, client => {
            let values = gather(client, values, &invert(client, &self.order), 1, Layout::Rows);
            Ok(DeviceVec { device, values })
        })
    }

    /// Waits until the chains are computed.
    ///
    /// # Errors
    /// A failing device.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies chains and boundaries from the device.
    ///
    /// # Errors
    /// A failing device.
    pub fn read(&self) -> Result<crate::cluster::HopChains> {
        let (density, chain) = (self.density()?.read()?, self.chain()?.read()?);
        on!(self.device, client => {
            let indices = gather(client, &self.order, &self.peaks, 1, Layout::Rows).read(client)?;
            let peak = |index: u32| Peak { index, density: density[index as usize] };
            let peaks = indices.into_iter().map(peak).collect();
            let boundaries = self.boundaries.read(client)?;
            Ok(crate::cluster::HopChains::from_parts(density, chain, peaks, boundaries, self.space.clone()))
        })
    }

    /// Copies chains to a device.
    pub(super) fn upload<R: Runtime>(
        client: &ComputeClient<R>,
        device: Device,
        chains: &crate::cluster::HopChains,
    ) -> Self {
        let peaks: Vec<u32> = chains.peaks().iter().map(|peak| peak.index).collect();
        let pair = |boundary: &ChainBoundary| u64::from(boundary.denser) << 32 | u64::from(boundary.other);
        let pairs: Vec<u64> = chains.boundaries().iter().map(pair).collect();
        let descending_key: Vec<u64> =
            chains.boundaries().iter().map(|boundary| falling_of(boundary.density)).collect();
        Self {
            device,
            order: Buffer::iota(client, chains.chain().len()),
            density: Buffer::from_slice(client, chains.density()),
            chain: Buffer::from_slice(client, chains.chain()),
            peaks: Buffer::from_slice(client, &peaks),
            boundaries: Boundaries {
                pairs: Buffer::from_slice(client, &pairs),
                descending_key: Buffer::from_slice(client, &descending_key),
            },
            space: chains.boundary().clone(),
        }
    }
}
