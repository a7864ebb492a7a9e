//! Searches among the points of all ranks.
//!
//! In: a domain. Out: on each rank a tree over its region, and the boxes of all ranks. A query goes to the ranks that have a box it meets;
//! each searches in its own tree, and what is found comes back along the same way.
//! Cost: each query is sent to the ranks it meets, most to one; each result once. Source: Warren and Salmon 1993 (what is known of other
//! ranks), Prokopenko et al. 2025 (ArborX: two phases of a distributed search).

pub(super) mod nearest;
mod portable;
mod range;
mod shells;
mod stored;

use std::ops::Range;

use crate::csr::Csr;
use crate::distributed::communicator::{Communicator, Reduction, agree, reduce};
use crate::distributed::domain::Domain;
use crate::distributed::regions::Regions;
use crate::error::Result;
use crate::geometry::{BoxSize, Scalar};

pub use nearest::Neighbor;
pub use portable::Portable;
pub use range::Hit;
pub use shells::ShellAbout;

/// The most queries of a rank that are under way at once.
const BATCH: usize = 1 << 22;

/// A tree over the points of all ranks: [`crate::Bvh`], of which each rank has a part.
///
/// Points are known by their global index (see [`Domain`]). All functions that return a `Result` are collective: all ranks call them with
/// the same options, each with any number of queries of its own, none included. Results are what one process finds that holds all points,
/// for any number of ranks; they arrive where the queries are, in their order.
///
/// | question | many, each rank its own | all stored points, where they came from |
/// |---|---|---|
/// | what is within a radius, or in a box? | [`query_all`](Bvh::query_all) | [`neighbors`](Bvh::neighbors) |
/// | how many? | [`count_all`](Bvh::count_all) | [`count_neighbors`](Bvh::count_neighbors) |
/// | which are the k nearest? | [`nearest_all`](Bvh::nearest_all) | [`nearest_neighbors`](Bvh::nearest_neighbors) |
/// | call me for each, on the rank that has it | [`for_each_hit`](Bvh::for_each_hit) | |
/// | which pairs are within a radius? | | [`pairs`](Bvh::pairs) |
/// | how many pairs? | | [`count_pairs`](Bvh::count_pairs) |
///
/// Memory: beside the domain, the tree of this rank's region, and a thousand boxes of each rank (fewer from 1024 ranks on). A call needs
/// memory for its results, twice for a moment, and for the queries that are under way: see [`Bvh::batches_of`].
///
/// ```
/// use ropewalk::{Sphere, distributed::{Bvh, Communicator, on_threads}};
///
/// // Each of four ranks has one point of a row, and asks what is around the next one.
/// let near = on_threads(4, |ranks| {
///     let x = ranks.rank() as f32;
///     let bvh = Bvh::build(ranks, &[[x]])?;
///     Ok(bvh.query_all(&[Sphere::new([x + 1.0], 1.0)])?.into_parts().1)
/// })?;
/// assert_eq!(near, [vec![0, 1, 2], vec![1, 2, 3], vec![2, 3], vec![3]]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub struct Bvh<'a, S, const D: usize> {
    domain: Domain<'a, S, D>,
    /// Over the points of this rank's region.
    tree: crate::Bvh<S, D>,
    regions: Regions<S, D>,
    batch: usize,
}

impl<'a, S: Scalar, const D: usize> Bvh<'a, S, D> {
    /// Moves the points of all ranks so that each has a compact region, and builds the tree of each. Collective; `points` are those of
    /// this rank, any number.
    ///
    /// # Errors
    /// On all ranks, if one has points that [`crate::Bvh::build`] refuses; if a rank has ended.
    pub fn build(ranks: &'a dyn Communicator, points: &[[S; D]]) -> Result<Self> {
        Self::of_domain(Domain::new(ranks, points, None::<f64>)?)
    }

    /// The same in a periodic box: every query and pair then means the nearest image. Collective.
    ///
    /// # Errors
    /// As [`Bvh::build`]; if the box is not positive.
    pub fn build_periodic(ranks: &'a dyn Communicator, points: &[[S; D]], size: impl Into<BoxSize>) -> Result<Self> {
        Self::of_domain(Domain::new(ranks, points, size)?)
    }

    /// Builds the tree where points are shared out already, weighted or in place. Collective.
    ///
    /// ```
    /// use ropewalk::distributed::{Bvh, Communicator, Domain, on_threads};
    ///
    /// let pairs = on_threads(3, |ranks| {
    ///     let points = [[ranks.rank() as f64, 0.0]];
    ///     let bvh = Bvh::of_domain(Domain::in_place(ranks, &points, None::<f64>)?)?;
    ///     bvh.pairs(1.0)
    /// })?;
    /// assert_eq!(pairs, [vec![[0, 1]], vec![[1, 2]], vec![]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a rank has ended.
    pub fn of_domain(domain: Domain<'a, S, D>) -> Result<Self> {
        let tree = agree(domain.ranks, crate::Bvh::build_in(&domain.points, domain.space))?;
        let regions = Regions::new(&domain, &tree)?;
        Ok(Self { domain, tree, regions, batch: BATCH })
    }

    /// Answers at most so many queries of each rank at a time, 4 million unless told: a bound for the memory of those that are under way.
    /// One at least.
    ///
    /// That is some 50 bytes a query and rank that it is sent to, on both, and its results. Results that all have been found are kept on the
    /// rank that asked: where these are too many, [`Bvh::for_each_hit`] keeps none.
    #[must_use]
    pub fn batches_of(mut self, queries: usize) -> Self {
        self.batch = queries.max(1);
        self
    }

    /// What the points of all ranks are shared out by; clusters are found in it, too, as by
    /// [`Dbscan::run_on_domain`](crate::Dbscan::run_on_domain).
    pub fn domain(&self) -> &Domain<'a, S, D> {
        &self.domain
    }

    /// This rank's tree; its indices are those of [`Domain::points`], which [`Domain::indices`] gives the global ones of.
    pub fn tree(&self) -> &crate::Bvh<S, D> {
        &self.tree
    }

    /// How many points all ranks have.
    pub fn len(&self) -> u64 {
        self.domain.len()
    }

    /// Whether no rank has a point.
    pub fn is_empty(&self) -> bool {
        self.domain.is_empty()
    }

    /// Calls `work` with ranges that make up `0..n`, on all ranks as often. Collective.
    fn in_batches(&self, n: usize, work: &mut dyn FnMut(Range<usize>) -> Result<()>) -> Result<()> {
        // What arrives on a rank is numbered by 32 bits.
        let batch = self.batch.min((u32::MAX as usize - 1) / self.domain.ranks.size());
        let rounds = reduce(self.domain.ranks, n.div_ceil(batch) as u64, Reduction::Max)?;
        for round in 0..rounds as usize {
            work((round * batch).min(n)..((round + 1) * batch).min(n))?;
        }
        Ok(())
    }

    /// The global indices of hits.
    fn global(&self, hits: &Csr<u32>) -> Csr<u64> {
        let ids = &self.domain.ids;
        hits.of_values(&|row| ids[row as usize])
    }
}

impl<S, const D: usize> std::fmt::Debug for Bvh<'_, S, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Bvh").field("domain", &self.domain).finish_non_exhaustive()
    }
}
