//! Conversion of tables whose width is known at run time to arrays whose length is known at compile time.

use std::borrow::Cow;

use ropewalk::geometry::{BoxSize, Space};
use ropewalk::internals::PaddedDimension;
use ropewalk::internals::memory::with_capacity;
use ropewalk::{Error, Result, Scalar};

use super::{Points, Table};

/// Evaluates `$work` with `$rows` as a slice of arrays. It is compiled for each kind of points that [`to_compiled_kind`]
/// returns.
macro_rules! with_rows {
    ($points:expr, $rows:ident => $work:expr) => {{
        use $crate::Points;
        let (points, dim) = ($points, $points.dim());
        match (points, dim) {
            (Points::F32(table), 2) => table.rows::<2>().map(|$rows| $work),
            (Points::F32(table), 3) => table.rows::<3>().map(|$rows| $work),
            (Points::F64(table), 2) => table.rows::<2>().map(|$rows| $work),
            (Points::F64(table), 3) => table.rows::<3>().map(|$rows| $work),
            (Points::F64(table), 6) => table.rows::<6>().map(|$rows| $work),
            (Points::F64(table), 10) => table.rows::<10>().map(|$rows| $work),
            _ => None,
        }
        .unwrap_or_else(|| Err(ropewalk::Error::dimension(dim)))
    }};
}
pub(super) use with_rows;

/// Returns the points as rows of a compiled kind, and the box with a side for each of their axes. Converted points
/// are wrapped into the periodic box, as by [`Space::wrap`].
///
/// Fails unless the box has a side for each axis of the points.
pub(super) fn to_compiled_kind<'a>(points: &'a Points, size: &BoxSize) -> Result<(Cow<'a, Points>, BoxSize)> {
    match (points, points.dim()) {
        (_, 2 | 3) | (Points::F64(_), 6 | 10) => Ok((Cow::Borrowed(points), size.clone())),
        (Points::F32(table), _) => widen(table, size),
        (Points::F64(table), _) => widen(table, size),
    }
}

fn widen<S: Scalar>(table: &Table<S>, size: &BoxSize) -> Result<(Cow<'static, Points>, BoxSize)> {
    let dim = table.dim();
    let PaddedDimension { dim: wide, sides, size } = PaddedDimension::new(dim, size)?;
    let spaces: Vec<Space<1>> = match &sides {
        Some(sides) => sides.iter().map(|&side| Space::periodic(side)).collect::<Result<_>>()?,
        None => vec![Space::OPEN; dim],
    };
    let mut data = with_capacity(table.len() * wide);
    for row in table.as_slice().chunks_exact(dim) {
        // Coordinates that are not finite are kept; algorithms reject them.
        let wrapped =
            row.iter().zip(&spaces).map(|(&x, space)| if x.into().is_finite() { space.wrap([x])[0] } else { x });
        data.extend(wrapped.map(Into::<f64>::into));
        data.extend(std::iter::repeat_n(0.0, wide - dim));
    }
    Ok((Cow::Owned(Points::F64(Table::new(wide, data)?)), size))
}

/// Fails if points have another dimension than those that they belong to.
pub(super) fn check_dim(name: &'static str, new: &Points, dim: usize) -> Result<()> {
    if new.dim() == dim {
        return Ok(());
    }
    Err(Error::parameter_must(name, new.dim() as f64, &format!("{dim}, that of the points")))
}

/// Converts both to 64 bits if one has 64 bits, which is exact.
pub(super) fn of_one_precision<'a>(a: &'a Points, b: &'a Points) -> (Cow<'a, Points>, Cow<'a, Points>) {
    let wide = |table: &Table<f32>| Cow::Owned(Points::F64(table.widened()));
    match (a, b) {
        (Points::F32(narrow), Points::F64(_)) => (wide(narrow), Cow::Borrowed(b)),
        (Points::F64(_), Points::F32(narrow)) => (Cow::Borrowed(a), wide(narrow)),
        _ => (Cow::Borrowed(a), Cow::Borrowed(b)),
    }
}

/// A precision of stored tables.
pub(super) trait Precision: Scalar {
    fn table(points: &Points) -> Option<&Table<Self>>;
}

impl Precision for f32 {
    fn table(points: &Points) -> Option<&Table<Self>> {
        if let Points::F32(table) = points { Some(table) } else { None }
    }
}

impl Precision for f64 {
    fn table(points: &Points) -> Option<&Table<Self>> {
        if let Points::F64(table) = points { Some(table) } else { None }
    }
}

/// Returns other points as rows of the same kind as `_rows`.
pub(super) fn rows_of_same_kind<'a, S: Precision, const D: usize>(
    _rows: &[[S; D]],
    other: &'a Points,
) -> Result<&'a [[S; D]]> {
    S::table(other).and_then(Table::rows::<D>).ok_or_else(|| Error::dimension(other.dim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_wider() {
        let row = |data: Vec<f32>| Points::F32(Table::new(data.len(), data).unwrap());
        let wide = |data: &[f64]| Points::F64(Table::new(data.len(), data.to_vec()).unwrap());
        let to_compiled_kind = |points: &Points, size: BoxSize| {
            let (points, size) = to_compiled_kind(points, &size).unwrap();
            (points.into_owned(), size)
        };
        let (points, size) = to_compiled_kind(&row(vec![7.5]), 5.0.into());
        assert_eq!((points, size), (wide(&[2.5, 0.0]), [5.0, 5.0].into()));
        let (points, size) = to_compiled_kind(&row(vec![7.5, 1.0, 1.0, 9.0]), [5.0, 3.0, 4.0, 8.0].into());
        let sides = [5.0, 3.0, 4.0, 8.0, 8.0, 8.0];
        assert_eq!((points, size), (wide(&[2.5, 1.0, 1.0, 1.0, 0.0, 0.0]), sides.into()));
        assert_eq!(to_compiled_kind(&row(vec![1.0, 2.0]), BoxSize::default()).0, row(vec![1.0, 2.0]));
        assert_eq!(to_compiled_kind(&row(vec![1.0; 9]), BoxSize::default()).0.dim(), 10);
    }
}
