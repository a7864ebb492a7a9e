//! The nearest triangles to many points: the GPU counterpart of `search::mesh::nearest`.
//!
//! In: points, and a radius. Out: for each point the triangle, its nearest point, the squared distance and the
//! weights of the corners.
//! Each thread handles a point, in the order of the Morton curve. Children that may be near enough are kept on a
//! stack with their distances, the nearest on top. Triangles are tested in `f32` with a margin for all rounding
//! errors; those that may be the nearest are decided in `f64`. A second kernel tests all triangles for points that
//! are too far away for `f32`, or whose stack is full.
//! Cost: O(log n) on a compact mesh, for a point that is not about equally far from much of the mesh.
//!
//! **Launch contract.** That of `cast`, with points in place of rays. Results have a row for each index in the
//! points' order.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Space;
use crate::gpu::buffer::{Buffer, check_allocation, grid};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::device::{MAX_ITERATIONS, is_cuda, on};
use crate::gpu::errors;
use crate::gpu::search::mesh::constants::{PADDING, SCALE};
use crate::gpu::search::mesh::hits::{MeshNeighbors, OptionalHits};
use crate::gpu::search::mesh::point_triangle::{NUMBERS, closest};
use crate::gpu::search::mesh::primitives::ItemsIn;
use crate::gpu::search::mesh::tree::{Axis, Node, Nodes, byte};
use crate::gpu::search::mesh::{Mesh, check_numbers};
use crate::gpu::search::of_points::check_place;
use crate::gpu::search::query_points::QueryPoints;
use crate::parallel::map;

/// Threads per block.
const NEAREST_BLOCK_THREADS: u32 = 128;
/// The size of the stack. Few walks need half of it.
const STACK: usize = 96;
/// The bit that marks the number of a child as an item.
const IS_ITEM: u32 = 1 << 31;

impl<S: Coordinate> Mesh<S> {
    /// Finds the nearest triangle to each point within `radius`, inclusive, as [`crate::Mesh::nearest_all`].
    ///
    /// ```no_run
    /// use ropewalk::gpu::{self, Device};
    ///
    /// let mesh = ropewalk::Mesh::build(&[[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]])?;
    /// let mesh = gpu::Mesh::upload(&mesh, Device::first()?)?;
    /// let near = mesh.nearest_all(&[[0.25, 0.25, 2.0]], f64::INFINITY)?.read()?[0].unwrap();
    /// assert_eq!((near.point, near.distance2), ([0.25, 0.25, 0.0], 4.0));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The results do not fit in a buffer of the device.
    /// - Without CUDA, a point is farther away than 1e6 times the size of a mesh of more than 60,000 triangles.
    /// - The device fails.
    ///
    /// # Cost
    /// Memory: 60 bytes per point; while it runs, by the sizes of buffers, some 60 more per point of `f32`.
    pub fn nearest_all(&self, points: &[[S; 3]], radius: impl Into<f64>) -> Result<MeshNeighbors> {
        on!(self.stored.device, client => self.find_nearest(client, points.len(), radius.into(), || {
            // Points beyond the coordinate limit have no nearest triangle.
            let within = map(points.len(), 1 << 14, &|at| {
                points[at].map(|x| if Into::<f64>::into(x).abs() <= S::LIMIT { x } else { S::from_f64(f64::NAN) })
            });
            QueryPoints::of_finite(client, &within, &Space::OPEN)
        }))
    }

