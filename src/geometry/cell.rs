//! Triclinic cells: periodic space spanned by lattice vectors.

use crate::error::{Error, ErrorKind, Result};
use crate::format::number;

/// The lengths of lattice vectors that cells accept. Squares of these lengths and of their inverses are representable.
const LENGTHS: std::ops::RangeInclusive<f64> = 1e-100..=1e100;
/// The minimum height of a cell, as a share of its longest vector.
const MIN_HEIGHT: f64 = 1e-6;
/// The maximum deviation of the product of vectors and their inverse from the unit matrix.
const MAX_RESIDUAL: f64 = 1e-8;

/// A periodic cell spanned by lattice vectors: triclinic in three dimensions, a parallelogram in two.
///
/// Vectors are rows, in any order and orientation: left-handed and strongly skewed cells are valid. Each point has an
/// image at its position plus each sum of integer multiples of the vectors. [`CellBvh`](crate::search::CellBvh) lists
/// neighbours in a cell. For boxes with sides along the axes, [`Bvh::build_periodic`](crate::Bvh::build_periodic)
/// supports all other searches, too.
///
/// ```
/// use ropewalk::geometry::Cell;
///
/// let cell = Cell::new([[4.0, 0.0, 0.0], [2.0, 3.0, 0.0], [1.0, 1.0, 5.0]])?;
/// assert!((cell.volume() - 60.0).abs() < 1e-12);
/// assert_eq!(cell.translation(&[1, -1, 2]), [4.0, -1.0, 10.0]);
/// assert_eq!(cell.wrap(&[7.0, 4.0, 1.0]), Some(([1.0, 1.0, 1.0], [1, 1, 0])));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell<const D: usize> {
    vectors: [[f64; D]; D],
    /// The columns of the inverse matrix: the product of a point with column `k` is its fractional coordinate `k`.
    duals: [[f64; D]; D],
}

impl<const D: usize> Cell<D> {
    /// The maximum number of cells between a point and the cell at the origin, along each vector: 2^29.
    pub const MAX_WRAP: i32 = 1 << 29;

    /// Creates a cell from its lattice vectors, which are rows.
    ///
    /// # Errors
    /// - A component is NaN or infinite, or a vector is shorter than 1e-100 or longer than 1e100.
    /// - A height of the cell is less than 1e-6 of its longest vector: the vectors are almost in one plane, or differ
    ///   too much in length. See [`Cell::heights`].
    pub fn new(vectors: [[f64; D]; D]) -> Result<Self> {
        for (k, vector) in vectors.iter().enumerate() {
            if let Some(&x) = vector.iter().find(|x| !x.is_finite()) {
                return Err(cell_error(format!(
                    "lattice vector {k} has the component {}; it must be finite",
                    number(x)
                )));
            }
            let length = length(vector);
            if !LENGTHS.contains(&length) {
                let (length, least, most) = (number(length), LENGTHS.start(), LENGTHS.end());
                let must = format!("it must be between {least:e} and {most:e}");
                return Err(cell_error(format!("lattice vector {k} has the length {length}; {must}")));
            }
        }
        let cell = Self { vectors, duals: duals_of(&vectors).ok_or_else(flat_cell)? };
        let longest = vectors.iter().map(length).fold(0.0, f64::max);
        let is_high = cell.heights().iter().all(|&height| height >= MIN_HEIGHT * longest);
        let residual = |k: usize, d: usize| (dot(&cell.duals[k], &vectors[d]) - f64::from(u8::from(k == d))).abs();
        let is_inverse = (0..D).all(|k| (0..D).all(|d| residual(k, d) <= MAX_RESIDUAL));
        if is_high && is_inverse { Ok(cell) } else { Err(flat_cell()) }
    }

    /// Creates a cell with sides along the axes.
    ///
    /// # Errors
    /// As [`Cell::new`].
    pub fn orthogonal(sides: [f64; D]) -> Result<Self> {
        Self::new(std::array::from_fn(|k| std::array::from_fn(|d| if d == k { sides[k] } else { 0.0 })))
    }

