//! The walk of a wide tree for rays that cross many stored shapes in space.
//!
//! In: rays, and a tree with eight children per node (`search::mesh::wide_boxes`). Out: the number of shapes that each ray
//! crosses, or lists of them, unsorted. Nodes are tested in `f32` with a margin; the tests of boxes and shapes are those
//! of `row_walk`. The threads of a warp look for a shape each before they test these (Aila and Laine 2009).
//! Cost: fewer and smaller reads than with two children per node, and no order of hits.

use std::any::TypeId;

use cubecl::prelude::*;

use crate::gpu::geometry::literal;
use crate::gpu::search::hit_lists::HitLists;
use crate::gpu::search::mesh::candidates::{ENTERED, MISSED, box_entered, entered};
use crate::gpu::search::mesh::prepared::PreparedRaysIn;
use crate::gpu::search::mesh::primitives::ItemsIn;
use crate::gpu::search::mesh::ray_frame::{FrameRay, READY, TEST_ALL};
use crate::gpu::search::mesh::rays::RaysIn;
use crate::gpu::search::mesh::tree::{Nodes, TreeWalk};
use crate::gpu::search::shapes::box_tests::{ray_enters, ray_meets};
use crate::gpu::search::shapes::row_walk::ShapeRows;
use crate::gpu::search::shapes::rows::RAY_NUMBERS;
use crate::gpu::search::shapes::tests::{CrossingTest, HitTest};

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct WideSpec {
    /// The number of numbers of a stored shape.
    pub stored: usize,
    /// `true` if rays have ranges.
    pub has_ranges: bool,
    /// `true` if rays are taken in a sorted order.
    pub is_ordered: bool,
    /// `true` if crossings are listed, not only counted.
    pub lists: bool,
    /// `true` if the part of a ray inside a shape, empty or not, decides whether the ray meets it.
    pub decides: bool,
    /// `true` if the stored shapes are their boxes.
    pub are_boxes: bool,
    /// The types of the tests. Cached kernels are identified by type names, and two types may have the same name.
    pub types: [TypeId; 2],
}

/// The tree, its boxes, and the numbers and indices of the stored shapes.
#[derive(CubeType, CubeLaunch)]
pub(super) struct WideTree<F: Float> {
    pub nodes: Nodes,
    pub boxes: ItemsIn<F>,
    pub stored: ShapeRows,
    pub order: Array<u32>,
}

/// The rays as they were given, and as they walk.
#[derive(CubeType, CubeLaunch)]
pub(super) struct WideRays<F: Float> {
    pub rays: RaysIn<F>,
    pub prepared: PreparedRaysIn,
}

/// The maximum number of nodes and boxes that a thread reads before it tests a shape.
const STEPS: u32 = 6;

/// The shapes that a ray crosses so far.
#[derive(CubeType)]
struct Crossed {
    /// The numbers of a row of a ray (`rows`).
    row: Array<f64>,
    /// The place of the next one; their number if they are counted.
    place: RuntimeCell<u32>,
}

/// Counts or lists what each of `n` rays crosses.
#[cube(launch)]
pub(super) fn cross_rays<F: Float, T: HitTest, C: CrossingTest>(
    tree: &WideTree<F>,
    rays: &WideRays<F>,
    lists: &mut HitLists,
    counts: &mut Array<u32>,
    n: u32,
    #[comptime] spec: WideSpec,
) {
    let place = ABSOLUTE_POS as u32;
    if place < n {
        let at = rays.prepared.ray(place, comptime!(spec.is_ordered));
        let crossed = Crossed { row: row_of::<F>(tree, rays, at, spec), place: RuntimeCell::<u32>::new(0) };
        if comptime!(spec.lists) {
            crossed.place.store(lists.offsets[at as usize]);
        }
        let mut ray = FrameRay::new();
        ray.load(&rays.prepared.words, at);
        let octant = ray.octant();
        let mut way = TreeWalk::new();
        if ray.state() == READY {
            way.begin(octant);
        }
        if ray.state() == TEST_ALL {
            for position in 0..tree.boxes.n {
                test::<F, T, C>(tree, &crossed, position, false.runtime(), lists, spec);
            }
        }
        let mut found = Array::<u32>::new(1usize);
        let mut step = Array::<u32>::new(1usize);
        while way.goes_on() {
            // The threads of a warp look for a box each, and then test these together.
            found[0] = MISSED.runtime();
            step[0] = 0;
            let mut index = Array::<u32>::new(1usize);
            index[0] = 0;
            while step[0] < STEPS && found[0] == MISSED && way.goes_on() {
                step[0] = step[0] + 1;
                if !way.has_items() {
                    if way.find_node() {
                        let node = tree.nodes.node(way.next_node(octant));
                        way.enter(&node, entered(&ray, &node, ray.limit[0]), octant);
                    }
                }
                if way.has_items() {
                    let own = tree.nodes.boxed(way.next_item(octant));
                    found[0] = box_entered(&ray, &own.corners);
                    index[0] = own.index;
                }
            }
            if found[0] != MISSED {
                test::<F, T, C>(tree, &crossed, index[0], found[0] == ENTERED, lists, spec);
            }
        }
        if comptime!(!spec.lists) {
            counts[at as usize] = crossed.place.read();
        }
    }
}

