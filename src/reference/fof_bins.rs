//! Friends of friends on bins: data-parallel connected components.
//!
//! In: points as a structure of arrays. Out: a union-find forest over the points in the order of their bins, and that
//! order.
//!
//! Points are sorted into bins at least as wide as the linking length, the first axis fastest. The neighbours of a bin
//! are 3^(D - 1) ranges of three contiguous bins: nine ranges in three dimensions. Then two operations alternate until
//! no component is hooked:
//! - *hooking*: each point hooks its component below a smaller one that it finds in these ranges;
//! - *pointer jumping*: parents are replaced by grandparents until every point's parent is its root (all trees are
//!   stars).
//!
//! Each point determines once which of its ranges contain a friend, and later rounds search only those.
//!
//! Cost: O(n log n), then in each of about log n rounds the pairs of points in neighbouring bins; memory as documented
//! at [`fof_bins`]. Source: Sewell et al. 2015 (PISTON, VTK-m). Differences from the source: components are compared
//! before distances, ranges belong to bins and not to points, and empty ranges are not stored.

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

/// The maximum number of bins along an axis: three such numbers make a key of 63 bits.
const MOST: f64 = (1 << 21) as f64;
/// The ratio of the minimum bin width to the linking length. The margin keeps friends in neighbouring bins despite
/// rounding: the error of a coordinate in units of bins is below `MOST` / 2^50, far less than the margin.
const SLACK: f64 = 1.0 + 1.0 / (1 << 20) as f64;
/// Added to the minimum bin width: in `f64` the square of a distance below 2^-537 underflows to 0, as `eps * eps` may.
const TINY: f64 = 1e-160;
/// Points, or bins, per parallel task.
const TASK: usize = 1 << 10;

/// Finds the halos of [`Fof::run`] by data-parallel connected components over bins as wide as the linking length.
///
/// Each point searches nine ranges of three contiguous bins and hooks its component to a smaller one found there. Then
/// pointers are jumped until all components are stars. This is repeated until no component is hooked. Source: Sewell
/// et al. 2015 (the halo finder of PISTON and VTK-m).
///
/// # Cost
/// O(n log n) to sort and to look up bins, then in each round up to one distance for each pair of points in
/// neighbouring bins. The time is quadratic in the number of points that share a bin. On 262,144 particles of a
/// cosmological simulation it takes 5 times as long as [`Fof::run`] (benches/README.md). An axis has at most 2^21
/// bins; beyond that, bins are wider than the linking length.
///
/// Peak memory for three-dimensional `f32`, including the result: some 100 bytes per point in such a simulation. It is
/// 260 bytes per point if all points have bins of their own with 26 occupied neighbours each.
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
/// Returns an error as [`Fof::run`], for more than 3 dimensions, and for primitives with an extent (types whose
/// [`Bounded::IS_POINT`] is false).
pub fn fof_bins<T: Bounded<S, D>, S: Scalar, const D: usize>(fof: &Fof, points: &[T]) -> Result<Halos> {
    guarded(|| {
        let row = PointsSoA::new(points, &fof.space()?)?;
        let (forest, order) = connect(&row, fof.linking_length)?;
        fof.halos(forest, &order, &row.space)
    })
}

