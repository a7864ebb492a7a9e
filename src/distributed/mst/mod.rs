//! Minimum spanning trees across ranks.
//!
//! ```text
//! points -> domain -> tree of each rank, and its spanning tree -> pieces -> rounds -> sorted -> SpanningTree
//! ```
//!
//! In: points of all ranks. Out: the edges that one process finds, in its order, a part on each rank.
//! An edge between points of one rank can only be in the result if it is in the spanning tree of that rank. Each rank
//! first contracts the edges that are shorter than all ways out of its region (`pieces`). Few pieces are left, which
//! all ranks connect together (`rounds`).
//! Cost: that of the spanning tree of a rank's points. In each round, the points that are near another component on
//! another rank search there. Source: Borůvka 1926 (rounds); the cut property and the cycle property of minimum
//! spanning trees.

mod foreign;
mod pieces;
mod rounds;
mod sorted;
mod tree;

pub use tree::{Edge, SpanningTree};

use crate::bvh::Bvh;
use crate::cluster::MinimumSpanningTree;
use crate::distributed::communicator::{Communicator, agree, starts};
use crate::distributed::domain::{Domain, DomainOptions};
use crate::distributed::mst::pieces::{Pieces, gaps2};
use crate::distributed::mst::rounds::Rounds;
use crate::distributed::mst::sorted::sort_across;
use crate::distributed::regions::RankBoxes;
use crate::error::Result;
use crate::geometry::Scalar;
use crate::phases::mark;

impl MinimumSpanningTree {
    /// Computes the minimum spanning tree of the points of all ranks. `points` are those of this rank. The edges equal
    /// those that [`MinimumSpanningTree::run`] finds for all points in one process, for any number of ranks, with
    /// global indices ([`Domain`]). Collective.
    ///
    /// ```
    /// use ropewalk::{MinimumSpanningTree, distributed::{Communicator, on_threads}};
    ///
    /// let edges = on_threads(3, |ranks| {
    ///     let points = [[(ranks.rank() as f32).powi(2)]];
    ///     let tree = MinimumSpanningTree::new().run_across(ranks, &points)?;
    ///     Ok(tree.edges().iter().map(|edge| (edge.low, edge.high, edge.weight())).collect::<Vec<_>>())
    /// })?;
    /// assert_eq!(edges.concat(), [(0, 1, 1.0), (1, 2, 3.0)]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails on all ranks if one has input that [`MinimumSpanningTree::run`] rejects, or if a rank has ended. Fails if
    /// `min_samples` or `alpha` is not 1, which is not supported across ranks.
    ///
    /// # Cost
    /// Time: that of [`MinimumSpanningTree::run`] for the points of a rank, and searches on other ranks for the points
    /// near other components there. If ranks have compact regions, these are usually few. Memory: that of
    /// [`MinimumSpanningTree::run`] for a rank's points, and then 24 bytes per edge, of which sorting makes copies.
    pub fn run_across<S: Scalar, const D: usize>(
        &self,
        ranks: &dyn Communicator,
        points: &[[S; D]],
    ) -> Result<SpanningTree> {
        agree(ranks, self.check_across())?;
        self.run_on_domain(&DomainOptions::new().periodic(self.box_size().clone()).distribute(ranks, points)?)
    }

    /// Computes the minimum spanning tree of the points of a domain, in its space (open or periodic). Collective.
    ///
    /// # Errors
    /// As [`MinimumSpanningTree::run_across`], for the options.
    pub fn run_on_domain<S: Scalar, const D: usize>(&self, domain: &Domain<'_, S, D>) -> Result<SpanningTree> {
        let ranks = domain.ranks;
        agree(ranks, self.check_across())?;
        let tree = agree(ranks, Bvh::build_in(&domain.points, domain.space))?;
        let own = agree(ranks, MinimumSpanningTree::new().run_on(&tree))?;
        let regions = RankBoxes::new(domain, &tree)?;
        let gaps2 = agree(ranks, gaps2(domain, &regions))?;
        let pieces = Pieces::new(domain.points.len(), own.edges(), &gaps2);
        drop(own);
        mark("pieces");
        let found = Rounds::new(domain, &tree, &regions, &gaps2, pieces).run()?;
        drop((tree, regions, gaps2));
        mark("rounds");
        let edges = sort_across(ranks, found)?;
        mark("sort");
        let first = starts(ranks, edges.len())?[ranks.rank()];
        Ok(SpanningTree { n_points: domain.len(), first, edges })
    }
}
