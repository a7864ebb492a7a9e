//! The result of HDBSCAN*: labels, probabilities, persistence, and the clusters of DBSCAN* at any distance.

use crate::cancel::guarded;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::tree::CondensedTree;
use super::{Hdbscan, Ties};
use crate::cluster::labels::Labels;
use crate::error::{Error, Result};
use crate::memory::{collected, filled, zeroed};
use crate::parallel::{atomics, fill, map, map_tasks, plain};
use crate::phases::mark;

/// Points per parallel task.
const TASK: usize = 1 << 12;
/// Marks a missing cluster.
const NONE: u32 = u32::MAX;

/// The clusters found by [`Hdbscan::run`].
#[derive(Clone, Default, PartialEq)]
pub struct HdbscanClusters {
    labels: Labels,
    probabilities: Vec<f64>,
    persistence: Vec<f64>,
    tree: CondensedTree,
    pub(super) members: ChosenClusters,
}

crate::brief::brief_debug!(HdbscanClusters, lists: [probabilities, persistence], others: [labels, tree]);

/// The chosen cluster of each cluster of the tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ChosenClusters {
    /// For each cluster of the tree, the chosen cluster that it is or lies in; or [`NONE`].
    pub chosen: Vec<u32>,
    /// The minimum lambda of a member if the root is the only cluster, else 0.
    pub least_lambda: f64,
}

impl ChosenClusters {
    pub fn new(tree: &CondensedTree, selected: &[bool], options: &Hdbscan) -> Self {
        let mut chosen = filled(selected.len(), NONE);
        for (at, cluster) in tree.clusters.iter().enumerate() {
            chosen[at] = match cluster.parent {
                _ if selected[at] => at as u32,
                Some(parent) => chosen[parent as usize],
                None => NONE,
            };
        }
        let mut least_lambda = 0.0;
        if selected.first() == Some(&true) {
            least_lambda = match options.epsilon {
                0.0 => tree.clusters[0].death,
                epsilon => 1.0 / epsilon,
            };
            // If other clusters are chosen as well, the root has no members of its own.
            if selected[1..].contains(&true) {
                chosen.iter_mut().filter(|chosen| **chosen == 0).for_each(|chosen| *chosen = NONE);
            }
        }
        Self { chosen, least_lambda }
    }

    /// The number of members of each chosen cluster; `chosen` holds the chosen cluster of each point.
    fn sizes(&self, tree: &CondensedTree, chosen: &[i32]) -> Vec<u32> {
        let mut sizes = zeroed(self.chosen.len());
        for (cluster, &chosen) in tree.clusters.iter().zip(&self.chosen) {
            let children = &tree.clusters[cluster.children.start as usize..cluster.children.end as usize];
            let below: u32 = children.iter().map(|child| child.size).sum();
            if let Some(size) = sizes.get_mut(chosen as usize) {
                *size += cluster.size - below;
            }
        }
        // Members of the root are only the points that stay long enough.
        if self.chosen.first() == Some(&0) {
            let count = |range: Range<usize>| chosen[range].iter().filter(|&&chosen| chosen == 0).count() as u32;
            sizes[0] = map_tasks(chosen.len(), TASK, &count).into_iter().sum();
        }
        sizes
    }

    /// Returns the chosen cluster of a point that leaves cluster `cluster` of the tree at `lambda`.
    pub fn of(&self, cluster: u32, lambda: f64) -> Option<usize> {
        let chosen = self.chosen[cluster as usize];
        (chosen != NONE && (chosen > 0 || lambda >= self.least_lambda)).then_some(chosen as usize)
    }
}

/// The membership probability of a point that leaves at `lambda`, in a cluster that ends at `death`.
pub(super) fn probability(lambda: f64, death: f64) -> f64 {
    if lambda.is_infinite() { 1.0 } else { lambda.min(death) / death }
}

/// Labels the `chosen` clusters in the given order and returns their persistence. `sizes` are the numbers of members.
pub(crate) fn label_chosen(tree: &mut CondensedTree, chosen: &[usize], sizes: &[u32]) -> Vec<f64> {
    let most = tree.clusters.iter().map(|cluster| cluster.death).fold(0.0, f64::max);
    let mut persistence = Vec::with_capacity(chosen.len());
    for (label, &chosen) in chosen.iter().enumerate() {
        let cluster = &mut tree.clusters[chosen];
        cluster.label = Some(label as u32);
        // If copies of a point make lambda infinite, persistence is 1, as in the package `hdbscan`.
        let share = cluster.stability / (f64::from(sizes[chosen]) * most);
        persistence.push(if most.is_infinite() { 1.0 } else { share });
    }
    persistence
}

impl HdbscanClusters {
    #[cfg(feature = "gpu")]
    pub(crate) fn from_parts(
        labels: Labels,
        probabilities: Vec<f64>,
        persistence: Vec<f64>,
        tree: CondensedTree,
        members: ChosenClusters,
    ) -> Self {
        Self { labels, probabilities, persistence, tree, members }
    }

