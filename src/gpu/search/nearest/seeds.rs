//! Upper bounds on the distance from each query of a warp to its k-th nearest neighbour.
//!
//! In: the stored points as queries. Out: for each the limit of rounded squared distances with which a search finds its
//! `k` nearest neighbours, and others.
//! A thread compares its query with 96 points around its warp in tree order. They belong in turn to more than `k`
//! classes, of which the thread keeps the least distance each. The `k`-th of these is the bound, because `k` points are
//! at most so far away. For 10 neighbours and 20 classes it is about the 13th of the 96 distances. To find the 10th
//! itself takes three times as many instructions.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract of `nearest`.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::packet::packet_around;
use crate::gpu::bvh::traverse::query_boxes::new_boxes;
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::primitives::warp::WIDTH;
use crate::gpu::search::nearest::arguments::{KnnSpec, Search};
use crate::gpu::search::nearest::limits::ApproxLimits;

/// Threads per block.
pub(super) const SEED_THREADS: u32 = 128;

/// The number of points around a warp that are compared: its own, and as many on both sides.
pub(super) const NEARBY: u32 = 3 * WIDTH;

/// Writes the limit of each query to its two filters. There are at least [`NEARBY`] points.
#[cube(launch_unchecked)]
pub(super) fn seed_limits<F: Float>(
    tree: &Tree<F>,
    search: &Search<F>,
    approx: &ApproxLimits<F>,
    filters: &mut Array<F>,
    #[comptime] spec: KnnSpec,
) {
    let n = search.queries.n;
    let unit = ABSOLUTE_POS as u32;
    // All threads of a warp must take part, so surplus threads repeat the last query.
    let query = min(unit, n - 1);
    let point = search.queries.point(query, comptime!(spec.d));
    // One more if a point is left out, which may be among those around.
    let k = comptime!(spec.k + usize::from(spec.excludes_self || spec.excludes_index));
    // More classes give a lower bound, and take more instructions to select from.
    let classes = comptime!((k + k.min(16)).min(NEARBY as usize));
    let mut least = Array::<F>::new(classes);
    let (d, periodic, warp) = comptime!((spec.d, spec.periodic, spec.warp));
    // Nothing is compared with the boxes around the queries.
    let mut packet = packet_around::<F>(new_boxes::<F>(d, periodic), comptime!(warp.units(SEED_THREADS)), warp);
    let begin = min(max(query / WIDTH * WIDTH, WIDTH) - WIDTH, n - NEARBY);
    #[unroll]
    for part in 0..3usize {
        packet.enqueue_all(tree, begin + comptime!(part as u32 * WIDTH), WIDTH.runtime());
        packet.share();
        #[unroll]
        for i in 0..WIDTH {
            let d2 = packet.distance2(i, &point, &tree.sides);
            let at = comptime!(part * 32 + i as usize);
            if comptime!(at < classes) {
                least[at] = d2;
            } else {
                least[comptime!(at % classes)] = least[comptime!(at % classes)].min(d2);
            }
        }
        packet.advance();
    }
    // The k-th least is the least of those that remain without the k - 1 least ones.
    let kept = comptime!(classes - k + 1);
    let mut greatest = Array::<F>::new(kept);
    #[unroll]
    for class in 0..classes {
        let mut value = least[class];
        if comptime!(class < kept) {
            #[unroll]
            for place in 0..class {
                let held = greatest[place];
                greatest[place] = held.min(value);
                value = held.max(value);
            }
            greatest[class] = value;
        } else {
            value = value.max(greatest[0]);
            #[unroll]
            for place in 1..kept {
                let held = greatest[place];
                greatest[comptime!(place - 1)] = held.min(value);
                value = held.max(value);
            }
            greatest[comptime!(kept - 1)] = value;
        }
    }
    if unit < n {
        let limit = approx.after(greatest[0], periodic);
        filters[2 * query as usize] = limit;
        filters[2 * query as usize + 1] = limit;
    }
}
