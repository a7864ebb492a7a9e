//! The kernel that sweeps the runs of a group of queries.
//!
//! In: a tree, queries, the runs near each group of 32 of them (`runs`), and a visitor. Out: the visitor's output.
//! A warp takes 32 points of a run at a time, keeps those near the boxes around its queries, and compares 32 of these
//! with all queries at once.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract of `traverse`.

use cubecl::prelude::*;

use crate::gpu::buffer::THREADS_PER_BLOCK;
use crate::gpu::bvh::traverse::packet::{block_units, packet_around};
use crate::gpu::bvh::traverse::query_boxes::load_boxes;
use crate::gpu::bvh::traverse::runs::{Groups, RUNS, Runs, limits_of};
use crate::gpu::bvh::traverse::spec::{Queries, Tree, WalkSpec};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::traverse::walk::{compare_packet, radius_of};
use crate::gpu::metric::point_at;
use crate::gpu::primitives::warp::{WIDTH, warp_any};

/// Sweeps the runs of each of `n` queries, without those of heavy groups.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn sweep<F: Float, V: LeafVisitor>(
    tree: &Tree<F>,
    queries: &Queries<F>,
    groups: &Groups<F>,
    runs: &Runs,
    input: &V::Input,
    output: &mut V::Output,
    n: u32,
    #[comptime] spec: WalkSpec,
) {
    let unit = ABSOLUTE_POS as u32;
    // All threads of a warp must take part in votes, so surplus threads repeat the last query.
    let query = min(unit, n - 1);
    // Surplus warps repeat the last group.
    let group = query / WIDTH;
    let d = comptime!(spec.d);
    let warp = comptime!(spec.warp);
    let radius = radius_of::<F>(queries, query, comptime!(spec.own_radii));
    let point = point_at::<F>(&queries.axes, query, n, d);
    let state = V::start(input, output, query);
    let boxes = load_boxes::<F>(&groups.boxes, group, d, comptime!(spec.periodic));
    let limits = limits_of::<F>(groups, group, comptime!(spec.own_radii));
    let mut packet = packet_around::<F>(boxes, comptime!(warp.units(block_units(THREADS_PER_BLOCK, d))), warp);
    // Walks visit the points of a heavy group, and finish its queries.
    if !runs.is_heavy(group) {
        if comptime!(spec.warp_first || spec.half) {
            let first = group * WIDTH;
            let behind = min(first + WIDTH, n);
            packet.enqueue_all(tree, first, behind - first);
            if comptime!(spec.half) {
                // Two shifts, because a shift by 32 would shift by 0.
                packet.want_only((!0u32 << (query - first)) << 1);
            } else {
                packet.exclude(first, behind);
            }
            compare_packet::<F, V>(&state, input, output, tree, &point, &packet, &radius, spec);
            packet.advance();
        }
        V::after_points(&state, input, output, unit < n, warp);
        let count = runs.count(group);
        let mut run = 0u32.runtime();
        while run < count && warp_any(unit < n && V::is_open(&state, input), warp) {
            let range = runs.ranges[(group * RUNS + run) as usize];
            let (mut first, behind) = (range[0], range[1]);
            while first < behind {
                let wanted = !V::skips(&state, input, output, min(first + UNIT_POS % WIDTH, behind - 1));
                packet.enqueue_swept(tree, first, behind, &limits, wanted, comptime!(spec.warp_first));
                if packet.is_full() {
                    compare_packet::<F, V>(&state, input, output, tree, &point, &packet, &radius, spec);
                    packet.advance();
                    V::after_points(&state, input, output, unit < n, warp);
                }
                first += WIDTH;
            }
            run += 1;
        }
        packet.want_queued();
        compare_packet::<F, V>(&state, input, output, tree, &point, &packet, &radius, spec);
        if unit < n {
            V::finish(&state, input, output, query);
        }
    }
}
