//! The most bound particle by a best-first search (A*).
//!
//! In: the members of a halo. Out: the member that brute force would find.
//!
//! Members are sorted into the cells of a grid. The sum -phi of a member is at most
//!
//! ```text
//! upper = sum over near cells of their terms + sum over far cells of M / sqrt(min_distance2 + softening²)      (1)
//! ```
//!
//! where min_distance is the distance to the box around the cell's members. Near cells are the member's own cell and
//! all cells within a distance that doubles from level to level; the last level sums all cells exactly. A priority
//! queue refines the members with the largest bounds by one level, in batches. Bounds only decrease, so a member with
//! an exact sum at the head of the queue is the answer.
//!
//! Cost: for the first bounds n times the number of cells, which is about n / 16; then the refinements, fewer with
//! better bounds. Source: Habib et al. 2016 and Sewell et al. 2015, section 3 (A* in HACC).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::cluster::Halos;
use crate::error::Result;
use crate::geometry::{Aabb, Bounded, Scalar};
use crate::halo::centers::direct::{MostBound, MostBoundMember, NO_TERMS, Sum, Terms, add, rounding, sums};
use crate::halo::centers::members::{PADDING, ScaledMembers};
use crate::halo::{CenterFinder, Centers};
use crate::parallel::{Scratch, map};
use crate::reference::check_most_bound;
use crate::simd::{LANES, dispatch};

/// The mean number of members per cell if members were spread evenly.
const PER_CELL: f64 = 16.0;
/// The maximum number of cells along an axis.
const MAX_CELLS: usize = 32;
/// The number of members refined in one parallel batch; fixed, so that the work does not depend on the number of
/// threads.
const BATCH: usize = 16;
/// The level at which all cells are summed exactly.
const LAST_LEVEL: u8 = 6;

/// A member, the bound (1) on its sum, and the level of the bound.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    upper: f64,
    member: u32,
    level: u8,
}

impl Ord for Candidate {
    /// Orders by bound, then by descending level, then by descending index: the heap yields the largest bound first,
    /// among ties the lowest level and the smallest index.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_bound = self.upper.total_cmp(&other.upper);
        by_bound.then(other.level.cmp(&self.level)).then(other.member.cmp(&self.member))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

/// Finds the centres of [`Center::MostBound`](crate::Center::MostBound) by a best-first search as in HACC.
///
/// The distances to the cells of a grid bound each member's potential. For the members with the best bounds, cells are
/// opened from near to far until the best potential is known exactly.
/// [`HaloCenter::pairs`](crate::halo::HaloCenter::pairs) counts the pairs that this search evaluates.
///
/// Source: Habib et al. 2016; Sewell et al. 2015, section 3.
///
/// ```
/// use ropewalk::halo::CenterFinder;
/// use ropewalk::reference::most_bound_a_star;
/// use ropewalk::{Center, Fof};
///
/// let points = [[0.0f64, 0.0, 0.0], [1.0, 0.0, 0.0], [1.5, 0.0, 0.0]];
/// let halos = Fof::new(1.0).run(&points)?;
/// let finder = CenterFinder::new(Center::MostBound { softening: 0.0 });
/// assert_eq!(most_bound_a_star(&finder, &points, &halos)?.as_slice()[0].member, Some(1));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Those of [`CenterFinder::run`]; a finder of other centres than [`Center::MostBound`](crate::Center::MostBound).
pub fn most_bound_a_star<T: Bounded<S, 3>, S: Scalar>(
    finder: &CenterFinder<'_>,
    points: &[T],
    halos: &Halos,
) -> Result<Centers> {
    check_most_bound(finder)?;
    finder.run_by(points, halos, &|members| Ok(most_bound(members)))
}

fn most_bound(members: &ScaledMembers) -> Option<MostBound> {
    let grid = Grid::new(members);
    let margin = 1.0 + 4.0 * rounding(members.len());
    let n = members.len() as u64;
    let scratches = Scratch::new(|| Box::new(NO_TERMS));
    let first = |member: usize| {
        let (upper, pairs, coincident) = scratches.with(|terms| grid.upper_bound(member, 0.0, terms));
        (Candidate { upper: upper * margin, member: member as u32, level: 0 }, pairs, coincident)
    };
    let firsts: Vec<(Candidate, u64, u64)> = map(members.len(), 32, &first);
    let mut pairs: u64 = firsts.iter().map(|first| first.1).sum();
    let coincident = firsts.iter().map(|first| first.2).sum::<u64>() / 2;
    let mut heap: BinaryHeap<Candidate> = firsts.into_iter().map(|first| first.0).collect();

    loop {
        let mut batch: Vec<Candidate> = vec![];
        while batch.len() < BATCH
            && let Some(best) = heap.peek()
            && best.level < LAST_LEVEL
        {
            batch.extend(heap.pop());
        }
        if batch.is_empty() {
            let Candidate { upper: potential, member, .. } = heap.pop()?;
            return Some(MostBound { best: MostBoundMember { member, potential }, pairs, coincident });
        }
        let (last, others): (Vec<Candidate>, Vec<Candidate>) =
            batch.into_iter().partition(|candidate| candidate.level + 1 == LAST_LEVEL);
        let targets: Vec<u32> = last.iter().map(|candidate| candidate.member).collect();
        pairs += targets.len() as u64 * (n - 1);
        for (sum, &member) in sums(members, &targets).iter().zip(&targets) {
            let upper = sum.potential(members.masses[member as usize], members.softening);
            heap.push(Candidate { upper, member, level: LAST_LEVEL });
        }
        let refine = |at: usize| {
            let candidate = &others[at];
            let level = candidate.level + 1;
            let reach = grid.width * f64::from(1 << level);
            let (upper, pairs, _) = grid.upper_bound(candidate.member as usize, reach, &mut Box::new(NO_TERMS));
            (Candidate { upper: upper * margin, level, ..*candidate }, pairs)
        };
        let refined: Vec<(Candidate, u64)> = map(others.len(), 1, &refine);
        for (candidate, more) in refined {
            pairs += more;
            heap.push(candidate);
        }
    }
}

/// The members sorted into cells.
struct Grid<'a> {
    members: &'a ScaledMembers,
    /// The width of a cell.
    width: f64,
    /// The position in `columns` of the first member of each occupied cell, followed by the end.
    starts: Vec<u32>,
    boxes: Vec<Aabb<f64, 3>>,
    masses: Vec<f64>,
    counts: Vec<u32>,
    /// The index among the occupied cells of each member's cell.
    cell_of: Vec<u32>,
    /// Coordinates and masses cell by cell, each cell padded to whole lanes.
    columns: [Vec<f64>; 4],
}

