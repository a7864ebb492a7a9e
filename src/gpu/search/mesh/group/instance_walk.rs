//! The walk of a thread through the instances of a group, and through the mesh of each.
//!
//! In: a prepared ray. Out: its first hit, whether it has any, the number of its hits, all of them, or the first k.
//! A mark is set if that depends on rounding. The tree over the instances is walked as that of a mesh. At an
//! instance the ray is mapped to the frame of its mesh in `f64`, and the mesh is walked as far as the best hit.

use cubecl::prelude::*;

use crate::gpu::search::hit_lists::{HitLists, keep_first, put};
use crate::gpu::search::mesh::candidates::{entered, may_meet};
use crate::gpu::search::mesh::cast_spec::{MARK_IN_DOUBT, MARK_LONG, MAX_STEPS, STEPS_PER_SUM, Wanted};
use crate::gpu::search::mesh::constants::INFINITE;
use crate::gpu::search::mesh::group::storage::{InstanceMesh, Instances};
use crate::gpu::search::mesh::prepared::PreparedRaysIn;
use crate::gpu::search::mesh::primitives::ItemsIn;
use crate::gpu::search::mesh::ray_frame::{FrameRay, READY, TEST_ALL};
use crate::gpu::search::mesh::ray_parameter::CORRECTIONS;
use crate::gpu::search::mesh::rays::{ExactRay, RaysIn};
use crate::gpu::search::mesh::tree::{CORNERS, Nodes, TreeWalk, VECTORS, read_node, read_triangle};
use crate::gpu::search::mesh::triangle_hit::{HitSpec, IN_DOUBT, MET, MISSED, triangle_hit};

/// The maximum number of nodes and triangles of a mesh that a thread reads before it decides a triangle, as for a mesh.
const STEPS: u32 = 8;

/// No instance, or no triangle.
const NONE: u32 = u32::MAX;

/// The numbers of a hit: `t`, the weights of the corners, and the triangle.
pub(super) const WIDTH: usize = 5;

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WalkSpec {
    pub wanted: Wanted,
    pub has_ranges: bool,
    /// `true` if only marked rays are cast, without rounding.
    pub exact: bool,
    /// `true` if rays are taken in a sorted order.
    pub is_ordered: bool,
    /// `true` if steps are counted, because drivers end long loops.
    pub is_guarded: bool,
}

/// The state of a cast ray.
#[derive(CubeType)]
struct Search {
    /// The `t` of the best hit, or the last one of interest.
    best: Array<f64>,
    /// The instance and the triangle of the best hit, the mark, the number of steps, and the number of hits.
    state: Array<u32>,
}

#[cube]
impl Search {
    fn new(numbers: &Array<f64>) -> Search {
        let (mut best, mut state) = (Array::<f64>::new(1usize), Array::<u32>::new(5usize));
        best[0] = numbers[INFINITE];
        state[0] = NONE.runtime();
        state[1] = NONE.runtime();
        state[2] = 0;
        state[3] = 0;
        state[4] = 0;
        Search { best, state }
    }

    /// Counts steps, and marks the ray if there are too many.
    fn count(&mut self, steps: u32, #[comptime] spec: WalkSpec) {
        if comptime!(spec.is_guarded) {
            self.state[3] = self.state[3] + steps;
            if self.state[3] > MAX_STEPS {
                self.state[2] = MARK_LONG.runtime();
            }
        }
    }

    /// Returns `true` if the ray needs no further hits.
    fn is_done(&self, #[comptime] spec: WalkSpec) -> bool {
        let mut is_done = self.state[2] != 0;
        if comptime!(spec.wanted == Wanted::Any) {
            is_done = is_done || self.state[4] != 0;
        }
        is_done
    }

