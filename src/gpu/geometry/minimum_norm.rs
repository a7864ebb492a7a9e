//! The point of a convex set that is nearest to the origin: the GPU counterpart of `geometry::shapes::minimum_norm`.
//!
//! In: two cores. Out: the squared length of the nearest point of their difference, or of the image of one in the
//! coordinates of the other, rounded as on the CPU. A simplex has at most d + 1 corners.
//! Cost: as on the CPU; two iterations of loops per step in up to three dimensions, where inner loops are unrolled.
//! Source: as for the CPU.

use cubecl::prelude::*;

use crate::gpu::geometry::frame::{components, half};
use crate::gpu::geometry::solid::SolidSpec;
use crate::gpu::geometry::support::support;
use crate::gpu::geometry::vector::{add_scaled, dot, length2, literal, nth, sub, times, vector_at};
use crate::gpu::primitives::rounding::product;

/// The square of the distance, relative to the coordinates that are subtracted, below which distances are rounding
/// errors.
const TOUCH2: f32 = (64.0 * f64::EPSILON) as f32 * (64.0 * f64::EPSILON) as f32;

/// The maximum number of steps. If more are needed, rounding dominates.
const STEPS: u32 = 500;

/// The convex set whose point nearest to the origin is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Set {
    /// The first core relative to a point, the second core.
    ToPoint,
    /// The differences of the points of two cores.
    Difference,
    /// The second core, widened by a radius, in the coordinates in which the first, an ellipsoid, is the unit ball.
    Image,
}

/// The set and the kinds of the two cores: compile-time options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct SetSpec {
    pub set: Set,
    pub a: SolidSpec,
    pub b: SolidSpec,
}

/// Returns the squared length of the point nearest to the origin; 0 if the origin lies inside.
#[cube]
pub(super) fn distance2(
    p: &Array<f64>,
    p_corners: &Array<f64>,
    q: &Array<f64>,
    q_corners: &Array<f64>,
    radius: f64,
    #[comptime] spec: SetSpec,
) -> f64 {
    let d = comptime!(spec.a.d);
    let zero = f64::new(0.0);
    let mut nowhere = Array::<f64>::new(d);
    #[unroll]
    for k in 0..d {
        nowhere[k] = zero;
    }
    // Relative to a point of the first core, so that rounding errors are relative to the sizes of the shapes.
    let origin = support(p, p_corners, &nowhere, comptime!(spec.a));
    let start = farthest(p, p_corners, q, q_corners, &origin, radius, &nowhere, spec);
    let mut simplex = Simplex::new(&start, d);
    let mut nearest = nth(&start, 0usize, d);
    let mut largest = Array::<f64>::new(1usize);
    largest[0] = length2(&start, d);
    // The number of steps, and that of steps in which the norm did not decrease.
    let (mut steps, mut stalls) = (Array::<u32>::new(1usize), Array::<u32>::new(1usize));
    steps[0] = 0;
    stalls[0] = 0;
    while steps[0] < STEPS {
        steps[0] = steps[0] + 1;
        let norm2 = length2(&nearest, d);
        let is_origin = norm2 <= product(f64::new(TOUCH2), largest[0]);
        let is_finite = norm2 <= literal(f64::MAX);
        if is_origin || !is_finite {
            #[unroll]
            for k in 0..d {
                nearest[k] = zero;
            }
            steps[0] = STEPS;
        } else {
            let towards = times(&nearest, f64::new(-1.0) / norm2.sqrt(), d);
            let next = farthest(p, p_corners, q, q_corners, &origin, radius, &towards, spec);
            largest[0] = max(largest[0], length2(&next, d));
            let gain = dot(&nearest, &sub(&nearest, &next, d), d);
            let least = product(f64::new(comptime!(4.0 * f64::EPSILON as f32)), norm2);
            if gain <= least || simplex.has(&next) {
                steps[0] = STEPS;
            } else {
                simplex.push(&next);
                let moved = simplex.descend();
                let is_inside = simplex.len[0] == comptime!(d as u32 + 1);
                let is_stalled = length2(&moved, d) >= norm2;
                stalls[0] = stalls[0] + u32::cast_from(is_stalled);
                // When the norm no longer decreases, points still move by about the square root of the rounding error.
                let ends = is_stalled && stalls[0] > comptime!(2 * d as u32);
                #[unroll]
                for k in 0..d {
                    // A simplex of d + 1 corners with positive weights contains the origin.
                    let place = select(ends, nearest[k], moved[k]);
                    nearest[k] = select(is_inside, zero, place);
                }
                steps[0] = select(is_inside || ends, STEPS.runtime(), steps[0]);
            }
        }
    }
    length2(&nearest, d)
}

