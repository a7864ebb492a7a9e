//! Redistributes points so that each rank has those of a compact region.
//!
//! In: points of all ranks, in any distribution. Out: on each rank, the points of one segment of the Morton curve, in
//! ascending order of global index.
//! Segments are chosen from samples. Each rank contributes samples in proportion to its points, each with the weight
//! of the block that it represents; all ranks sort all samples.
//! Cost: each point is sent once; `S * D + 8` bytes per point remain, and 4 bytes on the rank that it came from.
//! Source: Warren and Salmon 1993 (segments of the curve); Frazer and McKellar 1970 (samplesort).

use std::ops::Range;

use crate::bvh::morton::Grid;
use crate::bvh::{check, check_count};
use crate::distributed::communicator::{Communicator, agree, all_gather, all_gather_v, check_same_options, starts};
use crate::distributed::route::Route;
use crate::error::Result;
use crate::geometry::{Aabb, BoxSize, Scalar, Space};
use crate::memory::{filled, zeroed};
use crate::parallel::fill;
use crate::phases::mark;
use crate::precompiled::precompiled;
use crate::random::mixed;

/// Samples per border between two ranks. The relative imbalance is about one over the square root of this number.
const SAMPLES: usize = 1 << 13;
/// The maximum total number of samples; each rank sorts them all.
const MOST_SAMPLES: usize = 1 << 20;
/// Points per parallel task.
const TASK: usize = 1 << 12;

/// The points of all ranks and their distribution over regions: the input of distributed searches and finders.
///
/// The points of all ranks form one set: the *global index* of a point is its index on its rank plus the number of
/// points on all lower ranks. Results are those of one process that holds all points in this order, and are returned
/// to the ranks that passed in the points.
///
/// ```
/// use ropewalk::{Dbscan, Fof, distributed::{Communicator, Domain, on_threads}};
///
/// // Two ranks pass in alternate points of a row. Then each holds one half of the row, for two searches.
/// let found = on_threads(2, |ranks| {
///     let points: Vec<[f32; 1]> = (0..4).map(|i| [(2 * i + ranks.rank()) as f32]).collect();
///     let domain = Domain::new(ranks, &points)?;
///     let (halos, labels) = (Fof::new(1.0).run_on_domain(&domain)?, Dbscan::new(1.0, 3).run_on_domain(&domain)?);
///     assert_eq!((halos.len(), labels.n_clusters(), domain.len()), (1, 1, 8));
///     Ok((domain.points().concat(), domain.indices().to_vec()))
/// })?;
/// // Positions and global indices: rank 0 passed in 0 to 3, rank 1 passed in 4 to 7.
/// assert_eq!(found[0], (vec![0.0, 2.0, 1.0, 3.0], vec![0, 1, 4, 5]));
/// assert_eq!(found[1], (vec![4.0, 6.0, 5.0, 7.0], vec![2, 3, 6, 7]));
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub struct Domain<'a, S, const D: usize> {
    pub(crate) ranks: &'a dyn Communicator,
    pub(crate) space: Space<D>,
    /// The points of this rank's region, in ascending order of global index.
    pub(crate) points: Vec<[S; D]>,
    /// The global indices of `points`.
    pub(crate) ids: Vec<u64>,
    /// The route from the ranks that passed in the points to the ranks that hold them now.
    pub(crate) home: Route,
    /// The global index of each rank's first point, followed by the number of all points.
    pub(crate) starts: Vec<u64>,
}

impl<'a, S: Scalar, const D: usize> Domain<'a, S, D> {
    /// Distributes points in open space: [`DomainOptions::distribute`] with default options. Collective.
    ///
    /// # Errors
    /// As [`DomainOptions::distribute`].
    pub fn new(ranks: &'a dyn Communicator, points: &[[S; D]]) -> Result<Self> {
        DomainOptions::default().distribute(ranks, points)
    }

