//! The names of the quantities that apply to all points of an HDF5 table: box, redshift and cosmology.
//!
//! In: the name of an attribute or of a small dataset. Out: the quantity with that name. Cost: none.

use crate::array_names::{BOX, COSMOLOGY, REDSHIFT};

/// Names, in lower case, of the box, the redshift, and the three numbers of a cosmology.
const QUANTITIES: [&[&str]; 5] = [
    &BOX,
    &REDSHIFT,
    &[COSMOLOGY[0], "omega0", "omegamatter"],
    &[COSMOLOGY[1], "omegalambda"],
    &[COSMOLOGY[2], "hubbleparam"],
];

/// Returns the index in [`QUANTITIES`] of the quantity with this name.
pub(super) fn quantity(name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    QUANTITIES.iter().position(|names| names.contains(&name.as_str()))
}

/// Returns `true` if `name` is the name of a box, redshift or number of a cosmology.
pub(super) fn is_quantity(name: &str) -> bool {
    quantity(name).is_some()
}
