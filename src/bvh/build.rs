//! From primitives to a tree: check, sort, find the hierarchy, fill the nodes.

use crate::bvh::hierarchy::Hierarchy;
use crate::bvh::layout::{Primitive, SortedPrimitives};
use crate::bvh::morton::Grid;
use crate::bvh::radix_sort::Source;
use crate::bvh::{Bvh, Node, duplicates, ropes};
use crate::error::{Kind, Result};
use crate::geometry::{Aabb, Bounded, Scalar, Space};
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
    let mut all: Vec<U> = bytemuck::zeroed_vec(primitives.len());
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
    let mut sorted = SortedPrimitives::new(&Primitives { primitives, grid, space });
    mark("codes, sort");
    duplicates::refine(&mut sorted);
    let SortedPrimitives { lo, hi, index, deltas } = sorted;
    let hierarchy = Hierarchy::of(&deltas);
    drop(deltas);

    let end = Node { bounds: Aabb::EMPTY, rope: hierarchy.nodes() as u32, first: primitives.len() as u32 };
    let mut bvh = Bvh { nodes: vec![end; hierarchy.nodes() + 1], lo, hi, index, space };
    if hierarchy.leaves() > 0 {
        let mut nodes = std::mem::take(&mut bvh.nodes);
        ropes::fill(&bvh, &hierarchy, &mut nodes[..hierarchy.nodes()], 0, hierarchy.root());
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
    if sound {
        return Ok(bounds);
    }
    let found = primitives
        .iter()
        .enumerate()
        .find_map(|(index, primitive)| fault(primitive).map(|axis| (index, axis, primitive.bounds())));
    match found {
        None => Ok(bounds),
        Some((index, axis, Aabb { lo, hi })) => {
            let [lo, hi]: [f64; 2] = [lo[axis].into(), hi[axis].into()];
            let value = if lo.abs() <= S::LIMIT { hi } else { lo };
            Err(if !value.is_finite() {
                Kind::NotFinite { index, axis, value }
            } else if value.abs() > S::LIMIT {
                Kind::TooFar { index, axis, value, limit: S::LIMIT }
            } else {
                Kind::Inverted { index, axis, lo, hi }
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
