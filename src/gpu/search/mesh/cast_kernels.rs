//! The walk of a thread through the tree, ray after ray.
//!
//! In: prepared rays and a tree. Out: the hits of each ray, and a mark if they depend on rounding. The fast kernel leaves
//! the `t` of a first hit on a triangle, and the weights of its corners, to `finish`.
//! The threads of a warp together read up to `STEPS` nodes and items each. Then those with a candidate decide it,
//! which costs most. If there are many rays, threads that finish a ray take the next one of their block, so none
//! waits for the longest ray of its warp.
//! Source: Aila and Laine 2009 (persistent loops that replace finished rays).
//!
//! **Launch contract.** That of `cast`.

#![allow(unsafe_code)] // An unchecked kernel: see the launch contract.

use cubecl::prelude::*;

use crate::gpu::search::hit_lists::{HitLists, keep_first};
use crate::gpu::search::mesh::candidates::{entered, may_meet};
use crate::gpu::search::mesh::cast_spec::{
    CastSpec, MARK_IN_DOUBT, MARK_LONG, MARK_TEST_ALL, MAX_STEPS, STEPS_PER_SUM, Wanted,
};
use crate::gpu::search::mesh::constants::{HUGE, INFINITE};
use crate::gpu::search::mesh::lists::width;
use crate::gpu::search::mesh::prepared::PreparedRaysIn;
use crate::gpu::search::mesh::primitives::{Item, ItemsIn};
use crate::gpu::search::mesh::ray_frame::{FrameRay, READY, TEST_ALL};
use crate::gpu::search::mesh::ray_parameter::CORRECTIONS;
use crate::gpu::search::mesh::rays::RaysIn;
use crate::gpu::search::mesh::solid_hit::{ball_hit, box_hit};
use crate::gpu::search::mesh::tree::{Nodes, TreeWalk};
use crate::gpu::search::mesh::triangle_hit::{HitSpec, IN_DOUBT, MET, MISSED, triangle_hit};

/// The maximum number of nodes and items that a thread reads before it decides an item. Of 4 to 16, 6 and 8 were the
/// fastest.
const STEPS: u32 = 8;

/// No ray, or no item.
const NONE: u32 = u32::MAX;

/// Casts each of `n` rays; the exact kernel casts only rays in doubt.
///
/// A block has `turns` rays for each of its threads. A thread that finishes a ray takes the next one of the block. Rows
/// have `k` places.
#[cube(launch_unchecked)]
pub(super) fn cast_rays<F: Float>(
    nodes: &Nodes,
    items: &ItemsIn<F>,
    rays: &RaysIn<F>,
    prepared: &PreparedRaysIn,
    hits: &mut HitLists,
    marks: &mut Array<u32>,
    n: u32,
    turns: u32,
    k: u32,
    #[comptime] spec: CastSpec,
) {
    // The number of the block's rays that were taken.
    let taken = SharedMemory::<Atomic<u32>>::new(1usize);
    if comptime!(spec.takes_turns) {
        if UNIT_POS == 0 {
            taken[0].store(CUBE_DIM);
        }
        sync_cube();
    }
    let own = CUBE_DIM * turns;
    let first = CUBE_POS as u32 * own;
    let end = min(n - min(first, n), own);
    let mut casting = Casting::new();
    let mut ray = FrameRay::new();
    let mut way = TreeWalk::new();
    // The next ray is read before it is needed.
    let mut next = Array::<u32>::new(1usize);
    next[0] = NONE.runtime();
    if UNIT_POS < end {
        next[0] = prepared.ray(first + UNIT_POS, comptime!(spec.is_ordered));
    }
    let mut goes_on = Array::<u32>::new(1usize);
    goes_on[0] = 1;
    while goes_on[0] != 0 {
        if casting.pending[0] != NONE {
            let mut index = casting.pending[0] + 0;
            // The lookup is here because cubecl 0.10 cannot compile it for Vulkan inside the loop below.
            if comptime!(spec.item != Item::Triangle) {
                index = nodes.order[index as usize];
            }
            casting.pending[0] = NONE.runtime();
            decide::<F>(items, rays, prepared, &mut ray, index, &mut casting, hits, k, spec);
            if casting.is_done(spec) {
                way.end();
            }
        }
        if !way.goes_on() {
            casting.finish(hits, marks, spec);
            let at = next[0] + 0;
            if at != NONE {
                next[0] = NONE.runtime();
                // Avoids atomic operations in the loop if there are no further rays, because software drivers end
                // such loops.
                if comptime!(spec.takes_turns) {
                    let place = taken[0].fetch_add(1);
                    if place < end {
                        next[0] = prepared.ray(first + place, comptime!(spec.is_ordered));
                    }
                }
                let mut is_asked = true.runtime();
                if comptime!(spec.exact) {
                    is_asked = marks[at as usize] != 0;
                }
                if is_asked {
                    casting.begin(at, prepared, &items.numbers, &mut ray, &mut way, spec);
                }
            } else {
                goes_on[0] = 0;
            }
        }
        if comptime!(spec.exact) {
            casting.find_next_of_all(&mut way, items.n);
        }
        let mut step = Array::<u32>::new(1usize);
        step[0] = 0;
        while step[0] < STEPS && casting.pending[0] == NONE && way.goes_on() {
            step[0] = step[0] + 1;
            if !way.has_items() {
                if way.find_node() {
                    let node = nodes.node(way.next_node(ray.octant()));
                    way.enter(&node, entered(&ray, &node, ray.limit[0]), ray.octant());
                }
            }
            if way.has_items() {
                let position = way.next_item(ray.octant());
                if comptime!(spec.item == Item::Triangle) {
                    let triangle = nodes.triangle(position);
                    let may_be_met = may_meet(&ray, &triangle.corners, ray.limit[0]);
                    casting.pending[0] = select(may_be_met, triangle.index, NONE.runtime());
                } else {
                    casting.pending[0] = select(true.runtime(), position, NONE.runtime());
                }
            }
        }
        if comptime!(spec.is_guarded) {
            casting.count(step[0] + 1, spec);
            if casting.state[1] == MARK_LONG {
                way.end();
            }
        }
    }
}

