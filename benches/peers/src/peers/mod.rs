//! The libraries. Each answers with the same: a count per query, k indices and squared distances per query, a label per
//! point. In the caller's order, except where a peer is given its queries along a Morton curve and may answer so.

mod boxes;
mod clustering;
mod diy;
mod kd_trees;
mod kiddo;
mod queries;
mod ropewalk;
mod rstar;

use crate::peer::Peer;

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
