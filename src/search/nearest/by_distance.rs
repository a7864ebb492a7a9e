//! Nearest neighbours by a distance of the caller, or among primitives that the caller selects.
//!
//! Input: a point, and a function from indices to squared distances. Output: neighbours, nearest first, ties by
//! index.
//! The search from the root (`top_down`) uses the distances of boxes, which are lower bounds. The function is called
//! for the primitives of a leaf in the order of these bounds, so that few calls are made.
//! Cost: that of the search by boxes, and a call for each primitive whose box is nearer than the k-th neighbour:
//! about k for compact shapes.

use std::ops::Range;

use crate::bvh::traverse::bits;
use crate::bvh::{Bvh, DEPTH, LEAF, copied};
use crate::csr::Csr;
use crate::geometry::{Aabb, Bounded, Scalar};
use crate::memory::append;
use crate::precompiled::precompiled;
use crate::search::nearest::nearer_first::LeafVisitor;
use crate::search::nearest::of_box::{self, Distance2};
use crate::search::nearest::{ExactHeap, Excluded, Nearest, Neighbor, lists_along_curve};
use crate::search::radius_test::RadiusTest;
use crate::simd::{Isa, dispatch};

precompiled! {
    /// Appends the nearest neighbours of a point by the caller's distances, nearest first, ties by index.
    pub(super) fn search_by = search_by_in(
        tree: same_ref &Bvh<S, D>, of: same_ref &Aabb<S, D>, options: keep &Nearest, excluded: keep Option<u32>, distance2: keep Distance2<'_>,
        found: keep &mut Vec<Neighbor>
    ) -> ()
}

fn search_by_in<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    of: &Aabb<S, D>,
    options: &Nearest,
    excluded: Option<u32>,
    distance2: Distance2<'_>,
    found: &mut Vec<Neighbor>,
) {
    // A NaN would compare false with everything, and so be near to everything.
    if tree.is_empty() || !of.is_finite() {
        return;
    }
    // The caller's function may start a search, too, which then finds no kept heap.
    let mut best = ExactHeap::take_kept();
    best.reset(options);
    if of_box::is_needed(tree, of) {
        of_box::search_of_box(tree, of, excluded, distance2, &mut best);
    } else {
        let of = tree.space().wrap_box(*of);
        let scale = tree.scale_for_neighborhood(&of, &best);
        dispatch!(isa => {
            let test = RadiusTest::<S, D, true>::scaled(tree, 0.0, scale);
            let limit = test.limit(best.limit());
            let mut search = ByDistance { tree, test: &test, of, excluded, distance2, best: &mut best, limit };
            tree.search_downwards::<_, true, DEPTH>(isa, &test, &of, &mut search);
        });
    }
    best.sort();
    append(found, best.neighbors());
    best.keep();
}

/// A search by distances of the caller.
struct ByDistance<'a, S, const D: usize> {
    tree: &'a Bvh<S, D>,
    test: &'a RadiusTest<'a, S, D, true>,
    of: Aabb<S, D>,
    excluded: Option<u32>,
    distance2: Distance2<'a>,
    best: &'a mut ExactHeap,
    limit: S,
}

impl<S: Scalar, const D: usize> ByDistance<'_, S, D> {
    /// Requests the distance of a primitive. Returns `false` if the primitive is too far by its box.
    fn push(&mut self, position: usize, to_box: f64) -> bool {
        let index = self.tree.order()[position];
        if !self.best.accepts(to_box, index) {
            return false;
        }
        if Some(index) != self.excluded
            && let Some(distance2) = (self.distance2)(index, to_box)
            && !distance2.is_nan()
        {
            // If a distance were rounded below that of the box, the result would depend on the order of the search.
            self.best.push(if distance2 > to_box { distance2 } else { to_box }, index);
        }
        true
    }
}

