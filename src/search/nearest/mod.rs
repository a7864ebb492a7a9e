//! The k nearest primitives.
//!
//! Input: a point and `k`, or all stored primitives. Output: neighbours, nearest first, ties by index.
//! Points that need not be stored are searched from the root downwards, nearer child first (`top_down`, `closest` for
//! a single neighbour, `by_distance` for distances of the caller). These searches share one traversal
//! (`nearer_first`).
//! Stored primitives are searched from their leaf upwards, all of a leaf at once (`bottom_up`). Each sibling of the
//! path is walked along its ropes, with the distance of the k-th best so far as radius.
//! Cost: O(k + depth) leaves for a compact point cloud. A stack holds one node per level and cannot overflow, because
//! a tree is at most 222 levels deep.
#![allow(unsafe_code)] // To write lists in place (see `RowWriter`); they start as zeros.

mod approx_heap;
mod bottom_up;
mod by_distance;
mod closest;
mod each;
pub(crate) mod errors;
mod exact_heap;
mod kth_distance;
mod nearer_first;
mod neighbor;
mod of_box;
mod options;
mod top_down;

use crate::cancel::guarded;
use std::ops::Range;

use bottom_up::LeafScratch;
pub(crate) use bottom_up::NearestVisitor;
pub(crate) use exact_heap::ExactHeap;
pub(crate) use kth_distance::kth_distances2;
pub use neighbor::Neighbor;
pub(crate) use options::Excluded;
pub use options::Nearest;
use top_down::search;
pub(crate) use top_down::search_in;

use crate::bvh::morton::{Grid, curve_order};
use crate::bvh::{Bvh, copied};
use crate::csr::{Csr, CsrChunk};
use crate::error::Result;
use crate::geometry::{Aabb, Bounded, Scalar};
use crate::memory::append;
use crate::parallel::{Scratch, for_tasks, map_tasks};
use crate::precompiled::precompiled;
use crate::simd::dispatch;

/// Queries per parallel task.
const TASK: usize = 1 << 9;

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Finds the `k` stored primitives nearest to a point, nearest first, ties by index. For boxes, the distance is
    /// that to the box.
    ///
    /// `options` is `k` or a [`Nearest`]. A NaN point has no neighbours.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32, 0.0], [3.0, 0.0], [1.0, 0.0]])?;
    /// let near = bvh.nearest([0.9f32, 0.0], 2);
    /// assert_eq!((near[0].index, near[1].index), (2, 0));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest(&self, point: impl Into<[S; D]>, options: impl Into<Nearest>) -> Vec<Neighbor> {
        let mut found = Vec::new();
        self.nearest_into(point, options, &mut found);
        found
    }

    /// Finds the `k` stored primitives nearest to a point, as [`nearest`](Self::nearest) does, and overwrites `found`
    /// with them.
    ///
    /// Made for loops with one query at a time: if `found` has held as many neighbours before, nothing is allocated,
    /// for `k` up to 32 thousand. The thread keeps the scratch memory of a search, at most 1 MiB.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32, 0.0], [3.0, 0.0], [1.0, 0.0]])?;
    /// let (mut found, mut sum) = (vec![], 0.0);
    /// for x in [0.9f32, 2.5] {
    ///     bvh.nearest_into([x, 0.0], 1, &mut found);
    ///     sum += found[0].distance2;
    /// }
    /// assert!((sum - 0.26).abs() < 1e-6);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest_into(&self, point: impl Into<[S; D]>, options: impl Into<Nearest>, found: &mut Vec<Neighbor>) {
        let options = options.into();
        let excluded = if let Excluded::Index(index) = options.excluded { Some(index) } else { None };
        found.clear();
        search(self, &Aabb::point(point.into()), &options, excluded, found);
    }

    /// Finds the `k` stored primitives nearest to each of many points, in parallel. Returns one list per point, in the
    /// order of `points`.
    ///
    /// ```
    /// use ropewalk::{Bvh, Nearest};
    ///
    /// let points = [[0.0f32], [1.0], [5.0]];
    /// let graph = Bvh::build(&points)?.nearest_all(&points, Nearest::new(1).excluding_self());
    /// assert_eq!(graph.values().iter().map(|n| n.index).collect::<Vec<_>>(), [1, 0, 1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest_all<T: Bounded<S, D>>(&self, points: &[T], options: impl Into<Nearest>) -> Csr<Neighbor> {
        let queries = copied(points, Bounded::bounds);
        lists_of_queries(self, &queries, &options.into())
    }

    /// Finds the nearest primitives of each stored primitive, in parallel. Returns one list per primitive, in the order
    /// of the slice from which the tree was built.
    ///
    /// `options` is `k` or a [`Nearest`]. A primitive counts as its own neighbour, unless
    /// [`Nearest::excluding_self`] is set.
    ///
    /// The result equals that of `nearest_all(points, options)`, without sorting the points again.
    ///
    /// ```
    /// use ropewalk::{Bvh, Nearest};
    ///
    /// let graph = Bvh::build(&[[0.0f32], [1.0], [5.0]])?.nearest_neighbors(Nearest::new(1).excluding_self());
    /// assert_eq!(graph.values().iter().map(|n| n.index).collect::<Vec<_>>(), [1, 0, 1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Panics
    /// If memory for the lists (16 bytes per neighbour) cannot be allocated, as for any vector.
    /// [`Bvh::try_nearest_neighbors`] returns an error instead.
    pub fn nearest_neighbors(&self, options: impl Into<Nearest>) -> Csr<Neighbor> {
        // Not guarded: a cancelled call unwinds to the caller.
        lists_of_stored(self, &options.into()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Finds the nearest primitives of each stored primitive, as [`nearest_neighbors`](Self::nearest_neighbors) does,
    /// but returns an error instead of panicking if memory for the lists is missing.
    ///
    /// # Errors
    /// Memory for `k` neighbours of each primitive cannot be allocated.
    ///
    /// ```
    /// use ropewalk::Bvh;
    ///
    /// let bvh = Bvh::build(&[[0.0f32], [1.0], [5.0]])?;
    /// assert_eq!(bvh.try_nearest_neighbors(2)?.of(2)[1].index, 1);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn try_nearest_neighbors(&self, options: impl Into<Nearest>) -> Result<Csr<Neighbor>> {
        guarded(|| lists_of_stored(self, &options.into()))
    }

    /// Returns `true` if each stored primitive has as many neighbours as requested.
    fn has(&self, options: &Nearest) -> bool {
        let others = self.len().saturating_sub(usize::from(options.excluded != Excluded::Nothing));
        options.radius == f64::INFINITY && options.k <= others
    }
}

