//! From things to a tree: check, code, sort, gather, link.

use rayon::prelude::*;

use super::topology::Topology;
use super::{Bvh, Node, crowded};
use crate::error::{Kind, Result};
use crate::geometry::{Aabb, Bounded, Scalar, Space};
use crate::morton::Grid;
use crate::phases::mark;
use crate::simd::{LANES, dispatch, prefetch};
use crate::sort::{Coded, sort_by_code};

/// Things per parallel task.
const TASK: usize = 1 << 14;
/// How far ahead of its use a thing is asked for.
const AHEAD: usize = 24;
/// Subtrees of fewer leaves than this are finished by one thread.
const SEQUENTIAL: usize = 256;

pub(super) fn build<S: Scalar, T: Bounded<S, D>, const D: usize>(things: &[T], space: Space<D>) -> Result<Bvh<S, D>> {
    let bounds = check(things, &space)?;
    mark("bounds");
    let grid = Grid::over(&bounds);
    let mut sorted = sort_by_code(things.len(), Grid::<S, D>::BITS, |first, codes| {
        let centers = things[first..].iter().map(
            #[inline(always)]
            |thing| center(thing, &space),
        );
        dispatch!(_level => grid.codes(centers, codes));
    });
    crowded::refine(&mut sorted, &|index| center(&things[index as usize], &space));
    mark("codes, sort");
    let mut index = vec![0; things.len()];
    let lo = gather(things, &sorted, &mut index, |thing| place(thing, &space).lo);
    let hi = (!T::IS_POINT).then(|| gather(things, &sorted, &mut index, |thing| place(thing, &space).hi));
    mark("gather");
    let topology = Topology::of(&sorted);
    drop(sorted);

    let end = Node { bounds: Aabb::EMPTY, rope: topology.nodes() as u32, first: things.len() as u32 };
    let mut bvh = Bvh { nodes: vec![end; topology.nodes() + 1], lo, hi, index, space };
    if topology.leaves() > 0 {
        let mut nodes = std::mem::take(&mut bvh.nodes);
        link(&bvh, &topology, &mut nodes[..topology.nodes()], 0, topology.root());
        bvh.nodes = nodes;
    }
    mark("build");
    Ok(bvh)
}

/// Where a thing is, for its place along the curve.
#[inline(always)]
fn center<S: Scalar, T: Bounded<S, D>, const D: usize>(thing: &T, space: &Space<D>) -> [S; D] {
    let place = place(thing, space);
    if T::IS_POINT { place.lo } else { place.center() }
}

/// A thing's box, brought into the periodic box by its lower corner.
#[inline(always)]
pub(crate) fn place<S: Scalar, T: Bounded<S, D>, const D: usize>(thing: &T, space: &Space<D>) -> Aabb<S, D> {
    if T::IS_POINT { Aabb::point(space.wrap(thing.bounds().lo)) } else { space.wrap_box(thing.bounds()) }
}

/// The box around everything, if everything is fit to be stored.
pub(crate) fn check<S: Scalar, T: Bounded<S, D>, const D: usize>(things: &[T], space: &Space<D>) -> Result<Aabb<S, D>> {
    if !(1..=10).contains(&D) {
        return Err(Kind::Dimension { dim: D }.into());
    }
    // The largest index means none, and one more is the sentinel's.
    let max = u32::MAX as usize - 1;
    if things.len() > max {
        return Err(Kind::TooMany { n: things.len(), max }.into());
    }
    let fits = |x: S| Into::<f64>::into(x.abs()) <= S::LIMIT;
    let fault = |thing: &T| {
        let Aabb { lo, hi } = thing.bounds();
        (0..D).find(|&k| !(fits(lo[k]) && fits(hi[k]) && lo[k] <= hi[k]))
    };
    let (bounds, sound) = things
        .par_chunks(TASK)
        .map(|chunk| {
            chunk.iter().fold((Aabb::EMPTY, true), |(bounds, sound), thing| {
                (bounds.union(&place(thing, space)), sound & fault(thing).is_none())
            })
        })
        .reduce(|| (Aabb::EMPTY, true), |a, b| (a.0.union(&b.0), a.1 & b.1));
    if sound {
        return Ok(bounds);
    }
    let found =
        things.iter().enumerate().find_map(|(index, thing)| fault(thing).map(|axis| (index, axis, thing.bounds())));
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

/// One array per axis, in tree order, padded so that a block may be read past the end; and the indices in that order.
fn gather<T: Sync, S: Scalar, const D: usize>(
    things: &[T],
    sorted: &[Coded],
    index: &mut [u32],
    corner: impl Fn(&T) -> [S; D] + Sync,
) -> [Vec<S>; D] {
    let mut axes: [Vec<S>; D] = std::array::from_fn(|_| vec![S::ZERO; sorted.len() + LANES]);
    // All axes of a thing at once: its place in the caller's slice is far from its neighbours'.
    let mut rest = axes.each_mut().map(Vec::as_mut_slice);
    let mut tasks = Vec::with_capacity(sorted.len().div_ceil(TASK));
    for (coded, index) in sorted.chunks(TASK).zip(index.chunks_mut(TASK)) {
        tasks.push((coded, index, rest.each_mut().map(|axis| axis.split_off_mut(..coded.len()).unwrap_or_default())));
    }
    tasks.into_par_iter().for_each(|(sorted, index, mut axes)| {
        for (i, (coded, index)) in sorted.iter().zip(index).enumerate() {
            if let Some(ahead) = sorted.get(i + AHEAD) {
                prefetch(&things[ahead.index() as usize]);
            }
            *index = coded.index();
            for (axis, x) in axes.iter_mut().zip(corner(&things[*index as usize])) {
                axis[i] = x;
            }
        }
    });
    axes
}

/// Fills the nodes of a subtree, whose first node is `base`: ropes on the way down, boxes on the way up.
fn link<S: Scalar, const D: usize>(
    bvh: &Bvh<S, D>,
    topology: &Topology,
    nodes: &mut [Node<S, D>],
    base: usize,
    subtree: super::topology::Subtree,
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
