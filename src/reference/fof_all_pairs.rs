//! Friends of friends by the definition: every pair is tested.
//!
//! In: points in a row. Out: a union-find forest over them.
//! Cost: n (n - 1) / 2 distances, eight at a time in the storage type; those that may be within the linking length are
//! decided in `f64`. 4 bytes a point. Source: Davis et al. 1985; the baseline of halo finders on GPUs.

use crate::bvh::traverse::bits;
use crate::cancel::guarded;
use crate::cluster::union_find::UnionFind;
use crate::cluster::{Fof, Halos};
use crate::error::Result;
use crate::geometry::{Aabb, Blocks, Bounded, FilteredRadius, Metric, Scalar};
use crate::parallel::for_tasks;
use crate::phases::mark;
use crate::reference::points::PointsSoA;
use crate::simd::{Isa, LANES, dispatch};

/// Points per parallel task.
const TASK: usize = 64;

/// The halos of [`Fof::run`], by every point against every other and a concurrent union-find: the definition (Davis et al. 1985), eight
/// pairs at a time, and the baseline that halo finders on GPUs are compared with.
///
/// Cost: n (n - 1) / 2 distances; on 262,144 particles of a cosmological simulation 300 times as long as [`Fof::run`] (benches/README.md).
/// Memory: for three-dimensional `f32` some 30 bytes a point, the result included. 1 to 10 dimensions, points and boxes.
///
/// ```
/// use ropewalk::{Fof, reference::fof_all_pairs};
///
/// let points = [[0.0f32, 0.0], [0.5, 0.0], [9.0, 9.0]];
/// assert_eq!(fof_all_pairs(&Fof::new(0.5), &points)?, Fof::new(0.5).run(&points)?);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As [`Fof::run`].
pub fn fof_all_pairs<T: Bounded<S, D>, S: Scalar, const D: usize>(fof: &Fof, points: &[T]) -> Result<Halos> {
    guarded(|| {
        let row = PointsSoA::of(points, &fof.space()?)?;
        fof.halos(connect(&row, fof.linking_length), &row.order, &row.space)
    })
}

/// Joins all pairs within `radius`.
fn connect<S: Scalar, const D: usize>(row: &PointsSoA<S, D>, radius: f64) -> UnionFind {
    let forest = UnionFind::new(row.len());
    let pairs = Pairs { row, reach: FilteredRadius::new(radius, &row.space), forest: &forest };
    let (open, around) =
        (Metric::<S, D, false>::scaled(&row.space, 1.0), Metric::<S, D, true>::scaled(&row.space, 1.0));
    for_tasks(row.len(), TASK, &|own| {
        dispatch!(isa => for i in own.clone() {
            if row.space.period().is_none() { pairs.join(isa, &open, i) } else { pairs.join(isa, &around, i) }
        });
    });
    mark("pairs, union");
    forest
}

struct Pairs<'a, S: Scalar, const D: usize> {
    row: &'a PointsSoA<S, D>,
    reach: FilteredRadius<S, D>,
    forest: &'a UnionFind,
}

impl<S: Scalar, const D: usize> Pairs<'_, S, D> {
    /// Joins a primitive with those behind it in the row.
    #[inline(always)]
    fn join<I: Isa, const P: bool>(&self, isa: I, metric: &Metric<S, D, P>, i: usize) {
        let n = self.row.len();
        let points = self.row.hi.is_none();
        let of = self.item(i);
        let blocks = Blocks::new(&self.row.lo, self.row.hi.as_ref(), &(i + 1..n));
        for block in 0..blocks.count() {
            let lanes =
                if points { metric.lanes(&of.lo, &blocks, block) } else { metric.box_lanes(&of, &blocks, block) };
            for bit in bits(S::at_most(isa, &lanes, self.reach.maybe)) {
                // The last lanes may lie behind the end.
                let j = i + 1 + block * LANES + bit;
                if j < n && self.row.space.min_distance2(&of, &self.item(j)) <= self.reach.radius2 {
                    self.forest.union(i as u32, j as u32);
                }
            }
        }
    }

    #[inline(always)]
    fn item(&self, at: usize) -> Aabb<S, D> {
        let hi = self.row.hi();
        Aabb { lo: self.row.point(at), hi: std::array::from_fn(|k| hi[k][at]) }
    }
}
