//! From primitives to a tree: check, arrange, link.

use std::marker::PhantomData;

use rayon::prelude::*;

use crate::bvh::hierarchy::Topology;
use crate::bvh::layout::{Primitive, SortedPrimitives};
use crate::bvh::morton::Grid;
use crate::bvh::radix_sort::Source;
use crate::bvh::{Bvh, Node, duplicates};
use crate::error::{Kind, Result};
use crate::geometry::{Aabb, Bounded, Scalar, Space};
use crate::phases::mark;
use crate::simd::{dispatch, prefetch};

/// Primitives per parallel task.
const TASK: usize = 1 << 14;
/// Subtrees of fewer leaves than this are finished by one thread.
const SEQUENTIAL: usize = 256;

pub(super) fn build<S: Scalar, T: Bounded<S, D>, const D: usize>(
    primitives: &[T],
    space: Space<D>,
) -> Result<Bvh<S, D>> {
    let bounds = check(primitives, &space)?;
    mark("bounds");
    let grid = Grid::over(&bounds);
    let mut arranged = if T::IS_POINT {
        SortedPrimitives::new(&Primitives::<_, [S; D], _, D> { primitives, grid, space, stored: PhantomData })?
    } else {
        SortedPrimitives::new(&Primitives::<_, Aabb<S, D>, _, D> { primitives, grid, space, stored: PhantomData })?
    };
    mark("codes, sort");
    duplicates::refine(&mut arranged);
    let SortedPrimitives { lo, hi, index, levels } = arranged;
    let topology = Topology::of(&levels);
    drop(levels);

    let end = Node { bounds: Aabb::EMPTY, rope: topology.nodes() as u32, first: primitives.len() as u32 };
    let mut bvh = Bvh { nodes: vec![end; topology.nodes() + 1], lo, hi, index, space };
    if topology.leaves() > 0 {
        let mut nodes = std::mem::take(&mut bvh.nodes);
        link(&bvh, &topology, &mut nodes[..topology.nodes()], 0, topology.root());
        bvh.nodes = nodes;
    }
    mark("build");
    Ok(bvh)
}

/// Primitives that are sorted, and stored as `P`.
struct Primitives<'a, T, P, S, const D: usize> {
    primitives: &'a [T],
    grid: Grid<S, D>,
    space: Space<D>,
    stored: PhantomData<fn() -> P>,
}

impl<T: Bounded<S, D>, P: Primitive<S, D>, S: Scalar, const D: usize> Source for Primitives<'_, T, P, S, D> {
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
        dispatch!(_level => self.grid.codes(items.iter().map(#[inline(always)] |item| item.center()), codes));
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
    if !(1..=10).contains(&D) {
        return Err(Kind::Dimension { dim: D }.into());
    }
    // The largest index means none, and one more is the sentinel's.
    let max = u32::MAX as usize - 1;
    if primitives.len() > max {
        return Err(Kind::TooMany { n: primitives.len(), max }.into());
    }
    let fits = |x: S| Into::<f64>::into(x.abs()) <= S::LIMIT;
    let fault = |primitive: &T| {
        let Aabb { lo, hi } = primitive.bounds();
        (0..D).find(|&k| !(fits(lo[k]) && fits(hi[k]) && lo[k] <= hi[k]))
    };
    let (bounds, sound) = primitives
        .par_chunks(TASK)
        .map(|chunk| {
            chunk.iter().fold((Aabb::EMPTY, true), |(bounds, sound), primitive| {
                (bounds.union(&place(primitive, space)), sound & fault(primitive).is_none())
            })
        })
        .reduce(|| (Aabb::EMPTY, true), |a, b| (a.0.union(&b.0), a.1 & b.1));
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

/// Fills the nodes of a subtree, whose first node is `base`: ropes on the way down, boxes on the way up.
fn link<S: Scalar, const D: usize>(
    bvh: &Bvh<S, D>,
    topology: &Topology,
    nodes: &mut [Node<S, D>],
    base: usize,
    subtree: crate::bvh::hierarchy::Subtree,
) -> Aabb<S, D> {
    let rope = (base + nodes.len()) as u32;
    let span = topology.span(&subtree);
    let first = span.start as u32;
    let bounds = match topology.children(&subtree) {
        None => span.fold(Aabb::EMPTY, |bounds, position| bounds.union(&bvh.item(position))),
        Some([left, right]) => {
            let (below_left, below_right) = nodes[1..].split_at_mut(left.nodes());
            let split = base + 1 + left.nodes();
            let sequential = subtree.leaves() < SEQUENTIAL;
            let mut link_left = || link(bvh, topology, below_left, base + 1, left);
            let mut link_right = || link(bvh, topology, below_right, split, right);
            let (left, right) =
                if sequential { (link_left(), link_right()) } else { rayon::join(link_left, link_right) };
            left.union(&right)
        }
    };
    nodes[0] = Node { bounds, rope, first };
    bounds
}
