//! Up to where a search for the nearest looks, in both precisions.

use cubecl::prelude::*;

use crate::geometry::FilteredRadius;
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::{Bvh, Coordinate};

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// What [`Limits`] holds, for a squared radius.
    pub(in crate::gpu) fn limits<R: Runtime>(&self, client: &ComputeClient<R>, radius2: f64) -> Buffer<f64> {
        // An approximate distance is at least this part of the exact one, but for what periodic boxes and underflow add.
        let [relative, absolute] = FilteredRadius::<S, D>::errors(&self.space);
        let squares = S::SQUARES;
        Buffer::from_slice(client, &[radius2, 1.0 - relative, absolute, squares.start, f64::INFINITY, squares.end])
    }
}

/// Limits of exact squared distances.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct Limits {
    values: Array<f64>,
}

#[cube]
impl Limits {
    pub(super) fn radius2(&self) -> f64 {
        self.values[0]
    }

    /// An approximate distance is at least this part of the exact one.
    pub(super) fn relative(&self) -> f64 {
        self.values[1]
    }

    /// What periodic boxes add to the error of a distance.
    pub(super) fn absolute(&self) -> f64 {
        self.values[2]
    }

    /// The least square that underflow does not blur.
    pub(super) fn least_square(&self) -> f64 {
        self.values[3]
    }

    /// No literal: CUDA's compiler knows no word for it.
    pub(in crate::gpu) fn infinity(&self) -> f64 {
        self.values[4]
    }

    /// A rounded squared distance up to which the exact one is at most `radius2`; negative if nothing says so.
    pub(in crate::gpu) fn sure<F: Float>(&self, radius2: f64, #[comptime] periodic: bool) -> F {
        let mut inner = radius2 * (self.relative() * self.relative());
        if comptime!(periodic) {
            let root = (inner.sqrt() - self.absolute()).max(f64::new(0.0));
            inner = root * root;
        }
        // Outside of the range of squares underflow or overflow may have a say.
        let is_square = inner >= self.least_square() && inner < self.values[5];
        F::cast_from(select(is_square, inner, f64::new(-1.0)))
    }

    /// What an exact squared distance is at most, where the rounded one is `distance2`.
    pub(super) fn at_most(&self, distance2: f64, #[comptime] periodic: bool) -> f64 {
        let mut outer = distance2.max(self.least_square()) / (self.relative() * self.relative());
        if comptime!(periodic) {
            let root = outer.sqrt() + self.absolute();
            outer = root * root;
        }
        outer
    }

    /// What it is at least, likewise.
    pub(super) fn at_least(&self, distance2: f64, #[comptime] periodic: bool) -> f64 {
        // Larger squares may have overflowed, smaller ones have lost all of their digits.
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

/// Limits of rounded squared distances.
#[derive(CubeType, CubeLaunch)]
pub(super) struct ApproxLimits<F: Float> {
    values: Array<F>,
}

#[cube]
impl<F: Float> ApproxLimits<F> {
    /// The limit before anything is found.
    pub(super) fn radius2(&self) -> F {
        self.values[0]
    }

    /// Widens one rounded squared distance to an upper limit of others.
    pub(super) fn factor(&self) -> F {
        self.values[1]
    }

    /// What periodic boxes add to the errors of two distances.
    pub(super) fn absolute(&self) -> F {
        self.values[2]
    }

    /// The least square that underflow does not blur.
    pub(super) fn least_square(&self) -> F {
        self.values[3]
    }

    pub(super) fn infinity(&self) -> F {
        self.values[4]
    }
}