/// Returns the point of the set that is farthest along a direction.
#[cube]
fn farthest(
    p: &Array<f64>,
    p_corners: &Array<f64>,
    q: &Array<f64>,
    q_corners: &Array<f64>,
    origin: &Array<f64>,
    radius: f64,
    direction: &Array<f64>,
    #[comptime] spec: SetSpec,
) -> Array<f64> {
    let d = comptime!(spec.a.d);
    if comptime!(spec.set == Set::ToPoint) {
        sub(&support(p, p_corners, direction, comptime!(spec.a)), q, d)
    } else if comptime!(spec.set == Set::Difference) {
        let back = times(direction, f64::new(-1.0), d);
        let of_p = sub(&support(p, p_corners, direction, comptime!(spec.a)), origin, d);
        sub(&of_p, &sub(&support(q, q_corners, &back, comptime!(spec.b)), origin, d), d)
    } else {
        let mut normal = Array::<f64>::new(d);
        #[unroll]
        for k in 0..d {
            normal[k] = f64::new(0.0);
        }
        #[unroll]
        for i in 0..d {
            let part = direction[i] / half(p, i, d);
            #[unroll]
            for k in 0..d {
                normal[k] = normal[k] + product(part, p[comptime!((i + 1) * d + k)]);
            }
        }
        let point = support(q, q_corners, &normal, comptime!(spec.b));
        let length = length2(&normal, d).sqrt();
        let is_long = length > f64::new(0.0);
        let ball = select(is_long, radius / select(is_long, length, f64::new(1.0)), f64::new(0.0));
        let mut image = components(p, &sub(&add_scaled(&point, ball, &normal, d), p, d), d);
        #[unroll]
        for k in 0..d {
            image[k] = image[k] / half(p, k, d);
        }
        image
    }
}

/// A simplex: corners, the weights of its point nearest to the origin, and room for the computation of new ones.
#[derive(CubeType)]
struct Simplex {
    #[cube(comptime)]
    d: usize,
    len: Array<u32>,
    points: Array<f64>,
    weights: Array<f64>,
    /// The new weights.
    next: Array<f64>,
    orthonormal: Array<f64>,
    triangle: Array<f64>,
}

#[cube]
impl Simplex {
    fn new(start: &Array<f64>, #[comptime] d: usize) -> Simplex {
        let (mut len, mut weights) = (Array::<u32>::new(1usize), Array::<f64>::new(comptime!(d + 1)));
        let mut points = Array::<f64>::new(comptime!(d * (d + 1)));
        len[0] = 1;
        weights[0] = f64::new(1.0);
        #[unroll]
        for k in 0..d {
            points[k] = start[k];
        }
        Simplex {
            d,
            len,
            points,
            weights,
            next: Array::<f64>::new(comptime!(d + 1)),
            orthonormal: Array::<f64>::new(comptime!(d * d)),
            triangle: Array::<f64>::new(comptime!(d * d)),
        }
    }

    /// Returns `true` if a point is a corner.
    fn has(&self, point: &Array<f64>) -> bool {
        let d = comptime!(self.d);
        let unrolls = comptime!(d <= 3);
        let mut found = Array::<u32>::new(1usize);
        found[0] = 0;
        #[unroll(unrolls)]
        for i in 0..comptime!(d as u32 + 1) {
            if i < self.len[0] {
                let mut is_equal = true.runtime();
                #[unroll]
                for k in 0..d {
                    is_equal = is_equal && self.points[i as usize * d + k] == point[k];
                }
                found[0] = select(is_equal, 1u32.runtime(), found[0]);
            }
        }
        found[0] == 1
    }

    fn push(&mut self, point: &Array<f64>) {
        let d = comptime!(self.d);
        let at = self.len[0];
        self.weights[at as usize] = f64::new(0.0);
        #[unroll]
        for k in 0..d {
            self.points[at as usize * d + k] = point[k];
        }
        self.len[0] = at + 1;
    }

    /// Reduces the simplex to its face nearest to the origin, and returns the nearest point of that face.
    fn descend(&mut self) -> Array<f64> {
        let d = comptime!(self.d);
        let unrolls = comptime!(d <= 3);
        let zero = f64::new(0.0);
        let mut nearest = Array::<f64>::new(d);
        let mut is_done = Array::<u32>::new(1usize);
        is_done[0] = 0;
        // Each iteration removes a corner.
        while is_done[0] == 0 {
            self.find_weights(&mut nearest);
            let n = self.len[0];
            // 1 if all weights are positive.
            is_done[0] = 1;
            #[unroll(unrolls)]
            for i in 0..comptime!(d as u32 + 1) {
                if i < n {
                    is_done[0] = select(self.next[i as usize] > zero, is_done[0], 0u32.runtime());
                }
            }
            is_done[0] = select(n == 1, 1u32.runtime(), is_done[0]);
            // Moves from the old weights towards the new ones until the first weight reaches zero.
            let (mut step, mut leaves) = (Array::<f64>::new(1usize), Array::<u32>::new(1usize));
            step[0] = f64::new(2.0);
            leaves[0] = 0;
            #[unroll(unrolls)]
            for i in 0..comptime!(d as u32 + 1) {
                if i < n {
                    let (old, new) = (self.weights[i as usize], self.next[i as usize]);
                    if new <= zero {
                        let is_more = old > new;
                        let here = select(is_more, old / select(is_more, old - new, f64::new(1.0)), zero);
                        if here < step[0] {
                            step[0] = here;
                            leaves[0] = i;
                        }
                    }
                }
            }
            #[unroll(unrolls)]
            for i in 0..comptime!(d as u32 + 1) {
                if i < n {
                    let (old, new) = (self.weights[i as usize], self.next[i as usize]);
                    let moved = max(old + product(step[0], new - old), zero);
                    self.weights[i as usize] = select(is_done[0] == 1, new, moved);
                }
            }
            if is_done[0] == 0 {
                self.remove(leaves[0]);
            }
        }
        nearest
    }

