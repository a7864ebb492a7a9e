//! Friends of friends on bins: data-parallel connected components.
//!
//! In: points in a row. Out: a union-find forest over the points in the order of their bins, and that order.
//! Points are sorted into bins at least as wide as the linking length, the first axis fastest, so that the neighbours of a
//! bin are 3^(D - 1) ranges of three contiguous ones: nine in space. Then rounds of *hooking* (each point hangs its component
//! below a smaller one that it meets in these ranges) and *pointer jumping* (until every point hangs at its root: all trees are
//! stars), until a round finds nothing to hook. A point notes once which of its ranges hold any friend, and looks at no others.
//! Cost: O(n log n), then the pairs of points in neighbouring bins, in each of some log n rounds; memory as documented at
//! [`fof_bins`]. Source: Sewell et al. 2015 (PISTON, VTK-m). What differs: a component
//! is compared before the distance, ranges belong to bins and not to points, and empty ones are not kept.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::bvh::radix_sort::{Buckets, Source};
use crate::cancel::guarded;
use crate::cluster::union_find::UnionFind;
use crate::cluster::{Fof, Halos};
use crate::csr::{Csr, CsrChunk};
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::{Aabb, Bounded, Scalar, Space};
use crate::parallel::{atomics, list_tasks, map, map_tasks};
use crate::phases::mark;
use crate::reference::points::PointsSoA;

/// Bins along an axis, at most: three such numbers make a key of 63 bits.
const MOST: f64 = (1 << 21) as f64;
/// Bins are wider than the linking length by this factor, so that rounding never carries friends past a neighbouring bin: the
/// place of a coordinate among the bins is wrong by less than `MOST` / 2^50, far less than this leaves.
const SLACK: f64 = 1.0 + 1.0 / (1 << 20) as f64;
/// And by this, because the square of a distance less than 2^-537 is 0 in `f64`, so that `eps * eps` can be.
const TINY: f64 = 1e-160;
/// Points, or bins, per parallel task.
const TASK: usize = 1 << 10;

/// The halos of [`Fof::run`], by data-parallel connected components over bins as wide as the linking length: each point looks at nine ranges
/// of three contiguous bins, hooks its component to a smaller one that it meets there, and pointers are jumped until all components are
/// stars; this is repeated until nothing is left to hook. Source: Sewell et al. 2015 (the halo finder of PISTON and VTK-m).
///
/// Cost: O(n log n) to sort and look up, then up to one distance for each pair of points in neighbouring bins and round; quadratic in the
/// number of points that share a bin; on 262,144 particles of a cosmological simulation 5 times as long as [`Fof::run`]
/// (benches/README.md). An axis has at most 2^21 bins: beyond that they are wider than the linking length. Memory: for three-dimensional
/// `f32` some 100 bytes a point at its peak, the result included, in such a simulation; 260 where all points have bins of their own and
/// all of these have 26 occupied neighbours.
///
/// ```
/// use ropewalk::{Fof, reference::fof_bins};
///
/// let points = [[0.0f32, 0.0], [0.5, 0.0], [9.0, 9.0]];
/// assert_eq!(fof_bins(&Fof::new(0.5), &points)?, Fof::new(0.5).run(&points)?);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As [`Fof::run`]; more than 3 dimensions; primitives that have an extent (types whose [`Bounded::IS_POINT`] is false).
pub fn fof_bins<T: Bounded<S, D>, S: Scalar, const D: usize>(fof: &Fof, points: &[T]) -> Result<Halos> {
    guarded(|| {
        let row = PointsSoA::of(points, &fof.space()?)?;
        let (forest, order) = connect(&row, fof.linking_length)?;
        fof.halos(forest, &order, &row.space)
    })
}

/// Joins all pairs within `radius`. The order gives each position's index in the caller's slice.
fn connect<S: Scalar, const D: usize>(row: &PointsSoA<S, D>, radius: f64) -> Result<(UnionFind, Vec<u32>)> {
    if D > 3 {
        let sentence = format!("{D} dimensions: bins are for points of 1 to 3; the tree takes up to 10 (Fof::run)");
        return Err(Error::new(ErrorKind::Unsupported, sentence));
    }
    if row.hi.is_some() {
        let sentence = "bins are for points, and these primitives have an extent; the tree takes them (Fof::run)";
        return Err(Error::new(ErrorKind::Unsupported, sentence));
    }
    let bins = Bins::new(row, radius);
    let parent: Vec<AtomicU32> = map(row.len(), TASK, &|at| AtomicU32::new(at as u32));
    let active = atomics(row.len(), 0);
    bins.any_point(|at, ranges| {
        active[at].store(bins.active(at, ranges), Relaxed);
        false
    });
    mark("active ranges");
    // A round that hooks nothing began with stars and saw every pair of friends in one of them.
    while bins.any_point(|at, ranges| bins.hook(&parent, at, ranges, active[at].load(Relaxed))) {
        while jump(&parent) {}
    }
    mark("hook, jump");
    let order = bins.sorted.iter().map(|&at| row.order[at as usize]).collect();
    Ok((UnionFind::of(parent), order))
}

