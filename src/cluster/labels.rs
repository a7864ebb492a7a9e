//! Cluster labels of points.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::cluster::errors;
use crate::error::{Error, Result};
use crate::memory::collected;
use crate::parallel::{atomics, for_tasks, map_tasks, plain};

/// The maximum number of clusters. Labels are `i32`; negative ones mean no cluster.
const MOST_CLUSTERS: usize = i32::MAX as usize;

/// Returns an error if there are more clusters than labels can represent. Called before clusters are numbered.
pub fn check_clusters(clusters: usize) -> Result<()> {
    if clusters > MOST_CLUSTERS {
        return Err(errors::too_many_clusters(clusters, MOST_CLUSTERS));
    }
    Ok(())
}

/// The cluster number of each point, or none.
///
/// ```
/// use ropewalk::Fof;
///
/// let halos = Fof::new(0.5).run(&[[0.0f32], [9.0], [0.5], [1.0]])?;
/// let labels = halos.labels();
/// assert_eq!(labels.as_slice(), [0, -1, 0, 0]);
/// assert_eq!((labels.get(1), labels.get(2)), (None, Some(0)));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(into = "Stored", try_from = "Stored")
)]
pub struct Labels {
    labels: Vec<i32>,
    n_clusters: u32,
    /// A bit per point, set for core points; `None` if every labelled point is core.
    core: Option<Vec<u64>>,
}

crate::brief::brief_debug!(Labels, lists: [labels], others: [n_clusters]);

impl Labels {
    /// Creates labels from those of another algorithm: a cluster number for each point.
    ///
    /// Negative numbers mean no cluster and become -1. Other numbers are kept, even if some are unused. Every point
    /// with a cluster counts as core.
    ///
    /// # Errors
    /// A number that is not less than the number of points.
    ///
    /// # Example
    ///
    /// ```
    /// use ropewalk::{Halos, Labels};
    ///
    /// let labels = Labels::from_slice(&[1, -1, 1, 0])?;
    /// assert_eq!((labels.n_clusters(), labels.get(1)), (2, None));
    /// let halos = Halos::new(labels, 2);
    /// assert_eq!((halos.len(), halos.members(0)), (1, &[0, 2][..]));
    /// assert!(Labels::from_slice(&[0, 2]).unwrap_err().to_string().contains("point 1"));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn from_slice(labels: &[i32]) -> Result<Self> {
        let points = labels.len();
        let max = u32::MAX as usize - 1;
        if points > max {
            return Err(Error::too_many_points(points, max));
        }
        let too_large = |label: &i32| usize::try_from(*label).is_ok_and(|label| label >= points);
        if let Some(point) = labels.iter().position(too_large) {
            return Err(errors::label(point, labels[point], points));
        }
        // Every negative label means no cluster.
        let labels: Vec<i32> = collected(labels.iter().map(|&label| label.max(-1)));
        let n_clusters = labels.iter().map(|&label| (i64::from(label) + 1) as u32).max().unwrap_or(0);
        Ok(Self { labels, n_clusters, core: None })
    }

    pub(crate) fn from_parts(labels: Vec<i32>, n_clusters: u32, core: Option<Vec<u64>>) -> Self {
        Self { labels, n_clusters, core }
    }

    /// A bit per point, set for core points; `None` if every labelled point is core.
    #[cfg(feature = "gpu")]
    pub(crate) fn core(&self) -> Option<&[u64]> {
        self.core.as_deref()
    }

    /// Returns `true` if point `i` is core. Every point of a friends-of-friends group is core.
    pub fn is_core(&self, i: usize) -> bool {
        match &self.core {
            Some(core) => core.get(i / 64).is_some_and(|word| word >> (i % 64) & 1 == 1),
            None => self.get(i).is_some(),
        }
    }

    /// Returns the cluster of point `i`; `None` if the point has no cluster or does not exist.
    pub fn get(&self, i: usize) -> Option<u32> {
        self.labels.get(i).and_then(|&label| u32::try_from(label).ok())
    }

    /// Returns the number of clusters. They are numbered `0..n_clusters()`.
    pub fn n_clusters(&self) -> usize {
        self.n_clusters as usize
    }

    /// Returns one label per point, in the order of the points as they were given; -1 means no cluster, as in
    /// scikit-learn.
    pub fn as_slice(&self) -> &[i32] {
        &self.labels
    }

    /// Returns the labels of [`Labels::as_slice`] without copying them.
    pub fn into_vec(self) -> Vec<i32> {
        self.labels
    }

    /// Returns the number of points without a cluster.
    pub fn n_noise(&self) -> usize {
        let noise = |range: Range<usize>| self.labels[range].iter().filter(|&&label| label < 0).count();
        map_tasks(self.labels.len(), 1 << 16, &noise).into_iter().sum()
    }

    /// Returns the number of points of each cluster.
    pub fn sizes(&self) -> Vec<usize> {
        collected(self.sizes_u32().into_iter().map(|size| size as usize))
    }

    /// The number of points of each cluster in half the memory: there are fewer than 2^32 points.
    pub(crate) fn sizes_u32(&self) -> Vec<u32> {
        let sizes = atomics(self.n_clusters(), 0);
        for_tasks(self.labels.len(), 1 << 16, &|range| {
            let mut counter = SizeCounter::new(&sizes);
            self.labels[range]
                .iter()
                .filter_map(|&label| u32::try_from(label).ok())
                .for_each(|number| counter.add(number));
        });
        plain(sizes)
    }
}