    /// Returns the lattice vectors, which are rows.
    pub fn vectors(&self) -> &[[f64; D]; D] {
        &self.vectors
    }

    /// Returns the distance between the two faces across each lattice vector. A sphere whose radius is at most half of
    /// each height meets no two images of a point inside.
    ///
    /// ```
    /// let cell = ropewalk::geometry::Cell::new([[4.0, 0.0], [3.0, 2.0]])?;
    /// assert!((cell.heights()[1] - 2.0).abs() < 1e-12);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn heights(&self) -> [f64; D] {
        self.duals.map(|dual| 1.0 / length(&dual))
    }

    /// Returns the volume of the cell, in two dimensions its area. It is positive.
    pub fn volume(&self) -> f64 {
        // The product of the heights above the vectors before, by Gram-Schmidt.
        let mut directions: Vec<[f64; D]> = vec![];
        let mut volume = 1.0;
        for vector in &self.vectors {
            let mut rest = *vector;
            for direction in &directions {
                let along = dot(&rest, direction);
                rest = std::array::from_fn(|k| rest[k] - along * direction[k]);
            }
            let height = length(&rest);
            volume *= height;
            directions.push(rest.map(|x| x / height));
        }
        volume
    }

    /// Computes the fractional coordinates of a point: the multiples of the lattice vectors whose sum is the point.
    /// They are rounded.
    pub fn fractions(&self, point: &[f64; D]) -> [f64; D] {
        self.duals.map(|dual| dot(&dual, point))
    }

    /// Computes the sum of multiples of the lattice vectors in `f64`. Products and sums are rounded in the order of the
    /// vectors, for each axis: `(shift[0] * a + shift[1] * b) + shift[2] * c`.
    ///
    /// The translation of the opposite shift is exactly the opposite vector.
    pub fn translation(&self, shift: &[i32; D]) -> [f64; D] {
        std::array::from_fn(|axis| {
            let terms = shift.iter().zip(&self.vectors).map(|(&shift, vector)| f64::from(shift) * vector[axis]);
            terms.fold(0.0, |sum, term| sum + term)
        })
    }

    /// Returns the image of a point in the cell, and the number of cells along each vector by which the point is
    /// outside. The image is the point minus the [translation](Cell::translation) by these numbers.
    ///
    /// The numbers are the [fractional coordinates](Cell::fractions), rounded down. A point for which they are 0 is
    /// unchanged. The image of another point is rounded, so a point near a face may end up slightly outside. Returns
    /// `None` if a coordinate is not finite or a number exceeds [`Cell::MAX_WRAP`].
    pub fn wrap(&self, point: &[f64; D]) -> Option<([f64; D], [i32; D])> {
        let cells = self.fractions(point).map(f64::floor);
        if !cells.iter().all(|cells| cells.abs() <= f64::from(Self::MAX_WRAP)) {
            return None;
        }
        let wrap = cells.map(|cells| cells as i32);
        if wrap == [0; D] {
            return Some((*point, wrap));
        }
        let translation = self.translation(&wrap);
        Some((std::array::from_fn(|k| point[k] - translation[k]), wrap))
    }

    /// Returns the columns of the inverse matrix.
    pub(crate) fn duals(&self) -> &[[f64; D]; D] {
        &self.duals
    }
}

