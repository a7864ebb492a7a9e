//! Nearest neighbours with options of its own for each query: the GPU counterpart of `search::nearest::each`.
//!
//! In: points, or boxes if the stored primitives are boxes or points, and the options of each. Out: rows of the largest
//! `k`, padded with [`u32::MAX`].
//! Cost: that of a search for the largest `k`.

use crate::bvh::copied;
use crate::error::Result;
use crate::geometry::Bounded;
use crate::gpu::bvh::{BoxBvh, Bvh, Coordinate};
use crate::gpu::device::on;
use crate::gpu::search::nearest::Neighbors;
use crate::gpu::search::shapes::nearest::{OfBoxes, Wanted, nearest_of_rows, sorted_boxes};
use crate::gpu::search::shapes::{Distance, ValueBvh};
use crate::search::nearest::Nearest;
use crate::search::nearest::errors::check_options;

/// The largest `k` of some queries.
fn largest(wanted: &[Nearest]) -> usize {
    wanted.iter().map(Nearest::k).max().unwrap_or(0)
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Finds the stored points nearest to each query, with options of its own for each, as
    /// [`crate::Bvh::nearest_all_each`].
    ///
    /// ```no_run
    /// use ropewalk::Nearest;
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [1.0, 0.0], [5.0, 0.0]], Device::first()?)?;
    /// let wanted = [Nearest::new(1), Nearest::new(3).within(1.0)];
    /// let lists = bvh.nearest_all_each(&[[4.0f32, 0.0], [0.5, 0.0]], &wanted)?.read()?;
    /// assert_eq!((lists.of(0).len(), lists.of(1).len()), (1, 2));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The number of options differs from that of queries.
    /// - The errors of [`BoxBvh::nearest_all`].
    ///
    /// # Cost
    /// That of [`BoxBvh::nearest_all`] for the largest `k`.
    pub fn nearest_all_each<T: Bounded<S, D>>(&self, queries: &[T], wanted: &[Nearest]) -> Result<Neighbors> {
        check_options(wanted.len(), queries.len())?;
        let boxes = copied(queries, Bounded::bounds);
        on!(self.device, client => {
            let tree = self.nodes.as_ref().map(|nodes| (self.searched(nodes), None));
            nearest_of_rows::<_, OfBoxes, S, D>(client, self.device, tree, (boxes.len(), largest(wanted)), |tree| {
                sorted_boxes(client, tree, &boxes, Wanted::Each(wanted))
            })
        })
    }
}

impl<S: Coordinate, const D: usize> BoxBvh<S, D> {
    /// Finds the stored boxes nearest to each query, with options of its own for each, as [`Bvh::nearest_all_each`].
    pub fn nearest_all_each<T: Bounded<S, D>>(&self, queries: &[T], wanted: &[Nearest]) -> Result<Neighbors> {
        check_options(wanted.len(), queries.len())?;
        let boxes = copied(queries, Bounded::bounds);
        on!(self.device, client => {
            let tree = self.searched().map(|tree| (tree, None));
            nearest_of_rows::<_, OfBoxes, S, D>(client, self.device, tree, (boxes.len(), largest(wanted)), |tree| {
                sorted_boxes(client, tree, &boxes, Wanted::Each(wanted))
            })
        })
    }
}

impl<T: Distance<S, D>, S: Coordinate, const D: usize> ValueBvh<T, S, D> {
    /// Finds the values nearest to each point by the distance to the shapes, with options of its own for each, as
    /// [`Bvh::nearest_all_each`].
    pub fn nearest_all_each(&self, points: &[[S; D]], wanted: &[Nearest]) -> Result<Neighbors> {
        check_options(wanted.len(), points.len())?;
        let boxes = copied(points, Bounded::bounds);
        let device = self.device();
        on!(device, client => {
            let tree = self.searched().map(|(tree, stored)| (tree, Some(stored)));
            nearest_of_rows::<_, T::Test, S, D>(client, device, tree, (boxes.len(), largest(wanted)), |tree| {
                sorted_boxes(client, tree, &boxes, Wanted::Each(wanted))
            })
        })
    }
}