    /// Finds the nearest triangle to each of `points`, which are on the device, within `radius`, inclusive. The result
    /// is that of [`Mesh::nearest_all`].
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, DeviceVec, Mesh, Points};
    ///
    /// let device = Device::first()?;
    /// let mesh = Mesh::build(&[[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]], device)?;
    /// let coordinates = DeviceVec::new(&[0.25f32, 0.25, 2.0], device)?;
    /// let points = Points::from_device(&coordinates, None::<f64>)?;
    /// assert_eq!(mesh.nearest_of(&points, f64::INFINITY)?.read()?[0].unwrap().distance2, 4.0);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The points are on another device, or in a periodic box.
    /// - The errors of [`Mesh::nearest_all`].
    ///
    /// # Cost
    /// That of [`Mesh::nearest_all`], without a transfer.
    pub fn nearest_of(&self, points: &Points<S, 3>, radius: impl Into<f64>) -> Result<MeshNeighbors> {
        check_place(points, "the mesh", self.stored.device, &Space::OPEN)?;
        on!(self.stored.device, client => self.find_nearest(client, points.len(), radius.into(), || {
            let sorted = || QueryPoints::new(client, &points.values, &points.bounds);
            (!points.is_empty()).then(sorted).transpose()
        }))
    }

    /// Finds the nearest triangles of `points` queries. `sort` returns those that may have one.
    fn find_nearest<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        points: usize,
        radius: f64,
        sort: impl FnOnce() -> Result<Option<QueryPoints<S>>>,
    ) -> Result<MeshNeighbors> {
        let stored = &self.stored;
        check_numbers(NUMBERS, points)?;
        check_allocation(client, (8 * NUMBERS * points) as u128)?;
        let indices = Buffer::filled(client, points, u32::MAX);
        let numbers = Buffer::<f64>::new(client, NUMBERS * points);
        let hits = || {
            let (indices, numbers) = (indices.clone(), numbers.clone());
            MeshNeighbors(OptionalHits { device: stored.device, indices, numbers })
        };
        let Some(tree) = stored.tree.as_ref().filter(|_| radius >= 0.0) else { return Ok(hits()) };
        let Some(queries) = sort()? else { return Ok(hits()) };
        let n = queries.order.len();
        let doubts = Buffer::<u32>::new(client, n);
        let radius2 = Buffer::from_slice(client, &[radius * radius]);
        let near = || NearestOutputLaunch::new(indices.arg(), numbers.arg());
        let asked = || QueryPointsInLaunch::new(queries.axes.arg(), queries.order.arg(), radius2.arg(), n as u32);
        let (dim, blocks) = (CubeDim::new_1d(NEAREST_BLOCK_THREADS), grid(n.div_ceil(NEAREST_BLOCK_THREADS as usize)));
        // SAFETY: the launch contract of this module. `doubts` has an element for each of the `n` queries, and
        // `indices` and `numbers` have a row for each point.
        unsafe {
            let items = stored.items.arg();
            let (tree, marks) = (tree.arg(), doubts.arg());
            find_all::launch_unchecked::<S, _>(client, blocks.clone(), dim, tree, items, asked(), near(), marks);
            // Drivers without CUDA end long loops early: see `cast`.
            let is_long = stored.items.n > MAX_ITERATIONS && !is_cuda(client);
            if is_long && doubts.read(client)?.contains(&1) {
                return Err(errors::long_loops("a point far from the mesh"));
            }
            let items = stored.items.arg();
            find_doubted::launch_unchecked::<S, _>(client, blocks, dim, items, asked(), near(), doubts.arg());
        }
        Ok(hits())
    }
}

/// The query points, in a kernel.
#[derive(CubeType, CubeLaunch)]
struct QueryPointsIn<F: Float> {
    /// Coordinates, axis by axis.
    axes: Array<F>,
    order: Array<u32>,
    radius2: Array<f64>,
    n: u32,
}

#[cube]
impl<F: Float> QueryPointsIn<F> {
    fn point(&self, at: u32) -> Array<f64> {
        let mut point = Array::<f64>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            point[k] = f64::cast_from(self.axes[k * self.n as usize + at as usize]);
        }
        point
    }
}

/// The output arrays.
#[derive(CubeType, CubeLaunch)]
struct NearestOutput {
    indices: Array<u32>,
    numbers: Array<f64>,
}

/// The nearest triangle so far.
#[derive(CubeType)]
struct NearestSoFar {
    index: Array<u32>,
    found: Array<f64>,
    /// The distance in the unit of the tree beyond which no triangle is nearer, and its square.
    within: Array<f32>,
    padding: f32,
    scale: f64,
}

#[cube]
impl NearestSoFar {
    fn new(radius2: f64, padding: f32, scale: f64) -> NearestSoFar {
        let mut best = NearestSoFar {
            index: Array::<u32>::new(1usize),
            found: Array::<f64>::new(NUMBERS),
            within: Array::<f32>::new(2usize),
            padding,
            scale,
        };
        best.index[0] = u32::MAX.runtime();
        best.found[0] = radius2;
        #[unroll]
        for k in 1..NUMBERS {
            best.found[k] = f64::new(0.0);
        }
        best.narrow();
        best
    }

    /// Limits the search to the distance of the nearest triangle so far.
    fn narrow(&mut self) {
        let reach = self.found[0].sqrt() * self.scale * (f64::new(1.0) + f64::new(1e-6));
        let within = f32::cast_from(reach) * f32::new(1.000_001) + self.padding;
        self.within[0] = within;
        self.within[1] = min(within * within * f32::new(1.000_001), f32::new(3.402_823_5e38));
    }

