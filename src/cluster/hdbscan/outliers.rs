//! How far each point is from belonging.

use super::HdbscanClusters;
use crate::memory::collected;

impl HdbscanClusters {
    /// The outlier score GLOSH of each point: 1 - lambda_p / lambda_max, with the largest lambda of the last cluster that the point is in
    /// and of all clusters below that. 0 for the densest points, towards 1 for outliers. Whether a cluster is chosen does not matter.
    ///
    /// Copies of a point, whose lambda is infinite, have 0; others beside them in their cluster or above it have 1.
    /// Source: Campello, Moulavi, Zimek and Sander 2015, section 5.
    ///
    /// ```
    /// use ropewalk::Hdbscan;
    ///
    /// let clusters = Hdbscan::new(3).min_samples(1).run(&[[0.0f32], [1.0], [2.0], [6.0]])?;
    /// assert_eq!(clusters.outlier_scores(), [0.0, 0.0, 0.0, 0.75]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn outlier_scores(&self) -> Vec<f64> {
        let tree = self.condensed_tree();
        let deepest = tree.deepest();
        let score = |point: usize| {
            let (own, most) = (tree.lambda(point), deepest[tree.cluster(point) as usize]);
            // A point alone has no lambda at all.
            if own == most { 0.0 } else { 1.0 - own / most }
        };
        collected((0..tree.n_points()).map(score))
    }
}
