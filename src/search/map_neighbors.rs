//! Maps each stored primitive and its neighbours to a value, without storing the neighbours.
//!
//! Input: a radius and a function. Output: the values of the function in the order of the slice from which the tree
//! was built.
//! The walk of a leaf is that of the neighbour search. The neighbours of a primitive are sorted by index before the
//! function gets them. Sums over them are therefore the same in every run, with any number of threads, and for any
//! other tree of the same points.
//! Cost: that of the neighbour search, and a sort of each list.
//! Memory: a lock and a value per primitive (16 bytes for a value of 8 bytes), or only the values if they are written
//! into a vector. In addition, one list per task.
#![allow(unsafe_code)] // To write values in place (see `RowWriter`).

use std::any::Any;
use std::ops::Range;
use std::sync::OnceLock;

use super::neighbors::{Lists, NeighborAt, TASK, list_leaves, reached};
use crate::bvh::Bvh;
use crate::bvh::traverse::bits;
use crate::csr::RowWriter;
use crate::geometry::Scalar;
use crate::memory::{append, collected};
use crate::parallel::for_tasks;
use crate::precompiled::precompiled;
use crate::search::radius_test::{RadiusTests, with_radius_test};
use crate::simd::{Isa, dispatch};

/// A callback with the index of a primitive and the vector of its neighbours, called in parallel.
type NeighborsCallback<'a> = &'a (dyn Fn(u32, &dyn Any) + Sync);

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Calls `value` with the index and the neighbours of each stored primitive, in parallel. Returns one result per
    /// primitive, in the order of the slice from which the tree was built.
    ///
    /// The neighbours are those of [`Bvh::neighbors`]: within `radius`, inclusive, including the primitive itself
    /// with an offset of 0. They are sorted by index, so that a sum over them is the same in every run. If the radius
    /// is negative or NaN, the lists are empty. The distance of two boxes is the gap between them.
    ///
    /// Cost: that of [`Bvh::neighbors`], and a sort of each list. No list is stored, and none is allocated for each
    /// primitive.
    ///
    /// ```
    /// // The forces on points in a periodic box, each connected to its neighbours by springs of length 0.
    /// let bvh = ropewalk::Bvh::build_periodic(&[[0.5f32], [9.5], [2.0]], 10.0)?;
    /// let forces = bvh.map_neighbors(1.5, |_, near| near.iter().map(|near| near.offset[0]).sum::<f64>());
    /// assert_eq!(forces, [0.5, 1.0, -1.5]);
    /// let others = bvh.map_neighbors(1.0, |i, near| near.iter().filter(|near| near.index != i).count());
    /// assert_eq!(others, [1, 1, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn map_neighbors<T: Send + Sync>(
        &self,
        radius: impl Into<f64>,
        value: impl Fn(u32, &[NeighborAt<D>]) -> T + Sync,
    ) -> Vec<T> {
        let values: Vec<OnceLock<T>> = collected((0..self.len()).map(|_| OnceLock::new()));
        each_list(self, radius.into(), &|index, near| match near.downcast_ref::<Vec<NeighborAt<D>>>() {
            Some(near) => _ = values[index as usize].set(value(index, near)),
            None => unreachable!("the dimensions are equal"),
        });
        values.into_iter().filter_map(OnceLock::into_inner).collect()
    }

    /// Calls `value` with the index and the neighbours of each stored primitive, in parallel, and overwrites `values`
    /// with the results. Neighbours and order are those of [`map_neighbors`](Self::map_neighbors).
    ///
    /// Nothing is allocated if the vector has held as many values before and lists have at most two thousand
    /// neighbours. The tree keeps the scratch memory of threads, at most 1 MiB each.
    ///
    /// ```
    /// let mut bvh = ropewalk::Bvh::build_periodic(&[[0.5f32], [9.5], [2.0]], 10.0)?;
    /// let mut sums = vec![];
    /// for x in [2.0, 3.0] {
    ///     bvh.refit(&[[0.5], [9.5], [x]])?;
    ///     bvh.map_neighbors_into(1.5, |_, near| near.iter().map(|near| near.offset[0]).sum::<f64>(), &mut sums);
    /// }
    /// assert_eq!(sums, [-1.0, 1.0, 0.0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn map_neighbors_into<T: Default + Send>(
        &self,
        radius: impl Into<f64>,
        value: impl Fn(u32, &[NeighborAt<D>]) -> T + Sync,
        values: &mut Vec<T>,
    ) {
        values.resize_with(self.len(), T::default);
        let slots = RowWriter::over(values);
        each_list(self, radius.into(), &|index, near| match near.downcast_ref::<Vec<NeighborAt<D>>>() {
            // SAFETY: no two threads write the same row. Each leaf belongs to one task, each primitive to one leaf,
            // and `Bvh::order` contains each index once.
            Some(near) => unsafe { slots.replace(index as usize, value(index, near)) },
            None => unreachable!("the dimensions are equal"),
        });
    }
}

precompiled! {
    fn each_list = each_list_of(tree: same_ref &Bvh<S, D>, radius: keep f64, visit: keep NeighborsCallback<'_>) -> ()
}

fn each_list_of<S: Scalar, const D: usize>(tree: &Bvh<S, D>, radius: f64, visit: NeighborsCallback<'_>) {
    tree.kept().reserve::<Lists<'static, S, D>>(tree.end().div_ceil(TASK));
    let tests = RadiusTests::new(tree, radius);
    for_tasks(tree.end(), TASK, &|nodes: Range<usize>| {
        Lists::with_kept(tree, |lists| {
            dispatch!(isa => for leaf in nodes {
                if tree.is_leaf(leaf) {
                    lists.near.clear();
                    each_of_leaf(tree, isa, &tests, leaf, lists, visit);
                }
            });
        });
    });
}

/// Calls `visit` with each primitive of a leaf.
#[inline(always)]
fn each_of_leaf<'t, S: Scalar, I: Isa, const D: usize>(
    tree: &'t Bvh<S, D>,
    isa: I,
    tests: &RadiusTests<S, D>,
    leaf: usize,
    lists: &mut Lists<'t, S, D>,
    visit: NeighborsCallback<'_>,
) {
    with_radius_test!(I, tests, tree.node(leaf), |test| {
        list_leaves(tree, isa, test, leaf, &mut lists.near);
        for (i, position) in tree.span(leaf).enumerate() {
            lists.hits.clear();
            let item = tree.item(position);
            for there in reached(&lists.near, i) {
                let hits = bits(test.hits(isa, &item, there)).map(|bit| there.first + bit);
                append(&mut lists.hits, hits.map(|at| u64::from(tree.order()[at]) << 32 | at as u64));
            }
            lists.call(tree, position, visit);
        }
    });
}

impl<S: Scalar, const D: usize> Lists<'_, S, D> {
    /// Calls `visit` with a primitive and its sorted hits.
    #[inline(never)]
    fn call(&mut self, tree: &Bvh<S, D>, position: usize, visit: NeighborsCallback<'_>) {
        let space = tree.space();
        let own = tree.item(position);
        self.hits.sort_unstable();
        self.neighbors.clear();
        self.neighbors.extend(self.hits.iter().map(|&hit| {
            let other = tree.item(hit as u32 as usize);
            let offset =
                if tree.holds_points() { space.offset(&own.lo, &other.lo) } else { space.min_offset(&own, &other) };
            NeighborAt { index: (hit >> 32) as u32, distance2: offset.iter().fold(0.0, |sum, d| sum + d * d), offset }
        }));
        visit(tree.order()[position], &self.neighbors);
    }
}