    /// Measures a triangle, and keeps it if it is nearer.
    fn decide<F: Float>(&mut self, items: &ItemsIn<F>, point: &Array<f64>, index: u32) {
        let near = closest(&items.triangle(index), point, &items.numbers);
        let distance2 = near[0];
        let is_first = self.index[0] == u32::MAX && distance2 <= self.found[0];
        let is_nearer = distance2 < self.found[0] || (distance2 == self.found[0] && index < self.index[0]);
        if is_first || is_nearer {
            self.index[0] = index;
            #[unroll]
            for k in 0..NUMBERS {
                self.found[k] = near[k];
            }
            self.narrow();
        }
    }

    fn write(&self, near: &mut NearestOutput, row: u32) {
        near.indices[row as usize] = self.index[0];
        #[unroll]
        for k in 0..NUMBERS {
            near.numbers[NUMBERS * row as usize + k] = self.found[k];
        }
    }
}

#[cube(launch_unchecked)]
fn find_all<F: Float>(
    nodes: &Nodes,
    items: &ItemsIn<F>,
    asked: &QueryPointsIn<F>,
    near: &mut NearestOutput,
    doubts: &mut Array<u32>,
) {
    let at = ABSOLUTE_POS as u32;
    if at < asked.n {
        let point = asked.point(at);
        let is_doubted = find::<F>(nodes, items, &point, asked.radius2[0], near, asked.order[at as usize]);
        doubts[at as usize] = u32::cast_from(is_doubted);
    }
}

#[cube(launch_unchecked)]
fn find_doubted<F: Float>(items: &ItemsIn<F>, asked: &QueryPointsIn<F>, near: &mut NearestOutput, doubts: &Array<u32>) {
    let at = ABSOLUTE_POS as u32;
    if at < asked.n {
        if doubts[at as usize] != 0 {
            let point = asked.point(at);
            let mut best = NearestSoFar::new(asked.radius2[0], f32::new(0.0), f64::new(1.0));
            for index in 0..items.n {
                best.decide::<F>(items, &point, index);
            }
            best.write(near, asked.order[at as usize]);
        }
    }
}

/// Finds the nearest triangle to a point. Returns `true` if the result is in doubt.
#[cube]
fn find<F: Float>(
    nodes: &Nodes,
    items: &ItemsIn<F>,
    point: &Array<f64>,
    radius2: f64,
    near: &mut NearestOutput,
    row: u32,
) -> bool {
    let numbers = &items.numbers;
    let mut placed = Array::<f32>::new(3usize);
    let mut far = f64::new(0.0);
    #[unroll]
    for k in 0..3usize {
        let at = (point[k] - numbers[k]) * numbers[SCALE];
        far = max(far, at.abs());
        placed[k] = f32::cast_from(at);
    }
    // Rounding errors grow with the distance of the point.
    let padding = numbers[PADDING] * (f64::new(1.0) + far);
    let mut is_doubted = padding > f64::new(1.0);
    if !is_doubted {
        let mut best = NearestSoFar::new(radius2, f32::cast_from(padding), numbers[SCALE]);
        let mut waiting = ChildStack::new();
        waiting.push(f32::new(0.0), 0u32.runtime());
        while waiting.any() {
            let (distance2, child) = waiting.pop();
            if distance2 <= best.within[1] {
                if child & IS_ITEM != 0 {
                    let position = child & (IS_ITEM - 1);
                    let triangle = nodes.triangle(position);
                    if may_be_near(&placed, &triangle.corners, best.padding, best.within[0]) {
                        best.decide::<F>(items, point, triangle.index);
                    }
                } else {
                    let node = nodes.node(child);
                    waiting.push_children(&node, &placed, best.padding, best.within[1]);
                }
            }
        }
        is_doubted = waiting.is_full();
        best.write(near, row);
    }
    is_doubted
}

/// A stack of children and their squared distances. The nearest child of a node is on top.
#[derive(CubeType)]
struct ChildStack {
    distances2: Array<f32>,
    children: Array<u32>,
    /// The number of children, and 1 if the stack overflowed.
    state: Array<u32>,
}

#[cube]
impl ChildStack {
    fn new() -> ChildStack {
        let mut state = Array::<u32>::new(2usize);
        state[0] = 0;
        state[1] = 0;
        ChildStack { distances2: Array::<f32>::new(STACK), children: Array::<u32>::new(STACK), state }
    }

    fn any(&self) -> bool {
        self.state[0] != 0
    }

    fn is_full(&self) -> bool {
        self.state[1] != 0
    }

    fn push(&mut self, distance2: f32, child: u32) {
        self.distances2[self.state[0] as usize] = distance2;
        self.children[self.state[0] as usize] = child;
        self.state[0] = self.state[0] + 1;
    }

    fn pop(&mut self) -> (f32, u32) {
        self.state[0] = self.state[0] - 1;
        (self.distances2[self.state[0] as usize], self.children[self.state[0] as usize])
    }

