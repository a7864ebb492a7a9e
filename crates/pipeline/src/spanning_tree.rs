//! Halos of any linking length from one spanning tree.

use ropewalk::cluster::{Halos, MinimumSpanningTree, SpanningTree};
use ropewalk::geometry::{Boundary, Space};
use ropewalk::{Error, Result};

use super::state::with_particles;
use super::{FoundHalos, Pipeline};

impl<'a> Pipeline<'a> {
    /// Returns the minimum spanning tree of the particles, for [`Pipeline::find_by_spanning_tree`].
    ///
    /// # Errors
    /// As [`MinimumSpanningTree::run`]; several ranks.
    pub fn spanning_tree(&self) -> Result<SpanningTree> {
        self.require_one_rank("spanning trees")?;
        let spanning = MinimumSpanningTree::new().periodic(self.whole.period);
        with_particles!(self, |positions, _particles| spanning.run(positions))
    }

    /// Finds the halos that [`Pipeline::find`] finds by friends of friends, in one pass over a spanning tree. The
    /// tree is that of a pipeline with the same snapshot and box; the linking length may differ.
    ///
    /// # Errors
    /// - several ranks
    /// - a tree of another number of points
    /// - a linking length that [`Fof::run`](ropewalk::Fof::run) refuses
    pub fn find_by_spanning_tree(&self, tree: &SpanningTree) -> Result<FoundHalos<'a>> {
        self.require_one_rank("halos in a spanning tree")?;
        let (len, points) = (tree.n_points(), self.points.len());
        if len != points {
            return Err(Error::length("points of the tree", len, points));
        }
        let (space, length) = (Space::<3>::periodic(self.whole.period)?, self.whole.scales.linking_length);
        space.check_length("linking_length", length)?;
        let halos = Halos::new_in(Boundary::new(&space), tree.cut(length)?, self.options.min_members.max(2));
        Ok(FoundHalos::new(halos))
    }
}
