//! The k nearest neighbours of each stored point: the twin of `nearest`.
//!
//! In: `k`. Out: for each point its neighbours, nearest first, ties by index.
//! A unit keeps the best so far of one point in order. It begins with the points about its own in tree order, which make the radius
//! small, and then walks the tree with that radius. What may be among the best by its distance in the points' own precision is
//! decided in `f64`, as on the CPU.
//! Cost: O(k + depth) leaves for a compact cloud. Source: as the CPU's; Karras 2012 for the order.

#![allow(unsafe_code)] // A kernel without checks of its own.

use cubecl::features::Plane;
use cubecl::prelude::*;

use super::buffer::{Buffer, UNITS, check_room, cubes, wait};
use super::bvh::{Bvh, Coordinate};
use super::device::{Device, on};
use super::metric::{distance2, exact_distance2, gap2};
use super::walk::Tree;
use crate::error::{Kind, Result};
use crate::geometry::{Reach, Scalar};
use crate::nearest::{Excluded, Nearest, Neighbor};

/// The largest `k`.
pub(super) const MOST: usize = 64;
/// Points in tree order that are looked at first, in blocks of so many.
const BLOCK: u32 = 32;

/// The nearest neighbours of each point, on a device. They may still be computed.
#[derive(Clone, Debug)]
pub struct Neighbors {
    device: Device,
    n: usize,
    k: usize,
    /// `k` a point in the caller's order; behind the last neighbour [`u32::MAX`].
    indices: Buffer<u32>,
    distances2: Buffer<f64>,
}

impl Neighbors {
    /// How many points have a list.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Waits until the neighbours are there.
    ///
    /// Errors: if the device fails.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies the lists from the device, one for each point in the caller's order.
    ///
    /// Errors: if the device fails.
    pub fn read<S: Scalar>(&self) -> Result<crate::Lists<Neighbor<S>>> {
        on!(self.device, client => {
            let (indices, distances2) = (self.indices.read(client)?, self.distances2.read(client)?);
            let mut offsets = Vec::with_capacity(self.n + 1);
            let mut values = Vec::with_capacity(self.n * self.k);
            offsets.push(0);
            for row in 0..self.n {
                let row = row * self.k..(row + 1) * self.k;
                let found = indices[row.clone()].iter().zip(&distances2[row]).take_while(|(index, _)| **index != u32::MAX);
                values.extend(found.map(|(&index, &d2)| Neighbor { index, distance2: S::from_f64(d2) }));
                offsets.push(values.len());
            }
            Ok(crate::Lists::from_parts(offsets, values))
        })
    }
}

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// The nearest stored points to each, nearest first, ties by index, in the caller's order: as
    /// [`crate::Bvh::nearest_neighbors`]. `wanted` is `k` or a [`Nearest`].
    ///
    /// Memory: 12 `k` bytes a point.
    ///
    /// Errors: a `k` of more than 64; more than 2^32 - 1 neighbours in all, or more than a buffer of the device can hold; if the device fails.
    ///
    /// ```no_run
    /// use ropewalk::Nearest;
    /// use ropewalk::gpu::{Bvh, Device};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [1.0, 0.0], [5.0, 0.0]], Device::first()?)?;
    /// let graph = bvh.nearest_neighbors(Nearest::new(1).excluding_self())?.read::<f32>()?;
    /// assert_eq!(graph.values().iter().map(|n| n.index).collect::<Vec<_>>(), [1, 0, 1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest_neighbors(&self, wanted: impl Into<Nearest>) -> Result<Neighbors> {
        let (wanted, n) = (wanted.into(), self.len());
        // More than there are is the same as all.
        let k = wanted.k.min(n);
        if k > MOST {
            return Err(Kind::DeviceNearest { k, most: MOST }.into());
        }
        if n * k > u32::MAX as usize {
            return Err(Kind::DeviceLists { values: (n * k) as u64 }.into());
        }
        let radius2 = if wanted.radius >= 0.0 { wanted.radius * wanted.radius } else { -1.0 };
        // The index that is left out, if it is the same for all; and whether it is each one's own.
        let (excluded, own) = match wanted.excluded {
            Excluded::Nothing => (u32::MAX, 0),
            Excluded::Index(index) => (index, 0),
            Excluded::Own => (u32::MAX, 1),
        };
        on!(self.device, client => {
            check_room(client, 8 * n as u128 * k as u128)?;
            let (indices, distances2) = (Buffer::new(client, n * k), Buffer::new(client, n * k));
            let found = Neighbors { device: self.device, n, k, indices, distances2 };
            let Some(nodes) = self.nodes.as_ref().filter(|_| k > 0) else { return Ok(found) };
            // An approximate distance is at least this part of the exact one, but for what periodic boxes and underflow add.
            let [relative, absolute] = Reach::<S, D>::errors(&self.space);
            let planes = client.properties().features.plane.contains(Plane::Ops);
            // SAFETY: nodes, ropes and firsts are those of a tree, so they stay within its points; a rope leads forward, so the
            // walk ends; each unit writes its own point's places.
            unsafe { find_nearest::launch_unchecked::<S, _>(
                client,
                cubes(n),
                CubeDim::new_1d(UNITS),
                self.tree(client, nodes),
                self.order.arg(),
                Buffer::from_slice(client, &[radius2, 1.0 - relative, absolute, S::SQUARES.start]).arg(),
                found.indices.arg(),
                found.distances2.arg(),
                n as u32,
                (nodes.ropes.len() - 1) as u32,
                excluded,
                own,
                D,
                self.space.period().is_some(),
                planes,
                k,
            ) };
            Ok(found)
        })
    }
}

