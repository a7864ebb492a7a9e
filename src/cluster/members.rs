//! The members of each cluster, as lists.
//!
//! In: a label for each point. Out: the clusters that are large enough, largest first, ties by their number. The
//! members of each cluster are in ascending order.
//! The ranked clusters are divided into parts of consecutive clusters, each with about a thousandth of the listed
//! points. A stable radix split sorts the points by part. A cluster of that size is a part of its own, and its list is
//! then complete. The lists of the other parts are filled part by part, within a cache. With at most two threads there
//! is one part, because one thread is as fast.
//! Cost: O(n); each point is read three times. Memory beside the result: 6 bytes per point, less 4 for each listed
//! point, 6 bytes per cluster, and 8 per listed cluster.

use std::sync::atomic::{AtomicU16, AtomicU32, Ordering::Relaxed};

use rayon::current_num_threads;

use crate::bvh::radix_sort::{Buckets, FIRST_BITS, Source, cut};
use crate::cancel::check_at;
use crate::cluster::labels::Labels;
use crate::memory::{collected, with_capacity, zeroed};
use crate::parallel::{Scratch, for_each, for_tasks, list_tasks, map, sort};

/// A part ends once it holds 1/`PARTS` of the listed points, so there are at most this many parts.
const PARTS: usize = 1000;
/// Points per parallel task.
const TASK: usize = 1 << 15;

/// Clusters with their members.
pub(crate) struct ClusterLists {
    pub clusters: Vec<u32>,
    /// The start of each cluster's members, and the end of the last.
    pub offsets: Vec<usize>,
    pub members: Vec<u32>,
}

/// The members of the clusters with at least `min_members` members, where `min_members` is at least 1. `sizes` are the
/// sizes of all clusters.
pub(crate) fn of_clusters(labels: &Labels, sizes: &[u32], min_members: usize) -> ClusterLists {
    let (clusters, offsets) = ranked_clusters(sizes, min_members);
    let end = offsets[clusters.len()];

    // The first list of each part.
    let is_split = current_num_threads() > 2;
    let least = end.div_ceil(if is_split { PARTS } else { 1 }).max(1);
    let mut firsts = vec![];
    for (list, &offset) in offsets[..clusters.len()].iter().enumerate() {
        if firsts.last().is_none_or(|&first: &usize| offset - offsets[first] >= least) {
            firsts.push(list);
        }
    }
    firsts.push(clusters.len());

    // The part of each cluster, and the place of its next member within the part.
    let part_of: Vec<AtomicU16> = zeroed(labels.n_clusters());
    let next: Vec<AtomicU32> = zeroed(labels.n_clusters());
    for_tasks(firsts.len() - 1, 1, &|part| {
        let lists = firsts[part.start]..firsts[part.end];
        for (cluster, offset) in clusters[lists.clone()].iter().zip(&offsets[lists.clone()]) {
            part_of[*cluster as usize].store(part.end as u16, Relaxed);
            next[*cluster as usize].store((offset - offsets[lists.start]) as u32, Relaxed);
        }
    });
    let parts = PartKeys { labels: labels.as_slice(), part_of: &part_of };
    let append_member = |point: u32, members: &mut [u32]| {
        // Only one thread fills a cluster, so no update is lost between load and store.
        let slot = &next[parts.labels[point as usize] as usize];
        let to = slot.load(Relaxed);
        slot.store(to + 1, Relaxed);
        members[to as usize] = point;
    };
    if !is_split {
        let mut members = zeroed(end);
        for point in (0..parts.len()).filter(|&point| parts.item(point) > 0) {
            check_at(point);
            append_member(point as u32, &mut members);
        }
        return ClusterLists { clusters, offsets, members };
    }

    let mut members = Buckets::split(&parts).index;
    members.truncate(end);
    members.shrink_to_fit();
    let lengths: Vec<usize> = firsts.windows(2).map(|part| offsets[part[1]] - offsets[part[0]]).collect();
    let scratch = Scratch::<Vec<u32>>::new(Vec::new);
    for_each(cut(&mut members, &lengths), &|part, members| {
        if firsts[part + 1] - firsts[part] == 1 {
            return;
        }
        scratch.with(|split| {
            split.clear();
            split.extend_from_slice(members);
            split.iter().for_each(|&point| append_member(point, members));
        });
    });
    ClusterLists { clusters, offsets, members }
}

