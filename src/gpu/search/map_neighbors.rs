//! Values computed from the neighbours of each stored point by user code: the GPU counterpart of
//! `search::map_neighbors`.
//!
//! In: a [`NeighborMap`], a radius, and a value for each stored point. Out: the outputs of each point. Neighbours are
//! not stored.
//! Cost: that of a walk, and an offset in `f64` for each neighbour.

use std::marker::PhantomData;

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, check_allocation};
use crate::gpu::bvh::traverse::hits::Hits;
use crate::gpu::bvh::traverse::spec::{TraversalMode, Tree, WalkSpec};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::device::on;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::metric::offset;
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::search::visitor::one_each;

/// A user-defined function of the neighbours of a point, compiled into the walk.
///
/// Each point starts with a state, visits its neighbours one by one, and converts the state to its outputs. Mutable
/// parts of a state are kept in `RuntimeCell`s. The methods are written in cubecl's subset of Rust; see
/// [`Visitor`](crate::gpu::Visitor), also for pitfalls.
///
/// Neighbours come in the order of the tree, so a sum over them is the same in every run.
/// [`Bvh::map_neighbors`](crate::Bvh::map_neighbors) on the CPU sorts them by index, so a sum that rounds may differ
/// from that of the CPU. A device's compiler may also fuse a product with a sum. A [`CellBvh`](crate::gpu::CellBvh)
/// sorts neighbours, as on the CPU.
///
/// ```no_run
/// use ropewalk::gpu::{Bvh, Device, NeighborMap, cubecl};
/// use cubecl::prelude::*;
///
/// /// The force on a point, connected to its neighbours by springs of length 0.
/// struct Springs;
///
/// #[derive(CubeType)]
/// struct Force {
///     x: RuntimeCell<f64>,
///     y: RuntimeCell<f64>,
/// }
///
/// #[cube]
/// impl NeighborMap for Springs {
///     type Value = f64; // the stiffness
///     type Output = f64;
///     type State = Force;
///     const OUTPUTS: usize = 2;
///
///     fn start(_index: u32, _own: f64) -> Force {
///         Force { x: RuntimeCell::<f64>::new(0.0), y: RuntimeCell::<f64>::new(0.0) }
///     }
///
///     fn visit(state: &Force, _index: u32, _distance2: f64, offset: &Array<f64>, stiffness: f64) {
///         state.x.store(state.x.read() + stiffness * offset[0]);
///         state.y.store(state.y.read() + stiffness * offset[1]);
///     }
///
///     fn finish(state: &Force, #[comptime] component: usize) -> f64 {
///         if comptime!(component == 0) { state.x.read() } else { state.y.read() }
///     }
/// }
///
/// let points = [[0.5f32, 0.0], [9.5, 0.0], [2.0, 0.0]];
/// let bvh = Bvh::build_periodic(&points, 10.0, Device::first()?)?;
/// let forces = bvh.map_neighbors::<Springs>(1.5, &[1.0, 1.0, 2.0])?.read()?;
/// assert_eq!(forces, [2.0, 0.0, 1.0, 0.0, -1.5, 0.0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[cube]
#[allow(missing_docs)] // The macro adds its expansions of the methods.
pub trait NeighborMap: Send + Sync + 'static {
    /// The value of a stored point, such as a mass.
    type Value: CubeElement + Numeric;
    /// The type of outputs.
    type Output: CubeElement + Numeric;
    /// The state of a point during the walk.
    type State: CubeType;
    /// The number of outputs of each point.
    const OUTPUTS: usize;

    /// Starts a point, given its index in the caller's slice and its own value.
    fn start(index: u32, own: Self::Value) -> Self::State;

    /// Visits a neighbour, boundary included; the point itself is one of them.
    ///
    /// `index` is the neighbour's index in the caller's slice and `value` its value. `offset` is the vector to its
    /// nearest image, one number per dimension, as [`Space::offset`](crate::geometry::Space::offset) computes it. In a
    /// [`CellBvh`](crate::gpu::CellBvh), each image is visited, with the vector to it.
    /// `distance2` is the sum of the squares of `offset`, rounded as on the CPU.
    fn visit(state: &Self::State, index: u32, distance2: f64, offset: &Array<f64>, value: Self::Value);

    /// Returns output number `component`, which is below [`NeighborMap::OUTPUTS`], after the walk.
    fn finish(state: &Self::State, #[comptime] component: usize) -> Self::Output;
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Computes outputs for each stored point from its neighbours within `radius` (inclusive), itself included with an
    /// offset of 0: the GPU counterpart of [`crate::Bvh::map_neighbors`].
    ///
    /// Values are in the order of the points as they were given. The result has [`NeighborMap::OUTPUTS`] numbers for
    /// each point, point by point, in the same order. If the radius is negative or NaN, no neighbours are visited.
    ///
    /// See [`NeighborMap`] for an example.
    ///
    /// # Errors
    /// - The number of values differs from the number of points.
    /// - There are more than 2^32 - 1 outputs in total, or more than a buffer of the device can hold.
    /// - The device fails.
    ///
    /// # Cost
    /// Memory: the outputs; while it runs, two more values per point.
    pub fn map_neighbors<M: NeighborMap>(
        &self,
        radius: impl Into<f64>,
        values: &[M::Value],
    ) -> Result<DeviceVec<M::Output>> {
        let mut outputs =
            DeviceVec { device: self.device, values: on!(self.device, client => Ok(Buffer::new(client, 0)))? };
        self.map_neighbors_into::<M>(radius, values, &mut outputs)?;
        Ok(outputs)
    }

    /// Computes outputs for each stored point from its neighbours within `radius`, and overwrites `outputs` with the
    /// result of [`map_neighbors`](Self::map_neighbors), as [`crate::Bvh::map_neighbors_into`].
    ///
    /// Nothing is allocated for the outputs if `outputs` is on the device of the tree, has held as many numbers before,
    /// and has no clones. Work of other threads that reads the earlier outputs must have ended. Errors are those of
    /// [`map_neighbors`](Self::map_neighbors).
    pub fn map_neighbors_into<M: NeighborMap>(
        &self,
        radius: impl Into<f64>,
        values: &[M::Value],
        outputs: &mut DeviceVec<M::Output>,
    ) -> Result<()> {
        one_each("points", self.len(), values)?;
        let n = self.len() as u128 * M::OUTPUTS as u128;
        if n > u128::from(u32::MAX) {
            return Err(errors::too_many_values(n, "outputs"));
        }
        on!(self.device, client => {
            check_allocation(client, n * size_of::<M::Output>() as u128)?;
            outputs.renew(client, self.device, n as usize);
            if let Some(nodes) = &self.nodes {
                let values = DeviceVec::new(values, self.device)?.values;
                let values = gather(client, &values, &self.order, 1, Layout::Rows);
                let input = || MapInputLaunch::new(self.order.arg(), values.arg());
                let (radius, mode) = (radius.into(), TraversalMode::Each);
                self.walk::<_, MapAdapter<M>>(client, nodes, radius, mode, input, || outputs.values.arg());
            }
            Ok(())
        })
    }
}

