//! Removal of rows with missing values from tables of formats other than text, which mark them by NaN.
//!
//! In: a [`Snapshot`] with all rows. Out: the rows whose coordinates, velocities and mass are numbers. Cost: one pass
//! over each array, in place.

use crate::{Masses, Points, Snapshot, TypeRun};

/// Removes rows with a NaN. The snapshot lists them, and has a note.
pub(super) fn without_missing(mut snapshot: Snapshot) -> Snapshot {
    let all = snapshot.points.len();
    let mut is_kept = vec![true; all];
    for points in [Some(&snapshot.points), snapshot.velocities.as_ref()].into_iter().flatten() {
        match points {
            Points::F32(table) => find(table.as_slice(), table.dim(), &mut is_kept, |value| value.is_nan()),
            Points::F64(table) => find(table.as_slice(), table.dim(), &mut is_kept, |value| value.is_nan()),
        }
    }
    if let Masses::Each(masses) = &snapshot.masses {
        find(masses, 1, &mut is_kept, |mass| mass.is_nan());
    }
    snapshot.skipped = (0..).zip(&is_kept).filter(|(_, is_kept)| !**is_kept).map(|(row, _)| row).collect();
    if snapshot.skipped.is_empty() {
        return snapshot;
    }
    for points in [Some(&mut snapshot.points), snapshot.velocities.as_mut()].into_iter().flatten() {
        match points {
            Points::F32(table) => retain(table.dim(), table.values_mut(), &is_kept),
            Points::F64(table) => retain(table.dim(), table.values_mut(), &is_kept),
        }
    }
    if let Some(ids) = &mut snapshot.ids {
        retain(1, ids, &is_kept);
    }
    if let Masses::Each(masses) = &mut snapshot.masses {
        retain(1, masses, &is_kept);
    }
    let mut rest = is_kept.iter();
    let kept =
        |run: &TypeRun| TypeRun { count: rest.by_ref().take(run.count).filter(|is_kept| **is_kept).count(), ..*run };
    snapshot.types = snapshot.types.iter().map(kept).collect();
    let n = snapshot.skipped.len();
    snapshot.notes.push(format!("{n} of {all} rows have missing values and are left out"));
    snapshot
}

/// Marks the rows with a missing value; `width` is the number of values per row.
fn find<T>(values: &[T], width: usize, is_kept: &mut [bool], is_missing: impl Fn(&T) -> bool) {
    for (row, is_kept) in values.chunks_exact(width.max(1)).zip(is_kept) {
        *is_kept &= !row.iter().any(&is_missing);
    }
}

/// Removes the values of the other rows.
fn retain<T>(width: usize, values: &mut Vec<T>, is_kept: &[bool]) {
    let mut place = 0..;
    values.retain(|_| place.next().is_some_and(|place: usize| is_kept.get(place / width.max(1)) == Some(&true)));
    values.shrink_to_fit();
}
