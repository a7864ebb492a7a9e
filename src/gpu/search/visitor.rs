//! Callbacks on a device: user code that runs inside the walk. The GPU counterpart of `for_each_hit` and
//! `for_each_pair`.
//!
//! In: a [`Visitor`], and a value for each stored point. Out: a value for each query. Hits are not stored.

use std::marker::PhantomData;

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Sphere;
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::hits::Hits;
use crate::gpu::bvh::traverse::spec::{TraversalMode, Tree, WalkSpec};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::device::on;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::errors;
use crate::gpu::metric::distance2;
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::search::sorted_shapes::SortedSpheres;

/// A user-defined callback for the hits of queries, compiled into the walk.
///
/// Each query starts with a state and visits its points one by one, in the order of the tree. It ends when no points
/// remain or [`Visitor::visit`] returns `false`, and converts the state to an output. Mutable parts of a state are
/// kept in `RuntimeCell`s.
///
/// The methods are written in cubecl's subset of Rust: `#[cube]` on the implementation turns them into kernels. The
/// crate `cubecl` must be in scope under that name, in the version that this crate uses:
/// `use ropewalk::gpu::cubecl;`.
///
/// Pitfalls:
/// - `&&` and `||` evaluate both operands.
/// - A literal that is to be mutable, or to be returned from a branch, is written `true.runtime()`.
/// - A kernel that the device's compiler rejects fails when its results are read, or gives garbage.
///
/// ```no_run
/// use ropewalk::gpu::{Bvh, Device, Visitor, cubecl};
/// use cubecl::prelude::*;
///
/// /// The largest of the values around a point.
/// struct Largest;
///
/// #[cube]
/// impl Visitor for Largest {
///     type Value = f32;
///     type Output = f32;
///     type State = RuntimeCell<f32>;
///
///     fn start(_query: u32, own: f32) -> RuntimeCell<f32> {
///         RuntimeCell::<f32>::new(own)
///     }
///
///     fn visit<F: Float>(state: &RuntimeCell<f32>, _index: u32, _distance2: F, value: f32) -> bool {
///         state.store(max(state.read(), value));
///         true.runtime()
///     }
///
///     fn finish(state: &RuntimeCell<f32>) -> f32 {
///         state.read()
///     }
/// }
///
/// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], Device::first()?)?;
/// assert_eq!(bvh.for_each_neighbor::<Largest>(1.0, &[1.0, 7.0, 3.0])?.read()?, [3.0, 7.0, 3.0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[cube]
#[allow(missing_docs)] // The macro adds its expansions of the methods.
pub trait Visitor: Send + Sync + 'static {
    /// The value of a stored point or a query, such as a mass or a label.
    type Value: CubeElement + Numeric;
    /// The result of a query.
    type Output: CubeElement + Numeric;
    /// The state of a query during the walk.
    type State: CubeType;

    /// Starts a query, given its index in the slice of the queries and its own value.
    fn start(query: u32, own: Self::Value) -> Self::State;

    /// Visits a point within the radius, boundary included. Returns `false` to end the walk of this query only.
    ///
    /// `index` is the point's index in the caller's slice and `value` its value. `distance2` is the squared distance,
    /// rounded in the tree's type; whether the point is within the radius was decided in `f64`.
    fn visit<F: Float>(state: &Self::State, index: u32, distance2: F, value: Self::Value) -> bool;

    /// Returns the output after the walk.
    fn finish(state: &Self::State) -> Self::Output;
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Visits the stored points within `radius` of each stored point, itself included. Values and outputs are in the
    /// order of the points as they were given.
    ///
    /// See [`Visitor`] for an example.
    ///
    /// # Errors
    /// - The number of values differs from the number of points.
    /// - The device fails.
    ///
    /// # Cost
    /// Memory: an output per point; while it runs, two more values per point.
    pub fn for_each_neighbor<V: Visitor>(
        &self,
        radius: impl Into<f64>,
        values: &[V::Value],
    ) -> Result<DeviceVec<V::Output>> {
        self.visit_stored::<V>(radius.into(), values, TraversalMode::Each)
    }

    /// Visits each pair of stored points within `radius` once.
    ///
    /// The point that comes first in the order of the tree visits the other one, so only sums over all outputs are
    /// meaningful. A point does not pair with itself. Errors and memory are those of [`Bvh::for_each_neighbor`].
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Bvh, Device, Visitor, cubecl};
    /// use cubecl::prelude::*;
    ///
    /// /// The sum of products of the values of pairs.
    /// struct Products;
    ///
    /// #[derive(CubeType)]
    /// struct Sum {
    ///     own: u64,
    ///     others: RuntimeCell<u64>,
    /// }
    ///
    /// #[cube]
    /// impl Visitor for Products {
    ///     type Value = u64;
    ///     type Output = u64;
    ///     type State = Sum;
    ///
    ///     fn start(_query: u32, own: u64) -> Sum {
    ///         Sum { own, others: RuntimeCell::<u64>::new(0u64) }
    ///     }
    ///
    ///     fn visit<F: Float>(state: &Sum, _index: u32, _distance2: F, value: u64) -> bool {
    ///         state.others.store(state.others.read() + value);
    ///         true.runtime()
    ///     }
    ///
    ///     fn finish(state: &Sum) -> u64 {
    ///         state.own * state.others.read()
    ///     }
    /// }
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], Device::first()?)?;
    /// let products = bvh.for_each_pair::<Products>(1.0, &[2, 3, 5])?.read()?;
    /// assert_eq!(products.iter().sum::<u64>(), 10);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn for_each_pair<V: Visitor>(
        &self,
        radius: impl Into<f64>,
        values: &[V::Value],
    ) -> Result<DeviceVec<V::Output>> {
        self.visit_stored::<V>(radius.into(), values, TraversalMode::Half)
    }

    fn visit_stored<V: Visitor>(
        &self,
        radius: f64,
        values: &[V::Value],
        mode: TraversalMode,
    ) -> Result<DeviceVec<V::Output>> {
        one_each("points", self.len(), values)?;
        on!(self.device, client => {
            let outputs = Buffer::<V::Output>::new(client, self.len());
            if let Some(nodes) = &self.nodes {
                let values = gather(client, &Buffer::from_slice(client, values), &self.order, 1, Layout::Rows);
                let found =
                    || VisitorInputLaunch::new(self.order.arg(), self.order.arg(), values.arg(), values.arg());
                self.walk::<_, VisitorAdapter<V>>(client, nodes, radius, mode, found, || outputs.arg());
            }
            Ok(DeviceVec { device: self.device, values: outputs })
        })
    }

    /// Visits the stored points in each ball, as [`crate::Bvh::for_each_hit`].
    ///
    /// `own` has a value for each ball, and `values` has a value for each stored point. Outputs are in the order of
    /// the balls. A ball without hits has an output, too; [`Bvh::count_all`] finds these balls.
    ///
    /// ```no_run
    /// use ropewalk::Sphere;
    /// use ropewalk::gpu::{Bvh, Device, Visitor, cubecl};
    /// use cubecl::prelude::*;
    ///
    /// /// 1 if a ball holds a value at least as large as its own, else 0.
    /// struct Reaches;
    ///
    /// #[derive(CubeType)]
    /// struct Search {
    ///     goal: f32,
    ///     found: RuntimeCell<u32>,
    /// }
    ///
    /// #[cube]
    /// impl Visitor for Reaches {
    ///     type Value = f32;
    ///     type Output = u32;
    ///     type State = Search;
    ///
    ///     fn start(_query: u32, own: f32) -> Search {
    ///         Search { goal: own, found: RuntimeCell::<u32>::new(0) }
    ///     }
    ///
    ///     fn visit<F: Float>(state: &Search, _index: u32, _distance2: F, value: f32) -> bool {
    ///         if value >= state.goal {
    ///             state.found.store(1);
    ///         }
    ///         value < state.goal // one is enough
    ///     }
    ///
    ///     fn finish(state: &Search) -> u32 {
    ///         state.found.read()
    ///     }
    /// }
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [5.0, 0.0], [1.0, 0.0]], Device::first()?)?;
    /// let balls = [Sphere::new([0.5f32, 0.0], 1.0), Sphere::new([5.0f32, 0.0], 1.0)];
    /// assert_eq!(bvh.for_each_hit::<Reaches>(&balls, &[2.0, 2.0], &[1.0, 1.5, 3.0])?.read()?, [1, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The number of values differs from the number of balls or of points.
    /// - The device fails.
    ///
    /// # Cost
    /// Memory: an output per ball. While it runs, by the sizes of buffers, two values per point and per ball, and
    /// some 60 bytes per ball of three `f32`.
    pub fn for_each_hit<V: Visitor>(
        &self,
        spheres: &[Sphere<S, D>],
        own: &[V::Value],
        values: &[V::Value],
    ) -> Result<DeviceVec<V::Output>> {
        one_each("points", self.len(), values)?;
        one_each("spheres", spheres.len(), own)?;
        on!(self.device, client => {
            let outputs = Buffer::<V::Output>::new(client, spheres.len());
            if !spheres.is_empty() {
                let nodes = &self.nodes.clone().unwrap_or_else(|| Nodes::none(client));
                let balls = SortedSpheres::new(client, self, spheres)?;
                let own = gather(client, &Buffer::from_slice(client, own), &balls.order, 1, Layout::Rows);
                let values = gather(client, &Buffer::from_slice(client, values), &self.order, 1, Layout::Rows);
                let found = || VisitorInputLaunch::new(self.order.arg(), balls.order.arg(), values.arg(), own.arg());
                let (asked, mode) = (balls.asked(), TraversalMode::Each);
                self.walk_queries::<_, VisitorAdapter<V>>(client, nodes, &asked, mode, found, || outputs.arg());
            }
            Ok(DeviceVec { device: self.device, values: outputs })
        })
    }
}

