//! Cells of the grid that hold more than a leaf: their things are put in order by a finer grid.
//!
//! In: the sorted codes, and where the things are. Out: the same codes; within each run of equal ones that is longer than a
//! leaf, the order along a Z curve through the run's own box, and so on down to leaves or to copies of one point, which stay
//! in the order of their indices. Nodes below a cell follow from the positions alone, so without this they would overlap.
//! Cost: a look at one code in sixteen; for what is crowded, a sort for each factor of 2^21 (in three dimensions) in scale.

use rayon::prelude::*;

use super::LEAF;
use crate::geometry::{Aabb, Scalar};
use crate::morton::Grid;
use crate::sort::Coded;

/// Every run longer than a leaf holds two neighbours of this stride.
const STRIDE: usize = LEAF / 2;
/// Things per parallel task.
const TASK: usize = 1 << 12;

/// Orders the crowded runs of `sorted`; `center` says where the thing with an index is.
pub(super) fn refine<S: Scalar, const D: usize>(sorted: &mut [Coded], center: &(impl Fn(u32) -> [S; D] + Sync)) {
    let mut crowded = Vec::new();
    let mut at = 0;
    while at + STRIDE < sorted.len() {
        let code = sorted[at].code();
        if code != sorted[at + STRIDE].code() {
            at += STRIDE;
            continue;
        }
        let start = sorted[..at].partition_point(|other| other.code() < code);
        let end = at + sorted[at..].partition_point(|other| other.code() == code);
        if end - start > LEAF {
            crowded.push(start..end);
        }
        at = end.next_multiple_of(STRIDE);
    }
    let mut rest = sorted;
    let mut taken = 0;
    let mut runs = Vec::with_capacity(crowded.len());
    for range in crowded {
        let (_, from) = rest.split_at_mut(range.start - taken);
        let (run, behind) = from.split_at_mut(range.len());
        runs.push(run);
        (rest, taken) = (behind, range.end);
    }
    runs.into_par_iter().for_each(|run| refine_run(run, center));
}

fn refine_run<S: Scalar, const D: usize>(run: &mut [Coded], center: &(impl Fn(u32) -> [S; D] + Sync)) {
    let bounds = run
        .par_iter()
        .with_min_len(TASK)
        .map(|coded| Aabb::point(center(coded.index())))
        .reduce(|| Aabb::EMPTY, |a, b| a.union(&b));
    if bounds.lo == bounds.hi {
        return;
    }
    let grid = Grid::over(&bounds);
    let finer = |coded: &Coded| {
        let mut code = [0];
        grid.codes([center(coded.index())].into_iter(), &mut code);
        Coded::new(code[0], coded.index())
    };
    let mut sorted: Vec<Coded> = run.par_iter().with_min_len(TASK).map(finer).collect();
    sorted.par_sort_unstable();
    // Denormal numbers may be too close for any grid.
    if sorted.first().map(|coded| coded.code()) == sorted.last().map(|coded| coded.code()) {
        return;
    }
    refine(&mut sorted, center);
    for (coded, place) in run.iter_mut().zip(sorted) {
        *coded = Coded::new(coded.code(), place.index());
    }
}
