//! Primitives in tree order: sorted by the codes of their centres, their corners one array per axis.
//!
//! Out: beside the corners and the indices the delta of each split, which is all that the hierarchy needs of the codes.

use bytemuck::Zeroable;

use crate::bvh::hierarchy::{OUTSIDE, delta};
use crate::bvh::radix_sort::{Buckets, Source, cut};
use crate::geometry::{Aabb, Bounded, Scalar};
use crate::simd::LANES;

/// What is stored of a primitive.
pub(super) trait Primitive<S, const D: usize>: Bounded<S, D> + Copy + Zeroable + Send {
    fn of(bounds: Aabb<S, D>) -> Self;
    fn center(&self) -> [S; D];
    fn corner(&self, which: usize) -> [S; D];
}

impl<S: Scalar, const D: usize> Primitive<S, D> for [S; D] {
    #[inline(always)]
    fn of(bounds: Aabb<S, D>) -> Self {
        bounds.lo
    }
    #[inline(always)]
    fn center(&self) -> [S; D] {
        *self
    }
    #[inline(always)]
    fn corner(&self, _which: usize) -> [S; D] {
        *self
    }
}

impl<S: Scalar, const D: usize> Primitive<S, D> for Aabb<S, D> {
    #[inline(always)]
    fn of(bounds: Aabb<S, D>) -> Self {
        bounds
    }
    #[inline(always)]
    fn center(&self) -> [S; D] {
        Aabb::center(self)
    }
    #[inline(always)]
    fn corner(&self, which: usize) -> [S; D] {
        if which == 0 { self.lo } else { self.hi }
    }
}

pub(super) struct SortedPrimitives<S, const D: usize> {
    /// The lower corners, padded so that a block may be read past the end.
    pub lo: [Vec<S>; D],
    /// The upper corners, unless all are points.
    pub hi: Option<[Vec<S>; D]>,
    /// Indices in the caller's slice.
    pub index: Vec<u32>,
    /// Delta of the split before each primitive.
    pub deltas: Vec<u8>,
}

impl<S: Scalar, const D: usize> SortedPrimitives<S, D> {
    /// The primitives of a source in Morton order.
    pub fn new<P: Primitive<S, D>>(source: &impl Source<Item = P>) -> Self {
        let n = source.len();
        let buckets = Buckets::split(source);
        let axes = || std::array::from_fn(|_| bytemuck::zeroed_vec(n + LANES));
        let (mut lo, mut hi): ([Vec<S>; D], _) = (axes(), (!P::IS_POINT).then(axes));
        let mut deltas = bytemuck::zeroed_vec(n);

        let (shift, sizes) = (buckets.shift, buckets.sizes());
        let corners = [Some(&mut lo), hi.as_mut()].into_iter().flatten();
        let mut rest: Vec<_> = corners.map(|axes| axes.each_mut().map(Vec::as_mut_slice)).collect();
        let mut outputs = Vec::with_capacity(sizes.len());
        let (mut first, mut before) = (0, None);
        for (bucket, deltas) in cut(&mut deltas, sizes).into_iter().enumerate() {
            let len = deltas.len();
            let corners: Vec<[&mut [S]; D]> = rest
                .iter_mut()
                .map(|axes| axes.each_mut().map(|axis| axis.split_off_mut(..len).unwrap_or_default()))
                .collect();
            // Between buckets the codes differ where the numbers of the buckets do.
            let code = (bucket as u64) << shift;
            let edge = before.map_or(OUTSIDE, |before| delta(before, code, first));
            outputs.push((first, edge, deltas, corners));
            if len > 0 {
                before = Some(code);
            }
            first += len;
        }
        let index = buckets.sort(outputs, |(first, edge, deltas, mut corners), sorted| {
            let mut before = 0;
            for (at, (code, place)) in sorted.iter().enumerate() {
                deltas[at] = if at == 0 { edge } else { delta(before, code, first + at) };
                before = code;
                for (which, axes) in corners.iter_mut().enumerate() {
                    for (axis, x) in axes.iter_mut().zip(place.corner(which)) {
                        axis[at] = x;
                    }
                }
            }
        });
        Self { lo, hi, index, deltas }
    }

    /// Where the primitive at a position is along the curve.
    pub fn center(&self, position: usize) -> [S; D] {
        let corner = |axes: &[Vec<S>; D]| std::array::from_fn(|k| axes[k][position]);
        match &self.hi {
            None => corner(&self.lo),
            Some(hi) => Aabb { lo: corner(&self.lo), hi: corner(hi) }.center(),
        }
    }
}
