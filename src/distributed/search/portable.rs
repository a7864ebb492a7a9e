//! Queries that can be sent to other ranks, as two columns of plain values.

use bytemuck::Pod;

use crate::distributed::communicator::Communicator;
use crate::distributed::route::Route;
use crate::error::Result;
use crate::geometry::{Aabb, Query, Scalar, Sphere};
use crate::parallel::map;

/// Queries per parallel task.
const TASK: usize = 1 << 12;

mod sealed {
    /// The two plain values that make up a shape.
    pub trait Parts: Copy {
        type First: bytemuck::Pod + Send + Sync;
        type Second: bytemuck::Pod + Send + Sync;

        fn parts(&self) -> (Self::First, Self::Second);
        fn from_parts(first: Self::First, second: Self::Second) -> Self;
    }
}

use sealed::Parts;

/// A shape that can be sent to other ranks: [`Sphere`] or [`Aabb`].
pub trait Portable<S: Scalar, const D: usize>: Query<S, D> + Send + Parts {}

impl<S: Scalar, const D: usize> Portable<S, D> for Sphere<S, D> {}

impl<S: Scalar, const D: usize> Parts for Sphere<S, D> {
    type First = [S; D];
    type Second = f64;

    fn parts(&self) -> ([S; D], f64) {
        (self.center, self.radius)
    }

    fn from_parts(center: [S; D], radius: f64) -> Self {
        Self { center, radius }
    }
}

impl<S: Scalar, const D: usize> Portable<S, D> for Aabb<S, D> {}

impl<S: Scalar, const D: usize> Parts for Aabb<S, D> {
    type First = [S; D];
    type Second = [S; D];

    fn parts(&self) -> ([S; D], [S; D]) {
        (self.lo, self.hi)
    }

    fn from_parts(lo: [S; D], hi: [S; D]) -> Self {
        Self { lo, hi }
    }
}

/// Sends queries along a route, and returns those that arrive. Collective.
pub(super) fn send<S: Scalar, Q: Portable<S, D>, const D: usize>(
    ranks: &dyn Communicator,
    route: &Route,
    queries: &[Q],
) -> Result<Vec<Q>> {
    let firsts = column(queries, &|query| query.parts().0);
    let firsts = route.send(ranks, &firsts)?;
    let seconds = column(queries, &|query| query.parts().1);
    let seconds = route.send(ranks, &seconds)?;
    Ok(firsts.into_iter().zip(seconds).map(|(first, second)| Q::from_parts(first, second)).collect())
}

fn column<Q: Sync, T: Pod + Send>(queries: &[Q], of: &(dyn Fn(&Q) -> T + Sync)) -> Vec<T> {
    map(queries.len(), TASK, &|at| of(&queries[at]))
}
