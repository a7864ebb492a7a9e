//! HOP on a device: the twin of `cluster::hop`.
//!
//! In: points. Out: chains and the boundaries between them on the device, from these the halos of any thresholds.
//! Flow: `density` (with `smoothing`), `chains`, `boundaries`, `regroup`. Sums are exact and rounded as on the CPU, so all results are those
//! of the CPU to the last bit. A device that does not round so leaves all to the host.
//! Source: as `cluster::hop`.
//!
//! **Launch contract.** The kernels of `smoothing` and `chains` that have no bounds checks rely on that of `bvh::traverse`, and on a number
//! for each position, and each node, the sentinel included.

mod boundaries;
mod chains;
mod density;
mod graph;
mod regroup;
mod smoothing;

pub use density::KernelDensity;
pub use graph::HopChains;

use cubecl::prelude::*;

use crate::cluster::hop::{check_dimension, check_field};
use crate::error::{Error, Result};
use crate::geometry::Boundary;
use crate::gpu::buffer::{Buffer, mark};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::cluster::Halos;
use crate::gpu::cluster::hop::boundaries::{Boundaries, boundaries};
use crate::gpu::cluster::hop::chains::{Landscape, chains};
use crate::gpu::cluster::hop::density::{check, found_in};
use crate::gpu::cluster::hop::regroup::regroup;
use crate::gpu::device::on;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::rounding::rounds_well;
use crate::gpu::search::nearest::{MOST, MOST_KTH, kth_distances2};

/// A halo finder by density: options, then [`Hop::run`]. The twin of [`crate::Hop`], whose options mean the same. Points are in a periodic
/// box if they were uploaded so.
///
/// ```no_run
/// use ropewalk::gpu::{Device, Hop, Points};
///
/// // Two clumps of twenty.
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
    /// The options of the CPU's; what a device cannot do is refused when it runs. The box is that of the points there.
    fn from(options: crate::Hop) -> Self {
        Self { options }
    }
}

impl Hop {
    /// As [`crate::Hop::new`].
    pub fn new(delta_outer: impl Into<f64>) -> Self {
        Self { options: crate::Hop::new(delta_outer) }
    }

    /// How densities are found.
    #[must_use]
    pub fn density(self, density: crate::KernelDensity) -> Self {
        Self { options: self.options.density(density) }
    }

    /// As [`crate::Hop::n_density`]; at most 128.
    #[must_use]
    pub fn n_density(self, n_density: usize) -> Self {
        Self { options: self.options.n_density(n_density) }
    }

    /// As [`crate::Hop::masses`].
    #[must_use]
    pub fn masses(self, masses: impl Into<Vec<f64>>) -> Self {
        Self { options: self.options.masses(masses) }
    }

    /// As [`crate::Hop::volume`].
    #[must_use]
    pub fn volume(self, volume: impl Into<f64>) -> Self {
        Self { options: self.options.volume(volume) }
    }

    /// As [`crate::Hop::n_hop`]; at most 128.
    #[must_use]
    pub fn n_hop(self, n_hop: usize) -> Self {
        Self { options: self.options.n_hop(n_hop) }
    }

    /// As [`crate::Hop::n_merge`]; at most 64.
    #[must_use]
    pub fn n_merge(self, n_merge: usize) -> Self {
        Self { options: self.options.n_merge(n_merge) }
    }

    /// As [`crate::Hop::delta_saddle`].
    #[must_use]
    pub fn delta_saddle(self, delta_saddle: impl Into<f64>) -> Self {
        Self { options: self.options.delta_saddle(delta_saddle) }
    }

    /// As [`crate::Hop::delta_peak`].
    #[must_use]
    pub fn delta_peak(self, delta_peak: impl Into<f64>) -> Self {
        Self { options: self.options.delta_peak(delta_peak) }
    }

    /// As [`crate::Hop::min_members`].
    #[must_use]
    pub fn min_members(self, members: usize) -> Self {
        Self { options: self.options.min_members(members) }
    }

    /// Finds the halos of `points`.
    ///
    /// Exact, and the same in every run. Beside the tree it takes some 100 bytes a point at its peak.
    ///
    /// Errors: as [`crate::Hop::run`]; more neighbours than a device looks for; more than 2^32 - 1 neighbours in all for boundaries; if the
    /// device fails.
    pub fn run<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<Halos> {
        self.options.thresholds()?;
        self.run_on(&Bvh::of(points)?)
    }

