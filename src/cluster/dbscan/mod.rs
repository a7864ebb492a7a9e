//! DBSCAN: clusters of dense points, and noise.
//!
//! In: points, a radius `eps` and a least weight `min_pts`. Out: [`Labels`], equal to scikit-learn's.
//! Three steps: which points are core (`core`), which core points are united (`connect`), and which cluster each border
//! point joins (`border`). No neighbour is ever stored.
//! Cost: as documented at [`DbscanAlgorithm`]; memory O(n), beside the tree about 20 bytes a point.
//! Source: Ester et al. 1996 (the definition); Prokopenko et al. 2023 (FDBSCAN and DenseBox on a BVH).

mod border;
pub(super) mod core;
mod predict;
#[cfg(feature = "distributed")]
pub(crate) mod steps;

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
use crate::search::ball_predicate::BallPredicate;

/// How to find the clusters. All give the same labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum DbscanAlgorithm {
    /// The faster one: [`DbscanAlgorithm::DenseBox`], measured at 0.98 to 10 times the speed of the other (benches/README.md).
    #[default]
    Auto,
    /// Counts the neighbours of each point until there are enough, then unites every pair of core points within `eps`.
    /// Cost: about one distance for each pair within `eps`.
    Fdbscan,
    /// Unites dense regions without their distances: a node of the tree whose diagonal is at most `eps` is a clique, all of
    /// its points are core if it holds `min_pts`, and what is known to be in one cluster is not compared again.
    /// Cost: grows with the surface of dense regions, hardly with their density.
    DenseBox,
}

/// The clusters of `points`: what `sklearn.cluster.DBSCAN(eps, min_samples=min_pts)` finds, label for label.
///
/// A point is *core* if at least `min_pts` points, itself included, are at most `eps` away. Core points within `eps` of each
/// other share a cluster; a *border* point, not core but within `eps` of a core point, joins the lowest-numbered cluster
/// among those; the rest is noise. Clusters are numbered by their smallest core point.
///
/// # Choosing
///
/// `min_pts` says how many points make a place dense: twice the dimension is usual (Sander et al. 1998), more for noisy or
/// large data, 2 for friends-of-friends. For `eps`, sort the distances of all points to their `min_pts - 1`-th neighbour:
/// where that curve bends, clusters turn into noise (`ropewalk kdist` draws it; [`Bvh::nearest_neighbors`] gives the numbers).
/// [`Bvh::count_neighbors`] with `eps` gives the counts that `min_pts` is compared with.
///
/// Not for clusters of very different density, which no one `eps` fits; nor where dimensions have different units: scale
/// them first.
///
/// Errors: `eps` NaN, negative or infinite; `min_pts` 0; points that [`Bvh::build`] refuses. For options see [`Dbscan`].
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
    min_pts: usize,
) -> Result<Labels> {
    Dbscan::new(eps, min_pts).run(points)
}

/// DBSCAN with options, then [`Dbscan::run`].
///
/// ```
/// use ropewalk::{DbscanAlgorithm, Dbscan};
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
    eps: f64,
    min_pts: usize,
    algorithm: DbscanAlgorithm,
    star: bool,
    size: BoxSize,
    weights: Option<Vec<f64>>,
}

impl Dbscan {
    /// Neighbours are at most `eps` apart; a core point has at least `min_pts` of them, itself included.
    pub fn new(eps: impl Into<f64>, min_pts: usize) -> Self {
        Self {
            eps: eps.into(),
            min_pts,
            algorithm: DbscanAlgorithm::Auto,
            star: false,
            size: BoxSize::default(),
            weights: None,
        }
    }

    /// How to find the clusters.
    #[must_use]
    pub fn algorithm(mut self, algorithm: DbscanAlgorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// DBSCAN* (Campello et al. 2013): border points are noise.
    #[must_use]
    pub fn star(mut self, star: bool) -> Self {
        self.star = star;
        self
    }

    /// A periodic box: one side, or one per axis; `None` for open space.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = size.into();
        self
    }

    /// A weight per point, finite and not negative: a point is core if the weights within `eps`, its own included, reach
    /// `min_pts` (scikit-learn's `sample_weight`). Sums are `f64`: exact for whole numbers and halves, else the last bit may
    /// decide a tie.
    #[must_use]
    pub fn weights(mut self, weights: impl Into<Vec<f64>>) -> Self {
        self.weights = Some(weights.into());
        self
    }

    /// Finds the clusters of `points`; see [`dbscan`] for what they are.
    ///
    /// Exact, and the same for any algorithm and number of threads.
    ///
    /// Errors: `eps` NaN, negative or infinite; `min_pts` 0; a periodic box that is not positive or smaller than 2 `eps`;
    /// weights that are not one per point, finite and not negative; points that [`Bvh::build`] refuses; more than 2^31 - 1
    /// clusters, for labels are 32-bit numbers.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<Labels> {
        guarded(|| {
            let space = Space::<D>::periodic(self.size.clone())?;
            self.check(&space, points.len())?;
            self.clusters(&Bvh::build_in(points, space)?)
        })
    }

    /// Finds the clusters in a tree that is already built, open or periodic as the tree is.
    ///
    /// Errors: as [`Dbscan::run`], for the options.
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

    fn check_options<const D: usize>(&self, space: &Space<D>) -> Result<()> {
        space.check_length("eps", self.eps)?;
        if self.min_pts == 0 {
            return Err(Error::parameter_must("min_pts", 0.0, "at least 1"));
        }
        Ok(())
    }

    fn check<const D: usize>(&self, space: &Space<D>, n: usize) -> Result<()> {
        self.check_options(space)?;
        self.weights.as_ref().map_or(Ok(()), |weights| check_weights(weights, n))
    }

    fn clusters<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> Result<Labels> {
        clusters(tree, self)
    }
}

/// Weights are one per point, finite and not negative.
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
    let Dbscan { eps, min_pts, star, .. } = *options;
    // Where all points are neighbours of all, there is nothing to walk.
    let is_clique = || BallPredicate::new(tree, eps).is_clique(tree, 0);
    let dense = options.algorithm != DbscanAlgorithm::Fdbscan || is_clique();
    let connect = |participants| {
        if dense { connect(tree, eps, participants) } else { connect_pairs(tree, eps, participants) }
    };
    let order = tree.order();
    // A point and a friend are two: nothing to count.
    if min_pts <= 2 && options.weights.is_none() {
        let is_core = if min_pts == 1 { IsCore::Each } else { IsCore::InPairs };
        let labels = connect(Participants::All).relabel(order, is_core)?.into_labels(order);
        mark("labels");
        return Ok(labels);
    }
    let masks = core::find(tree, eps, min_pts, options.weights.as_deref(), dense);
    mark("core");
    let forest = connect(Participants::Masks(&masks));
    let flags = Flags::of(tree, &masks);
    let clusters = forest.relabel(order, IsCore::Flagged(&flags))?;
    let labels = border::label(tree, eps, border::Cores { masks: &masks, flags: &flags, clusters }, star);
    mark("borders, labels");
    Ok(labels)
}
