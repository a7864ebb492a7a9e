//! Cuts of a spanning tree into clusters.
//!
//! In: the edges of a tree in ascending order, and up to which they join. Out: [`Labels`]. Cost: a union for each of these edges, in
//! parallel; 8 bytes a point while it runs, and 4 for the labels.

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
    /// The clusters that edges of at most `length` join, numbered by their smallest member; points alone have none. Of the tree of
    /// lengths they are the halos of [`Fof`](crate::Fof) with this linking length; of mutual reachability, but for points that are
    /// alone, DBSCAN* with this eps.
    ///
    /// An edge joins its ends if its weight is at most `length`, by [`Edge::weight`](crate::Edge::weight) or rounded to the nearest number
    /// as scipy's `fcluster` has it. The two, and so `Fof`, may differ for edges whose length is that of `length` but for rounding.
    ///
    /// Errors: a length that is NaN or negative.
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
                return Err(Error::parameter_must("length", length, "a number, not negative"));
            }
            let limit = squared_limit(length);
            self.labels(self.edges().partition_point(|edge| edge.weight2 <= limit), IsCore::InPairs)
        })
    }

    /// Exactly this many clusters, numbered by their smallest member: those that are left without the heaviest edges. Each point has
    /// a cluster.
    ///
    /// Errors: no clusters, or more than there are points.
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

    /// The components of the first edges.
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
