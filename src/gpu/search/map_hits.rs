//! Callbacks that emit values for their hits: the GPU counterpart of `search::map_hits`.
//!
//! In: queries, a [`HitMapper`], and a value for each query and each stored primitive. Out: one list of emitted values
//! per query. A first walk counts the values, and a second one writes them.
//! Cost: two walks with the callback.

use std::marker::PhantomData;

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::spec::TraversalMode;
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::{BoxBvh, Bvh, Coordinate};
use crate::gpu::csr::Csr;
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::search::emitter::Emitter;
use crate::gpu::search::shapes::query::Query;
use crate::gpu::search::shapes::rows::RowShape;
use crate::gpu::search::shapes::searched_tree::{SearchedTree, StoredRows};
use crate::gpu::search::shapes::shape::HitBy;
use crate::gpu::search::shapes::tests::HitTest;
use crate::gpu::search::shapes::walk::AnyValue;
use crate::gpu::search::shapes::{Shape, ValueBvh};
use crate::gpu::search::sorted_shapes::SortedShapes;
use crate::gpu::search::visitor::one_each;

/// A user-defined callback that emits any number of values for each hit and at the end, compiled into the walk.
///
/// Each query starts with a state and visits its hits one by one, in the order of the tree, until none remain or
/// [`HitMapper::map`] returns `false`. Then [`HitMapper::finish`] emits values, such as a sum. The walk is done twice,
/// first to count the emitted values and then to write them, so the callback must emit the same values both times. See
/// [`Visitor`](crate::gpu::Visitor) for how kernels are written.
///
/// ```no_run
/// use ropewalk::Sphere;
/// use ropewalk::gpu::{Bvh, Device, Emitter, HitMapper, cubecl};
/// use cubecl::prelude::*;
///
/// /// The values around a place that are larger than its own, doubled.
/// struct Larger;
///
/// #[cube]
/// impl HitMapper for Larger {
///     type Value = f32;
///     type Output = f32;
///     type State = RuntimeCell<f32>;
///
///     fn start(_query: u32, own: f32) -> RuntimeCell<f32> {
///         RuntimeCell::<f32>::new(own)
///     }
///
///     fn map(own: &RuntimeCell<f32>, _index: u32, value: f32, out: &Emitter<f32>) -> bool {
///         if value > own.read() {
///             out.emit(2.0 * value);
///         }
///         true.runtime()
///     }
///
///     fn finish(_own: &RuntimeCell<f32>, _out: &Emitter<f32>) {}
/// }
///
/// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], Device::first()?)?;
/// let spheres = [Sphere::new([0.0f32, 0.0], 1.0), Sphere::new([5.0, 0.0], 1.0)];
/// let lists = bvh.map_hits::<Larger, _>(&spheres, &[2.0, 2.0], &[1.0, 0.5, 3.0])?.read()?;
/// assert_eq!((lists.of(0), lists.of(1)), (&[6.0][..], &[][..]));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[cube]
#[allow(missing_docs)] // The macro adds its expansions of the methods.
pub trait HitMapper: Send + Sync + 'static {
    /// The value of a stored primitive or a query, such as a mass or a label.
    type Value: CubeElement + Numeric;
    /// An emitted value.
    type Output: CubeElement + Numeric;
    /// The state of a query during the walk.
    type State: CubeType;

    /// Starts a query, given its index in the slice of the queries and its own value.
    fn start(query: u32, own: Self::Value) -> Self::State;

    /// Visits a hit and emits values. Returns `false` to end the walk of this query only.
    ///
    /// `index` is the hit's index in the caller's slice and `value` its value.
    fn map(state: &Self::State, index: u32, value: Self::Value, out: &Emitter<Self::Output>) -> bool;

    /// Ends the query, and emits values.
    fn finish(state: &Self::State, out: &Emitter<Self::Output>);
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Calls a [`HitMapper`] for each query and each of its hits. Returns one list of emitted values per query, in the
    /// order of `queries`, as [`crate::Bvh::map_hits`].
    ///
    /// `own` has a value for each query, and `values` has a value for each stored point.
    ///
    /// # Errors
    /// - The number of values differs from the number of queries or of points.
    /// - More than 2^32 - 1 values are emitted, or more than a buffer of the device can hold.
    /// - The errors of [`Bvh::query_all`].
    ///
    /// # Cost
    /// Two walks. Memory: the emitted values and 4 bytes per query; while it runs, that of [`Bvh::for_each_hit`].
    pub fn map_hits<M: HitMapper, Q: Query<S, D>>(
        &self,
        queries: &[Q],
        own: &[M::Value],
        values: &[M::Value],
    ) -> Result<Csr<M::Output>> {
        one_each("points", self.len(), values)?;
        one_each("queries", queries.len(), own)?;
        on!(self.device, client => {
            if queries.is_empty() {
                return Ok(no_lists(client, self.device));
            }
            let nodes = self.nodes.clone().unwrap_or_else(|| Nodes::none(client));
            let tree = self.searched(&nodes);
            let is_sphere = Q::SHAPE == RowShape::Sphere;
            let sorted = if is_sphere { Q::sorted(client, self, queries)? } else { None };
            let Some(SortedShapes::Balls(balls)) = sorted else {
                return map_rows::<_, _, D, _, M, AnyValue>(client, &tree, None, queries, own, values);
            };
            let (asked, mode) = (balls.asked(), TraversalMode::Each);
            let mapping = Mapping::<M>::new(client, self.device, tree.order, &balls.order, own, values)?;
            mapping.run(client, self.device, &|pass| {
                let (input, output) = (|| mapping.input(pass), || mapping.output(pass));
                match pass {
                    Pass::Count(_) => {
                        self.walk_queries::<_, MapVisitor<M, false>>(client, &nodes, &asked, mode, input, output);
                    }
                    Pass::Write { .. } => {
                        self.walk_queries::<_, MapVisitor<M, true>>(client, &nodes, &asked, mode, input, output);
                    }
                }
            })
        })
    }
}

