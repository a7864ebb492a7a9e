//! Triangles in frames of their own, and bounds of the distance from a point to one, in `f32`.
//!
//! In: rows of triangles. Out: for each the frame whose first axis is the first side and whose second one completes the
//! plane, and the corners in it. Given a point: a lower and an upper bound of the distance. They differ by parts per
//! hundred thousand of the distance to the first corner and the longest side, so few distances are computed in `f64`.
//! Cost: half as many operations as in the frame of the points (`triangle_bounds`), but 60 bytes in space, not 36.

use cubecl::prelude::*;

/// The largest sum of the distance to the first corner and the longest side whose squares do not overflow.
const FARTHEST: f32 = 1e15;
/// The square of a triangle's height, relative to its longer side, below which distances in `f64` may err by more than
/// the bounds. Narrower triangles have no bounds.
const WIDE: f32 = 1e-4;
/// The range of the squared length of the longer side in which products of four keep their digits.
const SMALLEST_SIDE2: f32 = 1e-12;
const LARGEST_SIDE2: f32 = 1e30;
/// More than the rounding errors of the bounds, relative to that sum: at most 4e-6 from the frame, the coordinates and the
/// sides, and [`MARGIN`] for points near a side.
const ERROR: f32 = 1.2e-5;
/// The distance from a side, relative to that from the first corner, up to which a point may be on either side of it.
const MARGIN: f32 = 2e-6;

/// Triangles, [`vectors`] each: the first corner and both axes. Then the second corner along the first axis, and both
/// coordinates of the third one. Then the inverse squared lengths of the third corner's sides, first of that to the first
/// corner. The last number is the longest side, or 0 if the triangle has no bounds.
pub(in crate::gpu) type FramedTriangles = Array<Vector<f32, Const<4>>>;

/// Returns the number of vectors of a triangle of `d` dimensions in [`FramedTriangles`].
pub(in crate::gpu) fn vectors(d: usize) -> usize {
    (3 * d + 6).div_ceil(4)
}

/// Writes [`FramedTriangles`] for `n` rows of `width` numbers, whose corners are numbers of `f32`.
#[cube(launch)]
pub(in crate::gpu) fn frame_triangles(
    rows: &Array<f64>,
    triangles: &mut Array<f32>,
    n: u32,
    #[comptime] width: usize,
    #[comptime] d: usize,
) {
    if (ABSOLUTE_POS as u32) < n {
        let (from, to) = (ABSOLUTE_POS * width + 2, ABSOLUTE_POS * comptime!(4 * vectors(d)));
        let (mut e, mut f) = (Array::<f64>::new(d), Array::<f64>::new(d));
        #[unroll]
        for k in 0..d {
            e[k] = rows[from + d + k] - rows[from + k];
            f[k] = rows[from + 2 * d + k] - rows[from + k];
        }
        let (ee, ef, ff) = (dot(&e, &e, d), dot(&e, &f, d), dot(&f, &f, d));
        let side2 = max(ee, ff);
        let is_wide = side2 >= f64::new(SMALLEST_SIDE2)
            && side2 <= f64::new(LARGEST_SIDE2)
            && ee * ff - ef * ef > f64::new(WIDE) * side2 * side2;
        // The corners in the frame: (0, 0), (`b`, 0) and (`along`, `height`).
        let b = ee.sqrt();
        let along = ef / b;
        let mut away = Array::<f64>::new(d);
        #[unroll]
        for k in 0..d {
            away[k] = f[k] - along * (e[k] / b);
        }
        let height = dot(&away, &away, d).sqrt();
        let rest = along - b;
        let (ac2, bc2) = (along * along + height * height, rest * rest + height * height);
        #[unroll]
        for k in 0..d {
            triangles[to + k] = f32::cast_from(rows[from + k]);
            triangles[to + d + k] = f32::cast_from(e[k] / b);
            triangles[to + 2 * d + k] = f32::cast_from(away[k] / height);
        }
        let last = to + comptime!(3 * d);
        let one = f64::new(1.0);
        triangles[last] = f32::cast_from(b);
        triangles[last + 1] = f32::cast_from(along);
        triangles[last + 2] = f32::cast_from(height);
        triangles[last + 3] = f32::cast_from(one / ac2);
        triangles[last + 4] = f32::cast_from(one / bc2);
        triangles[last + 5] = select(is_wide, f32::cast_from(max(ee, max(ac2, bc2)).sqrt()), f32::new(0.0));
    }
}

