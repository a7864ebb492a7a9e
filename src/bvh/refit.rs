//! Refit: the boxes of a tree whose points have moved.
//!
//! In: a tree, and its primitives at their new places. Out: the same nodes in the same order around them, and by how much larger they are.
//! Which points share a leaf is what the last build said, so answers are exact and the tree is the worse the farther they move.
//! Nothing but boxes says where points are, save one rule of a fresh tree: copies of one point that fill an inner node are in the order of their
//! indices. It is restored here.
//! Cost: each point is read twice, each node once; no allocation after the first time.

use crate::bvh::errors;
use crate::cancel::guarded;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::bvh::Bvh;
use crate::bvh::build::{check, place};
use crate::bvh::motion::{Cost, Measure};
use crate::bvh::unfinished::Unfinished;
use crate::error::Result;
use crate::geometry::{Aabb, Bounded, Scalar};
use crate::memory::{with_capacity, zeroed};
use crate::parallel::{fold_tasks, for_parts, sort};
use crate::phases::mark;
use crate::precompiled::precompiled;
use crate::simd::{LANES, dispatch, prefetch};

/// Primitives, or nodes, per parallel task.
const TASK: usize = 1 << 12;
/// How far ahead of its use a primitive is asked for.
const AHEAD: usize = 24;

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Follows the primitives to where they have moved: `primitives[i]` is what index `i` means from now on. Nodes and their order stay, boxes
    /// are made right, and all answers are exact again.
    ///
    /// It takes a fraction of the time of a build, and of the next refits none allocates. The farther points have moved since the last build,
    /// the longer queries take: [`Bvh::degradation`] tells when to [`Bvh::rebuild`]. A tree of points that is given boxes holds boxes from
    /// then on.
    ///
    /// Errors as [`Bvh::build`], or if there are more or fewer primitives than the tree holds: the tree is then as it was. If primitives change
    /// while they are read, or the call is [cancelled](crate::Cancel), the tree may be empty afterwards.
    ///
    /// ```
    /// use ropewalk::{Bvh, Sphere};
    ///
    /// let mut points = vec![[0.0f32, 0.0], [1.0, 0.0], [5.0, 5.0]];
    /// let mut bvh = Bvh::build(&points)?;
    /// points[2] = [0.5, 0.5];
    /// bvh.refit(&points)?;
    /// assert_eq!(bvh.query(Sphere::new([0.5, 0.0], 0.5)).count(), 3);
    /// assert!(bvh.refit(&points[..2]).is_err());
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn refit<T: Bounded<S, D>>(&mut self, primitives: &[T]) -> Result<()> {
        if primitives.len() != self.len() {
            return Err(errors::refit(primitives.len(), self.len()));
        }
        let result = guarded(|| match T::as_points(primitives) {
            Some(points) => refit_points(self, points),
            None => refit_to(self, primitives),
        });
        self.emptied_without_memory(result)
    }

    /// How much worse the tree is than as it was last built: the sum of the surface areas of its nodes, over that sum then.
    ///
    /// `C / C_built` with `C = sum over all nodes of A(node)` and `A(box) = sum over k of product over j != k of (hi_j - lo_j)`, half the surface
    /// (in two dimensions half the perimeter, in one the length): what a ball or a ray meets of nodes grows about as their surfaces do
    /// (MacDonald and Booth 1990). It is 1 after a build, and tells of refits. Where all points move apart it rises as well; where they
    /// contract it falls, and hides what it should tell.
    ///
    /// A rebuild costs some refits, so the best limit depends on what a step asks of the tree; the example `moving_particles` takes 1.5.
    ///
    /// ```
    /// let mut points: Vec<[f64; 1]> = (0..100).map(|i| [f64::from(i)]).collect();
    /// let mut bvh = ropewalk::Bvh::build(&points)?;
    /// assert_eq!(bvh.degradation(), 1.0);
    /// points.swap(0, 99);
    /// bvh.refit(&points)?;
    /// assert!(bvh.degradation() > 1.3);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn degradation(&self) -> f64 {
        self.motion.degradation
    }

    /// The cost of a tree that is as it was built.
    fn built_cost(&mut self) -> Cost {
        let bounds = self.bounds();
        let extent = extents(&bounds).into_iter().fold(0.0, f64::max);
        let unit = if extent > 0.0 { extent } else { 1.0 };
        self.measure(unit, |tree, leaf| tree.nodes[leaf].bounds);
        Cost { sum: self.motion.measures.first().map_or(0.0, |root| root.area), unit }
    }

    /// Measures each node; `leaf` gives the boxes of leaves.
    fn measure(&mut self, unit: f64, leaf: impl Fn(&Self, usize) -> Aabb<S, D> + Sync) {
        let mut measures = std::mem::take(&mut self.motion.measures);
        // After the next rebuild there are some nodes more or fewer.
        if measures.capacity() < self.end() {
            measures = with_capacity(self.end() + self.end() / 4 + 16);
        }
        measures.resize(self.end(), Measure { bounds: Aabb::EMPTY, area: 0.0, has_copies: false });
        let are_points = self.holds_points();
        self.reduce_into(
            &mut measures,
            |at| {
                let bounds = leaf(self, at);
                Measure { bounds, area: half_surface(&bounds, unit), has_copies: false }
            },
            |_, [left, right]| {
                let bounds = left.bounds.union(&right.bounds);
                let are_copies = are_points && bounds.lo == bounds.hi;
                Measure {
                    bounds,
                    area: half_surface(&bounds, unit) + (left.area + right.area),
                    has_copies: are_copies || left.has_copies || right.has_copies,
                }
            },
        );
        self.motion.measures = measures;
    }

    /// Puts the copies that fill inner nodes in the order of their indices, as searches for the nearest expect them.
    fn sort_copies(&mut self) {
        let mut at = 0;
        while at < self.end() {
            if self.is_leaf(at) || !self.is_degenerate(at) {
                // What has none is skipped as a whole.
                at = if self.motion.measures[at].has_copies { at + 1 } else { self.nodes[at].rope as usize };
                continue;
            }
            let copies = self.span(at);
            let copies = &mut self.index[copies];
            if !copies.is_sorted() {
                sort(copies);
            }
            at = self.nodes[at].rope as usize;
        }
    }
}

