//! The nearest, the units of a plane together, by distances in the points' own precision.
//!
//! Each unit keeps the `k` best so far of one point, by rounded distances, and the best of what it let go. It begins with the
//! points of its plane, which make the radius small, and then walks the tree with the others; what is near the box around them all
//! is compared at once (`packet`). In the end the distances of those kept are computed in `f64` and put in order. If what was let
//! go is surely farther than the last one, this is the answer; if it is not (ties, mostly), the point is written down for `exact`.
//! For devices with planes of 32.

#![allow(unsafe_code)] // A kernel without checks of its own.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::packet::{Packet, Want, new_packet};
use crate::gpu::bvh::traverse::spec::{MIXED, Tree};
use crate::gpu::bvh::traverse::window::windows;
use crate::gpu::metric::{corners, exact_distance2, min_distance2};
use crate::gpu::primitives::warp::{WIDTH, warp_any, warp_max};
use crate::gpu::search::nearest::KnnSpec;
use crate::gpu::search::nearest::exact_heap::widened;

/// Units of a cube: few, for the best take so many registers that there is room for few.
pub(in crate::gpu) const SMALL: u32 = 64;
/// Points in tree order that are looked at first on both sides of a plane's own.
const AROUND: u32 = WIDTH;

/// The best so far in order, with places that anything takes.
#[derive(CubeType)]
struct Best<F: Float> {
    distances2: Array<F>,
    positions: Array<u32>,
    /// The best that was let go, if anything was.
    next: Array<F>,
    any: Array<u32>,
    /// Beyond this nothing is among the best.
    limit: Array<F>,
}

/// Finds the `k` nearest of each point. `rough` numbers: the limit before anything is found, and what makes one of a rounded
/// distance (a factor, a length that periodic boxes add, the least square that is not blurred by underflow); infinity.
/// `numbers` as for `exact`. The points in doubt are written to `doubted`, whose first number counts them.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn find_quickly<F: Float>(
    tree: &Tree<F>,
    order: &Array<u32>,
    rough: &Array<F>,
    numbers: &Array<f64>,
    indices: &mut Array<u32>,
    distances2: &mut Array<f64>,
    doubted: &mut Array<Atomic<u32>>,
    n: u32,
    end: u32,
    excluded: u32,
    #[comptime] shape: KnnSpec,
) {
    let d = comptime!(shape.d);
    let k = comptime!(shape.k);
    let warp = comptime!(shape.warp);
    let unit = ABSOLUTE_POS as u32;
    // All units of a plane must come along to vote.
    let query = min(unit, n - 1);
    let mut point = Array::<F>::new(d);
    #[unroll]
    for axis in 0..d {
        point[axis] = tree.axes[axis * n as usize + query as usize];
    }
    let mut best = Best::<F> {
        distances2: Array::<F>::new(k),
        positions: Array::<u32>::new(k),
        next: Array::<F>::new(1usize),
        any: Array::<u32>::new(1usize),
        limit: Array::<F>::new(1usize),
    };
    #[unroll]
    for place in 0..k {
        best.distances2[place] = rough[4];
        best.positions[place] = u32::MAX.runtime();
    }
    best.next[0] = rough[4];
    best.any[0] = 0;
    best.limit[0] = rough[0];

    // The plane's own points come first, and the same number on both sides.
    let own_first = query / WIDTH * WIDTH;
    let mut packet = new_packet::<F>(&point, d, comptime!(shape.periodic), comptime!(shape.warp.units(SMALL)), warp);
    let digit_base = max(own_first, AROUND) - AROUND;
    let behind = min(own_first + WIDTH + AROUND, n);
    let mut first = digit_base + 0;
    while first < behind {
        packet.take_all(tree, first, min(behind - first, WIDTH));
        offer::<F>(&mut best, &packet, tree, order, &point, query, excluded, rough, shape);
        packet.turn();
        first += WIDTH;
    }
    packet.leave_out(digit_base, behind);
    let mut widest = warp_max::<F>(best.limit[0], warp);
    let mut at = 0u32.runtime();
    let windows = windows::<F>(end, F::new(-1.0), false, warp);
    while at < end {
        if windows.are_bad() {
            let corners = corners::<F>(&tree.bounds, at, d);
            let near = min_distance2::<F>(&corners, &point, &tree.sides, d, comptime!(shape.periodic)) <= best.limit[0];
            windows.look_at(tree, at, near, false);
        } else {
            windows.look(tree, &packet, at, widest, MIXED.runtime());
        }
        let mut leaves = windows.stops();
        while leaves != 0 {
            let node = at + leaves.find_first_set() - 1;
            leaves &= leaves - 1;
            let any = windows.takes(tree, &packet, node, &point, best.limit[0], true.runtime());
            if warp_any(any, warp) {
                let want = Want { any, one_will_do: false.runtime(), own: query, half: false, alike: false };
                let first = tree.links[node as usize][1];
                packet.take(tree, first, tree.links[(node + 1) as usize][1], widest, want);
                if packet.is_full() {
                    offer::<F>(&mut best, &packet, tree, order, &point, query, excluded, rough, shape);
                    packet.turn();
                    widest = warp_max::<F>(best.limit[0], warp);
                }
            }
        }
        at = windows.next();
    }
    offer::<F>(&mut best, &packet, tree, order, &point, query, excluded, rough, shape);
    if unit < n {
        finish::<F>(&best, tree, order, numbers, &point, indices, distances2, doubted, query, shape);
    }
}