    /// Records a hit of ray `at`.
    #[allow(clippy::too_many_arguments)]
    fn record(
        &mut self,
        hits: &mut HitLists,
        at: u32,
        k: u32,
        instance: u32,
        triangle: u32,
        hit: &Array<f64>,
        #[comptime] spec: WalkSpec,
    ) {
        if comptime!(spec.wanted == Wanted::First) {
            let is_lower = instance < self.state[0] || (instance == self.state[0] && triangle < self.state[1]);
            if hit[0] < self.best[0] || (hit[0] == self.best[0] && is_lower) {
                self.best[0] = hit[0] + f64::new(0.0);
                self.state[0] = instance;
                self.state[1] = triangle;
                put(hits, at, instance, hit, WIDTH);
            }
        } else if comptime!(spec.wanted == Wanted::Rows) {
            let first = at * k;
            self.state[4] = keep_first(hits, first, k, self.state[4] + 0, instance, hit, WIDTH);
            if self.state[4] == k {
                self.best[0] = hits.numbers[WIDTH * first as usize];
            }
        } else {
            if comptime!(spec.wanted == Wanted::List) {
                put(hits, hits.offsets[at as usize] + self.state[4], instance, hit, WIDTH);
            }
            self.state[4] = self.state[4] + 1;
        }
    }
}

/// The walk through the mesh of an instance.
#[derive(CubeType)]
struct MeshWalk {
    ray: FrameRay,
    way: TreeWalk,
    /// `t` times the first number, minus the second, is the distance along the longest axis of the ray.
    scale: Array<f64>,
    /// The triangle to be decided, and the next of all triangles if all must be decided.
    pending: Array<u32>,
}

#[cube]
impl MeshWalk {
    fn new() -> MeshWalk {
        MeshWalk {
            ray: FrameRay::new(),
            way: TreeWalk::new(),
            scale: Array::<f64>::new(2usize),
            pending: Array::<u32>::new(2usize),
        }
    }

    /// Starts the walk if the ray may meet anything.
    fn begin(&mut self, ray: &ExactRay, frame: &Array<f64>, n: u32, search: &mut Search, #[comptime] spec: WalkSpec) {
        self.pending[0] = NONE.runtime();
        self.pending[1] = NONE.runtime();
        self.way.end();
        if ray.is_proper && n > 0 {
            self.ray.set(ray, frame, &mut self.scale);
            if self.ray.state() == READY {
                self.way.begin(self.ray.octant());
            } else if self.ray.state() == TEST_ALL {
                if comptime!(spec.exact) {
                    self.pending[1] = 0;
                    self.way.begin(self.ray.octant());
                } else {
                    search.state[2] = MARK_IN_DOUBT.runtime();
                }
            }
        }
    }

    /// Finds the next triangle to be decided, within a few steps.
    fn find(&mut self, group: &Instances, mesh: &InstanceMesh, search: &mut Search, #[comptime] spec: WalkSpec) {
        self.pending[0] = NONE.runtime();
        if comptime!(spec.exact) {
            let next = self.pending[1] + 0;
            if next != NONE {
                if next < mesh.n {
                    self.pending[0] = next;
                    self.pending[1] = next + 1;
                } else {
                    self.way.end();
                }
            }
        }
        let mut step = Array::<u32>::new(1usize);
        step[0] = 0;
        while step[0] < STEPS && self.pending[0] == NONE && self.way.goes_on() {
            step[0] = step[0] + 1;
            if !self.way.has_items() {
                if self.way.find_node() {
                    let at = self.way.next_node(self.ray.octant());
                    let node = read_node(&group.words, mesh.first_node + at * VECTORS);
                    self.way.enter(&node, entered(&self.ray, &node, self.ray.limit[0]), self.ray.octant());
                }
            }
            if self.way.has_items() {
                let position = self.way.next_item(self.ray.octant());
                let triangle = read_triangle(&group.words, mesh.first_triangle_vector + position * CORNERS);
                let may_be_met = may_meet(&self.ray, &triangle.corners, self.ray.limit[0]);
                self.pending[0] = select(may_be_met, triangle.index, NONE.runtime());
            }
        }
        search.count(step[0] + 1, spec);
    }
}

