//! Trees inside kernels of the user.
//!
//! In: a tree, and a call that launches kernels. Out: the result of the call. The kernels get the tree as an argument
//! and walk it in their own way.

#![allow(missing_docs)] // The macros add undocumented expansions.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::rope_walk::{RopeWalk, TreeNode};
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::device::on;
use crate::gpu::metric::{Vec2, corners, min_distance2, offset};

/// A tree of points as the argument of a user-defined kernel.
///
/// A walk visits the nodes in depth-first order. For each node the kernel decides whether it enters. The walk of a
/// thread has no other state than the index of a node. Points have positions in the tree, in the order of which
/// [`TreeView::index`] and [`TreeView::coordinate`] give their index in the caller's slice and their coordinates.
///
/// ```no_run
/// use ropewalk::Result;
/// use ropewalk::gpu::cubecl::{self, prelude::*};
/// use ropewalk::gpu::{Bvh, Device, DeviceVec, KernelCall, TreeArg, TreeView, TreeViewLaunch};
///
/// /// Sums the masses within a radius of each point.
/// #[cube(launch)]
/// fn sum_masses(tree: &TreeView<f32>, masses: &Array<f32>, sums: &mut Array<f32>, radius: f32) {
///     if (ABSOLUTE_POS as u32) < tree.n_points() {
///         let own = tree.point(ABSOLUTE_POS as u32, 2usize);
///         let mut sum = 0.0f32;
///         let mut walk = tree.walk();
///         while walk.goes_on() {
///             let node = tree.node(&walk);
///             let is_near = tree.min_distance2(&node, &own, 2usize, false) <= radius * radius;
///             if is_near && node.is_leaf {
///                 for other in node.first..tree.end_of(&node) {
///                     let (x, y) = (tree.coordinate(other, 0usize) - own[0], tree.coordinate(other, 1usize) - own[1]);
///                     if x * x + y * y <= radius * radius {
///                         sum += masses[tree.index(other) as usize];
///                     }
///                 }
///             }
///             walk.step(&node, is_near);
///         }
///         sums[tree.index(ABSOLUTE_POS as u32) as usize] = sum;
///     }
/// }
///
/// struct SumMasses<'a> { masses: &'a DeviceVec<f32>, radius: f32 }
///
/// impl KernelCall<f32> for SumMasses<'_> {
///     type Output = Result<DeviceVec<f32>>;
///     fn call<R: Runtime>(self, client: &ComputeClient<R>, tree: &TreeArg<f32>) -> Self::Output {
///         let sums = DeviceVec::zeros(tree.n_points(), self.masses.device())?;
///         let (count, dim) = (CubeCount::new_1d(tree.n_points().div_ceil(256) as u32), CubeDim::new_1d(256));
///         sum_masses::launch::<R>(client, count, dim, tree.arg(), self.masses.arg(), sums.arg(), self.radius);
///         Ok(sums)
///     }
/// }
///
/// fn main() -> Result<()> {
///     let device = Device::first()?;
///     let bvh = Bvh::build(&[[0.0f32, 0.0], [1.0, 0.0], [5.0, 5.0]], device)?;
///     let masses = DeviceVec::new(&[1.0f32, 2.0, 4.0], device)?;
///     let sums = bvh.call(SumMasses { masses: &masses, radius: 1.0 })??;
///     assert_eq!(sums.read()?, [3.0, 3.0, 4.0]);
///     Ok(())
/// }
/// ```
#[derive(CubeType, CubeLaunch)]
pub struct TreeView<F: Float> {
    /// The lower corner of each node, followed by the upper one.
    bounds: Vec2<F>,
    /// The rope of each node, and the first point below it.
    links: Vec2<u32>,
    /// The points in tree order, axis by axis.
    axes: Array<F>,
    order: Array<u32>,
    /// The sides of the periodic box.
    sides: Array<F>,
    exact_sides: Array<f64>,
    n: u32,
    /// The number of nodes.
    end: u32,
}

#[cube]
impl<F: Float> TreeView<F> {
    /// Returns the number of points.
    pub fn n_points(&self) -> u32 {
        self.n
    }

    /// Starts a walk at the root.
    pub fn walk(&self) -> RopeWalk {
        RopeWalk::new(0u32.runtime(), self.end)
    }