/// Returns the row of a ray.
#[cube]
fn row_of<F: Float>(tree: &WideTree<F>, rays: &WideRays<F>, at: u32, #[comptime] spec: WideSpec) -> Array<f64> {
    let ray = rays.rays.ray(at, &tree.boxes.numbers, comptime!(spec.has_ranges));
    let mut row = Array::<f64>::new(comptime!(RAY_NUMBERS + 8));
    row[0] = select(ray.is_proper, f64::new(1.0), f64::new(0.0));
    row[1] = literal(1.0 - 4.0 * f64::EPSILON);
    row[2] = literal(1.0 + 4.0 * f64::EPSILON);
    row[3] = literal(f64::MIN_POSITIVE);
    row[4] = literal(f64::MAX);
    #[unroll]
    for k in 0..3usize {
        row[comptime!(RAY_NUMBERS + k)] = ray.origin[k];
        row[comptime!(RAY_NUMBERS + 3 + k)] = ray.direction[k];
    }
    row[comptime!(RAY_NUMBERS + 6)] = ray.from;
    row[comptime!(RAY_NUMBERS + 7)] = ray.to;
    row
}

/// Tests the shape at a position, and takes it if the ray crosses it. `is_entered` is `true` if the ray certainly meets
/// its box.
#[cube]
fn test<F: Float, T: HitTest, C: CrossingTest>(
    tree: &WideTree<F>,
    crossed: &Crossed,
    position: u32,
    is_entered: bool,
    lists: &mut HitLists,
    #[comptime] spec: WideSpec,
) {
    let mut hits = is_entered;
    if !hits {
        hits = ray_meets::<F>(&crossed.row, &tree.boxes.corners_of_box(position), 3usize);
    }
    let stored = &tree.stored;
    let from = position * comptime!(spec.stored as u32);
    let mut ray = Array::<f64>::new(8usize);
    #[unroll]
    for k in 0..8usize {
        ray[k] = crossed.row[comptime!(RAY_NUMBERS + k)];
    }
    let mut part = Array::<f64>::new(2usize);
    if comptime!(!spec.decides) {
        if hits {
            hits = T::is_hit(&stored.rows, from, &stored.extra, &ray, 0u32.runtime(), &stored.extra);
        }
    }
    let mut needs_part = hits;
    if comptime!(spec.are_boxes && !spec.lists) {
        needs_part = hits && !is_entered;
    }
    if comptime!(spec.decides || spec.lists) {
        if needs_part {
            let own = C::crossing(&stored.rows, from, &stored.extra, &ray);
            part[0] = own[0];
            part[1] = own[1];
            if comptime!(spec.decides) {
                hits = own[0] <= own[1];
            }
            if comptime!(spec.lists && !spec.are_boxes) {
                // A part does not begin before the box of the value.
                let corners = tree.boxes.corners_of_box(position);
                part[0] = max(part[0], ray_enters::<F>(&crossed.row, &corners, 3usize));
                part[1] = max(part[1], part[0]);
            }
        }
    }
    if hits {
        let place = crossed.place.read();
        crossed.place.store(place + 1);
        if comptime!(spec.lists) {
            lists.indices[place as usize] = tree.order[position as usize];
            lists.numbers[2 * place as usize] = part[0];
            lists.numbers[2 * place as usize + 1] = part[1];
        }
    }
}
