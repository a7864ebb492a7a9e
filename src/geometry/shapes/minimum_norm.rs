//! The point of a convex set that is nearest to the origin.
//!
//! Input: a support function, which returns the farthest point along a direction. Output: the nearest point, in any
//! dimension. The algorithm keeps a simplex of at most D + 1 points of the set. Each step adds the point farthest
//! towards the origin, and moves to the nearest point of the new simplex. Polytopes take finitely many steps; round
//! sets converge. A result within [`TOUCH`] of the magnitude of the inspected points is the origin itself.
//! Cost: O(D³) per step; 3 to 10 steps for polytopes, tens for ellipsoids.
//! Source: Gilbert, Johnson and Keerthi 1988. The simplex: Wolfe 1976, section 3.

use crate::geometry::shapes::vector::{add_scaled, dot, length2, sub, times};

/// Distances below this, relative to the coordinates that are subtracted, are rounding errors.
const TOUCH: f64 = 64.0 * f64::EPSILON;

/// The maximum number of steps. If more are needed, rounding dominates.
const STEPS: usize = 500;

/// Finds the point nearest to the origin; zero if the origin lies inside. `start` is any point of the set.
pub fn nearest<const D: usize>(support: impl Fn(&[f64; D]) -> [f64; D], start: &[f64; D]) -> [f64; D] {
    let mut simplex = vec![(1.0, *start)];
    let mut nearest = *start;
    let mut largest = length2(start);
    let mut stalls = 0;
    for _ in 0..STEPS {
        let norm2 = length2(&nearest);
        if norm2 <= TOUCH * TOUCH * largest || !norm2.is_finite() {
            return [0.0; D];
        }
        let next = support(&times(&nearest, -1.0 / norm2.sqrt()));
        largest = largest.max(length2(&next));
        let gain = dot(&nearest, &sub(&nearest, &next));
        if gain <= 4.0 * f64::EPSILON * norm2 || simplex.iter().any(|(_, point)| *point == next) {
            break;
        }
        simplex.push((0.0, next));
        let moved = descend(&mut simplex);
        // A simplex of D + 1 corners with positive weights contains the origin, even if its nearest point is rounded.
        if simplex.len() == D + 1 {
            return [0.0; D];
        }
        // When the norm no longer decreases, points still move by about the square root of the rounding error.
        if length2(&moved) >= norm2 {
            stalls += 1;
            if stalls > 2 * D {
                break;
            }
        }
        nearest = moved;
    }
    nearest
}

/// Reduces a simplex to its face nearest to the origin, and returns the nearest point of that face.
fn descend<const D: usize>(simplex: &mut Vec<(f64, [f64; D])>) -> [f64; D] {
    // Each iteration removes a corner.
    loop {
        let (weights, nearest) = affine_weights(simplex);
        let is_inner = weights.iter().all(|&weight| weight > 0.0);
        if is_inner || simplex.len() == 1 {
            for (corner, weight) in simplex.iter_mut().zip(&weights) {
                corner.0 = *weight;
            }
            return nearest;
        }
        // Moves from the old weights towards the new ones until the first weight reaches zero.
        let (mut step, mut leaves) = (f64::INFINITY, 0);
        for (i, ((old, _), new)) in simplex.iter().zip(&weights).enumerate() {
            if *new <= 0.0 {
                let here = if old > new { old / (old - new) } else { 0.0 };
                if here < step {
                    (step, leaves) = (here, i);
                }
            }
        }
        for (corner, weight) in simplex.iter_mut().zip(&weights) {
            corner.0 = (corner.0 + step * (weight - corner.0)).max(0.0);
        }
        simplex.swap_remove(leaves);
    }
}

/// Returns the weights, which sum to 1, of the point of the affine hull nearest to the origin, and that point. The
/// weight of a corner that depends on the others is negative.
fn affine_weights<const D: usize>(simplex: &[(f64, [f64; D])]) -> (Vec<f64>, [f64; D]) {
    let Some(((_, base), others)) = simplex.split_first() else { return (vec![], [0.0; D]) };
    // The modified Gram-Schmidt process: directions = orthonormal * upper triangle.
    let mut orthonormal: Vec<[f64; D]> = vec![];
    let mut triangle: Vec<Vec<f64>> = vec![];
    for (at, (_, corner)) in others.iter().enumerate() {
        let mut rest = sub(corner, base);
        let whole = length2(&rest);
        let mut column = vec![];
        for q in &orthonormal {
            let part = dot(q, &rest);
            rest = add_scaled(&rest, -part, q);
            column.push(part);
        }
        let left = length2(&rest);
        if left <= 1e-28 * whole {
            let mut weights = vec![1.0; simplex.len()];
            weights[at + 1] = -1.0;
            return (weights, *base);
        }
        column.push(left.sqrt());
        orthonormal.push(times(&rest, 1.0 / left.sqrt()));
        triangle.push(column);
    }
    let mut weights = vec![0.0; simplex.len()];
    let mut goal = *base;
    let parts: Vec<f64> = orthonormal
        .iter()
        .map(|q| {
            let part = dot(q, &goal);
            goal = add_scaled(&goal, -part, q);
            -part
        })
        .collect();
    // A second projection, so that the point is orthogonal to the simplex even if it is much smaller than the
    // corners.
    for q in &orthonormal {
        goal = add_scaled(&goal, -dot(q, &goal), q);
    }
    for i in (0..triangle.len()).rev() {
        let known: f64 = (i + 1..triangle.len()).map(|j| triangle[j][i] * weights[j + 1]).sum();
        weights[i + 1] = (parts[i] - known) / triangle[i][i];
    }
    weights[0] = 1.0 - weights[1..].iter().sum::<f64>();
    (weights, goal)
}
