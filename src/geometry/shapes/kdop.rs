//! k-DOPs: discrete oriented polytopes, bounded by k/2 pairs of parallel planes.

use crate::geometry::shapes::core::{Core, Solid};
use crate::geometry::shapes::slabs::Slabs;
use crate::geometry::shapes::vector::{outwards, to_f64};
use crate::geometry::{Aabb, Bounded, Convex, Scalar};

/// The axes, the diagonals of the cube and the diagonals of its faces.
const DIRECTIONS: [[i8; 3]; 13] = [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
    [1, 1, 1],
    [1, 1, -1],
    [1, -1, 1],
    [1, -1, -1],
    [1, 1, 0],
    [1, -1, 0],
    [1, 0, 1],
    [1, 0, -1],
    [0, 1, 1],
    [0, 1, -1],
];
/// The axes and the diagonals of the faces.
const EDGES: [[i8; 3]; 9] =
    [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, -1, 0], [1, 0, 1], [1, 0, -1], [0, 1, 1], [0, 1, -1]];
/// The axes and diagonals of the plane.
const PLANE: [[i8; 3]; 4] = [[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, -1, 0]];

/// Returns the directions of the planes of k-DOPs with `n` directions in `d` dimensions.
pub const fn directions_of(d: usize, n: usize) -> &'static [[i8; 3]] {
    match (d, n) {
        (3, 3) => EDGES.as_slice().split_at(3).0,
        (3, 7) => DIRECTIONS.as_slice().split_at(7).0,
        (3, 9) => &EDGES,
        (3, 13) => &DIRECTIONS,
        (2, 4) => &PLANE,
        _ => panic!("unsupported k-DOP; use 6, 14, 18 or 26 planes in three dimensions, or 8 in two"),
    }
}

/// The points between `N` pairs of parallel planes of fixed directions: a bounding volume that is tighter than a box.
///
/// The directions are the axes, and the 4 diagonals of the cube in [`Dop14`], the 6 diagonals of its faces in
/// [`Dop18`], or both in [`Dop26`]. In the plane, [`Dop8`] has the two diagonals. Their components are 0, 1 and -1,
/// so that projections are sums of coordinates. k-DOPs around points round the projections outwards.
///
/// [`Kdop::may_intersect`] compares only the intervals, as usual for bounding volumes. [`Convex::intersects`]
/// decides, from corners rounded in `f64`. A [`Dop6`] is tested as its box. If the slabs have no common point, the
/// k-DOP is empty.
///
/// ```
/// use ropewalk::geometry::{Convex, Dop8};
///
/// let mut dop = Dop8::around(&[[0.0f32, 0.0], [4.0, 0.0], [0.0, 4.0]]);
/// assert!(dop.intersects(&[2.0, 2.0]) && !dop.intersects(&[3.0, 3.0])); // its box contains both
/// dop = dop.union(&Dop8::around(&[[4.0, 4.0]]));
/// assert!(dop.intersects(&[3.0, 3.0]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kdop<S, const D: usize, const N: usize> {
    lo: [S; N],
    hi: [S; N],
}

/// An axis-aligned box as a k-DOP: bounded by its 6 faces.
pub type Dop6<S> = Kdop<S, 3, 3>;
/// A bounding volume with 14 faces: an axis-aligned box whose 8 corners are cut off by planes.
pub type Dop14<S> = Kdop<S, 3, 7>;
/// A bounding volume with 18 faces: an axis-aligned box whose 12 edges are cut off by planes.
pub type Dop18<S> = Kdop<S, 3, 9>;
/// A bounding volume with 26 faces: an axis-aligned box whose 8 corners and 12 edges are cut off by planes.
pub type Dop26<S> = Kdop<S, 3, 13>;
/// A bounding area in the plane with 8 sides: an axis-aligned rectangle whose 4 corners are cut off by lines.
pub type Dop8<S> = Kdop<S, 2, 4>;

impl<S: Scalar, const D: usize, const N: usize> Kdop<S, D, N> {
    const ROWS: &'static [[i8; 3]] = directions_of(D, N);

    /// The empty k-DOP, the initial value of a union.
    pub const EMPTY: Self = Self { lo: [S::INFINITY; N], hi: [S::NEG_INFINITY; N] };

    /// Computes the smallest k-DOP around some points; [`Kdop::EMPTY`] without points. A NaN coordinate makes it
    /// permanently empty.
    pub fn around(points: &[[S; D]]) -> Self {
        points.iter().fold(Self::EMPTY, |dop, point| dop.union(&Self::point(point)))
    }