/// Finds the `k` nearest of each point. `numbers`: the squared radius, how far approximate squared distances may be from exact ones
/// (a factor, and a length that periodic boxes add), and the least square that is not blurred by underflow.
#[cube(launch_unchecked)]
fn find_nearest<F: Float>(
    tree: &Tree<F>,
    order: &Array<u32>,
    numbers: &Array<f64>,
    indices: &mut Array<u32>,
    distances2: &mut Array<f64>,
    n: u32,
    end: u32,
    excluded: u32,
    own: u32,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
    #[comptime] planes: bool,
    #[comptime] k: usize,
) {
    let unit = ABSOLUTE_POS as u32;
    // All units of a plane must come along to vote.
    let query = min(unit, n - 1);
    let mut point = Array::<F>::new(d);
    #[unroll]
    for axis in 0..d {
        point[axis] = tree.axes[axis * n as usize + query as usize];
    }
    let index = order[query as usize];
    let mut left_out = excluded + 0;
    if own != 0 {
        left_out = index;
    }
    // The best so far in order, with places that anything within the radius takes.
    let mut best = Array::<f64>::new(k);
    let mut best_of = Array::<u32>::new(k);
    #[unroll]
    for place in 0..k {
        best[place] = numbers[0];
        best_of[place] = u32::MAX.runtime();
    }
    let mut limit = Array::<F>::new(1usize);
    limit[0] = widened::<F>(best[comptime!(k - 1)], numbers);

    let first = query / BLOCK * BLOCK;
    let behind = min(first + BLOCK, n);
    let mut near_ones = Array::<u32>::new(1usize);
    near_ones[0] = u32::MAX >> (BLOCK - (behind - first));
    offer::<F>(
        tree,
        order,
        first,
        n,
        &point,
        left_out,
        numbers,
        &mut near_ones,
        &mut best,
        &mut best_of,
        &mut limit,
        d,
        periodic,
        k,
    );
    let mut at = 0u32.runtime();
    while at < end {
        let rope = tree.ropes[at as usize];
        let mut near = unit < n;
        if near {
            near = gap2::<F>(&tree.bounds, at, &point, &tree.sides, d, periodic) <= limit[0];
        }
        let mut opens = near;
        if comptime!(planes) {
            opens = plane_any(near);
        }
        if !opens {
            at = rope;
        } else if rope == at + 1 {
            if near {
                // All of the leaf without a branch, then what is near enough.
                let start = tree.firsts[at as usize];
                let mut hits = 0u32.runtime();
                let mut bit = 1u32.runtime();
                for other in start..tree.firsts[rope as usize] {
                    let d2 = distance2::<F>(&tree.axes, other, n, &point, &tree.sides, d, periodic);
                    // Those of the block were there before.
                    let is_new = other < first || other >= behind;
                    hits |= select(is_new && d2 <= limit[0], bit, 0u32);
                    bit <<= 1;
                }
                if hits != 0 {
                    near_ones[0] = hits;
                    offer::<F>(
                        tree,
                        order,
                        start,
                        n,
                        &point,
                        left_out,
                        numbers,
                        &mut near_ones,
                        &mut best,
                        &mut best_of,
                        &mut limit,
                        d,
                        periodic,
                        k,
                    );
                }
            }
            at = rope;
        } else {
            at += 1;
        }
    }
    if unit < n {
        #[unroll]
        for place in 0..k {
            let to = index as usize * k + place;
            indices[to] = best_of[place];
            distances2[to] = best[place];
        }
    }
}

/// What approximate squared distances of points within an exact one are not above.
#[cube]
fn widened<F: Float>(distance2: f64, numbers: &Array<f64>) -> F {
    let radius = distance2.max(f64::new(0.0)).sqrt() + numbers[2];
    let square = (radius * radius).max(numbers[3]) / (numbers[1] * numbers[1]);
    let mut limit = F::cast_from(square);
    // Nothing is within a radius that is negative.
    if distance2 < f64::new(0.0) {
        limit = F::new(-1.0);
    }
    limit
}

/// Puts points among the best that belong there: those with a bit each from the one at `first` on.
#[cube]
fn offer<F: Float>(
    tree: &Tree<F>,
    order: &Array<u32>,
    first: u32,
    n: u32,
    point: &Array<F>,
    left_out: u32,
    numbers: &Array<f64>,
    left: &mut Array<u32>,
    best: &mut Array<f64>,
    best_of: &mut Array<u32>,
    limit: &mut Array<F>,
    #[comptime] d: usize,
    #[comptime] periodic: bool,
    #[comptime] k: usize,
) {
    while left[0] != 0 {
        let other = first + left[0].find_first_set() - 1;
        left[0] = left[0] & (left[0] - 1);
        let index = order[other as usize];
        let d2 = exact_distance2::<F>(&tree.axes, other, n, point, &tree.exact_sides, d, periodic);
        let mut belongs = index != left_out;
        belongs = belongs && d2 <= best[comptime!(k - 1)];
        if belongs {
            // What is farther than the new one moves up a place.
            let mut value = d2 + f64::new(0.0);
            let mut value_of = index + 0;
            #[unroll]
            for place in 0..k {
                let (held, held_of) = (best[place], best_of[place]);
                let goes_here = value < held || (value == held && value_of < held_of);
                best[place] = select(goes_here, value, held);
                best_of[place] = select(goes_here, value_of, held_of);
                value = select(goes_here, held, value);
                value_of = select(goes_here, held_of, value_of);
            }
        }
    }
    limit[0] = widened::<F>(best[comptime!(k - 1)], numbers);
}
