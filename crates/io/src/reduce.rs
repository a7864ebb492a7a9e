//! The rows and quantities of a table that are wanted, of a table that was read whole.
//!
//! In: a [`Snapshot`] with all rows of the wanted types. Out: those of the part and of the subsample that are read; velocities, ids and
//! masses only if they are wanted. Cost: one pass over each array, in place.

use std::ops::Range;

use crate::reading::Reading;
use crate::{Masses, Points, Snapshot};

/// Leaves out of a table that was read whole what is not wanted.
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

/// The rows that are kept of a table.
struct KeptRows<'a> {
    reading: &'a Reading<'a>,
    /// The places of the part that is read.
    places: Range<u64>,
}

impl KeptRows<'_> {
    /// Leaves out the other rows of an array with `width` values a row.
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
