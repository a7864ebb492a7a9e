//! The lattice shifts at which images of points may be within a radius of other points.
//!
//! Input: a cell, the extent of the points in it, and a radius. Output: shifts, and a test whether an image of a point
//! may have neighbours.
//! Each pair of a point and an image has a mirror image, with the opposite shift. Only one of the two is computed: the
//! one whose first nonzero shift is positive, here called a positive shift.

use crate::error::{Error, ErrorKind, Result};
use crate::format::number;
use crate::geometry::Cell;
use crate::geometry::cell::{dot, length};
use crate::search::cell::wrapped::Spread;

/// The maximum number of shifts, of both signs. Loops over more shifts are too long for some drivers of devices.
const MAX_SHIFTS: f64 = 65_535.0;

/// Shifts, in ascending order, and the region in which images may have neighbours.
pub(crate) struct Shifts<const D: usize> {
    /// The positive shifts.
    pub positive: Vec<[i32; D]>,
    /// The sums of lattice vectors of each positive shift, and their fractional coordinates.
    pub translations: Vec<[f64; D]>,
    pub advances: Vec<[f64; D]>,
    /// The fractional coordinates of images that may have neighbours are between these two.
    pub bounds: [[f64; 2]; D],
}

impl<const D: usize> Shifts<D> {
    /// Finds the shifts for a radius. There are none if there are no points.
    ///
    /// Errors: the radius is negative, not finite, or too large for the cell.
    pub fn new(cell: &Cell<D>, spread: &Spread<D>, radius: f64) -> Result<Self> {
        if !(0.0..f64::INFINITY).contains(&radius) {
            return Err(Error::parameter_must("radius", radius, "finite and not negative"));
        }
        let norms = cell.duals().map(|dual| length(&dual));
        // Along a dual vector, points within the radius differ by at most the radius. Fractional coordinates of the
        // same points differ by at most this.
        let widths: [f64; D] = std::array::from_fn(|k| {
            let [lo, hi] = spread.fractions[k];
            (hi - lo).max(0.0) + norms[k] * radius
        });
        // The margin covers the rounding of the inverse matrix.
        let most = widths.map(|width| (width * (1.0 + 1e-6) + 1e-3).floor());
        let count: f64 = most.iter().map(|most| 2.0 * most + 1.0).product();
        if count > MAX_SHIFTS {
            let sentence = format!(
                "radius is {}; it spans {} cells around each point, at most {MAX_SHIFTS} are supported; use a smaller \
                 radius or a cell of several copies of the points",
                number(radius),
                number(count)
            );
            return Err(Error::new(ErrorKind::Unsupported, sentence).about("radius"));
        }
        let positive = positive_shifts(most.map(|most| most as i32));
        let translations: Vec<[f64; D]> = positive.iter().map(|shift| cell.translation(shift)).collect();
        let advances = translations.iter().map(|translation| cell.fractions(translation)).collect();
        let farthest = translations.iter().map(length).fold(0.0, f64::max);
        let bounds = std::array::from_fn(|k| {
            let [lo, hi] = spread.fractions[k];
            // More than the rounding errors of all steps.
            let slack = 64.0 * f64::EPSILON * norms[k] * (spread.largest + farthest + radius);
            let margin = norms[k] * radius + slack;
            [lo - margin, hi + margin]
        });
        Ok(Self { positive, translations, advances, bounds })
    }

    /// Calls `visit` with the number of each positive shift at which the image of `place` may have neighbours.
    pub fn for_each_near(&self, cell: &Cell<D>, place: &[f64; D], mut visit: impl FnMut(usize)) {
        let fractions = cell.fractions(place);
        for (number, advance) in self.advances.iter().enumerate() {
            if (0..D).all(|k| {
                let at = fractions[k] + advance[k];
                self.bounds[k][0] <= at && at <= self.bounds[k][1]
            }) {
                visit(number);
            }
        }
    }

    /// Returns the code of no shift. The code of positive shift `s` is `zero + 1 + s`, and that of the opposite shift
    /// is `zero - 1 - s`, so that codes ascend with shifts.
    pub fn zero(&self) -> u32 {
        self.positive.len() as u32
    }

    /// Returns the shift of a code.
    pub fn shift(&self, code: u32) -> [i32; D] {
        let zero = self.zero();
        if code > zero {
            self.positive[(code - zero - 1) as usize]
        } else if code < zero {
            self.positive[(zero - 1 - code) as usize].map(|shift| -shift)
        } else {
            [0; D]
        }
    }

    /// Computes the vector from a point to an image of another point, given the code of its shift. The vector in the
    /// opposite direction is exactly the opposite.
    pub fn offset(&self, from: &[f64; D], to: &[f64; D], code: u32) -> [f64; D] {
        let zero = self.zero();
        let (mut from, mut to) = (*from, *to);
        if code > zero {
            to = self.image(&to, (code - zero - 1) as usize);
        } else if code < zero {
            from = self.image(&from, (zero - 1 - code) as usize);
        }
        std::array::from_fn(|k| to[k] - from[k])
    }

    /// Computes the image of a point at a positive shift.
    pub fn image(&self, place: &[f64; D], number: usize) -> [f64; D] {
        let translation = &self.translations[number];
        std::array::from_fn(|k| place[k] + translation[k])
    }
}

/// Lists the shifts of at most `most` along each vector that follow 0, in ascending order.
fn positive_shifts<const D: usize>(most: [i32; D]) -> Vec<[i32; D]> {
    let mut shifts = vec![];
    let mut shift = [0; D];
    loop {
        // The next shift, as numbers are counted.
        let Some(digit) = (0..D).rev().find(|&k| shift[k] < most[k]) else { return shifts };
        shift[digit] += 1;
        for k in digit + 1..D {
            shift[k] = -most[k];
        }
        shifts.push(shift);
    }
}

/// The squared length of an offset, summed in the order of the axes.
pub(super) fn distance2<const D: usize>(offset: &[f64; D]) -> f64 {
    dot(offset, offset)
}
