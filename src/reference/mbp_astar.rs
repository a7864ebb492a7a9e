//! The most bound particle by a best-first search.
//!
//! In: the members of a halo. Out: the member that brute force would find.
//! Members are sorted into the cells of a grid. Each member's sum is bounded from above: its own cell exactly, any other as if
//! all of it were at the nearest point of the box around its members. Whoever promises most is looked at more closely: cells
//! within a distance that doubles with every look are summed exactly. When the best one is known exactly, it is the answer:
//! bounds only ever fall.
//! Cost: n times the number of cells, which is about n / 16, for the first bounds; then as many looks as bounds are wrong.
//! Source: Habib et al. 2016 and Sewell et al. 2015, section 3 (A* in HACC).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use rayon::prelude::*;

use crate::geometry::Aabb;
use crate::halo::centers::direct::{Deepest, Found, NO_SHARES, Shares, Sum, add, rounding, sums};
use crate::halo::centers::members::{Members, NOWHERE};
use crate::simd::{LANES, dispatch};

/// Members per cell, if they were spread evenly.
const PER_CELL: f64 = 16.0;
/// Cells along an axis, at most.
const MOST_CELLS: usize = 32;
/// Members that are looked at more closely at once, in parallel; fixed, so that the work does not depend on threads.
const TOGETHER: usize = 16;
/// Looks after which everything is summed exactly.
const LOOKS: u8 = 6;

/// A member, the most that its sum may be, and how often it was looked at.
#[derive(Clone, Copy, Debug)]
struct Promise {
    most: f64,
    member: u32,
    looks: u8,
}

impl Ord for Promise {
    /// The largest first; of equals the one that is not exact, then the first.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_sum = self.most.total_cmp(&other.most);
        by_sum.then(other.looks.cmp(&self.looks)).then(other.member.cmp(&self.member))
    }
}

impl PartialOrd for Promise {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Promise {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Promise {}

pub(crate) fn most_bound(members: &Members) -> Option<Found> {
    let grid = Grid::new(members);
    let margin = 1.0 + 4.0 * rounding(members.len());
    let n = members.len() as u64;
    let first = |shares: &mut Box<Shares>, member: usize| {
        let (most, pairs, coincident) = grid.at_most(member, 0.0, shares);
        (Promise { most: most * margin, member: member as u32, looks: 0 }, pairs, coincident)
    };
    let firsts: Vec<(Promise, u64, u64)> =
        (0..members.len()).into_par_iter().with_min_len(32).map_init(|| Box::new(NO_SHARES), first).collect();
    let mut pairs: u64 = firsts.iter().map(|first| first.1).sum();
    let coincident = firsts.iter().map(|first| first.2).sum::<u64>() / 2;
    let mut heap: BinaryHeap<Promise> = firsts.into_iter().map(|first| first.0).collect();

    loop {
        let mut asked: Vec<Promise> = vec![];
        while asked.len() < TOGETHER
            && let Some(best) = heap.peek()
            && best.looks < LOOKS
        {
            asked.extend(heap.pop());
        }
        if asked.is_empty() {
            let Promise { most, member, .. } = heap.pop()?;
            return Some(Found { deepest: Deepest { member, felt: most }, pairs, coincident });
        }
        let (last, sooner): (Vec<Promise>, Vec<Promise>) = asked.into_iter().partition(|one| one.looks + 1 == LOOKS);
        let targets: Vec<u32> = last.iter().map(|one| one.member).collect();
        pairs += targets.len() as u64 * (n - 1);
        for (sum, &member) in sums(members, &targets).iter().zip(&targets) {
            let most = sum.felt(members.masses[member as usize], members.softening);
            heap.push(Promise { most, member, looks: LOOKS });
        }
        let look = |one: &Promise| {
            let looks = one.looks + 1;
            let (most, pairs, _) =
                grid.at_most(one.member as usize, grid.width * f64::from(1 << looks), &mut Box::new(NO_SHARES));
            (Promise { most: most * margin, looks, ..*one }, pairs)
        };
        let closer: Vec<(Promise, u64)> = sooner.par_iter().map(look).collect();
        for (promise, more) in closer {
            pairs += more;
            heap.push(promise);
        }
    }
}

/// The members in cells.
struct Grid<'a> {
    members: &'a Members,
    /// The width of a cell.
    width: f64,
    /// Occupied cells: where their members begin in the columns, and the end of all.
    starts: Vec<u32>,
    boxes: Vec<Aabb<f64, 3>>,
    masses: Vec<f64>,
    counts: Vec<u32>,
    /// The occupied cell of each member.
    cell_of: Vec<u32>,
    /// Coordinates and masses cell by cell, each padded to whole lanes.
    columns: [Vec<f64>; 4],
}

impl<'a> Grid<'a> {
    fn new(members: &'a Members) -> Self {
        let n = members.len();
        let corners = (0..n).map(|member| Aabb::point(members.position(member)));
        let bounds = corners.fold(Aabb::EMPTY, |all, point| all.union(&point));
        let cells = ((n as f64 / PER_CELL).cbrt().ceil() as usize).clamp(1, MOST_CELLS);
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
            for (column, filler) in grid.columns.iter_mut().zip([NOWHERE, NOWHERE, NOWHERE, 0.0]) {
                column.resize(column.len().next_multiple_of(LANES), filler);
            }
            grid.boxes.push(around);
            grid.masses.push(mass);
            grid.counts.push(cell.len() as u32);
        }
        grid.starts.push(grid.columns[0].len() as u32);
        grid
    }

    /// The most that a member's sum may be, with all cells nearer than `reach` summed exactly; the pairs that took; and the
    /// ordered pairs at no distance that were seen.
    fn at_most(&self, member: usize, reach: f64, shares: &mut Shares) -> (f64, u64, u64) {
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
                add(&mut near, sources, target, softening2, shares);
                pairs += u64::from(self.counts[cell]) - u64::from(cell == own);
            } else {
                far += self.masses[cell] / (d2 + softening2).sqrt();
                pairs += 1;
            }
        });
        (near.felt(self.members.masses[member], self.members.softening) + far, pairs, u64::from(near.count - 1))
    }
}
