//! Many rays through a tree: the twin of `search::mesh::rays`.
//!
//! In: rays and a tree. Out: the first hit of each, whether there is one, how many there are, or all.
//! A unit takes a ray. It looks at nodes until there are items to look at, at these until one may be met, and then decides, so that the units of
//! a warp are at the same more often; deciding costs most. A ray for which rounding decides is marked, and a second kernel takes those without rounding.
//! Many rays are taken along a curve first (`ray_order`), so that those of a warp meet the same nodes.
//! Cost: O(log n) nodes of 80 bytes for the first hit on a compact mesh. Source: Aila and Laine 2009 (the two loops); Ylitie, Karras and
//! Laine 2017.
//!
//! **Launch contract.** The kernels have no bounds checks. They rely on this: units compare their position with the number of rays; rays have
//! three numbers each, and two if they have ranges; nodes and items are those of one compressed tree, which is not empty; results and marks have a
//! place for each ray, lists as many as were counted.

#![allow(unsafe_code)] // Kernels without bounds checks.

use cubecl::prelude::*;

use crate::error::{Kind, Result};
use crate::gpu::buffer::{Buffer, count};
use crate::gpu::bvh::Coordinate;
use crate::gpu::device::{MOST_TURNS, is_cuda};
use crate::gpu::search::mesh::candidates::{entered, may_meet};
use crate::gpu::search::mesh::lists::{Found, Hits, HitsLaunch, sort_lists, width};
use crate::gpu::search::mesh::numbers::{HUGE, INFINITE};
use crate::gpu::search::mesh::rays::{ExactRay, FrameRay, READY, Rays, RaysIn, TOO_FAR};
use crate::gpu::search::mesh::solid_hit::{ball_hit, box_hit};
use crate::gpu::search::mesh::tree::{Nodes, Tree, Vec4, Way};
use crate::gpu::search::mesh::triangle_hit::{HitSpec, IN_DOUBT, MET, triangle_hit};

/// Units of a block: few, for a block waits for its longest ray.
const CAST_UNITS: u32 = 64;

/// Exact sums of a ray where loops must be short: a software driver ends all loops of a unit after 65,535 turns, and a sum has up to 240.
const GUARDED: u32 = 270;

/// Hits that such a driver sorts.
const SORTED: u32 = 3000;

/// The mark of a ray that each item is to be asked about; of others in doubt it is 1, of those that are decided 0.
const FAR: u32 = 2;

/// The position of no item.
const NONE: u32 = u32::MAX;

/// What is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Item {
    /// Three corners.
    Triangle,
    /// The lower corner and the upper one.
    Box,
    /// The centre, and the radius.
    Ball,
}

/// What is wanted of each ray.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Wanted {
    First,
    Any,
    /// The number of all crossings.
    Count,
    /// All crossings, in ascending order.
    List,
}

/// What a kernel is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CastSpec {
    item: Item,
    wanted: Wanted,
    has_ranges: bool,
    exact: bool,
    /// Whether rays are taken in an order of their own.
    is_ordered: bool,
    /// Whether few items are decided exactly for a ray, as drivers end long loops.
    is_guarded: bool,
}

/// What is stored, on a device.
#[derive(Clone, Debug)]
pub(super) struct Items<S> {
    pub item: Item,
    pub n: usize,
    /// The coordinates of each item, by index.
    pub exact: Buffer<S>,
    /// The radii of balls.
    pub radii: Buffer<f64>,
    /// Triangles in the order of the leaves and in the unit of the tree, three corners of four numbers; of other items none.
    pub framed: Buffer<u32>,
    pub numbers: Buffer<f64>,
}

impl<S: Coordinate> Items<S> {
    pub fn arg<R: Runtime>(&self) -> ItemsInLaunch<S, R> {
        ItemsInLaunch::new(self.exact.arg(), self.radii.arg(), self.framed.quads(), self.numbers.arg(), self.n as u32)
    }
}

/// Items in a kernel.
#[derive(CubeType, CubeLaunch)]
pub(super) struct ItemsIn<F: Float> {
    exact: Array<F>,
    radii: Array<f64>,
    framed: Vec4,
    pub numbers: Array<f64>,
    pub n: u32,
}

#[cube]
impl<F: Float> ItemsIn<F> {
    /// The corners of a triangle.
    pub fn triangle(&self, index: u32) -> Array<f64> {
        let mut corners = Array::<f64>::new(9usize);
        #[unroll]
        for k in 0..9usize {
            corners[k] = f64::cast_from(self.exact[9 * index as usize + k]);
        }
        corners
    }

    /// The first `width` numbers of an item that has so many.
    fn solid(&self, index: u32, #[comptime] width: usize) -> Array<f64> {
        let mut own = Array::<f64>::new(width);
        #[unroll]
        for k in 0..width {
            own[k] = f64::cast_from(self.exact[width * index as usize + k]);
        }
        own
    }