precompiled! {
    fn refit_points = refit_to(tree: same_mut &mut Bvh<S, D>, points: same_points &[[S; D]]) -> Result<()>
}

fn refit_to<T: Bounded<S, D>, S: Scalar, const D: usize>(tree: &mut Bvh<S, D>, primitives: &[T]) -> Result<()> {
    if !are_sound(primitives) {
        check(primitives, &tree.space)?;
    }
    mark("check");
    let built = match tree.motion.built {
        Some(built) => built,
        None => tree.built_cost(),
    };
    let mut unfinished = Unfinished::new(tree);
    let tree = unfinished.tree();
    if !T::IS_POINT && tree.hi.is_none() {
        tree.hi = Some(std::array::from_fn(|_| zeroed(primitives.len() + LANES)));
    }
    if !tree.take_places(primitives) {
        return Err(errors::changed());
    }
    mark("places");
    tree.measure(built.unit, |tree, leaf| {
        let span = tree.span(leaf);
        let hi = tree.hi.as_ref().unwrap_or(&tree.lo);
        Aabb {
            lo: tree.lo.each_ref().map(|axis| fold(&axis[span.clone()], S::INFINITY, S::min)),
            hi: hi.each_ref().map(|axis| fold(&axis[span.clone()], S::NEG_INFINITY, S::max)),
        }
    });
    let measures = &tree.motion.measures;
    for_parts(measures.len(), TASK, (&mut tree.nodes[..measures.len()], &measures[..]), &|(nodes, measures)| {
        nodes.iter_mut().zip(measures).for_each(|(node, measure)| node.bounds = measure.bounds);
    });
    if let Some(root) = measures.first() {
        (tree.motion.built, tree.motion.degradation) = (Some(built), ratio(root.area, built.sum));
    }
    tree.sort_copies();
    unfinished.finish();
    mark("boxes");
    Ok(())
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Stores where the primitives are; false if one is not fit to be stored any more.
    fn take_places<T: Bounded<S, D>>(&mut self, primitives: &[T]) -> bool {
        let n = primitives.len();
        let Self { lo, hi, index, space, .. } = self;
        let lo = lo.each_mut().map(|axis| &mut axis[..n]);
        let hi = hi.as_mut().map(|hi| hi.each_mut().map(|axis| &mut axis[..n]));
        let changed = AtomicBool::new(false);
        for_parts(n, TASK, (0..n, lo, hi), &|(range, mut lo, mut hi)| {
            let (mut are_sound, limit) = (true, limit::<S>());
            for (at, position) in range.enumerate() {
                if let Some(&ahead) = index.get(position + AHEAD) {
                    prefetch(&primitives[ahead as usize]);
                }
                let place = place(&primitives[index[position] as usize], space);
                // False if one is NaN.
                let is_sound = |(lo, hi): (&S, &S)| lo.abs() <= limit && lo <= hi && hi.abs() <= limit;
                are_sound &= place.lo.iter().zip(&place.hi).all(is_sound);
                for (axis, x) in lo.iter_mut().zip(place.lo) {
                    axis[at] = x;
                }
                for (axis, x) in hi.iter_mut().flatten().zip(place.hi) {
                    axis[at] = x;
                }
            }
            if !are_sound {
                changed.store(true, Relaxed);
            }
        });
        !changed.into_inner()
    }
}

