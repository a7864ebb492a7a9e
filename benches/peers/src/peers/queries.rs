//! Queries in parallel, and answers of their results.

use rayon::prelude::*;

use crate::answer::Answer;
use crate::peer::Done;

/// Queries per parallel task.
pub const TASK: usize = 1 << 10;

/// A count for each query.
pub fn counts<Q: Sync>(queries: &[Q], count: impl Fn(&Q) -> u32 + Sync + Send) -> Vec<u32> {
    queries.par_iter().with_min_len(TASK).map(count).collect()
}

/// A density for each query.
pub fn densities<Q: Sync>(queries: &[Q], density: impl Fn(&Q) -> f64 + Sync + Send) -> Vec<f64> {
    queries.par_iter().with_min_len(TASK).map(density).collect()
}

/// `k` neighbours for each query, index and squared distance. `find` writes those of one, nearest first.
pub fn nearest<Q: Sync>(queries: &[Q], k: usize, find: impl Fn(&Q, &mut [(u32, f32)]) + Sync) -> Vec<(u32, f32)> {
    let mut found = vec![(0, 0.0); queries.len() * k];
    found.par_chunks_mut(TASK * k).zip(queries.par_chunks(TASK)).for_each(|(found, queries)| {
        for (slots, query) in found.chunks_mut(k).zip(queries) {
            find(query, slots);
        }
    });
    found
}

/// Writes what comes into the slots.
pub fn fill(slots: &mut [(u32, f32)], found: impl Iterator<Item = (u32, f32)>) {
    for (slot, found) in slots.iter_mut().zip(found) {
        *slot = found;
    }
}

/// An answer with the sum of the counts, computed after the clock stops.
pub fn counted<'a>(counts: Vec<u32>) -> Done<'a> {
    Box::new(move || Answer::neighbors(&counts))
}

/// An answer with the sum of the distances, computed after the clock stops.
pub fn found<'a>(found: Vec<(u32, f32)>) -> Done<'a> {
    Box::new(move || Answer::distances(found.iter().map(|&(_, square)| square)))
}
