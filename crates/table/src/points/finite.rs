//! A check that all coordinates are finite, for callers that can name the file of the points.
//!
//! In: points. Out: an error about the first coordinate that is not finite.
//! Cost: one pass in parallel.

use ropewalk::internals::parallel::fold_tasks;
use ropewalk::{Error, Result, Scalar};

use crate::points::{Points, Table};

/// Coordinates per parallel task.
const TASK: usize = 1 << 16;

impl Points {
    /// Checks that no coordinate is NaN or infinite.
    ///
    /// # Errors
    /// Fails with the error that algorithms return for the first such coordinate.
    pub fn check_finite(&self) -> Result<()> {
        match self {
            Self::F32(table) => check(table),
            Self::F64(table) => check(table),
        }
    }
}

fn check<S: Scalar>(table: &Table<S>) -> Result<()> {
    let all = table.as_slice();
    let fault = |range: std::ops::Range<usize>| {
        let is_bad = |x: &S| !Into::<f64>::into(*x).is_finite();
        all[range.clone()].iter().position(is_bad).map(|at| range.start + at)
    };
    match fold_tasks(0..all.len(), TASK, &fault, &Option::or) {
        Some(at) => Err(Error::not_finite(at / table.dim(), at % table.dim(), all[at].into())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_named() {
        let mut data = vec![0.0f32; 3 << 17];
        assert!(Points::F32(Table::new(3, data.clone()).unwrap()).check_finite().is_ok());
        data[300_001] = f32::INFINITY;
        data[200_000] = f32::NAN;
        let error = Points::F32(Table::new(3, data).unwrap()).check_finite().unwrap_err();
        assert_eq!(error.to_string(), "point 66666: coordinate 2 is NaN; coordinates must be finite");
    }
}
