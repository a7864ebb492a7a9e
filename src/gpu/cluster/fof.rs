//! Friends-of-friends halos: the twin of `cluster::fof`.
//!
//! In: points and a linking length. Out: [`Halos`], largest first.
//! Cost: about that of the tree; beside it 20 bytes a point, and while members are put in order what `halos` says.
//! Source: Davis et al. 1985 (the definition); Prokopenko et al. 2023 (FDBSCAN: tree and union-find).

use crate::error::Result;
use crate::geometry::Boundary;
use crate::gpu::buffer::mark;
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::cluster::dbscan::Dbscan;
use crate::gpu::cluster::halos::Halos;
use crate::gpu::device::on;

/// A friends-of-friends finder: options, then [`Fof::run`]. The twin of [`crate::Fof`]; points are in a periodic box if they were
/// uploaded so.
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
    /// Friends are at most `linking_length` apart, in the units of the points.
    pub fn new(linking_length: impl Into<f64>) -> Self {
        Self { linking_length: linking_length.into(), min_members: 2 }
    }

    /// Halos have at least this many members; 2 unless said otherwise, which is also the least.
    #[must_use]
    pub fn min_members(mut self, members: usize) -> Self {
        self.min_members = members.max(2);
        self
    }

    /// Finds the halos of `points`.
    ///
    /// Exact, and the same in every run.
    ///
    /// Errors: a linking length that is NaN, negative or infinite, or more than half of a periodic box; if the device fails.
    pub fn run<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<Halos> {
        self.run_on(&Bvh::of(points)?)
    }

    /// Finds the halos in a tree that is already built.
    ///
    /// Errors: as [`Fof::run`].
    pub fn run_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<Halos> {
        // Friends of friends are clusters in which a point and a friend are enough.
        bvh.space.check_length("linking_length", self.linking_length)?;
        let labels = Dbscan::new(self.linking_length, 2).run_on(bvh)?;
        on!(bvh.device, client => {
            let boundary = Boundary::of(&bvh.space);
            let (labels, n_clusters) = (&labels.labels, labels.n_clusters());
            let halos = Halos::of_labels(client, bvh.device, labels, n_clusters, self.min_members, boundary)?;
            mark(client, "members")?;
            Ok(halos)
        })
    }
}
