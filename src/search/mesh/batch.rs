//! Many queries, in parallel and in an order in which neighbours in time meet the same nodes.
//!
//! In: queries, and their order if it is not theirs. Out: a result each, in the order of the queries.
//! A task's queries are gathered before it begins: the processor waits for many at once, where each would be waited for in its turn.

use crate::memory::{filled, with_capacity};
use crate::parallel::{fill, map_tasks};

/// The results of `work`, which is given some queries and room for as many results.
pub(super) fn in_turn<Q: Copy + Sync, T: Copy + Default + Send + Sync>(
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