    /// The corners at a position in the unit of the tree.
    pub fn framed(&self, position: u32) -> Array<f32> {
        let mut corners = Array::<f32>::new(9usize);
        #[unroll]
        for corner in 0..3usize {
            let own = self.framed[3 * position as usize + corner];
            #[unroll]
            for k in 0..3usize {
                corners[3 * corner + k] = f32::reinterpret(own[k]);
            }
        }
        corners
    }
}

/// Casts rays, in an order if there is one, through a tree that is not empty.
pub(super) fn cast<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    tree: &Tree,
    items: &Items<S>,
    rays: &Rays<S>,
    order: Option<&Buffer<u32>>,
    wanted: Wanted,
    found: &Found,
) -> Result<()> {
    let n = rays.len();
    let marks = Buffer::<u32>::new(client, n);
    let spec = CastSpec {
        item: items.item,
        wanted,
        has_ranges: rays.has_ranges(),
        exact: false,
        is_ordered: order.is_some(),
        is_guarded: !is_cuda(client),
    };
    let none = Buffer::new(client, 0);
    let order = order.unwrap_or(&none);
    let dim = CubeDim::new_1d(CAST_UNITS);
    let hits = || HitsLaunch::new(found.indices.arg(), found.numbers.arg(), found.offsets.arg());
    let blocks = || count(n.div_ceil(CAST_UNITS as usize));
    let refuse = || Err(Kind::DeviceLoops { what: "a ray" }.into());
    for exact in [false, true] {
        let spec = CastSpec { exact, ..spec };
        // SAFETY: the launch contract of this module.
        unsafe {
            cast_rays::launch_unchecked::<S, R>(
                client,
                blocks(),
                dim,
                tree.arg(),
                items.arg(),
                rays.arg(),
                order.arg(),
                hits(),
                marks.arg(),
                n as u32,
                spec,
            );
        }
        let left = if spec.is_guarded { marks.read(client)? } else { vec![] };
        if left.iter().any(|&mark| if exact { mark != 0 } else { mark == FAR && items.n > MOST_TURNS }) {
            return refuse();
        }
    }
    let is_long = |list: &[u32]| list[1] - list[0] > SORTED;
    if wanted == Wanted::List && spec.is_guarded && found.offsets.read(client)?.windows(2).any(is_long) {
        return refuse();
    }
    if wanted == Wanted::List {
        // SAFETY: as above.
        unsafe { sort_lists::launch_unchecked::<R>(client, blocks(), dim, hits(), n as u32, items.item) };
    }
    Ok(())
}

/// Casts each of `n` rays; if it is exact, those that are in doubt.
#[cube(launch_unchecked)]
fn cast_rays<F: Float>(
    nodes: &Nodes,
    items: &ItemsIn<F>,
    rays: &RaysIn<F>,
    order: &Array<u32>,
    hits: &mut Hits,
    marks: &mut Array<u32>,
    n: u32,
    #[comptime] spec: CastSpec,
) {
    let unit = ABSOLUTE_POS as u32;
    if unit < n {
        let mut at = unit + 0;
        if comptime!(spec.is_ordered) {
            at = order[unit as usize];
        }
        let mut is_asked = true.runtime();
        if comptime!(spec.exact) {
            is_asked = marks[at as usize] != 0;
        }
        if is_asked {
            marks[at as usize] = cast_ray::<F>(nodes, items, rays, hits, at, spec);
        }
    }
}

/// What is found of a ray.
#[derive(CubeType)]
struct Casting {
    /// The index of the best hit, or how many there are; the ray's mark; how many exact sums it took.
    state: Array<u32>,
    /// Its `t` and weights.
    best: Array<f64>,
    /// How far to look, in the unit of the tree.
    limit: Array<f32>,
}

