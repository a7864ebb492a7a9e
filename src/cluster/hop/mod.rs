//! HOP: groups of particles around density peaks.
//!
//! In: points. Out: chains of particles that lead to one peak each, with the boundaries between chains. From these,
//! the groups for any thresholds. Source: Eisenstein and Hut 1998.
//!
//! Steps: `density` (with `smoothing`), `chains`, `boundaries`, `regroup`.

pub(crate) mod density;
pub(crate) mod smoothing;
pub(crate) mod chains;
pub(crate) mod boundaries;
mod graph;
pub(crate) mod regroup;

pub use boundaries::ChainBoundary;
pub use density::{DensityKernel, DensityUnit, KernelDensity};
pub use graph::{HopChains, Peak};

use crate::bvh::Bvh;
use crate::cancel::guarded;
use crate::cluster::Halos;
use crate::cluster::errors;
use crate::cluster::labels::{Labels, check_clusters};
use crate::error::{Error, Result};
use crate::geometry::{Bounded, BoxSize, Scalar, Space};
use crate::memory::{collected, filled};
use crate::phases::mark;
use crate::search::nearest::kth_distances2;
#[cfg(feature = "gpu")]
pub(crate) use density::check_dimension;
use density::{check_points, density_options};
use graph::NeighborCounts;
use regroup::{Thresholds, regroup};

/// A halo finder based on density: set the options, then call [`Hop::run`].
///
/// 1. Each particle gets a density ([`KernelDensity`]).
/// 2. Each particle hops to the densest of its `n_hop` nearest particles, itself included. Among equal densities the
///    lowest index counts as the densest. All particles of a *chain* lead to its peak.
/// 3. If a particle is among the `n_merge` nearest neighbours of a particle of another chain, the two chains have a
///    boundary. Its density is the maximum of the mean densities of such pairs.
/// 4. Chains with a peak of at least `delta_peak` are halos; two of these are one halo if their boundary is at least
///    `delta_saddle`. Any other chain belongs to the halo that it reaches over the densest boundaries, if these are at
///    least `delta_outer`.
/// 5. Particles of less than `delta_outer` belong to no halo.
///
/// Halos do not depend on the number of threads. They depend on the order of the points only if densities are tied.
/// Boundaries of equal density are ordered by the densities of their peaks.
///
/// Source: Eisenstein and Hut 1998. Their program, as shipped with yt, differs in these points:
/// - Among equal densities it hops to the nearest particle.
/// - Its positions have 32 bits, and its lists of equal distances are in no defined order.
/// - If a chain reaches two halos over one boundary, the order in which the program visits boundaries decides.
///
/// # Example
///
/// ```
/// use ropewalk::Hop;
///
/// // Two clumps of 27 on lattices, and a point between.
/// let corner = |i: u32| if i < 27 { 0.0 } else { 10.0 };
/// let clumps = (0..54).map(|i| [i / 9 % 3, i / 3 % 3, i % 3].map(|x| f64::from(x) + corner(i)));
/// let points: Vec<[f64; 3]> = clumps.chain([[6.0; 3]]).collect();
/// let halos = Hop::new(4.0).n_density(12).n_hop(12).run(&points)?;
/// assert_eq!(halos.len(), 2);
/// assert_eq!((halos.members(0).len(), halos.labels().get(54)), (27, None));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Hop {
    pub(crate) density: KernelDensity,
    pub(crate) n_hop: usize,
    pub(crate) n_merge: usize,
    delta_outer: f64,
    delta_saddle: Option<f64>,
    delta_peak: Option<f64>,
    pub(crate) min_members: usize,
}

impl Hop {
    /// Creates a finder of halos that extend to the density `delta_outer`, in the unit of the densities. By default the
    /// density of saddles is 2.5 times as large, that of peaks 3 times, as the authors advise. In units of the mean
    /// density, 80 and 160 are usual.
    pub fn new(delta_outer: impl Into<f64>) -> Self {
        Self {
            density: KernelDensity::new(),
            n_hop: 64,
            n_merge: 4,
            delta_outer: delta_outer.into(),
            delta_saddle: None,
            delta_peak: None,
            min_members: 10,
        }
    }

    density_options!();

    /// Sets the number of neighbours that determine a density, the particle itself included, as
    /// [`KernelDensity::n_density`]. Default: 64.
    #[must_use]
    pub fn n_density(mut self, n_density: usize) -> Self {
        self.density = self.density.n_density(n_density);
        self
    }

    /// Sets the number of nearest particles, itself included, to the densest of which a particle hops; at least 1.
    /// Default: 64. The authors advise 16.
    #[must_use]
    pub fn n_hop(mut self, n_hop: usize) -> Self {
        self.n_hop = n_hop;
        self
    }

    /// Sets the number of nearest neighbours among which boundaries are searched; less than the number of points.
    /// Default: 4.
    #[must_use]
    pub fn n_merge(mut self, n_merge: usize) -> Self {
        self.n_merge = n_merge;
        self
    }

