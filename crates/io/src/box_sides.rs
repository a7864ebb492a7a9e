//! Handling of periodic boxes that are not cubes: one rule for all formats.
//!
//! In: the sides that a file states. Out: the side of a cube, or an error that advises what to do. Sides of 0, and no
//! sides, mean an open box. If columns are chosen, the box applies to those that would also be coordinates without a
//! choice ([`of_chosen`]).

use std::path::Path;

use ropewalk::{Error, Result};

use crate::ReadOptions;

/// Returns the side of the cube. Otherwise returns a message with the sides, and the reason why they are not a cube.
fn cube(sides: &[f64]) -> std::result::Result<Option<f64>, String> {
    let Some(&first) = sides.first() else { return Ok(None) };
    let is_valid = sides.iter().all(|&side| (0.0..f64::INFINITY).contains(&side));
    if is_valid && sides.iter().all(|&side| side == first) {
        return Ok(Some(first).filter(|&side| side > 0.0));
    }
    let sides: Vec<String> = sides.iter().map(f64::to_string).collect();
    let must =
        if is_valid { "the sides of a periodic box must be equal" } else { "sides must be finite and not below 0" };
    Err(format!("has a box with sides of {}; {must}", sides.join(", ")))
}

/// Returns the side of the periodic box, and a note if it is not a cube.
pub(super) fn side_or_note(sides: &[f64]) -> (Option<f64>, Vec<String>) {
    cube(sides).map_or_else(|text| (None, vec![text]), |side| (side, vec![]))
}

/// Returns the sides of the box for the chosen columns. `own` are the columns that are coordinates without a choice.
///
/// If all chosen columns are among `own`, in any order, the box applies. If there is one side per column of `own`,
/// the sides of the chosen columns are returned. Otherwise the box is not used, which is added to `notes`.
pub(super) fn of_chosen<T: PartialEq>(sides: &[f64], own: &[T], chosen: &[T], notes: &mut Vec<String>) -> Vec<f64> {
    let places: Option<Vec<usize>> = chosen.iter().map(|column| own.iter().position(|other| other == column)).collect();
    match places {
        Some(places) if sides.len() == own.len() => places.into_iter().map(|place| sides[place]).collect(),
        Some(_) => sides.to_vec(),
        None => {
            if sides.iter().any(|&side| side != 0.0) {
                let sides = sides.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
                notes.push(format!(
                    "the box of the file, with a side of {sides}, is not used: other columns than its coordinates are chosen; if \
                     these lie in it, give its side (Snapshot::box_size)"
                ));
            }
            vec![]
        }
    }
}

/// Returns the side of a cubic box for the chosen columns, as [`of_chosen`] does for several sides.
pub(super) fn side_of_chosen<T: PartialEq>(
    side: Option<f64>,
    own: &[T],
    chosen: &[T],
    notes: &mut Vec<String>,
) -> Option<f64> {
    of_chosen(side.as_slice(), own, chosen, notes).first().copied()
}

impl ReadOptions {
    /// Returns the side of the periodic box. If the box is treated as open, adds a note.
    ///
    /// Errors: sides that differ or are not lengths, unless [`ReadOptions::open`] is set.
    pub(super) fn side(&self, path: &Path, sides: &[f64], notes: &mut Vec<String>) -> Result<Option<f64>> {
        match cube(sides) {
            Ok(side) => Ok(side),
            Err(text) if self.open => {
                notes.push(text + ": it is treated as open");
                Ok(None)
            }
            Err(text) => Err(Error::file(path, text + "; set ReadOptions::open to treat it as open")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides() {
        let of = |sides: &[f64]| cube(sides);
        assert_eq!(
            (of(&[]), of(&[0.0; 3]), of(&[2.0]), of(&[2.0; 3])),
            (Ok(None), Ok(None), Ok(Some(2.0)), Ok(Some(2.0)))
        );
        assert_eq!(
            (side_or_note(&[2.0; 3]), side_or_note(&[2.0, 3.0, 2.0]).0, side_or_note(&[2.0, 3.0]).1.len()),
            ((Some(2.0), vec![]), None, 1)
        );
        assert_eq!(
            of(&[2.0, 2.0, 3.5]),
            Err("has a box with sides of 2, 2, 3.5; the sides of a periodic box must be equal".into())
        );
        let chosen = |sides: &[f64], chosen: &[&str]| {
            let mut notes = vec![];
            (of_chosen(sides, &["x", "y"], chosen, &mut notes), notes.len())
        };
        assert_eq!(chosen(&[2.0, 3.0], &["y"]), (vec![3.0], 0));
        assert_eq!(chosen(&[2.0, 3.0], &["y", "x"]), (vec![3.0, 2.0], 0));
        assert_eq!(chosen(&[2.0], &["x", "y"]), (vec![2.0], 0));
        assert_eq!((chosen(&[2.0], &["x", "vx"]), chosen(&[0.0; 3], &["vx"])), ((vec![], 1), (vec![], 0)));
        for bad in [-5.0, f64::NAN, f64::INFINITY] {
            assert!(of(&[bad]).unwrap_err().ends_with("sides must be finite and not below 0"), "{bad}");
            assert!(of(&[2.0, bad]).is_err());
        }
    }
}
