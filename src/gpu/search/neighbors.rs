//! The neighbours of each stored point: the GPU counterpart of `search::neighbors`.
//!
//! In: a radius. Out: counts or lists in the order of the points as they were given, or the number of pairs.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::hits::Hits;
use crate::gpu::bvh::traverse::list::ListOutputLaunch;
use crate::gpu::bvh::traverse::queries::WalkQueries;
use crate::gpu::bvh::traverse::spec::{TraversalMode, Tree, WalkSpec};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::csr::Csr;
use crate::gpu::device::on;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::reduce::sum;

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Counts the stored points within `radius` of each stored point, itself included, as
    /// [`crate::Bvh::count_neighbors`]. Counts are in the order of the points as they were given.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], Device::first()?)?;
    /// assert_eq!(bvh.count_neighbors(1.0)?.read()?, [2, 1, 2]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device fails.
    pub fn count_neighbors(&self, radius: impl Into<f64>) -> Result<DeviceVec<u32>> {
        on!(self.device, client => {
            let counts = Buffer::<u32>::new(client, self.len());
            self.write_counts(client, radius.into(), &counts);
            Ok(DeviceVec { device: self.device, values: counts })
        })
    }

    /// Counts the stored points within `radius` of each stored point, itself included, and overwrites `counts` with the
    /// result of [`count_neighbors`](Self::count_neighbors), as [`crate::Bvh::count_neighbors_into`].
    ///
    /// Nothing is allocated for the counts if `counts` is on the device of the tree, has held as many numbers before,
    /// and has no clones. Work of other threads that reads the earlier counts must have ended.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], Device::first()?)?;
    /// let mut counts = bvh.count_neighbors(0.5)?;
    /// bvh.count_neighbors_into(1.0, &mut counts)?;
    /// assert_eq!(counts.read()?, [2, 1, 2]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device fails.
    pub fn count_neighbors_into(&self, radius: impl Into<f64>, counts: &mut DeviceVec<u32>) -> Result<()> {
        on!(self.device, client => {
            counts.renew(client, self.device, self.len());
            self.write_counts(client, radius.into(), &counts.values);
            Ok(())
        })
    }

    fn write_counts<R: Runtime>(&self, client: &ComputeClient<R>, radius: f64, counts: &Buffer<u32>) {
        if let Some(nodes) = &self.nodes {
            let mode = TraversalMode::Whole;
            self.walk::<_, Count>(client, nodes, radius, mode, || self.order.arg(), || counts.arg());
        }
    }

    /// Lists the stored points within `radius` of each stored point, itself included, as [`crate::Bvh::neighbors`].
    /// Lists are in the order of the points as they were given. Neighbours are counted by a first walk and listed by a
    /// second one.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], Device::first()?)?;
    /// assert_eq!(bvh.neighbors(1.0)?.read()?.of(1), [1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - There are more than 2^32 - 1 neighbours in total, or more than a buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// Memory: 4 bytes per neighbour and 4 per point.
    pub fn neighbors(&self, radius: impl Into<f64>) -> Result<Csr> {
        let radius = radius.into();
        on!(self.device, client => {
            match &self.nodes {
                Some(nodes) => self.lists_of(client, nodes, &self.balls_about_stored(client, radius), &self.order),
                None => Ok(Csr::without_lists(client, self.device)),
            }
        })
    }

    /// Lists the stored points within `radius` of each stored point, itself included, and overwrites `lists` with the
    /// result of [`neighbors`](Self::neighbors), as [`crate::Bvh::neighbors_into`].
    ///
    /// Made for loops in which points move. Nothing is allocated for the lists if `lists` is on the device of the tree
    /// and has held as many lists and neighbours before. Clones of `lists`, and results of [`Csr::offsets`] and
    /// [`Csr::values`], keep their contents, so that new memory is allocated as long as they exist. Work of other
    /// threads that reads the earlier lists must have ended.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let device = Device::first()?;
    /// let mut lists = Bvh::build(&[[0.0f32], [1.0], [1.5]], device)?.neighbors(1.0)?;
    /// let bvh = Bvh::build(&[[0.0f32], [5.0], [1.0]], device)?;
    /// bvh.neighbors_into(1.0, &mut lists)?;
    /// assert_eq!(lists.read()?.offsets(), [0, 2, 3, 5]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Bvh::neighbors`]. There are then no lists.
    pub fn neighbors_into(&self, radius: impl Into<f64>, lists: &mut Csr) -> Result<()> {
        let radius = radius.into();
        on!(self.device, client => {
            let before = std::mem::replace(lists, Csr::without_lists(client, self.device));
            if let Some(nodes) = &self.nodes {
                *lists = if before.device == self.device {
                    self.lists_in(client, nodes, &self.balls_about_stored(client, radius), &self.order, before)?
                } else {
                    self.lists_of(client, nodes, &self.balls_about_stored(client, radius), &self.order)?
                };
            }
            Ok(())
        })
    }

    /// Lists the points in each ball. List `order[i]` is that of ball `i`.
    pub(super) fn lists_of<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        asked: &WalkQueries<S>,
        order: &Buffer<u32>,
    ) -> Result<Csr> {
        self.lists_in(client, nodes, asked, order, Csr::without_lists(client, self.device))
    }

    /// Lists the points in each ball, as [`lists_of`](Self::lists_of), in the memory of `lists`, which is on the same
    /// device.
    fn lists_in<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        nodes: &Nodes<S>,
        asked: &WalkQueries<S>,
        order: &Buffer<u32>,
        lists: Csr,
    ) -> Result<Csr> {
        let Csr { device, mut offsets, mut values } = lists;
        offsets.renew(client, asked.n + 1);
        offsets.fill(client, 0);
        let mode = TraversalMode::Whole;
        let listed = self.list_runs(client, nodes, asked, mode);
        let (rows, counts) = (|| order.arg(), || offsets.arg());
        self.walk_listed::<_, Count>(client, nodes, asked, mode, listed.as_ref(), rows, counts);
        values.renew(client, Csr::<u32>::count_values(client, &offsets)?);
        let rows = || ListOutputLaunch::new(self.order.arg(), order.arg(), offsets.arg());
        self.write_lists(client, nodes, asked, listed.as_ref(), rows, &values);
        Ok(Csr { device, offsets, values })
    }

    /// Counts the pairs within `radius`, each once, as [`crate::Bvh::count_pairs`].
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], Device::first()?)?;
    /// assert_eq!(bvh.count_pairs(1.0)?, 1);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the device fails.
    pub fn count_pairs(&self, radius: impl Into<f64>) -> Result<u64> {
        let Some(nodes) = &self.nodes else { return Ok(0) };
        on!(self.device, client => {
            let counts = Buffer::<u32>::new(client, self.len());
            let (radius, mode) = (radius.into(), TraversalMode::Half);
            self.walk::<_, Count>(client, nodes, radius, mode, || self.order.arg(), || counts.arg());
            sum(client, &counts)
        })
    }
}

