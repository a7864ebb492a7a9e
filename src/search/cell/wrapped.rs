//! Points wrapped into a cell.

use crate::bvh;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::{Bounded, Cell, Scalar, Space, errors};
use crate::memory::collected;
use crate::parallel::{map, map_tasks};

/// Points per parallel task.
const TASK: usize = 1 << 14;

/// Points wrapped into a cell, in the caller's order.
#[derive(Clone)]
pub(crate) struct Wrapped<const D: usize> {
    pub places: Vec<[f64; D]>,
    /// The number of cells along each vector by which each point was outside.
    pub wraps: Vec<[i32; D]>,
}

/// The extent of wrapped points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread<const D: usize> {
    /// The minimum and the maximum of each fractional coordinate.
    pub fractions: [[f64; 2]; D],
    /// The maximum absolute coordinate.
    pub largest: f64,
}

impl<const D: usize> Spread<D> {
    const EMPTY: Self = Self { fractions: [[f64::INFINITY, f64::NEG_INFINITY]; D], largest: 0.0 };

    fn union(self, other: Self) -> Self {
        let [a, b] = [self.fractions, other.fractions];
        Self {
            fractions: std::array::from_fn(|k| [a[k][0].min(b[k][0]), a[k][1].max(b[k][1])]),
            largest: self.largest.max(other.largest),
        }
    }
}

impl<const D: usize> Wrapped<D> {
    /// Wraps points into the cell.
    pub fn new<S: Scalar, T: Bounded<S, D>>(points: &[T], cell: &Cell<D>) -> Result<Self> {
        if !T::IS_POINT {
            return Err(errors::has_extent("lists in a cell are"));
        }
        bvh::check(points, &Space::OPEN)?;
        let wrapped = map(points.len(), TASK, &|i| cell.wrap(&points[i].bounds().lo.map(Into::into)));
        if let Some(i) = wrapped.iter().position(Option::is_none) {
            let sentence = format!(
                "it is more than 2^29 = {} cells away from the cell at the origin; wrap points into the cell first",
                Cell::<D>::MAX_WRAP
            );
            return Err(Error::new(ErrorKind::Input, sentence).of_item("point", i));
        }
        let wrapped: Vec<_> = wrapped.into_iter().flatten().collect();
        let places = collected(wrapped.iter().map(|&(place, _)| place));
        Ok(Self { places, wraps: collected(wrapped.into_iter().map(|(_, wrap)| wrap)) })
    }

    /// Measures the extent of the points.
    pub fn spread(&self, cell: &Cell<D>) -> Spread<D> {
        let parts = map_tasks(self.places.len(), TASK, &|range| {
            self.places[range].iter().fold(Spread::EMPTY, |spread, place| {
                let largest = place.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
                spread.union(Spread { fractions: cell.fractions(place).map(|x| [x; 2]), largest })
            })
        });
        parts.into_iter().fold(Spread::EMPTY, Spread::union)
    }
}