/// Counts the points of clusters for one task. Buffers the counts of recent clusters, so that many points of one
/// cluster need few atomic additions.
pub(crate) struct SizeCounter<'a> {
    sizes: &'a [AtomicU32],
    /// Pairs of a cluster and its number of points that are not yet added to `sizes`.
    recent: [(u32, u32); 256],
}

impl<'a> SizeCounter<'a> {
    pub fn new(sizes: &'a [AtomicU32]) -> Self {
        Self { sizes, recent: [(0, 0); 256] }
    }

    #[inline(always)]
    pub fn add(&mut self, cluster: u32) {
        let (of, count) = &mut self.recent[cluster as usize % 256];
        if *of != cluster {
            if *count > 0 {
                self.sizes[*of as usize].fetch_add(*count, Relaxed);
            }
            (*of, *count) = (cluster, 0);
        }
        *count += 1;
    }
}

impl Drop for SizeCounter<'_> {
    fn drop(&mut self) {
        for (of, count) in self.recent.into_iter().filter(|&(_, count)| count > 0) {
            self.sizes[of as usize].fetch_add(count, Relaxed);
        }
    }
}

/// The serialized form of [`Labels`].
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
struct Stored {
    labels: Vec<i32>,
    /// A flag per point, `true` for core points; `None` if every labelled point is core.
    core: Option<Vec<bool>>,
}

#[cfg(feature = "serde")]
impl From<Labels> for Stored {
    fn from(labels: Labels) -> Self {
        let core = labels.core.is_some().then(|| (0..labels.labels.len()).map(|i| labels.is_core(i)).collect());
        Self { labels: labels.labels, core }
    }
}

#[cfg(feature = "serde")]
impl TryFrom<Stored> for Labels {
    type Error = crate::Error;

    fn try_from(stored: Stored) -> Result<Self> {
        let mut labels = Self::from_slice(&stored.labels)?;
        let points = stored.labels.len();
        if let Some(core) = stored.core {
            if core.len() != points {
                return Err(Error::length("core flags", core.len(), points));
            }
            let word = |flags: &[bool]| flags.iter().rev().fold(0, |word, &flag| word << 1 | u64::from(flag));
            labels.core = Some(collected(core.chunks(64).map(word)));
        }
        Ok(labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_below_none_are_none() {
        for none in [-1, -2, i32::MIN] {
            let labels = Labels::from_slice(&[0, none, 1]).unwrap();
            assert_eq!((labels.as_slice(), labels.n_clusters(), labels.n_noise()), (&[0, -1, 1][..], 2, 1));
            assert_eq!(Labels::from_slice(&[none; 3]).unwrap().n_clusters(), 0);
        }
    }

    /// Too many clusters are rejected by their number alone.
    #[test]
    fn clusters_have_labels() {
        for clusters in [0, 1, i32::MAX as usize] {
            assert!(check_clusters(clusters).is_ok());
        }
        for clusters in [1 << 31, u32::MAX as usize - 1] {
            let message = check_clusters(clusters).unwrap_err().to_string();
            assert!(message.contains(&clusters.to_string()) && message.contains("2147483647"), "{message}");
        }
    }
}