/// The state of a cast ray.
#[derive(CubeType)]
struct Casting {
    /// The number of the ray, or `NONE`.
    at: Array<u32>,
    /// The item to be decided: a triangle's index, or a solid's position. Then the next of all items, if all must be
    /// decided.
    pending: Array<u32>,
    /// Three values: the index of the best hit or the number of hits, the ray's mark, the number of its steps.
    state: Array<u32>,
    /// The `t` of the best hit. If it is approximate: a lower and an upper bound.
    best: Array<f64>,
}

#[cube]
impl Casting {
    fn new() -> Casting {
        let mut casting = Casting {
            at: Array::<u32>::new(1usize),
            pending: Array::<u32>::new(2usize),
            state: Array::<u32>::new(3usize),
            best: Array::<f64>::new(2usize),
        };
        casting.at[0] = NONE.runtime();
        casting.pending[0] = NONE.runtime();
        casting.pending[1] = NONE.runtime();
        casting
    }

    /// Loads a ray, and starts its walk if the ray may meet anything.
    fn begin(
        &mut self,
        at: u32,
        prepared: &PreparedRaysIn,
        numbers: &Array<f64>,
        ray: &mut FrameRay,
        way: &mut TreeWalk,
        #[comptime] spec: CastSpec,
    ) {
        self.at[0] = at;
        self.state[0] = 0;
        if comptime!(spec.wanted == Wanted::First) {
            self.state[0] = NONE.runtime();
        }
        self.state[1] = 0;
        self.state[2] = 0;
        self.best[0] = numbers[INFINITE];
        self.best[1] = numbers[INFINITE];
        self.pending[1] = NONE.runtime();
        ray.load(&prepared.words, at);
        if ray.state() == READY {
            way.begin(ray.octant());
        } else if ray.state() == TEST_ALL {
            if comptime!(spec.exact) {
                self.pending[1] = 0;
                way.begin(ray.octant());
            } else {
                self.state[1] = MARK_TEST_ALL.runtime();
            }
        }
    }

    /// Selects the next item, if all items must be decided.
    fn find_next_of_all(&mut self, way: &mut TreeWalk, n: u32) {
        let next = self.pending[1];
        if next != NONE && way.goes_on() {
            if next < n {
                self.pending[0] = next;
                self.pending[1] = next + 1;
            } else {
                way.end();
            }
        }
    }

    /// Counts steps, and marks the ray if there are too many.
    fn count(&mut self, steps: u32, #[comptime] spec: CastSpec) {
        if comptime!(spec.is_guarded) {
            self.state[2] = self.state[2] + steps;
            if self.state[2] > MAX_STEPS {
                self.state[1] = MARK_LONG.runtime();
            }
        }
    }

    /// Returns `true` if the ray needs no further hits.
    fn is_done(&self, #[comptime] spec: CastSpec) -> bool {
        let mut is_done = self.state[1] != 0;
        if comptime!(spec.wanted == Wanted::Any) {
            is_done = self.state[0] != 0;
        }
        is_done
    }

    /// Returns `true` if a hit with a `t` between two bounds counts: it is in the range of the ray, and before the best
    /// hit. Marks the ray if the bounds leave that open.
    fn compare(&mut self, from: f64, to: f64, least: f64, most: f64, #[comptime] spec: CastSpec) -> bool {
        // `false` for NaN as well.
        let mut counts = least >= from && most <= to;
        let mut is_known = counts || most < from || least > to;
        if comptime!(spec.wanted == Wanted::First) {
            let is_before = most < self.best[0];
            is_known = least > self.best[1] || (is_known && (!counts || is_before));
            counts = counts && is_before;
        }
        if !is_known {
            self.state[1] = MARK_IN_DOUBT.runtime();
        }
        counts
    }

