//! A tree that owns its primitives and returns them with the results.
//!
//! Input: shapes, or pairs of a shape and a value. Output: the results of the tree's searches, each with its stored
//! value.
//! Boxes select candidates; the shapes themselves decide ([`HitBy`], [`Distance`]).
//! Cost: that of the searches of [`Bvh`], and a test of each candidate.

use std::ops::ControlFlow;

use crate::bvh::Bvh;
use crate::csr::Csr;
use crate::error::Result;
use crate::geometry::{Bounded, Distance, HitBy, Query, Scalar};
use crate::search::own_radii::box_tolerance;
use crate::search::pairs::pairs_where;
use crate::search::{Nearest, Neighbor};

/// A result of a search in a [`ValueBvh`].
#[derive(Debug, PartialEq)]
pub struct Hit<'t, T> {
    /// The index of the value in [`ValueBvh::values`].
    pub index: u32,
    /// The stored value.
    pub value: &'t T,
}

/// A result of a nearest-neighbour search in a [`ValueBvh`].
#[derive(Debug, PartialEq)]
pub struct NearestHit<'t, T> {
    /// The index of the value in [`ValueBvh::values`].
    pub index: u32,
    /// The squared distance to the shape: that of [`Distance::distance2_to`], but not below the squared distance to
    /// its box.
    pub distance2: f64,
    /// The stored value.
    pub value: &'t T,
}

impl<T> Copy for Hit<'_, T> {}
impl<T> Clone for Hit<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for NearestHit<'_, T> {}
impl<T> Clone for NearestHit<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

/// A [`Bvh`] that owns its primitives and returns them with the results: shapes, or pairs `(shape, value)`.
///
/// The shapes themselves decide what is a hit, whereas a [`Bvh`] knows only their boxes. Space is open: a shape has
/// one place. For a periodic box, use [`Bvh::build_periodic`] and [`Bvh::nearest_by`].
///
/// ```
/// use ropewalk::{Sphere, ValueBvh};
///
/// let towns = vec![([0.0f32, 0.0], "Wapping"), ([3.0, 4.0], "Limehouse"), ([9.0, 9.0], "Barking")];
/// let bvh = ValueBvh::build(towns)?;
/// let names: Vec<&str> = bvh.query(Sphere::new([0.0f32, 0.0], 5.0)).map(|hit| hit.value.1).collect();
/// assert_eq!(names.len(), 2);
/// let near = bvh.nearest([8.0f32, 8.0], 1);
/// assert_eq!((near[0].value.1, near[0].distance2), ("Barking", 2.0));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct ValueBvh<T, S, const D: usize> {
    values: Vec<T>,
    bvh: Bvh<S, D>,
}

impl<T: std::fmt::Debug, S: std::fmt::Debug, const D: usize> std::fmt::Debug for ValueBvh<T, S, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ValueBvh").field("values", &crate::brief::Brief(&self.values)).field("bvh", &self.bvh).finish()
    }
}

impl<T: Bounded<S, D>, S: Scalar, const D: usize> ValueBvh<T, S, D> {
    /// Builds a tree over the boxes of `values`, in parallel and in open space.
    ///
    /// # Errors
    /// Those of [`Bvh::build`].
    pub fn build(values: Vec<T>) -> Result<Self> {
        let bvh = Bvh::build(&values)?;
        Ok(Self { values, bvh })
    }

