//! Every query answered by testing every primitive: the oracle of the tests, and the faster choice for a few dozen
//! primitives.
//!
//! In and out: as the tree ([`Bvh`](crate::Bvh)), method by method; results are in ascending index order if the tree
//! promises no order. Cost: O(n) per query, all in `f64`.

use std::ops::ControlFlow;

use crate::bvh::check;
use crate::csr::{Csr, CsrChunk};
use crate::error::Result;
use crate::geometry::Query;
use crate::geometry::{Aabb, Bounded, BoxSize, Scalar, Space};
use crate::parallel::{for_tasks, map};
use crate::search::nearest::{ExactHeap, Nearest, Neighbor};

/// Queries per parallel task.
const TASK: usize = 8;

/// All primitives in one array, with the methods of [`Bvh`](crate::Bvh).
///
/// ```
/// use ropewalk::reference::BruteForce;
/// use ropewalk::Sphere;
///
/// let all = BruteForce::build(&[[0.0f32], [1.0], [5.0]])?;
/// assert_eq!(all.query(Sphere::new([0.0f32], 1.0)).collect::<Vec<_>>(), [0, 1]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BruteForce<S, const D: usize> {
    primitives: Vec<Aabb<S, D>>,
    space: Space<D>,
}

impl<S: Scalar, const D: usize> BruteForce<S, D> {
    /// Copies the primitives' boxes. Errors as [`Bvh::build`](crate::Bvh::build).
    pub fn build<T: Bounded<S, D>>(primitives: &[T]) -> Result<Self> {
        Self::build_in(primitives, Space::OPEN)
    }

    /// Copies the primitives' boxes into a periodic box of the given side or sides. Errors as
    /// [`Bvh::build_periodic`](crate::Bvh::build_periodic).
    pub fn build_periodic<T: Bounded<S, D>>(primitives: &[T], size: impl Into<BoxSize>) -> Result<Self> {
        Self::build_in(primitives, Space::periodic(size)?)
    }

    fn build_in<T: Bounded<S, D>>(primitives: &[T], space: Space<D>) -> Result<Self> {
        check(primitives, &space)?;
        Ok(Self { primitives: primitives.iter().map(|primitive| space.wrap_box(primitive.bounds())).collect(), space })
    }

    /// Returns the number of stored primitives.
    pub fn len(&self) -> usize {
        self.primitives.len()
    }

    /// Returns `true` if no primitive is stored.
    pub fn is_empty(&self) -> bool {
        self.primitives.is_empty()
    }

    /// Finds the primitives that meet a shape, as [`Bvh::query`](crate::Bvh::query) does. Yields their indices in
    /// ascending order.
    pub fn query<Q: Query<S, D>>(&self, query: Q) -> impl Iterator<Item = u32> {
        self.primitives
            .iter()
            .zip(0..)
            .filter(move |(primitive, _)| query.meets(primitive, &self.space))
            .map(|(_, index)| index)
    }

    /// Lists the primitives that meet each shape, in ascending order, as [`Bvh::query_all`](crate::Bvh::query_all).
    pub fn query_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Csr<u32> {
        lists(queries.len(), |i| self.query(&queries[i]).collect())
    }

    /// Counts the primitives that meet each shape, as [`Bvh::count_all`](crate::Bvh::count_all).
    pub fn count_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Vec<u32> {
        map(queries.len(), TASK, &|i| self.query(&queries[i]).count() as u32)
    }

    /// Calls `visit` with the index of each query and of each primitive that meets it, until `visit` returns `Break`
    /// for that query, as [`Bvh::for_each_hit`](crate::Bvh::for_each_hit).
    pub fn for_each_hit<Q: Query<S, D>>(&self, queries: &[Q], visit: impl Fn(usize, u32) -> ControlFlow<()> + Sync) {
        for_tasks(queries.len(), TASK, &|range| {
            for i in range {
                // `Break` ends the iteration early; there is no result to handle.
                let _ = self.query(&queries[i]).try_for_each(|hit| visit(i, hit));
            }
        });
    }

    /// Finds the `k` primitives nearest to a point, nearest first, ties by index, as
    /// [`Bvh::nearest`](crate::Bvh::nearest).
    pub fn nearest(&self, point: impl Into<[S; D]>, wanted: impl Into<Nearest>) -> Vec<Neighbor> {
        let wanted = wanted.into();
        self.search(&Aabb::point(point.into()), &wanted, wanted.excluded_for(u32::MAX))
    }