    /// Writes the result of the ray, if there is one.
    fn finish(&mut self, hits: &mut HitLists, marks: &mut Array<u32>, #[comptime] spec: CastSpec) {
        let at = self.at[0] + 0;
        if at != NONE {
            self.at[0] = NONE.runtime();
            marks[at as usize] = self.state[1];
            if comptime!(spec.wanted == Wanted::Rows) {
                hits.offsets[at as usize] = self.state[0];
            } else if comptime!(spec.wanted != Wanted::List) {
                hits.indices[at as usize] = self.state[0];
            }
            if comptime!(spec.wanted == Wanted::First && !spec.is_approximate()) {
                if self.state[0] == NONE {
                    let first = comptime!(width(spec.item)) * at as usize;
                    hits.numbers[first] = self.best[0];
                    #[unroll]
                    for k in 1..comptime!(width(spec.item)) {
                        hits.numbers[first + k] = f64::new(0.0);
                    }
                }
            }
        }
    }
}

/// Decides if a ray meets an item, and records the wanted result.
#[cube]
fn decide<F: Float>(
    items: &ItemsIn<F>,
    rays: &RaysIn<F>,
    prepared: &PreparedRaysIn,
    placed: &mut FrameRay,
    index: u32,
    casting: &mut Casting,
    hits: &mut HitLists,
    k: u32,
    #[comptime] spec: CastSpec,
) {
    let at = casting.at[0] + 0;
    let ray = rays.ray(at, &items.numbers, comptime!(spec.has_ranges));
    let (unit, start) = prepared.scale(at);
    let mut found = Array::<f64>::new(5usize);
    found[4] = f64::new(0.0);
    let mut decided = Array::<u32>::new(1usize);
    if comptime!(spec.item == Item::Triangle) {
        let crossing = comptime!(matches!(spec.wanted, Wanted::Count | Wanted::List | Wanted::Rows));
        let spec = comptime!(HitSpec { exact: spec.exact, crossing, is_rounded: !spec.is_approximate() });
        decided[0] = triangle_hit(&ray, &items.triangle(index), &mut found, &items.numbers, spec);
    } else if comptime!(spec.item == Item::Box) {
        decided[0] = box_hit(&ray, &items.solid(index, 6usize), &mut found, &items.numbers);
    } else {
        let radius = items.radii[index as usize];
        decided[0] = ball_hit(&ray, &items.solid(index, 3usize), radius, &mut found, &items.numbers);
    }
    let result = decided[0];
    if comptime!(!spec.exact) {
        if result == IN_DOUBT {
            casting.state[1] = MARK_IN_DOUBT.runtime();
        }
    }
    if comptime!(spec.item == Item::Triangle && !spec.is_approximate()) {
        if result != MISSED {
            casting.count(CORRECTIONS, spec);
        }
        casting.count(STEPS_PER_SUM * u32::cast_from(found[4]), spec);
    }
    let t = found[0];
    if comptime!(spec.is_approximate()) {
        if result == MET {
            let (least, most) = (t - found[4], t + found[4]);
            let comes = casting.compare(ray.from, ray.to, least, most, spec);
            if comes {
                if comptime!(spec.wanted == Wanted::First) {
                    casting.state[0] = index;
                    casting.best[0] = least;
                    casting.best[1] = most;
                    placed.limit[0] = min(placed.limit[0], placed.limit_of(most, unit, start));
                } else {
                    casting.state[0] = casting.state[0] + 1;
                    // Whatever other triangles are, the ray has a hit.
                    casting.state[1] = select(comptime!(spec.wanted == Wanted::Any), 0u32, casting.state[1]);
                }
            }
        }
    } else if result == MET && t >= ray.from && t <= ray.to {
        if comptime!(spec.wanted == Wanted::First) {
            // As on the CPU, solids at infinity are not hits.
            let counts = comptime!(spec.item == Item::Triangle) || t <= items.numbers[HUGE];
            let is_first = t < casting.best[0] || (t == casting.best[0] && index < casting.state[0]);
            if is_first && counts {
                casting.state[0] = index;
                casting.best[0] = t;
                #[unroll]
                for k in 0..comptime!(width(spec.item)) {
                    hits.numbers[comptime!(width(spec.item)) * at as usize + k] = found[k];
                }
                placed.limit[0] = min(placed.limit[0], placed.limit_of(t, unit, start));
            }
        } else if comptime!(spec.wanted == Wanted::Rows) {
            let first = at * k;
            let count = casting.state[0] + 0;
            casting.state[0] = keep_first(hits, first, k, count, index, &found, comptime!(width(spec.item)));
            if casting.state[0] == k {
                let last = hits.numbers[comptime!(width(spec.item)) * first as usize];
                placed.limit[0] = min(placed.limit[0], placed.limit_of(last, unit, start));
            }
        } else {
            if comptime!(spec.wanted == Wanted::List) {
                let place = (hits.offsets[at as usize] + casting.state[0]) as usize;
                hits.indices[place] = index;
                #[unroll]
                for k in 0..comptime!(width(spec.item)) {
                    hits.numbers[comptime!(width(spec.item)) * place + k] = found[k];
                }
            }
            casting.state[0] = casting.state[0] + 1;
        }
    }
}