/// Puts what waits in the packet among the best where it belongs there.
#[cube]
fn offer<F: Float>(
    best: &mut Best<F>,
    packet: &Packet<F>,
    tree: &Tree<F>,
    order: &Array<u32>,
    point: &Array<F>,
    query: u32,
    excluded: u32,
    rough: &Array<F>,
    #[comptime] shape: KnnSpec,
) {
    let k = comptime!(shape.k);
    let limit = best.limit[0];
    let (near_ones, _) = packet.compare(point, limit, limit, &tree.sides);
    let mut left = Array::<u32>::new(1usize);
    left[0] = near_ones;
    while left[0] != 0 {
        let bit = left[0].find_first_set() - 1;
        left[0] = left[0] & (left[0] - 1);
        let mut value = packet.distance2(bit, point, &tree.sides);
        let mut value_of = packet.position(bit);
        let mut allowed = true.runtime();
        if comptime!(shape.own) {
            allowed = value_of != query;
        }
        if comptime!(shape.named) {
            allowed = order[value_of as usize] != excluded;
        }
        if allowed {
            if value < best.distances2[comptime!(k - 1)] {
                // What is farther than the new one moves up a place.
                #[unroll]
                for place in 0..k {
                    let (held, held_of) = (best.distances2[place], best.positions[place]);
                    let goes_here = value < held;
                    best.distances2[place] = select(goes_here, value, held);
                    best.positions[place] = select(goes_here, value_of, held_of);
                    value = select(goes_here, held, value);
                    value_of = select(goes_here, held_of, value_of);
                }
            }
            // One is let go, if it is one.
            if value_of != u32::MAX {
                best.any[0] = 1;
                best.next[0] = best.next[0].min(value);
            }
        }
    }
    let mut last = best.distances2[comptime!(k - 1)];
    if comptime!(shape.periodic) {
        let root = last.sqrt() + rough[2];
        last = root * root;
    }
    best.limit[0] = rough[0].min(last.max(rough[3]) * rough[1]);
}

/// Exact distances, in order, and whether they are the answer.
#[cube]
fn finish<F: Float>(
    best: &Best<F>,
    tree: &Tree<F>,
    order: &Array<u32>,
    numbers: &Array<f64>,
    point: &Array<F>,
    indices: &mut Array<u32>,
    distances2: &mut Array<f64>,
    doubted: &mut Array<Atomic<u32>>,
    query: u32,
    #[comptime] shape: KnnSpec,
) {
    let k = comptime!(shape.k);
    let row = order[query as usize] as usize * k;
    let mut farthest = f64::new(0.0);
    // What came last; rounded distances mostly are in the order of exact ones.
    let mut last = f64::new(-1.0);
    let mut last_of = 0u32.runtime();
    let mut is_sorted = true.runtime();
    #[unroll]
    for place in 0..k {
        let position = best.positions[place];
        let any = position != u32::MAX;
        let at = select(any, position, 0u32);
        let exact = exact_distance2::<F>(
            &tree.axes,
            at,
            tree.stored,
            point,
            &tree.exact_sides,
            comptime!(shape.d),
            comptime!(shape.periodic),
        );
        // What was let go where there is none had a square that `f32` does not hold.
        farthest = farthest.max(select(any, exact, numbers[4]));
        // Rounded, it was perhaps within the radius.
        let within = any && exact <= numbers[0];
        let own = select(within, exact, numbers[4]);
        let own_of = select(within, order[at as usize], u32::MAX);
        is_sorted = is_sorted && (last < own || (last == own && last_of <= own_of));
        last = own;
        last_of = own_of;
        indices[row + place] = own_of;
        distances2[row + place] = own;
    }
    if best.any[0] != 0 && best.next[0] <= widened::<F>(farthest, numbers) {
        let place = doubted[0].fetch_add(1) + 1;
        doubted[place as usize].store(query);
    } else {
        while !is_sorted {
            is_sorted = true;
            for place in row + 1..row + k {
                let (a, b) = (distances2[place - 1], distances2[place]);
                let (a_of, b_of) = (indices[place - 1], indices[place]);
                if b < a || (b == a && b_of < a_of) {
                    distances2[place - 1] = b;
                    distances2[place] = a;
                    indices[place - 1] = b_of;
                    indices[place] = a_of;
                    is_sorted = false;
                }
            }
        }
    }
}
