//! A common interface of the tree and the brute force, so that one suite can test both.

use std::ops::ControlFlow;

use ropewalk::geometry::Query;
use ropewalk::reference::BruteForce;
use ropewalk::search::Neighbor;
use ropewalk::{Aabb, Bounded, Bvh, Csr, Fof, Halos, Nearest, Result, Scalar};

use super::oracle::Side;

pub trait Engine<S: Scalar, const D: usize>: Sized + Send + Sync {
    fn new<T: Bounded<S, D>>(primitives: &[T], side: Side) -> Result<Self>;
    /// Returns hits in the engine's own order.
    fn query<Q: Query<S, D>>(&self, query: Q) -> Vec<u32>;
    fn query_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Csr<u32>;
    fn count_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Vec<u32>;
    fn for_each_hit<Q: Query<S, D>>(&self, queries: &[Q], visit: impl Fn(usize, u32) -> ControlFlow<()> + Sync);
    fn nearest(&self, point: [S; D], wanted: Nearest) -> Vec<Neighbor>;
    fn nearest_all(&self, points: &[[S; D]], wanted: Nearest) -> Csr<Neighbor>;
    fn nearest_neighbors(&self, wanted: Nearest) -> Csr<Neighbor>;
    fn count_neighbors(&self, radius: f64) -> Vec<u32>;
    fn neighbors(&self, radius: f64) -> Csr<u32>;
    fn for_each_pair(&self, radius: f64, visit: impl Fn(u32, u32) + Sync);
    fn count_pairs(&self, radius: f64) -> u64;
    /// Returns halos, or `None` for engines other than trees.
    fn halos(&self, linking_length: f64) -> Option<Halos>;
}

macro_rules! engine {
    ($engine:ident, $self:ident, $tree:expr, $length:ident => $halos:expr) => {
        impl<S: Scalar, const D: usize> Engine<S, D> for $engine<S, D> {
            fn new<T: Bounded<S, D>>(primitives: &[T], side: Side) -> Result<Self> {
                side.map_or_else(|| $engine::build(primitives), |side| $engine::build_periodic(primitives, side))
            }
            fn query<Q: Query<S, D>>(&$self, query: Q) -> Vec<u32> {
                $tree.query(query).collect()
            }
            fn query_all<Q: Query<S, D>>(&$self, queries: &[Q]) -> Csr<u32> {
                $tree.query_all(queries)
            }
            fn count_all<Q: Query<S, D>>(&$self, queries: &[Q]) -> Vec<u32> {
                $tree.count_all(queries)
            }
            fn for_each_hit<Q: Query<S, D>>(
                &$self,
                queries: &[Q],
                visit: impl Fn(usize, u32) -> ControlFlow<()> + Sync,
            ) {
                $tree.for_each_hit(queries, visit)
            }
            fn nearest(&$self, point: [S; D], wanted: Nearest) -> Vec<Neighbor> {
                $tree.nearest(point, wanted)
            }
            fn nearest_all(&$self, points: &[[S; D]], wanted: Nearest) -> Csr<Neighbor> {
                $tree.nearest_all(points, wanted)
            }
            fn nearest_neighbors(&$self, wanted: Nearest) -> Csr<Neighbor> {
                $tree.nearest_neighbors(wanted)
            }
            fn count_neighbors(&$self, radius: f64) -> Vec<u32> {
                $tree.count_neighbors(radius)
            }
            fn neighbors(&$self, radius: f64) -> Csr<u32> {
                $tree.neighbors(radius)
            }
            fn for_each_pair(&$self, radius: f64, visit: impl Fn(u32, u32) + Sync) {
                $tree.for_each_pair(radius, visit)
            }
            fn count_pairs(&$self, radius: f64) -> u64 {
                $tree.count_pairs(radius)
            }
            fn halos(&$self, $length: f64) -> Option<Halos> {
                $halos
            }
        }
    };
}

engine!(BruteForce, self, self, _length => None);
engine!(Bvh, self, self, length => Some(Fof::new(length).run_on(self).expect("a sound linking length")));
engine!(Refitted, self, self.0, length => Some(Fof::new(length).run_on(&self.0).expect("a sound linking length")));

/// A tree that was built for other points and then refitted.
pub struct Refitted<S, const D: usize>(Bvh<S, D>);

impl<S: Scalar, const D: usize> Refitted<S, D> {
    fn build<T: Bounded<S, D>>(primitives: &[T]) -> Result<Self> {
        Self::new(primitives, None)
    }

    fn build_periodic<T: Bounded<S, D>>(primitives: &[T], side: f64) -> Result<Self> {
        Self::new(primitives, Some(side))
    }

    /// Builds the tree with other positions, the primitives' in reverse order, and refits it. If their number is odd,
    /// it is refitted to a single position in between.
    fn new<T: Bounded<S, D>>(primitives: &[T], side: Side) -> Result<Self> {
        let reversed: Vec<Aabb<S, D>> = primitives.iter().rev().map(T::bounds).collect();
        let places: Vec<[S; D]> = reversed.iter().map(|bounds| bounds.lo).collect();
        let mut tree = match (T::IS_POINT, side) {
            (true, None) => Bvh::build(&places),
            (true, Some(side)) => Bvh::build_periodic(&places, side),
            (false, None) => Bvh::build(&reversed),
            (false, Some(side)) => Bvh::build_periodic(&reversed, side),
        }?;
        if places.len() % 2 == 1 {
            tree.refit(&vec![places[0]; places.len()])?;
        }
        tree.refit(primitives)?;
        tree.validate()?;
        Ok(Self(tree))
    }
}