/// Returns a lower and an upper bound of the distance from a point to the triangle at a position: 0 and the largest
/// number if none are known.
#[cube]
pub(in crate::gpu) fn framed_bounds(
    triangles: &FramedTriangles,
    at: u32,
    point: &Array<f32>,
    #[comptime] d: usize,
) -> (f32, f32) {
    let (zero, one) = (f32::new(0.0), f32::new(1.0));
    let mut numbers = Array::<f32>::new(comptime!(4 * vectors(d)));
    #[unroll]
    for part in 0..comptime!(vectors(d)) {
        let four = triangles[at as usize * comptime!(vectors(d)) + part];
        #[unroll]
        for k in 0..4usize {
            numbers[comptime!(4 * part + k)] = four[k];
        }
    }
    // The coordinates in the frame, and the part across.
    let mut q = Array::<f32>::new(d);
    let (mut x, mut y, mut q2, mut across2) = (zero, zero, zero, zero);
    #[unroll]
    for k in 0..d {
        q[k] = point[k] - numbers[k];
        x += q[k] * numbers[comptime!(d + k)];
        y += q[k] * numbers[comptime!(2 * d + k)];
        q2 += q[k] * q[k];
    }
    #[unroll]
    for k in 0..d {
        let across = q[k] - x * numbers[comptime!(d + k)] - y * numbers[comptime!(2 * d + k)];
        across2 += across * across;
    }
    let (b, along, height) = (numbers[comptime!(3 * d)], numbers[comptime!(3 * d + 1)], numbers[comptime!(3 * d + 2)]);
    let (inverse_ac2, inverse_bc2, longest) =
        (numbers[comptime!(3 * d + 3)], numbers[comptime!(3 * d + 4)], numbers[comptime!(3 * d + 5)]);
    let (from_b, rest) = (x - b, along - b);
    // The squared distances to the sides within the plane.
    let off = x - max(zero, min(x, b));
    let to_ab2 = off * off + y * y;
    let t = max(zero, min((x * along + y * height) * inverse_ac2, one));
    let to_ac2 = length2(x - t * along, y - t * height);
    let t = max(zero, min((from_b * rest + y * height) * inverse_bc2, one));
    let to_bc2 = length2(from_b - t * rest, y - t * height);
    // A point is inside if it is certainly on the inner side of each.
    let (of_ac, of_bc) = (x * height - y * along, y * rest - from_b * height);
    let certain2 = min(y * y, min(of_ac * of_ac * inverse_ac2, of_bc * of_bc * inverse_bc2));
    let is_inside = min(y, min(of_ac, of_bc)) > zero && certain2 >= f32::new(MARGIN * MARGIN) * q2;
    let in_plane2 = select(is_inside, zero, min(to_ab2, min(to_ac2, to_bc2)));
    let distance = root(in_plane2 + across2);
    let far = root(q2) + longest;
    let error = far * f32::new(ERROR);
    let is_known = longest > zero && far <= f32::new(FARTHEST);
    (select(is_known, max(distance - error, zero), zero), select(is_known, distance + error, f32::new(f32::MAX)))
}

#[cube]
fn length2(x: f32, y: f32) -> f32 {
    x * x + y * y
}

/// Returns the square root of a number that is not negative, with an error of some units in the last place; 0 for
/// numbers that have lost their digits. `sqrt` takes much longer.
#[cube]
fn root(x: f32) -> f32 {
    x * max(x, f32::new(f32::MIN_POSITIVE)).inverse_sqrt()
}