impl<S: Coordinate, const D: usize> BoxBvh<S, D> {
    /// Calls a [`HitMapper`] for each query and each box that it meets. Returns one list of emitted values per query, as
    /// [`Bvh::map_hits`], which describes the parameters, errors and cost.
    pub fn map_hits<M: HitMapper, Q: Query<S, D>>(
        &self,
        queries: &[Q],
        own: &[M::Value],
        values: &[M::Value],
    ) -> Result<Csr<M::Output>> {
        one_each("boxes", self.len(), values)?;
        one_each("queries", queries.len(), own)?;
        on!(self.device, client => {
            if queries.is_empty() {
                return Ok(no_lists(client, self.device));
            }
            let nodes = self.nodes.clone().unwrap_or_else(|| Nodes::none(client));
            map_rows::<_, _, D, _, M, AnyValue>(client, &self.searched_by(&nodes), None, queries, own, values)
        })
    }
}

impl<T: Shape<S, D>, S: Coordinate, const D: usize> ValueBvh<T, S, D> {
    /// Calls a [`HitMapper`] for each query and each value that it hits. Returns one list of emitted values per query, as
    /// [`Bvh::map_hits`], which describes the parameters, errors and cost.
    pub fn map_hits<M: HitMapper, Q: Query<S, D>>(
        &self,
        queries: &[Q],
        own: &[M::Value],
        values: &[M::Value],
    ) -> Result<Csr<M::Output>>
    where
        T: HitBy<Q, S, D>,
    {
        one_each("values", self.len(), values)?;
        one_each("queries", queries.len(), own)?;
        let (boxes, stored) = (self.boxes(), self.stored());
        on!(boxes.device, client => {
            if queries.is_empty() {
                return Ok(no_lists(client, boxes.device));
            }
            let nodes = boxes.nodes.clone().unwrap_or_else(|| Nodes::none(client));
            let tree = boxes.searched_by(&nodes);
            map_rows::<_, _, D, _, M, T::Test>(client, &tree, Some(stored), queries, own, values)
        })
    }
}

/// Returns the lists of no queries.
fn no_lists<R: Runtime, T: CubeElement + Numeric>(client: &ComputeClient<R>, device: Device) -> Csr<T> {
    Csr { device, offsets: Buffer::filled(client, 1, 0), values: Buffer::new(client, 0) }
}

/// Maps the hits of at least one query, by rows of queries.
fn map_rows<R: Runtime, S: Coordinate, const D: usize, Q: Query<S, D>, M: HitMapper, T: HitTest>(
    client: &ComputeClient<R>,
    tree: &SearchedTree<S, D>,
    stored: Option<&StoredRows>,
    queries: &[Q],
    own: &[M::Value],
    values: &[M::Value],
) -> Result<Csr<M::Output>> {
    let rows = tree.sort_queries(client, queries, stored.is_some())?;
    let mapping = Mapping::<M>::new(client, tree.device, tree.order, &rows.order, own, values)?;
    mapping.run(client, tree.device, &|pass| {
        let (input, output) = (|| mapping.input(pass), || mapping.output(pass));
        match pass {
            Pass::Count(_) => tree.walk::<_, Q, T, MapVisitor<M, false>>(client, &rows, stored, input, output),
            Pass::Write { .. } => tree.walk::<_, Q, T, MapVisitor<M, true>>(client, &rows, stored, input, output),
        }
    })
}

/// A walk with the callback.
enum Pass<'a, T> {
    /// Writes the number of values of each query.
    Count(&'a Buffer<u32>),
    Write {
        offsets: &'a Buffer<u32>,
        values: &'a Buffer<T>,
    },
}

