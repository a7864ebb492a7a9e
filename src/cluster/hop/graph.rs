//! The graph of chains: the result of HOP before thresholds are applied.

use super::boundaries::{ChainBoundary, boundaries, descending_key};
use super::chains::{ChainInput, peaks};
use super::density::by_index;
use crate::bvh::Bvh;
use crate::geometry::{Boundary, Scalar};
use crate::memory::{collected, zeroed};
use crate::parallel::sort;
use crate::phases::mark;

/// The numbers of neighbours that define the chains and their boundaries.
#[derive(Clone, Copy)]
pub(super) struct NeighborCounts {
    /// A particle hops to the densest of this many nearest particles, itself included.
    pub n_hop: usize,
    /// A particle forms a boundary with each of this many nearest neighbours that is in another chain.
    pub n_merge: usize,
}

/// The peak of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Peak {
    /// The index of the peak's particle.
    pub index: u32,
    /// The density of the peak's particle, the maximum of its chain.
    pub density: f64,
}

/// Chains of particles, each of which leads to one peak, and the boundaries between chains. Chains are numbered by the
/// density of their peaks, densest first; ties are ordered by index. Computed by [`Hop::chains`](crate::Hop::chains).
///
/// ```
/// use ropewalk::Hop;
///
/// let points: Vec<[f64; 2]> = (0..40).map(|i| [f64::from(i % 2) * 50.0, f64::from(i * i)]).collect();
/// let chains = Hop::new(1.0).n_density(6).n_hop(6).chains(&points)?;
/// let first = chains.peaks()[0];
/// assert_eq!(first.density, chains.density()[first.index as usize]);
/// assert_eq!(chains.chain()[first.index as usize], 0);
/// assert!(chains.boundaries().iter().all(|boundary| boundary.density <= first.density));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct HopChains {
    density: Vec<f64>,
    chain: Vec<u32>,
    peaks: Vec<Peak>,
    boundaries: Vec<ChainBoundary>,
    space: Boundary,
}

impl HopChains {
    /// Finds chains and boundaries from densities in tree order.
    pub(super) fn new<S: Scalar, const D: usize>(
        tree: &Bvh<S, D>,
        density: Vec<f64>,
        radius2: &[f64],
        counts: NeighborCounts,
    ) -> Self {
        let order = tree.order();
        let peak = peaks(tree, &ChainInput { density: &density, radius2, n_hop: counts.n_hop });
        let mut ranks: Vec<(u64, u32, u32)> = (0..peak.len())
            .filter(|&at| peak[at] as usize == at)
            .map(|at| (descending_key(density[at]), order[at], at as u32))
            .collect();
        sort(&mut ranks);
        let mut number = zeroed(peak.len());
        for (rank, &(_, _, at)) in ranks.iter().enumerate() {
            number[at as usize] = rank as u32;
        }
        let peaks = collected(ranks.iter().map(|&(_, index, at)| Peak { index, density: density[at as usize] }));
        let mut chain = zeroed(peak.len());
        for (&index, &peak) in order.iter().zip(&peak) {
            chain[index as usize] = number[peak as usize];
        }
        drop((peak, number));
        let density = by_index(order, &density);
        mark("chains");
        let boundaries = boundaries(tree, counts.n_merge, &chain, &density, &[]);
        mark("boundaries");
        Self { density, chain, peaks, boundaries, space: Boundary::new(tree.space()) }
    }

    /// Chains from their parts, for results of a device.
    #[cfg(feature = "gpu")]
    pub(crate) fn from_parts(
        density: Vec<f64>,
        chain: Vec<u32>,
        peaks: Vec<Peak>,
        boundaries: Vec<ChainBoundary>,
        space: Boundary,
    ) -> Self {
        Self { density, chain, peaks, boundaries, space }
    }

    /// Returns the density of each particle, or its value of the field passed to
    /// [`Hop::chains_with_density`](crate::Hop::chains_with_density).
    pub fn density(&self) -> &[f64] {
        &self.density
    }

    /// Returns the densities of [`HopChains::density`] without copying them.
    pub fn into_density(self) -> Vec<f64> {
        self.density
    }

    /// Returns the number of the chain of each particle.
    pub fn chain(&self) -> &[u32] {
        &self.chain
    }

    /// Returns the peak of each chain, the densest first.
    pub fn peaks(&self) -> &[Peak] {
        &self.peaks
    }

    /// Returns the boundaries between touching chains, in descending order of density; ties are ordered by the chains.
    pub fn boundaries(&self) -> &[ChainBoundary] {
        &self.boundaries
    }

    pub(crate) fn boundary(&self) -> &Boundary {
        &self.space
    }
}
