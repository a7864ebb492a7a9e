//! One vocabulary for the tree and the brute force, so that one suite can ask both.

use std::ops::ControlFlow;

use ropewalk::reference::BruteForce;
use ropewalk::{Bounded, Bvh, Csr, Fof, Halos, Nearest, Neighbor, Query, Result, Scalar};

use super::oracle::Side;

pub trait Engine<S: Scalar, const D: usize>: Sized + Send + Sync {
    fn new<T: Bounded<S, D>>(primitives: &[T], side: Side) -> Result<Self>;
    /// In the order the engine finds them.
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
    /// Only trees find halos.
    fn halos(&self, linking_length: f64) -> Option<Halos>;
}

macro_rules! engine {
    ($engine:ident, $self:ident, $length:ident => $halos:expr) => {
        impl<S: Scalar, const D: usize> Engine<S, D> for $engine<S, D> {
            fn new<T: Bounded<S, D>>(primitives: &[T], side: Side) -> Result<Self> {
                side.map_or_else(|| $engine::build(primitives), |side| $engine::build_periodic(primitives, side))
            }
            fn query<Q: Query<S, D>>(&self, query: Q) -> Vec<u32> {
                self.query(query).collect()
            }
            fn query_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Csr<u32> {
                self.query_all(queries)
            }
            fn count_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Vec<u32> {
                self.count_all(queries)
            }
            fn for_each_hit<Q: Query<S, D>>(
                &self,
                queries: &[Q],
                visit: impl Fn(usize, u32) -> ControlFlow<()> + Sync,
            ) {
                self.for_each_hit(queries, visit)
            }
            fn nearest(&self, point: [S; D], wanted: Nearest) -> Vec<Neighbor> {
                self.nearest(point, wanted)
            }
            fn nearest_all(&self, points: &[[S; D]], wanted: Nearest) -> Csr<Neighbor> {
                self.nearest_all(points, wanted)
            }
            fn nearest_neighbors(&self, wanted: Nearest) -> Csr<Neighbor> {
                self.nearest_neighbors(wanted)
            }
            fn count_neighbors(&self, radius: f64) -> Vec<u32> {
                self.count_neighbors(radius)
            }
            fn neighbors(&self, radius: f64) -> Csr<u32> {
                self.neighbors(radius)
            }
            fn for_each_pair(&self, radius: f64, visit: impl Fn(u32, u32) + Sync) {
                self.for_each_pair(radius, visit)
            }
            fn count_pairs(&self, radius: f64) -> u64 {
                self.count_pairs(radius)
            }
            fn halos(&$self, $length: f64) -> Option<Halos> {
                $halos
            }
        }
    };
}

engine!(BruteForce, self, _length => None);
engine!(Bvh, self, length => Some(Fof::new(length).run_on(self).expect("a sound linking length")));
