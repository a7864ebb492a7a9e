//! From primitives to a tree: check, sort, find the hierarchy, fill the nodes.

use crate::bvh::hierarchy::Hierarchy;
use crate::bvh::layout::{Primitive, SortedPrimitives};
use crate::bvh::morton::Grid;
use crate::bvh::radix_sort::Source;
use crate::bvh::{Bvh, Node, duplicates, ropes};
use crate::error::{Kind, Result};
use crate::geometry::{Aabb, Bounded, Scalar, Space};
use crate::memory::zeroed;
use crate::parallel::{fill, map_tasks};
use crate::phases::mark;
use crate::precompiled::precompiled;
use crate::simd::{dispatch, prefetch};

/// Primitives per parallel task.
const TASK: usize = 1 << 14;

/// What the primitives of a type are stored as, copied from them unless they are that already.
pub(super) fn build<S: Scalar, T: Bounded<S, D>, const D: usize>(
    primitives: &[T],
    space: Space<D>,
) -> Result<Bvh<S, D>> {
    if let Some(points) = T::as_points(primitives) {
        return of_points(points, space);
    }
    check_count::<D>(primitives.len())?;
    if T::IS_POINT {
        of_points(&copied(primitives, |primitive| primitive.bounds().lo), space)
    } else {
        build_from(&copied(primitives, Bounded::bounds), space)
    }
}

/// What `of` makes of each primitive.
pub(crate) fn copied<T: Sync, U: bytemuck::Zeroable + Send>(primitives: &[T], of: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let mut all: Vec<U> = zeroed(primitives.len());
    fill(&mut all, TASK, &|range, own| {
        own.iter_mut().zip(&primitives[range]).for_each(|(copy, primitive)| *copy = of(primitive));
    });
    all
}

precompiled! {
    fn of_points = build_from(points: same_points &[[S; D]], space: same Space<D>) -> Result<Bvh<S, D>>
}

fn build_from<P: Primitive<S, D>, S: Scalar, const D: usize>(primitives: &[P], space: Space<D>) -> Result<Bvh<S, D>> {
    let bounds = check(primitives, &space)?;
    mark("bounds");
    let grid = Grid::over(&bounds);
    let mut sorted = SortedPrimitives::new(&Primitives { primitives, grid, space }, &bounds)?;
    mark("codes, sort");
    duplicates::refine(&mut sorted);
    let SortedPrimitives { lo, hi, index, deltas } = sorted;
    let hierarchy = Hierarchy::of(&deltas);
    drop(deltas);

    let end = Node { bounds: Aabb::EMPTY, rope: hierarchy.nodes() as u32, first: primitives.len() as u32 };
    let mut bvh = Bvh { nodes: vec![end], lo, hi, index, space };
    if hierarchy.leaves() > 0 {
        let mut nodes = zeroed(hierarchy.nodes() + 1);
        ropes::fill(&bvh, &hierarchy, &mut nodes[..hierarchy.nodes()], 0, hierarchy.root());
        nodes[hierarchy.nodes()] = end;
        bvh.nodes = nodes;
    }
    mark("build");
    Ok(bvh)
}

/// Primitives that are sorted.
struct Primitives<'a, P, S, const D: usize> {
    primitives: &'a [P],
    grid: Grid<S, D>,
    space: Space<D>,
}

