//! Conversion of queries of any precision to rows of the kind of a tree.
//!
//! In: query points, and properties of the tree. Out: points of the tree's kind, inside the periodic box.
//! Cost: a pass over the queries. They are copied unless they have the tree's kind and the space is open.

use std::borrow::Cow;

use ropewalk::geometry::{BoxSize, Space};
use ropewalk::internals::bvh::copied;
use ropewalk::internals::parallel::{map, map_tasks};
use ropewalk::{Error, Result, Scalar};

use super::rows::{check_dim, to_compiled_kind};
use super::{Points, Table};

/// The name of the queries' dimension in errors.
pub(super) const NAME: &str = "the dimension of the queries";
/// Queries per parallel task.
const TASK: usize = 1 << 13;

/// One radius for all centres, or one for each: see [`Bvh::query`](super::Bvh::query).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Radii<'a> {
    /// One radius for all centres.
    Same(f64),
    /// One radius for each centre, in order.
    Each(&'a [f64]),
}

impl From<f64> for Radii<'_> {
    fn from(radius: f64) -> Self {
        Self::Same(radius)
    }
}

impl<'a> From<&'a [f64]> for Radii<'a> {
    fn from(radii: &'a [f64]) -> Self {
        Self::Each(radii)
    }
}

impl Radii<'_> {
    pub(super) fn check(&self, centers: usize) -> Result<()> {
        match *self {
            Self::Same(radius) => check_radius(radius),
            Self::Each(radii) if radii.len() != centers => Err(Error::radii(radii.len(), centers)),
            Self::Each(radii) => match radii.iter().position(|&radius| !is_radius(radius)) {
                Some(index) => Err(Error::radius(index, radii[index])),
                None => Ok(()),
            },
        }
    }

    pub(super) fn of(&self, center: usize) -> f64 {
        match *self {
            Self::Same(radius) => radius,
            Self::Each(radii) => radii[center],
        }
    }
}

fn is_radius(radius: f64) -> bool {
    (0.0..f64::INFINITY).contains(&radius)
}

/// Fails if the radius is negative or not finite.
pub(super) fn check_radius(radius: f64) -> Result<()> {
    if is_radius(radius) {
        return Ok(());
    }
    Err(Error::parameter_must("radius", radius, "finite and not negative"))
}

/// Properties of the tree that queries are prepared for.
pub(super) struct TreeKind<'a> {
    pub dim: usize,
    pub size: &'a BoxSize,
    /// `true` if the tree's points had 64 bits.
    pub is_f64: bool,
    /// `true` if there is a tree of 32 bits, too.
    pub has_narrow: bool,
}

impl TreeKind<'_> {
    /// Converts queries to the precision of a tree and wraps them into its periodic box. Fails if queries have another
    /// dimension than the tree, or coordinates that are not finite or whose squares overflow.
    pub fn prepare<'q>(&self, queries: &'q Points) -> Result<Cow<'q, Points>> {
        check_dim(NAME, queries, self.dim)?;
        let queries = match queries {
            Points::F32(table) if self.is_f64 => Cow::Owned(Points::F64(table.widened())),
            _ => Cow::Borrowed(queries),
        };
        match &*queries {
            Points::F32(table) => check_rows(table)?,
            Points::F64(table) => check_rows(table)?,
        }
        if let Cow::Owned(wide) = to_compiled_kind(&queries, self.size)?.0 {
            return Ok(Cow::Owned(wide));
        }
        let queries = match self.size.sides_of(self.dim)? {
            None => queries,
            Some(sides) => Cow::Owned(match &*queries {
                Points::F32(table) => Points::F32(wrapped(table, &sides)?),
                Points::F64(table) => Points::F64(wrapped(table, &sides)?),
            }),
        };
        if self.has_narrow {
            let narrow = if let Points::F64(table) = &*queries { narrowed(table) } else { None };
            return Ok(narrow.map_or(queries, |table| Cow::Owned(Points::F32(table))));
        }
        Ok(queries)
    }
}

