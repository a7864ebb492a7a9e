//! Neighbours in triclinic cells.
//!
//! Input: points, a [`Cell`], and a radius. Output: lists of neighbours with their lattice shifts, in the order of the
//! caller's slice. Points are wrapped into the cell (`wrapped`) and stored in a tree in open space, which finds
//! neighbours without a shift. Images of points outside the cell (`shifts`) are queries of that tree. Of each image and
//! its mirror image only one is a query, so both directions of a pair have the same distance. The results are merged to
//! lists (`lists`). Cost: that of the neighbour search, a query for each image near the cell, and a sort of each list.

pub(crate) mod lists;
pub(crate) mod shifts;
pub(crate) mod wrapped;

use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;

use crate::bvh::Bvh;
use crate::cancel::guarded;
use crate::csr::Csr;
use crate::error::Result;
use crate::geometry::{Bounded, Cell, Scalar, Space, Sphere};
use crate::memory::append;
use crate::parallel::{list_tasks, map, plain, shared};
use crate::search::cell::lists::{Extent, ImageHits, merged, parts};
use crate::search::cell::shifts::{Shifts, distance2};
use crate::search::cell::wrapped::{Spread, Wrapped};
use crate::search::own_radii::check_one_each;

/// Points per parallel task.
const TASK: usize = 1 << 10;

/// A neighbour in a triclinic cell: the index of a point, and the lattice shift of its image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellNeighbor<const D: usize> {
    /// The index in the slice from which the tree was built.
    pub index: u32,
    /// The multiples of the lattice vectors from the point in the caller's slice to its image:
    /// `points[index] + shift[0] * a + shift[1] * b + shift[2] * c` is near the point with the list.
    pub shift: [i32; D],
}

/// A neighbour in a triclinic cell with its distance: see [`CellBvh::map_neighbors`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CellNeighborAt<const D: usize> {
    /// The index in the slice from which the tree was built.
    pub index: u32,
    /// The lattice shift, as [`CellNeighbor::shift`].
    pub shift: [i32; D],
    /// The squared distance: the squares of `offset`, summed in the order of the axes.
    pub distance2: f64,
    /// The vector to the image of the neighbour.
    pub offset: [f64; D],
}

/// A tree of points in a triclinic [`Cell`], for the neighbour lists of particle codes.
///
/// Each image of a point counts as a neighbour of its own. If the radius is larger than half of a
/// [height](Cell::heights) of the cell, a point may have several images of one point as neighbours, and images of
/// itself. The radius may be several times as large as the cell.
///
/// # Distances
/// Coordinates are converted to `f64`, and points outside the cell are [wrapped](Cell::wrap) into it. Let `p` and `q`
/// be two points after that, and `s` a shift whose first nonzero component is positive. The vector from `p` to the
/// image of `q` at shift `s` is `(q + t) - p`, where `t` is the [translation](Cell::translation) by `s`. The vector
/// from `q` to the image of `p` at shift `-s` is its opposite. Without a shift, it is `q - p`. A pair is within a
/// radius if the squares of the vector's components, summed in `f64` in the order of the axes, are at most the square
/// of the radius. So if `i` lists `j` with shift `s`, then `j` lists `i` with shift `-s`, at ties, too.
///
/// Shifts of results are relative to the caller's points, wrapped or not. Lists are sorted by index, then by shift, of
/// which the first component counts most.
///
/// ```
/// use ropewalk::geometry::Cell;
/// use ropewalk::search::CellBvh;
///
/// let cell = Cell::new([[4.0, 0.0, 0.0], [2.0, 3.0, 0.0], [0.0, 0.0, 5.0]])?;
/// // The second point is outside the cell. Its image at [3.5, 0.5, 0.5] is inside.
/// let bvh = CellBvh::build(&[[0.5f32, 0.5, 0.5], [7.5, 0.5, 0.5]], &cell)?;
/// let lists = bvh.neighbors(1.0)?;
/// let [itself, other] = lists.of(0) else { panic!("two neighbours") };
/// assert_eq!((itself.index, itself.shift), (0, [0, 0, 0]));
/// assert_eq!((other.index, other.shift), (1, [-2, 0, 0]));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Cost
/// The tree stores the points in `f64`, twice, and the shifts by which they were wrapped: 36 bytes per point more than
/// [`Bvh`] in three dimensions. Searches query images of points that are within the radius of the cell, measured along
/// its heights. These are few if the radius is small compared to the heights. Cells that are not strongly skewed, such
/// as those with [reduced](https://en.wikipedia.org/wiki/Lattice_reduction) vectors, have the largest heights.
#[derive(Clone)]
pub struct CellBvh<const D: usize> {
    cell: Cell<D>,
    wrapped: Wrapped<D>,
    spread: Spread<D>,
    bvh: Bvh<f64, D>,
}