    /// Returns the current node of a walk, which must not have ended.
    pub fn node(&self, walk: &RopeWalk) -> TreeNode {
        walk.node(&self.links)
    }

    /// Returns the position behind the last point below a node, which begin at `node.first`.
    pub fn end_of(&self, node: &TreeNode) -> u32 {
        self.links[node.rope as usize][1]
    }

    /// Returns the index in the caller's slice of the point at a position.
    pub fn index(&self, position: u32) -> u32 {
        self.order[position as usize]
    }

    /// Returns a coordinate of the point at a position. In a periodic box, points are shifted into it.
    pub fn coordinate(&self, position: u32, #[comptime] axis: usize) -> F {
        self.axes[axis * self.n as usize + position as usize]
    }

    /// Returns the point at a position in `d` dimensions, those of the tree.
    pub fn point(&self, position: u32, #[comptime] d: usize) -> Array<F> {
        let mut point = Array::<F>::new(d);
        #[unroll]
        for k in 0..d {
            point[k] = self.axes[k * self.n as usize + position as usize];
        }
        point
    }

    /// Returns the squared distance from a point to the box of a node: in a periodic box, if `periodic` is set, through
    /// the nearest image. The point must lie in the periodic box. Rounded in the type of the tree.
    pub fn min_distance2(
        &self,
        node: &TreeNode,
        point: &Array<F>,
        #[comptime] d: usize,
        #[comptime] periodic: bool,
    ) -> F {
        min_distance2::<F>(&corners::<F>(&self.bounds, node.at, d), point, &self.sides, d, periodic)
    }

    /// Returns the offset along an axis from a coordinate to the nearest image of another one in the periodic box, in
    /// which both lie, as on the CPU; in open space the difference.
    pub fn offset(&self, from: F, to: F, #[comptime] axis: usize, #[comptime] periodic: bool) -> f64 {
        offset(f64::cast_from(from), f64::cast_from(to), self.exact_sides[axis], periodic)
    }
}

/// A call of user-defined kernels with a tree: [`Bvh::call`].
///
/// Devices of CUDA, HIP and Vulkan have clients of different types, so a call is generic over the runtime of cubecl.
pub trait KernelCall<S: Coordinate> {
    /// The result of the call.
    type Output;

    /// Launches kernels. `tree.arg()` is the argument of type [`TreeView`].
    fn call<R: Runtime>(self, client: &ComputeClient<R>, tree: &TreeArg<S>) -> Self::Output;
}

/// A tree that a [`KernelCall`] gets, to pass it to kernels.
#[derive(Debug)]
pub struct TreeArg<S> {
    bounds: Buffer<S>,
    links: Buffer<u32>,
    axes: Buffer<S>,
    order: Buffer<u32>,
    sides: Buffer<S>,
    exact_sides: Buffer<f64>,
}

impl<S: Coordinate> TreeArg<S> {
    /// Returns the number of points.
    pub fn n_points(&self) -> usize {
        self.order.len()
    }

    /// Returns the argument of a kernel that takes a [`TreeView`].
    pub fn arg<R: Runtime>(&self) -> TreeViewLaunch<S, R> {
        TreeViewLaunch::new(
            self.bounds.pairs(),
            self.links.pairs(),
            self.axes.arg(),
            self.order.arg(),
            self.sides.arg(),
            self.exact_sides.arg(),
            self.order.len() as u32,
            (self.links.len() / 2 - 1) as u32,
        )
    }
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Launches user-defined kernels with this tree as an argument. See [`TreeView`] for an example.
    ///
    /// The kernels run after those that build the tree.
    ///
    /// # Errors
    /// If the device fails.
    pub fn call<K: KernelCall<S>>(&self, call: K) -> Result<K::Output> {
        on!(self.device, client => {
            let sides = self.space.period().copied().unwrap_or([0.0; D]);
            let nodes = self.nodes.clone().unwrap_or_else(|| Nodes::none(client));
            let tree = TreeArg {
                bounds: nodes.bounds,
                links: nodes.links,
                axes: self.axes.clone(),
                order: self.order.clone(),
                sides: Buffer::from_slice(client, &sides.map(S::from_f64)),
                exact_sides: Buffer::from_slice(client, &sides),
            };
            Ok(call.call(client, &tree))
        })
    }
}
