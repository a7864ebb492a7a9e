//! The nearest, one unit for itself, by distances in `f64` throughout.
//!
//! For devices without planes, and for the few points that `quick` cannot answer for. It begins with the points about its own in
//! tree order, which make the radius small, and then walks the tree with that radius. What may be among the best by its distance
//! in the points' own precision is decided in `f64`, as on the CPU.

#![allow(unsafe_code)] // A kernel without checks of its own.

use cubecl::prelude::*;

use crate::gpu::buffer::UNITS;
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::metric::{corners, distance2, exact_distance2, min_distance2};
use crate::gpu::search::nearest::KnnSpec;

/// Points in tree order that are looked at first, in blocks of so many.
const BLOCK: u32 = 32;

/// Finds the `k` nearest of each point, or of those that `doubted` counts and lists. `numbers`: the squared radius, how far
/// approximate squared distances may be from exact ones (a factor, and a length that periodic boxes add), and the least square that
/// is not blurred by underflow.
#[cube(launch_unchecked)]
pub(in crate::gpu) fn find_exactly<F: Float>(
    tree: &Tree<F>,
    order: &Array<u32>,
    numbers: &Array<f64>,
    doubted: &Array<u32>,
    indices: &mut Array<u32>,
    distances2: &mut Array<f64>,
    n: u32,
    end: u32,
    excluded: u32,
    #[comptime] listed: bool,
    #[comptime] shape: KnnSpec,
) {
    let unit = ABSOLUTE_POS as u32;
    if comptime!(listed) {
        // There are few, or all of them.
        let mut place = unit + 0;
        while place < doubted[0] {
            let query = doubted[(place + 1) as usize];
            find::<F>(tree, order, numbers, indices, distances2, query, n, end, excluded, shape);
            place += CUBE_COUNT as u32 * UNITS;
        }
    } else if unit < n {
        find::<F>(tree, order, numbers, indices, distances2, unit, n, end, excluded, shape);
    }
}

/// Finds the nearest of one point.
#[cube]
fn find<F: Float>(
    tree: &Tree<F>,
    order: &Array<u32>,
    numbers: &Array<f64>,
    indices: &mut Array<u32>,
    distances2: &mut Array<f64>,
    query: u32,
    n: u32,
    end: u32,
    excluded: u32,
    #[comptime] shape: KnnSpec,
) {
    let d = comptime!(shape.d);
    let k = comptime!(shape.k);
    let periodic = comptime!(shape.periodic);
    let mut point = Array::<F>::new(d);
    #[unroll]
    for axis in 0..d {
        point[axis] = tree.axes[axis * n as usize + query as usize];
    }
    let index = order[query as usize];
    let mut left_out = excluded + 0;
    if comptime!(shape.own) {
        left_out = index;
    }
    // The best so far in order, with places that anything within the radius takes.
    let mut best = Array::<f64>::new(k);
    let mut best_of = Array::<u32>::new(k);
    #[unroll]
    for place in 0..k {
        best[place] = numbers[0];
        best_of[place] = u32::MAX.runtime();
    }
    let mut limit = Array::<F>::new(1usize);
    limit[0] = widened::<F>(best[comptime!(k - 1)], numbers);

    let first = query / BLOCK * BLOCK;
    let behind = min(first + BLOCK, n);
    let mut near_ones = Array::<u32>::new(1usize);
    near_ones[0] = u32::MAX >> (BLOCK - (behind - first));
    offer::<F>(
        tree,
        order,
        first,
        n,
        &point,
        left_out,
        numbers,
        &mut near_ones,
        &mut best,
        &mut best_of,
        &mut limit,
        d,
        periodic,
        k,
    );
    let mut at = 0u32.runtime();
    while at < end {
        let link = tree.links[at as usize];
        let rope = link[0];
        let near = min_distance2::<F>(&corners::<F>(&tree.bounds, at, d), &point, &tree.sides, d, periodic) <= limit[0];
        if !near {
            at = rope;
        } else if rope == at + 1 {
            // All of the leaf without a branch, then what is near enough.
            let start = link[1];
            let mut hits = 0u32.runtime();
            let mut bit = 1u32.runtime();
            for other in start..tree.links[rope as usize][1] {
                let d2 = distance2::<F>(&tree.axes, other, n, &point, &tree.sides, d, periodic);
                // Those of the block were there before.
                let is_new = other < first || other >= behind;
                hits |= select(is_new && d2 <= limit[0], bit, 0u32);
                bit <<= 1;
            }
            if hits != 0 {
                near_ones[0] = hits;
                offer::<F>(
                    tree,
                    order,
                    start,
                    n,
                    &point,
                    left_out,
                    numbers,
                    &mut near_ones,
                    &mut best,
                    &mut best_of,
                    &mut limit,
                    d,
                    periodic,
                    k,
                );
            }
            at = rope;
        } else {
            at += 1;
        }
    }
    #[unroll]
    for place in 0..k {
        let to = index as usize * k + place;
        indices[to] = best_of[place];
        distances2[to] = best[place];
    }
}

/// What approximate squared distances of points within an exact one are not above.
#[cube]
pub(in crate::gpu) fn widened<F: Float>(distance2: f64, numbers: &Array<f64>) -> F {
    let radius = distance2.max(f64::new(0.0)).sqrt() + numbers[2];
    let square = (radius * radius).max(numbers[3]) / (numbers[1] * numbers[1]);
    let mut limit = F::cast_from(square);
    // Nothing is within a radius that is negative.
    if distance2 < f64::new(0.0) {
        limit = F::new(-1.0);
    }
    limit
}

/// Puts points among the best that belong there: those with a bit each from the one at `first` on.
#[cube]
fn offer<F: Float>(
    tree: &Tree<F>,
    order: &Array<u32>,
    first: u32,
    n: u32,
    point: &Array<F>,
    left_out: u32,
    numbers: &Array<f64>,
    left: &mut Array<u32>,
    best: &mut Array<f64>,
    best_of: &mut Array<u32>,
    limit: &mut Array<F>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
    #[comptime] k: usize,
) {
    while left[0] != 0 {
        let other = first + left[0].find_first_set() - 1;
        left[0] = left[0] & (left[0] - 1);
        let index = order[other as usize];
        let d2 = exact_distance2::<F>(&tree.axes, other, n, point, &tree.exact_sides, d, periodic);
        let mut belongs = index != left_out;
        let (last, last_of) = (best[comptime!(k - 1)], best_of[comptime!(k - 1)]);
        belongs = belongs && (d2 < last || (d2 == last && index < last_of));
        if belongs {
            // What is farther than the new one moves up a place.
            let mut value = d2 + f64::new(0.0);
            let mut value_of = index + 0;
            #[unroll]
            for place in 0..k {
                let (held, held_of) = (best[place], best_of[place]);
                let goes_here = value < held || (value == held && value_of < held_of);
                best[place] = select(goes_here, value, held);
                best_of[place] = select(goes_here, value_of, held_of);
                value = select(goes_here, held, value);
                value_of = select(goes_here, held_of, value_of);
            }
        }
    }
    limit[0] = widened::<F>(best[comptime!(k - 1)], numbers);
}
