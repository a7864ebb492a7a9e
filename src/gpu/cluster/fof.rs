//! Friends-of-friends halos: the GPU version of `cluster::fof`.
//!
//! In: points and a linking length. Out: [`Halos`], largest first. Cost: about that of the tree; besides the tree 20
//! bytes per point, and the cost of `halos` to order the members. Source: Davis et al. 1985 (the definition);
//! Prokopenko et al. 2023 (FDBSCAN: tree and union-find).

use crate::error::Result;
use crate::geometry::Boundary;
use crate::gpu::buffer::end_phase;
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::cluster::dbscan::Dbscan;
use crate::gpu::cluster::halos::Halos;
use crate::gpu::device::on;

/// A friends-of-friends finder: options, then [`Fof::run`]. The GPU version of [`crate::Fof`]. Points are in a
/// periodic box if they were uploaded with one.
///
/// ```no_run
/// use ropewalk::gpu::{Device, Fof, Points};
///
/// let points = [[0.0f32, 0.0, 0.0], [9.9, 0.0, 0.0], [5.0, 5.0, 5.0], [5.0, 5.0, 5.1]];
/// let points = Points::new_periodic(&points, 10.0, Device::first()?)?;
/// let halos = Fof::new(0.2).run(&points)?.read()?;
/// assert_eq!(halos.members(0), [0, 1]); // friends across the boundary
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fof {
    pub(crate) linking_length: f64,
    pub(crate) min_members: usize,
}

impl Fof {
    /// A finder in which friends are at most `linking_length` apart, in the units of the points.
    pub fn new(linking_length: impl Into<f64>) -> Self {
        Self { linking_length: linking_length.into(), min_members: 2 }
    }

    /// Sets the minimum number of members of a halo, at least 2. Default: 2.
    #[must_use]
    pub fn min_members(mut self, members: usize) -> Self {
        self.min_members = members.max(2);
        self
    }

    /// Finds the halos of `points`. The result is exact, and the same in every run.
    ///
    /// # Errors
    /// A linking length that is NaN, negative, infinite or more than half of a periodic box; a failing device.
    pub fn run<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<Halos> {
        self.run_on(&Bvh::of(points)?)
    }

    /// Finds the halos in a tree that is already built.
    ///
    /// # Errors
    /// Those of [`Fof::run`].
    pub fn run_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<Halos> {
        // Friends-of-friends halos are DBSCAN clusters with `min_pts` 2: a point and one friend.
        bvh.space.check_length("linking_length", self.linking_length)?;
        let labels = Dbscan::new(self.linking_length, 2).run_on(bvh)?;
        on!(bvh.device, client => {
            let boundary = Boundary::of(&bvh.space);
            let (labels, n_clusters) = (&labels.labels, labels.n_clusters());
            let halos = Halos::of_labels(client, bvh.device, labels, n_clusters, self.min_members, boundary)?;
            end_phase(client, "members")?;
            Ok(halos)
        })
    }
}
