//! DBSCAN: the GPU version of `cluster::dbscan`.
//!
//! In: points, a radius `eps` and a minimum number `min_samples`. Out: [`Labels`], equal to those of the CPU and of
//! scikit-learn.
//!
//! Three steps: find the core points (`core`), unite those within `eps` of each other (`connect`), and assign border
//! points to clusters (`border`). If `min_samples` is at most 16, the neighbours of points that are not core are stored
//! for the last step.
//!
//! Cost: as for [`DbscanAlgorithm`]. Memory besides the tree: 32 bytes per point, and 4 (`min_samples` - 1) bytes per
//! point, or 16 for each possible border point of three `f32`. Source: Ester et al. 1996 (the definition); Prokopenko
//! et al. 2023.

mod border;
mod core;
mod predict;
mod weights;

use cubecl::prelude::*;

use crate::cluster::dbscan::DbscanAlgorithm;
use crate::error::Result;
use crate::gpu::buffer::{Buffer, end_phase};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::cluster::connect::{Participants, connect};
use crate::gpu::cluster::dbscan::border::{BorderInput, label_border, label_listed};
use crate::gpu::cluster::dbscan::core::{CorePoints, find_core, split_core_marks};
use crate::gpu::cluster::labels::{Labels, Membership, label, relabel};
use crate::gpu::device::on;

/// Finds the DBSCAN clusters of points on a device, with the labels that [`crate::cluster::dbscan()`] finds on the CPU.
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
/// Returns an error if `eps` is NaN, negative, infinite or more than half of a periodic box, if `min_samples` is 0, or
/// if the device fails.
pub fn dbscan<S: Coordinate, const D: usize>(
    points: &Points<S, D>,
    eps: impl Into<f64>,
    min_samples: usize,
) -> Result<Labels> {
    Dbscan::new(eps, min_samples).run(points)
}

/// A DBSCAN finder for points on a device: set the options, then call [`Dbscan::run`]. The GPU version of
/// [`crate::Dbscan`]. Points are in a periodic box if they were uploaded with one.
///
/// ```no_run
/// use ropewalk::cluster::DbscanAlgorithm;
/// use ropewalk::gpu::{Dbscan, Device, Points};
///
/// let points = Points::new_periodic(&[[0.0f64, 0.0], [1.0, 0.0], [2.0, 0.0], [9.5, 0.0]], 10.0, Device::first()?)?;
/// let labels = Dbscan::new(1.0, 3).algorithm(DbscanAlgorithm::Fdbscan).run(&points)?.read()?;
/// assert_eq!(labels.as_slice(), [0, 0, 0, 0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dbscan {
    options: crate::Dbscan,
}

impl From<crate::Dbscan> for Dbscan {
    /// Takes over the options of the CPU version. The periodic box is that of the points on the device.
    fn from(options: crate::Dbscan) -> Self {
        Self { options }
    }
}

impl Dbscan {
    /// Creates a finder of clusters in which neighbours are at most `eps` apart, in the unit of the points. A core
    /// point has at least `min_samples` neighbours, including itself.
    pub fn new(eps: impl Into<f64>, min_samples: usize) -> Self {
        Self { options: crate::Dbscan::new(eps, min_samples) }
    }

    /// Sets the algorithm that finds the clusters. All algorithms give the same labels. Default:
    /// [`DbscanAlgorithm::Auto`].
    #[must_use]
    pub fn algorithm(self, algorithm: DbscanAlgorithm) -> Self {
        Self { options: self.options.algorithm(algorithm) }
    }

    /// Selects DBSCAN* (Campello et al. 2013) if `true`, in which border points are noise. Default: `false`.
    #[must_use]
    pub fn star(self, star: bool) -> Self {
        Self { options: self.options.star(star) }
    }

    /// Sets a weight for each point, finite and not negative, in the order of the points as they were given. A point is
    /// core if the weights within `eps`, including its own, add up to at least `min_samples`. The core points are those
    /// of the CPU, because sums that are close to `min_samples` are rounded in the same way: see
    /// [`crate::Dbscan::weights`]. Default: 1.
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
    pub fn weights(self, weights: impl Into<Vec<f64>>) -> Self {
        Self { options: self.options.weights(weights) }
    }

    /// Finds the clusters of `points`. The result is exact, and the same in every run.
    ///
    /// # Errors
    /// Returns an error if:
    /// - `eps` is NaN, negative, infinite or more than half of a periodic box;
    /// - `min_samples` is 0;
    /// - the number of weights is not that of the points, or a weight is negative or not finite;
    /// - the device fails.
    pub fn run<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<Labels> {
        self.run_on(&Bvh::from_points(points)?)
    }

    /// Finds the clusters in a tree that is already built.
    ///
    /// # Errors
    /// Those of [`Dbscan::run`].
    pub fn run_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<Labels> {
        self.options.check(&bvh.space, bvh.len())?;
        let crate::Dbscan { eps, min_samples, algorithm, star, .. } = self.options;
        let dense = algorithm != DbscanAlgorithm::Fdbscan;
        // If `min_samples` is at most 2, every point with a neighbour is core, so nothing is counted.
        let has_border_labels = min_samples > 2 || self.options.weights.is_some();
        on!(bvh.device, client => {
            let Some(nodes) = &bvh.nodes else {
                let labels = Buffer::new(client, 0);
                return Ok(Labels { device: bvh.device, labels, n_clusters: 0, has_border_labels });
            };
            if !has_border_labels {
                let membership = if min_samples == 1 { Membership::All } else { Membership::Multiple };
                return Ok(label_friends(client, bvh, nodes, eps, membership, dense)?.0);
            }
            let CorePoints { marks: core, near } = match &self.options.weights {
                Some(weights) => {
                    let found = weights::find_core(client, bvh, nodes, eps, weights, min_samples, dense)?;
                    CorePoints { marks: found, near: None }
                }
                None => find_core(client, bvh, nodes, eps, min_samples, dense, !star),
            };
            let (before, candidates) = split_core_marks(client, &core);
            end_phase(client, "core")?;
            let forest = connect(client, bvh, nodes, eps, Participants::Marked(&core, &before), dense)?;
            end_phase(client, "walk, union")?;
            let (numbers, n_clusters) = relabel(client, &forest, &bvh.order, Membership::Marked(&core))?;
            if let Some(near) = &near {
                label_listed(client, near, &core, &numbers);
            } else if !star {
                let input = BorderInput { candidates, core: &core, node_states: &forest.node_states };
                label_border(client, bvh, nodes, eps, input, &numbers)?;
            }
            drop((forest, near, before));
            let labels = label(client, &numbers, &bvh.order, Some(&core));
            end_phase(client, "borders, labels")?;
            Ok(Labels { device: bvh.device, labels, n_clusters, has_border_labels: true })
        })
    }
}

/// Finds the clusters whose points are all core: those of points linked by distances up to `eps`. Returns their labels,
/// and the same numbers in tree order.
pub(in crate::gpu::cluster) fn label_friends<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    eps: f64,
    membership: Membership<'_>,
    dense: bool,
) -> Result<(Labels, Buffer<u32>)> {
    let forest = connect(client, bvh, nodes, eps, Participants::All, dense)?;
    end_phase(client, "walk, union")?;
    let (numbers, n_clusters) = relabel(client, &forest, &bvh.order, membership)?;
    drop(forest);
    let labels = label(client, &numbers, &bvh.order, None);
    end_phase(client, "labels")?;
    Ok((Labels { device: bvh.device, labels, n_clusters, has_border_labels: false }, numbers))
}
