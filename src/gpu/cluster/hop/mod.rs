//! HOP on a device: the GPU version of `cluster::hop`.
//!
//! In: points. Out: chains and the boundaries between them on the device; from these, the halos for any thresholds.
//! Flow: `density` (with `smoothing`), `chains`, `boundaries`, `regroup`. Sums are exact and rounded as on the CPU, so
//! all results equal those of the CPU bit by bit. If a device rounds differently, the host computes everything.
//! Source: as `cluster::hop`.
//!
//! **Launch contract.** The kernels of `smoothing` and `chains` without bounds checks rely on the launch contract of
//! `bvh::traverse`. They also need a number for each position and each node, including the sentinel.

mod boundaries;
mod chains;
mod density;
mod graph;
mod regroup;
pub(in crate::gpu) mod smoothing;

pub use density::KernelDensity;
pub use graph::HopChains;

use cubecl::prelude::*;

use crate::cluster::hop::{check_dimension, check_field};
use crate::error::{Error, Result};
use crate::geometry::Boundary;
use crate::gpu::buffer::{Buffer, end_phase};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::cluster::Halos;
use crate::gpu::cluster::hop::boundaries::{Boundaries, boundaries};
use crate::gpu::cluster::hop::chains::{ChainInput, chains};
use crate::gpu::cluster::hop::density::{check, found_in};
use crate::gpu::cluster::hop::regroup::regroup;
use crate::gpu::device::on;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::rounding::rounds_well;
use crate::gpu::search::nearest::{MAX_K_PER_SEARCH, MAX_KTH, kth_distances2};

/// A halo finder based on density, for points on a device: set the options, then call [`Hop::run`]. The GPU version of
/// [`crate::Hop`], with the same meaning of options. Points are in a periodic box if they were uploaded with one.
///
/// ```no_run
/// use ropewalk::gpu::{Device, Hop, Points};
///
/// // Two clumps of twenty points each.
/// let points: Vec<[f32; 2]> = (0..40).map(|i| [i % 5, i / 5 % 4].map(|x| (x + i / 20 * 50) as f32)).collect();
/// let halos = Hop::new(1.0).n_density(6).n_hop(6).run(&Points::new(&points, Device::first()?)?)?;
/// assert_eq!(halos.len(), 2);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    options: crate::Hop,
}

impl From<crate::Hop> for Hop {
    /// Takes over the options of the CPU version. Options that a device does not support are errors when it runs. The
    /// periodic box is that of the points on the device.
    fn from(options: crate::Hop) -> Self {
        Self { options }
    }
}

impl Hop {
    /// Creates a finder of halos that extend to the density `delta_outer`. See [`crate::Hop::new`] for the defaults.
    pub fn new(delta_outer: impl Into<f64>) -> Self {
        Self { options: crate::Hop::new(delta_outer) }
    }

    /// Sets the estimator of densities, and with it the unit of thresholds. Default: 64 neighbours, the symmetric
    /// kernel, units of the mean density.
    #[must_use]
    pub fn density(self, density: crate::cluster::KernelDensity) -> Self {
        Self { options: self.options.density(density) }
    }

    /// Sets the number of neighbours that determine a density, the particle itself included, at most 128. Default: 64.
    /// See [`crate::Hop::n_density`].
    #[must_use]
    pub fn n_density(self, n_density: usize) -> Self {
        Self { options: self.options.n_density(n_density) }
    }

    /// Sets the mass of each point, finite and not negative. Default: 1. See [`crate::cluster::KernelDensity::masses`].
    #[must_use]
    pub fn masses(self, masses: impl Into<Vec<f64>>) -> Self {
        Self { options: self.options.masses(masses) }
    }

    /// Sets the volume (in two dimensions the area) over which the mean density is taken. Default: that of the box. See
    /// [`crate::cluster::KernelDensity::volume`].
    #[must_use]
    pub fn volume(self, volume: impl Into<f64>) -> Self {
        Self { options: self.options.volume(volume) }
    }