/// The indices and the values of stored points, in tree order.
#[derive(CubeType, CubeLaunch)]
struct MapInput<T: Numeric> {
    order: Array<u32>,
    values: Array<T>,
}

/// Passes hits to a [`NeighborMap`].
struct MapAdapter<M>(PhantomData<M>);

#[cube]
impl<M: NeighborMap> LeafVisitor for MapAdapter<M> {
    type Input = MapInput<M::Value>;
    type Output = Array<M::Output>;
    type State = M::State;

    fn start(input: &Self::Input, _outputs: &mut Self::Output, query: u32) -> Self::State {
        M::start(input.order[query as usize], input.values[query as usize])
    }

    fn on_hits<F: Float>(
        state: &Self::State,
        input: &Self::Input,
        _outputs: &mut Self::Output,
        tree: &Tree<F>,
        point: &Array<F>,
        hits: &Hits,
        #[comptime] spec: WalkSpec,
    ) {
        let (d, periodic) = comptime!((spec.d, spec.periodic));
        let mut apart = Array::<f64>::new(d);
        let mut left = Bits::new(hits.bits);
        while left.any() {
            let at = hits.position(left.pop());
            let mut distance2 = f64::new(0.0);
            #[unroll]
            for k in 0..d {
                let other = f64::cast_from(tree.axes[k * tree.stored as usize + at as usize]);
                let along = offset(f64::cast_from(point[k]), other, tree.exact_sides[k], periodic);
                apart[k] = along;
                // An `fma` with 0 computes the product alone, so that it is not fused with the sum.
                distance2 += fma(along, along, f64::new(0.0));
            }
            M::visit(state, input.order[at as usize], distance2, &apart, input.values[at as usize]);
        }
    }

    fn finish(state: &Self::State, input: &Self::Input, outputs: &mut Self::Output, query: u32) {
        let first = input.order[query as usize] as usize * comptime!(M::OUTPUTS);
        #[unroll]
        for component in 0..comptime!(M::OUTPUTS) {
            outputs[first + component] = M::finish(state, component);
        }
    }
}