#[cube]
fn dot(a: &Array<f64>, b: &Array<f64>, #[comptime] d: usize) -> f64 {
    let mut sum = f64::new(0.0);
    #[unroll]
    for k in 0..d {
        sum += a[k] * b[k];
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::geometry::{Distance, Triangle};
    use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
    use crate::gpu::device::{Device, on};
    use crate::random::mixed;

    #[cube(launch)]
    fn bound_pairs(
        triangles: &FramedTriangles,
        points: &Array<f32>,
        bounds: &mut Array<f32>,
        n: u32,
        #[comptime] d: usize,
    ) {
        if (ABSOLUTE_POS as u32) < n {
            let mut point = Array::<f32>::new(d);
            #[unroll]
            for k in 0..d {
                point[k] = points[ABSOLUTE_POS * d + k];
            }
            let (lower, upper) = framed_bounds(triangles, ABSOLUTE_POS as u32, &point, d);
            bounds[2 * ABSOLUTE_POS] = lower;
            bounds[2 * ABSOLUTE_POS + 1] = upper;
        }
    }

    /// The bounds of pairs of a triangle and a point.
    fn bounds<const D: usize>(pairs: &[(Triangle<f32, D>, [f32; D])]) -> Result<Vec<[f32; 2]>> {
        let rows: Vec<f64> = pairs
            .iter()
            .flat_map(|(triangle, _)| {
                [[0.0; 2].to_vec(), triangle.vertices.as_flattened().iter().map(|&x| x.into()).collect()]
            })
            .flatten()
            .collect();
        let points: Vec<f32> = pairs.iter().flat_map(|&(_, point)| point).collect();
        let (n, width) = (pairs.len(), 4 * vectors(D));
        on!(Device::first()?, client => {
            let (framed, found) = (Buffer::<f32>::new(client, width * n), Buffer::<f32>::new(client, 2 * n));
            let (blocks, dim) = (blocks_for(n), CubeDim::new_1d(THREADS_PER_BLOCK));
            let rows = Buffer::from_slice(client, &rows);
            frame_triangles::launch(client, blocks.clone(), dim, rows.arg(), framed.arg(), n as u32, 2 + 3 * D, D);
            let points = Buffer::from_slice(client, &points);
            bound_pairs::launch(client, blocks, dim, framed.quads(), points.arg(), found.arg(), n as u32, D);
            Ok(found.read(client)?.as_chunks().0.to_vec())
        })
    }

    /// Checks that the distances are between the bounds, with errors of at most half the allowed ones, for points near
    /// corners, sides and the plane, and far away.
    fn compare<const D: usize>(scale: f64, offset: f64) -> Result<()> {
        let mut state = 0;
        let mut number = || {
            state += 1;
            (mixed(state) >> 40) as f64 / (1 << 23) as f64 - 1.0
        };
        let mut pairs = vec![];
        for at in 0..20_000 {
            let mut corner = || -> [f64; D] { std::array::from_fn(|_| number()) };
            let [a, b, mut c] = [corner(), corner(), corner()];
            if at % 3 == 0 {
                // Narrow, but not too narrow for bounds.
                c = std::array::from_fn(|k| a[k] + 0.7 * (b[k] - a[k]) + 0.03 * c[k]);
            }
            let weights =
                [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.4, 0.6, 0.0], [0.0, 0.1, 0.9], [0.7, 0.0, 0.3]]
                    .get(at % 8)
                    .copied()
                    .unwrap_or_else(|| [0.5 * (1.0 + number()), 0.6 * number(), 0.8 * number()]);
            let away = [0.0, 1e-7, 1e-5, 1e-3, 0.1, 3.0, 1e3][at / 8 % 7];
            let point = |k: usize| weights[0] * a[k] + weights[1] * b[k] + weights[2] * c[k];
            let placed = |x: f64| (scale * x + offset) as f32;
            let point = std::array::from_fn(|k| placed(point(k) + away * number()));
            pairs.push((Triangle { vertices: [a, b, c].map(|corner| corner.map(placed)) }, point));
        }
        let (mut known, mut widest) = (0, 0.0f64);
        for ((triangle, point), [lower, upper]) in pairs.iter().zip(bounds(&pairs)?) {
            let distance = triangle.distance2_to(point).sqrt();
            assert!(
                f64::from(lower) <= distance && distance <= f64::from(upper),
                "{triangle:?} {point:?} {lower} {upper}"
            );
            if upper < f32::MAX {
                known += 1;
                let error = 0.5 * f64::from(upper - lower);
                if lower > 0.0 {
                    widest = widest.max((distance - f64::from(lower) - error).abs() / error);
                }
            }
        }
        assert!(known > 12_000, "{known}");
        assert!(widest < 0.6, "{widest}");
        Ok(())
    }

    #[test]
    fn distances_are_between_the_bounds() -> Result<()> {
        compare::<2>(1.0, 0.0)?;
        for (scale, offset) in [(1.0, 0.0), (1e-4, 0.0), (1e-3, 100.0), (1e9, 0.0)] {
            compare::<3>(scale, offset)?;
        }
        compare::<5>(1.0, 0.0)
    }
}
