//! Duplicate codes: if a grid cell holds more primitives than a leaf, they are sorted by a finer grid.
//!
//! Input and output: primitives in the order of their codes. Each run of equal codes that is longer than a leaf is
//! sorted along a Z curve through the bounding box of the run. This repeats down to leaves, or to copies of one
//! point, which stay in the order of their indices.
//! The splits within a run get the deltas of the finer codes. The nodes below are therefore cells, too, and hardly
//! overlap: a search that starts at the root finds the leaf in which it lies. Deltas exist for two nested grids.
//! Below these, the primitives are sorted, and nodes follow from the positions.
//! Cost: one scan per level; for equal codes, one sort per factor of 2^21 in scale (in three dimensions).

use std::ops::Range;

use crate::bvh::LEAF;
use crate::bvh::hierarchy::{EQUAL, FINER};
use crate::bvh::morton::Grid;
use crate::bvh::sorted_primitives::SortedPrimitives;
use crate::geometry::{Aabb, Scalar};
use crate::memory::{collected, copy_of};
use crate::parallel::{fill, for_each, map_tasks, sort};

/// Every run longer than a leaf contains this many consecutive splits from a multiple of this number.
const STRIDE: usize = LEAF / 2;
/// Primitives per parallel task.
const TASK: usize = 1 << 12;

/// Sorts the runs of duplicate codes.
pub(super) fn refine<S: Scalar, const D: usize>(primitives: &mut SortedPrimitives<S, D>) {
    let is_equal = |&delta: &u8| delta < EQUAL;
    let deltas = &primitives.deltas;
    let mut runs = Vec::new();
    let mut at = 0;
    while at + STRIDE < deltas.len() {
        if !deltas[at + 1..=at + STRIDE].iter().all(is_equal) {
            at += STRIDE;
            continue;
        }
        let start = at - deltas[..=at].iter().rev().take_while(|&delta| is_equal(delta)).count();
        let end = at + 1 + deltas[at + 1..].iter().take_while(|&delta| is_equal(delta)).count();
        if end - start > LEAF {
            runs.push(start..end);
        }
        at = end.next_multiple_of(STRIDE);
    }
    let order = |run: Range<usize>| {
        let mut order: Vec<u32> = collected(run.clone().map(|position| position as u32));
        let mut deltas = copy_of(&deltas[run.clone()]);
        refine_run(primitives, &mut order, &mut deltas, run.start, 0);
        (run, order, deltas)
    };
    let orders = map_tasks(runs.len(), 1, &|at| order(runs[at.start].clone()));
    for (run, order, deltas) in orders {
        primitives.deltas[run.clone()].copy_from_slice(&deltas);
        reorder(&mut primitives.index, &run, &order);
        for axis in primitives.lo.iter_mut().chain(primitives.hi.iter_mut().flatten()) {
            reorder(axis, &run, &order);
        }
    }
}

/// Moves to each position of a run the value at the position that `order` gives.
fn reorder<T: Copy>(values: &mut [T], run: &Range<usize>, order: &[u32]) {
    let ordered: Vec<T> = collected(order.iter().map(|&from| values[from as usize]));
    values[run.clone()].copy_from_slice(&ordered);
}

/// Sorts the positions of a run, which are in the order of the primitives' indices, by a finer grid. The splits
/// between them get the deltas of this nested grid, if it has any. The split before the first position is not part of
/// the run.
fn refine_run<S: Scalar, const D: usize>(
    primitives: &SortedPrimitives<S, D>,
    run: &mut [u32],
    deltas: &mut [u8],
    first: usize,
    grids: usize,
) {
    let bounds = bounds_of(primitives, run);
    if bounds.lo == bounds.hi {
        return;
    }
    let Some(first_delta) = FINER.get(grids) else {
        return split(primitives, run, first);
    };
    let center = |position: u32| primitives.center(position as usize);
    let grid = Grid::over(&bounds);
    let mut sorted = vec![(0u64, 0u32); run.len()];
    fill(&mut sorted, TASK, &|range, sorted| {
        for (sorted, &position) in sorted.iter_mut().zip(&run[range]) {
            let mut code = [0];
            grid.codes([center(position)].into_iter(), &mut code);
            *sorted = (code[0], position);
        }
    });
    sort_codes(&mut sorted);
    for (position, &(_, from)) in run.iter_mut().zip(&sorted) {
        *position = from;
    }
    // Denormal numbers may be too close for any grid.
    if sorted.first().map(|&(code, _)| code) == sorted.last().map(|&(code, _)| code) {
        return;
    }
    for (delta, pair) in deltas[1..].iter_mut().zip(sorted.windows(2)) {
        let differing = pair[0].0 ^ pair[1].0;
        if differing != 0 {
            *delta = first_delta + differing.ilog2() as u8;
        }
    }
    let (mut rest, mut rest_of_deltas) = (run, deltas);
    let (mut runs, mut at) = (Vec::new(), first);
    for alike in sorted.chunk_by(|a, b| a.0 == b.0) {
        let own = rest.split_off_mut(..alike.len()).unwrap_or_default();
        let own_deltas = rest_of_deltas.split_off_mut(..alike.len()).unwrap_or_default();
        if own.len() > LEAF {
            runs.push((at, own, own_deltas));
        }
        at += alike.len();
    }
    for_each(runs, &|_, (first, run, deltas): (usize, &mut [u32], &mut [u8])| {
        refine_run(primitives, run, deltas, first, grids + 1);
    });
}

/// The bounding box of the centres of a run.
fn bounds_of<S: Scalar, const D: usize>(primitives: &SortedPrimitives<S, D>, run: &[u32]) -> Aabb<S, D> {
    let center = |&position: &u32| Aabb::point(primitives.center(position as usize));
    let parts = map_tasks(run.len(), TASK, &|range| {
        run[range].iter().fold(Aabb::EMPTY, |bounds, position| bounds.union(&center(position)))
    });
    parts.iter().fold(Aabb::EMPTY, |bounds, part| bounds.union(part))
}

/// Sorts a run that begins at position `first`, so that the nodes that follow from positions form a k-d tree: each
/// split between nodes is along the longest axis. Runs of at most one leaf, and copies of one point, are sorted by
/// position.
fn split<S: Scalar, const D: usize>(primitives: &SortedPrimitives<S, D>, run: &mut [u32], first: usize) {
    let bounds = bounds_of(primitives, run);
    let extent = |axis: usize| Into::<f64>::into(bounds.hi[axis]) - Into::<f64>::into(bounds.lo[axis]);
    if run.len() <= LEAF || bounds.lo == bounds.hi {
        run.sort_unstable();
        return;
    }
    let axis = (1..D).fold(0, |longest, axis| if extent(axis) > extent(longest) { axis } else { longest });
    // The node splits where the highest bit of the positions changes.
    let last = first + run.len() - 1;
    let boundary = last >> (first ^ last).ilog2() << (first ^ last).ilog2();
    let coordinate = |position: u32| -> f64 { primitives.center(position as usize)[axis].into() };
    let order = |a: &u32, b: &u32| coordinate(*a).total_cmp(&coordinate(*b)).then(a.cmp(b));
    run.select_nth_unstable_by(boundary - first, order);
    let (low, high) = run.split_at_mut(boundary - first);
    for_each(vec![(first, low), (boundary, high)], &|_, (first, run): (usize, &mut [u32])| {
        split(primitives, run, first);
    });
}

/// Not generic, so that the sort is compiled once.
fn sort_codes(codes: &mut [(u64, u32)]) {
    sort(codes);
}