/// Casts each of `n` rays; the exact kernel casts only marked rays. Rows have `k` places.
#[cube(launch)]
pub(super) fn cast_rays<F: Float>(
    top: &Nodes,
    items: &ItemsIn<F>,
    group: &Instances,
    rays: &RaysIn<F>,
    prepared: &PreparedRaysIn,
    hits: &mut HitLists,
    marks: &mut Array<u32>,
    n: u32,
    k: u32,
    #[comptime] spec: WalkSpec,
) {
    let place = ABSOLUTE_POS as u32;
    if place < n {
        let at = prepared.ray(place, comptime!(spec.is_ordered));
        let mut is_asked = true.runtime();
        if comptime!(spec.exact) {
            is_asked = marks[at as usize] == MARK_IN_DOUBT;
        }
        if is_asked {
            let ray = rays.ray(at, &items.numbers, comptime!(spec.has_ranges));
            let (unit, start) = prepared.scale(at);
            let mut placed = FrameRay::new();
            placed.load(&prepared.words, at);
            let mut search = Search::new(&items.numbers);
            let mut inner = MeshWalk::new();
            let mut way = TreeWalk::new();
            // The instance to be visited, and the next of all instances if all must be visited.
            let mut pending = Array::<u32>::new(2usize);
            pending[1] = NONE.runtime();
            if placed.state() == READY {
                way.begin(placed.octant());
            } else if placed.state() == TEST_ALL {
                pending[1] = 0;
                way.begin(placed.octant());
            }
            while way.goes_on() {
                pending[0] = NONE.runtime();
                let next = pending[1] + 0;
                if next != NONE {
                    if next < group.n {
                        pending[0] = next;
                        pending[1] = next + 1;
                    } else {
                        way.end();
                    }
                } else {
                    if !way.has_items() {
                        if way.find_node() {
                            let node = top.node(way.next_node(placed.octant()));
                            way.enter(&node, entered(&placed, &node, placed.limit[0]), placed.octant());
                        }
                    }
                    if way.has_items() {
                        pending[0] = way.next_item(placed.octant());
                    }
                }
                search.count(1u32, spec);
                if pending[0] != NONE {
                    let instance = pending[0] + 0;
                    cast_at::<F>(items, group, &ray, instance, &mut inner, &mut search, hits, at, k, spec);
                    placed.limit[0] = min(placed.limit[0], placed.limit_of(search.best[0], unit, start));
                }
                if search.is_done(spec) {
                    way.end();
                }
            }
            marks[at as usize] = search.state[2];
            if comptime!(spec.wanted == Wanted::First) {
                hits.indices[at as usize] = search.state[0];
            } else if comptime!(spec.wanted == Wanted::Rows) {
                hits.offsets[at as usize] = search.state[4];
            } else if comptime!(spec.wanted != Wanted::List) {
                hits.indices[at as usize] = search.state[4];
            }
        }
    }
}

/// Casts a ray at the instance at a place in the order of the tree.
#[cube]
#[allow(clippy::too_many_arguments)]
fn cast_at<F: Float>(
    items: &ItemsIn<F>,
    group: &Instances,
    ray: &ExactRay,
    place: u32,
    inner: &mut MeshWalk,
    search: &mut Search,
    hits: &mut HitLists,
    at: u32,
    k: u32,
    #[comptime] spec: WalkSpec,
) {
    let mesh = group.mesh(place);
    let own = group.ray(place, ray, min(ray.to, search.best[0]), &items.numbers);
    let frame = group.frame(place, &items.numbers);
    inner.begin(&own, &frame, mesh.n, search, spec);
    while inner.way.goes_on() {
        inner.find(group, &mesh, search, spec);
        if inner.pending[0] != NONE {
            let triangle = inner.pending[0] + 0;
            let mut hit = Array::<f64>::new(WIDTH);
            // The number of exact sums.
            hit[4] = f64::new(0.0);
            let corners = items.triangle(mesh.first_triangle + triangle);
            let crossing = comptime!(!matches!(spec.wanted, Wanted::First | Wanted::Any));
            let hit_spec = comptime!(HitSpec { exact: spec.exact, crossing, is_rounded: true });
            let result = triangle_hit(&own, &corners, &mut hit, &items.numbers, hit_spec);
            if comptime!(!spec.exact) {
                if result == IN_DOUBT {
                    search.state[2] = MARK_IN_DOUBT.runtime();
                }
            } else {
                search.count(STEPS_PER_SUM * u32::cast_from(hit[4]), spec);
            }
            if result != MISSED {
                search.count(CORRECTIONS, spec);
            }
            hit[4] = f64::cast_from(triangle);
            let t = hit[0] + f64::new(0.0);
            if result == MET && t >= own.from && t <= own.to {
                search.record(hits, at, k, mesh.instance, triangle, &hit, spec);
                let limit = inner.ray.limit_of(search.best[0], inner.scale[0], inner.scale[1]);
                inner.ray.limit[0] = min(inner.ray.limit[0], limit);
            }
        }
        if search.is_done(spec) {
            inner.way.end();
        }
    }
}
