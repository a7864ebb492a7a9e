//! The coordinates in which the tree is stored: the mesh is centred, and its longest side is at most 1.
//!
//! Input: corners and queries in the caller's coordinates. Output: `f32` numbers, and a bound on their errors.
//! A single length, the *padding*, bounds all rounding errors of a query. Boxes and triangles are enlarged by it, so
//! that no candidate is missed.
//! Source: Ize 2013 (robust traversal), with an absolute bound instead of relative ones.

use crate::geometry::{Aabb, Ray, Scalar};

/// The padding of queries that start near the mesh. Corners, boxes and origins are rounded by less than 2^-24 in
/// total. Numbers computed from them, none of which exceeds 2, are rounded by less than 2^-21.
pub(crate) const PADDING: f64 = 1.0 / (1 << 20) as f64;

/// The map from the caller's coordinates to those of the tree: minus `center`, times `scale`, which is a power of
/// two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub center: [f64; 3],
    pub scale: f64,
}

impl Frame {
    pub fn over<S: Scalar>(bounds: &Aabb<S, 3>) -> Self {
        let corner = |at: [S; 3]| at.map(Into::<f64>::into);
        let (lo, hi) = (corner(bounds.lo), corner(bounds.hi));
        let extent = (0..3).map(|k| hi[k] - lo[k]).fold(0.0, f64::max);
        if extent.is_nan() || extent <= 0.0 {
            return Self { center: if lo[0] <= hi[0] { lo } else { [0.0; 3] }, scale: 1.0 };
        }
        let exponent = extent.log2().ceil().clamp(-1000.0, 1000.0);
        Self { center: std::array::from_fn(|k| lo[k] + 0.5 * (hi[k] - lo[k])), scale: (-exponent).exp2() }
    }

    /// Converts a point to the coordinates of the tree.
    #[inline(always)]
    pub fn place(&self, point: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|k| (point[k] - self.center[k]) * self.scale)
    }

    /// Converts a length to the unit of the tree.
    #[inline(always)]
    pub fn length(&self, length: f64) -> f64 {
        length * self.scale
    }
}

/// The largest magnitude of the coordinates.
#[inline(always)]
pub(super) fn magnitude(of: &[f64; 3]) -> f64 {
    of.iter().fold(0.0, |most, x| f64::max(most, x.abs()))
}

/// A ray in the coordinates of the tree, starting where it enters the box around the mesh.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameRay {
    pub origin: [f32; 3],
    /// The points from which the planes of boxes are measured: `near` for planes that the ray enters, `far` for those
    /// it leaves.
    pub near: [f32; 3],
    pub far: [f32; 3],
    /// The reciprocals of the direction, limited to a magnitude of 1e12.
    pub inverse: [f32; 3],
    /// The rows of a node's bounds that hold the planes that the ray enters, and those that it leaves.
    pub near_row: [usize; 3],
    pub far_row: [usize; 3],
    /// The axes of the triangle test. The direction is longest along the last one, where it is 1 or -1.
    pub axes: [usize; 3],
    /// The slopes of the direction along the other two axes.
    pub shear: [f32; 2],
    pub sign: f32,
    pub padding: f32,
    /// `t * unit - start` is the position along the longest axis of the direction, in the unit of the tree.
    unit: f64,
    start: f64,
}

/// The result of preparing a query.
pub(crate) enum Prepared<T> {
    /// The query meets nothing.
    Nothing,
    /// The query is too far away for `f32`.
    TooFar,
    Ready(T),
}

