//! Halos and the subhalos in them, by the tree of peaks and saddles of the density: AdaptaHOP.
//!
//! In: points. Out: structures with what each is in. Source: Aubert, Pichon and Colombi 2004, appendix B; Tweed et al. 2009.
//!
//! Flow: densities and chains of [`Hop`], `saddles`, then `exact` or `stepped` (with `significance`) for the tree of nodes, `tree` for
//! the structures, `result`. Then `unbind` (options: `unbinding`), with `binding` for each.

mod binding;
mod exact;
mod nested;
mod parameters;
mod result;
mod saddles;
mod significance;
mod stepped;
mod tree;
mod unbind;
mod unbinding;

pub use result::{Subhalo, Subhalos};
pub use tree::SubhaloSelection;
pub use unbind::{Bound, BoundStructure};
pub use unbinding::Unbinding;

use crate::bvh::Bvh;
use crate::cancel::check_at;
use crate::cluster::hop::boundaries::falling;
use crate::cluster::hop::density::density_options;
use crate::cluster::{DensityKernel, Hop, HopChains, KernelDensity};
use crate::error::{Error, Result};
use crate::geometry::{Boundary, Bounded, BoxSize, Scalar, Space};
use crate::memory::filled;
use crate::parallel::{map, sort};
use crate::phases::mark;
use exact::{Field, join_tree};
use saddles::{Chained, saddles};
use significance::{Kept, Tests};
use stepped::stepped_tree;

/// Points per parallel task.
const TASK: usize = 1 << 14;

/// How the tree of nodes is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum AdaptaHopAlgorithm {
    /// At each density of saddles, the largest first: where components meet of which several count above it, these are the children of a
    /// node. A component with children counts from then on. Each component that counts above the threshold is a halo.
    #[default]
    Exact,
    /// As published: a threshold rises from `density_threshold` by a factor of `1 + fudge / sqrt(N)` a step, N the particles of the
    /// largest chain. Where more than one of a node's components count above it, they are its children, and their saddle is the
    /// threshold. So saddles are approximate, and a halo alone in its box falls apart into its subhalos, for a first node is made of at
    /// least two.
    Stepped,
}