/// Fails if a coordinate is not finite, or its square overflows.
fn check_rows<S: Scalar>(table: &Table<S>) -> Result<()> {
    let (values, dim) = (table.as_slice(), table.dim());
    let fits = |x: &S| Into::<f64>::into(x.abs()) <= S::LIMIT;
    let first = map_tasks(values.len(), TASK, &|range| {
        values[range.clone()].iter().position(|x| !fits(x)).map(|at| range.start + at)
    });
    let Some(at) = first.into_iter().flatten().next() else { return Ok(()) };
    let (index, axis, value) = (at / dim, at % dim, values[at].into());
    Err(Error::coordinate(index, axis, value, S::LIMIT))
}

/// Wraps points into the periodic box, as [`Space::wrap`] does.
fn wrapped<S: Scalar>(table: &Table<S>, sides: &[f64]) -> Result<Table<S>> {
    let spaces: Vec<Space<1>> = sides.iter().map(|&side| Space::periodic(side)).collect::<Result<_>>()?;
    let (values, dim) = (table.as_slice(), table.dim());
    let wrap = |at: usize| spaces[at % dim].wrap([values[at]])[0];
    Ok(Table::from_valid(dim, map(values.len(), TASK, &wrap)))
}

/// Converts the values to 32 bits; `None` if that is not exact for all of them.
fn narrowed(table: &Table<f64>) -> Option<Table<f32>> {
    let values = table.as_slice();
    let holds = |&x: &f64| f64::from(x as f32) == x;
    let all = map_tasks(values.len(), TASK, &|range| values[range].iter().all(holds));
    all.into_iter().all(|held| held).then(|| Table::from_valid(table.dim(), copied(values, |&x| x as f32)))
}

/// Fails unless `n` values of `bytes` bytes each can be allocated. Called before the values are computed.
pub(super) fn check_memory(n: usize, what: &'static str, bytes: usize) -> Result<()> {
    let all = n.saturating_mul(bytes);
    match Vec::<u8>::new().try_reserve_exact(all) {
        Ok(()) => Ok(()),
        Err(_) => Err(Error::memory(n, what, n as u128 * bytes as u128)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queries are wrapped in their own precision, and padded with zeros to the next compiled width.
    #[test]
    fn in_the_box_and_wide_enough() {
        let values = [9.1, -0.3, 4.0, 1e-9, -7.7, 123.456, 5.0, -1e-9, 2.5, 8.25, -4.0, 3.3];
        for dim in 1..=10 {
            let sides: Vec<f64> = (0..dim).map(|axis| [5.0, 3.1, 7.0][axis % 3]).collect();
            let n = values.len() / dim;
            let of = |is_f32: bool| -> (Points, Vec<f64>) {
                let wrap = |at: usize| {
                    let space: Space<1> = Space::periodic(sides[at % dim]).unwrap();
                    if is_f32 { f64::from(space.wrap([values[at] as f32])[0]) } else { space.wrap([values[at]])[0] }
                };
                let values = &values[..n * dim];
                let points = match is_f32 {
                    true => Points::F32(Table::from_valid(dim, values.iter().map(|&x| x as f32).collect())),
                    false => Points::F64(Table::from_valid(dim, values.to_vec())),
                };
                (points, (0..n * dim).map(wrap).collect())
            };
            let wide = [2, 3, 6, 10].into_iter().find(|&wide| wide >= dim).unwrap();
            for is_f32 in [true, false] {
                let (points, wrapped) = of(is_f32);
                let size = BoxSize::from(sides.clone());
                let queries = TreeKind { dim, size: &size, is_f64: false, has_narrow: [2, 3].contains(&dim) };
                let found = queries.prepare(&points).unwrap();
                assert_eq!(found.dim(), wide, "{dim} {is_f32}");
                let found: Vec<f64> = match &*found {
                    Points::F32(table) => table.as_slice().iter().copied().map(Into::into).collect(),
                    Points::F64(table) => table.as_slice().to_vec(),
                };
                let padded = |row: &[f64]| [row, &vec![0.0; wide - dim]].concat();
                assert_eq!(found, wrapped.chunks_exact(dim).flat_map(padded).collect::<Vec<_>>(), "{dim} {is_f32}");
            }
        }
    }
}
