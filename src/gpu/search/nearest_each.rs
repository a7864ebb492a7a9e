//! Nearest neighbours with options of its own for each query: the GPU counterpart of `search::nearest::each`.
//!
//! In: points, or boxes if the stored primitives are boxes or points, and the options of each. Out: rows of the largest
//! `k`, padded with [`u32::MAX`].
//! Cost: that of a search for the largest `k`.

use crate::bvh::copied;
use crate::error::Result;
use crate::geometry::Bounded;
use crate::gpu::buffer::end_phase;
use crate::gpu::bvh::{BoxBvh, Bvh, Coordinate};
use crate::gpu::device::on;
use crate::gpu::search::nearest::Neighbors;
use crate::gpu::search::shapes::nearest::{OfBoxes, Wanted};
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
            let found = Neighbors::unfilled(client, self.device, boxes.len(), largest(wanted), self.len())?;
            if let Some(nodes) = self.nodes.as_ref().filter(|_| found.indices.len() > 0) {
                let tree = self.searched(nodes);
                tree.fill_nearest::<_, OfBoxes>(client, None, &boxes, Wanted::Each(wanted), &found)?;
                end_phase(client, "nearest")?;
            }
            Ok(found)
        })
    }
}

impl<S: Coordinate, const D: usize> BoxBvh<S, D> {
    /// Finds the stored boxes nearest to each query, with options of its own for each, as [`Bvh::nearest_all_each`].
    pub fn nearest_all_each<T: Bounded<S, D>>(&self, queries: &[T], wanted: &[Nearest]) -> Result<Neighbors> {
        check_options(wanted.len(), queries.len())?;
        let boxes = copied(queries, Bounded::bounds);
        on!(self.device, client => {
            let found = Neighbors::unfilled(client, self.device, boxes.len(), largest(wanted), self.len())?;
            if let Some(tree) = self.searched().filter(|_| found.indices.len() > 0) {
                tree.fill_nearest::<_, OfBoxes>(client, None, &boxes, Wanted::Each(wanted), &found)?;
                end_phase(client, "nearest")?;
            }
            Ok(found)
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
            let found = Neighbors::unfilled(client, device, boxes.len(), largest(wanted), self.len())?;
            if let Some((tree, stored)) = self.searched().filter(|_| found.indices.len() > 0) {
                tree.fill_nearest::<_, T::Test>(client, Some(stored), &boxes, Wanted::Each(wanted), &found)?;
                end_phase(client, "nearest")?;
            }
            Ok(found)
        })
    }
}
