//! Nearest neighbours with options of its own for each query.

use crate::bvh::{Bvh, copied};
use crate::csr::Csr;
use crate::error::Result;
use crate::geometry::{Bounded, Scalar};
use crate::search::nearest::by_distance::search_by;
use crate::search::nearest::{Nearest, Neighbor, errors, lists_along_curve};

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Finds the stored primitives nearest to each query, with a `k`, a radius and an excluded index of its own for each,
    /// in parallel. Returns one list per query, in the order of `queries`.
    ///
    /// ```
    /// use ropewalk::{Bvh, Nearest};
    ///
    /// let bvh = Bvh::build(&[[0.0f32], [1.0], [2.5], [9.0]])?;
    /// let near = bvh.nearest_all_each(&[[0.0f32], [8.0]], &[Nearest::new(3).within(1.0), Nearest::new(1)])?;
    /// assert_eq!((near.of(0).len(), near.of(1)[0].index), (2, 3));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of options differs from that of queries.
    pub fn nearest_all_each<T: Bounded<S, D>>(&self, queries: &[T], options: &[Nearest]) -> Result<Csr<Neighbor>> {
        self.nearest_each_by(queries, options, |_, _, to_box| to_box)
    }

    /// Does the work of [`Bvh::nearest_all_each`] with the squared distances that `distance2` returns, given the index of
    /// a query, that of a primitive, and the squared distance to its box.
    pub(in crate::search) fn nearest_each_by<T: Bounded<S, D>>(
        &self,
        queries: &[T],
        options: &[Nearest],
        distance2: impl Fn(usize, u32, f64) -> f64 + Sync,
    ) -> Result<Csr<Neighbor>> {
        errors::check_options(options.len(), queries.len())?;
        let of = copied(queries, Bounded::bounds);
        Ok(lists_along_curve(self, &of, &|query, found| {
            let (own, excluded) = (&options[query as usize], options[query as usize].excluded_for(query));
            let mut to_index = |index, to_box| Some(distance2(query as usize, index, to_box));
            search_by(self, &of[query as usize], own, excluded, &mut to_index, found);
        }))
    }
}
