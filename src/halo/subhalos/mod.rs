//! Halos and nested subhalos from the tree of density peaks and saddles: AdaptaHOP.
//!
//! In: points. Out: structures and their parents. Source: Aubert, Pichon and Colombi 2004, appendix B; Tweed et al.
//! 2009.
//!
//! Steps: densities and chains ([`Hop`]), saddles (`saddles`), the tree of nodes (`adaptahop`, with
//! `significance`), structures (`tree`), the result (`result`). Unbinding is separate (`unbind`, with its options in
//! `unbinding`), and uses `binding` for each structure.

mod adaptahop;
mod binding;
mod nested;
mod parameters;
mod result;
mod saddles;
mod significance;
mod tree;
mod unbind;
mod unbinding;

pub use result::{Subhalo, Subhalos};
pub use tree::SubhaloSelection;
pub use unbind::{Bound, BoundStructure};
pub use unbinding::Unbinding;

use crate::bvh::Bvh;
use crate::cancel::{check_at, guarded};
use crate::cluster::hop::boundaries::descending_key;
use crate::cluster::hop::density::density_options;
use crate::cluster::{DensityKernel, Hop, HopChains, KernelDensity};
use crate::error::{Error, Result};
use crate::geometry::{Boundary, Bounded, BoxSize, Scalar, Space};
use crate::memory::filled;
use crate::parallel::{map, sort};
use crate::phases::mark;
use adaptahop::{Field, join_tree, stepped_tree};
use saddles::{ChainField, saddles};
use significance::{Criteria, FieldParticle};

/// Points per parallel task.
const TASK: usize = 1 << 14;

/// The algorithm that finds the tree of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum AdaptaHopAlgorithm {
    /// Visits the densities of saddles in descending order. If several components that count merge at a saddle, they
    /// become the children of a node. A component with children counts from then on. Each component that counts above
    /// the threshold is a halo.
    #[default]
    Exact,
    /// The published algorithm: a threshold rises in steps from `density_threshold`. Each step is a factor of
    /// `1 + fudge / sqrt(N)` with N the number of particles of the largest chain. If more than one component of a node
    /// counts above the threshold, these are its children, with the threshold as their saddle. So saddles are
    /// approximate. The first nodes are at least two, so a halo that is alone in its box is split into its subhalos.
    Stepped,
}

