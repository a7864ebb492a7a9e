//! Outlier scores of points.

use super::HdbscanClusters;
use crate::memory::collected;

impl HdbscanClusters {
    /// Computes the GLOSH outlier score of each point: 1 - lambda_p / lambda_max. lambda_max is the maximum lambda of
    /// the point's last cluster and of all clusters below it. Scores range from 0 for the densest points towards 1 for
    /// outliers, whether or not the cluster is chosen.
    ///
    /// Copies of a point have infinite lambda and score 0; other points of their cluster and of the clusters above it
    /// score 1.
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
            // A single point has lambda 0, and so has its cluster.
            if own == most { 0.0 } else { 1.0 - own / most }
        };
        collected((0..tree.n_points()).map(score))
    }
}