    fn point(point: &[S; D]) -> Self {
        let (mut lo, mut hi) = ([S::ZERO; N], [S::ZERO; N]);
        let point = to_f64(point);
        for (i, row) in Self::ROWS.iter().enumerate() {
            let (mut sum, mut rest) = (0.0, 0.0);
            for k in 0..D {
                // The rounding error of the sum (Knuth 1969).
                let (before, next) = (sum, f64::from(row[k]) * point[k]);
                sum = before + next;
                let back = sum - before;
                rest += ((before - (sum - back)) + (next - back)).abs();
            }
            [lo[i], hi[i]] = outwards(sum, sum, 2.0 * rest);
        }
        Self { lo, hi }
    }

    /// Creates the k-DOP between two numbers along each direction, in the order of [`Kdop::directions`].
    pub fn new(lo: [S; N], hi: [S; N]) -> Self {
        Self { lo, hi }
    }

    /// Returns the directions of the planes, starting with the axes.
    pub fn directions() -> [[f64; D]; N] {
        std::array::from_fn(|i| std::array::from_fn(|k| f64::from(Self::ROWS[i][k])))
    }

    /// Returns the lower ends of the intervals along the directions.
    pub fn lo(&self) -> [S; N] {
        self.lo
    }

    /// Returns the upper ends of the intervals along the directions.
    pub fn hi(&self) -> [S; N] {
        self.hi
    }

    /// Returns the smallest k-DOP that contains both k-DOPs.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        // A NaN in either operand is selected, so that it persists.
        let least = |a: S, b: S| if a <= b || a.abs().partial_cmp(&a.abs()).is_none() { a } else { b };
        let most = |a: S, b: S| if a >= b || a.abs().partial_cmp(&a.abs()).is_none() { a } else { b };
        Self {
            lo: std::array::from_fn(|i| least(self.lo[i], other.lo[i])),
            hi: std::array::from_fn(|i| most(self.hi[i], other.hi[i])),
        }
    }

    /// Returns `true` if all intervals overlap. If not, the two k-DOPs are certainly disjoint. Costs 2 N comparisons.
    ///
    /// ```
    /// use ropewalk::geometry::{Convex, Dop8};
    ///
    /// let corner = Dop8::around(&[[0.0f64, 0.0], [1.0, 0.0], [0.0, 1.0]]);
    /// // Their boxes overlap, but a diagonal lies between them.
    /// let apart = Dop8::around(&[[0.75, 0.75], [1.0, 1.0]]);
    /// assert!(!corner.may_intersect(&apart) && !corner.intersects(&apart));
    /// let near = Dop8::around(&[[0.25, 0.25], [1.0, 1.0]]);
    /// assert!(corner.may_intersect(&near) && corner.intersects(&near));
    /// ```
    pub fn may_intersect(&self, other: &Self) -> bool {
        (0..N).all(|i| self.lo[i] <= other.hi[i] && other.lo[i] <= self.hi[i])
    }

    /// Computes the corners of the k-DOP, rounded, possibly with repetitions; empty if the k-DOP is empty.
    pub fn corners(&self) -> Vec<[f64; D]> {
        self.slabs().core.corners()
    }

    /// The intersection of the slabs.
    fn slabs(&self) -> Solid<D> {
        let mut ends = [[0.0; 2]; 13];
        for (ends, (lo, hi)) in ends.iter_mut().zip(self.lo.iter().zip(&self.hi)) {
            *ends = [(*lo).into(), (*hi).into()];
        }
        Solid::new(Core::Slabs(Box::new(Slabs { directions: Self::ROWS, ends })), 0.0, S::LIMIT)
    }
}

impl<S: Scalar, const D: usize, const N: usize> Convex<S, D> for Kdop<S, D, N> {
    fn solid(&self) -> Solid<D> {
        if N == D {
            // Slabs along the axes alone are a box, whose distances need no iteration and its rounding.
            let Aabb { lo, hi } = self.bounds();
            return Solid::new(Core::Box([to_f64(&lo), to_f64(&hi)]), 0.0, S::LIMIT);
        }
        self.slabs()
    }
}

impl<S: Scalar, const D: usize, const N: usize> Bounded<S, D> for Kdop<S, D, N> {
    /// The slabs along the axes.
    fn bounds(&self) -> Aabb<S, D> {
        Aabb { lo: std::array::from_fn(|k| self.lo[k]), hi: std::array::from_fn(|k| self.hi[k]) }
    }
}

#[cfg(test)]
mod tests {
    use crate::geometry::Dop6;

    #[test]
    fn six_slabs_have_eight_corners() {
        let cube = Dop6::around(&[[0.0f64, 0.0, 0.0], [1.0, 2.0, 3.0]]);
        let mut corners: Vec<[u64; 3]> = cube.corners().iter().map(|corner| corner.map(|x| x.round() as u64)).collect();
        corners.sort_unstable();
        corners.dedup();
        assert_eq!(corners.len(), 8);
        assert_eq!((corners[0], corners[7]), ([0, 0, 0], [1, 2, 3]));
    }
}