    /// Finds the `k` primitives nearest to each of `points`, as lists in the order of `points`, as
    /// [`Bvh::nearest_all`](crate::Bvh::nearest_all).
    pub fn nearest_all<T: Bounded<S, D>>(&self, points: &[T], wanted: impl Into<Nearest>) -> Csr<Neighbor> {
        let wanted = wanted.into();
        lists(points.len(), |i| self.search(&points[i].bounds(), &wanted, wanted.excluded_for(i as u32)))
    }

    /// Finds the `k` primitives nearest to each stored primitive, as lists in the order of the primitives, as
    /// [`Bvh::nearest_neighbors`](crate::Bvh::nearest_neighbors).
    pub fn nearest_neighbors(&self, wanted: impl Into<Nearest>) -> Csr<Neighbor> {
        self.nearest_all(&self.primitives, wanted)
    }

    /// Counts the primitives within `radius` of each stored primitive, itself included, as
    /// [`Bvh::count_neighbors`](crate::Bvh::count_neighbors).
    pub fn count_neighbors(&self, radius: impl Into<f64>) -> Vec<u32> {
        let radius = radius.into();
        map(self.len(), TASK, &|i| self.within(i, radius).count() as u32)
    }

    /// Lists the primitives within `radius` of each stored primitive, itself included, in ascending order, as
    /// [`Bvh::neighbors`](crate::Bvh::neighbors).
    pub fn neighbors(&self, radius: impl Into<f64>) -> Csr<u32> {
        let radius = radius.into();
        lists(self.len(), |i| self.within(i, radius).collect())
    }

    /// Calls `visit` once for every pair of primitives within `radius` of each other, as
    /// [`Bvh::for_each_pair`](crate::Bvh::for_each_pair). The arguments are `(i, j)` with `i < j`.
    pub fn for_each_pair(&self, radius: impl Into<f64>, visit: impl Fn(u32, u32) + Sync) {
        let radius = radius.into();
        for_tasks(self.len(), TASK, &|range| {
            for i in range.start as u32..range.end as u32 {
                self.within(i as usize, radius).filter(|&j| i < j).for_each(|j| visit(i, j));
            }
        });
    }

    /// Counts the pairs of primitives within `radius` of each other, each once, as
    /// [`Bvh::count_pairs`](crate::Bvh::count_pairs).
    pub fn count_pairs(&self, radius: impl Into<f64>) -> u64 {
        let radius = radius.into();
        let pairs = |i: usize| self.within(i, radius).filter(|&j| (i as u32) < j).count() as u64;
        map(self.len(), TASK, &pairs).into_iter().sum()
    }

    fn within(&self, i: usize, radius: f64) -> impl Iterator<Item = u32> {
        let of = &self.primitives[i];
        let near =
            move |primitive: &Aabb<S, D>| radius >= 0.0 && self.space.min_distance2(of, primitive) <= radius * radius;
        self.primitives.iter().zip(0..).filter(move |(primitive, _)| near(primitive)).map(|(_, index)| index)
    }

    fn search(&self, of: &Aabb<S, D>, wanted: &Nearest, excluded: Option<u32>) -> Vec<Neighbor> {
        let mut best = ExactHeap::new();
        best.reset(wanted);
        let of = self.space.wrap_box(*of);
        if of.is_finite() {
            for (primitive, index) in self.primitives.iter().zip(0..).filter(|&(_, index)| Some(index) != excluded) {
                best.push(self.space.min_distance2(&of, primitive), index);
            }
        }
        best.sort();
        best.neighbors().collect()
    }
}

/// Builds a [`Csr`] from one vector per list, in parallel.
fn lists<T: Copy + bytemuck::Zeroable + Send + Sync>(n: usize, list: impl Fn(usize) -> Vec<T> + Sync) -> Csr<T> {
    let blocks = map(n, TASK, &|i| {
        let values = list(i);
        CsrChunk { lengths: vec![values.len() as u32], values }
    });
    Csr::gather(&(0..n as u32).collect::<Vec<_>>(), &blocks)
}