    /// Pushes the children of a node within a squared distance, sorted by their distances. Ends the walk if the stack
    /// is too small.
    fn push_children(&mut self, node: &Node, point: &Array<f32>, padding: f32, within2: f32) {
        let base = self.state[0];
        if base as usize + 8 > STACK {
            self.state[0] = 0;
            self.state[1] = 1;
        } else {
            #[unroll]
            for place in 0..8usize {
                let (word, at) = comptime!((place / 4, place as u32 % 4));
                let x = gap(&node.x, point[0], padding, word, at);
                let y = gap(&node.y, point[1], padding, word, at);
                let z = gap(&node.z, point[2], padding, word, at);
                let distance2 = x * x + y * y + z * z;
                let bit = comptime!(1u32 << place);
                if node.has(bit) && distance2 <= within2 {
                    let mut to = Array::<u32>::new(1usize);
                    to[0] = self.state[0];
                    let mut goes_on = to[0] > base && self.distances2[(max(to[0], 1u32) - 1) as usize] < distance2;
                    while goes_on {
                        let below = to[0] - 1;
                        self.distances2[to[0] as usize] = self.distances2[below as usize];
                        self.children[to[0] as usize] = self.children[below as usize];
                        to[0] = below;
                        goes_on = below > base && self.distances2[(max(below, 1u32) - 1) as usize] < distance2;
                    }
                    self.distances2[to[0] as usize] = distance2;
                    self.children[to[0] as usize] = node.child(bit, IS_ITEM);
                    self.state[0] = self.state[0] + 1;
                }
            }
        }
    }
}

/// Returns a lower bound on the distance from a coordinate to the interval of a child.
#[cube]
fn gap(axis: &Axis, x: f32, padding: f32, #[comptime] word: usize, #[comptime] at: u32) -> f32 {
    let lo = axis.lo + byte(axis.from[word], at) * axis.step;
    let hi = axis.lo + byte(axis.to[word], at) * axis.step;
    max(max(lo - (x + padding), (x - padding) - hi), f32::new(0.0))
}

/// Returns `true` if a triangle may be within a distance.
#[cube]
fn may_be_near(point: &Array<f32>, corners: &Array<f32>, padding: f32, within: f32) -> bool {
    // Below any relevant square.
    let tiny = f32::new(1e-30);
    let zero = f32::new(0.0);
    let (mut to, mut edge) = (Array::<f32>::new(9usize), Array::<f32>::new(9usize));
    #[unroll]
    for at in 0..3usize {
        let next = comptime!((at + 1) % 3);
        #[unroll]
        for k in 0..3usize {
            to[3 * at + k] = point[k] - corners[3 * at + k];
            edge[3 * at + k] = corners[3 * next + k] - corners[3 * at + k];
        }
    }
    let nx = edge[1] * edge[5] - edge[2] * edge[4];
    let ny = edge[2] * edge[3] - edge[0] * edge[5];
    let nz = edge[0] * edge[4] - edge[1] * edge[3];
    let area2 = max(nx * nx + ny * ny + nz * nz, tiny);
    let (mut nearest2, mut longest2, mut outside) = (f32::new(3e38), zero, f32::new(-3e38));
    #[unroll]
    for at in 0..3usize {
        let (ex, ey, ez) = (edge[3 * at], edge[3 * at + 1], edge[3 * at + 2]);
        let (tx, ty, tz) = (to[3 * at], to[3 * at + 1], to[3 * at + 2]);
        let length2 = ex * ex + ey * ey + ez * ez;
        let part = min(max((ex * tx + ey * ty + ez * tz) / max(length2, tiny), zero), f32::new(1.0));
        let (ox, oy, oz) = (tx - part * ex, ty - part * ey, tz - part * ez);
        nearest2 = min(nearest2, ox * ox + oy * oy + oz * oz);
        longest2 = max(longest2, length2);
        let across = (ey * nz - ez * ny) * tx + (ez * nx - ex * nz) * ty + (ex * ny - ey * nx) * tz;
        outside = max(outside, across);
    }
    let height = nx * to[0] + ny * to[1] + nz * to[2];
    let distance2 = select(outside <= zero, height * height / area2, nearest2);
    // The error of a normal is about the padding divided by the triangle's height, `sqrt(area2 / longest2)`.
    let far2 = to[0] * to[0] + to[1] * to[1] + to[2] * to[2];
    let error = padding * (f32::new(2.0) + f32::new(2.0) * (far2 * longest2 / area2).sqrt());
    let most = within + error;
    let is_beyond = distance2 > most * most * f32::new(1.000_01);
    !is_beyond
}
