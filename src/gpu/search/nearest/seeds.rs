//! Upper bounds on the distance from each query of a warp to its k-th nearest neighbour.
//!
//! In: the stored points as queries. Out: for each the limit of rounded squared distances with which a search finds its
//! `k` nearest neighbours, and others.
//! A thread compares its query with 96 points around its warp in tree order, or with 192 for more than 64 neighbours. They
//! belong in turn to more than `k` classes, of which the thread keeps the least distance each. The `k`-th of these is the
//! bound, because `k` points are at most so far away. For 10 neighbours and 20 classes it is about the 13th of the 96
//! distances. To find the 10th itself takes three times as many instructions.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract of `nearest`.

use cubecl::prelude::*;

use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::Coordinate;
use crate::gpu::bvh::traverse::packet::packet_around;
use crate::gpu::bvh::traverse::query_boxes::new_boxes;
use crate::gpu::bvh::traverse::spec::{Tree, TreeLaunch};
use crate::gpu::primitives::warp::WIDTH;
use crate::gpu::search::nearest::arguments::{KnnSpec, Search, SearchLaunch};
use crate::gpu::search::nearest::limits::{ApproxLimits, ApproxLimitsLaunch};

/// Threads per block.
const SEED_THREADS: u32 = 128;

/// The number of times 32 points that are compared: those of the warp, and others on both sides.
pub(super) fn parts(k: usize) -> u32 {
    if k <= 64 { 3 } else { 6 }
}

/// Returns the first of the points that are compared for the group of a query among `n`, and the number of these points.
#[cube]
pub(super) fn points_around(query: u32, n: u32, parts: u32) -> (u32, u32) {
    let before = (parts - 1) / 2 * WIDTH;
    let count = min(n, parts * WIDTH);
    (min(max(query / WIDTH * WIDTH, before) - before, n - count), count)
}

/// Returns two equal filters for each of the `n` stored points, which are the queries of `search`. If there are too few
/// points to compare, they are `widest`.
pub(super) fn seeds<S: Coordinate, R: Runtime>(
    client: &ComputeClient<R>,
    tree: TreeLaunch<S, R>,
    search: SearchLaunch<S, R>,
    approx: ApproxLimitsLaunch<S, R>,
    n: usize,
    widest: S,
    spec: KnnSpec,
) -> Buffer<S> {
    if n < (parts(spec.k) * WIDTH) as usize {
        return Buffer::from_slice(client, &vec![widest; 2 * n]);
    }
    let filters = Buffer::new(client, 2 * n);
    let (blocks, dim) = spec.warp.blocks(n, SEED_THREADS);
    // SAFETY: the launch contract of `nearest`. There are enough points to compare, and `filters` has two elements for
    // each.
    unsafe { seed_limits::launch_unchecked::<S, R>(client, blocks, dim, tree, search, approx, filters.arg(), spec) };
    filters
}

/// Writes the limit of each query to its two filters.
#[cube(launch_unchecked)]
fn seed_limits<F: Float>(
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
    let parts = comptime!(parts(spec.k));
    // More classes give a lower bound, and take more instructions to select from.
    let classes = comptime!((k + k.min(16)).min((parts * WIDTH) as usize));
    // Unrolled loops for many neighbours take long to compile.
    let unrolls = comptime!(spec.k <= 16);
    let mut least = Array::<F>::new(classes);
    #[unroll(unrolls)]
    for class in 0..classes {
        least[class] = approx.infinity();
    }
    let (d, periodic, warp) = comptime!((spec.d, spec.periodic, spec.warp));
    // Nothing is compared with the boxes around the queries.
    let mut packet = packet_around::<F>(new_boxes::<F>(d, periodic), comptime!(warp.units(SEED_THREADS)), warp);
    let (begin, _) = points_around(query, n, comptime!(parts).runtime());
    #[unroll(unrolls)]
    for part in 0..parts {
        packet.enqueue_all(tree, begin + part * WIDTH, WIDTH.runtime());
        packet.share();
        #[unroll(unrolls)]
        for i in 0..WIDTH {
            let class = (part * WIDTH + i) as usize % classes;
            least[class] = least[class].min(packet.distance2(i, &point, &tree.sides));
        }
        packet.advance();
    }
    // The k-th least is the least of those that remain without the k - 1 least ones.
    let kept = comptime!(classes - k + 1);
    let mut greatest = Array::<F>::new(kept);
    #[unroll]
    for place in 0..kept {
        greatest[place] = F::new(-1.0);
    }
    #[unroll(unrolls)]
    for class in 0..classes {
        let mut value = least[class].max(greatest[0]);
        #[unroll]
        for place in 1..kept {
            let held = greatest[place];
            greatest[comptime!(place - 1)] = held.min(value);
            value = held.max(value);
        }
        greatest[comptime!(kept - 1)] = value;
    }
    if unit < n {
        let limit = approx.after(greatest[0], periodic);
        filters[2 * query as usize] = limit;
        filters[2 * query as usize + 1] = limit;
    }
}
