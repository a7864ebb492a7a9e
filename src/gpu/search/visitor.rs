//! Callbacks on a device: code of the caller that runs inside the walk. The twin of `for_each_hit` and `for_each_pair`.
//!
//! In: a [`Visitor`], and a number for each stored point. Out: a number for each query. Nothing else is stored.

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
use crate::gpu::search::range::Balls;

/// What to do with the points that queries find: code of your own, compiled into the walk.
///
/// Each query starts with a state, visits its points one after the other, in the order of the tree, until there are no more or
/// [`Visitor::visit`] returns false, and makes a number of the state. What changes in a state is kept in `RuntimeCell`s.
///
/// The methods are written in cubecl's part of Rust: `#[cube]` on the implementation makes kernels of them. The crate `cubecl` has to
/// be in scope by that name, in the version that this crate uses: `use ropewalk::gpu::cubecl;`.
/// Worth knowing: `&&` and `||` evaluate both sides; a literal that is to change, or to be returned from a branch, is written
/// `true.runtime()`; and a kernel that a device's compiler refuses fails when its results are read, or gives garbage.
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
    /// What each stored point has: a mass, a label.
    type Value: CubeElement + Numeric;
    /// What comes out for each query.
    type Output: CubeElement + Numeric;
    /// What a query keeps while it walks.
    type State: CubeType;

    /// Before the walk of a query: its index in the caller's slice, and its own value.
    fn start(query: u32, own: Self::Value) -> Self::State;

    /// A point within the radius, the boundary included: its index in the caller's slice, its squared distance, computed in the
    /// tree's type and so rounded (whether it is within was decided in `f64`), and its value. False ends the walk of this query,
    /// and of no other.
    fn visit<F: Float>(state: &Self::State, index: u32, distance2: F, value: Self::Value) -> bool;

    /// After the walk.
    fn finish(state: &Self::State) -> Self::Output;
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Visits the stored points within `radius` of each, itself included; `values` and what comes out are in the caller's order.
    ///
    /// Memory: an output for each point; while it runs, two values more.
    ///
    /// Errors: not as many values as points; if the device fails.
    ///
    /// See [`Visitor`] for an example.
    pub fn for_each_neighbor<V: Visitor>(
        &self,
        radius: impl Into<f64>,
        values: &[V::Value],
    ) -> Result<DeviceVec<V::Output>> {
        self.visit_stored::<V>(radius.into(), values, TraversalMode::Each)
    }

    /// The same for each pair within `radius` once: the one of them that comes first in the order of the tree visits the other, so
    /// what comes out means something in sum. A point is no pair with itself. Memory and errors as there.
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
                let found = FoundLaunch::new(self.order.arg(), self.order.arg(), values.arg(), values.arg());
                self.walk::<_, Calls<V>>(client, nodes, radius, mode, found, outputs.arg());
            }
            Ok(DeviceVec { device: self.device, values: outputs })
        })
    }

    /// Visits the stored points in each ball: as [`crate::Bvh::for_each_hit`]. There is an `own` value for each ball, and one of
    /// `values` for each stored point; what comes out is in the order of the balls. Which balls find nothing is told by
    /// [`Bvh::query_all`]; they make an output all the same.
    ///
    /// Memory: an output for each ball; while it runs, by the sizes of buffers, two values for each point and ball, and some 60 bytes
    /// a ball of three `f32`.
    ///
    /// Errors: not as many values as balls or points; if the device fails.
    ///
    /// ```no_run
    /// use ropewalk::Sphere;
    /// use ropewalk::gpu::{Bvh, Device, Visitor, cubecl};
    /// use cubecl::prelude::*;
    ///
    /// /// Whether a ball holds a value that is as large as its own.
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
                // A tree without nodes ends at once, and visitors finish.
                let nodes = &self.nodes.clone().unwrap_or_else(|| Nodes {
                    bounds: Buffer::new(client, 0),
                    links: Buffer::from_slice(client, &[0, 0]),
                    leaf_of_point: Buffer::new(client, 0),
                });
                let balls = Balls::new(client, self, spheres)?;
                let own = gather(client, &Buffer::from_slice(client, own), &balls.order, 1, Layout::Rows);
                let values = gather(client, &Buffer::from_slice(client, values), &self.order, 1, Layout::Rows);
                let found = FoundLaunch::new(self.order.arg(), balls.order.arg(), values.arg(), own.arg());
                let mode = TraversalMode::Each;
                self.walk_queries::<_, Calls<V>>(client, nodes, balls.asked(), mode, found, outputs.arg());
            }
            Ok(DeviceVec { device: self.device, values: outputs })
        })
    }
}

fn one_each<T>(what: &'static str, n: usize, values: &[T]) -> Result<()> {
    if values.len() == n { Ok(()) } else { Err(errors::value_count(values.len(), n, what)) }
}

/// What a visitor is told about.
#[derive(CubeType, CubeLaunch)]
struct Found<T: Numeric> {
    /// The indices of stored points, and of queries.
    order: Array<u32>,
    queries: Array<u32>,
    /// The values of stored points in tree order, and those of queries as they are walked.
    values: Array<T>,
    own: Array<T>,
}

/// Calls a visitor.
struct Calls<V>(PhantomData<V>);

/// A visitor's state, and whether it wants more.
#[derive(CubeType)]
struct Calling<T: CubeType> {
    state: T,
    goes_on: RuntimeCell<bool>,
}

#[cube]
impl<V: Visitor> LeafVisitor for Calls<V> {
    type Input = Found<V::Value>;
    type Output = Array<V::Output>;
    type State = Calling<V::State>;

    fn start(found: &Self::Input, _outputs: &mut Self::Output, query: u32) -> Self::State {
        let state = V::start(found.queries[query as usize], found.own[query as usize]);
        Calling::<V::State> { state, goes_on: RuntimeCell::<bool>::new(true) }
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
