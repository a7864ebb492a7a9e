//! Friends-of-friends halos.
//!
//! In: points and a linking length. Out: [`Halos`], the groups with their members, largest first.
//! Two points within the linking length are friends; halos are the connected components.
//! Cost: about that of the tree; memory as in [`Fof::run`]. Source: Davis et al. 1985 (the definition); Prokopenko et
//! al. 2023, FDBSCAN (tree and union-find). Two other algorithms stand beside it for comparison: `reference::fof_bins`, `reference::fof_all_pairs`.

use crate::bvh::Bvh;
use crate::cancel::guarded;
use crate::cluster::Halos;
use crate::cluster::connect::{Participants, connect};
use crate::cluster::relabel::IsCore;
use crate::cluster::union_find::UnionFind;
use crate::error::Result;
use crate::geometry::{Boundary, Bounded, BoxSize, Scalar, Space};
use crate::phases::mark;
use crate::precompiled::precompiled;
#[cfg(feature = "reference")]
use crate::reference::{fof_all_pairs, fof_bins, points::PointsSoA};

/// How to find the halos. All give the same halos, exactly. [`FofAlgorithm::Tree`] is the one to use; the others are there to
/// be compared with: on 262,144 particles of a cosmological simulation bins take 5 times as long, brute force 300 times
/// (benches/README.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum FofAlgorithm {
    /// The fastest one: [`FofAlgorithm::Tree`].
    #[default]
    Auto,
    /// Half traversal of the tree and a concurrent union-find; what is known to be in one halo is not compared again.
    /// Source: Prokopenko et al. 2023 (FDBSCAN), with cliques of the tree.
    ///
    /// Cost: about that of building the tree; hardly grows with the density of halos. 1 to 10 dimensions, points and boxes.
    Tree,
    /// Data-parallel connected components over bins as wide as the linking length: each point looks at nine ranges of three
    /// contiguous bins, hooks its component to a smaller one that it meets there, and pointers are jumped until all
    /// components are stars; this is repeated until nothing is left to hook. Source: Sewell et al. 2015 (the halo finder of
    /// PISTON and VTK-m).
    ///
    /// Cost: O(n log n) to sort and look up, then up to one distance for each pair of points in neighbouring bins and round;
    /// quadratic in the number of points that share a bin. An axis has at most 2^21 bins: beyond that they are wider than the
    /// linking length. Memory: for three-dimensional `f32` some 100 bytes a point at its peak, the result included, in
    /// such a simulation; 260 where all points have bins of their own and all of these have 26 occupied neighbours.
    ///
    /// Errors: more than 3 dimensions; primitives that have an extent (types whose [`Bounded::IS_POINT`] is false).
    #[cfg(feature = "reference")]
    Bins,
    /// Every point against every other, and a concurrent union-find: the definition (Davis et al. 1985), eight pairs at a
    /// time, and the baseline that halo finders on GPUs are compared with.
    ///
    /// Cost: n (n - 1) / 2 distances. Memory: for three-dimensional `f32` some 30 bytes a point, the result included. 1 to 10
    /// dimensions, points and boxes.
    #[cfg(feature = "reference")]
    BruteForce,
}

/// A friends-of-friends finder: options, then [`Fof::run`].
///
/// ```
/// use ropewalk::Fof;
///
/// let points = [[0.0f32, 0.0, 0.0], [9.9, 0.0, 0.0], [5.0, 5.0, 5.0], [5.0, 5.0, 5.1]];
/// let halos = Fof::new(0.2).periodic(10.0).run(&points)?;
/// assert_eq!(halos.members(0), [0, 1]); // friends across the boundary
/// assert_eq!(halos.members(1), [2, 3]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fof {
    pub(crate) linking_length: f64,
    pub(crate) min_members: usize,
    pub(crate) size: BoxSize,
    algorithm: FofAlgorithm,
}

impl Fof {
    /// Friends are at most `linking_length` apart, in the units of the points. In cosmology it is often 0.2 (or 0.168)
    /// mean separations, `(volume / n).cbrt()`.
    pub fn new(linking_length: impl Into<f64>) -> Self {
        Self {
            linking_length: linking_length.into(),
            min_members: 2,
            size: BoxSize::default(),
            algorithm: FofAlgorithm::Auto,
        }
    }

