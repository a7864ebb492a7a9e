//! Primitives in tree order: sorted by the codes of their centres, with one array of corners per axis.
//!
//! Output: the corners, the indices, and the delta of each split, which is all that the hierarchy needs of the codes.
//! This step reads the primitives for the last time, into the tree's own memory. Another thread, or another language,
//! may have changed them since they were checked and split. The stored values are therefore compared with the earlier
//! ones. This guarantees that the hierarchy gets ascending codes and is no deeper than they allow.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use bytemuck::Zeroable;

use crate::bvh::errors;
use crate::bvh::hierarchy::{OUTSIDE, delta};
use crate::bvh::radix_sort::{Buckets, Place, Pool, Sorted, Source, SplitMemory};
use crate::error::Result;
use crate::geometry::{Aabb, Bounded, Scalar};
use crate::memory::renew;
use crate::simd::{LANES, dispatch};

/// The stored form of a primitive: a point or a box.
pub(super) trait Primitive<S, const D: usize>: Bounded<S, D> + Copy + Zeroable + Send + 'static {
    fn of(bounds: Aabb<S, D>) -> Self;
    fn center(&self) -> [S; D];
    fn corner(&self, which: usize) -> [S; D];
    /// Returns `true` if no coordinate is NaN or exceeds `most` in magnitude.
    fn are_within(items: &[Self], most: S) -> bool;
}

/// Same as [`Primitive::are_within`], for coordinates.
#[inline(always)]
fn within<'a, S: Scalar>(coordinates: impl Iterator<Item = &'a S>, most: S) -> bool {
    let mut within = true;
    for x in coordinates {
        within &= x.abs() <= most;
    }
    within
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
    #[inline(always)]
    fn are_within(items: &[Self], most: S) -> bool {
        within(items.as_flattened().iter(), most)
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
    #[inline(always)]
    fn are_within(items: &[Self], most: S) -> bool {
        within(items.iter().flat_map(|item| item.lo.iter().chain(&item.hi)), most)
    }
}

pub(super) struct SortedPrimitives<S, const D: usize> {
    /// The lower corners, padded so that a block can extend past the end.
    pub lo: [Vec<S>; D],
    /// The upper corners; `None` if all primitives are points.
    pub hi: Option<[Vec<S>; D]>,
    /// Indices into the caller's slice.
    pub index: Vec<u32>,
    /// The delta of the split before each primitive.
    pub deltas: Vec<u8>,
}

impl<S: Scalar, const D: usize> SortedPrimitives<S, D> {
    /// Sorts the primitives of a source, which lie within `bounds`, in Morton order. Reuses the memory of `self`.
    ///
    /// # Errors
    /// A primitive has changed: it is no longer finite, lies far outside `bounds`, or has a code of another bucket.
    pub fn sort<P: Primitive<S, D>>(
        self,
        source: &impl Source<Item = P>,
        bounds: &Aabb<S, D>,
        memory: &mut SplitMemory,
        pool: &mut Pool<P>,
        keep_memory: bool,
    ) -> Result<Self> {
        let n = source.len();
        let Self { mut lo, hi, index, mut deltas } = self;
        let mut buckets = Buckets::split_in(source, index, memory);
        if keep_memory {
            pool.reserve(&buckets.firsts);
        } else {
            *memory = SplitMemory::default();
        }
        let mut hi = (!P::IS_POINT).then(|| hi.unwrap_or([const { Vec::new() }; D]));
        for axis in lo.iter_mut().chain(hi.iter_mut().flatten()) {
            renew(axis, n + LANES, 0);
            axis[n..].fill(S::ZERO);
        }
        renew(&mut deltas, n, 0);

        let hi_of = hi.as_mut().map(|hi| hi.each_mut().map(|axis| &mut axis[..n]));
        let output = (lo.each_mut().map(|axis| &mut axis[..n]), hi_of, &mut deltas[..]);
        let most = bounds.lo.iter().chain(&bounds.hi).fold(S::ZERO, |most, x| most.max(x.abs()));
        let changed = AtomicBool::new(false);
        let shift = buckets.shift;
        let emit = |place: Place, (mut lo, mut hi, deltas): Corners<'_, S, D>, sorted: Sorted<'_, P>| {
            let Place { bucket, first, before } = place;
            if !is_unchanged(&sorted, shift, bucket as u64, most) {
                changed.store(true, Relaxed);
                return;
            }
            // Codes of different buckets differ in the bits that form the bucket number.
            let code = |bucket: usize| (bucket as u64) << shift;
            let edge = before.map_or(OUTSIDE, |before| delta(code(before), code(bucket), first));
            let mut before = 0;
            for (at, (code, place)) in sorted.iter().enumerate() {
                deltas[at] = if at == 0 { edge } else { delta(before, code, first + at) };
                before = code;
                for (axis, x) in lo.iter_mut().zip(place.corner(0)) {
                    axis[at] = x;
                }
                for (axis, x) in hi.iter_mut().flatten().zip(place.corner(1)) {
                    axis[at] = x;
                }
            }
        };
        buckets.sort(output, pool, &emit);
        memory.firsts = buckets.firsts;
        if changed.into_inner() {
            return Err(errors::changed());
        }
        Ok(Self { lo, hi, index: buckets.index, deltas })
    }

    /// Returns the centre of the primitive at a position, which determines its place along the curve.
    pub fn center(&self, position: usize) -> [S; D] {
        let corner = |axes: &[Vec<S>; D]| std::array::from_fn(|k| axes[k][position]);
        match &self.hi {
            None => corner(&self.lo),
            Some(hi) => Aabb { lo: corner(&self.lo), hi: corner(hi) }.center(),
        }
    }
}

/// The output slices of a bucket: lower corners, upper corners and deltas.
type Corners<'a, S, const D: usize> = ([&'a mut [S]; D], Option<[&'a mut [S]; D]>, &'a mut [u8]);

/// Returns `true` if all codes belong to the bucket and no coordinate exceeds `most` in magnitude.
fn is_unchanged<P: Primitive<S, D>, S: Scalar, const D: usize>(
    sorted: &Sorted<'_, P>,
    shift: u32,
    bucket: u64,
    most: S,
) -> bool {
    dispatch!(_isa => {
        // Inspects all codes without an early exit, which compiles to a loop of vector instructions.
        let mut differing = 0;
        for code in sorted.codes() {
            differing |= code >> shift ^ bucket;
        }
        differing == 0 && P::are_within(sorted.items(), most)
    })
}