/// Makes every point's parent its grandparent. Whether any was not so already.
fn jump(parent: &[AtomicU32]) -> bool {
    let jump = |of: &AtomicU32| -> bool {
        let now = of.load(Relaxed);
        let next = parent[now as usize].load(Relaxed);
        if next != now {
            of.store(next, Relaxed);
        }
        next != now
    };
    // Every point, also where one is found at once.
    let any = map_tasks(parent.len(), TASK, &|range| parent[range].iter().fold(false, |any, of| any | jump(of)));
    any.contains(&true)
}

/// Points in the order of their bins, and where the neighbours of each bin are.
struct Bins<S, const D: usize> {
    points: Vec<[S; D]>,
    /// The positions in the row.
    sorted: Vec<u32>,
    /// Where each occupied bin begins; and the end of all.
    starts: Vec<u32>,
    /// The points in the neighbours of each occupied bin, its own among them: contiguous bins are one range.
    ranges: Csr<Span>,
    space: Space<D>,
    radius2: f64,
}

/// Positions from the first to before the second.
type Span = [u32; 2];

fn positions([start, end]: Span) -> Range<usize> {
    start as usize..end as usize
}

/// A row that is sorted by the keys of its points.
struct Keyed<'a, S: Scalar, const D: usize> {
    row: &'a PointsSoA<S, D>,
    grid: &'a Grid<D>,
}

impl<S: Scalar, const D: usize> Source for Keyed<'_, S, D> {
    type Item = [S; D];

    fn len(&self) -> usize {
        self.row.len()
    }
    fn bits(&self) -> u32 {
        self.grid.bits()
    }
    fn item(&self, index: usize) -> [S; D] {
        self.row.point(index)
    }
    fn prefetch(&self, _index: usize) {}
    fn codes(&self, points: &[[S; D]], keys: &mut [u64]) {
        for (key, point) in keys.iter_mut().zip(points) {
            *key = self.grid.key(point);
        }
    }
}

impl<S: Scalar, const D: usize> Bins<S, D> {
    fn new(row: &PointsSoA<S, D>, radius: f64) -> Self {
        let n = row.len();
        let grid = Grid::new(&row.bounds, radius, &row.space);
        let sorted = Buckets::split(&Keyed { row, grid: &grid }).into_order();
        let points = map(n, TASK, &|at| row.point(sorted[at] as usize));
        let key = |at: usize| grid.key(&points[at]);
        let begins = |at: &usize| *at == 0 || key(*at - 1) != key(*at);
        let mut starts = list_tasks(n, TASK, &|range| range.filter(begins).map(|at| at as u32).collect());
        let keys = map(starts.len(), TASK, &|bin| key(starts[bin] as usize));
        starts.push(n as u32);
        mark("bins, sort");

        let occupied: Vec<u32> = (0..keys.len() as u32).collect();
        let blocks = map_tasks(keys.len(), TASK, &|bins| {
            let mut block = CsrChunk::default();
            for &key in &keys[bins] {
                let before = block.values.len();
                grid.each_range(key, |wanted| {
                    let first = keys.partition_point(|&key| key < wanted.start);
                    // No more than three can follow.
                    let after = first + keys[first..].iter().take_while(|&&key| key < wanted.end).count();
                    if first < after {
                        block.values.push([starts[first], starts[after]]);
                    }
                });
                block.lengths.push((block.values.len() - before) as u32);
            }
            block
        });
        let ranges = Csr::gather(&occupied, &blocks);
        mark("ranges");
        Self { points, sorted, starts, ranges, space: row.space, radius2: radius * radius }
    }

    /// Whether `visit` is true of any point. It is called with every point, and the ranges around its bin.
    fn any_point(&self, visit: impl Fn(usize, &[Span]) -> bool + Sync) -> bool {
        let any = map_tasks(self.points.len(), TASK, &|own| {
            // Tasks are of points, not of bins: all points may share one.
            let mut bin = self.starts.partition_point(|&start| start as usize <= own.start).saturating_sub(1);
            let mut any = false;
            for at in own {
                bin += usize::from(self.starts[bin + 1] as usize <= at);
                any |= visit(at, self.ranges.of(bin));
            }
            any
        });
        any.contains(&true)
    }

    #[inline(always)]
    fn are_friends(&self, a: usize, b: usize) -> bool {
        self.space.distance2(&self.points[a], &self.points[b]) <= self.radius2
    }