    /// Replaces the values by values that have moved, [refits](Bvh::refit) the tree, and returns the old values.
    ///
    /// # Errors
    /// Those of [`Bvh::refit`], including another number of values. The tree is then unchanged, or empty if the call
    /// is [cancelled](crate::Cancel).
    ///
    /// ```
    /// let mut bvh = ropewalk::ValueBvh::build(vec![[0.0f32], [5.0]])?;
    /// let old = bvh.refit(vec![[4.0], [5.0]])?;
    /// assert_eq!((bvh.nearest([3.0f32], 1)[0].index, old), (0, vec![[0.0], [5.0]]));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn refit(&mut self, values: Vec<T>) -> Result<Vec<T>> {
        match self.bvh.refit(&values) {
            Ok(()) => Ok(std::mem::replace(&mut self.values, values)),
            Err(error) => {
                // The failed refit may have emptied the tree.
                if self.bvh.len() != self.values.len() {
                    self.values.clear();
                }
                Err(error)
            }
        }
    }

    /// Returns the number of stored values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns `true` if no values are stored.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the stored values. The indices of results are positions in this slice.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the values in their order.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// Returns the tree over the boxes of the values, for searches that need only boxes or have their own test.
    pub fn bvh(&self) -> &Bvh<S, D> {
        &self.bvh
    }

    pub(super) fn hit(&self, index: u32) -> Hit<'_, T> {
        Hit { index, value: &self.values[index as usize] }
    }

    /// Finds the values that a shape hits. Returns an iterator in unspecified order (the same in every run).
    ///
    /// The iterator walks as it is read, so that stopping early is free.
    ///
    /// ```
    /// use ropewalk::{Aabb, Sphere, ValueBvh};
    ///
    /// let bvh = ValueBvh::build(vec![Sphere::new([0.0f32, 0.0], 1.0), Sphere::new([3.0, 0.0], 1.5)])?;
    /// let corner = Aabb::new([0.75f32, 0.75], [2.0, 2.0]);
    /// assert_eq!(bvh.bvh().query(corner).count(), 2); // by their boxes
    /// assert_eq!(bvh.query(corner).map(|hit| hit.index).collect::<Vec<_>>(), [1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn query<Q: Query<S, D>>(&self, query: Q) -> impl Iterator<Item = Hit<'_, T>>
    where
        T: HitBy<Q>,
    {
        let mut hits = self.bvh.query(query);
        std::iter::from_fn(move || {
            loop {
                let hit = self.hit(hits.next()?);
                if hit.value.is_hit_by(hits.query()) {
                    return Some(hit);
                }
            }
        })
    }

    /// Lists the values that each of many shapes hits, in parallel. Returns one list of indices per shape, in the order
    /// of `queries`.
    pub fn query_all<Q: Query<S, D>>(&self, queries: &[Q]) -> Csr<u32>
    where
        T: HitBy<Q>,
    {
        self.bvh.query_all_where(queries, |query, hit| self.values[hit as usize].is_hit_by(&queries[query]))
    }

    /// Calls `visit` with the index of each query and each of its hits, in parallel over the queries, and stores
    /// nothing.
    ///
    /// `Break` ends that query, but not the others.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use ropewalk::{Sphere, ValueBvh};
    ///
    /// let bvh = ValueBvh::build(vec![([0.0f32], 10), ([0.5], 20), ([7.0], 30)])?;
    /// let sums = [const { AtomicU32::new(0) }; 2];
    /// bvh.for_each_hit(&[Sphere::new([0.0f32], 1.0), Sphere::new([7.0], 0.0)], |query, hit| {
    ///     sums[query].fetch_add(hit.value.1, Ordering::Relaxed);
    ///     ControlFlow::Continue(())
    /// });
    /// assert_eq!(sums.map(AtomicU32::into_inner), [30, 30]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn for_each_hit<Q: Query<S, D>>(
        &self,
        queries: &[Q],
        visit: impl Fn(usize, Hit<'_, T>) -> ControlFlow<()> + Sync,
    ) where
        T: HitBy<Q>,
    {
        self.bvh.for_each_hit(queries, |query, index| {
            let hit = self.hit(index);
            if hit.value.is_hit_by(&queries[query]) { visit(query, hit) } else { ControlFlow::Continue(()) }
        });
    }

    /// Calls `visit` once for every pair of values whose boxes are within `radius` of each other, in parallel and in
    /// unspecified order.
    ///
    /// The lower index comes first. `visit` can then test the values themselves. For shapes that intersect, use a
    /// radius of 0.
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use ropewalk::geometry::HitBy;
    /// use ropewalk::{Sphere, ValueBvh};
    ///
    /// let balls = [[0.0f32, 0.0], [1.75, 1.75], [2.0, 0.0]].map(|center| Sphere::new(center, 1.0));
    /// let pairs = Mutex::new(vec![]);
    /// ValueBvh::build(balls.to_vec())?.for_each_pair(0.0, |a, b| {
    ///     if a.value.is_hit_by(b.value) {
    ///         pairs.lock().unwrap().push([a.index, b.index]);
    ///     }
    /// });
    /// let mut pairs = pairs.into_inner().unwrap();
    /// pairs.sort();
    /// assert_eq!(pairs, [[0, 2], [1, 2]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn for_each_pair(&self, radius: impl Into<f64>, visit: impl Fn(Hit<'_, T>, Hit<'_, T>) + Sync) {
        self.bvh.for_each_pair(radius, |i, j| visit(self.hit(i), self.hit(j)));
    }
}