/// Counts the points within the radius, and writes the count at the query's index.
pub(in crate::gpu) struct Count;

#[cube]
impl LeafVisitor for Count {
    type Input = Array<u32>;
    type Output = Array<u32>;
    type State = RuntimeCell<u32>;

    fn start(_order: &Self::Input, _counts: &mut Self::Output, _query: u32) -> Self::State {
        RuntimeCell::<u32>::new(0)
    }

    fn on_hit(state: &Self::State, _order: &Self::Input, _counts: &mut Self::Output, _position: u32) -> bool {
        state.store(state.read() + 1);
        false.runtime()
    }

    fn on_hits<F: Float>(
        state: &Self::State,
        _order: &Self::Input,
        _counts: &mut Self::Output,
        _tree: &Tree<F>,
        _point: &Array<F>,
        hits: &Hits,
        #[comptime] _spec: WalkSpec,
    ) {
        state.store(state.read() + hits.bits.count_ones());
    }

    fn on_subtree(state: &Self::State, _order: &Self::Input, _node: u32, points: u32) {
        state.store(state.read() + points);
    }

    fn finish(state: &Self::State, order: &Self::Input, counts: &mut Self::Output, query: u32) {
        let index = order[query as usize] as usize;
        counts[index] = state.read();
    }
}
