//! The shapes that a ray crosses, in order along the ray.
//!
//! Input: rays. Output: for each ray the shapes that it meets, with the part of the ray inside each, sorted by the first
//! parameter, then by index.
//! Cost: that of a query by the ray, and a sort of the hits.

use std::cmp::Ordering;

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
    /// The parameter `t` of the ray where it enters the shape, or its own first parameter inside the shape.
    pub enter: f64,
    /// The parameter `t` where it leaves the shape, or its own last parameter inside the shape.
    pub leave: f64,
}

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
        let mut found = vec![];
        self.append_crossings(ray, &mut found);
        found
    }

    /// Finds the values that each of many rays crosses, in parallel. Returns one list per ray, in the order of `rays`,
    /// each as of [`ValueBvh::crossings`].
    pub fn crossings_all(&self, rays: &[Ray<S, D>]) -> Csr<Crossing> {
        let order: Vec<u32> = collected(0..rays.len() as u32);
        let chunks = map_tasks(rays.len(), TASK, &|range| {
            let mut chunk = CsrChunk::default();
            for ray in &rays[range] {
                let before = chunk.values.len();
                self.append_crossings(ray, &mut chunk.values);
                chunk.lengths.push((chunk.values.len() - before) as u32);
            }
            chunk
        });
        Csr::gather_into(&order, &chunks, |n| collected((0..n).map(|_| Crossing::default())))
    }

    fn append_crossings(&self, ray: &Ray<S, D>, found: &mut Vec<Crossing>) {
        let before = found.len();
        for index in self.bvh().query(*ray) {
            // A NaN is neither.
            match self.values()[index as usize].crossing(ray) {
                Some([enter, leave]) if enter <= leave => found.push(Crossing { index, enter, leave }),
                _ => {}
            }
        }
        let order = |a: &Crossing, b: &Crossing| a.enter.partial_cmp(&b.enter).unwrap_or(Ordering::Equal);
        found[before..].sort_unstable_by(|a, b| order(a, b).then(a.index.cmp(&b.index)));
    }
}
