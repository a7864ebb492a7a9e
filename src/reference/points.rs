//! Points in a row, for the algorithms that need no tree.
//!
//! In: points, or a tree's. Out: coordinates in one array per axis, inside of the periodic box, with the caller's indices.
//! Cost: O(n); `S * D + 4` bytes a point (twice the corners for boxes), none where a tree holds them already.

use std::borrow::Cow;

use crate::bvh::{Bvh, check, place};
use crate::error::Result;
use crate::geometry::{Aabb, Bounded, Scalar, Space};
use crate::parallel::fill;
use crate::phases::mark;
use crate::simd::LANES;

/// One array per axis, padded by [`LANES`].
type Axes<S, const D: usize> = [Vec<S>; D];

pub(crate) struct PointsSoA<'a, S: Scalar, const D: usize> {
    /// The box around everything.
    pub bounds: Aabb<S, D>,
    /// Lower corners.
    pub lo: Cow<'a, Axes<S, D>>,
    /// Upper corners, unless all primitives are points.
    pub hi: Option<Cow<'a, Axes<S, D>>>,
    /// The caller's indices.
    pub order: Cow<'a, [u32]>,
    pub space: Space<D>,
}

impl<S: Scalar, const D: usize> PointsSoA<'static, S, D> {
    /// A copy of primitives in the caller's order. Errors as [`Bvh::build`].
    pub fn of<T: Bounded<S, D>>(primitives: &[T], space: &Space<D>) -> Result<Self> {
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
        let lo = Cow::Owned(axes(|bounds| &bounds.lo));
        let hi = (!T::IS_POINT).then(|| Cow::Owned(axes(|bounds| &bounds.hi)));
        let order = Cow::Owned((0..primitives.len() as u32).collect());
        mark("gather");
        Ok(Self { bounds, lo, hi, order, space: *space })
    }
}

impl<'a, S: Scalar, const D: usize> PointsSoA<'a, S, D> {
    /// A tree's primitives in its order.
    pub fn stored(tree: &'a Bvh<S, D>) -> Self {
        let (lo, hi) = tree.corners();
        Self {
            bounds: tree.bounds(),
            lo: Cow::Borrowed(lo),
            hi: hi.map(Cow::Borrowed),
            order: Cow::Borrowed(tree.order()),
            space: *tree.space(),
        }
    }

    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// The upper corners; the lower ones for points.
    pub fn hi(&self) -> &Axes<S, D> {
        self.hi.as_ref().unwrap_or(&self.lo)
    }

    #[inline(always)]
    pub fn point(&self, at: usize) -> [S; D] {
        std::array::from_fn(|k| self.lo[k][at])
    }
}