/// The clusters with at least `min_members` members, largest first, and the offsets of their lists: each start, then
/// the last end.
fn ranked_clusters(sizes: &[u32], min_members: usize) -> (Vec<u32>, Vec<usize>) {
    let mut ranked = list_tasks(sizes.len(), TASK, &|clusters| {
        let clusters = (clusters.start as u32..).zip(&sizes[clusters]);
        let large_enough = clusters.filter(|&(_, &size)| size as usize >= min_members);
        collected(large_enough.map(|(cluster, size)| u64::from(u32::MAX - size) << 32 | u64::from(cluster)))
    });
    sort(&mut ranked);
    let clusters = map(ranked.len(), TASK, &|at| ranked[at] as u32);
    let mut offsets = with_capacity(ranked.len() + 1);
    let mut end = 0;
    for rank in ranked {
        offsets.push(end);
        end += (u32::MAX - (rank >> 32) as u32) as usize;
    }
    offsets.push(end);
    (clusters, offsets)
}

/// The points as a radix-sort source, keyed by the part of their cluster.
struct PartKeys<'a> {
    labels: &'a [i32],
    /// The number of each cluster's part, counted from 1; 0 for a cluster that is not listed.
    part_of: &'a [AtomicU16],
}

impl Source for PartKeys<'_> {
    type Item = u16;

    fn len(&self) -> usize {
        self.labels.len()
    }
    fn bits(&self) -> u32 {
        FIRST_BITS
    }
    #[inline(always)]
    fn item(&self, index: usize) -> u16 {
        usize::try_from(self.labels[index]).map_or(0, |cluster| self.part_of[cluster].load(Relaxed))
    }
    fn prefetch(&self, _index: usize) {}
    fn codes(&self, items: &[u16], codes: &mut [u64]) {
        // Points without a list come last.
        codes
            .iter_mut()
            .zip(items)
            .for_each(|(code, part)| *code = u64::from(part.wrapping_sub(1)) % (1 << FIRST_BITS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds the lists one point at a time.
    fn expected(labels: &Labels, min_members: usize) -> Vec<(u32, Vec<u32>)> {
        let mut lists: Vec<(u32, Vec<u32>)> =
            (0..labels.n_clusters() as u32).map(|cluster| (cluster, vec![])).collect();
        for (point, &label) in labels.as_slice().iter().enumerate() {
            if label >= 0 {
                lists[label as usize].1.push(point as u32);
            }
        }
        lists.retain(|(_, list)| list.len() >= min_members);
        lists.sort_by_key(|(_, list)| std::cmp::Reverse(list.len()));
        lists
    }

    #[test]
    fn lists_are_those_made_one_by_one() {
        let mut state = 1u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let pools = [1, 5].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap());
        for n in [0, 1, 2, 1000, 200_000] {
            // Cases: one cluster per point; pairs; few clusters; one cluster of nearly all points; clusters of many
            // sizes.
            let mut clouds: Vec<Vec<i32>> = vec![(0..n).collect(), (0..n).map(|i| i / 2).collect()];
            clouds.push((0..n).map(|_| random(5).min(n as u64 - 1) as i32 - 1).collect());
            clouds.push((0..n).map(|_| random(n as u64) as i32 * i32::from(random(50) == 0)).collect());
            clouds.push((0..n).map(|_| (n as f64).powf(random(1000) as f64 / 1000.0) as i32 - 2).collect());
            for labels in clouds {
                let labels = Labels::from_slice(&labels).unwrap();
                for (min_members, pool) in
                    [1, 2, 20, 5000].into_iter().flat_map(|least| pools.each_ref().map(|pool| (least, pool)))
                {
                    let found = pool.install(|| of_clusters(&labels, &labels.sizes_u32(), min_members));
                    let lists = found.clusters.iter().zip(found.offsets.windows(2));
                    let lists = lists.map(|(&cluster, list)| (cluster, found.members[list[0]..list[1]].to_vec()));
                    let threads = pool.current_num_threads();
                    assert!(
                        lists.eq(expected(&labels, min_members)),
                        "{n} points, {min_members} members, {threads} threads"
                    );
                    assert_eq!(found.offsets.last(), Some(&found.members.len()));
                }
            }
        }
    }
}