    /// Finds the halos in a tree that is already built.
    ///
    /// Errors: as [`Hop::run`].
    pub fn run_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<Halos> {
        self.options.thresholds()?;
        self.run_on_chains(&self.chains_on(bvh)?)
    }

    /// The chains of `points` and their boundaries, from which [`Hop::run_on_chains`] finds the halos of any thresholds.
    ///
    /// Errors: as [`Hop::run`], but for the thresholds.
    pub fn chains<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<HopChains> {
        self.chains_on(&Bvh::of(points)?)
    }

    /// The same in a tree that is already built.
    ///
    /// Errors: as [`Hop::chains`].
    pub fn chains_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<HopChains> {
        self.check_counts(bvh.len())?;
        check::<D>(&self.options.density, bvh.len())?;
        on!(bvh.device, client => {
            mark(client, "tree")?;
            let Some(nodes) = &bvh.nodes else { return Ok(none(client, bvh)) };
            if !rounds_well(client, bvh.device)? {
                return Ok(HopChains::upload(client, bvh.device, &self.options.chains_on(&bvh.read()?)?));
            }
            let found = found_in(client, bvh, nodes, &self.options.density)?;
            let radius2 =
                if found.k == self.options.n_hop + 1 { found.radius2 } else { self.reach2(client, bvh, nodes) };
            self.chains_by(client, bvh, nodes, found.density, &radius2)
        })
    }

    /// The chains of a field of the caller's, a value for each point of a tree, in place of the density. Thresholds are then in its unit.
    ///
    /// Errors: as [`Hop::chains`]; values that are NaN or not one per point.
    pub fn chains_of<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>, field: &[f64]) -> Result<HopChains> {
        check_dimension::<D>()?;
        self.check_counts(bvh.len())?;
        check_field(field, bvh.len())?;
        on!(bvh.device, client => {
            let Some(nodes) = &bvh.nodes else { return Ok(none(client, bvh)) };
            // Of two zeros none is larger.
            let field: Vec<f64> = field.iter().map(|value| value + 0.0).collect();
            let density = gather(client, &Buffer::from_slice(client, &field), &bvh.order, 1, Layout::Rows);
            let radius2 = self.reach2(client, bvh, nodes);
            self.chains_by(client, bvh, nodes, density, &radius2)
        })
    }

    /// The halos of these thresholds among chains that are already found; counts of neighbours are not asked again.
    ///
    /// Errors: as [`Hop::run`], for the thresholds.
    pub fn run_on_chains(&self, chains: &HopChains) -> Result<Halos> {
        let thresholds = self.options.thresholds()?;
        on!(chains.device, client => {
            let halos = regroup(client, chains, thresholds, self.options.min_members)?;
            mark(client, "groups")?;
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
        let landscape = Landscape { density: &density, radius2, n_hop: self.options.n_hop };
        let chains = chains(client, bvh, nodes, landscape)?;
        mark(client, "chains")?;
        let boundaries = boundaries(client, bvh, self.options.n_merge, &chains, &density)?;
        mark(client, "boundaries")?;
        Ok(HopChains {
            device: bvh.device,
            order: bvh.order.clone(),
            density,
            chain: chains.chain,
            peaks: chains.peaks,
            boundaries,
            space: Boundary::of(&bvh.space),
        })
    }

    /// The squared distance to the nearest behind the `n_hop` nearest: infinite where there is none.
    fn reach2<R: Runtime, S: Coordinate, const D: usize>(
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
        if self.options.n_hop >= MOST_KTH {
            return refuse("n_hop", self.options.n_hop, "at most 128 on a device");
        }
        if self.options.n_merge > MOST {
            return refuse("n_merge", self.options.n_merge, "at most 64 on a device");
        }
        Ok(())
    }
}

/// The chains of no points.
fn none<R: Runtime, S: Coordinate, const D: usize>(client: &ComputeClient<R>, bvh: &Bvh<S, D>) -> HopChains {
    HopChains {
        device: bvh.device,
        order: bvh.order.clone(),
        density: Buffer::new(client, 0),
        chain: Buffer::new(client, 0),
        peaks: Buffer::new(client, 0),
        boundaries: Boundaries::none(client),
        space: Boundary::of(&bvh.space),
    }
}
