//! Periodic boxes that are no cubes: one rule for all formats.
//!
//! In: the sides that a file names. Out: the side of a cube, or an error that says what to do. Sides of 0, and none, are an open box.

use std::path::Path;

use crate::io::{Error, ReadOptions, Result};

/// The side of the cube; or what the sides are, and why they are none.
fn cube(sides: &[f64]) -> std::result::Result<Option<f64>, String> {
    let Some(&first) = sides.first() else { return Ok(None) };
    let is_valid = sides.iter().all(|&side| (0.0..f64::INFINITY).contains(&side));
    if is_valid && sides.iter().all(|&side| side == first) {
        return Ok(Some(first).filter(|&side| side > 0.0));
    }
    let sides: Vec<String> = sides.iter().map(f64::to_string).collect();
    let must = if is_valid { "only cubes are periodic" } else { "sides must be finite and not below 0" };
    Err(format!("has a box with sides of {}; {must}", sides.join(", ")))
}

/// The side of the periodic box, and what is to be told of one that is no cube.
pub(super) fn told(sides: &[f64]) -> (Option<f64>, Vec<String>) {
    cube(sides).map_or_else(|text| (None, vec![text]), |side| (side, vec![]))
}

impl ReadOptions {
    /// The side of the periodic box; `notes` gets what is left out.
    ///
    /// Errors: sides that differ or are no lengths, unless the box is to be open.
    pub(super) fn side(&self, path: &Path, sides: &[f64], notes: &mut Vec<String>) -> Result<Option<f64>> {
        match cube(sides) {
            Ok(side) => Ok(side),
            Err(text) if self.open => {
                notes.push(text + ": it is taken for open");
                Ok(None)
            }
            Err(text) => Err(Error::file(
                path,
                text + "; as an open one it can be read (ReadOptions::open, --open, in Python open=True)",
            )),
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
            (told(&[2.0; 3]), told(&[2.0, 3.0, 2.0]).0, told(&[2.0, 3.0]).1.len()),
            ((Some(2.0), vec![]), None, 1)
        );
        assert_eq!(of(&[2.0, 2.0, 3.5]), Err("has a box with sides of 2, 2, 3.5; only cubes are periodic".into()));
        for bad in [-5.0, f64::NAN, f64::INFINITY] {
            assert!(of(&[bad]).unwrap_err().ends_with("sides must be finite and not below 0"), "{bad}");
            assert!(of(&[2.0, bad]).is_err());
        }
    }
}
