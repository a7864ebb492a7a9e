//! Construction of a tree: checks and sorts the primitives, computes the hierarchy, and fills the nodes.

use std::ops::Range;

use crate::bvh::clear_on_drop::ClearOnDrop;
use crate::bvh::errors;
use crate::bvh::morton::Grid;
use crate::bvh::radix_sort::Source;
use crate::bvh::sorted_primitives::{Primitive, SortedPrimitives};
use crate::bvh::tree::{Bvh, Node};
use crate::bvh::tree_state::{BuildScratch, TreeState};
use crate::bvh::{duplicates, ropes};
use crate::error::{Error, Result};
use crate::geometry::{Aabb, Bounded, Scalar, Space};
use crate::memory::renew;
use crate::parallel::{fold_tasks, for_parts};
use crate::phases::mark;
use crate::precompiled::precompiled;
use crate::simd::{dispatch, prefetch, unknown_choice};

/// Primitives per parallel task.
const TASK: usize = 1 << 14;

/// Builds a tree of primitives.
pub(super) fn build<S: Scalar, T: Bounded<S, D>, const D: usize>(
    primitives: &[T],
    space: Space<D>,
) -> Result<Bvh<S, D>> {
    let mut tree = Bvh {
        nodes: vec![],
        lo: [const { Vec::new() }; D],
        hi: None,
        index: vec![],
        space,
        state: TreeState::default(),
    };
    tree.clear();
    build_into(&mut tree, primitives, &mut BuildScratch::default())?;
    Ok(tree)
}

/// Builds the tree in place. Primitives that are not stored as points or boxes are converted first.
pub(super) fn build_into<S: Scalar, T: Bounded<S, D>, const D: usize>(
    tree: &mut Bvh<S, D>,
    primitives: &[T],
    memory: &mut BuildScratch,
) -> Result<()> {
    if let Some(points) = T::as_points(primitives) {
        return of_points(tree, points, memory);
    }
    check_count::<D>(primitives.len())?;
    if T::IS_POINT {
        let mut points = std::mem::take(&mut memory.typed().copies);
        copy(&mut points, primitives, |primitive| primitive.bounds().lo);
        let result = of_points(tree, &points, memory);
        memory.typed().copies = points;
        result
    } else {
        let mut boxes = std::mem::take(&mut memory.typed().copies);
        copy(&mut boxes, primitives, Bounded::bounds);
        let result = of_boxes(tree, &boxes, memory);
        memory.typed().copies = boxes;
        result
    }
}

/// Computes `of` for all primitives in parallel. Returns the results in their order.
pub fn copied<T: Sync, U: bytemuck::Zeroable + Send>(primitives: &[T], of: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let mut all = vec![];
    copy(&mut all, primitives, of);
    all
}

fn copy<T: Sync, U: bytemuck::Zeroable + Send>(all: &mut Vec<U>, primitives: &[T], of: impl Fn(&T) -> U + Sync) {
    renew(all, primitives.len(), 0);
    for_parts(primitives.len(), TASK, (&mut all[..], primitives), &|(own, primitives)| {
        own.iter_mut().zip(primitives).for_each(|(copy, primitive)| *copy = of(primitive));
    });
}

precompiled! {
    fn of_points = build_from(
        tree: same_mut &mut Bvh<S, D>, points: same_points &[[S; D]], memory: keep &mut BuildScratch
    ) -> Result<()>
}

precompiled! {
    fn of_boxes = build_from(
        tree: same_mut &mut Bvh<S, D>, boxes: same_slice &[Aabb<S, D>], memory: keep &mut BuildScratch
    ) -> Result<()>
}

/// Returns an error if the environment variable requests an unknown instruction set.
pub(crate) fn check_instruction_set() -> Result<()> {
    unknown_choice().map_or(Ok(()), |value| Err(errors::instruction_set(value)))
}

fn build_from<P: Primitive<S, D>, S: Scalar, const D: usize>(
    tree: &mut Bvh<S, D>,
    primitives: &[P],
    memory: &mut BuildScratch,
) -> Result<()> {
    check_instruction_set()?;
    let space = tree.space;
    let bounds = check(primitives, &space)?;
    mark("bounds");
    let grid = Grid::over(&bounds);
    let mut clear_on_drop = ClearOnDrop::new(tree);
    let tree = clear_on_drop.tree();
    let before = SortedPrimitives {
        lo: std::mem::replace(&mut tree.lo, [const { Vec::new() }; D]),
        hi: tree.hi.take(),
        index: std::mem::take(&mut tree.index),
        deltas: std::mem::take(&mut memory.deltas),
    };
    let keep_memory = memory.keep_memory;
    let mut scratch = std::mem::take(memory.typed());
    let mut sorted = before.sort(
        &Primitives { primitives, grid, space },
        &bounds,
        &mut memory.split,
        &mut scratch.pool,
        keep_memory,
    )?;
    if keep_memory {
        *memory.typed() = scratch;
    } else {
        drop(scratch);
    }
    mark("codes, sort");
    duplicates::refine(&mut sorted);
    let deltas = sorted.deltas;
    (tree.lo, tree.hi, tree.index) = (sorted.lo, sorted.hi, sorted.index);
    let hierarchy = std::mem::take(&mut memory.hierarchy).of(&deltas, keep_memory);
    if keep_memory {
        memory.deltas = deltas;
    } else {
        drop(deltas);
    }

    let end = Node { bounds: Aabb::EMPTY, rope: hierarchy.nodes() as u32, first: primitives.len() as u32 };
    let mut nodes = std::mem::take(&mut tree.nodes);
    renew(&mut nodes, hierarchy.nodes() + 1, if keep_memory { hierarchy.nodes() / 4 } else { 0 });
    if hierarchy.leaves() > 0 {
        ropes::fill(tree, &hierarchy, &mut nodes[..hierarchy.nodes()], 0, hierarchy.root());
    }
    nodes[hierarchy.nodes()] = end;
    tree.nodes = nodes;
    memory.hierarchy = hierarchy;
    clear_on_drop.finish();
    mark("build");
    Ok(())
}