impl<'a> Grid<'a> {
    fn new(members: &'a ScaledMembers) -> Self {
        let n = members.len();
        let corners = (0..n).map(|member| Aabb::point(members.position(member)));
        let bounds = corners.fold(Aabb::EMPTY, |all, point| all.union(&point));
        let cells = ((n as f64 / PER_CELL).cbrt().ceil() as usize).clamp(1, MAX_CELLS);
        let extent = (0..3).map(|k| bounds.hi[k] - bounds.lo[k]).fold(0.0, f64::max);
        let width = if extent > 0.0 { extent / cells as f64 } else { 1.0 };
        let key = |member: usize| {
            let at = members.position(member);
            let place = |k: usize| (((at[k] - bounds.lo[k]) / width) as usize).min(cells - 1);
            ((place(2) * cells + place(1)) * cells + place(0)) as u32
        };
        let mut sorted: Vec<(u32, u32)> = (0..n).map(|member| (key(member), member as u32)).collect();
        sorted.sort_unstable();

        let mut grid = Self {
            members,
            width,
            starts: vec![],
            boxes: vec![],
            masses: vec![],
            counts: vec![],
            cell_of: vec![0; n],
            columns: std::array::from_fn(|_| Vec::with_capacity(2 * n)),
        };
        for cell in sorted.chunk_by(|a, b| a.0 == b.0) {
            grid.starts.push(grid.columns[0].len() as u32);
            let (mut around, mut mass) = (Aabb::EMPTY, 0.0);
            for &(_, member) in cell {
                let (at, own) = (members.position(member as usize), members.masses[member as usize]);
                grid.cell_of[member as usize] = grid.boxes.len() as u32;
                around = around.union(&Aabb::point(at));
                mass += own;
                for (column, value) in grid.columns.iter_mut().zip([at[0], at[1], at[2], own]) {
                    column.push(value);
                }
            }
            for (column, filler) in grid.columns.iter_mut().zip([PADDING, PADDING, PADDING, 0.0]) {
                column.resize(column.len().next_multiple_of(LANES), filler);
            }
            grid.boxes.push(around);
            grid.masses.push(mass);
            grid.counts.push(cell.len() as u32);
        }
        grid.starts.push(grid.columns[0].len() as u32);
        grid
    }

    /// The bound (1) on a member's sum, where cells within `reach` are near; the number of pairs evaluated; the number
    /// of ordered coincident pairs among them.
    fn upper_bound(&self, member: usize, reach: f64, terms: &mut Terms) -> (f64, u64, u64) {
        let target = self.members.position(member);
        let softening2 = self.members.softening2;
        let own = self.cell_of[member] as usize;
        let (mut near, mut far, mut pairs) = (Sum::default(), 0.0, 0);
        dispatch!(_level => for cell in 0..self.boxes.len() {
            let Aabb { lo, hi } = self.boxes[cell];
            let mut d2 = 0.0;
            for k in 0..3 {
                let gap = (lo[k] - target[k]).max(target[k] - hi[k]).max(0.0);
                d2 += gap * gap;
            }
            if cell == own || d2 <= reach * reach {
                let span = self.starts[cell] as usize..self.starts[cell + 1] as usize;
                let sources = self.columns.each_ref().map(|column| &column[span.clone()]);
                add(&mut near, sources, target, softening2, terms);
                pairs += u64::from(self.counts[cell]) - u64::from(cell == own);
            } else {
                far += self.masses[cell] / (d2 + softening2).sqrt();
                pairs += 1;
            }
        });
        let near_sum = near.potential(self.members.masses[member], self.members.softening);
        (near_sum + far, pairs, u64::from(near.n_coincident - 1))
    }
}