impl<P: Primitive<S, D>, S: Scalar, const D: usize> Source for Primitives<'_, P, S, D> {
    type Item = P;

    fn len(&self) -> usize {
        self.primitives.len()
    }
    fn bits(&self) -> u32 {
        Grid::<S, D>::BITS
    }
    #[inline(always)]
    fn item(&self, index: usize) -> P {
        P::of(place(&self.primitives[index], &self.space))
    }
    #[inline(always)]
    fn prefetch(&self, index: usize) {
        prefetch(&self.primitives[index]);
    }
    fn codes(&self, items: &[P], codes: &mut [u64]) {
        dispatch!(_isa => self.grid.codes(items.iter().map(#[inline(always)] |item| item.center()), codes));
    }
}

/// A primitive's box, brought into the periodic box by its lower corner.
#[inline(always)]
pub(crate) fn place<S: Scalar, T: Bounded<S, D>, const D: usize>(primitive: &T, space: &Space<D>) -> Aabb<S, D> {
    if T::IS_POINT { Aabb::point(space.wrap(primitive.bounds().lo)) } else { space.wrap_box(primitive.bounds()) }
}

/// The box around everything, if everything is fit to be stored.
pub(crate) fn check<S: Scalar, T: Bounded<S, D>, const D: usize>(
    primitives: &[T],
    space: &Space<D>,
) -> Result<Aabb<S, D>> {
    check_count::<D>(primitives.len())?;
    let fits = |x: S| Into::<f64>::into(x.abs()) <= S::LIMIT;
    let fault = |primitive: &T| {
        let Aabb { lo, hi } = primitive.bounds();
        (0..D).find(|&k| !(fits(lo[k]) && fits(hi[k]) && lo[k] <= hi[k]))
    };
    let parts = map_tasks(primitives.len(), TASK, &|range| {
        primitives[range].iter().fold((Aabb::EMPTY, true), |(bounds, sound), primitive| {
            (bounds.union(&place(primitive, space)), sound & fault(primitive).is_none())
        })
    });
    let (bounds, sound) = parts.into_iter().fold((Aabb::EMPTY, true), |a, b| (a.0.union(&b.0), a.1 & b.1));
    // Each point fits, and so does the box around them, unless they change meanwhile. A box may be wrapped to beyond what fits.
    let is_box_sound =
        !T::IS_POINT || primitives.is_empty() || (0..D).all(|k| fits(bounds.lo[k]) && fits(bounds.hi[k]));
    if sound && is_box_sound {
        return Ok(bounds);
    }
    let found = primitives
        .iter()
        .enumerate()
        .find_map(|(index, primitive)| fault(primitive).map(|axis| (index, axis, primitive.bounds())));
    match found {
        None => Err(Kind::Changed.into()),
        Some((index, axis, Aabb { lo, hi })) => {
            let [lo, hi]: [f64; 2] = [lo[axis].into(), hi[axis].into()];
            let value = if lo.abs() <= S::LIMIT { hi } else { lo };
            Err(if value.abs() <= S::LIMIT {
                Kind::Inverted { index, axis, lo, hi }
            } else {
                Kind::coordinate(index, axis, value, S::LIMIT)
            }
            .into())
        }
    }
}

pub(crate) fn check_count<const D: usize>(n: usize) -> Result<()> {
    if !(1..=10).contains(&D) {
        return Err(Kind::Dimension { dim: D }.into());
    }
    // The largest index means none, and one more is the sentinel's.
    let max = u32::MAX as usize - 1;
    if n > max {
        return Err(Kind::TooMany { n, max }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    /// Numbers that are asked for, by all threads.
    static ASKED: AtomicU64 = AtomicU64::new(0);

    /// A point that is another each time: `MODE` says how.
    #[derive(Clone, Copy)]
    struct Changing<const MODE: u32>([f32; 2]);

    // SAFETY: numbers alone, which may be zeros.
    #[allow(unsafe_code)]
    unsafe impl<const MODE: u32> bytemuck::Zeroable for Changing<MODE> {}

    impl<const MODE: u32> Bounded<f32, 2> for Changing<MODE> {
        const IS_POINT: bool = true;

        fn bounds(&self) -> Aabb<f32, 2> {
            let asked = ASKED.fetch_add(1, Relaxed);
            // SplitMix64.
            let mixed = (asked.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ asked >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let random = (mixed >> 40) as f32 / (1 << 24) as f32;
            let [x, y] = self.0;
            Aabb::point(match MODE {
                0 => [random, random * random],
                1 => [x + (asked / 1000) as f32, y],
                2 => [if asked > 60_000 && random < 0.01 { f32::NAN } else { x }, y],
                3 => [if asked % 70_001 == 70_000 { f32::INFINITY } else { x }, y],
                4 => [if asked.is_multiple_of(2) { x } else { 1.0 - x }, y],
                _ => [x * 0.999f32.powi((asked / 10_000) as i32), y],
            })
        }
    }

    impl<const MODE: u32> Primitive<f32, 2> for Changing<MODE> {
        fn of(bounds: Aabb<f32, 2>) -> Self {
            Self(bounds.lo)
        }
        fn center(&self) -> [f32; 2] {
            self.0
        }
        fn corner(&self, _which: usize) -> [f32; 2] {
            self.0
        }
        fn are_within(items: &[Self], most: f32) -> bool {
            items.iter().all(|item| <[f32; 2]>::are_within(&[item.0], most))
        }
    }

    fn builds<const MODE: u32>() {
        ASKED.store(0, Relaxed);
        let primitives: Vec<Changing<MODE>> =
            (0..40_000).map(|i| Changing([(i * 37 % 997) as f32 / 997.0, i as f32 / 40_000.0])).collect();
        for space in [Space::OPEN, Space::periodic(0.9).unwrap()] {
            match build_from(&primitives, space) {
                Ok(tree) => tree.validate().unwrap(),
                Err(error) => {
                    assert!(matches!(error.kind(), crate::ErrorKind::Input | crate::ErrorKind::NotFinite), "{error}");
                }
            }
        }
    }

    /// Memory that is shared with another language can change while it is read. Safe code cannot do that to a slice of points, but these
    /// points do: there must be an error, or a tree of any points whatever, which is as deep as trees are.
    #[test]
    fn points_that_change_while_they_are_read() {
        builds::<0>();
        builds::<1>();
        builds::<2>();
        builds::<3>();
        builds::<4>();
        builds::<5>();
    }
}