impl FrameRay {
    /// Prepares a proper ray.
    #[inline(always)]
    pub fn new<S: Scalar>(ray: &Ray<S, 3>, frame: &Frame) -> Prepared<Self> {
        let origin = frame.place(ray.origin.map(Into::into));
        let direction: [f64; 3] = ray.direction.map(Into::into);
        let longest = magnitude(&direction);
        let last = if direction[0].abs() == longest { 0 } else { 1 + usize::from(direction[1].abs() != longest) };
        let unit = frame.scale * longest;
        let relative = longest.recip();
        let direction = direction.map(|x| if x.abs() == longest { 1f64.copysign(x) } else { x * relative });
        // Rounding errors are larger for coordinates that are far away.
        let mut padding = PADDING + 64.0 * f64::EPSILON * magnitude(&origin);
        let first = ray.from * unit;
        padding += 64.0 * f64::EPSILON * if first.is_finite() { first.abs() } else { 0.0 };
        // The reciprocals of the unit and of the longest component of the direction must be normal numbers, too.
        let normal = f64::MIN_POSITIVE..=f64::MIN_POSITIVE.recip();
        if !(normal.contains(&unit) && normal.contains(&longest)) {
            return Prepared::TooFar;
        }
        let inverse = direction.map(f64::recip);
        let side = 0.5 + 2.0 * padding;
        let (mut enter, mut leave) = (first, ray.to * unit);
        for k in 0..3 {
            if direction[k] == 0.0 {
                if origin[k].abs() > side {
                    return Prepared::Nothing;
                }
            } else {
                let towards = side.copysign(direction[k]);
                // A NaN is never selected.
                let (near, far) = ((-towards - origin[k]) * inverse[k], (towards - origin[k]) * inverse[k]);
                enter = if near > enter { near } else { enter };
                leave = if far < leave { far } else { leave };
            }
        }
        if enter > leave + padding {
            return Prepared::Nothing;
        }
        if padding.is_nan() || padding > 1.0 {
            return Prepared::TooFar;
        }
        let start = enter;
        let at: [f64; 3] = std::array::from_fn(|k| origin[k] + start * direction[k]);
        let axes = [(last + 1) % 3, (last + 2) % 3, last];
        // Along a shorter component, the ray moves by less than its rounding error.
        let most = |x: f64| if x.abs() > 1e12 { 1e12f64.copysign(x) } else { x };
        let signs = direction.map(|x| 1f64.copysign(x));
        let moved = |by: f64| std::array::from_fn(|k| (at[k] + by * signs[k]) as f32);
        let sign = direction[last] as f32;
        Prepared::Ready(Self {
            origin: at.map(|x| x as f32),
            near: moved(padding),
            far: moved(-padding),
            inverse: inverse.map(|x| most(x) as f32),
            near_row: std::array::from_fn(|k| if signs[k] > 0.0 { k } else { k + 3 }),
            far_row: std::array::from_fn(|k| if signs[k] > 0.0 { k + 3 } else { k }),
            axes,
            shear: [axes[0], axes[1]].map(|k| (direction[k] * direction[last]) as f32),
            sign,
            padding: padding as f32,
            unit,
            start,
        })
    }

    /// Converts `t` to a position in the tree's unit, rounded up.
    #[inline(always)]
    pub fn limit_of(&self, t: f64) -> f32 {
        let along = t * self.unit - self.start;
        // Rounded up. The error relative to the value before the subtraction of the start is part of the padding.
        ((along + f64::from(self.padding)) * (1.0 + 1e-6 * along.signum())) as f32
    }
}

/// A point in the coordinates of the tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FramePoint {
    pub at: [f32; 3],
    pub padding: f32,
}

impl FramePoint {
    /// Prepares a finite point.
    #[inline]
    pub fn new(point: [f64; 3], frame: &Frame) -> Prepared<Self> {
        let at = frame.place(point);
        // The numbers of this query are as large as the distance of the point.
        let padding = PADDING * (1.0 + magnitude(&at));
        if padding <= 1.0 {
            Prepared::Ready(Self { at: at.map(|x| x as f32), padding: padding as f32 })
        } else {
            Prepared::TooFar
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rays that start behind the mesh test no triangle, however far away they start.
    #[test]
    fn rays_that_begin_behind_the_mesh_meet_nothing() {
        let frame = Frame::over(&Aabb::new([-1.0f64; 3], [3.0; 3]));
        for from in [4.0, 1e10, 1e18, 1e200] {
            let ray = Ray::new([0.5, 0.5, 0.5], [1.0, 1e-3, 0.0]).between(from, f64::INFINITY);
            assert!(matches!(FrameRay::new(&ray, &frame), Prepared::Nothing), "{from}");
        }
        let ray = Ray::new([-1e18, 0.5, 0.5], [1.0, 0.0, 0.0]);
        assert!(matches!(FrameRay::new(&ray, &frame), Prepared::TooFar));
    }
}