    fn distributed(ranks: &'a dyn Communicator, points: &[[S; D]], size: BoxSize, share: Share<'_>) -> Result<Self> {
        let own = Space::<D>::periodic(size).and_then(|space| {
            share.check(points.len())?;
            Ok((space, check(points, &space)?))
        });
        let (space, own) = agree(ranks, own)?;
        let mut options = vec![("distribution of points (0 even, 1 weighted, 2 in place)", share.number())];
        options.extend((0..D).map(|k| ("periodic", space.period().map_or(0.0, |period| period[k]))));
        check_same_options(ranks, &options)?;
        let starts = starts(ranks, points.len())?;
        let corners = all_gather_v(ranks, &[own.lo, own.hi])?;
        let bounds =
            corners.iter().fold(Aabb::EMPTY, |all, corners| all.union(&Aabb { lo: corners[0], hi: corners[1] }));
        let grid = Grid::over(&bounds);
        mark("bounds");

        let to = match share {
            Share::InPlace => filled(points.len(), ranks.rank() as u32),
            Share::Even => split(ranks, &grid, &space, points, None)?,
            Share::Weighted(weights) => split(ranks, &grid, &space, points, Some(weights))?,
        };
        let home = Route::to_one(ranks, &to)?;
        drop(to);
        let moved = home.send(ranks, points)?;
        // Each rank passes in fewer than 2^32 points, but more may arrive.
        agree(ranks, check_count::<D>(moved.len()))?;
        let ids = home.global_indices(ranks, &starts)?;
        mark("move points");
        Ok(Self { ranks, space, points: moved, ids, home, starts })
    }

    /// Returns the number of points of all ranks.
    pub fn len(&self) -> u64 {
        self.starts[self.ranks.size()]
    }

    /// Returns `true` if no rank has points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the global indices of the points that this rank passed in.
    pub fn own(&self) -> Range<u64> {
        self.starts[self.ranks.rank()]..self.starts[self.ranks.rank() + 1]
    }

    /// Returns the points of this rank's region, in ascending order of global index.
    pub fn points(&self) -> &[[S; D]] {
        &self.points
    }

    /// Returns the global index of each of [`Domain::points`].
    pub fn indices(&self) -> &[u64] {
        &self.ids
    }

    /// Returns the space of the points, open or periodic.
    #[doc(hidden)]
    pub fn space(&self) -> &Space<D> {
        &self.space
    }

    /// Sends a column of the points that this rank passed in, such as masses, to the ranks that hold the points now.
    /// Returns one value for each of [`Domain::points`]. Collective.
    #[doc(hidden)]
    pub fn send_column<T: bytemuck::Pod + Send + Sync>(&self, column: &[T]) -> Result<Vec<T>> {
        self.home.send(self.ranks, column)
    }

    /// Returns the rank that passed in a point.
    pub(crate) fn home_of(&self, id: u64) -> usize {
        self.starts.partition_point(|&start| start <= id) - 1
    }
}

impl<S, const D: usize> std::fmt::Debug for Domain<'_, S, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Domain").field("points", &self.points.len()).field("space", &self.space).finish_non_exhaustive()
    }
}

/// The distribution of points over ranks, and the box that they are in. By default, all ranks hold equal numbers of
/// points, each rank those of a compact region of open space.
///
/// ```
/// use ropewalk::distributed::{Communicator, DomainOptions, on_threads};
///
/// let held = on_threads(2, |ranks| {
///     let points = [[0.5 + ranks.rank() as f32], [9.5]];
///     let domain = DomainOptions::new().periodic(10.0).in_place().distribute(ranks, &points)?;
///     Ok(domain.indices().to_vec())
/// })?;
/// assert_eq!(held, [[0, 1], [2, 3]]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct DomainOptions<'w> {
    size: BoxSize,
    share: Share<'w>,
}

impl<'w> DomainOptions<'w> {
    /// Returns the default options: open space, and equal numbers of points.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the side of the periodic box, or one side per axis, in the unit of the points; `None` for open space.
    /// Default: open space.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = size.into();
        self
    }

    /// Sets a weight for each point of this rank, finite and not negative. Ranks then have regions of equal weight. A
    /// weight is for example the time that the point's part of space took in the last step. Default: equal numbers of
    /// points.
    #[must_use]
    pub fn weights(mut self, weights: &'w [f64]) -> Self {
        self.share = Share::Weighted(weights);
        self
    }

    /// Leaves the points on their ranks, as a simulation has distributed them. Results are the same for any
    /// distribution. The cost grows with the number of points near points of other ranks, which is large if regions
    /// are not compact. Replaces [`DomainOptions::weights`].
    #[must_use]
    pub fn in_place(mut self) -> Self {
        self.share = Share::InPlace;
        self
    }

    /// Moves points to the ranks that hold them from now on. `points` are those of this rank, any number. Collective.
    ///
    /// # Errors
    /// Fails on all ranks if one has points that [`Bvh::build`](crate::Bvh::build) rejects, or a periodic box that is
    /// not positive. Fails on all ranks unless the weights of each are one finite, non-negative number for each of its
    /// points. Fails if ranks have different options.
    pub fn distribute<'a, S: Scalar, const D: usize>(
        self,
        ranks: &'a dyn Communicator,
        points: &[[S; D]],
    ) -> Result<Domain<'a, S, D>> {
        Domain::distributed(ranks, points, self.size, self.share)
    }
}

