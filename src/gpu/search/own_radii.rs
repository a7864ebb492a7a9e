//! Searches in which each stored point has a radius of its own: the GPU counterpart of `search::own_radii`.
//!
//! In: a radius per point. Out: lists of neighbours. The walk is that of `neighbors`, with own radii. Overlapping
//! spheres are found by `box_pairs`.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::FilteredRadius;
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::traverse::queries::WalkQueries;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::csr::Csr;
use crate::gpu::device::on;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::parallel::map;
use crate::search::own_radii::check_one_each;

/// Radii per parallel task.
const TASK: usize = 1 << 14;

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Lists the stored points within `radii[i]` of each stored point `i` (inclusive), itself included, as
    /// [`crate::Bvh::neighbors_within`]. Lists and radii are in the order of the points as they were given.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32], [5.0], [1.0]], Device::first()?)?;
    /// assert_eq!(bvh.neighbors_within(&[5.0, 0.5, 1.0])?.read()?.offsets(), [0, 3, 4, 6]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The number of radii differs from the number of points.
    /// - There are more than 2^32 - 1 neighbours in total, or more than a buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// Memory: 4 bytes per neighbour and 4 per point; while it runs, 16 bytes more per point of `f32`, or 24 of `f64`.
    pub fn neighbors_within(&self, radii: &[f64]) -> Result<Csr> {
        check_one_each("radii", radii.len(), self.len())?;
        on!(self.device, client => {
            match &self.nodes {
                Some(nodes) => self.lists_of(client, nodes, &self.balls_with_radii(client, radii), &self.order),
                None => Ok(Csr::without_lists(client, self.device)),
            }
        })
    }

    /// Queries around all stored points, each with its own radius.
    fn balls_with_radii<R: Runtime>(&self, client: &ComputeClient<R>, radii: &[f64]) -> WalkQueries<S> {
        let of_point = |at: usize| {
            let filter = FilteredRadius::<S, D>::new(radii[at], &self.space);
            ([filter.certain_limit, filter.possible_limit], filter.radius2)
        };
        let (filters, radius2): (Vec<[S; 2]>, Vec<f64>) = map(radii.len(), TASK, &of_point).into_iter().unzip();
        let filters = Buffer::from_slice(client, filters.as_flattened());
        WalkQueries {
            axes: self.axes.clone(),
            filters: gather(client, &filters, &self.order, 2, Layout::Rows),
            radius2: gather(client, &Buffer::from_slice(client, &radius2), &self.order, 1, Layout::Rows),
            n: self.len(),
            own_radii: true,
            are_stored: true,
        }
    }
}
