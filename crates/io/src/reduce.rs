//! Reduction of a table that was read whole to the requested rows and quantities.
//!
//! In: a [`Snapshot`] with all rows of the requested types. Out: the rows of the part and of the subsample that are
//! read. Velocities, ids and masses remain only if they are requested. Cost: one pass over each array, in place.

use std::ops::Range;

use crate::reading::Reading;
use crate::{Masses, Points, Snapshot};

/// Removes from a table that was read whole the rows and quantities that are not requested.
pub(super) fn reduced(mut snapshot: Snapshot, reading: &Reading<'_>) -> Snapshot {
    let (options, fraction) = (reading.options, reading.keep.fraction);
    snapshot.velocities = snapshot.velocities.filter(|_| options.velocities);
    snapshot.ids = snapshot.ids.filter(|_| options.ids);
    if !options.masses {
        snapshot.masses = Masses::Unknown;
    }
    let rows = snapshot.points.len() as u64;
    let kept = KeptRows { reading, places: reading.places(rows) };
    if reading.keeps_all() {
        return snapshot;
    }
    snapshot.types = reading.runs(snapshot.types.iter().map(|run| (run.particle_type, run.count as u64)));
    for points in [Some(&mut snapshot.points), snapshot.velocities.as_mut()].into_iter().flatten() {
        match points {
            Points::F32(table) => kept.retain(table.dim(), table.values_mut()),
            Points::F64(table) => kept.retain(table.dim(), table.values_mut()),
        }
    }
    if let Some(ids) = &mut snapshot.ids {
        kept.retain(1, ids);
    }
    match &mut snapshot.masses {
        Masses::Equal(mass) => *mass /= fraction,
        Masses::Each(masses) => {
            kept.retain(1, masses);
            masses.iter_mut().for_each(|mass| *mass /= fraction);
        }
        Masses::Unknown => {}
    }
    snapshot
}

/// The rows of a table that are kept.
struct KeptRows<'a> {
    reading: &'a Reading<'a>,
    /// The places of the part that is read.
    places: Range<u64>,
}

impl KeptRows<'_> {
    /// Removes the other rows from an array with `width` values per row.
    fn retain<T: Copy>(&self, width: usize, values: &mut Vec<T>) {
        let (start, end) = (self.places.start as usize * width, self.places.end as usize * width);
        values.truncate(end);
        values.drain(..start.min(values.len()));
        let keep = &self.reading.keep;
        if !keep.is_all() {
            let mut place = start as u64..;
            values.retain(|_| place.next().is_some_and(|place| keep.keeps(place / width as u64)));
        }
        values.shrink_to_fit();
    }
}