    /// Replaces a corner by the last one.
    fn remove(&mut self, at: u32) {
        let d = comptime!(self.d);
        let last = self.len[0] - 1;
        self.weights[at as usize] = self.weights[last as usize];
        #[unroll]
        for k in 0..d {
            self.points[at as usize * d + k] = self.points[last as usize * d + k];
        }
        self.len[0] = last;
    }

    /// Computes the weights, which sum to 1, of the point of the affine hull nearest to the origin, and that point. The
    /// weight of a corner that depends on the others is negative.
    fn find_weights(&mut self, goal: &mut Array<f64>) {
        let d = comptime!(self.d);
        let unrolls = comptime!(d <= 3);
        let n = self.len[0] - 1;
        let base = vector_at(&self.points, 0u32.runtime(), d);
        // The number of the corner that depends on the others; 0 if none.
        let mut dependent = Array::<u32>::new(1usize);
        dependent[0] = 0;
        // The modified Gram-Schmidt process: directions = orthonormal * upper triangle.
        #[unroll(unrolls)]
        for at in 0..comptime!(d as u32) {
            if at < n && dependent[0] == 0 {
                let mut rest = sub(&vector_at(&self.points, (at + 1) * comptime!(d as u32), d), &base, d);
                let whole = length2(&rest, d);
                #[unroll(unrolls)]
                for i in 0..comptime!(d as u32) {
                    if i < at {
                        let q = vector_at(&self.orthonormal, i * comptime!(d as u32), d);
                        let part = dot(&q, &rest, d);
                        #[unroll]
                        for k in 0..d {
                            rest[k] = rest[k] + product(-part, q[k]);
                        }
                        self.triangle[at as usize * d + i as usize] = part;
                    }
                }
                let left = length2(&rest, d);
                if left <= product(literal(1e-28), whole) {
                    dependent[0] = at + 1;
                }
                let root = left.sqrt();
                self.triangle[at as usize * d + at as usize] = root;
                #[unroll]
                for k in 0..d {
                    self.orthonormal[at as usize * d + k] = product(rest[k], f64::new(1.0) / root);
                }
            }
        }
        #[unroll]
        for k in 0..d {
            goal[k] = base[k];
        }
        if dependent[0] > 0 {
            #[unroll(unrolls)]
            for i in 0..comptime!(d as u32 + 1) {
                self.next[i as usize] = select(i == dependent[0], f64::new(-1.0), f64::new(1.0));
            }
        } else {
            self.solve(goal);
        }
    }

    /// Projects the origin on the affine hull, and computes the weights of the projection. `goal` is the first corner.
    fn solve(&mut self, goal: &mut Array<f64>) {
        let d = comptime!(self.d);
        let unrolls = comptime!(d <= 3);
        let n = self.len[0] - 1;
        let zero = f64::new(0.0);
        // The second projection makes the point orthogonal to the simplex even if it is much smaller than the corners.
        #[unroll]
        for turn in 0..2u32 {
            #[unroll(unrolls)]
            for i in 0..comptime!(d as u32) {
                if i < n {
                    let q = vector_at(&self.orthonormal, i * comptime!(d as u32), d);
                    let part = dot(&q, goal, d);
                    #[unroll]
                    for k in 0..d {
                        goal[k] = goal[k] + product(-part, q[k]);
                    }
                    if comptime!(turn == 0) {
                        self.next[i as usize + 1] = -part;
                    }
                }
            }
        }
        let mut sum = Array::<f64>::new(1usize);
        #[unroll(unrolls)]
        for down in 0..comptime!(d as u32) {
            let i = comptime!(d as u32 - 1) - down;
            if i < n {
                sum[0] = zero;
                #[unroll(unrolls)]
                for j in 0..comptime!(d as u32) {
                    if j > i && j < n {
                        let part = product(self.triangle[j as usize * d + i as usize], self.next[j as usize + 1]);
                        sum[0] = sum[0] + part;
                    }
                }
                let divisor = self.triangle[i as usize * d + i as usize];
                self.next[i as usize + 1] = (self.next[i as usize + 1] - sum[0]) / divisor;
            }
        }
        sum[0] = zero;
        #[unroll(unrolls)]
        for i in 0..comptime!(d as u32) {
            if i < n {
                sum[0] = sum[0] + self.next[i as usize + 1];
            }
        }
        self.next[0] = f64::new(1.0) - sum[0];
    }
}