    /// Sets the minimum density of a boundary over which two halos are merged, in the unit of the densities. Default:
    /// 2.5 times `delta_outer`.
    #[must_use]
    pub fn delta_saddle(mut self, delta_saddle: impl Into<f64>) -> Self {
        self.delta_saddle = Some(delta_saddle.into());
        self
    }

    /// Sets the minimum density of a halo's peak, in the unit of the densities. Default: 3 times `delta_outer`.
    #[must_use]
    pub fn delta_peak(mut self, delta_peak: impl Into<f64>) -> Self {
        self.delta_peak = Some(delta_peak.into());
        self
    }

    /// Sets the minimum number of members of a halo. Default: 10. Labels do not depend on it.
    #[must_use]
    pub fn min_members(mut self, members: usize) -> Self {
        self.min_members = members;
        self
    }

    /// Finds the halos of `points`.
    ///
    /// # Cost
    /// About 60 times the time of building the tree. Peak memory: about 70 bytes per point for three-dimensional
    /// `f32`, tree and result included.
    ///
    /// # Errors
    /// - All errors of [`KernelDensity::run`].
    /// - An `n_hop` of 0 or of more than the number of points; an `n_merge` that is not less than the number of
    ///   points.
    /// - Thresholds that are NaN or negative, or do not ascend from `delta_outer` over `delta_saddle` to `delta_peak`.
    /// - More than 2^31 - 1 groups, because labels are 32-bit numbers.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<Halos> {
        guarded(|| self.run_on(&Bvh::build_in(points, Space::periodic(self.density.size.clone())?)?))
    }

    /// Finds the halos of the points in an existing tree. The space is that of the tree, open or periodic.
    ///
    /// # Errors
    /// As for [`Hop::run`].
    pub fn run_on<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> Result<Halos> {
        guarded(|| {
            self.thresholds()?;
            self.run_on_chains(&self.chains_on(tree)?)
        })
    }

    /// Finds the chains of `points` and their boundaries, from which [`Hop::run_on_chains`] finds the halos for any
    /// thresholds.
    ///
    /// # Errors
    /// As for [`Hop::run`], except those of the thresholds.
    pub fn chains<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<HopChains> {
        guarded(|| self.chains_on(&Bvh::build_in(points, Space::periodic(self.density.size.clone())?)?))
    }

    /// Finds the chains of the points in an existing tree and their boundaries. The space is that of the tree, open or
    /// periodic.
    ///
    /// # Errors
    /// As for [`Hop::chains`].
    pub fn chains_on<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> Result<HopChains> {
        guarded(|| {
            self.check_counts(tree.len())?;
            let found = self.density.found_in(tree)?;
            let radius2 = if Some(found.k) == self.n_hop.checked_add(1) { found.radius2 } else { self.reach2(tree) };
            Ok(HopChains::new(tree, found.density, &radius2, self.neighbor_counts()))
        })
    }

    /// Finds the chains of a given field, which replaces the density: one value for each point of a tree. Thresholds
    /// are then in the unit of the field.
    ///
    /// # Errors
    /// As for [`Hop::chains`]; values that are NaN or not one per point.
    ///
    /// # Example
    ///
    /// ```
    /// use ropewalk::{Bvh, Hop};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [1.0, 0.0], [2.5, 0.0], [4.0, 0.0], [5.0, 0.0]])?;
    /// let hop = Hop::new(1.0).n_hop(2).n_merge(1).min_members(1);
    /// let chains = hop.chains_with_density(&bvh, &[9.0, 5.0, 2.0, 4.0, 7.0])?;
    /// assert_eq!(chains.chain(), [0, 0, 0, 1, 1]);
    /// assert_eq!(hop.run_on_chains(&chains)?.len(), 2);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn chains_with_density<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>, field: &[f64]) -> Result<HopChains> {
        guarded(|| {
            check_points(tree)?;
            self.check_counts(tree.len())?;
            check_field(field, tree.len())?;
            // Adding 0.0 turns -0.0 into 0.0, so that the two are equal.
            let density = collected(tree.order().iter().map(|&index| field[index as usize] + 0.0));
            Ok(HopChains::new(tree, density, &self.reach2(tree), self.neighbor_counts()))
        })
    }

    /// Finds the halos of existing chains for the thresholds of these options. The numbers of neighbours are ignored.
    ///
    /// # Errors
    /// As for [`Hop::run`], for the thresholds.
    ///
    /// # Example
    ///
    /// ```
    /// use ropewalk::Hop;
    ///
    /// // Two clumps of twenty.
    /// let points: Vec<[f64; 2]> = (0..40).map(|i| [i % 5, i / 5 % 4].map(|x| f64::from(x + i / 20 * 50))).collect();
    /// let chains = Hop::new(1.0).n_density(6).n_hop(6).chains(&points)?;
    /// let counts = [1.0, 5.0, 50.0].map(|outer| Hop::new(outer).run_on_chains(&chains).map(|halos| halos.len()));
    /// assert_eq!(counts.into_iter().collect::<Result<Vec<_>, _>>()?, [2, 2, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn run_on_chains(&self, chains: &HopChains) -> Result<Halos> {
        guarded(|| {
            let thresholds = self.thresholds()?;
            let peaks: Vec<f64> = collected(chains.peaks().iter().map(|peak| peak.density));
            let groups = regroup(&peaks, chains.boundaries(), thresholds);
            // Groups are numbered by their smallest member, which comes first.
            let mut numbers = filled(peaks.len(), -1);
            let mut count = 0;
            let number = |(&chain, &density): (&u32, &f64)| match groups[chain as usize] {
                Some(group) if density >= thresholds.outer => {
                    let number = &mut numbers[group as usize];
                    if *number < 0 {
                        *number = count as i32;
                        count += 1;
                    }
                    *number
                }
                _ => -1,
            };
            let labels = collected(chains.chain().iter().zip(chains.density()).map(number));
            check_clusters(count)?;
            let halos = Halos::new_in(
                chains.boundary().clone(),
                Labels::from_parts(labels, count as u32, None),
                self.min_members,
            );
            mark("groups");
            Ok(halos)
        })
    }

    fn neighbor_counts(&self) -> NeighborCounts {
        NeighborCounts { n_hop: self.n_hop, n_merge: self.n_merge }
    }

    /// The squared distance to the neighbour after the `n_hop` nearest; infinite if there are only `n_hop` points.
    fn reach2<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> Vec<f64> {
        match self.n_hop < tree.len() {
            true => kth_distances2(tree, self.n_hop + 1),
            false => filled(tree.len(), f64::INFINITY),
        }
    }

    /// Returns an error if there are too few points for the numbers of neighbours.
    pub(crate) fn check_counts(&self, n: usize) -> Result<()> {
        let refuse = |name, value: usize, must| Err(Error::parameter_must(name, value as f64, must));
        if self.n_hop == 0 {
            return refuse("n_hop", 0, "at least 1");
        }
        if n == 0 {
            return Ok(());
        }
        if self.n_hop > n {
            return refuse("n_hop", self.n_hop, "at most the number of points");
        }
        if self.n_merge >= n {
            return refuse("n_merge", self.n_merge, "less than the number of points");
        }
        Ok(())
    }

    /// Returns the names and values of the parameters, for the header of a catalogue.
    #[doc(hidden)]
    pub fn parameters(&self) -> [(&'static str, f64); 6] {
        let (saddle, peak) = self.saddle_and_peak();
        [
            ("n_density", self.density.n_density as f64),
            ("n_hop", self.n_hop as f64),
            ("n_merge", self.n_merge as f64),
            ("delta_outer", self.delta_outer),
            ("delta_saddle", saddle),
            ("delta_peak", peak),
        ]
    }

    /// Returns the name of the density kernel, for the header of a catalogue; `None` for the default.
    #[doc(hidden)]
    pub fn other_kernel(&self) -> Option<&'static str> {
        match self.density.kernel {
            DensityKernel::Symmetric => None,
            DensityKernel::Gather => Some("gather"),
            DensityKernel::TopHat => Some("top_hat"),
        }
    }

    fn saddle_and_peak(&self) -> (f64, f64) {
        let outer = self.delta_outer;
        (self.delta_saddle.unwrap_or(2.5 * outer), self.delta_peak.unwrap_or(3.0 * outer))
    }

    /// Returns an error if the thresholds are not in order.
    #[doc(hidden)]
    pub fn check(&self) -> Result<()> {
        self.thresholds().map(drop)
    }

    pub(crate) fn thresholds(&self) -> Result<Thresholds> {
        let outer = self.delta_outer;
        let (saddle, peak) = self.saddle_and_peak();
        let checks = [
            ("delta_outer", outer, outer >= 0.0, "non-negative"),
            ("delta_saddle", saddle, saddle >= outer, "at least delta_outer"),
            ("delta_peak", peak, peak >= saddle, "at least delta_saddle"),
        ];
        match checks.into_iter().find(|&(_, _, holds, _)| !holds) {
            Some((name, value, _, must)) => Err(Error::parameter_must(name, value, must)),
            None => Ok(Thresholds { outer, saddle, peak }),
        }
    }
}

/// Returns an error if the field is NaN at a point or has not one value for each of `n` points.
pub(crate) fn check_field(field: &[f64], n: usize) -> Result<()> {
    if field.len() != n {
        return Err(Error::length("values of the field", field.len(), n));
    }
    match field.iter().position(|value| value.is_nan()) {
        Some(index) => Err(errors::field_value(index)),
        None => Ok(()),
    }
}
