//! Parallel queries, and answers from their results.

use rayon::prelude::*;

use crate::answer::Answer;
use crate::peer::FinishedRun;

/// The number of queries per parallel task.
pub const TASK: usize = 1 << 10;

/// Returns a count for each query.
pub fn counts<Q: Sync>(queries: &[Q], count: impl Fn(&Q) -> u32 + Sync + Send) -> Vec<u32> {
    queries.par_iter().with_min_len(TASK).map(count).collect()
}

/// Returns a density for each query.
pub fn densities<Q: Sync>(queries: &[Q], density: impl Fn(&Q) -> f64 + Sync + Send) -> Vec<f64> {
    queries.par_iter().with_min_len(TASK).map(density).collect()
}

/// Returns `k` neighbours for each query, as index and squared distance. `find` writes the neighbours of one query,
/// nearest first.
pub fn nearest<Q: Sync>(queries: &[Q], k: usize, find: impl Fn(&Q, &mut [(u32, f32)]) + Sync) -> Vec<(u32, f32)> {
    let mut found = vec![(0, 0.0); queries.len() * k];
    found.par_chunks_mut(TASK * k).zip(queries.par_chunks(TASK)).for_each(|(found, queries)| {
        for (slots, query) in found.chunks_mut(k).zip(queries) {
            find(query, slots);
        }
    });
    found
}

/// Copies items to the slots.
pub fn fill(slots: &mut [(u32, f32)], found: impl Iterator<Item = (u32, f32)>) {
    for (slot, found) in slots.iter_mut().zip(found) {
        *slot = found;
    }
}

/// Returns the sum of counts as an answer, computed after the clock has stopped.
pub fn counted<'a>(counts: Vec<u32>) -> FinishedRun<'a> {
    Box::new(move || Answer::neighbors(&counts))
}

/// Returns the sum of distances as an answer, computed after the clock has stopped.
pub fn found<'a>(found: Vec<(u32, f32)>) -> FinishedRun<'a> {
    Box::new(move || Answer::distances(found.iter().map(|&(_, square)| square)))
}
