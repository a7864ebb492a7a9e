//! Nearest neighbours with options of its own for each query.

use crate::bvh::{Bvh, copied};
use crate::csr::Csr;
use crate::error::Result;
use crate::geometry::{Bounded, Distance, Scalar};
use crate::search::nearest::by_distance::search_by;
use crate::search::nearest::{Nearest, Neighbor, errors, lists_along_curve};
use crate::search::values::ValueBvh;

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
        errors::check_options(options.len(), queries.len())?;
        let of = copied(queries, Bounded::bounds);
        Ok(lists_along_curve(self, &of, &|query, found| {
            let (own, excluded) = (&options[query as usize], options[query as usize].excluded_for(query));
            search_by(self, &of[query as usize], own, excluded, &mut |_, to_box| Some(to_box), found);
        }))
    }
}

impl<T: Distance<S, D>, S: Scalar, const D: usize> ValueBvh<T, S, D> {
    /// Finds the values nearest to each point, with options of its own for each, as [`Bvh::nearest_all_each`].
    ///
    /// # Errors
    /// If the number of options differs from that of points.
    pub fn nearest_all_each(&self, points: &[[S; D]], options: &[Nearest]) -> Result<Csr<Neighbor>> {
        errors::check_options(options.len(), points.len())?;
        let of = copied(points, Bounded::bounds);
        Ok(lists_along_curve(self.bvh(), &of, &|query, found| {
            let (own, excluded) = (&options[query as usize], options[query as usize].excluded_for(query));
            let point = &points[query as usize];
            let mut distance2 = |index: u32, _| Some(self.values()[index as usize].distance2_to(point));
            search_by(self.bvh(), &of[query as usize], own, excluded, &mut distance2, found);
        }))
    }
}