impl<S: Scalar, const D: usize> LeafVisitor<S, D, true> for ByDistance<'_, S, D> {
    #[inline(always)]
    fn limit(&self) -> S {
        self.limit
    }

    fn is_blurred(&self) -> bool {
        false
    }

    #[inline(always)]
    fn scan_leaf<I: Isa>(&mut self, isa: I, span: Range<usize>) {
        let mut candidates = [(0.0, 0); LEAF];
        let mut len = 0;
        for bit in bits(self.test.within_limit(isa, &self.of, &self.tree.blocks(&span), self.limit)) {
            candidates[len] = (self.test.distance2(&self.of, span.start + bit), span.start + bit);
            len += 1;
        }
        let candidates = &mut candidates[..len];
        candidates.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        for &mut (to_box, position) in candidates {
            self.push(position, to_box);
        }
        if len > 0 {
            self.limit = self.test.limit(self.best.limit());
        }
    }

    /// Copies of one point may have any distances, but once the box of one is too far, so are all later ones.
    #[cold]
    #[inline(never)]
    fn scan_copies(&mut self, mut span: Range<usize>) {
        let to_box = self.test.distance2(&self.of, span.start);
        span.all(|position| self.push(position, to_box));
        self.limit = self.test.limit(self.best.limit());
    }
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Finds the `k` stored primitives nearest to a point by the distances that `distance2` returns, nearest first,
    /// ties by index.
    ///
    /// `distance2` returns the squared distance of an index, or `None` to skip it. A radius in `options` is inclusive,
    /// and a NaN distance is never near.
    ///
    /// `distance2` is called only for the few primitives with near boxes. A primitive lies in its box. A distance below
    /// that to the box, as [`Space::min_distance2`](crate::geometry::Space::min_distance2) computes it, therefore
    /// counts as rounded, and is replaced by that to the box. In a periodic box, distances to boxes are those to the
    /// nearest image, and yours must be, too.
    ///
    /// ```
    /// use ropewalk::{Bvh, Sphere};
    ///
    /// let balls = [Sphere::new([0.0f32, 0.0], 5.0), Sphere::new([6.0, 6.0], 1.0)];
    /// let bvh = Bvh::build(&balls)?;
    /// // The point lies in the box of the first sphere, but is nearer to the second sphere.
    /// let near = bvh.nearest_by([5.0f32, 5.0], 1, |i| {
    ///     let ball = &balls[i as usize];
    ///     let [x, y] = ball.center.map(|c| 5.0 - f64::from(c));
    ///     Some((x.hypot(y) - ball.radius).max(0.0).powi(2))
    /// });
    /// assert_eq!(near[0].index, 1);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest_by(
        &self,
        point: impl Into<[S; D]>,
        options: impl Into<Nearest>,
        mut distance2: impl FnMut(u32) -> Option<f64>,
    ) -> Vec<Neighbor> {
        self.nearest_of_some(point.into(), options.into(), &mut |index, _| distance2(index))
    }

    /// Finds the `k` stored primitives nearest to a point for which `keep` returns `true`, in the order of
    /// [`Bvh::nearest`]. `keep` is called for few.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32], [1.0], [2.0], [4.0]])?;
    /// let near = bvh.nearest_where([0.0f32], 2, |i| i % 2 == 1);
    /// assert_eq!(near.iter().map(|near| near.index).collect::<Vec<_>>(), [1, 3]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest_where(
        &self,
        point: impl Into<[S; D]>,
        options: impl Into<Nearest>,
        mut keep: impl FnMut(u32) -> bool,
    ) -> Vec<Neighbor> {
        self.nearest_of_some(point.into(), options.into(), &mut |index, to_box| keep(index).then_some(to_box))
    }

    /// Finds the `k` stored primitives nearest to each point by the distances that `distance2` returns, in parallel.
    /// Returns one list per point, in the order of `points`.
    ///
    /// `distance2` gets the index of a point and the index of a primitive. See [`Bvh::nearest_by`].
    ///
    /// ```
    /// let (points, weights) = ([[0.0f64], [1.0], [5.0]], [4.0, 1.0, 1.0]);
    /// let bvh = ropewalk::Bvh::build(&points)?;
    /// // Weights of at least 1 make distances longer, never shorter.
    /// let near = bvh.nearest_all_by(&[[0.25], [3.5]], 1, |of, i| {
    ///     let at: f64 = [0.25, 3.5][of] - points[i as usize][0];
    ///     Some(weights[i as usize] * at * at)
    /// });
    /// assert_eq!(near.values().iter().map(|near| near.index).collect::<Vec<_>>(), [0, 2]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest_all_by<T: Bounded<S, D>>(
        &self,
        points: &[T],
        options: impl Into<Nearest>,
        distance2: impl Fn(usize, u32) -> Option<f64> + Sync,
    ) -> Csr<Neighbor> {
        let (of, options) = (copied(points, Bounded::bounds), options.into());
        lists_along_curve(self, &of, &|query, found| {
            let excluded = options.excluded_for(query);
            let mut to_index = |index, _| distance2(query as usize, index);
            search_by(self, &of[query as usize], &options, excluded, &mut to_index, found);
        })
    }

    fn nearest_of_some(&self, point: [S; D], options: Nearest, distance2: Distance2<'_>) -> Vec<Neighbor> {
        let mut found = vec![];
        let excluded = if let Excluded::Index(index) = options.excluded { Some(index) } else { None };
        search_by(self, &Aabb::point(point), &options, excluded, distance2, &mut found);
        found
    }
}