/// A finder of halos and subhalos based on density: set the options, then call [`AdaptaHop::run`].
///
/// 1. Each particle gets a density ([`KernelDensity`], with the kernel [`DensityKernel::Gather`]). It equals that of
///    the published program, whose neighbours exclude the particle itself. The width h is half the distance to the
///    `n_density`-th other particle, and the particle adds its own mass times W(0, h).
/// 2. Particles denser than `density_threshold` hop to the densest of themselves and their `n_hop` nearest neighbours.
///    Among equal densities the lowest index counts as the densest. Particles that reach the same peak form a chain.
/// 3. A pair of a particle `p` in one chain and `q` in another connects them if `q` is among the `n_hop` nearest
///    neighbours of `p`. The pass from the first chain to the second is the maximum of `min(density(p), density(q))`
///    over these pairs. If there are passes in both directions, the smaller density is the saddle of the two chains.
/// 4. Chains joined by saddles above a density form a component above it, with the particles that are denser. A
///    component *counts* if all of these hold:
///    - It has N >= `min_members` particles.
///    - Its mean density is more than `1 + fudge / sqrt(N)` times the density. It suffices if this holds for one of
///      its chains, with the mean and the number of that chain's particles.
///    - Its maximum density is at least `alpha` times its mean density.
///    - The root mean square distance from its centre of mass is at least `fudge_epsilon` mean separations.
/// 5. Components that count form a tree ([`AdaptaHopAlgorithm`]). A node's main child ([`SubhaloSelection`]) is the
///    same structure as the node, seen at a higher density; its other children are subhalos.
/// 6. A particle belongs to the smallest structure of its chain that extends down to its density.
///
/// Results do not depend on the number of threads. They depend on the order of the points only if densities are tied.
/// Saddles of equal density are ordered by the densities of their peaks. A subhalo includes all particles that are
/// denser than its saddle, bound or not; `Subhalos::unbind` removes the unbound ones.
///
/// The corresponding terms of other programs:
///
/// | here | catalogue column | Rockstar | AHF | AdaptaHOP |
/// |---|---|---|---|---|
/// | halo, `level` 1 | `halo_parent = -1` | `pid = -1` | `hostHalo = 0` | `level = 1` |
/// | subhalo, `level` > 1 | `halo_parent >= 0` | `pid >= 0` | `hostHalo > 0` | `level > 1` |
/// | [`Subhalo::parent`] | `halo_parent`, a label | `pid` is the smallest halo of larger mass around it, `upid` the largest | `hostHalo` | `hosthalo` of the next level up |
/// | [`Subhalo::host`] | `halo_host`, a label | `upid` | the last `hostHalo` on the way up | `hosthalo` |
/// | [`Subhalo::n_children`] | `halo_n_children` | | `numSubStruct` counts all levels | children by `nextsub` |
/// | [`Subhalo::peak_density`] | `halo_peak_density` | | | `rho_max` |
/// | [`Subhalo::saddle`] | `halo_saddle_density` | | the isodensity level that splits grids | `rho_saddle` |
/// | [`Subhalo::mass`] | `halo_mass` | `Mvir`, of bound particles | `Mhalo`, of bound particles with subhalos | `m` is without subhalos: that of [`Subhalos::structures`] |
/// | `BoundStructure::v_max` | `halo_bound_vmax` | `vmax` | `Vmax` | |
/// | `BoundStructure::v_max_radius` | `halo_bound_rvmax` | `rvmax` | `Rmax` | |
///
/// ```
/// use ropewalk::AdaptaHop;
///
/// // A wide clump with a narrow one in it: rings with increasing separation.
/// let ring = |i: u32, width: f64, x: f64| {
///     let (r, turn) = (width * f64::from(i).powf(0.8), 2.4 * f64::from(i));
///     [x + r * turn.cos(), r * turn.sin()]
/// };
/// let points: Vec<[f64; 2]> = (0..2000).map(|i| ring(i, 0.1, 0.0)).chain((0..100).map(|i| ring(i, 0.02, 12.0))).collect();
/// let found = AdaptaHop::new().density_threshold(0.1).run(&points)?;
/// assert_eq!((found.len(), found.halos().len()), (2, 1));
/// let subhalo = found.rows()[1];
/// assert_eq!((subhalo.parent, subhalo.level, subhalo.peak), (Some(0), 2, 2000));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AdaptaHop {
    density: KernelDensity,
    n_hop: usize,
    density_threshold: f64,
    fudge: f64,
    fudge_epsilon: f64,
    alpha: f64,
    min_members: usize,
    algorithm: AdaptaHopAlgorithm,
    selection: SubhaloSelection,
}

impl Default for AdaptaHop {
    fn default() -> Self {
        Self {
            density: KernelDensity::new().n_density(20).kernel(DensityKernel::Gather),
            n_hop: 20,
            density_threshold: 80.0,
            fudge: 4.0,
            fudge_epsilon: 0.05,
            alpha: 1.0,
            min_members: 20,
            algorithm: AdaptaHopAlgorithm::Exact,
            selection: SubhaloSelection::Mass,
        }
    }
}

impl AdaptaHop {
    /// Creates the default options: 20 neighbours for densities and hops, and a density threshold of 80 times the mean
    /// density. `fudge` is 4, `fudge_epsilon` 0.05, `alpha` 1, and `min_members` 20. The algorithm is exact, the
    /// selection by mass, the space open.
    pub fn new() -> Self {
        Self::default()
    }

    density_options!();

    /// Sets the number of nearest neighbours that determine a density, the particle itself not included (`nvoisins`).
    /// Default: 20.
    #[must_use]
    pub fn n_density(mut self, n_density: usize) -> Self {
        self.density = self.density.n_density(n_density);
        self
    }

    /// Sets the number of nearest neighbours for hops and saddles (`nhop`), at least 1. The particle itself is not
    /// included, unlike in [`Hop::n_hop`]. Default: 20.
    #[must_use]
    pub fn n_hop(mut self, n_hop: usize) -> Self {
        self.n_hop = n_hop;
        self
    }

    /// Sets the density threshold (`rho_t`), not negative and in the unit of the densities: particles that are not
    /// denser belong to no halo. Default: 80.
    #[must_use]
    pub fn density_threshold(mut self, density: impl Into<f64>) -> Self {
        self.density_threshold = density.into();
        self
    }

