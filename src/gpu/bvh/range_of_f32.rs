//! Points whose squared distances leave the range of `f32`.
//!
//! In: points on a device. Out: `true` if searches among them would be slow as `f32`, and the same points as `f64`.
//! Cost: 8 bytes per coordinate, while and after points are converted.

use crate::error::Result;
use crate::geometry::Aabb;
use crate::gpu::bvh::pad_dimension::{WidenSpec, widen_points};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::device::on;
use crate::gpu::primitives::rounding::check_distances;

/// The smallest distance that matters, as a fraction of the mean separation of evenly spread points.
const DENSE: f64 = 1e-3;

impl<S: Coordinate, const D: usize> Points<S, D> {
    /// Returns `true` if the points are `f32`, and squares of distances between them leave the range of `f32`. That is
    /// so if they span about 1e15 or more, or if distances of 1e-15 or less matter. Examples are positions in cm in a
    /// box of Mpc.
    ///
    /// Searches among such points decide nearly every pair in `f64`, so that their time can grow with the square of the
    /// number of points. Search among [`Points::widened`] instead.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, Points};
    ///
    /// let in_cm = [[0.0f32, 0.0], [3.1e24, 0.0], [6.2e24, 3.1e24]];
    /// let points = Points::new(&in_cm, Device::first()?)?;
    /// assert!(points.exceed_f32() && !points.widened()?.exceed_f32());
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn exceed_f32(&self) -> bool {
        if !S::IS_F32 || self.len < 2 {
            return false;
        }
        let Aabb { lo, hi } = self.bounds;
        let spans = lo.into_iter().zip(hi).map(|(lo, hi)| Into::<f64>::into(hi) - Into::<f64>::into(lo));
        let span = spans.fold(0.0, f64::max);
        let side = self.space.period().map_or(0.0, |sides| sides.iter().copied().fold(0.0, f64::max));
        let longest = span.max(side);
        let close = DENSE * span / (self.len as f64).powf(1.0 / D as f64);
        let squares = S::SAFE_SQUARES;
        // Points without extent have no distances.
        D as f64 * longest * longest >= squares.end || (span > 0.0 && close * close < squares.start)
    }

    /// Returns the same points as `f64`, in the same space. Results of searches are those of the `f32` points.
    ///
    /// # Errors
    /// - The device cannot allocate 8 bytes per coordinate, or fails.
    /// - As [`Bvh::from_points`](crate::gpu::Bvh::from_points), for Vulkan drivers that round differently or flush small
    ///   coordinates to 0.
    pub fn widened(&self) -> Result<Points<f64, D>> {
        let &Self { device, space, len, smallest_nonzero, .. } = self;
        let wide = |corner: [S; D]| corner.map(Into::into);
        let bounds = Aabb { lo: wide(self.bounds.lo), hi: wide(self.bounds.hi) };
        on!(device, client => {
            // The kernel loads the numbers in their own type, which some drivers flush to 0.
            check_distances::<_, S>(client, device, || smallest_nonzero)?;
            // The points are in their box already.
            let spec = WidenSpec { dim: D, wide: D, periodic: false };
            let values = widen_points(client, &self.values, len, &[], spec)?;
            Ok(Points { device, space, bounds, len, smallest_nonzero, values })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Bvh, Device};

    #[test]
    fn distances_decide() {
        let device = Device::first().unwrap();
        let points: Vec<[f32; 3]> = (0..1000).map(|i| [i % 10, i / 10 % 10, i / 100].map(|x| x as f32)).collect();
        let exceed = |unit: f32, shift: f32, side: Option<f64>| {
            let points: Vec<[f32; 3]> = points.iter().map(|point| point.map(|x| unit * x + shift)).collect();
            Points::new_periodic(&points, side, device).unwrap().exceed_f32()
        };
        for unit in [1e-9, 1.0, 1e13] {
            assert!(!exceed(unit, 0.0, None), "{unit}");
        }
        for unit in [1e-14, 1e-30, 1e15, 1e24, 1e37] {
            assert!(exceed(unit, 0.0, None), "{unit}");
        }
        assert!(!exceed(1.0, 1e6, None) && exceed(1.0, 0.0, Some(1e15)));
        let copies = Points::new(&[[1e20f32; 2]; 3], device).unwrap();
        assert!(!copies.exceed_f32() && !Points::<f32, 2>::new(&[], device).unwrap().exceed_f32());
    }

    /// Points outside of the box are wrapped as `f32`, before they become `f64`.
    #[test]
    fn results_are_those_of_narrow_points() {
        let device = Device::first().unwrap();
        let unit = 2f32.powi(80);
        let points: Vec<[f32; 3]> =
            (0..500).map(|i| [i * 37 % 101, i * 53 % 103, i * 71 % 107].map(|x| unit * (x as f32 - 20.3))).collect();
        let side = f64::from(unit) * 97.0;
        let narrow = Points::new_periodic(&points, side, device).unwrap();
        let wide = narrow.widened().unwrap();
        assert!(narrow.exceed_f32() && !wide.exceed_f32());
        let theirs = crate::Bvh::build_periodic(&points, side).unwrap();
        let radius = 9.0 * f64::from(unit);
        let found = Bvh::from_points(&wide).unwrap().count_neighbors(radius).unwrap().read().unwrap();
        let expected = theirs.count_neighbors(radius);
        assert!(expected.iter().any(|&count| count > 2));
        assert!(found.iter().zip(&expected).all(|(&a, &b)| a as usize == b as usize));
    }
}
