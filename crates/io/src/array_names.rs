//! The names that identify the role of an array: in NumPy archives, fields of NumPy records, and datasets, attributes
//! and metadata of other tables.
//!
//! Names are listed in lower case and compared ignoring case.

/// Positions. Here and in the lists below, the first name that is present is used.
pub(super) const POSITIONS: [&str; 8] =
    ["positions", "position", "pos", "coordinates", "coords", "points", "point", "xyz"];
pub(super) const VELOCITIES: [&str; 4] = ["velocities", "velocity", "vel", "v"];
pub(super) const IDS: [&str; 4] = ["ids", "id", "particle_ids", "pid"];
pub(super) const MASSES: [&str; 3] = ["masses", "mass", "m"];
pub(super) const TYPES: [&str; 4] = ["types", "type", "particle_types", "ptype"];
pub(super) const BOX: [&str; 5] = ["box_size", "boxsize", "box", "lbox", "side"];
pub(super) const REDSHIFT: [&str; 2] = ["redshift", "redshifts"];
pub(super) const COSMOLOGY: [&str; 3] = ["omega_m", "omega_lambda", "h"];
