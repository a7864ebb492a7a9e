//! Batches of queries, processed in parallel and in an order in which consecutive queries meet the same nodes.
//!
//! Input: queries, and their processing order unless it is the storage order. Output: one result per query, in
//! storage order.
//! The queries of a task are gathered before it begins, so that the processor waits for many of them at once instead
//! of one after another.

use crate::memory::{filled, with_capacity};
use crate::parallel::{fill, map_tasks};

/// Returns the results of `work`, which gets some queries and a slice for their results.
pub(super) fn run_ordered<Q: Copy + Sync, T: Copy + Default + Send + Sync>(
    queries: &[Q],
    order: Option<&[u32]>,
    task: usize,
    work: &(dyn Fn(&[Q], &mut [T]) + Sync),
) -> Vec<T> {
    let mut all = with_capacity(queries.len());
    all.resize(queries.len(), T::default());
    let Some(order) = order else {
        fill(&mut all, task, &|range, own| work(&queries[range], own));
        return all;
    };
    let found = map_tasks(order.len(), task, &|range| {
        let own: Vec<Q> = order[range].iter().map(|&query| queries[query as usize]).collect();
        let mut found = filled(own.len(), T::default());
        work(&own, &mut found);
        found
    });
    for (&query, found) in order.iter().zip(found.into_iter().flatten()) {
        all[query as usize] = found;
    }
    all
}
