//! The stackless walk in kernels: the GPU counterpart of `bvh::traverse`.
//!
//! In: a tree, queries, and a [`LeafVisitor`](visitor::LeafVisitor). Out: the visitor's output for the points within
//! each query's radius.
//! Each thread has a query. First a thread walks along the ropes (`rope_walk`) for a group of 32 queries, and lists
//! runs of points near them (`runs`). Then the 32 threads of a warp compare the points of these runs with all their
//! queries at once (`packet`, `sweep`). A group near very many points walks by itself: its threads test 32 nodes at a
//! time (`walk`, `windows`). Few queries walk in the same way, and so do walks in which some nodes need only one hit.
//! Without warps each thread walks alone.
//! Source: Prokopenko and Lebrun-Grandié 2024 (ropes).
//!
//! **Launch contract.** The kernels of this folder have no bounds checks. They rely on the following:
//! - Ropes and first points are those of a valid tree, so they stay within its nodes and points.
//! - A rope leads forward, so each walk ends after at most one step per node.
//! - A thread without a query only takes part in votes.
//! - A visitor indexes its buffers only by the queries and positions that it receives.
//!
//! A public [`Visitor`](crate::gpu::Visitor) receives values and never a buffer, so it cannot violate the last rule.
//! But a barrier in it would hang. If it indexes an array of its own out of bounds, the access is unchecked, as in
//! every kernel of cubecl.

pub(in crate::gpu) mod feed;
pub(in crate::gpu) mod hits;
pub(in crate::gpu) mod launch;
pub(in crate::gpu) mod list;
pub(in crate::gpu) mod packet;
pub(in crate::gpu) mod queries;
pub(in crate::gpu) mod query_boxes;
pub(in crate::gpu) mod rope_walk;
pub(in crate::gpu) mod runs;
pub(in crate::gpu) mod spec;
pub(in crate::gpu) mod sweep;
pub(in crate::gpu) mod sweep_rows;
pub(in crate::gpu) mod visitor;
pub(in crate::gpu) mod walk;
pub(in crate::gpu) mod windows;
