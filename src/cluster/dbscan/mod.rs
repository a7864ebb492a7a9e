//! DBSCAN: clusters of dense points, and noise.
//!
//! In: points, a radius `eps` and a minimum weight `min_samples`. Out: [`Labels`], equal to those of scikit-learn.
//! Three steps: core points (`core`), unions of core points (`connect`), border points (`border`). Neighbours are
//! never stored.
//! Cost: see [`DbscanAlgorithm`]. Memory: O(n), about 20 bytes per point beside the tree.
//! Source: Ester et al. 1996 (the definition); Prokopenko et al. 2023 (FDBSCAN and DenseBox on a BVH).

mod border;
pub(super) mod core;
mod predict;
#[cfg(feature = "distributed")]
pub(crate) mod across_ranks;

use crate::bvh::Bvh;
use crate::cancel::guarded;
use crate::cluster::connect::{Participants, connect, connect_pairs};
use crate::cluster::errors;
use crate::cluster::flags::Flags;
use crate::cluster::labels::Labels;
use crate::cluster::relabel::IsCore;
use crate::error::{Error, Result};
use crate::geometry::{Bounded, BoxSize, Scalar, Space};
use crate::phases::mark;
use crate::precompiled::precompiled;
use crate::search::radius_test::RadiusTest;

/// The algorithm that finds the clusters. All algorithms give the same labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum DbscanAlgorithm {
    /// The faster algorithm, [`DbscanAlgorithm::DenseBox`]: 0.98 to 10 times as fast as [`DbscanAlgorithm::Fdbscan`]
    /// when measured (benches/LOG.md).
    #[default]
    Auto,
    /// Counts the neighbours of each point until there are enough, then unites every pair of core points within `eps`.
    /// Cost: about one distance for each pair within `eps`.
    Fdbscan,
    /// Unites dense regions without computing distances. A node of the tree whose diagonal is at most `eps` is a
    /// clique; if it holds `min_samples` points, all of them are core. Points that are known to share a cluster are not
    /// compared again.
    /// Cost: grows with the surface of dense regions, hardly with their density.
    DenseBox,
}

/// Finds the clusters of `points`, with the labels of `sklearn.cluster.DBSCAN(eps, min_samples=min_samples)`.
///
/// A point is *core* if at least `min_samples` points, itself included, are at most `eps` away. Core points within
/// `eps` of each other share a cluster. A *border* point is not core but within `eps` of a core point; it joins the
/// lowest-numbered cluster among those of its core neighbours. All other points are noise. Clusters are numbered by
/// their smallest core point.
///
/// # Choosing the parameters
///
/// `min_samples` is the number of points that make a region dense. Usual values are twice the dimension (Sander et al.
/// 1998), more for noisy or large data, and 2 for friends-of-friends. To choose `eps`, sort the distances of all points
/// to their `min_samples - 1`-th neighbour. The curve bends where clusters turn into noise (`ropewalk kdist` draws it;
/// [`Bvh::nearest_neighbors`] gives the numbers). [`Bvh::count_neighbors`] with `eps` gives the counts that are
/// compared with `min_samples`.
///
/// DBSCAN is unsuitable for clusters of very different densities, because no single `eps` fits them. If dimensions
/// have different units, scale them first. For further options see [`Dbscan`].
///
/// # Errors
/// An `eps` that is NaN, negative or infinite, a `min_samples` of 0, or points that [`Bvh::build`] rejects.
///
/// # Example
///
/// ```
/// let points = [[0.0f32, 0.0], [0.1, 0.0], [0.0, 0.1], [5.0, 5.0]];
/// let labels = ropewalk::dbscan(&points, 0.2, 3)?;
/// assert_eq!(labels.as_slice(), [0, 0, 0, -1]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn dbscan<T: Bounded<S, D>, S: Scalar, const D: usize>(
    points: &[T],
    eps: impl Into<f64>,
    min_samples: usize,
) -> Result<Labels> {
    Dbscan::new(eps, min_samples).run(points)
}

/// A DBSCAN finder: set the options, then call [`Dbscan::run`].
///
/// ```
/// use ropewalk::cluster::DbscanAlgorithm;
/// use ropewalk::Dbscan;
///
/// let points = [[0.0f64], [1.0], [2.0], [9.5]];
/// let labels = Dbscan::new(1.0, 3).algorithm(DbscanAlgorithm::DenseBox).periodic(10.0).run(&points)?;
/// assert_eq!(labels.as_slice(), [0, 0, 0, 0]); // 9.5 and 0 are neighbours around the boundary
/// assert!(labels.is_core(0) && !labels.is_core(2));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Dbscan {
    pub(crate) eps: f64,
    pub(crate) min_samples: usize,
    pub(crate) algorithm: DbscanAlgorithm,
    pub(crate) star: bool,
    size: BoxSize,
    pub(crate) weights: Option<Vec<f64>>,
}

