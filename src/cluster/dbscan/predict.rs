//! The clusters of new points.

use crate::bvh::{Bvh, check};
use crate::cancel::guarded;
use crate::cluster::dbscan::Dbscan;
use crate::cluster::labels::Labels;
use crate::error::{Error, Result};
use crate::geometry::{Bounded, Scalar, Space};
use crate::memory::collected;
use crate::parallel::list_tasks;
use crate::search::{Nearest, Neighbor};

impl Dbscan {
    /// Finds the cluster of each new point: that of the nearest core point within `eps`, or -1. Ties go to the lowest
    /// index.
    ///
    /// `points` and `labels` are those of an earlier [`Dbscan::run`] with the same `eps` and box; `min_samples` and
    /// weights are ignored. DBSCAN itself does not define clusters of new points. Clustering old and new points
    /// together could make some new points core and merge clusters. A border point of `points` may be nearest to a
    /// core point of a cluster other than its own. scikit-learn has no such method.
    ///
    /// # Cost
    /// A tree over the core points, and one nearest-neighbour query for each new point, in parallel.
    ///
    /// # Errors
    /// As for [`Dbscan::run`], for the options and for both sets of points; labels that are not one per point.
    ///
    /// # Example
    ///
    /// ```
    /// use ropewalk::Dbscan;
    ///
    /// let points = [[0.0f32], [1.0], [2.0], [9.0]];
    /// let dbscan = Dbscan::new(1.0, 3); // only 1.0 is core
    /// let labels = dbscan.run(&points)?;
    /// assert_eq!(dbscan.predict(&points, &labels, &[[0.5f32], [2.5], [9.0]])?, [0, -1, -1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn predict<T: Bounded<S, D>, U: Bounded<S, D>, S: Scalar, const D: usize>(
        &self,
        points: &[T],
        labels: &Labels,
        new: &[U],
    ) -> Result<Vec<i32>> {
        guarded(|| {
            let space = Space::<D>::periodic(self.size.clone())?;
            self.check_options(&space)?;
            let len = labels.as_slice().len();
            if len != points.len() {
                return Err(Error::length("labels", len, points.len()));
            }
            check(new, &space)?;
            let is_core = |&i: &usize| labels.is_core(i);
            let core = list_tasks(len, 1 << 14, &|range| range.filter(is_core).map(|i| i as u32).collect());
            let tree = if T::IS_POINT {
                let places: Vec<[S; D]> = collected(core.iter().map(|&i| points[i as usize].bounds().lo));
                Bvh::build_in(&places, space)?
            } else {
                let places: Vec<_> = collected(core.iter().map(|&i| points[i as usize].bounds()));
                Bvh::build_in(&places, space)?
            };
            let near = tree.nearest_all(new, Nearest::new(1).within(self.eps));
            let label = |near: &[Neighbor]| {
                near.first().map_or(-1, |near| labels.as_slice()[core[near.index as usize] as usize])
            };
            Ok(collected(near.iter().map(label)))
        })
    }
}