impl Cell<3> {
    /// Creates a cell from the lengths of its vectors and the angles between them in degrees.
    ///
    /// As in crystallography, alpha is between `b` and `c`, beta between `a` and `c`, and gamma between `a` and `b`.
    ///
    /// The first vector is along the x-axis, the second in the xy-plane with a positive y. The third has a positive z.
    ///
    /// ```
    /// let hexagonal = ropewalk::geometry::Cell::from_lengths_and_angles([3.0, 3.0, 5.0], [90.0, 90.0, 120.0])?;
    /// assert!((hexagonal.volume() - 5.0 * 9.0 * 0.75f64.sqrt()).abs() < 1e-12);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// An angle is not between 0 and 180 degrees, there is no cell with these angles, or as [`Cell::new`].
    pub fn from_lengths_and_angles(lengths: [f64; 3], degrees: [f64; 3]) -> Result<Self> {
        if let Some(k) = (0..3).find(|&k| !(degrees[k] > 0.0 && degrees[k] < 180.0)) {
            let (name, angle) = (["alpha", "beta", "gamma"][k], number(degrees[k]));
            return Err(cell_error(format!("{name} is {angle}; it must be between 0 and 180 degrees")));
        }
        if let Some(k) = (0..3).find(|&k| lengths[k].is_nan() || lengths[k] <= 0.0) {
            return Err(cell_error(format!("length {k} is {}; it must be positive", number(lengths[k]))));
        }
        // The computed cosine of 90 degrees is not 0.
        let [alpha, beta, gamma] = degrees.map(|angle| if angle == 90.0 { 0.0 } else { angle.to_radians().cos() });
        let sine = if gamma == 0.0 { 1.0 } else { degrees[2].to_radians().sin() };
        let y = (alpha - beta * gamma) / sine;
        let z2 = 1.0 - beta * beta - y * y;
        if z2 <= 0.0 {
            let [alpha, beta, gamma] = degrees.map(number);
            let must = "the sum of any two must exceed the third, and the sum of all three must be below 360 degrees";
            return Err(cell_error(format!("no cell has the angles {alpha}, {beta} and {gamma}; {must}")));
        }
        let [a, b, c] = lengths;
        Self::new([[a, 0.0, 0.0], [b * gamma, b * sine, 0.0], [c * beta, c * y, c * z2.sqrt()]])
    }
}

/// Computes the columns of the inverse by Gauss-Jordan elimination with pivoting; `None` if the matrix is singular.
fn duals_of<const D: usize>(vectors: &[[f64; D]; D]) -> Option<[[f64; D]; D]> {
    // Vectors of length 1 have a well-conditioned matrix, unless they are almost in one plane.
    let lengths = vectors.map(|vector| length(&vector));
    let mut rows: [[f64; D]; D] = std::array::from_fn(|k| vectors[k].map(|x| x / lengths[k]));
    let mut inverse: [[f64; D]; D] = std::array::from_fn(|k| std::array::from_fn(|d| f64::from(u8::from(d == k))));
    for k in 0..D {
        let pivot = (k..D).max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs()))?;
        rows.swap(k, pivot);
        inverse.swap(k, pivot);
        let value = rows[k][k];
        if value == 0.0 {
            return None;
        }
        (rows[k], inverse[k]) = (rows[k].map(|x| x / value), inverse[k].map(|x| x / value));
        let (row, inverse_row) = (rows[k], inverse[k]);
        for other in (0..D).filter(|&other| other != k) {
            let factor = rows[other][k];
            for d in 0..D {
                rows[other][d] -= factor * row[d];
                inverse[other][d] -= factor * inverse_row[d];
            }
        }
    }
    Some(std::array::from_fn(|k| std::array::from_fn(|axis| inverse[axis][k] / lengths[k])))
}

/// The product of two vectors, summed in the order of the axes.
pub(crate) fn dot<const D: usize>(a: &[f64; D], b: &[f64; D]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}

/// The length of a vector.
pub(crate) fn length<const D: usize>(vector: &[f64; D]) -> f64 {
    dot(vector, vector).sqrt()
}

fn cell_error(sentence: String) -> Error {
    Error::new(ErrorKind::Parameter, sentence).about("cell")
}

fn flat_cell() -> Error {
    let must = format!("each height of the cell must be at least {MIN_HEIGHT:e} of its longest vector");
    cell_error(format!("the lattice vectors span almost no volume; {must}"))
}