/// The buffers of the two walks.
struct Mapping<M: HitMapper> {
    /// The index of each stored primitive and of each query.
    order: Buffer<u32>,
    queries: Buffer<u32>,
    /// The values of stored primitives in tree order, and those of queries in the order of the walk.
    values: Buffer<M::Value>,
    own: Buffer<M::Value>,
    /// Takes the place of the emitted values while they are counted.
    unused: Buffer<M::Output>,
}

impl<M: HitMapper> Mapping<M> {
    fn new<R: Runtime>(
        client: &ComputeClient<R>,
        device: Device,
        order: &Buffer<u32>,
        queries: &Buffer<u32>,
        own: &[M::Value],
        values: &[M::Value],
    ) -> Result<Self> {
        let values = gather(client, &DeviceVec::new(values, device)?.values, order, 1, Layout::Rows);
        let own = gather(client, &DeviceVec::new(own, device)?.values, queries, 1, Layout::Rows);
        Ok(Self { order: order.clone(), queries: queries.clone(), values, own, unused: Buffer::new(client, 0) })
    }

    /// Counts the emitted values with one walk and writes them with another one.
    fn run<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        device: Device,
        walk: &dyn Fn(&Pass<M::Output>),
    ) -> Result<Csr<M::Output>> {
        let offsets = Buffer::filled(client, self.queries.len() + 1, 0);
        walk(&Pass::Count(&offsets));
        let values = Csr::allocate_values(client, &offsets)?;
        walk(&Pass::Write { offsets: &offsets, values: &values });
        Ok(Csr { device, offsets, values })
    }

    fn input<R: Runtime>(&self, pass: &Pass<M::Output>) -> MapInputLaunch<M::Value, R> {
        let offsets = if let Pass::Write { offsets, .. } = pass { offsets } else { &self.queries };
        MapInputLaunch::new(
            self.order.arg(),
            self.queries.arg(),
            self.values.arg(),
            self.own.arg(),
            // Not read while values are counted.
            offsets.arg(),
        )
    }

    fn output<R: Runtime>(&self, pass: &Pass<M::Output>) -> MapOutputLaunch<M::Output, R> {
        match pass {
            Pass::Count(counts) => MapOutputLaunch::new(counts.arg(), self.unused.arg()),
            Pass::Write { values, .. } => MapOutputLaunch::new(self.queries.arg(), values.arg()),
        }
    }
}

/// The input of a walk with a callback.
#[derive(CubeType, CubeLaunch)]
struct MapInput<T: Numeric> {
    order: Array<u32>,
    queries: Array<u32>,
    values: Array<T>,
    own: Array<T>,
    /// The place of the first value of each query.
    offsets: Array<u32>,
}

/// The output of a walk with a callback: numbers of values, or values.
#[derive(CubeType, CubeLaunch)]
struct MapOutput<T: Numeric> {
    counts: Array<u32>,
    values: Array<T>,
}

/// Passes hits to a [`HitMapper`]. If `WRITES` is not set, its values are counted.
struct MapVisitor<M, const WRITES: bool>(PhantomData<M>);

/// The state of a callback, and whether its walk continues.
#[derive(CubeType)]
struct MapState<T: CubeType, V: Numeric> {
    state: T,
    emitter: Emitter<V>,
    goes_on: RuntimeCell<bool>,
}

#[cube]
impl<M: HitMapper, const WRITES: bool> LeafVisitor for MapVisitor<M, WRITES> {
    type Input = MapInput<M::Value>;
    type Output = MapOutput<M::Output>;
    type State = MapState<M::State, M::Output>;

    fn start(input: &Self::Input, output: &mut Self::Output, query: u32) -> Self::State {
        let index = input.queries[query as usize];
        let place = RuntimeCell::<u32>::new(0);
        if comptime!(WRITES) {
            place.store(input.offsets[index as usize]);
        }
        let emitter = Emitter::<M::Output>::new(output.values.to_slice_mut(), place, WRITES);
        let state = M::start(index, input.own[query as usize]);
        MapState::<M::State, M::Output> { state, emitter, goes_on: RuntimeCell::<bool>::new(true) }
    }

    fn is_open(state: &Self::State, _input: &Self::Input) -> bool {
        state.goes_on.read()
    }

    fn on_hit(state: &Self::State, input: &Self::Input, _output: &mut Self::Output, position: u32) -> bool {
        // The walk may pass the other hits of a leaf after the callback has ended it.
        if state.goes_on.read() {
            let (index, value) = (input.order[position as usize], input.values[position as usize]);
            state.goes_on.store(M::map(&state.state, index, value, &state.emitter));
        }
        false.runtime()
    }

    fn finish(state: &Self::State, input: &Self::Input, output: &mut Self::Output, query: u32) {
        M::finish(&state.state, &state.emitter);
        if comptime!(!WRITES) {
            let index = input.queries[query as usize] as usize;
            output.counts[index] = state.emitter.place();
        }
    }
}