precompiled! {
    fn lists_of_stored = stored(tree: same_ref &Bvh<S, D>, options: keep &Nearest) -> Result<Csr<Neighbor>>
}
precompiled! {
    fn lists_of_queries = queries(
        tree: same_ref &Bvh<S, D>, of: same_ref &Vec<Aabb<S, D>>, options: keep &Nearest
    ) -> Csr<Neighbor>
}

fn stored<S: Scalar, const D: usize>(tree: &Bvh<S, D>, options: &Nearest) -> Result<Csr<Neighbor>> {
    let scratch = Scratch::new(LeafScratch::new);
    let order = tree.order();
    if tree.has(options) {
        return Csr::from_rows(tree.len(), options.k, |rows| {
            for_tasks(tree.end(), TASK, &|nodes| {
                scratch.with(|scratch| {
                    // Rows are scattered in memory. Prefetched, they are in the cache when they are written.
                    let ahead = |leaf| tree.span(leaf).for_each(|position| rows.prefetch(order[position] as usize));
                    nearest_of_leaves(tree, nodes, options, scratch, &ahead, &mut |position, best| {
                        // SAFETY: no two threads write the same row. Each leaf belongs to one task, each primitive to
                        // one leaf, and `order` contains each index once.
                        unsafe { rows.write(order[position] as usize, best.neighbors()) }
                    });
                });
            });
        });
    }
    let chunks = map_tasks(tree.end(), TASK, &|nodes| {
        let mut chunk = CsrChunk::default();
        scratch.with(|scratch| {
            nearest_of_leaves(tree, nodes, options, scratch, &|_| (), &mut |_, best| {
                append(&mut chunk.values, best.neighbors());
                chunk.lengths.push(best.len() as u32);
            });
        });
        chunk
    });
    Ok(Csr::gather(order, &chunks))
}

/// Calls `found` with the position of each stored primitive and its nearest neighbours, in parallel.
pub(crate) fn for_each_stored<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    options: &Nearest,
    found: &(dyn Fn(usize, &ExactHeap) + Sync),
) {
    let scratch = Scratch::new(LeafScratch::new);
    for_tasks(tree.end(), TASK, &|nodes| {
        scratch.with(|scratch| {
            nearest_of_leaves(tree, nodes, options, scratch, &|_| (), &mut |position, best| found(position, best));
        });
    });
}

/// Folds the position of each stored primitive and its nearest neighbours with `add`, in parallel. Returns one value
/// per task.
pub(crate) fn fold_stored<S: Scalar, const D: usize, T: Default + Send + Sync>(
    tree: &Bvh<S, D>,
    options: &Nearest,
    add: &(dyn Fn(&mut T, usize, &ExactHeap) + Sync),
) -> Vec<T> {
    let scratch = Scratch::new(LeafScratch::new);
    map_tasks(tree.end(), TASK, &|nodes| {
        let mut value = T::default();
        scratch.with(|scratch| {
            nearest_of_leaves(tree, nodes, options, scratch, &|_| (), &mut |position, best| {
                add(&mut value, position, best)
            });
        });
        value
    })
}

/// Calls `ahead` with each leaf before its search, and `found` with each of its primitives and its nearest
/// neighbours.
fn nearest_of_leaves<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    nodes: Range<usize>,
    options: &Nearest,
    scratch: &mut LeafScratch,
    ahead: &dyn Fn(usize),
    found: &mut dyn FnMut(usize, &ExactHeap),
) {
    dispatch!(isa => for leaf in nodes {
        if tree.is_leaf(leaf) {
            ahead(leaf);
            tree.nearest_of_leaf(isa, leaf, options, scratch, found);
        }
    });
}

#[allow(clippy::ptr_arg, reason = "a door takes no slices of boxes")]
fn queries<S: Scalar, const D: usize>(tree: &Bvh<S, D>, of: &Vec<Aabb<S, D>>, options: &Nearest) -> Csr<Neighbor> {
    lists_along_curve(tree, of, &|query, found| {
        search_in(tree, &of[query as usize], options, options.excluded_for(query), found);
    })
}

/// The lists that `append` finds for the queries, in parallel. Queries are processed along the curve.
fn lists_along_curve<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    of: &[Aabb<S, D>],
    append: &(dyn Fn(u32, &mut Vec<Neighbor>) + Sync),
) -> Csr<Neighbor> {
    let grid = Grid::over(&tree.bounds());
    let order = curve_order(of.len(), &grid, |query| of[query].lo);
    let chunks = map_tasks(order.len(), TASK, &|range| {
        let mut chunk = CsrChunk::default();
        for &query in &order[range] {
            let before = chunk.values.len();
            append(query, &mut chunk.values);
            chunk.lengths.push((chunk.values.len() - before) as u32);
        }
        chunk
    });
    Csr::gather(&order, &chunks)
}
