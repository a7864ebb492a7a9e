//! The names by which arrays say what they are: those of NumPy archives, fields of NumPy records, and datasets, attributes and metadata of
//! other tables.
//!
//! Names are in lower case, and upper and lower case are the same.

/// Positions; the first of these names that is there counts, also of those below.
pub(super) const POSITIONS: [&str; 8] =
    ["positions", "position", "pos", "coordinates", "coords", "points", "point", "xyz"];
pub(super) const VELOCITIES: [&str; 4] = ["velocities", "velocity", "vel", "v"];
pub(super) const IDS: [&str; 4] = ["ids", "id", "particle_ids", "pid"];
pub(super) const MASSES: [&str; 3] = ["masses", "mass", "m"];
pub(super) const TYPES: [&str; 4] = ["types", "type", "particle_types", "ptype"];
pub(super) const BOX: [&str; 5] = ["box_size", "boxsize", "box", "lbox", "side"];
pub(super) const REDSHIFT: [&str; 2] = ["redshift", "redshifts"];
pub(super) const COSMOLOGY: [&str; 3] = ["omega_m", "omega_lambda", "h"];
