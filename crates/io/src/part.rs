//! Parts of a whole, and the rows of each part.
//!
//! In: the requested part, and the number of rows of the whole. Out: the rows of this part. The parts are
//! consecutive, disjoint and cover all rows. Cost: for a subsample, a hash of every row to count those kept, in
//! parallel, some nanoseconds each. Otherwise none.

use std::ops::Range;

use ropewalk::halo::MassSum;
use ropewalk::internals::parallel::map_tasks;
use ropewalk::{Error, Result};

use crate::subsample::Keep;

/// Rows that are counted by one task.
const BLOCK: u64 = 1 << 20;

/// One of several parts with about the same number of rows each.
///
/// ```
/// use ropewalk_io::Part;
///
/// let rows = [0, 1, 2].map(|index| Part { index, count: 3 }.rows(10));
/// assert_eq!(rows, [0..3, 3..6, 6..10]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Part {
    /// The index of the part, from 0.
    pub index: usize,
    /// The number of parts.
    pub count: usize,
}

impl Part {
    /// Returns the rows of this part of `total` rows: from `total * index / count` to `total * (index + 1) / count`. If
    /// `count` is 0, returns all rows.
    pub fn rows(self, total: u64) -> Range<u64> {
        // A part of `total` does not exceed `total`, which is a `u64`.
        let at = |index: u128| (u128::from(total) * index / self.count.max(1) as u128).min(total.into()) as u64;
        let index = self.index as u128;
        at(index)..if self.count == 0 { total } else { at(index + 1) }
    }

    /// Errors: `count` is 0, or `index` is not below it.
    pub(super) fn check(self) -> Result<()> {
        let wrong = |name, value: usize, must| Err(Error::parameter_must(name, value as f64, must));
        match self {
            Self { count: 0, .. } => wrong("parts", 0, "at least 1"),
            Self { index, count } if index >= count => wrong("part", index, "below the number of parts"),
            _ => Ok(()),
        }
    }
}

/// The intersection of two ranges, which may be empty.
pub(super) fn common(a: &Range<u64>, b: &Range<u64>) -> Range<u64> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

/// The location of the rows of a part in the whole.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Slice {
    /// The number of rows of the whole before the first row of this part.
    pub first: u64,
    /// The number of rows of the whole.
    pub total: u64,
    /// This part's share of the mass of all particles, if no part has read the masses of all.
    /// [`Snapshot::matter`](crate::Snapshot::matter) is `None` then, and the mass is the sum of the shares of all
    /// parts.
    pub matter: Option<MassSum>,
}

/// The rows of a part among those of the requested types. A place is an index among all rows of the requested types.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowRange {
    /// The number of places.
    pub all: u64,
    /// The range of places that contains this part's rows.
    pub range: Range<u64>,
    /// The indices of this part's rows among the rows that are kept.
    pub rows: Range<u64>,
    /// The number of rows that are kept in the whole.
    pub total: u64,
}

impl RowRange {
    pub(super) fn new(part: Part, all: u64, keep: &Keep) -> Self {
        if keep.is_all() {
            let rows = part.rows(all);
            return Self { all, range: rows.clone(), rows, total: all };
        }
        let block = |k: u64| k * BLOCK..((k + 1) * BLOCK).min(all);
        let blocks = usize::try_from(all.div_ceil(BLOCK)).unwrap_or(usize::MAX);
        let counts = map_tasks(blocks, 1, &|at| keep.count(block(at.start as u64)));
        let total = counts.iter().sum();
        // Returns the place of the kept row with this number.
        let place = |number: u64| {
            let mut before = 0;
            for (k, &count) in (0..).zip(&counts) {
                if number < before + count {
                    let mut kept = block(k).filter(|&place| keep.keeps(place));
                    return kept.nth((number - before) as usize).unwrap_or(all);
                }
                before += count;
            }
            all
        };
        let rows = part.rows(total);
        Self { all, range: place(rows.start)..place(rows.end), rows, total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_up_the_whole() {
        for total in [0, 1, 5, 1000, u64::MAX] {
            for count in [1, 2, 3, 7, 1000, usize::MAX] {
                let rows = |index| Part { index, count }.rows(total);
                assert_eq!((rows(0).start, rows(count - 1).end), (0, total));
                for index in 1..count.min(1000) {
                    assert_eq!(rows(index - 1).end, rows(index).start);
                }
            }
        }
        assert!(Part { index: 0, count: 0 }.check().is_err());
        assert!(Part { index: 2, count: 2 }.check().is_err());
        assert!(Part { index: 1, count: 2 }.check().is_ok());
    }

    #[test]
    fn places_of_a_subsample() {
        let keep = Keep::new(Some(0.3)).unwrap();
        let all = 2 * BLOCK + 12_345;
        let kept: Vec<u64> = (0..all).filter(|&place| keep.keeps(place)).collect();
        for count in [1, 2, 7] {
            let mut end = 0;
            for index in 0..count {
                let places = RowRange::new(Part { index, count }, all, &keep);
                let own: Vec<u64> = places.range.clone().filter(|&place| keep.keeps(place)).collect();
                assert_eq!(places.total, kept.len() as u64);
                assert_eq!(own, kept[places.rows.start as usize..places.rows.end as usize]);
                assert!(places.range.start >= end);
                end = places.range.end;
            }
        }
    }
}
