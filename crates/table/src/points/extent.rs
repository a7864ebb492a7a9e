//! Checks that points belong to the periodic box that is specified for them.
//!
//! In: points and the side of a box. Out: the number of points outside the box, or an error if they span more than
//! the box.
//! Cost: one pass in parallel.

use ropewalk::internals::format::{grouped, short};
use ropewalk::internals::parallel::map_tasks;
use ropewalk::{Error, ErrorKind, Result, Scalar};

use crate::points::{Points, Table};

/// Points per parallel task.
const TASK: usize = 1 << 14;
/// The relative amount by which points may exceed a side, because of rounding to `f32`.
const ROUNDING: f64 = 1e-6;

impl Points {
    /// Returns the number of points outside the periodic box `[0, side]`, which algorithms wrap into it.
    ///
    /// Points may have any origin, such as -L/2, but must not span more than a side: wider points do not belong to
    /// this box, and wrapping would superimpose unrelated points. If the side is from the file itself (`is_of_file`),
    /// points may span up to twice the side, since a simulation may let particles drift out between wrappings. Sides
    /// and coordinates that are not finite are ignored here; algorithms reject them.
    ///
    /// # Errors
    /// Fails if the points span more than that.
    pub fn check_box(&self, side: f64, is_of_file: bool) -> Result<u64> {
        if !is_box(&side) {
            return Ok(0);
        }
        Extent::new(self, side).check(side, is_of_file, "points", self.len() as u64)
    }

    /// Checks the points against a box with a side for each axis, specified by the caller and not by a file.
    ///
    /// # Errors
    /// Fails if the points span more than a side.
    pub fn check_sides(&self, sides: &[f64]) -> Result<()> {
        let extent = Extent::new(self, f64::INFINITY);
        match extent.too_wide(sides) {
            Some((axis, side)) => {
                let outside = Extent::new(self, side).outside;
                Err(Extent { outside, ..extent }.refusal(axis, side, "points", self.len() as u64))
            }
            None => Ok(()),
        }
    }
}

/// Returns `true` if `side` is a valid side of a periodic box.
pub fn is_box(side: &f64) -> bool {
    *side > 0.0 && *side < f64::INFINITY
}

/// The range of the points along each axis, and the number of points with a coordinate outside the box.
#[derive(Clone, Debug)]
pub struct Extent {
    pub axes: Vec<(f64, f64)>,
    pub outside: u64,
}

impl Extent {
    pub fn new(points: &Points, side: f64) -> Self {
        match points {
            Points::F32(table) => Self::from_table(table, side),
            Points::F64(table) => Self::from_table(table, side),
        }
    }

    /// Returns the first axis along which the points span more than its side, with that side.
    pub fn too_wide(&self, sides: &[f64]) -> Option<(usize, f64)> {
        let is_too_wide =
            |&(_, (&side, (lo, hi))): &(usize, (&f64, &(f64, f64)))| is_box(&side) && hi - lo > side * (1.0 + ROUNDING);
        sides.iter().zip(&self.axes).enumerate().find(is_too_wide).map(|(axis, (&side, _))| (axis, side))
    }

    /// Creates the error for points that span more than `side` along `axis`. `what` and `points` are their noun and
    /// their number.
    pub fn refusal(&self, axis: usize, side: f64, what: &'static str, points: u64) -> Error {
        let (lo, hi) = self.axes[axis];
        let sentence = format!(
            "the periodic box is {side}, but along axis {axis} the {what} run from {lo} to {hi}, which is {width} wide; {outside} of \
             {points} points lie outside of the box; specify the box of these points",
            side = short(side),
            width = short(hi - lo),
            lo = short(lo),
            hi = short(hi),
            outside = grouped(self.outside),
            points = grouped(points)
        );
        Error::new(ErrorKind::Parameter, sentence)
    }

    /// Returns the number of points outside the box. `what` and `points` are their noun and their number.
    ///
    /// # Errors
    /// Fails if the points span more than [`Points::check_box`] allows.
    pub fn check(&self, side: f64, is_of_file: bool, what: &'static str, points: u64) -> Result<u64> {
        let max_width = if is_of_file { 2.0 * side } else { side * (1.0 + ROUNDING) };
        for (axis, &(lo, hi)) in self.axes.iter().enumerate() {
            let width = hi - lo;
            if width > max_width && width < f64::INFINITY {
                return Err(self.refusal(axis, side, what, points));
            }
        }
        Ok(self.outside)
    }

    fn from_table<S: Scalar>(table: &Table<S>, side: f64) -> Self {
        let (dim, values) = (table.dim(), table.as_slice());
        let none = || Self { axes: vec![(f64::INFINITY, f64::NEG_INFINITY); dim], outside: 0 };
        let extents = map_tasks(values.len() / dim, TASK, &|rows| {
            let mut extent = none();
            for row in values[rows.start * dim..rows.end * dim].chunks_exact(dim) {
                let mut inside = true;
                for (axis, &x) in extent.axes.iter_mut().zip(row) {
                    let x: f64 = x.into();
                    *axis = (axis.0.min(x), axis.1.max(x));
                    inside &= (0.0..=side).contains(&x);
                }
                extent.outside += u64::from(!inside);
            }
            extent
        });
        extents.into_iter().fold(none(), |all, extent| all.join(&extent))
    }

    /// Returns the extent of both sets of points.
    pub fn join(mut self, other: &Self) -> Self {
        for (axis, (lo, hi)) in self.axes.iter_mut().zip(&other.axes) {
            *axis = (axis.0.min(*lo), axis.1.max(*hi));
        }
        self.outside += other.outside;
        self
    }
}
