//! Chains of hops across several ranks.
//!
//! In: the index that each point of a rank hops to, its own if it is a peak. Out: the peak of each point, as a vertex
//! of the rank that has the peak.
//! Each rank follows its points to a peak or to a ghost. The rank that owns a ghost reports where it hops to, and
//! pointers are jumped until all point to peaks.
//! Cost: O(log r) rounds of messages if a chain changes ranks r times; 12 bytes for each ghost at which a chain
//! leaves a rank.

use crate::cluster::hop::chains::resolve_paths;
use crate::distributed::communicator::{Reduction, reduce};
use crate::distributed::components::{request, vertex};
use crate::distributed::domain::Domain;
use crate::distributed::hop::neighborhood::Neighborhood;
use crate::error::Result;
use crate::geometry::Scalar;
use crate::memory::zeroed;
use crate::parallel::map;
use crate::phases::mark;

/// Points per parallel task.
const TASK: usize = 1 << 14;
/// The bit that marks a vertex as a peak.
const PEAK: u64 = 1 << 63;

/// The chains of this rank's points.
pub(super) struct Chains {
    /// The points of this rank that are peaks.
    pub peaks: Vec<u32>,
    /// The peak of each point: its rank in the high 32 bits, its index in that rank's `peaks` in the low ones, as
    /// encoded by [`vertex`](crate::distributed::components::vertex).
    pub roots: Vec<u64>,
}

/// Finds the peak at the end of each point's chain. `next` maps tree positions to tree positions. Collective.
pub(super) fn climb<S: Scalar, const D: usize>(
    domain: &Domain<'_, S, D>,
    near: &Neighborhood<S, D>,
    next: &[u32],
) -> Result<Chains> {
    let (ranks, n, order) = (domain.ranks, domain.points.len(), near.tree.order());
    // Hops by index; chains on this rank end at ghosts.
    let mut hops = zeroed(next.len());
    for (&index, &next) in order.iter().zip(next) {
        hops[index as usize] = if near.is_ghost[index as usize] { index } else { order[next as usize] };
    }
    let ends = resolve_paths(hops);

    let (own, ghosts) = near.index.split_at(n);
    let peaks: Vec<u32> = (0..n as u32).filter(|&row| ends[own[row as usize] as usize] == own[row as usize]).collect();
    let rows: Vec<u32> = (0..n as u32).collect();
    let rows = near.route.send(ranks, &rows)?;
    // For each index that ends a chain on this rank: the peak or point that the chain is known to lead to.
    let mut known = zeroed(ends.len());
    for (&row, number) in peaks.iter().zip(0..) {
        known[own[row as usize] as usize] = PEAK | vertex(ranks.rank(), number);
    }
    let mut is_used = zeroed(ends.len());
    own.iter().for_each(|&index| is_used[ends[index as usize] as usize] = true);
    let senders = near.route.received().iter().enumerate().flat_map(|(rank, &count)| std::iter::repeat_n(rank, count));
    let mut used = vec![];
    for ((&index, row), rank) in ghosts.iter().zip(rows).zip(senders) {
        if is_used[index as usize] {
            known[index as usize] = vertex(rank, row);
            used.push(index);
        }
    }
    drop(is_used);
    loop {
        let roots = map(n, TASK, &|row| known[ends[own[row] as usize] as usize]);
        let mut open: Vec<u64> = used.iter().map(|&index| known[index as usize]).filter(|at| at & PEAK == 0).collect();
        open.sort_unstable();
        open.dedup();
        if reduce(ranks, open.len() as u64, Reduction::Sum)? == 0 {
            mark("chains");
            let roots = roots.into_iter().map(|root| root & !PEAK).collect();
            return Ok(Chains { peaks, roots });
        }
        let answers = request(ranks, &open)?.send(ranks, &roots)?;
        for &index in &used {
            let known = &mut known[index as usize];
            if *known & PEAK == 0 {
                *known = answers[open.partition_point(|&other| other < *known)];
            }
        }
    }
}
