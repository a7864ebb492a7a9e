//! Queries of any precision, as rows that a tree of compiled kind takes.
//!
//! In: points to ask about, and what the tree is like. Out: points of its dimension, inside the periodic box.
//! Cost: a pass over the queries; they are copied unless they are of the tree's kind, and in open space.

use std::borrow::Cow;

use super::rows::{check_dim, compiled};
use super::{Points, Table};
use crate::error::{Kind, Result};
use crate::geometry::{BoxSize, Scalar, Space};
use crate::parallel::{map, map_tasks};

/// What errors call the queries' number of coordinates.
pub(super) const NAME: &str = "the dimension of the queries";
/// Queries per parallel task.
const TASK: usize = 1 << 13;

/// One radius for all centres, or one for each: see [`Bvh::query`](super::Bvh::query).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Radii<'a> {
    /// The same for all.
    Same(f64),
    /// One for each centre, in their order.
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
            Self::Each(radii) if radii.len() != centers => Err(Kind::Radii { len: radii.len(), centers }.into()),
            Self::Each(radii) => match radii.iter().position(|&radius| !is_radius(radius)) {
                Some(index) => Err(Kind::Radius { index, radius: radii[index] }.into()),
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

/// Errors: a radius that is negative or not finite.
pub(super) fn check_radius(radius: f64) -> Result<()> {
    if is_radius(radius) {
        return Ok(());
    }
    Err(Kind::Parameter { name: "radius", value: radius, must: "finite and not negative" }.into())
}

/// What a tree is like that is asked.
pub(super) struct Queries<'a> {
    pub dim: usize,
    pub size: &'a BoxSize,
    /// Whether its points have 64 bits.
    pub is_f64: bool,
    /// Whether there is a tree of 32 bits to ask.
    pub has_narrow: bool,
}

impl Queries<'_> {
    /// Errors: queries of another dimension, or with coordinates that are not finite, or too large for their squares.
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
        // They are in the box already.
        match &*queries {
            own if is_compiled(own) => Ok(queries),
            other => Ok(Cow::Owned(compiled(other, &BoxSize::default())?.0.into_owned())),
        }
    }
}

fn is_compiled(points: &Points) -> bool {
    matches!(points, Points::F64(table) if [2, 3, 6, 10].contains(&table.dim()))
}

/// Errors: a coordinate that is not finite, or too large for its square.
fn check_rows<S: Scalar>(table: &Table<S>) -> Result<()> {
    let (values, dim) = (table.as_slice(), table.dim());
    let fits = |x: &S| Into::<f64>::into(x.abs()) <= S::LIMIT;
    let first = map_tasks(values.len(), TASK, &|range| {
        values[range.clone()].iter().position(|x| !fits(x)).map(|at| range.start + at)
    });
    let Some(at) = first.into_iter().flatten().next() else { return Ok(()) };
    let (index, axis, value) = (at / dim, at % dim, values[at].into());
    Err(Kind::coordinate(index, axis, value, S::LIMIT).into())
}

/// In the periodic box, as [`Space::wrap`] brings points there.
fn wrapped<S: Scalar>(table: &Table<S>, sides: &[f64]) -> Result<Table<S>> {
    let spaces: Vec<Space<1>> = sides.iter().map(|&side| Space::periodic(side)).collect::<Result<_>>()?;
    let (values, dim) = (table.as_slice(), table.dim());
    let wrap = |at: usize| spaces[at % dim].wrap([values[at]])[0];
    Ok(Table::of(dim, map(values.len(), TASK, &wrap)))
}

/// The same numbers in 32 bits, if these hold all of them.
fn narrowed(table: &Table<f64>) -> Option<Table<f32>> {
    let values = table.as_slice();
    let holds = |&x: &f64| f64::from(x as f32) == x;
    let all = map_tasks(values.len(), TASK, &|range| values[range].iter().all(holds));
    all.into_iter().all(|held| held).then(|| Table::of(table.dim(), map(values.len(), TASK, &|at| values[at] as f32)))
}
