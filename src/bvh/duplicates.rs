//! Cells of the grid that hold more than a leaf: their primitives are put in order by a finer grid.
//!
//! In and out: primitives in the order of their codes. Within each run of equal codes that is longer than a leaf they come out in
//! the order of a Z curve through the run's own box, and so on down to leaves or to copies of one point, which stay in the
//! order of their indices. The gaps between them get the levels of the finer codes, so that the nodes below are cells, too, and
//! hardly overlap: a search that begins at the root finds the leaf that it is in. There are levels for two grids within
//! grids; deeper ones give the order, and nodes follow from the positions.
//! Cost: a look at each level; for what is crowded, a sort for each factor of 2^21 (in three dimensions) in scale.

use std::ops::Range;

use rayon::prelude::*;

use crate::bvh::LEAF;
use crate::bvh::hierarchy::{EQUAL, FINER};
use crate::bvh::layout::SortedPrimitives;
use crate::bvh::morton::Grid;
use crate::geometry::{Aabb, Scalar};

/// Every run longer than a leaf holds so many gaps in a row, from a multiple on.
const STRIDE: usize = LEAF / 2;
/// Primitives per parallel task.
const TASK: usize = 1 << 12;

/// Orders the crowded runs.
pub(super) fn refine<S: Scalar, const D: usize>(primitives: &mut SortedPrimitives<S, D>) {
    let is_equal = |&level: &u8| level < EQUAL;
    let levels = &primitives.levels;
    let mut runs = Vec::new();
    let mut at = 0;
    while at + STRIDE < levels.len() {
        if !levels[at + 1..=at + STRIDE].iter().all(is_equal) {
            at += STRIDE;
            continue;
        }
        let start = at - levels[..=at].iter().rev().take_while(|&level| is_equal(level)).count();
        let end = at + 1 + levels[at + 1..].iter().take_while(|&level| is_equal(level)).count();
        if end - start > LEAF {
            runs.push(start..end);
        }
        at = end.next_multiple_of(STRIDE);
    }
    let order = |run: Range<usize>| {
        let mut order: Vec<u32> = run.clone().map(|position| position as u32).collect();
        let mut levels = levels[run.clone()].to_vec();
        refine_run(primitives, &mut order, &mut levels, 0);
        (run, order, levels)
    };
    let orders: Vec<_> = runs.into_par_iter().map(order).collect();
    for (run, order, levels) in orders {
        primitives.levels[run.clone()].copy_from_slice(&levels);
        reorder(&mut primitives.index, &run, &order);
        for axis in primitives.lo.iter_mut().chain(primitives.hi.iter_mut().flatten()) {
            reorder(axis, &run, &order);
        }
    }
}

/// Puts at each position of a run what is at the one that `order` names.
fn reorder<T: Copy>(values: &mut [T], run: &Range<usize>, order: &[u32]) {
    let ordered: Vec<T> = order.iter().map(|&from| values[from as usize]).collect();
    values[run.clone()].copy_from_slice(&ordered);
}

/// Puts the positions of a run, which are in the order of the primitives' indices, in order, and gives the gaps between them the
/// levels of that grid within grids, if it has any. The gap before the first is not within the run.
fn refine_run<S: Scalar, const D: usize>(
    primitives: &SortedPrimitives<S, D>,
    run: &mut [u32],
    levels: &mut [u8],
    grids: usize,
) {
    let center = |position: u32| primitives.center(position as usize);
    let bounds = run
        .par_iter()
        .with_min_len(TASK)
        .map(|&position| Aabb::point(center(position)))
        .reduce(|| Aabb::EMPTY, |a, b| a.union(&b));
    if bounds.lo == bounds.hi {
        return;
    }
    let grid = Grid::over(&bounds);
    let finer = |&position: &u32| {
        let mut code = [0];
        grid.codes([center(position)].into_iter(), &mut code);
        (code[0], position)
    };
    let mut sorted: Vec<(u64, u32)> = run.par_iter().with_min_len(TASK).map(finer).collect();
    sorted.par_sort_unstable();
    for (position, &(_, from)) in run.iter_mut().zip(&sorted) {
        *position = from;
    }
    // Denormal numbers may be too close for any grid.
    if sorted.first().map(|&(code, _)| code) == sorted.last().map(|&(code, _)| code) {
        return;
    }
    if let Some(first) = FINER.get(grids) {
        for (level, pair) in levels[1..].iter_mut().zip(sorted.windows(2)) {
            let differing = pair[0].0 ^ pair[1].0;
            if differing != 0 {
                *level = first + differing.ilog2() as u8;
            }
        }
    }
    let (mut rest, mut rest_of_levels) = (run, levels);
    let mut runs = Vec::new();
    for alike in sorted.chunk_by(|a, b| a.0 == b.0) {
        let own = rest.split_off_mut(..alike.len()).unwrap_or_default();
        let own_levels = rest_of_levels.split_off_mut(..alike.len()).unwrap_or_default();
        if own.len() > LEAF {
            runs.push((own, own_levels));
        }
    }
    runs.into_par_iter().for_each(|(run, levels)| refine_run(primitives, run, levels, grids + 1));
}
