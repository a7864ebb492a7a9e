//! DBSCAN: the GPU version of `cluster::dbscan`.
//!
//! In: points, a radius `eps` and a minimum number `min_pts`. Out: [`Labels`], equal to those of the CPU and of
//! scikit-learn.
//!
//! Three steps: find the core points (`core`), unite those within `eps` of each other (`connect`), and assign border
//! points to clusters (`border`). If `min_pts` is at most 16, the neighbours of points that are not core are stored
//! for the last step.
//!
//! Cost: as for [`DbscanAlgorithm`]. Memory besides the tree: 32 bytes per point, and 4 (`min_pts` - 1) bytes per
//! point, or 16 for each possible border point of three `f32`. Source: Ester et al. 1996 (the definition); Prokopenko
//! et al. 2023.

mod border;
mod core;
mod predict;
mod weights;

use crate::cluster::dbscan::{DbscanAlgorithm, check_weights};
use crate::error::{Error, Result};
use crate::geometry::Space;
use crate::gpu::buffer::{Buffer, end_phase};
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::cluster::connect::{Participants, connect};
use crate::gpu::cluster::dbscan::border::{BorderInput, label_border, label_listed};
use crate::gpu::cluster::dbscan::core::{CorePoints, find_core, split_core_marks};
use crate::gpu::cluster::labels::{Labels, Membership, label, relabel};
use crate::gpu::device::on;

/// Finds the clusters of points on a device: [`crate::cluster::dbscan()`], with equal labels.
///
/// ```no_run
/// use ropewalk::gpu::{Device, Points, dbscan};
///
/// let points = Points::new(&[[0.0f32, 0.0], [0.1, 0.0], [0.0, 0.1], [5.0, 5.0]], Device::first()?)?;
/// assert_eq!(dbscan(&points, 0.2, 3)?.read()?.as_slice(), [0, 0, 0, -1]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Returns an error if `eps` is NaN, negative, infinite or more than half of a periodic box, if `min_pts` is 0, or if
/// the device fails.
pub fn dbscan<S: Coordinate, const D: usize>(
    points: &Points<S, D>,
    eps: impl Into<f64>,
    min_pts: usize,
) -> Result<Labels> {
    Dbscan::new(eps, min_pts).run(points)
}

/// DBSCAN with options, then [`Dbscan::run`]: the GPU version of [`crate::Dbscan`]. Points are in a periodic box if
/// they were uploaded with one.
///
/// ```no_run
/// use ropewalk::DbscanAlgorithm;
/// use ropewalk::gpu::{Dbscan, Device, Points};
///
/// let points = Points::new_periodic(&[[0.0f64, 0.0], [1.0, 0.0], [2.0, 0.0], [9.5, 0.0]], 10.0, Device::first()?)?;
/// let labels = Dbscan::new(1.0, 3).algorithm(DbscanAlgorithm::Fdbscan).run(&points)?.read()?;
/// assert_eq!(labels.as_slice(), [0, 0, 0, 0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dbscan {
    eps: f64,
    min_pts: usize,
    algorithm: DbscanAlgorithm,
    star: bool,
    weights: Option<Vec<f64>>,
}

impl Dbscan {
    /// Neighbours are at most `eps` apart. A core point has at least `min_pts` neighbours, including itself.
    pub fn new(eps: impl Into<f64>, min_pts: usize) -> Self {
        Self { eps: eps.into(), min_pts, algorithm: DbscanAlgorithm::Auto, star: false, weights: None }
    }

