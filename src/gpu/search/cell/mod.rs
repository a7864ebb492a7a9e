//! Neighbours in triclinic cells: the GPU counterpart of `search::cell`.
//!
//! In: points, a [`Cell`], and a radius. Out: lists of neighbours with their lattice shifts, entry for entry those of
//! the CPU.
//! Points are wrapped into the cell. A tree in open space stores them. Images of points outside the cell (`images`)
//! are queries of that tree. The results are merged to lists (`entries`), with shifts (`lists`) or distances
//! (`distances`).
//! Cost: that of the neighbour search, walks for the images near the cell, and two sorts of all entries.

mod distances;
mod entries;
mod images;
mod lists;
mod wrapped;

pub use lists::CellLists;

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{Cell, Scalar};
use crate::gpu::buffer::{Buffer, check_allocation};
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::csr::Csr;
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::search::cell::distances::{map_entries, within};
use crate::gpu::search::cell::entries::{Entries, add_hits};
use crate::gpu::search::cell::images::{ImageHits, ShiftTable};
use crate::gpu::search::cell::wrapped::{WrappedPoints, wrap_points};
use crate::gpu::search::map_neighbors::NeighborMap;
use crate::gpu::search::visitor::one_each;
use crate::search::cell::largest_of;
use crate::search::cell::lists::Extent;
use crate::search::cell::shifts::Shifts;
use crate::search::cell::wrapped::{Spread, Wrapped};
use crate::search::own_radii::check_one_each;

/// A tree of points in a triclinic [`Cell`] on a device, for the neighbour lists of particle codes: the GPU counterpart
/// of [`crate::search::CellBvh`], with identical lists.
///
/// ```no_run
/// use ropewalk::geometry::Cell;
/// use ropewalk::gpu::{CellBvh, Device};
///
/// let cell = Cell::new([[4.0, 0.0, 0.0], [2.0, 3.0, 0.0], [0.0, 0.0, 5.0]])?;
/// let bvh = CellBvh::build(&[[0.5f32, 0.5, 0.5], [3.5, 0.5, 0.5]], &cell, Device::first()?)?;
/// let lists = bvh.neighbors(1.0)?;
/// assert_eq!(lists.indices().read()?.of(0), [0, 1]);
/// assert_eq!(lists.read()?.of(0)[1].shift, [-1, 0, 0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Cost
/// Memory in three dimensions, by the sizes of buffers: 36 bytes per point more than a [`Bvh`] of `f64`.
#[derive(Clone, Debug)]
pub struct CellBvh<const D: usize> {
    cell: Cell<D>,
    spread: Spread<D>,
    bvh: Bvh<f64, D>,
    /// The wrapped points, point by point.
    places: Buffer<f64>,
    /// The number of cells along each vector by which each point was outside.
    wraps: Buffer<i32>,
}

impl<const D: usize> CellBvh<D> {
    /// Wraps points into a cell, copies them to the device, and builds a tree over them.
    ///
    /// # Errors
    /// Those of [`crate::search::CellBvh::build`] and of [`Bvh::build`].
    pub fn build<S: Scalar>(points: &[[S; D]], cell: &Cell<D>, device: Device) -> Result<Self> {
        let wrapped = Wrapped::new(points, cell)?;
        let points = Points::new(&wrapped.places, device)?;
        let (bvh, spread) = (Bvh::from_points(&points)?, wrapped.spread(cell));
        let wraps = DeviceVec::new(wrapped.wraps.as_flattened(), device)?.values;
        Ok(Self { cell: *cell, spread, bvh, places: points.values, wraps })
    }

    /// Wraps points whose coordinates are on a device, stored point by point, into a cell, and builds a tree over them.
    /// The result equals that of [`CellBvh::build`] with the same coordinates, which stay on the device.
    ///
    /// ```no_run
    /// use ropewalk::geometry::Cell;
    /// use ropewalk::gpu::{CellBvh, Device, DeviceVec};
    ///
    /// let positions = DeviceVec::new(&[0.5f64, 0.5, 3.5, 0.5], Device::first()?)?;
    /// let bvh = CellBvh::from_device(&positions, &Cell::new([[4.0, 0.0], [1.0, 3.0]])?)?;
    /// assert_eq!(bvh.count_neighbors(1.0)?.read()?, [2, 2]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`CellBvh::build`] and of [`Points::from_device`].
    pub fn from_device<S: Coordinate>(coordinates: &DeviceVec<S>, cell: &Cell<D>) -> Result<Self> {
        on!(coordinates.device, client => {
            let Some(wrapped) = wrap_points(client, coordinates, cell)? else {
                // The error names the point.
                return Self::build(coordinates.read()?.as_chunks::<D>().0, cell, coordinates.device);
            };
            let WrappedPoints { points, wraps, spread } = wrapped;
            Ok(Self { cell: *cell, spread, bvh: Bvh::from_points(&points)?, places: points.values, wraps })
        })
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.bvh.len()
    }

    /// Returns `true` if there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the cell.
    pub fn cell(&self) -> &Cell<D> {
        &self.cell
    }

    /// Lists the images of points within `radius` of each point (inclusive), the point itself included, as
    /// [`crate::search::CellBvh::neighbors`]. Each list is sorted by index, then by shift.
    ///
    /// # Errors
    /// - The errors of [`crate::search::CellBvh::neighbors`].
    /// - There are more than 2^32 - 1 numbers of shifts or coordinates of images in total, or more than a buffer of the
    ///   device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// Memory in three dimensions: 16 bytes per neighbour; while it runs, some 40 bytes more.
    pub fn neighbors(&self, radius: impl Into<f64>) -> Result<CellLists<D>> {
        self.lists(radius.into(), Extent::Full)
    }

