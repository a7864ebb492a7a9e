//! The names and the unit of coordinates, for the axes and titles of figures.

use ropewalk_io::Snapshot;

use super::text::short;

/// The names of coordinates of files without names.
const NAMES: [&str; 3] = ["x", "y", "z"];

/// Returns the unit of the coordinates, if the file names one.
pub fn unit_of(snapshot: &Snapshot) -> Option<String> {
    snapshot.units.length.map(|unit| unit.to_string()).or_else(|| snapshot.coordinate_unit.clone())
}

/// Returns the names of up to three coordinates, with their unit if it is known: `lon  [deg]`.
pub fn axis_names(snapshot: &Snapshot) -> Vec<String> {
    let unit = unit_of(snapshot);
    let name = |(k, default): (usize, &str)| {
        let name = snapshot.columns.get(k).map_or(default, String::as_str);
        unit.as_ref().map_or(name.into(), |unit| format!("{name}  [{unit}]"))
    };
    NAMES.into_iter().enumerate().take(snapshot.points.dim()).map(name).collect()
}

/// Writes a length with its unit, if it is known.
pub fn with_unit(length: f64, snapshot: &Snapshot) -> String {
    unit_of(snapshot).map_or_else(|| short(length), |unit| format!("{} {unit}", short(length)))
}

#[cfg(test)]
mod tests {
    use ropewalk::units::LengthUnit;
    use ropewalk_io::{Points, Table};

    use super::*;

    #[test]
    fn names_and_lengths() {
        let mut snapshot = Snapshot::new(Points::F64(Table::new(2, vec![0.0; 4]).unwrap()));
        assert_eq!((axis_names(&snapshot), with_unit(0.25, &snapshot)), (vec!["x".into(), "y".into()], "0.25".into()));
        snapshot.columns = vec!["lon".into(), "lat".into()];
        snapshot.coordinate_unit = Some("deg".into());
        assert_eq!(axis_names(&snapshot), ["lon  [deg]", "lat  [deg]"]);
        snapshot.units.length = Some(LengthUnit::MPC_H);
        assert_eq!(
            (axis_names(&snapshot)[1].as_str(), with_unit(3.0, &snapshot).as_str()),
            ("lat  [Mpc/h]", "3 Mpc/h")
        );
    }
}
