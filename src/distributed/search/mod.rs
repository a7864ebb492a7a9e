//! Searches among the points of all ranks.
//!
//! In: a domain. Out: on each rank, a tree over its region and the boxes of all ranks. A query is sent to the ranks
//! with a box that it meets. Each of these searches its own tree and sends results back along the same route.
//! Cost: each query is sent to the ranks that it meets, mostly one; each result is sent once. Source: Warren and
//! Salmon 1993 (boxes of other ranks), Prokopenko et al. 2025 (ArborX: two phases of a distributed search).

pub(super) mod nearest;
mod portable;
mod range;
mod shells;
mod all_neighbors;

use std::ops::Range;

use crate::csr::Csr;
use crate::distributed::communicator::{Communicator, Reduction, agree, reduce};
use crate::distributed::domain::{Domain, DomainOptions};
use crate::distributed::regions::RankBoxes;
use crate::error::Result;
use crate::geometry::{BoxSize, Scalar};

pub use nearest::Neighbor;
pub use portable::Portable;
pub use range::Hit;
pub use shells::ShellAbout;

/// The maximum number of queries of a rank that are processed at once.
const BATCH: usize = 1 << 22;

/// A tree over the points of all ranks: the counterpart of [`crate::Bvh`], of which each rank holds a part.
///
/// Points are identified by their global index (see [`Domain`]). All methods that return a `Result` are collective:
/// all ranks call them with the same options, each with any number of queries, possibly none. Results equal those of
/// one process that holds all points, for any number of ranks. They are returned on the rank of the query, in the
/// order of its queries.
///
/// | question | queries of each rank | all stored points, on the ranks that passed them in |
/// |---|---|---|
/// | what is within a radius, or in a box? | [`query_all`](Bvh::query_all) | [`neighbors`](Bvh::neighbors) |
/// | how many? | [`count_all`](Bvh::count_all) | [`count_neighbors`](Bvh::count_neighbors) |
/// | which are the k nearest? | [`nearest_all`](Bvh::nearest_all) | [`nearest_neighbors`](Bvh::nearest_neighbors) |
/// | a callback for each hit, on the rank that holds the point | [`for_each_hit`](Bvh::for_each_hit) | |
/// | which pairs are within a radius? | | [`pairs`](Bvh::pairs) |
/// | how many pairs? | | [`count_pairs`](Bvh::count_pairs) |
///
/// Memory: besides the domain, the tree of this rank's region and up to 1024 boxes of each rank (fewer with more than
/// 1024 ranks). A call allocates its results, temporarily twice, and the queries that are being processed: see
/// [`Bvh::batches_of`].
///
/// ```
/// use ropewalk::{Sphere, distributed::{Bvh, Communicator, on_threads}};
///
/// // Each of four ranks has one point of a row, and queries a sphere around the next one.
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
    /// The tree over the points of this rank's region.
    tree: crate::Bvh<S, D>,
    regions: RankBoxes<S, D>,
    batch: usize,
}

impl<'a, S: Scalar, const D: usize> Bvh<'a, S, D> {
    /// Moves the points of all ranks so that each rank has a compact region, and builds a tree on each. `points` are
    /// those of this rank, any number. Collective.
    ///
    /// # Errors
    /// Fails on all ranks if one has points that [`crate::Bvh::build`] rejects, or if a rank has ended.
    pub fn build(ranks: &'a dyn Communicator, points: &[[S; D]]) -> Result<Self> {
        Self::from_domain(Domain::new(ranks, points)?)
    }

    /// Builds the tree in a periodic box: queries and pairs then use the nearest image. Collective.
    ///
    /// # Errors
    /// As [`Bvh::build`]. Also fails if the box is not positive.
    pub fn build_periodic(ranks: &'a dyn Communicator, points: &[[S; D]], size: impl Into<BoxSize>) -> Result<Self> {
        Self::from_domain(DomainOptions::new().periodic(size).distribute(ranks, points)?)
    }

    /// Builds the tree of a domain, whose points are already distributed, for example weighted or in place.
    /// Collective.
    ///
    /// ```
    /// use ropewalk::distributed::{Bvh, Communicator, DomainOptions, on_threads};
    ///
    /// let pairs = on_threads(3, |ranks| {
    ///     let points = [[ranks.rank() as f64, 0.0]];
    ///     let bvh = Bvh::from_domain(DomainOptions::new().in_place().distribute(ranks, &points)?)?;
    ///     bvh.pairs(1.0)
    /// })?;
    /// assert_eq!(pairs, [vec![[0, 1]], vec![[1, 2]], vec![]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a rank has ended.
    pub fn from_domain(domain: Domain<'a, S, D>) -> Result<Self> {
        let tree = agree(domain.ranks, crate::Bvh::build_in(&domain.points, domain.space))?;
        let regions = RankBoxes::new(&domain, &tree)?;
        Ok(Self { domain, tree, regions, batch: BATCH })
    }

    /// Limits the number of queries of each rank that are processed at once, and thereby memory. Default: 4 million
    /// (2^22); at least 1.
    ///
    /// A query needs about 50 bytes for each rank that it is sent to, on both ranks, plus memory for its results.
    /// Results of all batches are kept on the rank of the queries; if these do not fit, use [`Bvh::for_each_hit`],
    /// which keeps none.
    #[must_use]
    pub fn batches_of(mut self, queries: usize) -> Self {
        self.batch = queries.max(1);
        self
    }

    /// Returns the distribution of the points over ranks. It can also be used to find clusters, for example by
    /// [`Dbscan::run_on_domain`](crate::Dbscan::run_on_domain).
    pub fn domain(&self) -> &Domain<'a, S, D> {
        &self.domain
    }

    /// Returns this rank's tree. Its indices are those of [`Domain::points`]; [`Domain::indices`] maps them to global
    /// indices.
    pub fn tree(&self) -> &crate::Bvh<S, D> {
        &self.tree
    }

    /// Returns the number of points of all ranks.
    pub fn len(&self) -> u64 {
        self.domain.len()
    }

    /// Returns `true` if no rank has points.
    pub fn is_empty(&self) -> bool {
        self.domain.is_empty()
    }

    /// Calls `work` with consecutive ranges that cover `0..n`, equally often on all ranks; ranges may be empty.
    /// Collective.
    fn in_batches(&self, n: usize, work: &mut dyn FnMut(Range<usize>) -> Result<()>) -> Result<()> {
        // Queries that arrive on a rank are numbered with 32 bits.
        let batch = self.batch.min((u32::MAX as usize - 1) / self.domain.ranks.size());
        let rounds = reduce(self.domain.ranks, n.div_ceil(batch) as u64, Reduction::Max)?;
        for round in 0..rounds as usize {
            work((round * batch).min(n)..((round + 1) * batch).min(n))?;
        }
        Ok(())
    }

    /// Converts hits to global indices.
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
