//! The clusters of new points.

use super::clusters::probability;
use super::tree::lambda;
use super::{Hdbscan, HdbscanClusters};
use crate::bvh::{Bvh, check};
use crate::cancel::guarded;
use crate::error::{Error, Result};
use crate::geometry::{Bounded, Scalar, Space};
use crate::memory::{collected, with_capacity, zeroed};
use crate::search::Neighbor;

/// The clusters of new points, one entry per point.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HdbscanPrediction {
    /// The cluster of each point, -1 for noise.
    pub labels: Vec<i32>,
    /// The membership probability of each point, from 0 to 1.
    pub probabilities: Vec<f64>,
}

impl Hdbscan {
    /// Finds the cluster that each new point would join if it were added alone, and the old points kept their clusters.
    ///
    /// `points` and `clusters` are those of an earlier [`Hdbscan::run`] with the same options. A new point p joins the
    /// tree at the neighbour x with the minimum w(p, x) = max(core(p), core(x), d(p, x) / alpha). Candidates are the 2
    /// `min_samples` nearest points. Ties go to the nearest point, then to the lowest index; core(p) counts p itself.
    /// p leaves the tree at lambda = 1/w, or with x if x leaves earlier. Clustering all points together could give
    /// other clusters.
    ///
    /// # Cost
    /// A tree over the points, and two nearest-neighbour queries for each new point, in parallel.
    ///
    /// # Source
    /// The Python package `hdbscan`, `approximate_predict`, which counts `min_samples` differently.
    ///
    /// # Errors
    /// As for [`Hdbscan::run`], for the options and for both sets of points; `clusters` of another number of points.
    ///
    /// # Example
    ///
    /// ```
    /// use ropewalk::Hdbscan;
    ///
    /// let points = [[0.0f32], [1.0], [2.0], [30.0], [31.0], [32.0]];
    /// let hdbscan = Hdbscan::new(3).min_samples(2);
    /// let clusters = hdbscan.run(&points)?;
    /// let new = hdbscan.predict(&points, &clusters, &[[1.5f32], [34.0], [70.0]])?;
    /// assert_eq!(new.labels, [0, 1, -1]);
    /// assert_eq!(new.probabilities, [1.0, 0.5, 0.0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn predict<T: Bounded<S, D>, U: Bounded<S, D>, S: Scalar, const D: usize>(
        &self,
        points: &[T],
        clusters: &HdbscanClusters,
        new: &[U],
    ) -> Result<HdbscanPrediction> {
        guarded(|| {
            self.check()?;
            let space = Space::<D>::periodic(self.size.clone())?;
            check(new, &space)?;
            let len = points.len();
            let samples = self.prediction_samples(clusters.probabilities().len(), len)?;
            let bvh = Bvh::build_in(points, space)?;
            let near = bvh.nearest_all(new, 2 * samples);
            // Core distances are needed only for the candidates.
            let mut asked: Vec<u32> = collected(near.values().iter().map(|near| near.index));
            asked.sort_unstable();
            asked.dedup();
            let places: Vec<_> = collected(asked.iter().map(|&i| points[i as usize].bounds()));
            let mut core2 = zeroed(len);
            for (&i, nearest) in asked.iter().zip(bvh.nearest_all(&places, samples).iter()) {
                core2[i as usize] = nearest.last().map_or(0.0, |last| last.distance2);
            }
            let place = |near: &[Neighbor]| self.place(clusters, near, samples, &core2);
            let (mut labels, mut probabilities) = (with_capacity(near.len()), with_capacity(near.len()));
            near.iter().map(place).for_each(|(label, probability)| {
                labels.push(label);
                probabilities.push(probability);
            });
            Ok(HdbscanPrediction { labels, probabilities })
        })
    }

    /// The number of samples to use, for clusters of `len` points.
    ///
    /// Errors: another number of points; more samples than points.
    pub(crate) fn prediction_samples(&self, len: usize, points: usize) -> Result<usize> {
        if len != points {
            return Err(Error::length("labels", len, points));
        }
        let samples = self.samples(len);
        if samples > len.max(1) {
            let (name, value) = ("min_samples", samples as f64);
            return Err(Error::parameter_must(name, value, "at most the number of points"));
        }
        Ok(samples)
    }

    /// The label and the probability of a point with the neighbours `near`.
    fn place(&self, clusters: &HdbscanClusters, near: &[Neighbor], samples: usize, core2: &[f64]) -> (i32, f64) {
        let own2 = if samples > 1 { near.get(samples - 2).map_or(0.0, |last| last.distance2) } else { 0.0 };
        let weight2 =
            |near: &Neighbor| (near.distance2 / (self.alpha * self.alpha)).max(own2).max(core2[near.index as usize]);
        let least = near.iter().map(|near| (weight2(near), near.index)).min_by(|a, b| a.0.total_cmp(&b.0));
        least.map_or((-1, 0.0), |(weight2, neighbor)| clusters.joined(neighbor as usize, weight2))
    }
}

impl HdbscanClusters {
    /// The label and the probability of a new point that joins the tree at `neighbor`, by an edge of a squared weight.
    pub(crate) fn joined(&self, neighbor: usize, weight2: f64) -> (i32, f64) {
        let tree = self.condensed_tree();
        let mut cluster = tree.cluster(neighbor);
        if tree.weight2[neighbor] < weight2 {
            while let Some(parent) = tree.clusters[cluster as usize].parent
                && tree.clusters[cluster as usize].birth2 <= weight2
            {
                cluster = parent;
            }
        }
        let lambda = lambda(weight2);
        let chosen = self.members.of(cluster, lambda.min(tree.lambda(neighbor))).map(|chosen| &tree.clusters[chosen]);
        match chosen.and_then(|chosen| Some((chosen.label?, chosen.death))) {
            Some((label, death)) => (label as i32, probability(lambda, death)),
            None => (-1, 0.0),
        }
    }
}
