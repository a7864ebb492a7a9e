//! Cuts of a spanning tree into clusters.
//!
//! In: the edges of a tree in ascending order, and the maximum weight of edges that join points. Out: [`Labels`].
//! Cost: a union for each of these edges, in parallel; 8 bytes per point of temporary memory, and 4 for the labels.

use crate::cancel::guarded;
use crate::cluster::labels::Labels;
use crate::cluster::mst::SpanningTree;
use crate::cluster::relabel::IsCore;
use crate::cluster::union_find::UnionFind;
use crate::error::{Error, Result};
use crate::geometry::squared_limit;
use crate::memory::collected;
use crate::parallel::for_tasks;

/// Edges per parallel task.
const TASK: usize = 1 << 12;

impl SpanningTree {
    /// Finds the clusters joined by edges of at most `length`, numbered by their smallest member. Single points have no
    /// cluster.
    ///
    /// For a tree of distances, the clusters are the halos of [`Fof`](crate::Fof) with this linking length. For a tree
    /// of mutual reachability, they are the clusters of DBSCAN* with this eps, except that single points have none.
    ///
    /// An edge joins its ends if its [`Edge::weight`](crate::cluster::Edge::weight) or its weight rounded to nearest,
    /// as in scipy's `fcluster`, is at most `length`. The two weights differ only by rounding; an edge whose weight is
    /// that close to `length` may be joined here but not by `Fof`.
    ///
    /// # Errors
    /// A length that is NaN or negative.
    ///
    /// # Example
    ///
    /// ```
    /// let tree = ropewalk::minimum_spanning_tree(&[[0.0f32], [1.0], [9.0], [3.0]])?;
    /// assert_eq!(tree.cut(1.0)?.as_slice(), [0, 0, -1, -1]);
    /// assert_eq!(tree.cut(2.0)?.as_slice(), [0, 0, -1, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn cut(&self, length: impl Into<f64>) -> Result<Labels> {
        guarded(|| {
            let length = length.into();
            if length.is_nan() || length < 0.0 {
                return Err(Error::parameter_must("length", length, "non-negative"));
            }
            let limit = squared_limit(length);
            self.labels(self.edges().partition_point(|edge| edge.weight2 <= limit), IsCore::NotSingle)
        })
    }

    /// Finds exactly `clusters` clusters, numbered by their smallest member: the components without the heaviest edges.
    /// Each point has a cluster.
    ///
    /// # Errors
    /// `clusters` that is 0, or more than the number of points.
    ///
    /// # Example
    ///
    /// ```
    /// let tree = ropewalk::minimum_spanning_tree(&[[0.0f32], [1.0], [9.0], [3.0]])?;
    /// assert_eq!(tree.cut_into(2)?.as_slice(), [0, 0, 1, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn cut_into(&self, clusters: usize) -> Result<Labels> {
        guarded(|| {
            let (name, value) = ("clusters", clusters as f64);
            if clusters == 0 {
                return Err(Error::parameter_must(name, value, "at least 1"));
            }
            if clusters > self.n_points() {
                return Err(Error::parameter_must(name, value, "at most the number of points"));
            }
            self.labels(self.n_points() - clusters, IsCore::Each)
        })
    }

    /// The components of the first `edges` edges.
    fn labels(&self, edges: usize, is_core: IsCore<'_>) -> Result<Labels> {
        let forest = UnionFind::new(self.n_points());
        for_tasks(edges, TASK, &|range| {
            for edge in &self.edges()[range] {
                forest.union(edge.low, edge.high);
            }
        });
        let order: Vec<u32> = collected(0..self.n_points() as u32);
        Ok(forest.relabel(&order, is_core)?.into_labels(&order))
    }
}
