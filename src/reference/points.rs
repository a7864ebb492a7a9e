//! Points as a structure of arrays, for the algorithms without a tree.
//!
//! In: points. Out: coordinates in one array per axis, wrapped into the periodic box, with the caller's indices. Cost:
//! O(n); `S * D + 4` bytes per point (twice the coordinates for boxes).

use crate::bvh::{check, place};
use crate::error::Result;
use crate::geometry::{Aabb, Bounded, Scalar, Space};
use crate::parallel::fill;
use crate::phases::mark;
use crate::simd::LANES;

/// One array per axis, padded by [`LANES`].
type Axes<S, const D: usize> = [Vec<S>; D];

pub(crate) struct PointsSoA<S: Scalar, const D: usize> {
    /// The bounding box of all primitives.
    pub bounds: Aabb<S, D>,
    /// Lower corners.
    pub lo: Axes<S, D>,
    /// Upper corners, unless all primitives are points.
    pub hi: Option<Axes<S, D>>,
    /// The caller's indices.
    pub order: Vec<u32>,
    pub space: Space<D>,
}

impl<S: Scalar, const D: usize> PointsSoA<S, D> {
    /// Copies primitives in their order. Errors: those of [`Bvh::build`](crate::Bvh::build).
    pub fn new<T: Bounded<S, D>>(primitives: &[T], space: &Space<D>) -> Result<Self> {
        let bounds = check(primitives, space)?;
        let axes = |corner: fn(&Aabb<S, D>) -> &[S; D]| {
            std::array::from_fn(|k| {
                let mut axis = vec![S::ZERO; primitives.len() + LANES];
                fill(&mut axis[..primitives.len()], 1 << 14, &|range, own| {
                    for (value, primitive) in own.iter_mut().zip(&primitives[range]) {
                        *value = corner(&place(primitive, space))[k];
                    }
                });
                axis
            })
        };
        let lo = axes(|bounds| &bounds.lo);
        let hi = (!T::IS_POINT).then(|| axes(|bounds| &bounds.hi));
        let order = (0..primitives.len() as u32).collect();
        mark("gather");
        Ok(Self { bounds, lo, hi, order, space: *space })
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns the upper corners; for points, the same as the lower corners.
    pub fn hi(&self) -> &Axes<S, D> {
        self.hi.as_ref().unwrap_or(&self.lo)
    }

    #[inline(always)]
    pub fn point(&self, at: usize) -> [S; D] {
        std::array::from_fn(|k| self.lo[k][at])
    }
}
