//! Callbacks that emit values for the entries of lists: nearest neighbours, and crossings of rays.
//!
//! In: lists, a callback, and a value for each list and each stored primitive. Out: one list of emitted values per list.
//! A first kernel counts the values, and a second one writes them. A thread reads a list.
//! Cost: two passes over the lists with the callback.

use std::any::TypeId;
use std::marker::PhantomData;

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::csr::Csr;
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::search::emitter::Emitter;
use crate::gpu::search::nearest::Neighbors;
use crate::gpu::search::shapes::Crossings;
use crate::gpu::search::visitor::one_each;

/// A user-defined callback for the nearest neighbours of queries: [`Neighbors::map`].
///
/// It is like a [`HitMapper`](crate::gpu::HitMapper), but gets the neighbours nearest first, with their distances.
///
/// ```no_run
/// use ropewalk::gpu::{Bvh, Device, Emitter, NearestMapper, cubecl};
/// use cubecl::prelude::*;
///
/// /// The mass-weighted sum of squared distances of neighbours.
/// struct Inertia;
///
/// #[cube]
/// impl NearestMapper for Inertia {
///     type Value = f64;
///     type Output = f64;
///     type State = RuntimeCell<f64>;
///
///     fn start(_query: u32, _own: f64) -> RuntimeCell<f64> {
///         RuntimeCell::<f64>::new(f64::new(0.0))
///     }
///
///     fn map(sum: &RuntimeCell<f64>, _index: u32, distance2: f64, mass: f64, _out: &Emitter<f64>) -> bool {
///         sum.store(sum.read() + mass * distance2);
///         true.runtime()
///     }
///
///     fn finish(sum: &RuntimeCell<f64>, out: &Emitter<f64>) {
///         out.emit(sum.read());
///     }
/// }
///
/// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], Device::first()?)?;
/// let near = bvh.nearest_all(&[[0.0f32, 0.0]], 2)?;
/// assert_eq!(near.map::<Inertia>(&[0.0], &[1.0, 2.0, 3.0])?.read()?.of(0), [3.0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[cube]
#[allow(missing_docs)] // The macro adds its expansions of the methods.
pub trait NearestMapper: Send + Sync + 'static {
    /// The value of a stored primitive or a query, such as a mass or a label.
    type Value: CubeElement + Numeric;
    /// An emitted value.
    type Output: CubeElement + Numeric;
    /// The state of a query.
    type State: CubeType;

    /// Starts a query, given its index in the slice of the queries and its own value.
    fn start(query: u32, own: Self::Value) -> Self::State;

    /// Visits a neighbour and emits values. Returns `false` to end this query only.
    fn map(state: &Self::State, index: u32, distance2: f64, value: Self::Value, out: &Emitter<Self::Output>) -> bool;

    /// Ends the query, and emits values.
    fn finish(state: &Self::State, out: &Emitter<Self::Output>);
}

/// A user-defined callback for the shapes that rays cross: [`Crossings::map`].
///
/// It is like a [`HitMapper`](crate::gpu::HitMapper), but gets the shapes in order along the ray, with the parameters
/// where the ray enters and leaves them.
///
/// ```no_run
/// use ropewalk::gpu::{CrossingMapper, Device, Emitter, ValueBvh, cubecl};
/// use ropewalk::{Aabb, Ray};
/// use cubecl::prelude::*;
///
/// /// The energy that a ray leaves in each pane, in order, given the absorption per length of each.
/// struct Absorbed;
///
/// #[cube]
/// impl CrossingMapper for Absorbed {
///     type Value = f64;
///     type Output = f64;
///     type State = RuntimeCell<f64>;
///
///     fn start(_ray: u32, energy: f64) -> RuntimeCell<f64> {
///         RuntimeCell::<f64>::new(energy)
///     }
///
///     fn map(left: &RuntimeCell<f64>, _index: u32, from: f64, to: f64, per_length: f64, out: &Emitter<f64>) -> bool {
///         let deposit = min(left.read(), per_length * (to - from));
///         out.emit(deposit);
///         left.store(left.read() - deposit);
///         left.read() > f64::new(0.0)
///     }
///
///     fn finish(_left: &RuntimeCell<f64>, _out: &Emitter<f64>) {}
/// }
///
/// let panes = vec![Aabb::new([2.0f32, 0.0], [4.0, 1.0]), Aabb::new([0.0, 0.0], [1.0, 1.0])];
/// let bvh = ValueBvh::build(panes, Device::first()?)?;
/// let crossings = bvh.crossings_all(&[Ray::new([-1.0, 0.5], [1.0, 0.0])])?;
/// assert_eq!(crossings.map::<Absorbed>(&[1.0], &[0.5, 0.25])?.read()?.of(0), [0.25, 0.75]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[cube]
#[allow(missing_docs)] // The macro adds its expansions of the methods.
pub trait CrossingMapper: Send + Sync + 'static {
    /// The value of a stored shape or a ray, such as an opacity or an energy.
    type Value: CubeElement + Numeric;
    /// An emitted value.
    type Output: CubeElement + Numeric;
    /// The state of a ray.
    type State: CubeType;

    /// Starts a ray, given its index in the slice of the rays and its own value.
    fn start(ray: u32, own: Self::Value) -> Self::State;

    /// Visits a shape and emits values. Returns `false` to end this ray only.
    fn map(
        state: &Self::State,
        index: u32,
        enter: f64,
        leave: f64,
        value: Self::Value,
        out: &Emitter<Self::Output>,
    ) -> bool;

    /// Ends the ray, and emits values.
    fn finish(state: &Self::State, out: &Emitter<Self::Output>);
}