    /// Sets the number of nearest particles, itself included, to the densest of which a particle hops, from 1 to 128.
    /// Default: 64. See [`crate::Hop::n_hop`].
    #[must_use]
    pub fn n_hop(self, n_hop: usize) -> Self {
        Self { options: self.options.n_hop(n_hop) }
    }

    /// Sets the number of nearest neighbours among which boundaries are searched, at most 64. Default: 4. See
    /// [`crate::Hop::n_merge`].
    #[must_use]
    pub fn n_merge(self, n_merge: usize) -> Self {
        Self { options: self.options.n_merge(n_merge) }
    }

    /// Sets the minimum density of a boundary over which two halos are merged, in the unit of the densities. Default:
    /// 2.5 times `delta_outer`. See [`crate::Hop::delta_saddle`].
    #[must_use]
    pub fn delta_saddle(self, delta_saddle: impl Into<f64>) -> Self {
        Self { options: self.options.delta_saddle(delta_saddle) }
    }

    /// Sets the minimum density of a halo's peak, in the unit of the densities. Default: 3 times `delta_outer`. See
    /// [`crate::Hop::delta_peak`].
    #[must_use]
    pub fn delta_peak(self, delta_peak: impl Into<f64>) -> Self {
        Self { options: self.options.delta_peak(delta_peak) }
    }

    /// Sets the minimum number of members of a halo. Default: 10. See [`crate::Hop::min_members`].
    #[must_use]
    pub fn min_members(self, members: usize) -> Self {
        Self { options: self.options.min_members(members) }
    }

    /// Finds the halos of `points`. The result is exact, and the same in every run.
    ///
    /// Peak memory besides the tree: some 100 bytes per point.
    ///
    /// # Errors
    /// Returns an error as [`crate::Hop::run`], and if:
    /// - an option exceeds the number of neighbours that a device supports;
    /// - the boundaries have more than 2^32 - 1 neighbours in all;
    /// - the device fails.
    pub fn run<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<Halos> {
        self.options.thresholds()?;
        self.run_on(&Bvh::from_points(points)?)
    }

    /// Finds the halos in a tree that is already built.
    ///
    /// # Errors
    /// Those of [`Hop::run`].
    pub fn run_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<Halos> {
        self.options.thresholds()?;
        self.run_on_chains(&self.chains_on(bvh)?)
    }

    /// Finds the chains of `points` and their boundaries, from which [`Hop::run_on_chains`] finds the halos for any
    /// thresholds.
    ///
    /// # Errors
    /// Those of [`Hop::run`], except for thresholds.
    pub fn chains<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<HopChains> {
        self.chains_on(&Bvh::from_points(points)?)
    }

    /// Finds the chains of the points in a tree that is already built, and their boundaries.
    ///
    /// # Errors
    /// Those of [`Hop::chains`].
    pub fn chains_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<HopChains> {
        self.check_counts(bvh.len())?;
        check::<D>(&self.options.density, bvh.len())?;
        on!(bvh.device, client => {
            end_phase(client, "tree")?;
            let Some(nodes) = &bvh.nodes else { return Ok(none(client, bvh)) };
            if !rounds_well(client, bvh.device)? {
                return Ok(HopChains::upload(client, bvh.device, &self.options.chains_on(&bvh.read()?)?));
            }
            let found = found_in(client, bvh, nodes, &self.options.density)?;
            let radius2 =
                if found.k == self.options.n_hop + 1 { found.radius2 } else { self.hop_radius2(client, bvh, nodes) };
            self.chains_by(client, bvh, nodes, found.density, &radius2)
        })
    }