    /// Lists each pair of a point and an image within `radius` (inclusive) once, as
    /// [`crate::search::CellBvh::half_neighbors`]. Each list is sorted by index, then by shift.
    ///
    /// Errors and cost are those of [`CellBvh::neighbors`].
    pub fn half_neighbors(&self, radius: impl Into<f64>) -> Result<CellLists<D>> {
        self.lists(radius.into(), Extent::Half)
    }

    /// Lists the images of points within `radii[i]` of each point `i` (inclusive), the point itself included, as
    /// [`crate::search::CellBvh::neighbors_within`].
    ///
    /// # Errors
    /// - The number of radii differs from the number of points.
    /// - The errors of [`CellBvh::neighbors`] with the largest radius.
    ///
    /// # Cost
    /// That of [`CellBvh::neighbors`] with the largest radius.
    pub fn neighbors_within(&self, radii: &[f64]) -> Result<CellLists<D>> {
        check_one_each("radii", radii.len(), self.len())?;
        let radius = largest_of(radii);
        let shifts = Shifts::new(&self.cell, &self.spread, radius)?;
        let radius2: Vec<f64> = radii.iter().map(|radius| radius * radius).collect();
        on!(self.bvh.device, client => {
            let table = ShiftTable::new(client, &self.cell, &shifts);
            let entries = self.entries(client, radius, &table, Extent::Full)?;
            let radius2 = Buffer::from_slice(client, &radius2);
            let entries = within::<_, D>(client, &entries, &table, &self.places, &radius2)?;
            Ok(CellLists::new(client, self.bvh.device, entries, &table, &self.wraps))
        })
    }

    /// Counts the images of points within `radius` of each point, the point itself included, as
    /// [`crate::search::CellBvh::count_neighbors`].
    ///
    /// # Errors
    /// Those of [`CellBvh::neighbors`].
    pub fn count_neighbors(&self, radius: impl Into<f64>) -> Result<DeviceVec<u32>> {
        let radius = radius.into();
        let shifts = Shifts::new(&self.cell, &self.spread, radius)?;
        let counts = self.bvh.count_neighbors(radius)?;
        on!(self.bvh.device, client => {
            if let Some(nodes) = &self.bvh.nodes {
                let table = ShiftTable::new(client, &self.cell, &shifts);
                let hits = ImageHits::find(client, &self.bvh, nodes, &self.places, &table, radius)?;
                add_hits(client, &hits, &counts.values);
            }
            Ok(counts)
        })
    }

    /// Computes outputs for each point from its neighbours within `radius` (inclusive), itself included with an offset
    /// of 0: the GPU counterpart of [`crate::search::CellBvh::map_neighbors`].
    ///
    /// Each image is a neighbour of its own. Neighbours are visited in the order of [`CellBvh::neighbors`], which is
    /// that of the CPU. Values and outputs are as for [`Bvh::map_neighbors`]. See [`NeighborMap`] for an example.
    ///
    /// # Errors
    /// - The number of values differs from the number of points.
    /// - The errors of [`CellBvh::neighbors`] and of [`Bvh::map_neighbors`].
    ///
    /// # Cost
    /// Memory: the outputs; while it runs, some 48 bytes per neighbour.
    pub fn map_neighbors<M: NeighborMap>(
        &self,
        radius: impl Into<f64>,
        values: &[M::Value],
    ) -> Result<DeviceVec<M::Output>> {
        one_each("points", self.len(), values)?;
        let radius = radius.into();
        let shifts = Shifts::new(&self.cell, &self.spread, radius)?;
        let n = self.len() as u128 * M::OUTPUTS as u128;
        if n > u128::from(u32::MAX) {
            return Err(errors::too_many_values(n, "outputs"));
        }
        let device = self.bvh.device;
        on!(device, client => {
            check_allocation(client, n * size_of::<M::Output>() as u128)?;
            let outputs = Buffer::new(client, n as usize);
            if !self.is_empty() {
                let table = ShiftTable::new(client, &self.cell, &shifts);
                let entries = self.entries(client, radius, &table, Extent::Full)?;
                let values = DeviceVec::new(values, device)?.values;
                map_entries::<_, M, D>(client, &entries, &table, &self.places, &values, &outputs)?;
            }
            Ok(DeviceVec { device, values: outputs })
        })
    }

    fn lists(&self, radius: f64, extent: Extent) -> Result<CellLists<D>> {
        let shifts = Shifts::new(&self.cell, &self.spread, radius)?;
        on!(self.bvh.device, client => {
            let table = ShiftTable::new(client, &self.cell, &shifts);
            let entries = self.entries(client, radius, &table, extent)?;
            Ok(CellLists::new(client, self.bvh.device, entries, &table, &self.wraps))
        })
    }

    /// Lists the indices of neighbours and the codes of their shifts.
    fn entries<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        radius: f64,
        table: &ShiftTable,
        extent: Extent,
    ) -> Result<Entries> {
        let Some(nodes) = &self.bvh.nodes else { return Ok(Entries::none(client)) };
        let half = extent == Extent::Half;
        let stored: Csr = if half { self.bvh.half_neighbors(radius)? } else { self.bvh.neighbors(radius)? };
        let hits = ImageHits::find(client, &self.bvh, nodes, &self.places, table, radius)?;
        Entries::merged::<_, D>(client, &stored, &hits, table.zero, half)
    }
}