impl<const D: usize> std::fmt::Debug for CellBvh<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CellBvh").field("len", &self.len()).field("cell", &self.cell).finish_non_exhaustive()
    }
}

impl<const D: usize> CellBvh<D> {
    /// Builds a tree over points in a cell, in parallel.
    ///
    /// # Errors
    /// - Those of [`Bvh::build`].
    /// - The values are not points.
    /// - A point is more than [`Cell::MAX_WRAP`] cells away from the cell at the origin.
    pub fn build<S: Scalar, T: Bounded<S, D>>(points: &[T], cell: &Cell<D>) -> Result<Self> {
        guarded(|| {
            let wrapped = Wrapped::new(points, cell)?;
            let bvh = Bvh::build_in(&wrapped.places, Space::OPEN)?;
            Ok(Self { cell: *cell, spread: wrapped.spread(cell), wrapped, bvh })
        })
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.wrapped.places.len()
    }

    /// Returns `true` if there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the cell.
    pub fn cell(&self) -> &Cell<D> {
        &self.cell
    }

    /// Returns the points wrapped into the cell, in the order of the slice from which the tree was built.
    pub fn wrapped(&self) -> &[[f64; D]] {
        &self.wrapped.places
    }

    /// Lists the images of points within `radius` of each point (inclusive), the point itself included. Returns one
    /// list per point, in the order of the slice from which the tree was built. Each list is sorted by index, then by
    /// shift.
    ///
    /// ```
    /// use ropewalk::geometry::Cell;
    /// use ropewalk::search::CellBvh;
    ///
    /// // One point whose cell is smaller than the radius is surrounded by images of itself.
    /// let bvh = CellBvh::build(&[[0.5f64, 0.5]], &Cell::new([[2.0, 0.0], [1.0, 2.0]])?)?;
    /// let shifts: Vec<[i32; 2]> = bvh.neighbors(2.25)?.of(0).iter().map(|near| near.shift).collect();
    /// assert_eq!(shifts, [[-1, 0], [-1, 1], [0, -1], [0, 0], [0, 1], [1, -1], [1, 0]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The radius is negative or not finite.
    /// - More than 65,535 shifts along the lattice vectors are within the radius of the cell.
    ///
    /// # Cost
    /// Memory: 16 bytes per neighbour in three dimensions, temporarily 12 more.
    pub fn neighbors(&self, radius: impl Into<f64>) -> Result<Csr<CellNeighbor<D>>> {
        self.lists(radius.into(), Extent::Full)
    }