impl Dbscan {
    /// Creates a finder of clusters in which neighbours are at most `eps` apart, in the unit of the points. A core
    /// point has at least `min_samples` neighbours, itself included.
    pub fn new(eps: impl Into<f64>, min_samples: usize) -> Self {
        Self {
            eps: eps.into(),
            min_samples,
            algorithm: DbscanAlgorithm::Auto,
            star: false,
            size: BoxSize::default(),
            weights: None,
        }
    }

    /// Sets the algorithm that finds the clusters; all give the same labels. Default: [`DbscanAlgorithm::Auto`].
    #[must_use]
    pub fn algorithm(mut self, algorithm: DbscanAlgorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Selects DBSCAN* (Campello et al. 2013) if `true`, in which border points are noise. Default: `false`.
    #[must_use]
    pub fn star(mut self, star: bool) -> Self {
        self.star = star;
        self
    }

    /// Sets the side of the periodic box, or one side per axis, in the unit of the points; `None` for open space.
    /// Default: open space.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = size.into();
        self
    }

    /// Sets the weight of each point, finite and not negative (scikit-learn's `sample_weight`). Default: 1. A point is
    /// core if the weights within `eps`, its own included, add up to at least `min_samples`. Sums are `f64`: exact for
    /// whole numbers and halves. For other weights, rounding of the last bit may decide a tie.
    #[must_use]
    pub fn weights(mut self, weights: impl Into<Vec<f64>>) -> Self {
        self.weights = Some(weights.into());
        self
    }

    /// Finds the clusters of `points`, which are defined at [`dbscan`].
    ///
    /// The result is exact, and the same for any algorithm and number of threads.
    ///
    /// # Errors
    /// - `eps` that is NaN, negative or infinite; `min_samples` 0.
    /// - A periodic box that is not positive or smaller than 2 `eps`.
    /// - Weights that are not one per point, finite and not negative.
    /// - Points that [`Bvh::build`] rejects.
    /// - More than 2^31 - 1 clusters, because labels are 32-bit numbers.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<Labels> {
        guarded(|| {
            let space = Space::<D>::periodic(self.size.clone())?;
            self.check(&space, points.len())?;
            self.clusters(&Bvh::build_in(points, space)?)
        })
    }

    /// Finds the clusters of the points in an existing tree. The space is that of the tree, open or periodic.
    ///
    /// # Errors
    /// As for [`Dbscan::run`], for the options.
    pub fn run_on<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> Result<Labels> {
        guarded(|| {
            self.check(tree.space(), tree.len())?;
            self.clusters(tree)
        })
    }

    #[doc(hidden)]
    pub fn box_size(&self) -> &BoxSize {
        &self.size
    }

    pub(crate) fn check_options<const D: usize>(&self, space: &Space<D>) -> Result<()> {
        space.check_length("eps", self.eps)?;
        if self.min_samples == 0 {
            return Err(Error::parameter_must("min_samples", 0.0, "at least 1"));
        }
        Ok(())
    }

    pub(crate) fn check<const D: usize>(&self, space: &Space<D>, n: usize) -> Result<()> {
        self.check_options(space)?;
        self.weights.as_ref().map_or(Ok(()), |weights| check_weights(weights, n))
    }

    fn clusters<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> Result<Labels> {
        clusters(tree, self)
    }
}

/// Checks that weights are one per point, finite and not negative.
pub(crate) fn check_weights(weights: &[f64], n: usize) -> Result<()> {
    if weights.len() != n {
        return Err(errors::weight_count(weights.len(), n));
    }
    match weights.iter().position(|weight| !(0.0..f64::INFINITY).contains(weight)) {
        Some(index) => Err(errors::weight(index, weights[index])),
        None => Ok(()),
    }
}

precompiled! { fn clusters = find_clusters(tree: same_ref &Bvh<S, D>, options: keep &Dbscan) -> Result<Labels> }

fn find_clusters<S: Scalar, const D: usize>(tree: &Bvh<S, D>, options: &Dbscan) -> Result<Labels> {
    let Dbscan { eps, min_samples, star, .. } = *options;
    // If all points are neighbours of each other, no walk is needed.
    let is_clique = || RadiusTest::new(tree, eps).is_clique(tree, 0);
    let dense = options.algorithm != DbscanAlgorithm::Fdbscan || is_clique();
    let connect = |participants| {
        if dense { connect(tree, eps, participants) } else { connect_pairs(tree, eps, participants) }
    };
    let order = tree.order();
    // A point and one neighbour are two points, so nothing has to be counted.
    if min_samples <= 2 && options.weights.is_none() {
        let is_core = if min_samples == 1 { IsCore::Each } else { IsCore::NotSingle };
        let labels = connect(Participants::All).relabel(order, is_core)?.into_labels(order);
        mark("labels");
        return Ok(labels);
    }
    let masks = core::find(tree, eps, min_samples, options.weights.as_deref(), dense);
    mark("core");
    let forest = connect(Participants::Masks(&masks));
    let flags = Flags::from_masks(tree, &masks);
    let clusters = forest.relabel(order, IsCore::Flagged(&flags))?;
    let labels = border::label(tree, eps, border::Cores { masks: &masks, flags: &flags, clusters }, star);
    mark("borders, labels");
    Ok(labels)
}