    /// Sets the minimum significance of a component, in standard deviations of its number of particles (`fudge`);
    /// finite and not negative. Default: 4.
    #[must_use]
    pub fn fudge(mut self, fudge: impl Into<f64>) -> Self {
        self.fudge = fudge.into();
        self
    }

    /// Sets the minimum root mean square radius of a component (`fudgepsilon`), in mean separations `(volume /
    /// particles)^(1/3)`; in two dimensions, the square root. Default: 0.05.
    ///
    /// A component with a smaller radius above its saddle is not a subhalo, however significant it is. A density
    /// profile of r^-2 out to R has a radius of R / sqrt(3). The default of 0.05 is about the softening of a
    /// simulation. With refined grids, 0.001 and less is usual.
    #[must_use]
    pub fn fudge_epsilon(mut self, fudge_epsilon: impl Into<f64>) -> Self {
        self.fudge_epsilon = fudge_epsilon.into();
        self
    }

    /// Sets the minimum ratio of a component's maximum density to its mean density (`alphap`); finite and not negative.
    /// Default: 1; values up to 1 have no effect.
    #[must_use]
    pub fn alpha(mut self, alpha: impl Into<f64>) -> Self {
        self.alpha = alpha.into();
        self
    }

    /// Sets the minimum number of particles of a component (`nmembthresh`). Default: 20.
    #[must_use]
    pub fn min_members(mut self, members: usize) -> Self {
        self.min_members = members;
        self
    }

    /// Sets the algorithm that builds the tree from which halos and subhalos are derived (step 5 of [`AdaptaHop`]).
    /// Default: [`AdaptaHopAlgorithm::Exact`].
    #[must_use]
    pub fn algorithm(mut self, algorithm: AdaptaHopAlgorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Sets the criterion that selects the main child of each node of the tree (step 5 of [`AdaptaHop`]): the child
    /// that is the same structure as the node. Default: [`SubhaloSelection::Mass`].
    #[must_use]
    pub fn selection(mut self, selection: SubhaloSelection) -> Self {
        self.selection = selection;
        self
    }

    /// Finds the halos and subhalos of `points`.
    ///
    /// # Cost
    /// Memory beside tree, densities and result, by the sizes of the arrays: 48 bytes per particle above the threshold
    /// (112 with the stepped algorithm). Each other chain among the neighbours of a particle takes 16 more.
    ///
    /// # Errors
    /// - All errors of [`KernelDensity::run`].
    /// - An `n_hop` of 0, or not less than the number of points.
    /// - A threshold that is NaN or negative.
    /// - A fudge, fudge epsilon or alpha that is negative or not finite.
    /// - With the stepped algorithm, a threshold of 0 or a fudge of less than 0.001, for which the steps would not
    ///   end.
    /// - More than 2^31 - 1 structures.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<Subhalos> {
        guarded(|| self.run_on(&Bvh::build_in(points, Space::periodic(self.density.size.clone())?)?))
    }

    /// Finds the halos and subhalos of the points in an existing tree. The space is that of the tree, open or
    /// periodic.
    ///
    /// # Errors
    /// As for [`AdaptaHop::run`].
    pub fn run_on<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> Result<Subhalos> {
        guarded(|| {
            self.check()?;
            if self.n_hop == 0 {
                return Err(Error::parameter_must("n_hop", 0.0, "at least 1"));
            }
            if !tree.is_empty() && self.n_hop >= tree.len() {
                let must = "less than the number of points";
                return Err(Error::parameter_must("n_hop", self.n_hop as f64, must));
            }
            // Only chains are used from HOP, because its boundaries are defined differently.
            let hop = Hop::new(0.0).density(self.density.clone()).n_hop(self.n_hop.saturating_add(1)).n_merge(0);
            let chains = hop.chains_on(tree)?;
            let threshold = self.density_threshold;
            let (chain, density) = (chains.chain(), chains.density());
            let saddles = saddles(tree, &ChainField { chain, density, threshold, n_hop: self.n_hop });
            mark("saddles");
            // Peaks are in descending order of density.
            let kept = chains.peaks().partition_point(|peak| peak.density > threshold);
            let places = self.places(tree, &chains, kept);
            let particles = self.particles(tree, &chains, &places);
            let peaks: Vec<f64> = chains.peaks()[..kept].iter().map(|peak| peak.density).collect();
            let offset = |from: u32, to: u32| padded(tree.space().offset(&places[from as usize], &places[to as usize]));
            let criteria = Criteria {
                fudge: self.fudge,
                alpha: self.alpha,
                min_members: self.min_members as f64,
                min_radius: self.fudge_epsilon
                    * (self.density.volume_of(tree) / tree.len() as f64).powf(1.0 / D as f64),
            };
            let field =
                Field { particles: &particles, saddles: &saddles, peaks: &peaks, offset: &offset, threshold, criteria };
            let nodes = match self.algorithm {
                AdaptaHopAlgorithm::Exact => join_tree(&field),
                AdaptaHopAlgorithm::Stepped => stepped_tree(&field),
            };
            mark("nodes");
            let structures = nodes.structures(self.selection);
            let peaks: Vec<(u32, f64)> = chains.peaks()[..kept].iter().map(|peak| (peak.index, peak.density)).collect();
            let found =
                Subhalos::new(&structures, &particles, &peaks, chains.into_density(), Boundary::new(tree.space()));
            mark("structures");
            found
        })
    }