impl Neighbors {
    /// Calls a [`NearestMapper`] for each query and its neighbours, nearest first. Returns one list of emitted values per
    /// query.
    ///
    /// `own` has a value for each query, and `values` has a value for each stored primitive.
    ///
    /// # Errors
    /// - The number of values differs from that of queries or of stored primitives.
    /// - More than 2^32 - 1 values are emitted, or more than a buffer of the device can hold.
    /// - The device fails.
    pub fn map<M: NearestMapper>(&self, own: &[M::Value], values: &[M::Value]) -> Result<Csr<M::Output>> {
        one_each("queries", self.len(), own)?;
        one_each("primitives", self.n_stored, values)?;
        let lists = EntryLists { indices: &self.indices, numbers: &self.distances2, offsets: None };
        map_lists::<OfNeighbors<M>>(self.device, &lists, self.k, own, values)
    }
}

impl Crossings {
    /// Calls a [`CrossingMapper`] for each ray and the shapes that it crosses, in order along the ray. Returns one list of
    /// emitted values per ray.
    ///
    /// `own` has a value for each ray, and `values` has a value for each stored shape.
    ///
    /// # Errors
    /// - The number of values differs from that of rays or of stored shapes.
    /// - More than 2^32 - 1 values are emitted, or more than a buffer of the device can hold.
    /// - The device fails.
    pub fn map<M: CrossingMapper>(&self, own: &[M::Value], values: &[M::Value]) -> Result<Csr<M::Output>> {
        one_each("rays", self.lists.len(), own)?;
        one_each("shapes", self.n_stored, values)?;
        let lists = &self.lists;
        let entries = EntryLists { indices: &lists.values, numbers: &self.numbers, offsets: Some(&lists.offsets) };
        map_lists::<OfCrossings<M>>(lists.device, &entries, 0, own, values)
    }
}

/// Lists of entries. Without offsets, each has the same number of places, and unused places hold [`u32::MAX`].
struct EntryLists<'a> {
    indices: &'a Buffer<u32>,
    numbers: &'a Buffer<f64>,
    offsets: Option<&'a Buffer<u32>>,
}

/// The callbacks of this module.
#[cube]
trait EntryMapper: Send + Sync + 'static {
    type Value: CubeElement + Numeric;
    type Output: CubeElement + Numeric;
    type State: CubeType;

    fn start_list(list: u32, own: Self::Value) -> Self::State;
    fn map_entry(
        state: &Self::State,
        index: u32,
        numbers: &Array<f64>,
        entry: u32,
        value: Self::Value,
        out: &Emitter<Self::Output>,
    ) -> bool;
    fn end_list(state: &Self::State, out: &Emitter<Self::Output>);
}

struct OfNeighbors<M>(PhantomData<M>);

struct OfCrossings<M>(PhantomData<M>);

#[cube]
impl<M: NearestMapper> EntryMapper for OfNeighbors<M> {
    type Value = M::Value;
    type Output = M::Output;
    type State = M::State;

    fn start_list(list: u32, own: M::Value) -> M::State {
        M::start(list, own)
    }

    fn map_entry(
        state: &M::State,
        index: u32,
        numbers: &Array<f64>,
        entry: u32,
        value: M::Value,
        out: &Emitter<M::Output>,
    ) -> bool {
        M::map(state, index, numbers[entry as usize], value, out)
    }

