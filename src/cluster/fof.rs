//! Friends-of-friends halos.
//!
//! In: points and a linking length. Out: [`Halos`], the groups with their members, largest first.
//! Two points within the linking length are friends; halos are the connected components.
//! Cost: about that of the tree; memory as in [`Fof::run`]. Source: Davis et al. 1985 (the definition); Prokopenko et
//! al. 2023, FDBSCAN (tree and union-find, with cliques of the tree). `reference` has two other algorithms to compare with.

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
}

impl Fof {
    /// Friends are at most `linking_length` apart, in the units of the points. In cosmology it is often 0.2 (or 0.168)
    /// mean separations, `(volume / n).cbrt()`.
    pub fn new(linking_length: impl Into<f64>) -> Self {
        Self { linking_length: linking_length.into(), min_members: 2, size: BoxSize::default() }
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

    #[doc(hidden)]
    pub fn box_size(&self) -> &BoxSize {
        &self.size
    }

    /// The space of the options.
    ///
    /// Errors: a periodic box that is not positive; a linking length that is NaN, negative, infinite or more than half of the box.
    pub(crate) fn space<const D: usize>(&self) -> Result<Space<D>> {
        let space = Space::<D>::periodic(self.size.clone())?;
        space.check_length("linking_length", self.linking_length)?;
        Ok(space)
    }

    /// Finds the halos of `points`.
    ///
    /// Exact, and the same for any number of threads. Beside the result it takes some 50 bytes a point for three-dimensional `f32`, at its
    /// peak, while codes are sorted. Half traversal of the tree and a concurrent union-find; what is known to be in one halo is not compared
    /// again. Cost: about that of building the tree; hardly grows with the density of halos. 1 to 10 dimensions, points and boxes.
    ///
    /// Errors: a linking length that is NaN, negative or infinite; a periodic box that is not positive or smaller than two
    /// linking lengths; points that [`Bvh::build`] refuses; more than 2^31 - 1 groups, for
    /// labels are 32-bit numbers.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<Halos> {
        guarded(|| self.run_on(&Bvh::build_in(points, self.space()?)?))
    }

    /// Finds the halos in a tree that is already built, open or periodic as the tree is.
    ///
    /// Errors: as [`Fof::run`], for the linking length.
    pub fn run_on<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> Result<Halos> {
        guarded(|| {
            tree.space().check_length("linking_length", self.linking_length)?;
            self.halos(components(tree, self.linking_length), tree.order(), tree.space())
        })
    }

    /// The components of a forest over positions as halos; `order` gives each position's index.
    pub(crate) fn halos<const D: usize>(&self, forest: UnionFind, order: &[u32], space: &Space<D>) -> Result<Halos> {
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
