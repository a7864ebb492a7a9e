//! The triangles that may be among a query's nearest, by bounds of their distances in `f32`.
//!
//! In: triangles with bounds of their distances (`geometry::framed_triangles`). Out: those whose distances in `f64`
//! decide, which are few more than the wanted number.
//! Cost: some instructions for each place.

use cubecl::prelude::*;

use crate::gpu::search::shapes::nearest::heap::{
    NearestQueries, NearestSpec, SMALLEST_SQUARE, excluded, unused_places,
};

/// The largest number of neighbours for which candidates are kept.
pub(super) const MOST: usize = 16;
/// The number of candidates beyond that of neighbours.
const SPARE: usize = 3;

/// Returns the number of candidates for `k` neighbours.
pub(super) fn places(k: usize) -> usize {
    k + SPARE
}

/// The largest limit. Triangles farther away have no bounds, and squares of distances to boxes may overflow.
const LARGEST_LIMIT: f32 = 1e19;
/// More than 1 by more than the rounding errors of a root or a square in `f32`.
const MORE: f32 = 1.0 + 4.0 * f32::EPSILON;
/// More than 1 by more than the rounding errors of a squared distance with up to ten dimensions, and of a square.
const MUCH_MORE: f32 = 1.0 + 32.0 * f32::EPSILON;

/// Returns a distance in `f32` whose square is at least `distance2`, but not above [`LARGEST_LIMIT`]; -1 if `distance2`
/// is negative.
#[cube]
fn limit_of(distance2: f64) -> f32 {
    let kept = distance2.max(f64::new(0.0)).min(f64::new(LARGEST_LIMIT) * f64::new(LARGEST_LIMIT));
    select(distance2 < f64::new(0.0), f32::new(-1.0), f32::cast_from(kept.sqrt()) * f32::new(MORE))
}

/// Returns an upper bound of the squared distances to boxes within a limit, as `f32` computes them. It is -1 if the limit
/// is negative, and the largest number for [`LARGEST_LIMIT`].
#[cube]
pub(super) fn reach2(limit: f32) -> f32 {
    let is_large = limit >= f32::new(LARGEST_LIMIT);
    let kept = select(is_large, f32::new(1.0), limit);
    // Smaller squares may have lost all their digits.
    let square = max(kept * kept * f32::new(MUCH_MORE), f32::new(SMALLEST_SQUARE));
    select(is_large, f32::new(f32::MAX), select(limit < f32::new(0.0), f32::new(-1.0), square))
}

/// The least upper bounds of distances so far.
#[derive(CubeType)]
struct UpperBounds {
    /// Ascending. Places that the query does not use are in front, with -1.
    upper: Array<f32>,
    #[cube(comptime)]
    k: usize,
}

/// Creates the bounds of a query.
#[cube]
fn new_upper_bounds(asked: &NearestQueries, query: u32, #[comptime] spec: NearestSpec) -> UpperBounds {
    let k = comptime!(spec.k);
    let unused = unused_places(asked, query, comptime!(k as u32), comptime!(k as u32), spec);
    let mut bounds = UpperBounds { upper: Array::<f32>::new(k), k };
    #[unroll]
    for place in 0..k {
        let is_used = comptime!(place as u32) >= unused;
        bounds.upper[place] = select(is_used, f32::new(f32::MAX), f32::new(-1.0));
    }
    bounds
}

#[cube]
impl UpperBounds {
    /// Inserts the upper bound of a primitive.
    fn push(&mut self, bound: f32) {
        let mut moved = bound + f32::new(0.0);
        #[unroll]
        for place in 0..comptime!(self.k) {
            let held = self.upper[place];
            self.upper[place] = min(held, moved);
            moved = max(held, moved);
        }
    }

    /// Returns the bound of the last neighbour.
    fn last(&self) -> f32 {
        self.upper[comptime!(self.k - 1)]
    }
}

/// The candidates of a query.
#[derive(CubeType)]
pub(super) struct Candidates {
    upper: UpperBounds,
    /// The least lower bounds so far, ascending, and the positions of these triangles.
    lower: Array<f32>,
    positions: Array<u32>,
    /// Two numbers: the distance within which the neighbours are, and the least lower bound of triangles without a
    /// place.
    limits: Array<f32>,
    excluded: u32,
    #[cube(comptime)]
    places: usize,
}

/// Creates the candidates of a query whose neighbours are within a squared distance.
#[cube]
pub(super) fn new_candidates(
    asked: &NearestQueries,
    query: u32,
    bound: f64,
    #[comptime] spec: NearestSpec,
) -> Candidates {
    let places = comptime!(places(spec.k));
    let mut candidates = Candidates {
        upper: new_upper_bounds(asked, query, spec),
        lower: Array::<f32>::new(places),
        positions: Array::<u32>::new(places),
        limits: Array::<f32>::new(2usize),
        excluded: excluded(asked, query, spec),
        places,
    };
    #[unroll]
    for place in 0..places {
        candidates.lower[place] = f32::new(f32::MAX);
        candidates.positions[place] = 0;
    }
    candidates.limits[0] = limit_of(bound);
    candidates.limits[1] = f32::new(f32::MAX);
    candidates
}

