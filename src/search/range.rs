//! Range queries: the primitives that meet a sphere, a box, or your own shape.
//!
//! Input: one query, or many. Output: an iterator of indices; for many queries counts, lists or a parallel callback.
//! The state of the iterator is a node index and the remaining hits of a leaf, so that it allocates nothing and
//! stopping early is free.
//! Cost: O(depth + hits / leaf size) for a compact query.

use std::iter::FusedIterator;
use std::ops::{ControlFlow, Range};

use crate::bvh::Bvh;
use crate::bvh::morton::{Grid, curve_order};
use crate::bvh::traverse::Step;
use crate::csr::{Csr, CsrChunk};
use crate::geometry::{Aabb, Query, Scalar};
use crate::memory::{append, collected, zeroed};
use crate::parallel::{for_tasks, map_tasks};
use crate::search::radius_test::RadiusTest;
use crate::simd::{Baseline, dispatch};

/// The hits of one query: an iterator over indices into the slice from which the tree was built.
///
/// The order is unspecified, but the same in every run. `nth` and `count` skip hits without visiting each one.
#[derive(Clone)]
pub struct Hits<'a, S, const D: usize, Q> {
    tree: &'a Bvh<S, D>,
    query: Q,
    /// The next node.
    at: usize,
    /// Hits found but not yet returned: a whole range of positions, or bits of `mask` for the positions from `first`
    /// on.
    run: Range<usize>,
    first: usize,
    mask: u32,
}

impl<S: Scalar, const D: usize, Q: Query<S, D>> Hits<'_, S, D, Q> {
    /// Walks to the next hits. Returns `false` at the end.
    #[inline]
    fn advance(&mut self) -> bool {
        let Self { tree, query, .. } = self;
        let space = tree.space();
        let (mut next, mut run, mut first, mut mask) = (tree.end(), 0..0, 0, 0);
        tree.walk(
            self.at..tree.end(),
            #[inline(always)]
            |at, node| {
                if !query.may_meet(&node.bounds, space) {
                    return Step::Skip;
                }
                if query.covers(&node.bounds, space) {
                    (next, run) = (node.rope as usize, tree.span(at));
                    return Step::Stop;
                }
                if tree.is_leaf(at) {
                    let span = tree.span(at);
                    mask = hits_in_leaf(tree, query, span.clone());
                    if mask != 0 {
                        (next, first) = (at + 1, span.start);
                        return Step::Stop;
                    }
                }
                Step::Enter
            },
        );
        (self.at, self.run, self.first, self.mask) = (next, run, first, mask);
        self.pending() > 0
    }

    #[inline]
    fn pop(&mut self) -> Option<u32> {
        let position = if self.mask != 0 {
            let bit = self.mask.trailing_zeros() as usize;
            self.mask &= self.mask - 1;
            self.first + bit
        } else {
            self.run.next()?
        };
        Some(self.tree.order()[position])
    }
}

impl<S, const D: usize, Q> Hits<'_, S, D, Q> {
    pub(super) fn query(&self) -> &Q {
        &self.query
    }

    fn pending(&self) -> usize {
        self.run.len() + self.mask.count_ones() as usize
    }
}

impl<S: Scalar, const D: usize, Q: Query<S, D>> Iterator for Hits<'_, S, D, Q> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(hit) = self.pop() {
                return Some(hit);
            }
            if !self.advance() {
                return None;
            }
        }
    }

    fn nth(&mut self, mut n: usize) -> Option<u32> {
        loop {
            let pending = self.pending();
            if n < pending {
                if self.mask == 0 {
                    self.run.start += n;
                } else {
                    (0..n).for_each(|_| self.mask &= self.mask - 1);
                }
                return self.pop();
            }
            n -= pending;
            (self.run, self.mask) = (0..0, 0);
            if !self.advance() {
                return None;
            }
        }
    }

    fn count(mut self) -> usize {
        let mut count = self.pending();
        (self.run, self.mask) = (0..0, 0);
        while self.advance() {
            count += self.pending();
            (self.run, self.mask) = (0..0, 0);
        }
        count
    }
}

impl<S: Scalar, const D: usize, Q> std::fmt::Debug for Hits<'_, S, D, Q> {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Hits").field("node", &self.at).field("pending", &self.pending()).finish_non_exhaustive()
    }
}

/// A mask of the primitives of a leaf that a shape meets.
#[inline]
fn hits_in_leaf<S: Scalar, const D: usize>(tree: &Bvh<S, D>, query: &impl Query<S, D>, span: Range<usize>) -> u32 {
    let Some(ball) = query.as_ball() else {
        let meets = |position: usize| query.meets(&tree.item(position), tree.space());
        return span.clone().filter(|&position| meets(position)).fold(0, |hits, at| hits | 1 << (at - span.start));
    };
    let center = Aabb::point(tree.space().wrap(ball.center));
    if tree.space().period().is_some() {
        RadiusTest::<S, D, true>::new(tree, ball.radius).hits(Baseline::<false>, &center, &tree.blocks(&span))
    } else {
        RadiusTest::<S, D, false>::new(tree, ball.radius).hits(Baseline::<false>, &center, &tree.blocks(&span))
    }
}

