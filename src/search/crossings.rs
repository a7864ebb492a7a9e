//! The shapes that a ray crosses, in order along the ray: all of them, or the first k.
//!
//! Input: rays. Output: for each ray the shapes that it meets, with the part of the ray inside each, sorted by the
//! first parameter, then by index. The first k are kept in a heap, and nodes behind the last of them are skipped. Cost:
//! for all crossings, that of a query by the ray, and a sort of the hits. For k crossings, the nodes and hits in front
//! of the k-th.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::csr::{Csr, CsrChunk};
use crate::geometry::{Crossed, Ray, Scalar};
use crate::memory::collected;
use crate::parallel::map_tasks;
use crate::search::values::ValueBvh;

/// Rays per parallel task.
const TASK: usize = 1 << 7;

/// A stored shape that a ray crosses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Crossing {
    /// The index of the value in [`ValueBvh::values`].
    pub index: u32,
    /// The parameter `t` of the ray where it enters the shape, or its own first parameter inside the shape. It is at
    /// least the parameter where the ray enters the box of the shape.
    pub enter: f64,
    /// The parameter `t` where it leaves the shape, or its own last parameter inside the shape.
    pub leave: f64,
}

/// A crossing in the order along the ray.
struct InOrder(Crossing);

impl Ord for InOrder {
    fn cmp(&self, other: &Self) -> Ordering {
        // Parameters of crossings are not NaN.
        let by_enter = self.0.enter.partial_cmp(&other.0.enter).unwrap_or(Ordering::Equal);
        by_enter.then(self.0.index.cmp(&other.0.index))
    }
}

impl PartialOrd for InOrder {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for InOrder {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for InOrder {}

impl<T: Crossed<S, D>, S: Scalar, const D: usize> ValueBvh<T, S, D> {
    /// Finds the values that a ray crosses, in order along the ray: sorted by the parameter where it enters them, then by
    /// index.
    ///
    /// ```
    /// use ropewalk::{Aabb, Ray, ValueBvh};
    ///
    /// // Glass of different absorption.
    /// let panes = vec![(Aabb::new([2.0f32, 0.0], [4.0, 1.0]), 0.5), (Aabb::new([0.0, 0.0], [1.0, 1.0]), 0.25)];
    /// let bvh = ValueBvh::build(panes)?;
    /// let crossings = bvh.crossings(&Ray::new([-1.0, 0.5], [1.0, 0.0]));
    /// assert_eq!(crossings.iter().map(|pane| pane.index).collect::<Vec<_>>(), [1, 0]);
    /// let absorbed: f64 = crossings.iter().map(|c| (c.leave - c.enter) * bvh.values()[c.index as usize].1).sum();
    /// assert_eq!(absorbed, 1.25);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn crossings(&self, ray: &Ray<S, D>) -> Vec<Crossing> {
        self.k_crossings(ray, usize::MAX)
    }

    /// Finds the first `k` values that a ray crosses, in the order of [`ValueBvh::crossings`]; fewer if there are
    /// fewer.
    ///
    /// ```
    /// use ropewalk::{Aabb, Ray, ValueBvh};
    ///
    /// let panes = [2.0f32, 0.0, 5.0].map(|x| Aabb::new([x, 0.0], [x + 1.0, 1.0]));
    /// let bvh = ValueBvh::build(panes.to_vec())?;
    /// let first = bvh.k_crossings(&Ray::new([-1.0, 0.5], [1.0, 0.0]), 2);
    /// assert_eq!(first.iter().map(|pane| (pane.index, pane.enter)).collect::<Vec<_>>(), [(1, 1.0), (0, 3.0)]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Cost
    /// Boxes that the ray enters behind the `k`-th crossing so far are skipped. Memory: 24 bytes per crossing.
    pub fn k_crossings(&self, ray: &Ray<S, D>, k: usize) -> Vec<Crossing> {
        let mut found = vec![];
        self.append_crossings(ray, k, &mut found);
        found
    }

    /// Finds the values that each of many rays crosses, in parallel. Returns one list per ray, in the order of `rays`,
    /// each as of [`ValueBvh::crossings`].
    pub fn crossings_all(&self, rays: &[Ray<S, D>]) -> Csr<Crossing> {
        self.k_crossings_all(rays, usize::MAX)
    }

    /// Finds the first `k` values that each of many rays crosses, in parallel. Returns one list per ray, in the order
    /// of `rays`, each as of [`ValueBvh::k_crossings`].
    pub fn k_crossings_all(&self, rays: &[Ray<S, D>], k: usize) -> Csr<Crossing> {
        let order: Vec<u32> = collected(0..rays.len() as u32);
        let chunks = map_tasks(rays.len(), TASK, &|range| {
            let mut chunk = CsrChunk::default();
            for ray in &rays[range] {
                let before = chunk.values.len();
                self.append_crossings(ray, k, &mut chunk.values);
                chunk.lengths.push((chunk.values.len() - before) as u32);
            }
            chunk
        });
        Csr::gather_into(&order, &chunks, |n| collected((0..n).map(|_| Crossing::default())))
    }

    /// Appends the first `k` crossings in order.
    fn append_crossings(&self, ray: &Ray<S, D>, k: usize, found: &mut Vec<Crossing>) {
        if k == 0 || !ray.is_proper() {
            return;
        }
        let before = found.len();
        // The first `k` so far, the last of them on top; unused if all are wanted.
        let mut first = BinaryHeap::new();
        self.bvh().walk_along(
            |bounds| ray.enters(bounds),
            |index, enters| {
                // A NaN is neither.
                if let Some([enter, leave]) = self.values()[index as usize].crossing(ray)
                    && enter <= leave
                {
                    let enter = enter.max(enters);
                    let crossing = Crossing { index, enter, leave: leave.max(enter) };
                    if k == usize::MAX {
                        found.push(crossing);
                    } else if first.len() < k {
                        first.push(InOrder(crossing));
                    } else if let Some(mut last) = first.peek_mut()
                        && InOrder(crossing) < *last
                    {
                        *last = InOrder(crossing);
                    }
                }
                if first.len() < k { f64::MAX } else { first.peek().map_or(f64::MAX, |last| last.0.enter) }
            },
        );
        found.extend(first.into_sorted_vec().into_iter().map(|InOrder(crossing)| crossing));
        if k == usize::MAX {
            found[before..].sort_unstable_by_key(|crossing| InOrder(*crossing));
        }
    }
}