#[cube]
impl Candidates {
    /// Returns the distance within which the neighbours are.
    pub fn limit(&self) -> f32 {
        self.limits[0]
    }

    /// Adds a triangle with bounds of its distance, unless it is farther than the limit.
    pub fn push(&mut self, lower: f32, upper: f32, position: u32, order: &Array<u32>) {
        let mut comes = lower <= self.limits[0];
        if self.excluded != u32::MAX && comes {
            comes = order[position as usize] != self.excluded;
        }
        if comes {
            self.upper.push(upper);
            self.limits[0] = min(self.limits[0], self.upper.last());
            let mut moved = lower + f32::new(0.0);
            let mut moved_at = position + 0;
            #[unroll]
            for place in 0..comptime!(self.places) {
                let (held, held_at) = (self.lower[place], self.positions[place]);
                let goes_here = moved < held;
                self.lower[place] = select(goes_here, moved, held);
                self.positions[place] = select(goes_here, moved_at, held_at);
                moved = select(goes_here, held, moved);
                moved_at = select(goes_here, held_at, moved_at);
            }
            self.limits[1] = min(self.limits[1], moved);
        }
    }

    /// Returns `true` if all triangles within the limit have a place.
    pub fn are_complete(&self) -> bool {
        self.limits[1] > self.limits[0]
    }

    /// Removes the first candidate, and returns its position, or [`u32::MAX`] if it cannot be among the nearest.
    pub fn next(&mut self) -> u32 {
        let is_near = self.lower[0] <= self.limits[0];
        let first = select(is_near, self.positions[0], u32::MAX);
        #[unroll]
        for place in 1..comptime!(self.places) {
            self.lower[place - 1] = self.lower[place];
            self.positions[place - 1] = self.positions[place];
        }
        self.lower[comptime!(self.places - 1)] = f32::new(f32::MAX);
        first
    }
}

#[cfg(test)]
mod tests {
    use std::any::TypeId;

    use super::*;
    use crate::error::Result;
    use crate::gpu::buffer::{Buffer, blocks_for};
    use crate::gpu::device::{Device, on};
    use crate::gpu::search::shapes::nearest::heap::NearestQueriesLaunch;
    use crate::random::mixed;

    /// Pushes bounds, of triangles at the positions 0, 1 and so on, and writes the candidates.
    #[cube(launch)]
    fn push_and_pop(
        asked: &NearestQueries,
        lower: &Array<f32>,
        upper: &Array<f32>,
        popped: &mut Array<u32>,
        n: u32,
        #[comptime] spec: NearestSpec,
    ) {
        if ABSOLUTE_POS == 0 {
            let mut candidates = new_candidates(asked, 0u32, f64::new(1e30), spec);
            for at in 0..n {
                candidates.push(lower[at as usize], upper[at as usize], at, &asked.order);
            }
            for place in 0..comptime!(places(spec.k) as u32) {
                popped[place as usize] = candidates.next();
            }
        }
    }

    /// Candidates are those whose lower bound is at most the k-th upper bound, nearest first.
    #[test]
    fn candidates_come_in_order() -> Result<()> {
        let spec = NearestSpec {
            d: 3,
            periodic: false,
            k: 4,
            is_part: false,
            is_first: true,
            is_f32: true,
            are_points: false,
            stored: 11,
            are_triangles: true,
            are_bounded: true,
            test: TypeId::of::<()>(),
            listed: 0,
            are_rows_sorted: false,
        };
        for gap in [0.001f32, 0.03] {
            let lower: Vec<f32> = (0..50).map(|at| (mixed(at) >> 40) as f32 / (1 << 24) as f32).collect();
            let upper: Vec<f32> = lower.iter().map(|x| x + gap).collect();
            let found = on!(Device::first()?, client => {
                let row = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, f64::INFINITY, 4.0, f64::from(u32::MAX)];
                let (rows, order) = (Buffer::from_slice(client, &row), Buffer::iota(client, 50));
                let asked = NearestQueriesLaunch::new(rows.arg(), order.arg(), order.arg(), 1, 1);
                let popped = Buffer::<u32>::new(client, places(4));
                let (lower, upper) = (Buffer::from_slice(client, &lower), Buffer::from_slice(client, &upper));
                let dim = CubeDim::new_1d(crate::gpu::buffer::THREADS_PER_BLOCK);
                push_and_pop::launch(client, blocks_for(1), dim, asked, lower.arg(), upper.arg(), popped.arg(), 50, spec);
                popped.read(client)
            })?;
            let mut all: Vec<u32> = (0..50).collect();
            all.sort_by(|&a, &b| lower[a as usize].total_cmp(&lower[b as usize]));
            let last = lower[all[3] as usize] + gap;
            let expected: Vec<u32> =
                all.iter().copied().filter(|&at| lower[at as usize] <= last).take(places(4)).collect();
            assert_eq!(found[..expected.len()], expected);
            assert!(found[expected.len()..].iter().all(|&at| at == u32::MAX), "{found:?}");
        }
        Ok(())
    }
}
