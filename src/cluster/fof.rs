//! Friends-of-friends halos.
//!
//! In: points and a linking length. Out: [`Halos`], the groups with their members, largest first.
//! Two points within the linking length are friends; halos are the connected components.
//! Cost: about that of building the tree; memory as in [`Fof::run`]. Source: Davis et al. 1985 (the definition);
//! Prokopenko et al. 2023, FDBSCAN (tree and union-find, with cliques of the tree). `reference` has two other
//! algorithms for comparison.

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

/// A friends-of-friends finder: set the options, then call [`Fof::run`].
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
    /// Creates a finder in which friends are at most `linking_length` apart, in the units of the points. In cosmology
    /// this length is often 0.2 (or 0.168) mean separations, `(volume / n).cbrt()`.
    pub fn new(linking_length: impl Into<f64>) -> Self {
        Self { linking_length: linking_length.into(), min_members: 2, size: BoxSize::default() }
    }

    /// Sets the minimum number of members of a halo. Default: 2, which is also the minimum. Labels do not depend on it.
    #[must_use]
    pub fn min_members(mut self, members: usize) -> Self {
        self.min_members = members.max(2);
        self
    }

    /// Sets the side of the periodic box, or one side per axis, in the unit of the points; `None` for open space.
    /// Default: open space.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = size.into();
        self
    }

    #[doc(hidden)]
    pub fn box_size(&self) -> &BoxSize {
        &self.size
    }

    /// The space that the options describe.
    ///
    /// # Errors
    /// A periodic box that is not positive; a linking length that is NaN, negative, infinite or more than half of the
    /// box.
    pub(crate) fn space<const D: usize>(&self) -> Result<Space<D>> {
        let space = Space::<D>::periodic(self.size.clone())?;
        space.check_length("linking_length", self.linking_length)?;
        Ok(space)
    }

    /// Finds the halos of `points`.
    ///
    /// The result is exact, and the same for any number of threads. Points and boxes in 1 to 10 dimensions are
    /// supported. The finder combines a half traversal of the tree with a concurrent union-find, and skips pairs that
    /// are already known to be in one halo.
    ///
    /// # Cost
    /// About the time of building the tree; it hardly grows with the density of halos. In addition to the result, the
    /// peak memory is about 50 bytes per point for three-dimensional `f32`, reached while the Morton codes are sorted.
    ///
    /// # Errors
    /// - A linking length that is NaN, negative or infinite.
    /// - A periodic box that is not positive or smaller than two linking lengths.
    /// - Points that [`Bvh::build`] rejects.
    /// - More than 2^31 - 1 groups, because labels are 32-bit numbers.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<Halos> {
        guarded(|| self.run_on(&Bvh::build_in(points, self.space()?)?))
    }

    /// Finds the halos of the points in an existing tree. The space is that of the tree, open or periodic.
    ///
    /// # Errors
    /// As for [`Fof::run`], for the linking length.
    pub fn run_on<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> Result<Halos> {
        guarded(|| {
            tree.space().check_length("linking_length", self.linking_length)?;
            self.halos(components(tree, self.linking_length), tree.order(), tree.space())
        })
    }

    /// Converts the components of a forest over positions to halos; `order` gives the index of each position.
    pub(crate) fn halos<const D: usize>(&self, forest: UnionFind, order: &[u32], space: &Space<D>) -> Result<Halos> {
        let (labels, sizes) = forest.relabel(order, IsCore::NotSingle)?.into_labels_and_sizes(order);
        mark("labels");
        let halos = Halos::with_sizes(Boundary::new(space), labels, &sizes, self.min_members);
        mark("members");
        Ok(halos)
    }
}

precompiled! { pub(crate) fn components = friends(tree: same_ref &Bvh<S, D>, linking_length: keep f64) -> UnionFind }

fn friends<S: Scalar, const D: usize>(tree: &Bvh<S, D>, linking_length: f64) -> UnionFind {
    connect(tree, linking_length, Participants::All)
}
