//! Friends-of-friends halos: the GPU version of `cluster::fof`.
//!
//! In: points and a linking length. Out: [`Halos`], largest first. Cost: about that of the tree; besides the tree 20
//! bytes per point, and the cost of `halos` to order the members. Source: Davis et al. 1985 (the definition);
//! Prokopenko et al. 2023 (FDBSCAN: tree and union-find).

use crate::error::Result;
use crate::geometry::Boundary;
use crate::gpu::buffer::{Buffer, end_phase};
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::cluster::dbscan::label_friends;
use crate::gpu::cluster::halos::Halos;
use crate::gpu::cluster::labels::Membership;
use crate::gpu::device::on;

/// A friends-of-friends finder for points on a device: set the options, then call [`Fof::run`]. The GPU version of
/// [`crate::Fof`]. Points are in a periodic box if they were uploaded with one.
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
#[derive(Clone, Debug, PartialEq)]
pub struct Fof {
    pub(crate) options: crate::Fof,
}

impl From<crate::Fof> for Fof {
    /// Takes over the options of the CPU version. The periodic box is that of the points on the device,
    /// or the argument of `Fof::run_across`.
    fn from(options: crate::Fof) -> Self {
        Self { options }
    }
}

impl Fof {
    /// Creates a finder in which friends are at most `linking_length` apart, in the units of the points.
    pub fn new(linking_length: impl Into<f64>) -> Self {
        Self { options: crate::Fof::new(linking_length) }
    }

    /// Sets the minimum number of members of a halo, at least 2. Default: 2.
    #[must_use]
    pub fn min_members(self, members: usize) -> Self {
        Self { options: self.options.min_members(members) }
    }

    /// Finds the halos of `points`. The result is exact, and the same in every run.
    ///
    /// # Errors
    /// A linking length that is NaN, negative, infinite or more than half of a periodic box; a failing device.
    pub fn run<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<Halos> {
        self.run_on(&Bvh::from_points(points)?)
    }

    /// Finds the halos in a tree that is already built.
    ///
    /// # Errors
    /// Those of [`Fof::run`].
    pub fn run_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<Halos> {
        let crate::Fof { linking_length, min_members, .. } = self.options;
        bvh.space.check_length("linking_length", linking_length)?;
        on!(bvh.device, client => {
            // Friends-of-friends halos are DBSCAN clusters with `min_samples` 2: a point and one friend.
            let (labels, numbers, n_clusters) = match &bvh.nodes {
                Some(nodes) => {
                    let (labels, numbers) =
                        label_friends(client, bvh, nodes, linking_length, Membership::Multiple, true)?;
                    (labels.labels, numbers, labels.n_clusters as usize)
                }
                None => (Buffer::new(client, 0), Buffer::new(client, 0), 0),
            };
            let boundary = Boundary::new(&bvh.space);
            let halos = Halos::from_labels(client, bvh.device, &labels, numbers, n_clusters, min_members, boundary)?;
            end_phase(client, "members")?;
            Ok(halos)
        })
    }
}