    /// The ranges that hold a friend other than the point itself, a bit each: at most nine, or 18 around a boundary.
    fn active(&self, at: usize, ranges: &[Span]) -> u32 {
        ranges.iter().zip(0..).fold(0, |mask, (range, bit)| {
            let found = positions(*range).any(|other| other != at && self.are_friends(at, other));
            mask | u32::from(found) << bit
        })
    }

    /// Hooks a point's star below a smaller component that a friend is in. Whether it did, or another thread before it.
    ///
    /// Parents only ever decrease, whatever the threads do, so there is an end and no cycle. A hook may be lost to a smaller
    /// one at the same root; the friends are then found apart in the next round.
    fn hook(&self, parent: &[AtomicU32], at: usize, ranges: &[Span], active: u32) -> bool {
        let mut own = parent[at].load(Relaxed);
        let mut hooked = false;
        let active = ranges.iter().zip(0..).filter(|&(_, bit)| active >> bit & 1 == 1);
        for other in active.flat_map(|(range, _)| positions(*range)) {
            // Only a root may be hooked: another thread has been here, and pointers must be jumped first.
            if parent[own as usize].load(Relaxed) != own {
                return true;
            }
            let theirs = parent[other].load(Relaxed);
            if theirs < own && self.are_friends(at, other) {
                parent[own as usize].fetch_min(theirs, Relaxed);
                hooked = true;
                own = parent[at].load(Relaxed);
            }
        }
        hooked
    }
}

/// Bins of equal size over everything, or over the periodic box.
struct Grid<const D: usize> {
    lo: [f64; D],
    width: [f64; D],
    bins: [u64; D],
    is_periodic: bool,
}

impl<const D: usize> Grid<D> {
    fn new<S: Scalar>(bounds: &Aabb<S, D>, radius: f64, space: &Space<D>) -> Self {
        let (mut lo, mut width, mut bins) = ([0.0; D], [0.0; D], [1; D]);
        for k in 0..D {
            let extent = match space.period() {
                Some(period) => period[k],
                None => {
                    lo[k] = bounds.lo[k].into();
                    Into::<f64>::into(bounds.hi[k]) - lo[k]
                }
            };
            let least = (radius * SLACK + TINY).max(extent / MOST);
            // Where there is nothing, the extent is negative: one bin.
            bins[k] = ((extent / least) as u64).max(1);
            // A whole number of them fills a period, so that the last and the first are neighbours.
            width[k] = extent / bins[k] as f64;
        }
        Self { lo, width, bins, is_periodic: space.period().is_some() }
    }

    /// How many bits keys have.
    fn bits(&self) -> u32 {
        u64::BITS - (self.bins.iter().product::<u64>() - 1).leading_zeros()
    }

    /// The number of a point's bin, the first axis fastest.
    #[inline(always)]
    fn key<S: Scalar>(&self, point: &[S; D]) -> u64 {
        (0..D).rev().fold(0, |key, k| {
            // NaN, where there is no extent, is 0 as well.
            let bin = ((Into::<f64>::into(point[k]) - self.lo[k]) / self.width[k]) as u64;
            key * self.bins[k] + bin.min(self.bins[k] - 1)
        })
    }

    /// The bin itself and those beside it along an axis: the first, to be taken modulo the bins of the axis, and how many.
    fn beside(&self, axis: usize, bin: u64) -> (u64, u64) {
        let bins = self.bins[axis];
        if self.is_periodic {
            (bin + bins - 1, bins.min(3))
        } else {
            let first = bin.saturating_sub(1);
            (first, (bin + 2).min(bins) - first)
        }
    }

    /// Calls `visit` with ranges of contiguous keys that are neighbours of a bin: one in each row, or two where the row goes
    /// on around the boundary.
    fn each_range(&self, key: u64, mut visit: impl FnMut(Range<u64>)) {
        let mut place = [0; D];
        let mut rest = key;
        for (bin, bins) in place.iter_mut().zip(self.bins) {
            (*bin, rest) = (rest % bins, rest / bins);
        }
        // The rows beside the bin's own, axis by axis from the slowest; D is at most 3.
        let mut rows = [0; 9];
        let mut count = 1;
        for k in (1..D).rev() {
            let (first, beside) = self.beside(k, place[k]);
            let outer = rows;
            let combined = outer[..count].iter().flat_map(|row| (first..first + beside).map(move |bin| (row, bin)));
            let mut n = 0;
            for (slot, (row, bin)) in rows.iter_mut().zip(combined) {
                *slot = row * self.bins[k] + bin % self.bins[k];
                n += 1;
            }
            count = n;
        }

        let bins = self.bins[0];
        let (first, beside) = self.beside(0, place[0]);
        let first = first % bins;
        for row in &rows[..count] {
            let row = row * bins;
            visit(row + first..row + (first + beside).min(bins));
            if first + beside > bins {
                visit(row..row + first + beside - bins);
            }
        }
    }
}