    /// Sets the algorithm. All algorithms give the same labels.
    #[must_use]
    pub fn algorithm(mut self, algorithm: DbscanAlgorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// Selects DBSCAN* (Campello et al. 2013), in which border points are noise.
    #[must_use]
    pub fn star(mut self, star: bool) -> Self {
        self.star = star;
        self
    }

    /// Sets a weight for each point in the caller's order, finite and not negative. A point is core if the weights
    /// within `eps`, including its own, add up to at least `min_pts`. The core points are those of the CPU, because
    /// sums that are close to `min_pts` are rounded in the same way: see [`crate::Dbscan::weights`].
    ///
    /// Memory: 28 bytes per point and 8 per node while it runs.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Dbscan, Device, Points};
    ///
    /// let points = Points::new(&[[0.0f32, 0.0], [0.1, 0.0], [5.0, 5.0]], Device::first()?)?;
    /// let labels = Dbscan::new(0.2, 3).weights([2.5, 0.5, 2.9]).run(&points)?.read()?;
    /// assert_eq!(labels.as_slice(), [0, 0, -1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    #[must_use]
    pub fn weights(mut self, weights: impl Into<Vec<f64>>) -> Self {
        self.weights = Some(weights.into());
        self
    }

    fn check_options<const D: usize>(&self, space: &Space<D>) -> Result<()> {
        space.check_length("eps", self.eps)?;
        if self.min_pts == 0 {
            return Err(Error::parameter_must("min_pts", 0.0, "at least 1"));
        }
        Ok(())
    }

    /// Finds the clusters of `points`. The result is exact, and the same in every run.
    ///
    /// # Errors
    /// Returns an error if:
    /// - `eps` is NaN, negative, infinite or more than half of a periodic box;
    /// - `min_pts` is 0;
    /// - the number of weights is not that of the points, or a weight is negative or not finite;
    /// - the device fails.
    pub fn run<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<Labels> {
        self.run_on(&Bvh::of(points)?)
    }

    /// Finds the clusters in a tree that is already built.
    ///
    /// # Errors
    /// Those of [`Dbscan::run`].
    pub fn run_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<Labels> {
        self.check_options(&bvh.space)?;
        if let Some(weights) = &self.weights {
            check_weights(weights, bvh.len())?;
        }
        let dense = self.algorithm != DbscanAlgorithm::Fdbscan;
        // If `min_pts` is at most 2, every point with a neighbour is core, so nothing is counted.
        let has_border_labels = self.min_pts > 2 || self.weights.is_some();
        on!(bvh.device, client => {
            let Some(nodes) = &bvh.nodes else {
                let labels = Buffer::new(client, 0);
                return Ok(Labels { device: bvh.device, labels, n_clusters: 0, has_border_labels });
            };
            if !has_border_labels {
                let forest = connect(client, bvh, nodes, self.eps, Participants::All, dense)?;
                end_phase(client, "walk, union")?;
                let membership = if self.min_pts == 1 { Membership::All } else { Membership::Multiple };
                let (numbers, n_clusters) = relabel(client, &forest, &bvh.order, membership)?;
                let labels = label(client, &numbers, &bvh.order, None);
                end_phase(client, "labels")?;
                return Ok(Labels { device: bvh.device, labels, n_clusters, has_border_labels: false });
            }
            let CorePoints { marks: core, near } = match &self.weights {
                Some(weights) => {
                    let found = weights::find_core(client, bvh, nodes, self.eps, weights, self.min_pts, dense)?;
                    CorePoints { marks: found, near: None }
                }
                None => find_core(client, bvh, nodes, self.eps, self.min_pts, dense, !self.star),
            };
            let (before, candidates) = split_core_marks(client, &core);
            end_phase(client, "core")?;
            let forest = connect(client, bvh, nodes, self.eps, Participants::Marked(&core, &before), dense)?;
            end_phase(client, "walk, union")?;
            let (numbers, n_clusters) = relabel(client, &forest, &bvh.order, Membership::Marked(&core))?;
            if let Some(near) = &near {
                label_listed(client, near, &core, &numbers);
            } else if !self.star {
                let input = BorderInput { candidates, core: &core, node_states: &forest.node_states };
                label_border(client, bvh, nodes, self.eps, input, &numbers)?;
            }
            let labels = label(client, &numbers, &bvh.order, Some(&core));
            end_phase(client, "borders, labels")?;
            Ok(Labels { device: bvh.device, labels, n_clusters, has_border_labels: true })
        })
    }
}