    fn end_list(state: &M::State, out: &Emitter<M::Output>) {
        M::finish(state, out);
    }
}

#[cube]
impl<M: CrossingMapper> EntryMapper for OfCrossings<M> {
    type Value = M::Value;
    type Output = M::Output;
    type State = M::State;

    fn start_list(list: u32, own: M::Value) -> M::State {
        M::start(list, own)
    }

    fn map_entry(
        state: &M::State,
        index: u32,
        numbers: &Array<f64>,
        entry: u32,
        value: M::Value,
        out: &Emitter<M::Output>,
    ) -> bool {
        M::map(state, index, numbers[2 * entry as usize], numbers[2 * entry as usize + 1], value, out)
    }

    fn end_list(state: &M::State, out: &Emitter<M::Output>) {
        M::finish(state, out);
    }
}

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ListSpec {
    has_offsets: bool,
    /// `true` if values are written, not counted.
    writes: bool,
    /// The type of the callback. Cached kernels are identified by type names, and two types may have the same name.
    mapper: TypeId,
}

/// Maps the entries of lists, which have `k` places each or offsets.
fn map_lists<M: EntryMapper>(
    device: Device,
    lists: &EntryLists,
    k: usize,
    own: &[M::Value],
    values: &[M::Value],
) -> Result<Csr<M::Output>> {
    let n = own.len();
    on!(device, client => {
        let (own, of_stored) = (DeviceVec::new(own, device)?.values, DeviceVec::new(values, device)?.values);
        let offsets = Buffer::<u32>::filled(client, n + 1, 0);
        let walk = |counts: &Buffer<u32>, emitted: &Buffer<M::Output>, writes: bool| {
            map_entries::launch::<M, _>(
                client,
                blocks_for(n),
                CubeDim::new_1d(THREADS_PER_BLOCK),
                EntriesLaunch::new(
                    lists.indices.arg(),
                    lists.numbers.arg(),
                    // Not read if lists have the same length.
                    lists.offsets.unwrap_or(counts).arg(),
                ),
                of_stored.arg(),
                own.arg(),
                counts.arg(),
                emitted.arg(),
                n as u32,
                k as u32,
                ListSpec { has_offsets: lists.offsets.is_some(), writes, mapper: TypeId::of::<M>() },
            );
        };
        walk(&offsets, &Buffer::new(client, 0), false);
        let emitted = Csr::allocate_values(client, &offsets)?;
        walk(&offsets, &emitted, true);
        Ok(Csr { device, offsets, values: emitted })
    })
}

/// The entries of lists.
#[derive(CubeType, CubeLaunch)]
struct Entries {
    indices: Array<u32>,
    numbers: Array<f64>,
    offsets: Array<u32>,
}

/// Calls the callback for each of `n` lists. `places` receives the numbers of values, or holds the place of the first
/// value of each list.
#[cube(launch)]
#[allow(clippy::too_many_arguments)]
fn map_entries<M: EntryMapper>(
    lists: &Entries,
    values: &Array<M::Value>,
    own: &Array<M::Value>,
    places: &mut Array<u32>,
    emitted: &mut Array<M::Output>,
    n: u32,
    k: u32,
    #[comptime] spec: ListSpec,
) {
    let list = ABSOLUTE_POS;
    if (list as u32) < n {
        let place = RuntimeCell::<u32>::new(0);
        if comptime!(spec.writes) {
            place.store(places[list]);
        }
        let out = Emitter::<M::Output>::new(emitted.to_slice_mut(), place, comptime!(spec.writes));
        let state = M::start_list(list as u32, own[list]);
        let mut range = Array::<u32>::new(2usize);
        if comptime!(spec.has_offsets) {
            range[0] = lists.offsets[list];
            range[1] = lists.offsets[list + 1];
        } else {
            range[0] = list as u32 * k;
            range[1] = list as u32 * k + k;
        }
        while range[0] < range[1] {
            let index = lists.indices[range[0] as usize];
            let mut goes_on = index != u32::MAX;
            if goes_on {
                goes_on = M::map_entry(&state, index, &lists.numbers, range[0], values[index as usize], &out);
            }
            range[0] = select(goes_on, range[0] + 1, range[1]);
        }
        M::end_list(&state, &out);
        if comptime!(!spec.writes) {
            places[list] = out.place();
        }
    }
}
