//! Callbacks that emit values for the hits of queries.
//!
//! Input: queries and a callback. Output: one list of emitted values per query.
//! Cost: that of the queries; the values are copied once, into one allocation.

use std::ops::ControlFlow;

use crate::bvh::Bvh;
use crate::csr::{Csr, CsrChunk};
use crate::geometry::{Bounded, HitBy, Query, Scalar};
use crate::memory::collected;
use crate::parallel::map_tasks;
use crate::search::range::TASK;
use crate::search::values::{Hit, ValueBvh};
use crate::simd::dispatch;

/// Takes the values that a callback of [`Bvh::map_hits`] emits for a hit.
#[derive(Debug)]
pub struct Emitter<'a, T>(&'a mut Vec<T>);

impl<T> Emitter<'_, T> {
    /// Appends a value to the list of the query.
    pub fn push(&mut self, value: T) {
        self.0.push(value);
    }
}

impl<T> Extend<T> for Emitter<'_, T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        self.0.extend(values);
    }
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Calls `map` with the index of each query and each of its hits, in parallel over the queries. Returns one list of
    /// emitted values per query, in the order of `queries`.
    ///
    /// `map` pushes any number of values for a hit to its last argument.
    /// The hits of a query come in the order of the tree, the same in every run. `Break` ends that query, but not the
    /// others.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use ropewalk::{Bvh, Sphere};
    ///
    /// let (points, masses) = ([[0.0f32], [0.5], [7.0]], [1.0, 2.0, 4.0]);
    /// let bvh = Bvh::build(&points)?;
    /// let spheres = [Sphere::new([0.0f32], 1.0), Sphere::new([7.0], 1.0)];
    /// // The masses within each sphere, and the sign of the offset, of points that are not the centre.
    /// let lists = bvh.map_hits(&spheres, |query, hit, out| {
    ///     let offset = points[hit as usize][0] - spheres[query].center[0];
    ///     if offset != 0.0 {
    ///         out.extend([masses[hit as usize], offset.signum()]);
    ///     }
    ///     ControlFlow::Continue(())
    /// });
    /// assert_eq!((lists.of(0), lists.of(1)), (&[2.0, 1.0][..], &[][..]));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn map_hits<Q: Query<S, D>, T: Copy + Default + Send + Sync>(
        &self,
        queries: &[Q],
        map: impl Fn(usize, u32, &mut Emitter<'_, T>) -> ControlFlow<()> + Sync,
    ) -> Csr<T> {
        let order = self.walk_order(queries);
        let chunks = map_tasks(order.len(), TASK, &|range| {
            let mut chunk = CsrChunk::default();
            dispatch!(_isa => for &query in &order[range] {
                let before = chunk.values.len();
                let mut hits = self.query(&queries[query as usize]);
                // `map` may end the iteration early with `Break`, which is not an error.
                let mut emitter = Emitter(&mut chunk.values);
                let _ = hits.try_for_each(|hit| map(query as usize, hit, &mut emitter));
                chunk.lengths.push((chunk.values.len() - before) as u32);
            });
            chunk
        });
        Csr::gather_into(&order, &chunks, |n| collected((0..n).map(|_| T::default())))
    }
}

impl<T: Bounded<S, D>, S: Scalar, const D: usize> ValueBvh<T, S, D> {
    /// Calls `map` with the index of each query and each of its hits, in parallel over the queries. Returns one list of
    /// emitted values per query, as [`Bvh::map_hits`].
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use ropewalk::{Sphere, ValueBvh};
    ///
    /// let bvh = ValueBvh::build(vec![([0.0f32], 'a'), ([0.5], 'b'), ([7.0], 'c')])?;
    /// let letters = bvh.map_hits(&[Sphere::new([7.0f32], 1.0)], |_, hit, out| {
    ///     out.push(hit.value.1);
    ///     ControlFlow::Continue(())
    /// });
    /// assert_eq!(letters.of(0), ['c']);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn map_hits<Q: Query<S, D>, E: Copy + Default + Send + Sync>(
        &self,
        queries: &[Q],
        map: impl Fn(usize, Hit<'_, T>, &mut Emitter<'_, E>) -> ControlFlow<()> + Sync,
    ) -> Csr<E>
    where
        T: HitBy<Q>,
    {
        self.bvh().map_hits(queries, |query, index, out| {
            let hit = self.hit(index);
            if hit.value.is_hit_by(&queries[query]) { map(query, hit, out) } else { ControlFlow::Continue(()) }
        })
    }
}