/// The rule by which points are distributed over ranks.
#[derive(Clone, Copy, Debug, Default)]
enum Share<'a> {
    #[default]
    Even,
    Weighted(&'a [f64]),
    InPlace,
}

impl Share<'_> {
    fn check(self, n: usize) -> Result<()> {
        match self {
            Self::Weighted(weights) => crate::cluster::dbscan::check_weights(weights, n),
            Self::Even | Self::InPlace => Ok(()),
        }
    }

    fn number(self) -> f64 {
        match self {
            Self::Even => 0.0,
            Self::Weighted(_) => 1.0,
            Self::InPlace => 2.0,
        }
    }
}

precompiled! {
    /// Returns the rank that each point moves to.
    fn split = split_by_samples(
        ranks: keep &dyn Communicator, grid: same_ref &Grid<S, D>, space: same_ref &Space<D>, points: same_points &[[S; D]],
        weights: keep Option<&[f64]>
    ) -> Result<Vec<u32>>
}

fn split_by_samples<S: Scalar, const D: usize>(
    ranks: &dyn Communicator,
    grid: &Grid<S, D>,
    space: &Space<D>,
    points: &[[S; D]],
    weights: Option<&[f64]>,
) -> Result<Vec<u32>> {
    let code = |point: [S; D]| {
        let mut code = [0];
        grid.codes(std::iter::once(space.wrap(point)), &mut code);
        code[0]
    };
    let all: u64 = all_gather(ranks, points.len() as u64)?.into_iter().sum();
    let samples = (SAMPLES * ranks.size()).min(MOST_SAMPLES);
    let own = (samples as u128 * points.len() as u128).div_ceil(u128::from(all.max(1))) as usize;
    let own = own.min(points.len());
    let samples: Vec<(u64, f64)> = (0..own)
        .map(|sample| {
            let block = sample * points.len() / own..(sample + 1) * points.len() / own;
            // A pseudo-random position in the block avoids patterns in the order of the points.
            let at = block.start + (mixed(sample as u64) % block.len() as u64) as usize;
            (code(points[at]), weights.map_or(block.len() as f64, |weights| weights[block].iter().sum()))
        })
        .collect();
    let codes = all_gather_v(ranks, &samples.iter().map(|sample| sample.0).collect::<Vec<_>>())?;
    let weights = all_gather_v(ranks, &samples.iter().map(|sample| sample.1).collect::<Vec<_>>())?;
    let borders = borders(codes.values(), weights.values(), ranks.size());

    let mut to = zeroed(points.len());
    fill(&mut to, TASK, &|range, to| {
        let mut codes = zeroed(range.len());
        grid.codes(points[range].iter().map(|&point| space.wrap(point)), &mut codes);
        to.iter_mut().zip(codes).for_each(|(to, code)| *to = borders.partition_point(|&border| border <= code) as u32);
    });
    Ok(to)
}

/// Returns the first code of each rank except rank 0, chosen so that all ranks have equal weight.
fn borders(codes: &[u64], weights: &[f64], ranks: usize) -> Vec<u64> {
    let mut samples: Vec<(u64, f64)> = codes.iter().copied().zip(weights.iter().copied()).collect();
    samples.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let total: f64 = samples.iter().map(|sample| sample.1).sum();
    // Without positive weights, all samples count equally.
    let is_even = !(total > 0.0 && total.is_finite());
    let (mut sum, mut borders) = (0.0, Vec::with_capacity(ranks));
    for (code, weight) in &samples {
        let share = if is_even { samples.len() as f64 } else { total } / ranks as f64;
        while borders.len() + 1 < ranks && sum >= share * (borders.len() + 1) as f64 {
            borders.push(*code);
        }
        sum += if is_even { 1.0 } else { *weight };
    }
    // Codes beyond all samples belong to the last rank.
    borders.resize(ranks - 1, u64::MAX);
    borders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_share_the_weight() {
        let codes: Vec<u64> = (0..1000).rev().collect();
        assert_eq!(borders(&codes, &[1.0; 1000], 4), [250, 500, 750]);
        let heavy: Vec<f64> = codes.iter().map(|&code| if code < 100 { 9.0 } else { 1.0 }).collect();
        assert_eq!(borders(&codes, &heavy, 2), [100]);
        // All samples at one code, no samples, samples of weight zero.
        assert_eq!(borders(&[7; 5], &[1.0; 5], 3), [7, 7]);
        assert_eq!(borders(&[], &[], 3), [u64::MAX; 2]);
        assert_eq!(borders(&codes, &[0.0; 1000], 2), [500]);
    }
}
