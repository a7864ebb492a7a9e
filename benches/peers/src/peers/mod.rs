//! The libraries. All return the same results: a count per query, k indices and squared distances per query, or a
//! label per point. Results are in the caller's order, except for peers that get their queries in Morton order and
//! may answer in that order.

mod boxes;
mod clustering;
mod diy;
mod kd_trees;
mod kiddo;
mod queries;
mod ropewalk;
mod rstar;

use crate::peer::Peer;

/// All peers, ropewalk first.
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