    /// The positions of the first `kept` peaks.
    fn places<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>, chains: &HopChains, kept: usize) -> Vec<[f64; D]> {
        let mut places = filled(kept, [0.0; D]);
        let peaks = chains.peaks();
        for (at, &index) in tree.order().iter().enumerate() {
            check_at(at);
            let chain = chains.chain()[index as usize] as usize;
            if chain < kept && peaks[chain].index == index {
                places[chain] = tree.item(at).lo.map(Into::into);
            }
        }
        places
    }

    /// The particles above the threshold in descending order of density, ties by index.
    fn particles<S: Scalar, const D: usize>(
        &self,
        tree: &Bvh<S, D>,
        chains: &HopChains,
        places: &[[f64; D]],
    ) -> Vec<FieldParticle> {
        let (order, density) = (tree.order(), chains.density());
        let mut ranks: Vec<(u64, u32, u32)> = (0..order.len())
            .inspect(|&at| check_at(at))
            .map(|at| (order[at], at as u32))
            .filter(|&(index, _)| density[index as usize] > self.density_threshold)
            .map(|(index, at)| (descending_key(density[index as usize]), index, at))
            .collect();
        sort(&mut ranks);
        let particle = |rank: usize| {
            let (_, index, at) = ranks[rank];
            let chain = chains.chain()[index as usize];
            let place = tree.item(at as usize).lo.map(Into::into);
            FieldParticle {
                density: density[index as usize],
                mass: self.density.mass_of(index as usize),
                offset: padded(tree.space().offset(&places[chain as usize], &place)),
                chain,
                index,
            }
        };
        map(ranks.len(), TASK, &particle)
    }

    /// Returns an error if an option is out of range.
    #[doc(hidden)]
    pub fn check(&self) -> Result<()> {
        let threshold = self.density_threshold;
        let is_stepped = self.algorithm == AdaptaHopAlgorithm::Stepped;
        let is_finite = |value: f64| (0.0..f64::INFINITY).contains(&value);
        let checks = [
            ("density_threshold", threshold, threshold >= 0.0, "non-negative"),
            (
                "density_threshold",
                threshold,
                !is_stepped || threshold >= f64::MIN_POSITIVE,
                "positive for the stepped algorithm",
            ),
            ("fudge", self.fudge, is_finite(self.fudge), "finite and not negative"),
            ("fudge", self.fudge, !is_stepped || self.fudge >= 0.001, "at least 0.001 for the stepped algorithm"),
            ("fudge_epsilon", self.fudge_epsilon, is_finite(self.fudge_epsilon), "finite and not negative"),
            ("alpha", self.alpha, is_finite(self.alpha), "finite and not negative"),
        ];
        match checks.into_iter().find(|&(_, _, holds, _)| !holds) {
            Some((name, value, _, must)) => Err(Error::parameter_must(name, value, must)),
            None => Ok(()),
        }
    }
}

/// A vector with zeros for missing dimensions.
fn padded<const D: usize>(offset: [f64; D]) -> [f64; 3] {
    std::array::from_fn(|k| offset.get(k).copied().unwrap_or(0.0))
}