/// Returns an error unless there is one value for each of `n` items.
pub(super) fn one_each<T>(what: &'static str, n: usize, values: &[T]) -> Result<()> {
    if values.len() == n { Ok(()) } else { Err(errors::value_count(values.len(), n, what)) }
}

/// The input of a visitor.
#[derive(CubeType, CubeLaunch)]
struct VisitorInput<T: Numeric> {
    /// The indices of stored points in tree order, and the indices of queries.
    order: Array<u32>,
    queries: Array<u32>,
    /// The values of stored points in tree order, and the values of queries in the order of the walk.
    values: Array<T>,
    own: Array<T>,
}

/// Passes hits to a [`Visitor`].
struct VisitorAdapter<V>(PhantomData<V>);

/// A visitor's state, and whether the walk continues.
#[derive(CubeType)]
struct VisitorState<T: CubeType> {
    state: T,
    goes_on: RuntimeCell<bool>,
}

#[cube]
impl<V: Visitor> LeafVisitor for VisitorAdapter<V> {
    type Input = VisitorInput<V::Value>;
    type Output = Array<V::Output>;
    type State = VisitorState<V::State>;

    fn start(found: &Self::Input, _outputs: &mut Self::Output, query: u32) -> Self::State {
        let state = V::start(found.queries[query as usize], found.own[query as usize]);
        VisitorState::<V::State> { state, goes_on: RuntimeCell::<bool>::new(true) }
    }

    fn is_open(state: &Self::State, _found: &Self::Input) -> bool {
        state.goes_on.read()
    }

    fn on_hits<F: Float>(
        state: &Self::State,
        found: &Self::Input,
        _outputs: &mut Self::Output,
        tree: &Tree<F>,
        point: &Array<F>,
        hits: &Hits,
        #[comptime] spec: WalkSpec,
    ) {
        let mut left = Bits::new(hits.bits);
        while left.any() {
            let at = hits.position(left.pop());
            let d2 = distance2::<F>(
                &tree.axes,
                at,
                tree.stored,
                point,
                &tree.sides,
                comptime!(spec.d),
                comptime!(spec.periodic),
            );
            let goes_on = V::visit::<F>(&state.state, found.order[at as usize], d2, found.values[at as usize]);
            state.goes_on.store(goes_on);
            if !goes_on {
                left.set(0u32.runtime());
            }
        }
    }

    fn finish(state: &Self::State, found: &Self::Input, outputs: &mut Self::Output, query: u32) {
        let index = found.queries[query as usize] as usize;
        outputs[index] = V::finish(&state.state);
    }
}
