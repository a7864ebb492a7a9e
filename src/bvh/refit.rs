//! Refit: updates the boxes of a tree whose points have moved.
//!
//! Input: a tree, and its primitives at their new places. Output: the same nodes in the same order with new boxes,
//! and the growth of the boxes.
//! Points share leaves as in the last build. Results are therefore exact, but searches take longer the farther points
//! move. Only the boxes depend on the positions, with one exception: in a fresh tree, copies of one point that fill
//! an inner node are in the order of their indices. The refit restores this order.
//! Cost: each point is read twice, each node once; no allocation after the first refit.

use crate::bvh::errors;
use crate::cancel::guarded;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::bvh::Bvh;
use crate::bvh::build::{check, place};
use crate::bvh::clear_on_drop::ClearOnDrop;
use crate::bvh::tree_state::{Cost, Measure};
use crate::error::Result;
use crate::geometry::{Aabb, Bounded, Scalar};
use crate::memory::{with_capacity, zeroed};
use crate::parallel::{fold_tasks, for_parts, sort};
use crate::phases::mark;
use crate::precompiled::precompiled;
use crate::simd::{LANES, dispatch, prefetch};

/// Primitives or nodes per parallel task.
const TASK: usize = 1 << 12;
/// The prefetch distance, in primitives.
const AHEAD: usize = 24;

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Updates the tree after its primitives have moved: `primitives[i]` becomes the primitive of index `i`.
    ///
    /// The nodes and their order are unchanged, the boxes are updated, and all results are exact again. A refit takes
    /// a fraction of the time of a build, and only the first one allocates. The farther points have moved since the
    /// last build, the longer queries take; [`Bvh::degradation`] shows when to [`Bvh::rebuild`]. In a periodic box, a
    /// point that leaves through a face returns through the opposite one, so the box of its leaf then spans the domain.
    /// A tree of points that is refitted to boxes holds boxes from then on.
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
    ///
    /// # Errors
    /// Those of [`Bvh::build`], or a number of primitives other than that of the tree; the tree is then unchanged. If
    /// primitives change while they are read, or the call is [cancelled](crate::Cancel), the tree may be empty
    /// afterwards.
    pub fn refit<T: Bounded<S, D>>(&mut self, primitives: &[T]) -> Result<()> {
        if primitives.len() != self.len() {
            return Err(errors::refit(primitives.len(), self.len()));
        }
        let result = guarded(|| match T::as_points(primitives) {
            Some(points) => refit_points(self, points),
            None => refit_to(self, primitives),
        });
        self.clear_on_memory_error(result)
    }

    /// Returns the cost of the tree relative to its cost at the last build. The cost is the sum of the surface areas of
    /// all nodes.
    ///
    /// It is `C / C_built` with `C = sum over all nodes of A(node)` and
    /// `A(box) = sum over k of product over j != k of (hi_j - lo_j)`. `A` is half the surface (in two dimensions half
    /// the perimeter, in one the length). The number of nodes that a sphere or a ray meets grows approximately with
    /// their surfaces (MacDonald and Booth 1990). The value is 1 after a build, and refits change it. If all points
    /// move apart, it rises as well. If they contract, it falls and hides a worse tree.
    ///
    /// A rebuild costs several refits, so the best limit depends on the queries per step; the example
    /// `moving_particles` uses 1.5.
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
        self.state.degradation
    }

    /// The cost of a tree that has not been refitted since its build.
    fn built_cost(&mut self) -> Cost {
        let bounds = self.bounds();
        let extent = extents(&bounds).into_iter().fold(0.0, f64::max);
        let unit = if extent > 0.0 { extent } else { 1.0 };
        self.measure(unit, |tree, leaf| tree.nodes[leaf].bounds);
        Cost { sum: self.state.measures.first().map_or(0.0, |root| root.area), unit }
    }

    /// Computes the measures of all nodes; `leaf` returns the boxes of leaves.
    fn measure(&mut self, unit: f64, leaf: impl Fn(&Self, usize) -> Aabb<S, D> + Sync) {
        let mut measures = std::mem::take(&mut self.state.measures);
        // The next rebuild may have somewhat more nodes.
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
        self.state.measures = measures;
    }

    /// Sorts copies that fill inner nodes by their indices, as nearest-neighbour searches expect.
    fn sort_copies(&mut self) {
        let mut at = 0;
        while at < self.end() {
            if self.is_leaf(at) || !self.is_degenerate(at) {
                // A subtree without copies is skipped as a whole.
                at = if self.state.measures[at].has_copies { at + 1 } else { self.nodes[at].rope as usize };
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
    let built = match tree.state.built {
        Some(built) => built,
        None => tree.built_cost(),
    };
    let mut clear_on_drop = ClearOnDrop::new(tree);
    let tree = clear_on_drop.tree();
    if !T::IS_POINT && tree.hi.is_none() {
        tree.hi = Some(std::array::from_fn(|_| zeroed(primitives.len() + LANES)));
    }
    if !tree.store_positions(primitives) {
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
    let measures = &tree.state.measures;
    for_parts(measures.len(), TASK, (&mut tree.nodes[..measures.len()], &measures[..]), &|(nodes, measures)| {
        nodes.iter_mut().zip(measures).for_each(|(node, measure)| node.bounds = measure.bounds);
    });
    if let Some(root) = measures.first() {
        (tree.state.built, tree.state.degradation) = (Some(built), ratio(root.area, built.sum));
    }
    tree.sort_copies();
    clear_on_drop.finish();
    mark("boxes");
    Ok(())
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Stores the new places of the primitives; `false` if one of them can no longer be stored.
    fn store_positions<T: Bounded<S, D>>(&mut self, primitives: &[T]) -> bool {
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
                // `false` if a coordinate is NaN.
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

/// The largest magnitude of a stored coordinate.
fn limit<S: Scalar>() -> S {
    S::from_f64(S::LIMIT)
}

/// Returns `true` if all primitives are points that can be stored; `false` for boxes, which `check` then inspects.
fn are_sound<T: Bounded<S, D>, S: Scalar, const D: usize>(primitives: &[T]) -> bool {
    let Some(points) = T::as_points(primitives) else { return false };
    let are_sound = |range: Range<usize>| {
        dispatch!(_isa => {
            // Inspects all coordinates without an early exit, which compiles to a loop of vector instructions.
            let mut within = true;
            for x in points[range].as_flattened() {
                within &= x.abs() <= limit();
            }
            within
        })
    };
    fold_tasks(0..points.len(), 4 * TASK, &are_sound, &|a, b| a & b)
}

/// Folds values with `join` in eight lanes.
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

/// The side lengths of a box.
fn extents<S: Scalar, const D: usize>(bounds: &Aabb<S, D>) -> [f64; D] {
    std::array::from_fn(|k| Into::<f64>::into(bounds.hi[k]) - Into::<f64>::into(bounds.lo[k]))
}

/// Half the surface of a box with lengths in `unit`.
fn half_surface<S: Scalar, const D: usize>(bounds: &Aabb<S, D>, unit: f64) -> f64 {
    // The limit prevents overflow of products of nine sides.
    let sides = extents(bounds).map(|side| (side / unit).min(1e30));
    if D == 1 {
        return sides[0];
    }
    let without = |k: usize| (0..D).filter(|&j| j != k).map(|j| sides[j]).product::<f64>();
    (0..D).map(without).sum()
}

/// The ratio of two costs; 1 if they are equal, which includes two zeros.
fn ratio(cost: f64, before: f64) -> f64 {
    if cost == before { 1.0 } else { cost / before }
}
