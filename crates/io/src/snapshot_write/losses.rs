//! Quantities of a snapshot that a format does not store.
//!
//! | quantity | not stored by |
//! |---|---|
//! | positions | none |
//! | names of their columns | formats other than tables; tables whose readers would not recognise the columns as coordinates by these names |
//! | velocities, ids, masses | npy; Tipsy and Gadget binaries round masses to the precision of the format |
//! | types | npy; formats that do not have a type reject it |
//! | box, cosmology | npy, CSV, Tipsy without units |
//! | redshift | npy, CSV, Tipsy without units; Gadget's formats and Tipsy assume a value if it is not known |
//! | units | [`SnapshotFormat::lacks_units`] |
//! | unit of velocities | npz, CSV, Tipsy without units; Gadget's formats and Tipsy with units assume km/s if it is not known |
//!
//! In: a snapshot and a format. Out: sentences for users. Cost: one pass over the masses.

use crate::array_names::POSITIONS;
use crate::messages::{list, shorten};
use crate::snapshot_write::names::{Names, plain};
use crate::snapshot_write::types::one_mass;
use crate::snapshot_write::{SnapshotFormat, tipsy_units};
use crate::{Background, Masses, Points, Snapshot};

impl SnapshotFormat {
    /// Returns the quantities of the snapshot that a file of this format cannot store, except units
    /// ([`SnapshotFormat::lacks_units`]).
    ///
    /// ```
    /// use ropewalk_io::{Points, Snapshot, SnapshotFormat, Table};
    ///
    /// let mut snapshot = Snapshot::new(Points::F64(Table::new(3, vec![0.1, 0.2, 0.3])?));
    /// snapshot.box_size = Some(1.0);
    /// assert_eq!(SnapshotFormat::Csv.lacks(&snapshot), ["the box"]);
    /// assert!(SnapshotFormat::Ecsv.lacks(&snapshot).is_empty());
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn lacks(self, snapshot: &Snapshot) -> Vec<&'static str> {
        let is_bare = matches!(self, Self::Npy | Self::Csv) || self == Self::Tipsy && tipsy_units(snapshot).is_none();
        let parts = [
            ("velocities", self == Self::Npy && snapshot.velocities.is_some()),
            ("ids", self == Self::Npy && snapshot.ids.is_some()),
            ("masses", self == Self::Npy && snapshot.masses != Masses::Unknown),
            ("types", self == Self::Npy && snapshot.has_types()),
            ("the box", is_bare && snapshot.box_size.is_some()),
            ("the redshift", is_bare && snapshot.redshift.is_some()),
            ("the cosmology", is_bare && snapshot.background != Background::default()),
            ("the unit of velocities", self.lacks_velocity_unit(snapshot)),
        ];
        parts.into_iter().filter(|(_, is_lost)| *is_lost).map(|(what, _)| what).collect()
    }

    fn lacks_velocity_unit(self, snapshot: &Snapshot) -> bool {
        let is_known = snapshot.velocities.is_some() && snapshot.units.velocity.is_some();
        is_known
            && match self {
                Self::Npz | Self::Csv => true,
                Self::Tipsy => tipsy_units(snapshot).is_none(),
                _ => false,
            }
    }

    /// Describes the differences between a file of this format and the snapshot: numbers that are rounded, assumed
    /// values that the snapshot does not have, and columns that are renamed.
    ///
    /// ```
    /// use ropewalk_io::{Points, Snapshot, SnapshotFormat, Table};
    ///
    /// let snapshot = Snapshot::new(Points::F64(Table::new(3, vec![0.1, 0.2, 0.3])?));
    /// let changes = SnapshotFormat::GadgetHdf5.changes(&snapshot);
    /// assert_eq!(changes, ["the redshift is not known and is written as 0"]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn changes(self, snapshot: &Snapshot) -> Vec<String> {
        let is_gadget = matches!(self, Self::Gadget1 | Self::Gadget2 | Self::GadgetHdf5);
        let mut changes = vec![];
        let mut say = |is_so: bool, text: &str| {
            if is_so {
                changes.push(text.to_string());
            }
        };
        say(is_gadget && snapshot.redshift.is_none(), "the redshift is not known and is written as 0");
        say(
            self == Self::Tipsy && snapshot.redshift.is_none(),
            "the redshift is not known and the scale factor is written as 1",
        );
        let has_no_unit = snapshot.velocities.is_some() && snapshot.units.velocity.is_none();
        say(
            has_no_unit && (is_gadget || self == Self::Tipsy && tipsy_units(snapshot).is_some()),
            "the unit of velocities is not known and is assumed to be km/s",
        );
        say(self == Self::Tipsy && snapshot.velocities.is_none(), "velocities are not known and are written as 0");
        say(
            self == Self::Tipsy,
            "softening lengths and potentials, densities and temperatures of gas, and metals are written as 0",
        );
        say(self.rounds_masses(snapshot), "masses are rounded to 32-bit floats");
        changes.extend(self.renames(snapshot));
        changes
    }

    /// Returns `true` if some masses have more digits than the file stores.
    fn rounds_masses(self, snapshot: &Snapshot) -> bool {
        let is_rounded = |mass: &f64| f64::from(*mass as f32) != *mass;
        let is_narrow = matches!(snapshot.points, Points::F32(_));
        match (self, &snapshot.masses) {
            (Self::Tipsy, Masses::Equal(mass)) => is_rounded(mass),
            (Self::Tipsy, Masses::Each(masses)) => masses.iter().any(is_rounded),
            // The common mass of a type is stored in the header, with 64 bits.
            (Self::Gadget1 | Self::Gadget2, Masses::Each(masses)) if is_narrow => {
                let mut start = 0;
                let mut by_type = std::collections::BTreeMap::<u8, Vec<f64>>::new();
                for run in &snapshot.types {
                    let end = start + run.count;
                    by_type.entry(run.particle_type).or_default().extend(masses.get(start..end).unwrap_or_default());
                    start = end;
                }
                if by_type.is_empty() {
                    by_type.insert(1, masses.clone());
                }
                by_type.values().any(|masses| one_mass(masses).is_none() && masses.iter().any(is_rounded))
            }
            _ => false,
        }
    }

    /// Describes the renaming of columns of coordinates, whose names a file of this format does not store. `None` if
    /// the names are kept, or are the usual ones.
    fn renames(self, snapshot: &Snapshot) -> Option<String> {
        let columns = &snapshot.columns;
        let is_table = match self {
            Self::Csv | Self::Ecsv => true,
            #[cfg(feature = "parquet")]
            Self::Parquet => true,
            _ => false,
        };
        let written = if is_table { Names::new(snapshot).coordinates } else { plain(snapshot) };
        let is_array = columns.iter().all(|name| POSITIONS.contains(&name.to_lowercase().as_str()));
        let is_same = columns.iter().map(|name| name.to_lowercase()).eq(written.iter().map(|name| name.to_lowercase()));
        let said = |names: &[String]| list(&names.iter().map(|name| shorten(name.as_bytes())).collect::<Vec<_>>());
        let written = if is_table { said(&written) } else { "positions".into() };
        (!is_array && !is_same).then(|| format!("the coordinates {} are written as {written}", said(columns)))
    }
}
