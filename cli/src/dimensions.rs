//! From a table whose width is known at run time to arrays whose length is known when compiling.
//!
//! Algorithms are compiled for few kinds of rows, for each takes its time: two and three dimensions in either precision, and 6 and
//! 10 dimensions of 64 bits. Other rows become the next wider ones: the axes that are added are 0 everywhere and leave distances
//! alone, and each `f32` is an `f64`. So answers stay what they are.

use std::borrow::Cow;

use ropewalk::io::{Points, Table};
use ropewalk::{Scalar, Space};

use super::Failure;

/// Runs `$work` with `$rows` as a slice of arrays of 32 or 64-bit floats; `None` if the points have another number of
/// coordinates than those listed. `$work` is compiled for each.
macro_rules! with_rows {
    ($points:expr, f32 [$($narrow:literal),*], f64 [$($wide:literal),*], $rows:ident => $work:expr) => {
        'done: {
            match $points {
                ropewalk::io::Points::F32(table) => {
                    $(if let Some($rows) = table.rows::<$narrow>() { break 'done Some($work); })*
                }
                ropewalk::io::Points::F64(table) => {
                    $(if let Some($rows) = table.rows::<$wide>() { break 'done Some($work); })*
                }
            }
            None
        }
    };
}

/// [`with_rows!`] for what [`compiled`] returns.
macro_rules! with_compiled_rows {
    ($points:expr, $rows:ident => $work:expr) => {
        with_rows!($points, f32 [2, 3], f64 [2, 3, 6, 10], $rows => $work)
    };
}

pub(super) use {with_compiled_rows, with_rows};

/// The points as rows that algorithms are compiled for, in a periodic box as [`Space::wrap`] brings them there.
pub(super) fn compiled(points: &Points, periodic: Option<f64>) -> Result<Cow<'_, Points>, Failure> {
    let dim = points.dim();
    match points {
        Points::F32(_) if matches!(dim, 2 | 3) => Ok(Cow::Borrowed(points)),
        Points::F64(_) if matches!(dim, 2 | 3 | 6 | 10) => Ok(Cow::Borrowed(points)),
        Points::F32(table) => Ok(Cow::Owned(widen(table, periodic)?)),
        Points::F64(table) => Ok(Cow::Owned(widen(table, periodic)?)),
    }
}

fn widen<S: Scalar>(table: &Table<S>, periodic: Option<f64>) -> Result<Points, Failure> {
    let dim = table.dim();
    let wide = [2, 3, 6, 10].into_iter().find(|&wide| wide >= dim).unwrap_or(dim);
    let space: Space<1> = match periodic {
        Some(side) => Space::periodic(side)?,
        None => Space::OPEN,
    };
    let mut data = Vec::with_capacity(table.len() * wide);
    for row in table.as_slice().chunks_exact(dim) {
        // What is not finite is for the algorithm to refuse.
        data.extend(row.iter().map(|&x| if x.into().is_finite() { space.wrap([x])[0].into() } else { x.into() }));
        data.extend(std::iter::repeat_n(0.0, wide - dim));
    }
    Ok(Points::F64(Table::new(wide, data)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_wider() {
        let row = |data: Vec<f32>| Points::F32(Table::new(data.len(), data).unwrap());
        let wide = |data: &[f64]| Points::F64(Table::new(data.len(), data.to_vec()).unwrap());
        assert_eq!(*compiled(&row(vec![7.5]), Some(5.0)).unwrap(), wide(&[2.5, 0.0]));
        assert_eq!(*compiled(&row(vec![1.0; 4]), None).unwrap(), wide(&[1.0, 1.0, 1.0, 1.0, 0.0, 0.0]));
        assert_eq!(*compiled(&row(vec![1.0, 2.0]), None).unwrap(), row(vec![1.0, 2.0]));
        assert_eq!(compiled(&row(vec![1.0; 9]), None).unwrap().dim(), 10);
    }
}