/// A finder of halos and subhalos by density: options, then [`AdaptaHop::run`].
///
/// 1. Each particle has a density ([`KernelDensity`], the kernel [`DensityKernel::Gather`]). It is that of the published program,
///    whose neighbours exclude the particle itself: h is half the distance to the `n_density`-th of the others, and the particle adds its
///    own mass times W(0, h).
/// 2. Particles denser than `density_threshold` hop to the densest of themselves and their `n_hop` nearest others; of equal densities
///    that of the lowest index is the densest. Those that come to one peak are a chain.
/// 3. The pass from one chain to another is the largest `min(density(p), density(q))` of a `p` in the one and a `q` in the other that
///    is among the `n_hop` nearest others of `p`. Where there are passes in both directions, the smaller density is the saddle of the
///    two.
/// 4. Chains joined by saddles of more than a density are a component above it; its particles are those that are denser. It *counts*
///    if it has N >= `min_members` particles; their mean density, or for one of its chains that of the N particles of this chain, is more
///    than `1 + fudge / sqrt(N)` times the density; its largest density is at least `alpha` times its mean; and the root mean square
///    distance from its centre of mass is at least `fudge_epsilon` mean separations.
/// 5. Components that count make a tree ([`AdaptaHopAlgorithm`]). A node's main child ([`SubhaloSelection`]) is the node itself, seen
///    at a higher density; its other children are subhalos in it.
/// 6. A particle belongs to the smallest of the structures of its chain that reaches down to its density.
///
/// Results depend neither on the order of the points nor on the number of threads, but for ties: of particles by their densities, of
/// saddles by the densest of their peaks. Of a subhalo's particles those belong to it that are denser than its saddle, bound or not:
/// `Subhalos::unbind` removes the others.
///
/// Words of others, which ours stand for:
///
/// | here | column of a catalogue | Rockstar | AHF | AdaptaHOP |
/// |---|---|---|---|---|
/// | halo, `level` 1 | `halo_parent = -1` | `pid = -1` | `hostHalo = 0` | `level = 1` |
/// | subhalo, `level` > 1 | `halo_parent >= 0` | `pid >= 0` | `hostHalo > 0` | `level > 1` |
/// | [`Subhalo::parent`] | `halo_parent`, a label | `pid` is the least halo of larger mass around it, `upid` the largest | `hostHalo` | `hosthalo` of the next level up |
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
/// // A wide clump with a narrow one in it: rings with more and more distance.
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
    /// 20 neighbours for densities and hops, halos out to 80 times the mean density, a fudge of 4, a fudge epsilon of 0.05, an alpha of
    /// 1, structures of at least 20 particles; without steps, selected by mass, in open space.
    pub fn new() -> Self {
        Self::default()
    }

    density_options!();

    /// So many nearest others make a density (`nvoisins`).
    #[must_use]
    pub fn n_density(mut self, n_density: usize) -> Self {
        self.density = self.density.n_density(n_density);
        self
    }

    /// Hops and saddles are among so many nearest others (`nhop`). [`Hop::n_hop`] counts the particle itself, this does not.
    #[must_use]
    pub fn n_hop(mut self, n_hop: usize) -> Self {
        self.n_hop = n_hop;
        self
    }

    /// Particles that are not denser have no halo (`rho_t`).
    #[must_use]
    pub fn density_threshold(mut self, density: impl Into<f64>) -> Self {
        self.density_threshold = density.into();
        self
    }

    /// How many standard deviations of a count of particles a component stands out (`fudge`).
    #[must_use]
    pub fn fudge(mut self, fudge: impl Into<f64>) -> Self {
        self.fudge = fudge.into();
        self
    }

    /// The least root mean square radius of a component, in mean separations `(volume / particles)^(1/3)`, in the plane the square root
    /// (`fudgepsilon`).
    ///
    /// A component that is narrower above its saddle is no subhalo, however much it stands out; a density of r^-2 out to R has a radius
    /// of R / sqrt(3). The default of 0.05 is about the softening of a simulation; where grids are refined, 0.001 and less is usual.
    #[must_use]
    pub fn fudge_epsilon(mut self, fudge_epsilon: impl Into<f64>) -> Self {
        self.fudge_epsilon = fudge_epsilon.into();
        self
    }

    /// The least ratio of a component's largest density to its mean (`alphap`); up to 1 it is no condition.
    #[must_use]
    pub fn alpha(mut self, alpha: impl Into<f64>) -> Self {
        self.alpha = alpha.into();
        self
    }

    /// The least number of particles of a component (`nmembthresh`).
    #[must_use]
    pub fn min_members(mut self, members: usize) -> Self {
        self.min_members = members;
        self
    }

    /// With steps of the threshold, or without.
    #[must_use]
    pub fn algorithm(mut self, algorithm: AdaptaHopAlgorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Which child has the identity of its parent.
    #[must_use]
    pub fn selection(mut self, selection: SubhaloSelection) -> Self {
        self.selection = selection;
        self
    }

    /// Finds the halos and subhalos of `points`.
    ///
    /// By the sizes of its arrays, beside tree, densities and result it takes 48 bytes a particle above the threshold, with steps 64
    /// more, and 16 for each chain that each particle sees.
    ///
    /// Errors: what [`KernelDensity::run`] refuses; an `n_hop` of 0 or not less than the number of points; a threshold that is NaN or
    /// negative; a fudge, fudge epsilon or alpha that is negative or not finite; with steps a threshold of 0 or a fudge of less than
    /// 0.001, which would not end; more than 2^31 - 1 structures.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<Subhalos> {
        self.run_on(&Bvh::build_in(points, Space::periodic(self.density.size.clone())?)?)
    }

    /// Finds them in a tree that is already built, open or periodic as the tree is.
    ///
    /// Errors: as [`AdaptaHop::run`].
    pub fn run_on<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> Result<Subhalos> {
        self.check()?;
        if self.n_hop == 0 {
            return Err(Error::parameter_must("n_hop", 0.0, "at least 1"));
        }
        if !tree.is_empty() && self.n_hop >= tree.len() {
            let must = "less than the number of points";
            return Err(Error::parameter_must("n_hop", self.n_hop as f64, must));
        }
        // Chains alone: their boundaries are another definition's.
        let hop = Hop::new(0.0).density(self.density.clone()).n_hop(self.n_hop.saturating_add(1)).n_merge(0);
        let chains = hop.chains_on(tree)?;
        let threshold = self.density_threshold;
        let (chain, density) = (chains.chain(), chains.density());
        let saddles = saddles(tree, &Chained { chain, density, threshold, n_hop: self.n_hop });
        mark("saddles");
        // The densest peaks are first.
        let kept = chains.peaks().partition_point(|peak| peak.density > threshold);
        let places = self.places(tree, &chains, kept);
        let particles = self.particles(tree, &chains, &places);
        let peaks: Vec<f64> = chains.peaks()[..kept].iter().map(|peak| peak.density).collect();
        let offset = |from: u32, to: u32| padded(tree.space().offset(&places[from as usize], &places[to as usize]));
        let tests = Tests {
            fudge: self.fudge,
            alpha: self.alpha,
            min_members: self.min_members as f64,
            min_radius: self.fudge_epsilon * (self.density.volume_of(tree) / tree.len() as f64).powf(1.0 / D as f64),
        };
        let field =
            Field { particles: &particles, saddles: &saddles, peaks: &peaks, offset: &offset, threshold, tests };
        let nodes = match self.algorithm {
            AdaptaHopAlgorithm::Exact => join_tree(&field),
            AdaptaHopAlgorithm::Stepped => stepped_tree(&field),
        };
        mark("nodes");
        let structures = nodes.structures(self.selection);
        let peaks: Vec<(u32, f64)> = chains.peaks()[..kept].iter().map(|peak| (peak.index, peak.density)).collect();
        let found = Subhalos::new(&structures, &particles, &peaks, chains.into_density(), Boundary::of(tree.space()));
        mark("structures");
        found
    }

    /// Where the first `kept` peaks are.
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

    /// The particles above the threshold in falling order of their densities, ties by index.
    fn particles<S: Scalar, const D: usize>(
        &self,
        tree: &Bvh<S, D>,
        chains: &HopChains,
        places: &[[f64; D]],
    ) -> Vec<Kept> {
        let (order, density) = (tree.order(), chains.density());
        let mut ranks: Vec<(u64, u32, u32)> = (0..order.len())
            .inspect(|&at| check_at(at))
            .map(|at| (order[at], at as u32))
            .filter(|&(index, _)| density[index as usize] > self.density_threshold)
            .map(|(index, at)| (falling(density[index as usize]), index, at))
            .collect();
        sort(&mut ranks);
        let particle = |rank: usize| {
            let (_, index, at) = ranks[rank];
            let chain = chains.chain()[index as usize];
            let place = tree.item(at as usize).lo.map(Into::into);
            Kept {
                density: density[index as usize],
                mass: self.density.mass_of(index as usize),
                offset: padded(tree.space().offset(&places[chain as usize], &place)),
                chain,
                index,
            }
        };
        map(ranks.len(), TASK, &particle)
    }

    /// Refuses options that are out of range by themselves.
    #[doc(hidden)]
    pub fn check(&self) -> Result<()> {
        let threshold = self.density_threshold;
        let is_stepped = self.algorithm == AdaptaHopAlgorithm::Stepped;
        let is_finite = |value: f64| (0.0..f64::INFINITY).contains(&value);
        let checks = [
            ("density_threshold", threshold, threshold >= 0.0, "a number, not negative"),
            ("density_threshold", threshold, !is_stepped || threshold >= f64::MIN_POSITIVE, "positive, with steps"),
            ("fudge", self.fudge, is_finite(self.fudge), "finite and not negative"),
            ("fudge", self.fudge, !is_stepped || self.fudge >= 0.001, "at least 0.001, with steps"),
            ("fudge_epsilon", self.fudge_epsilon, is_finite(self.fudge_epsilon), "finite and not negative"),
            ("alpha", self.alpha, is_finite(self.alpha), "finite and not negative"),
        ];
        match checks.into_iter().find(|&(_, _, holds, _)| !holds) {
            Some((name, value, _, must)) => Err(Error::parameter_must(name, value, must)),
            None => Ok(()),
        }
    }
}

/// A vector with zeros for the axes that it has not.
fn padded<const D: usize>(offset: [f64; D]) -> [f64; 3] {
    std::array::from_fn(|k| offset.get(k).copied().unwrap_or(0.0))
}
