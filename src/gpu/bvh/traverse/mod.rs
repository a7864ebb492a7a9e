//! The stackless walk in kernels: the twin of `bvh::traverse`.
//!
//! In: a tree, queries, and a [`LeafVisitor`](visitor::LeafVisitor). Out: what the visitor makes of the points within each query's
//! radius. A unit has a query. The 32 units of a warp walk together: they test 32 nodes at a time (`windows`), and compare the points
//! of leaves with all their queries at once (`packet`). Without warps each unit walks for itself, rope by rope (`rope_walk`).
//! Source: Prokopenko and Lebrun-Grandié 2024 (ropes).
//!
//! **Launch contract.** The kernels of this folder have no bounds checks. They rely on this: ropes and first points are those of a
//! valid tree, so they stay within its nodes and points; a rope leads forward, so each walk ends after at most one step a node; a
//! unit without a query takes part in votes only; and a visitor indexes its buffers by queries and positions it is given.
//! A public [`Visitor`](crate::gpu::Visitor) receives values and never a buffer, so it cannot leave them; but a barrier in it would
//! hang, and an array of its own that it indexes out of bounds is unchecked, as in every kernel of cubecl.

pub(in crate::gpu) mod hits;
pub(in crate::gpu) mod launch;
pub(in crate::gpu) mod packet;
pub(in crate::gpu) mod rope_walk;
pub(in crate::gpu) mod spec;
pub(in crate::gpu) mod visitor;
pub(in crate::gpu) mod walk;
pub(in crate::gpu) mod windows;