    /// Halos have at least this many members; 2 unless said otherwise, which is also the least. Labels do not depend on it.
    #[must_use]
    pub fn min_members(mut self, members: usize) -> Self {
        self.min_members = members.max(2);
        self
    }

    /// A periodic box: one side, or one per axis; `None` for open space.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = size.into();
        self
    }

    #[cfg(feature = "io")]
    pub(crate) fn box_size(&self) -> &BoxSize {
        &self.size
    }

    /// How to find the halos.
    ///
    /// ```
    /// use ropewalk::{Fof, FofAlgorithm};
    ///
    /// let points = [[0.0f32, 0.0], [0.5, 0.0], [9.0, 9.0]];
    /// let halos = Fof::new(0.5).run(&points)?;
    /// assert_eq!(Fof::new(0.5).algorithm(FofAlgorithm::Bins).run(&points)?, halos);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    #[must_use]
    pub fn algorithm(mut self, algorithm: FofAlgorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Finds the halos of `points`.
    ///
    /// Exact, and the same for any algorithm and number of threads. Beside the result it takes some 50 bytes a point for
    /// three-dimensional `f32`, at its peak, while codes are sorted; other algorithms than the tree's as said at
    /// [`FofAlgorithm`].
    ///
    /// Errors: a linking length that is NaN, negative or infinite; a periodic box that is not positive or smaller than two
    /// linking lengths; points that [`Bvh::build`] refuses; what [`FofAlgorithm::Bins`] refuses; more than 2^31 - 1 groups, for
    /// labels are 32-bit numbers.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<Halos> {
        guarded(|| {
            let space = Space::<D>::periodic(self.size.clone())?;
            space.check_length("linking_length", self.linking_length)?;
            #[cfg(feature = "reference")]
            if !matches!(self.algorithm, FofAlgorithm::Auto | FofAlgorithm::Tree) {
                return self.run_on_row(&PointsSoA::of(points, &space)?);
            }
            self.run_on(&Bvh::build_in(points, space)?)
        })
    }

    /// Finds the halos in a tree that is already built, open or periodic as the tree is. Other algorithms than the tree's
    /// work on the points that it stores, in its order, and make no other use of it.
    ///
    /// Errors: as [`Fof::run`], for the linking length and the algorithm.
    pub fn run_on<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> Result<Halos> {
        guarded(|| {
            tree.space().check_length("linking_length", self.linking_length)?;
            #[cfg(feature = "reference")]
            if !matches!(self.algorithm, FofAlgorithm::Auto | FofAlgorithm::Tree) {
                return self.run_on_row(&PointsSoA::stored(tree));
            }
            self.halos(components(tree, self.linking_length), tree.order(), tree.space())
        })
    }

    #[cfg(feature = "reference")]
    fn run_on_row<S: Scalar, const D: usize>(&self, row: &PointsSoA<'_, S, D>) -> Result<Halos> {
        if self.algorithm == FofAlgorithm::Bins {
            let (forest, order) = fof_bins::connect(row, self.linking_length)?;
            return self.halos(forest, &order, &row.space);
        }
        self.halos(fof_all_pairs::connect(row, self.linking_length), &row.order, &row.space)
    }

    /// The components of a forest over positions as halos; `order` gives each position's index.
    fn halos<const D: usize>(&self, forest: UnionFind, order: &[u32], space: &Space<D>) -> Result<Halos> {
        let (labels, sizes) = forest.relabel(order, IsCore::InPairs)?.into_labels_and_sizes(order);
        mark("labels");
        let halos = Halos::of_sizes(Boundary::of(space), labels, &sizes, self.min_members);
        mark("members");
        Ok(halos)
    }
}

precompiled! { pub(crate) fn components = friends(tree: same_ref &Bvh<S, D>, linking_length: keep f64) -> UnionFind }

fn friends<S: Scalar, const D: usize>(tree: &Bvh<S, D>, linking_length: f64) -> UnionFind {
    connect(tree, linking_length, Participants::All)
}
