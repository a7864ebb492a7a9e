//! Friends of friends by the definition: every pair is tested.
//!
//! In: points as a structure of arrays. Out: a union-find forest over them. Cost: n (n - 1) / 2 distances, eight at a
//! time in the storage type. Distances that may be within the linking length are computed again in `f64`. Memory: 4
//! bytes per point. Source: Davis et al. 1985; the usual baseline of halo finders on GPUs.

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

/// Finds the halos of [`Fof::run`] by testing every pair of points and a concurrent union-find, as in the definition
/// (Davis et al. 1985). Eight pairs are tested at a time. Halo finders on GPUs are compared with this baseline.
///
/// # Cost
/// n (n - 1) / 2 distances. On 262,144 particles of a cosmological simulation it takes 300 times as long as
/// [`Fof::run`] (benches/README.md). Memory for three-dimensional `f32`: some 30 bytes per point, including the
/// result. Supports points and boxes of 1 to 10 dimensions.
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
/// Those of [`Fof::run`].
pub fn fof_all_pairs<T: Bounded<S, D>, S: Scalar, const D: usize>(fof: &Fof, points: &[T]) -> Result<Halos> {
    guarded(|| {
        let row = PointsSoA::new(points, &fof.space()?)?;
        fof.halos(connect(&row, fof.linking_length), &row.order, &row.space)
    })
}

/// Unites all pairs within `radius`.
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
    /// Unites a primitive with the friends behind it in the array.
    #[inline(always)]
    fn join<I: Isa, const P: bool>(&self, isa: I, metric: &Metric<S, D, P>, i: usize) {
        let n = self.row.len();
        let points = self.row.hi.is_none();
        let of = self.item(i);
        let blocks = Blocks::new(&self.row.lo, self.row.hi.as_ref(), &(i + 1..n));
        for block in 0..blocks.count() {
            let lanes = if points {
                metric.point_distances2(&of.lo, &blocks, block)
            } else {
                metric.box_distances2(&of, &blocks, block)
            };
            for bit in bits(S::at_most(isa, &lanes, self.reach.possible_limit)) {
                // The last lanes may extend past the end of the array.
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
