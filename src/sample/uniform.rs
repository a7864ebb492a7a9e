//! The samples without clustering: uniform points, and a lattice.

use crate::error::{Error, Result};
use crate::sample::checks::{check_side, check_within};
use crate::sample::random::{MAX_POINTS, Permutation, fill};

/// Independent uniform points in a box.
///
/// ```
/// use ropewalk::sample::Uniform;
///
/// let points = Uniform::new(1000).seed(7).side(2.0).points()?;
/// assert_eq!(points.len(), 1000);
/// assert!(points.iter().flatten().all(|x| (0.0..2.0).contains(x)));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Uniform {
    pub(super) n: usize,
    pub(super) seed: u64,
    pub(super) side: f64,
}

impl Uniform {
    /// Creates options for `n` points, at most 2^32 - 2, with seed 0 in the unit box.
    pub fn new(n: usize) -> Self {
        Self { n, seed: 0, side: 1.0 }
    }

    /// Sets the seed, any number. Default: 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the side of the box, in any unit of length, from 1e-15 to 1e15. Default: 1.
    #[must_use]
    pub fn side(mut self, side: f64) -> Self {
        self.side = side;
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        check_count(self.n)?;
        check_side(self.side)
    }

    /// Generates the points, in `[0, side)`.
    ///
    /// # Errors
    /// A parameter out of its range; more points than fit into memory.
    pub fn points(&self) -> Result<Vec<[f32; 3]>> {
        self.check()?;
        fill(self.n, self.side, self.seed, |_, stream| stream.cube(self.side))
    }
}

/// A cubic lattice in a box with optional random displacements, in random order.
///
/// Without jitter, many distances are equal, which tests ties. The distances are exact in `f32` if both the side of
/// the box and the number of points per axis are powers of two.
///
/// ```
/// use ropewalk::sample::Lattice;
///
/// let mut points = Lattice::new(2).side(4.0).points()?;
/// points.sort_by(|a, b| a.partial_cmp(b).unwrap());
/// assert_eq!(points[..3], [[1.0, 1.0, 1.0], [1.0, 1.0, 3.0], [1.0, 3.0, 1.0]]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Lattice {
    pub(super) per_axis: usize,
    pub(super) jitter: f64,
    pub(super) seed: u64,
    pub(super) side: f64,
}

impl Lattice {
    /// Creates options for `per_axis` points along each axis, at most 1625, in the centres of their cells. Default: no
    /// jitter, seed 0, the unit box.
    pub fn new(per_axis: usize) -> Self {
        Self { per_axis, jitter: 0.0, seed: 0, side: 1.0 }
    }

    /// Sets the maximum displacement of a coordinate, uniform in both directions, as a fraction of the spacing. The
    /// range is 0 to 0.5, at which the points fill their cells. Default: 0.
    #[must_use]
    pub fn jitter(mut self, jitter: f64) -> Self {
        self.jitter = jitter;
        self
    }

    /// Sets the seed, any number. Default: 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the side of the box, in any unit of length, from 1e-15 to 1e15. Default: 1.
    #[must_use]
    pub fn side(mut self, side: f64) -> Self {
        self.side = side;
        self
    }

    /// The number of points.
    pub(super) fn count(&self) -> usize {
        self.per_axis.saturating_pow(3)
    }

    pub(super) fn check(&self) -> Result<()> {
        check_count(self.count())?;
        check_within("jitter", self.jitter, 0.0, 0.5, "from 0 to 0.5")?;
        check_side(self.side)
    }

    /// Generates the points, in `[0, side)`.
    ///
    /// # Errors
    /// A parameter out of its range; more points than fit into memory.
    pub fn points(&self) -> Result<Vec<[f32; 3]>> {
        self.check()?;
        let order = Permutation::new(self.count() as u32, self.seed);
        let (per_axis, spacing) = (self.per_axis as u32, self.side / self.per_axis as f64);
        fill(self.count(), self.side, self.seed, |index, stream| {
            let cell = order.of(index);
            let cells = [cell / per_axis / per_axis, cell / per_axis % per_axis, cell % per_axis];
            cells.map(|cell| {
                let moved = self.jitter * (2.0 * stream.unit() - 1.0);
                (f64::from(cell) + 0.5 + moved) * spacing
            })
        })
    }
}

pub(super) fn check_count(n: usize) -> Result<()> {
    if n > MAX_POINTS { Err(Error::too_many_points(n, MAX_POINTS)) } else { Ok(()) }
}