impl<S: Scalar, const D: usize, Q: Query<S, D>> FusedIterator for Hits<'_, S, D, Q> {}

/// Queries per parallel task.
pub(super) const TASK: usize = 1 << 9;

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Finds the primitives that meet a shape: points in a sphere or box (boundary included), and boxes that touch it.
    /// Returns an iterator over their indices, in unspecified order.
    ///
    /// In a periodic box each primitive is found once, by its nearest image. The iterator walks as it is read, so
    /// that iterator methods can stop the search early:
    ///
    /// ```
    /// use ropewalk::{Bvh, Sphere};
    ///
    /// let bvh = Bvh::build(&[[0.0f32, 0.0], [1.0, 0.0], [0.0, 1.0]])?;
    /// let ball = Sphere::new([0.0f32, 0.0], 1.0);
    /// assert_eq!(bvh.query(ball).count(), 3);
    /// let is_core = bvh.query(ball).nth(2 - 1).is_some(); // stops at the second hit
    /// assert!(is_core);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn query<Q: Query<S, D>>(&self, query: Q) -> Hits<'_, S, D, Q> {
        Hits { tree: self, query, at: 0, run: 0..0, first: 0, mask: 0 }
    }

    /// Lists the primitives that meet each of many shapes, in parallel. Returns one list of indices per shape, in the
    /// order of `queries`. See [`Csr`].
    pub fn query_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Csr<u32> {
        self.query_all_where(queries, |_, _| true)
    }

    /// The hits of every query for which `keep` returns `true`, given the index of the query and the hit.
    pub(super) fn query_all_where<Q: Query<S, D>>(
        &self,
        queries: &[Q],
        keep: impl Fn(usize, u32) -> bool + Sync,
    ) -> Csr<u32> {
        let order = self.walk_order(queries);
        let chunks = map_tasks(order.len(), TASK, &|range| {
            let mut chunk = CsrChunk::default();
            dispatch!(_isa => for &query in &order[range] {
                let before = chunk.values.len();
                let query = query as usize;
                append(&mut chunk.values, self.query(&queries[query]).filter(|&hit| keep(query, hit)));
                chunk.lengths.push((chunk.values.len() - before) as u32);
            });
            chunk
        });
        Csr::gather(&order, &chunks)
    }

    /// Counts the primitives that meet each of many shapes, in parallel. Returns one count per shape, in the order of
    /// `queries`.
    ///
    /// ```
    /// use ropewalk::{Aabb, Bvh};
    ///
    /// let bvh = Bvh::build(&[[0.0f32], [1.0], [7.0]])?;
    /// assert_eq!(bvh.count_all(&[Aabb::new([0.0f32], [1.0]), Aabb::new([2.0f32], [3.0])]), [2, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn count_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Vec<u32> {
        let order = self.walk_order(queries);
        let counts: Vec<Vec<u32>> = map_tasks(order.len(), TASK, &|range| {
            let count = |&query: &u32| self.query(&queries[query as usize]).count() as u32;
            dispatch!(_isa => order[range].iter().map(count).collect())
        });
        let mut all = zeroed(queries.len());
        for (&query, count) in order.iter().zip(counts.into_iter().flatten()) {
            all[query as usize] = count;
        }
        all
    }

    /// Calls `visit` with the index of each query and each of its hits, in parallel over the queries, and stores
    /// nothing.
    ///
    /// `Break` ends that query, but not the others.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use ropewalk::{Bvh, Sphere};
    ///
    /// let bvh = Bvh::build(&[[0.0f32], [0.5], [7.0]])?;
    /// let visited = AtomicU32::new(0);
    /// bvh.for_each_hit(&[Sphere::new([0.0f32], 1.0)], |_query, _hit| {
    ///     visited.fetch_add(1, Ordering::Relaxed);
    ///     ControlFlow::Break(()) // one is enough
    /// });
    /// assert_eq!(visited.into_inner(), 1);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn for_each_hit<Q: Query<S, D>>(&self, queries: &[Q], visit: impl Fn(usize, u32) -> ControlFlow<()> + Sync) {
        let order = self.walk_order(queries);
        for_tasks(order.len(), TASK, &|range| {
            dispatch!(_isa => for &query in &order[range] {
                // `visit` may end the iteration early with `Break`, which is not an error.
                let _ = self.query(&queries[query as usize]).try_for_each(|hit| visit(query as usize, hit));
            });
        });
    }

    /// The order in which to process queries: along the curve, so that consecutive queries are near each other.
    pub(super) fn walk_order<Q: Query<S, D>>(&self, queries: &[Q]) -> Vec<u32> {
        let known = queries.first().is_some_and(|query| query.center().is_some());
        if self.is_empty() || !known {
            return collected(0..queries.len() as u32);
        }
        let grid = Grid::over(&self.bounds());
        curve_order(queries.len(), &grid, |query| queries[query].center().unwrap_or([S::ZERO; D]))
    }
}
