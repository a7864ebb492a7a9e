//! The names of the columns of a snapshot in a table.
//!
//! In: a snapshot, with the names of the columns from which its coordinates were read. Out: a name for each column
//! that is written. Names of coordinates are kept if readers recognise the same columns as coordinates by them, in
//! the same order. Otherwise they become x, y and z, or x1, x2 and so on. Cost: comparison of the names.

use crate::table_columns::own_coordinates;
use crate::text::may_name_a_column;
use crate::{Masses, Snapshot};

const AXES: [&str; 3] = ["x", "y", "z"];

/// The names of the columns of coordinates and of velocities in a table.
pub(super) struct Names {
    pub coordinates: Vec<String>,
    pub velocities: Vec<String>,
}

impl Names {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        let kept = Self::with(snapshot, snapshot.columns.clone());
        let can_be_kept = kept.coordinates.len() == snapshot.points.dim()
            && kept.coordinates.iter().all(|name| may_name_a_column(name))
            && own_coordinates(&kept.all(snapshot)) == kept.coordinates;
        if can_be_kept { kept } else { Self::with(snapshot, plain(snapshot)) }
    }

    fn with(snapshot: &Snapshot, coordinates: Vec<String>) -> Self {
        let dim = snapshot.points.dim();
        let lower: Vec<String> = coordinates.iter().map(|name| name.to_lowercase()).collect();
        let are_axes = lower.len() == dim && lower.iter().all(|name| AXES.contains(&name.as_str()));
        let velocities = match are_axes {
            true => lower.iter().map(|name| format!("v{name}")).collect(),
            false => AXES.iter().take(dim).map(|name| format!("v{name}")).collect(),
        };
        Self { coordinates, velocities }
    }

    /// Returns the names of all columns.
    fn all(&self, snapshot: &Snapshot) -> Vec<String> {
        let mut names = self.coordinates.clone();
        names.extend(snapshot.velocities.iter().flat_map(|_| self.velocities.iter().cloned()));
        let others = [
            (snapshot.ids.is_some(), "id"),
            (snapshot.masses != Masses::Unknown, "mass"),
            (snapshot.has_types(), "type"),
        ];
        names.extend(others.iter().filter(|(is_there, _)| *is_there).map(|(_, name)| (*name).to_string()));
        names
    }
}

/// Returns the default names of the coordinates.
pub(super) fn plain(snapshot: &Snapshot) -> Vec<String> {
    let dim = snapshot.points.dim();
    match dim <= AXES.len() {
        true => AXES.iter().take(dim).map(|name| (*name).to_string()).collect(),
        false => (1..=dim).map(|axis| format!("x{axis}")).collect(),
    }
}
