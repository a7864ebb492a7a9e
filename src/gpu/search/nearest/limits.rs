//! Distance limits of nearest-neighbour searches, in both precisions.

use cubecl::prelude::*;

use crate::geometry::{FilteredRadius, Space};
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::Coordinate;

/// The values of [`Limits`] for a squared radius.
pub(in crate::gpu) fn exact_limits<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    space: &Space<D>,
    radius2: f64,
) -> Buffer<f64> {
    // A rounded distance is at least this fraction of the exact one, except for errors from periodic boxes and
    // underflow.
    let [relative, absolute] = FilteredRadius::<S, D>::errors(space);
    let squares = S::SAFE_SQUARES;
    Buffer::from_slice(client, &[radius2, 1.0 - relative, absolute, squares.start, f64::INFINITY, squares.end])
}

/// Limits for exact squared distances.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct Limits {
    values: Array<f64>,
}

#[cube]
impl Limits {
    pub(super) fn radius2(&self) -> f64 {
        self.values[0]
    }

    /// The fraction of the exact distance that a rounded one has at least.
    pub(super) fn relative(&self) -> f64 {
        self.values[1]
    }

    /// The additional error of a distance in a periodic box.
    pub(super) fn absolute(&self) -> f64 {
        self.values[2]
    }

    /// The smallest square that is not affected by underflow.
    pub(super) fn least_square(&self) -> f64 {
        self.values[3]
    }

    /// Infinity, for which CUDA's compiler has no literal.
    pub(in crate::gpu) fn infinity(&self) -> f64 {
        self.values[4]
    }

    /// Returns a rounded squared distance up to which the exact one is at most `radius2`, or a negative number if
    /// there is no such bound.
    pub(in crate::gpu) fn sure<F: Float>(&self, radius2: f64, #[comptime] periodic: bool) -> F {
        let mut inner = radius2 * (self.relative() * self.relative());
        if comptime!(periodic) {
            let root = (inner.sqrt() - self.absolute()).max(f64::new(0.0));
            inner = root * root;
        }
        // Outside this range, underflow or overflow may affect squares.
        let is_square = inner >= self.least_square() && inner < self.values[5];
        F::cast_from(select(is_square, inner, f64::new(-1.0)))
    }

    /// Returns an upper bound on the exact squared distance if the rounded one is `distance2`.
    pub(super) fn at_most(&self, distance2: f64, #[comptime] periodic: bool) -> f64 {
        let mut outer = distance2.max(self.least_square()) / (self.relative() * self.relative());
        if comptime!(periodic) {
            let root = outer.sqrt() + self.absolute();
            outer = root * root;
        }
        outer
    }

    /// Returns a lower bound on the exact squared distance if the rounded one is `distance2`.
    pub(super) fn at_least(&self, distance2: f64, #[comptime] periodic: bool) -> f64 {
        // Larger squares may have overflowed, and smaller ones have lost all digits.
        let mut inner = distance2.min(self.values[5]) * (self.relative() * self.relative());
        if distance2 < self.least_square() {
            inner = f64::new(0.0);
        }
        if comptime!(periodic) {
            let root = (inner.sqrt() - self.absolute()).max(f64::new(0.0));
            inner = root * root;
        }
        inner
    }
}

/// Limits for rounded squared distances.
#[derive(CubeType, CubeLaunch)]
pub(super) struct ApproxLimits<F: Float> {
    values: Array<F>,
}

#[cube]
impl<F: Float> ApproxLimits<F> {
    /// The limit before any point is found.
    pub(super) fn radius2(&self) -> F {
        self.values[0]
    }

    /// The factor from a rounded squared distance to an upper limit for others.
    pub(super) fn factor(&self) -> F {
        self.values[1]
    }

    /// The additional error of two distances in a periodic box.
    pub(super) fn absolute(&self) -> F {
        self.values[2]
    }

    /// The smallest square that is not affected by underflow.
    pub(super) fn least_square(&self) -> F {
        self.values[3]
    }

    pub(super) fn infinity(&self) -> F {
        self.values[4]
    }

    /// Returns the limit for others if points up to the rounded squared distance `last` are among the nearest.
    pub(super) fn after(&self, last: F, #[comptime] periodic: bool) -> F {
        let mut outer = last;
        if comptime!(periodic) {
            let root = last.sqrt() + self.absolute();
            outer = root * root;
        }
        self.radius2().min(outer.max(self.least_square()) * self.factor())
    }
}