impl<T: Bounded<S, D> + HitBy<T>, S: Scalar, const D: usize> ValueBvh<T, S, D> {
    /// Finds all pairs of values that hit each other, each once, in ascending order. The lower index of a pair comes
    /// first, and its value decides ([`HitBy`]).
    ///
    /// For spheres in a periodic box, use [`Bvh::overlapping_spheres`].
    ///
    /// ```
    /// use ropewalk::{Sphere, ValueBvh};
    ///
    /// let balls = [[0.0f32, 0.0], [1.75, 1.75], [2.0, 0.0]].map(|center| Sphere::new(center, 1.0));
    /// assert_eq!(ValueBvh::build(balls.to_vec())?.overlapping_pairs(), [[0, 2], [1, 2]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Cost
    /// That of [`Bvh::overlapping_pairs`], and a test of each of these pairs.
    pub fn overlapping_pairs(&self) -> Vec<[u32; 2]> {
        let tolerance = box_tolerance(&self.bvh.bounds(), self.bvh.space());
        pairs_where(&self.bvh.half_neighbors(tolerance), |i, j| {
            self.values[i as usize].is_hit_by(&self.values[j as usize])
        })
    }
}

impl<T: Distance<S, D>, S: Scalar, const D: usize> ValueBvh<T, S, D> {
    /// Finds the `k` values nearest to a point by the distance to the shapes, nearest first, ties by index.
    ///
    /// `options` is `k` or a [`Nearest`], whose radius is inclusive. A NaN point has no neighbours, and shapes with a
    /// NaN distance are skipped.
    ///
    /// ```
    /// use ropewalk::{Nearest, Sphere, ValueBvh};
    ///
    /// let bvh = ValueBvh::build(vec![Sphere::new([0.0f32, 0.0], 5.0), Sphere::new([6.0, 6.0], 1.0)])?;
    /// // The point lies in the box of the first sphere, but is nearer to the second sphere.
    /// assert_eq!(bvh.nearest([5.0f32, 5.0], 2).iter().map(|near| near.index).collect::<Vec<_>>(), [1, 0]);
    /// assert_eq!(bvh.nearest([5.0f32, 5.0], Nearest::new(2).within(1.0)).len(), 1);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest(&self, point: impl Into<[S; D]>, options: impl Into<Nearest>) -> Vec<NearestHit<'_, T>> {
        self.nearest_where(point, options, |_| true)
    }

    /// Finds the `k` values nearest to a point for which `keep` returns `true`, in the order of [`ValueBvh::nearest`].
    /// `keep` is called for few values.
    ///
    /// ```
    /// let bvh = ropewalk::ValueBvh::build(vec![([0.0f32], "closed"), ([1.0], "open"), ([4.0], "open")])?;
    /// let near = bvh.nearest_where([0.0f32], 1, |hit| hit.value.1 == "open");
    /// assert_eq!(near[0].index, 1);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest_where(
        &self,
        point: impl Into<[S; D]>,
        options: impl Into<Nearest>,
        mut keep: impl FnMut(Hit<'_, T>) -> bool,
    ) -> Vec<NearestHit<'_, T>> {
        let point = point.into();
        let near = self.bvh.nearest_by(point, options, |index| {
            let hit = self.hit(index);
            keep(hit).then(|| hit.value.distance2_to(&point))
        });
        let value = |index| &self.values[index as usize];
        near.iter().map(|&Neighbor { index, distance2 }| NearestHit { index, distance2, value: value(index) }).collect()
    }

    /// Finds the `k` values nearest to each of many points, in parallel. Returns one list per point, in the order of
    /// `points`.
    ///
    /// ```
    /// let bvh = ropewalk::ValueBvh::build(vec![([0.0f32], 'a'), ([1.0], 'b')])?;
    /// let near = bvh.nearest_all(&[[0.75f32], [0.25]], 1);
    /// let values: Vec<char> = near.values().iter().map(|near| bvh.values()[near.index as usize].1).collect();
    /// assert_eq!(values, ['b', 'a']);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest_all(&self, points: &[[S; D]], options: impl Into<Nearest>) -> Csr<Neighbor> {
        self.bvh
            .nearest_all_by(points, options, |of, index| Some(self.values[index as usize].distance2_to(&points[of])))
    }

    /// Finds the values nearest to each point, with options of its own for each, as [`Bvh::nearest_all_each`].
    ///
    /// # Errors
    /// If the number of options differs from that of points.
    pub fn nearest_all_each(&self, points: &[[S; D]], options: &[Nearest]) -> Result<Csr<Neighbor>> {
        let distance2 = |of: usize, index: u32, _| self.values[index as usize].distance2_to(&points[of]);
        self.bvh.nearest_each_by(points, options, distance2)
    }
}