/// Casts one ray, and returns its mark.
#[cube]
fn cast_ray<F: Float>(
    nodes: &Nodes,
    items: &ItemsIn<F>,
    rays: &RaysIn<F>,
    hits: &mut Hits,
    at: u32,
    #[comptime] spec: CastSpec,
) -> u32 {
    let ray = rays.ray(at, &items.numbers, comptime!(spec.has_ranges));
    let mut casting =
        Casting { state: Array::<u32>::new(3usize), best: Array::<f64>::new(4usize), limit: Array::<f32>::new(1usize) };
    casting.state[0] = 0;
    if comptime!(spec.wanted == Wanted::First) {
        casting.state[0] = u32::MAX.runtime();
    }
    casting.state[1] = 0;
    casting.state[2] = 0;
    casting.best[0] = items.numbers[INFINITE];
    #[unroll]
    for k in 1..4usize {
        casting.best[k] = f64::new(0.0);
    }
    if ray.is_proper {
        let placed = FrameRay::new(&ray, &items.numbers);
        casting.limit[0] = placed.limit(ray.to);
        if placed.state == READY {
            let mut way = Way::new(placed.octant);
            let mut pending = Array::<u32>::new(1usize);
            while way.goes_on() {
                pending[0] = NONE.runtime();
                while pending[0] == NONE && way.goes_on() {
                    while !way.has_items() && way.goes_on() {
                        if way.find_node() {
                            let node = nodes.node(way.next_node());
                            way.enter(&node, entered(&placed, &node, casting.limit[0]));
                        }
                    }
                    while way.has_items() && pending[0] == NONE {
                        let position = way.next_item();
                        let mut may_be_met = true.runtime();
                        if comptime!(spec.item == Item::Triangle) {
                            may_be_met = may_meet(&placed, &items.framed(position), casting.limit[0]);
                        }
                        pending[0] = select(may_be_met, position, NONE.runtime());
                    }
                }
                if pending[0] != NONE {
                    let index = nodes.order[pending[0] as usize];
                    decide::<F>(items, &ray, &placed, index, &mut casting, hits, at, spec);
                    if is_done(&casting, spec) {
                        way.end();
                    }
                }
            }
        } else if placed.state == TOO_FAR {
            if comptime!(spec.exact) {
                let mut index = Array::<u32>::new(1usize);
                index[0] = 0;
                while index[0] < items.n {
                    decide::<F>(items, &ray, &placed, index[0], &mut casting, hits, at, spec);
                    index[0] = index[0] + 1;
                    if is_done(&casting, spec) {
                        index[0] = items.n;
                    }
                }
            } else {
                casting.state[1] = FAR.runtime();
            }
        }
    }
    if comptime!(spec.wanted != Wanted::List) {
        hits.indices[at as usize] = casting.state[0];
    }
    if comptime!(spec.wanted == Wanted::First) {
        let width = comptime!(width(spec.item));
        #[unroll]
        for k in 0..width {
            hits.numbers[width * at as usize + k] = casting.best[k];
        }
    }
    casting.state[1]
}

/// Whether nothing more is wanted of a ray.
#[cube]
fn is_done(casting: &Casting, #[comptime] spec: CastSpec) -> bool {
    let mut is_done = casting.state[1] != 0;
    if comptime!(spec.wanted == Wanted::Any) {
        is_done = casting.state[0] != 0;
    }
    is_done
}

/// Decides whether a ray meets an item, and keeps what is wanted of that.
#[cube]
fn decide<F: Float>(
    items: &ItemsIn<F>,
    ray: &ExactRay,
    placed: &FrameRay,
    index: u32,
    casting: &mut Casting,
    hits: &mut Hits,
    at: u32,
    #[comptime] spec: CastSpec,
) {
    let mut found = Array::<f64>::new(5usize);
    found[4] = f64::new(0.0);
    let mut decided = Array::<u32>::new(1usize);
    if comptime!(spec.item == Item::Triangle) {
        let crossing = comptime!(matches!(spec.wanted, Wanted::Count | Wanted::List));
        let spec = comptime!(HitSpec { exact: spec.exact, crossing });
        decided[0] = triangle_hit(ray, &items.triangle(index), &mut found, &items.numbers, spec);
    } else if comptime!(spec.item == Item::Box) {
        decided[0] = box_hit(ray, &items.solid(index, 6usize), &mut found, &items.numbers);
    } else {
        let radius = items.radii[index as usize];
        decided[0] = ball_hit(ray, &items.solid(index, 3usize), radius, &mut found, &items.numbers);
    }
    let result = decided[0];
    if comptime!(!spec.exact) {
        if result == IN_DOUBT {
            casting.state[1] = 1;
        }
    }
    if comptime!(spec.exact && spec.is_guarded && spec.item == Item::Triangle) {
        casting.state[2] = casting.state[2] + u32::cast_from(found[4]);
        casting.state[1] = select(casting.state[2] < GUARDED, 0u32, 1u32);
    }
    let t = found[0];
    if result == MET && t >= ray.from && t <= ray.to {
        if comptime!(spec.wanted == Wanted::First) {
            // Solids at infinity are none, as on the CPU.
            let counts = comptime!(spec.item == Item::Triangle) || t <= items.numbers[HUGE];
            let is_first = t < casting.best[0] || (t == casting.best[0] && index < casting.state[0]);
            if is_first && counts {
                casting.state[0] = index;
                #[unroll]
                for k in 0..comptime!(width(spec.item)) {
                    casting.best[k] = found[k];
                }
                casting.limit[0] = min(casting.limit[0], placed.limit(t));
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
