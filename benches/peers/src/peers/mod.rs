//! The libraries. Each answers with the same: a count per query, k indices and squared distances per query, a label per
//! point. In the caller's order, except where a peer is given its queries along a Morton curve and may answer so.

mod boxes;
mod clustering;
mod diy;
mod kd_trees;
mod kiddo;
mod ropewalk;
mod rstar;

use rayon::prelude::*;

use crate::answer::Answer;
use crate::race::{Done, Peer};

/// Queries per parallel task.
const TASK: usize = 1 << 10;

/// All, ropewalk first.
pub const PEERS: &[&dyn Peer] = &[
    &ropewalk::Ropewalk,
    &kiddo::Kiddo { sorted: true },
    &kiddo::Kiddo { sorted: false },
    &rstar::Rstar,
    &kd_trees::Nabo,
    &kd_trees::Fnntw,
    &kd_trees::KdTree,
    &boxes::Parry,
    &boxes::Bvh,
    &diy::Diy,
    &clustering::Linfa,
    &clustering::Petal,
    &clustering::HdbscanRs,
];

/// A count for each query.
fn counts<Q: Sync>(queries: &[Q], count: impl Fn(&Q) -> u32 + Sync + Send) -> Vec<u32> {
    queries.par_iter().with_min_len(TASK).map(count).collect()
}

/// A density for each query.
fn densities<Q: Sync>(queries: &[Q], density: impl Fn(&Q) -> f64 + Sync + Send) -> Vec<f64> {
    queries.par_iter().with_min_len(TASK).map(density).collect()
}

/// `k` neighbours for each query, index and squared distance. `find` writes those of one, nearest first.
fn nearest<Q: Sync>(queries: &[Q], k: usize, find: impl Fn(&Q, &mut [(u32, f32)]) + Sync) -> Vec<(u32, f32)> {
    let mut found = vec![(0, 0.0); queries.len() * k];
    found.par_chunks_mut(TASK * k).zip(queries.par_chunks(TASK)).for_each(|(found, queries)| {
        for (slots, query) in found.chunks_mut(k).zip(queries) {
            find(query, slots);
        }
    });
    found
}

/// Writes what comes into the slots.
fn fill(slots: &mut [(u32, f32)], found: impl Iterator<Item = (u32, f32)>) {
    for (slot, found) in slots.iter_mut().zip(found) {
        *slot = found;
    }
}

fn counted<'a>(counts: Vec<u32>) -> Done<'a> {
    Box::new(move || Answer::neighbors(&counts))
}

fn found<'a>(found: Vec<(u32, f32)>) -> Done<'a> {
    Box::new(move || Answer::distances(found.iter().map(|&(_, square)| square)))
}