    #[cfg(feature = "gpu")]
    pub(crate) fn into_parts(self) -> (Labels, Vec<f64>, Vec<f64>, CondensedTree, ChosenClusters) {
        (self.labels, self.probabilities, self.persistence, self.tree, self.members)
    }

    pub(super) fn new(mut tree: CondensedTree, selected: &[bool], options: &Hdbscan) -> Self {
        let members = ChosenClusters::new(&tree, selected, options);
        let n = tree.n_points();
        let of = |point: usize| {
            let lambda = tree.lambda(point);
            members.of(tree.cluster[point], lambda).map(|chosen| (chosen, lambda))
        };
        let smallest = atomics(selected.len(), NONE);
        let mut labels = map(n, TASK, &|point| {
            let Some((chosen, _)) = of(point) else { return -1 };
            // Most members are not the smallest, so a load avoids most writes.
            if (point as u32) < smallest[chosen].load(Relaxed) {
                smallest[chosen].fetch_min(point as u32, Relaxed);
            }
            chosen as i32
        });
        let probabilities = map(n, TASK, &|point| {
            of(point).map_or(0.0, |(chosen, lambda)| probability(lambda, tree.clusters[chosen].death))
        });
        let smallest = plain(smallest);
        let mut with_members: Vec<usize> = collected((0..smallest.len()).filter(|&at| smallest[at] != NONE));
        if options.ties == Ties::Together {
            with_members.sort_unstable_by_key(|&at| smallest[at]);
        }
        let sizes = members.sizes(&tree, &labels);
        let persistence = label_chosen(&mut tree, &with_members, &sizes);
        fill(&mut labels, TASK, &|_, own| {
            for label in own.iter_mut().filter(|label| **label >= 0) {
                *label = tree.clusters[*label as usize].label.map_or(-1, |label| label as i32);
            }
        });
        let labels = Labels::from_parts(labels, with_members.len() as u32, None);
        mark("labels");
        Self { labels, probabilities, persistence, tree, members }
    }

    /// Returns the cluster of each point, -1 for noise. Clusters are numbered by their smallest member, for
    /// [`Ties::Sequential`] as in scikit-learn.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Returns the membership probability of each point, from 0 to 1: its lambda over the maximum lambda of its
    /// cluster. 0 for noise; 1 if both are infinite.
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// Returns the persistence of each cluster: its stability over the product of its number of members and the maximum
    /// lambda of all clusters.
    ///
    /// 0 means that a cluster hardly exists. Values are at most 1, except for the root, because not all of its points
    /// are members. If the maximum lambda is infinite, all values are 1. Source: the Python package `hdbscan`.
    pub fn persistence(&self) -> &[f64] {
        &self.persistence
    }

    /// Returns the condensed tree from which the clusters are chosen.
    pub fn condensed_tree(&self) -> &CondensedTree {
        &self.tree
    }

    /// Finds the clusters of DBSCAN* with this inclusive `eps` and the same `min_samples`: core points linked by steps
    /// of at most `eps`. Clusters are numbered by their smallest member. Points that are not core and clusters of fewer
    /// than `min_cluster_size` points are noise. Cost: one pass over the points.
    ///
    /// # Errors
    /// An `eps` that is NaN or negative.
    ///
    /// # Example
    ///
    /// ```
    /// use ropewalk::Hdbscan;
    ///
    /// let clusters = Hdbscan::new(2).run(&[[0.0f32], [1.0], [9.0], [3.0]])?;
    /// assert_eq!(clusters.dbscan_labels(1.0)?.as_slice(), [0, 0, -1, -1]);
    /// assert_eq!(clusters.dbscan_labels(2.0)?.as_slice(), [0, 0, -1, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn dbscan_labels(&self, eps: impl Into<f64>) -> Result<Labels> {
        guarded(|| {
            let eps = eps.into();
            if eps.is_nan() || eps < 0.0 {
                return Err(Error::parameter_must("eps", eps, "non-negative"));
            }
            let (clusters, eps2) = (&self.tree.clusters, eps * eps);
            // For each cluster, the cluster that contains it once pieces within eps are merged.
            let mut whole: Vec<usize> = collected(0..clusters.len());
            for (at, cluster) in clusters.iter().enumerate() {
                if let Some(parent) = cluster.parent.filter(|_| cluster.birth2 <= eps2) {
                    whole[at] = whole[parent as usize];
                }
            }
            let (mut numbers, mut next) = (filled(clusters.len(), -1), 0);
            let label = |(&cluster, &weight2): (&u32, &f64)| {
                // A point joins other points of its cluster at this weight, not at smaller distances.
                if weight2 > eps2 || self.tree.is_too_small() {
                    return -1;
                }
                let number: &mut i32 = &mut numbers[whole[cluster as usize]];
                if *number < 0 {
                    *number = next;
                    next += 1;
                }
                *number
            };
            let labels = collected(self.tree.cluster.iter().zip(&self.tree.weight2).map(label));
            Ok(Labels::from_parts(labels, next as u32, None))
        })
    }
}