/// The farthest from 0 that is stored.
fn limit<S: Scalar>() -> S {
    S::from_f64(S::LIMIT)
}

/// Whether all are points that are fit to be stored; boxes are looked at more closely.
fn are_sound<T: Bounded<S, D>, S: Scalar, const D: usize>(primitives: &[T]) -> bool {
    let Some(points) = T::as_points(primitives) else { return false };
    let are_sound = |range: Range<usize>| {
        dispatch!(_isa => {
            // Not as far as it holds, but all of them: that is a loop of vector instructions.
            let mut within = true;
            for x in points[range].as_flattened() {
                within &= x.abs() <= limit();
            }
            within
        })
    };
    fold_tasks(0..points.len(), 4 * TASK, &are_sound, &|a, b| a & b)
}

/// What `join` makes of some values, eight at a time.
#[inline(always)]
fn fold<S: Scalar>(values: &[S], start: S, join: impl Fn(S, S) -> S) -> S {
    let (blocks, rest) = values.as_chunks::<LANES>();
    let mut lanes = [start; LANES];
    for block in blocks {
        for (lane, &value) in lanes.iter_mut().zip(block) {
            *lane = join(*lane, value);
        }
    }
    rest.iter().chain(&lanes).fold(start, |result, &value| join(result, value))
}

/// The sides of a box.
fn extents<S: Scalar, const D: usize>(bounds: &Aabb<S, D>) -> [f64; D] {
    std::array::from_fn(|k| Into::<f64>::into(bounds.hi[k]) - Into::<f64>::into(bounds.lo[k]))
}

/// Half the surface of a box of which lengths are told in `unit`.
fn half_surface<S: Scalar, const D: usize>(bounds: &Aabb<S, D>, unit: f64) -> f64 {
    // So long that products of nine do not overflow.
    let sides = extents(bounds).map(|side| (side / unit).min(1e30));
    if D == 1 {
        return sides[0];
    }
    let without = |k: usize| (0..D).filter(|&j| j != k).map(|j| sides[j]).product::<f64>();
    (0..D).map(without).sum()
}

/// How many times as large a cost is as another, which may be 0 as well.
fn ratio(cost: f64, before: f64) -> f64 {
    if cost == before { 1.0 } else { cost / before }
}