/// Unites all pairs within `radius`. The returned order gives the index in the caller's slice for each position.
fn connect<S: Scalar, const D: usize>(row: &PointsSoA<S, D>, radius: f64) -> Result<(UnionFind, Vec<u32>)> {
    if D > 3 {
        let sentence = format!("fof_bins supports 1 to 3 dimensions, got {D}; use Fof::run");
        return Err(Error::new(ErrorKind::Unsupported, sentence));
    }
    if row.hi.is_some() {
        let sentence = "fof_bins supports points only, not primitives with an extent; use Fof::run";
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
    // In a round that hooks nothing, all trees were stars at the start, and both points of every pair of friends were
    // in the same star.
    while bins.any_point(|at, ranges| bins.hook(&parent, at, ranges, active[at].load(Relaxed))) {
        while jump(&parent) {}
    }
    mark("hook, jump");
    let order = bins.sorted.iter().map(|&at| row.order[at as usize]).collect();
    Ok((UnionFind::from_parents(parent), order))
}

/// Replaces every point's parent by its grandparent. Returns `true` if any parent changed.
fn jump(parent: &[AtomicU32]) -> bool {
    let jump = |of: &AtomicU32| -> bool {
        let now = of.load(Relaxed);
        let next = parent[now as usize].load(Relaxed);
        if next != now {
            of.store(next, Relaxed);
        }
        next != now
    };
    // Visits every point: `any` on the iterator would stop at the first change.
    let any = map_tasks(parent.len(), TASK, &|range| parent[range].iter().fold(false, |any, of| any | jump(of)));
    any.contains(&true)
}

/// Points in the order of their bins, with the ranges of points around each bin.
struct Bins<S, const D: usize> {
    points: Vec<[S; D]>,
    /// The position of each point in the unsorted array.
    sorted: Vec<u32>,
    /// The first point of each occupied bin, followed by the number of points.
    starts: Vec<u32>,
    /// The ranges of points in the neighbours of each occupied bin, including the bin itself. Contiguous bins form one
    /// range.
    ranges: Csr<Span>,
    space: Space<D>,
    radius2: f64,
}

/// A range of positions: start, and end (exclusive).
type Span = [u32; 2];

fn positions([start, end]: Span) -> Range<usize> {
    start as usize..end as usize
}

/// Points to be sorted by the keys of their bins.
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
                    // A range spans at most three bins.
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

    /// Calls `visit` with every point and the ranges around its bin. Returns `true` if any call does.
    fn any_point(&self, visit: impl Fn(usize, &[Span]) -> bool + Sync) -> bool {
        let any = map_tasks(self.points.len(), TASK, &|own| {
            // Tasks are ranges of points, not of bins, as all points may share one bin.
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

    /// A bit mask of the ranges that contain a friend other than the point itself: at most nine ranges, or 18 next to
    /// a periodic boundary.
    fn active(&self, at: usize, ranges: &[Span]) -> u32 {
        ranges.iter().zip(0..).fold(0, |mask, (range, bit)| {
            let found = positions(*range).any(|other| other != at && self.are_friends(at, other));
            mask | u32::from(found) << bit
        })
    }

    /// Hooks a point's star below a smaller component that contains a friend. Returns `true` if it did, or if another
    /// thread hooked the star first.
    ///
    /// Parents only decrease, regardless of the order of threads, so the process ends and creates no cycles. A hook
    /// may be overwritten by a smaller one at the same root. The two friends are then still in different components in
    /// the next round.
    fn hook(&self, parent: &[AtomicU32], at: usize, ranges: &[Span], active: u32) -> bool {
        let mut own = parent[at].load(Relaxed);
        let mut hooked = false;
        let active = ranges.iter().zip(0..).filter(|&(_, bit)| active >> bit & 1 == 1);
        for other in active.flat_map(|(range, _)| positions(*range)) {
            // Only a root may be hooked. If another thread has hooked it, pointers must be jumped first.
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

/// Bins of equal size over the bounding box of the points, or over the periodic box.
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
            // Without points, the extent is negative, which gives one bin.
            bins[k] = ((extent / least) as u64).max(1);
            // A whole number of bins fills a period, so that the first and the last are neighbours.
            width[k] = extent / bins[k] as f64;
        }
        Self { lo, width, bins, is_periodic: space.period().is_some() }
    }

    /// The number of bits of a key.
    fn bits(&self) -> u32 {
        u64::BITS - (self.bins.iter().product::<u64>() - 1).leading_zeros()
    }

    /// The key of a point's bin, the first axis fastest.
    #[inline(always)]
    fn key<S: Scalar>(&self, point: &[S; D]) -> u64 {
        (0..D).rev().fold(0, |key, k| {
            // If the extent is 0, the quotient is NaN, which is converted to 0.
            let bin = ((Into::<f64>::into(point[k]) - self.lo[k]) / self.width[k]) as u64;
            key * self.bins[k] + bin.min(self.bins[k] - 1)
        })
    }

    /// The bin and its neighbours along an axis: the first, to be taken modulo the number of bins, and their number.
    fn beside(&self, axis: usize, bin: u64) -> (u64, u64) {
        let bins = self.bins[axis];
        if self.is_periodic {
            (bin + bins - 1, bins.min(3))
        } else {
            let first = bin.saturating_sub(1);
            (first, (bin + 2).min(bins) - first)
        }
    }

    /// Calls `visit` with the ranges of contiguous keys around a bin: one range per row, or two if the row crosses the
    /// periodic boundary.
    fn each_range(&self, key: u64, mut visit: impl FnMut(Range<u64>)) {
        let mut place = [0; D];
        let mut rest = key;
        for (bin, bins) in place.iter_mut().zip(self.bins) {
            (*bin, rest) = (rest % bins, rest / bins);
        }
        // The rows around the bin, axis by axis from the slowest: at most nine, as D is at most 3.
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