/// The primitives as input of the sort.
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

/// The box of a primitive, shifted so that its lower corner lies in the periodic box.
#[inline(always)]
pub(crate) fn place<S: Scalar, T: Bounded<S, D>, const D: usize>(primitive: &T, space: &Space<D>) -> Aabb<S, D> {
    if T::IS_POINT { Aabb::point(space.wrap(primitive.bounds().lo)) } else { space.wrap_box(primitive.bounds()) }
}

/// Checks that all primitives can be stored, and returns their bounding box.
pub fn check<S: Scalar, T: Bounded<S, D>, const D: usize>(primitives: &[T], space: &Space<D>) -> Result<Aabb<S, D>> {
    check_count::<D>(primitives.len())?;
    let part = |range: Range<usize>| {
        primitives[range].iter().fold((Aabb::EMPTY, true), |(bounds, sound), primitive| {
            (bounds.union(&place(primitive, space)), sound & faulty_axis(&primitive.bounds()).is_none())
        })
    };
    let (bounds, sound) = fold_tasks(0..primitives.len(), TASK, &part, &|a, b| (a.0.union(&b.0), a.1 & b.1));
    // If all points fit, so does their bounding box, unless they change during the check. Boxes that fit may exceed
    // the limit after wrapping.
    let is_box_sound = !T::IS_POINT || primitives.is_empty() || faulty_axis(&bounds).is_none();
    if sound && is_box_sound {
        return Ok(bounds);
    }
    let found = primitives.iter().enumerate().find_map(|(index, primitive)| box_fault(index, &primitive.bounds()));
    Err(found.unwrap_or_else(errors::changed))
}

/// Returns the first axis along which a box cannot be stored.
fn faulty_axis<S: Scalar, const D: usize>(Aabb { lo, hi }: &Aabb<S, D>) -> Option<usize> {
    let fits = |x: S| Into::<f64>::into(x.abs()) <= S::LIMIT;
    (0..D).find(|&k| !(fits(lo[k]) && fits(hi[k]) && lo[k] <= hi[k]))
}

/// Returns the error for a box that cannot be stored.
pub(crate) fn box_fault<S: Scalar, const D: usize>(index: usize, own: &Aabb<S, D>) -> Option<Error> {
    let axis = faulty_axis(own)?;
    let [lo, hi]: [f64; 2] = [own.lo[axis].into(), own.hi[axis].into()];
    let value = if lo.abs() <= S::LIMIT { hi } else { lo };
    Some(if value.abs() <= S::LIMIT {
        errors::inverted(index, axis, lo, hi)
    } else {
        Error::coordinate(index, axis, value, S::LIMIT)
    })
}

pub(crate) fn check_count<const D: usize>(n: usize) -> Result<()> {
    if !(1..=10).contains(&D) {
        return Err(Error::dimension(D));
    }
    // The largest index marks "none", and the sentinel needs one more.
    let max = u32::MAX as usize - 1;
    if n > max {
        return Err(Error::too_many_points(n, max));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    /// The number of reads so far by all threads.
    static READS: AtomicU64 = AtomicU64::new(0);

    /// A point with other coordinates at each read; `MODE` selects how they change.
    #[derive(Clone, Copy)]
    struct Changing<const MODE: u32>([f32; 2]);

    // SAFETY: zero bytes are a valid value of the only field, `[f32; 2]`.
    #[allow(unsafe_code)]
    unsafe impl<const MODE: u32> bytemuck::Zeroable for Changing<MODE> {}

    impl<const MODE: u32> Bounded<f32, 2> for Changing<MODE> {
        const IS_POINT: bool = true;

        fn bounds(&self) -> Aabb<f32, 2> {
            let asked = READS.fetch_add(1, Relaxed);
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

    fn build<const MODE: u32>(primitives: &[Changing<MODE>], space: Space<2>) -> Result<Bvh<f32, 2>> {
        let mut tree = super::build::<f32, [f32; 2], 2>(&[], space)?;
        build_from(&mut tree, primitives, &mut BuildScratch::default()).map(|()| tree)
    }

    fn builds<const MODE: u32>() {
        READS.store(0, Relaxed);
        let primitives: Vec<Changing<MODE>> =
            (0..40_000).map(|i| Changing([(i * 37 % 997) as f32 / 997.0, i as f32 / 40_000.0])).collect();
        for space in [Space::OPEN, Space::periodic(0.9).unwrap()] {
            match build(&primitives, space) {
                Ok(tree) => tree.validate().unwrap(),
                Err(error) => {
                    assert!(matches!(error.kind(), crate::ErrorKind::Input | crate::ErrorKind::NotFinite), "{error}");
                }
            }
        }
    }

    /// Memory shared with another language can change while it is read. Safe code cannot do that to a slice of
    /// points, but these points simulate it. The result must be an error, or a valid tree of any points.
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