    /// Lists each pair of a point and an image within `radius` (inclusive) once.
    ///
    /// List `i` holds the images of points with a higher index near point `i`. It also holds the images of point `i`
    /// near itself whose first nonzero shift is positive. Each list is sorted by index, then by shift.
    ///
    /// The other direction of a pair has the opposite shift.
    ///
    /// ```
    /// use ropewalk::geometry::Cell;
    /// use ropewalk::search::CellBvh;
    ///
    /// let bvh = CellBvh::build(&[[0.5f64, 0.5], [1.5, 0.5]], &Cell::new([[2.0, 0.0], [1.0, 2.0]])?)?;
    /// let lists = bvh.half_neighbors(1.0)?;
    /// assert_eq!(lists.of(0).iter().map(|near| near.shift).collect::<Vec<_>>(), [[-1, 0], [0, 0]]);
    /// assert!(lists.of(1).is_empty());
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`CellBvh::neighbors`].
    pub fn half_neighbors(&self, radius: impl Into<f64>) -> Result<Csr<CellNeighbor<D>>> {
        self.lists(radius.into(), Extent::Half)
    }

    /// Lists the images of points within `radii[i]` of each point `i` (inclusive), the point itself included, in the
    /// order of [`CellBvh::neighbors`].
    ///
    /// # Errors
    /// - The number of radii differs from the number of points.
    /// - The errors of [`CellBvh::neighbors`], for any of the radii.
    ///
    /// # Cost
    /// That of [`CellBvh::neighbors`] with the largest radius.
    pub fn neighbors_within(&self, radii: &[f64]) -> Result<Csr<CellNeighbor<D>>> {
        check_one_each("radii", radii.len(), self.len())?;
        guarded(|| {
            let shifts = Shifts::new(&self.cell, &self.spread, largest_of(radii))?;
            let lists = self.words(largest_of(radii), &shifts, Extent::Full);
            let is_near = |i: usize, word: u64| {
                let (index, code) = parts(word);
                distance2(&self.offset(&shifts, i, index, code)) <= radii[i] * radii[i]
            };
            let lengths = map(self.len(), TASK, &|i| lists.of(i).iter().filter(|&&word| is_near(i, word)).count());
            let values = list_tasks(self.len(), TASK, &|range| {
                let mut near = vec![];
                for i in range {
                    let words = lists.of(i).iter().filter(|&&word| is_near(i, word));
                    append(&mut near, words.map(|&word| self.neighbor(&shifts, i, word)));
                }
                near
            });
            let ends = lengths.into_iter().scan(0, |end, length| {
                *end += length;
                Some(*end)
            });
            Ok(Csr::from_parts(std::iter::once(0).chain(ends).collect(), values))
        })
    }

    /// Counts the images of points within `radius` of each point, the point itself included: the lengths of
    /// [`CellBvh::neighbors`].
    ///
    /// # Errors
    /// Those of [`CellBvh::neighbors`].
    pub fn count_neighbors(&self, radius: impl Into<f64>) -> Result<Vec<u32>> {
        let radius = radius.into();
        guarded(|| {
            let shifts = Shifts::new(&self.cell, &self.spread, radius)?;
            let counts = shared(self.bvh.count_neighbors(radius));
            self.for_each_image_hit(radius, &shifts, |[owner, _], near| {
                counts[owner as usize].fetch_add(1, Relaxed);
                counts[near as usize].fetch_add(1, Relaxed);
            });
            Ok(plain(counts))
        })
    }

    /// Calls `visit` once for each pair of a point and an image within `radius`, in parallel and in unspecified order.
    ///
    /// The arguments are the lower index, the higher index, and the shift of the point with the higher index, as in
    /// [`CellBvh::half_neighbors`]. The indices are equal if a point is near its own image.
    ///
    /// # Errors
    /// Those of [`CellBvh::neighbors`].
    pub fn for_each_pair(&self, radius: impl Into<f64>, visit: impl Fn(u32, u32, [i32; D]) + Sync) -> Result<()> {
        let radius = radius.into();
        guarded(|| {
            let shifts = Shifts::new(&self.cell, &self.spread, radius)?;
            self.bvh.for_each_pair(radius, |i, j| visit(i, j, self.shift(&shifts, i as usize, j, shifts.zero())));
            self.for_each_image_hit(radius, &shifts, |[owner, number], near| {
                let zero = shifts.zero();
                let (i, j, code) =
                    if owner >= near { (near, owner, zero + 1 + number) } else { (owner, near, zero - 1 - number) };
                visit(i, j, self.shift(&shifts, i as usize, j, code));
            });
            Ok(())
        })
    }

    /// Calls `value` with the index and the neighbours of each point, in parallel. Returns one result per point, in the
    /// order of the slice from which the tree was built.
    ///
    /// The neighbours are those of [`CellBvh::neighbors`], in the same order: within `radius`, inclusive, including the
    /// point itself with an offset of 0.
    ///
    /// ```
    /// use ropewalk::geometry::Cell;
    /// use ropewalk::search::CellBvh;
    ///
    /// // Forces of springs of length 0 between neighbours.
    /// let bvh = CellBvh::build(&[[0.5f64, 0.5], [3.5, 0.5]], &Cell::new([[4.0, 0.0], [1.0, 3.0]])?)?;
    /// let forces = bvh.map_neighbors(1.0, |_, near| near.iter().map(|near| near.offset[0]).sum::<f64>())?;
    /// assert_eq!(forces, [-1.0, 1.0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`CellBvh::neighbors`].
    ///
    /// # Cost
    /// Memory: 8 bytes per neighbour, temporarily 12 more.
    pub fn map_neighbors<T: Send + Sync>(
        &self,
        radius: impl Into<f64>,
        value: impl Fn(u32, &[CellNeighborAt<D>]) -> T + Sync,
    ) -> Result<Vec<T>> {
        let radius = radius.into();
        guarded(|| {
            let shifts = Shifts::new(&self.cell, &self.spread, radius)?;
            let lists = self.words(radius, &shifts, Extent::Full);
            Ok(list_tasks(self.len(), TASK, &|range| {
                let mut near = vec![];
                let mut values = Vec::with_capacity(range.len());
                for i in range {
                    near.clear();
                    append(&mut near, lists.of(i).iter().map(|&word| self.neighbor_at(&shifts, i, word)));
                    values.push(value(i as u32, &near));
                }
                values
            }))
        })
    }

    fn lists(&self, radius: f64, extent: Extent) -> Result<Csr<CellNeighbor<D>>> {
        guarded(|| {
            let shifts = Shifts::new(&self.cell, &self.spread, radius)?;
            let (offsets, words) = self.words(radius, &shifts, extent).into_parts();
            let lists = list_tasks(self.len(), TASK, &|range| {
                let mut near = vec![];
                for i in range {
                    let own = words[offsets[i]..offsets[i + 1]].iter();
                    append(&mut near, own.map(|&word| self.neighbor(&shifts, i, word)));
                }
                near
            });
            Ok(Csr::from_parts(offsets, lists))
        })
    }

    /// The entries of lists, as indices and codes of shifts.
    fn words(&self, radius: f64, shifts: &Shifts<D>, extent: Extent) -> Csr<u64> {
        let images = self.images(shifts);
        let lists = self.bvh.query_all(&self.spheres(radius, shifts, &images));
        merged(&self.bvh.neighbors(radius), &ImageHits { images, lists }, shifts.zero(), extent)
    }

    /// Calls `visit` with each image near a stored point, and the point.
    fn for_each_image_hit(&self, radius: f64, shifts: &Shifts<D>, visit: impl Fn([u32; 2], u32) + Sync) {
        let images = self.images(shifts);
        self.bvh.for_each_hit(&self.spheres(radius, shifts, &images), |image, near| {
            visit(images[image], near);
            ControlFlow::Continue(())
        });
    }

    /// Lists the images that may have neighbours, in the order of the tree.
    fn images(&self, shifts: &Shifts<D>) -> Vec<[u32; 2]> {
        let (order, places) = (self.bvh.order(), &self.wrapped.places);
        list_tasks(self.len(), TASK, &|range| {
            let mut images = vec![];
            for &index in &order[range] {
                let place = &places[index as usize];
                shifts.for_each_near(&self.cell, place, |number| images.push([index, number as u32]));
            }
            images
        })
    }

    fn spheres(&self, radius: f64, shifts: &Shifts<D>, images: &[[u32; 2]]) -> Vec<Sphere<f64, D>> {
        map(images.len(), TASK, &|at| {
            let [owner, number] = images[at].map(|x| x as usize);
            Sphere::new(shifts.image(&self.wrapped.places[owner], number), radius)
        })
    }

    fn neighbor(&self, shifts: &Shifts<D>, of: usize, word: u64) -> CellNeighbor<D> {
        let (index, code) = parts(word);
        CellNeighbor { index, shift: self.shift(shifts, of, index, code) }
    }

    fn neighbor_at(&self, shifts: &Shifts<D>, of: usize, word: u64) -> CellNeighborAt<D> {
        let (index, code) = parts(word);
        let offset = self.offset(shifts, of, index, code);
        let shift = self.shift(shifts, of, index, code);
        CellNeighborAt { index, shift, distance2: distance2(&offset), offset }
    }

    /// The shift between the caller's points.
    fn shift(&self, shifts: &Shifts<D>, of: usize, index: u32, code: u32) -> [i32; D] {
        let [own, other] = [self.wrapped.wraps[of], self.wrapped.wraps[index as usize]];
        let shift = shifts.shift(code);
        std::array::from_fn(|k| shift[k] + own[k] - other[k])
    }

    fn offset(&self, shifts: &Shifts<D>, of: usize, index: u32, code: u32) -> [f64; D] {
        shifts.offset(&self.wrapped.places[of], &self.wrapped.places[index as usize], code)
    }
}

/// The largest radius, or the first one that is negative or not finite. 0 if there are no radii.
pub(crate) fn largest_of(radii: &[f64]) -> f64 {
    let invalid = radii.iter().copied().find(|radius| !(0.0..f64::INFINITY).contains(radius));
    invalid.unwrap_or_else(|| radii.iter().copied().fold(0.0, f64::max))
}