    /// Finds the chains of a given field, one value for each point of a tree, instead of the density. Thresholds are
    /// then in units of the field.
    ///
    /// # Errors
    /// Returns an error as [`Hop::chains`], if a value is NaN, or if the number of values is not that of the points.
    pub fn chains_with_density<S: Coordinate, const D: usize>(
        &self,
        bvh: &Bvh<S, D>,
        field: &[f64],
    ) -> Result<HopChains> {
        check_dimension::<D>()?;
        self.check_counts(bvh.len())?;
        check_field(field, bvh.len())?;
        on!(bvh.device, client => {
            let Some(nodes) = &bvh.nodes else { return Ok(none(client, bvh)) };
            // Turns -0.0 into 0.0, as neither zero is larger.
            let field: Vec<f64> = field.iter().map(|value| value + 0.0).collect();
            let density = gather(client, &Buffer::from_slice(client, &field), &bvh.order, 1, Layout::Rows);
            let radius2 = self.hop_radius2(client, bvh, nodes);
            self.chains_by(client, bvh, nodes, density, &radius2)
        })
    }

    /// Finds the halos for these thresholds among existing chains. The numbers of neighbours are not used.
    ///
    /// # Errors
    /// Those of [`Hop::run`] for the thresholds.
    pub fn run_on_chains(&self, chains: &HopChains) -> Result<Halos> {
        let thresholds = self.options.thresholds()?;
        on!(chains.device, client => {
            let halos = regroup(client, chains, thresholds, self.options.min_members)?;
            end_phase(client, "groups")?;
            Ok(halos)
        })
    }

    fn chains_by<R: Runtime, S: Coordinate, const D: usize>(
        &self,
        client: &ComputeClient<R>,
        bvh: &Bvh<S, D>,
        nodes: &Nodes<S>,
        density: Buffer<f64>,
        radius2: &Buffer<f64>,
    ) -> Result<HopChains> {
        let chain_input = ChainInput { density: &density, radius2, n_hop: self.options.n_hop };
        let chains = chains(client, bvh, nodes, chain_input)?;
        end_phase(client, "chains")?;
        let boundaries = boundaries(client, bvh, self.options.n_merge, &chains, &density)?;
        end_phase(client, "boundaries")?;
        Ok(HopChains {
            device: bvh.device,
            order: bvh.order.clone(),
            density,
            chain: chains.chain,
            peaks: chains.peaks,
            boundaries,
            space: Boundary::new(&bvh.space),
        })
    }

    /// The squared distance to the nearest point behind the `n_hop` nearest, or infinity if there is no such point.
    fn hop_radius2<R: Runtime, S: Coordinate, const D: usize>(
        &self,
        client: &ComputeClient<R>,
        bvh: &Bvh<S, D>,
        nodes: &Nodes<S>,
    ) -> Buffer<f64> {
        match self.options.n_hop < bvh.len() {
            true => kth_distances2(client, bvh, nodes, self.options.n_hop + 1),
            false => Buffer::filled(client, bvh.len(), f64::INFINITY),
        }
    }

    fn check_counts(&self, n: usize) -> Result<()> {
        self.options.check_counts(n)?;
        let refuse = |name, value: usize, must| Err(Error::parameter_must(name, value as f64, must));
        if self.options.n_hop >= MAX_KTH {
            return refuse("n_hop", self.options.n_hop, "at most 128 on a device");
        }
        if self.options.n_merge > MAX_K_PER_SEARCH {
            return refuse("n_merge", self.options.n_merge, "at most 64 on a device");
        }
        Ok(())
    }
}

/// The chains of an empty set of points.
fn none<R: Runtime, S: Coordinate, const D: usize>(client: &ComputeClient<R>, bvh: &Bvh<S, D>) -> HopChains {
    HopChains {
        device: bvh.device,
        order: bvh.order.clone(),
        density: Buffer::new(client, 0),
        chain: Buffer::new(client, 0),
        peaks: Buffer::new(client, 0),
        boundaries: Boundaries::none(client),
        space: Boundary::new(&bvh.space),
    }
}
