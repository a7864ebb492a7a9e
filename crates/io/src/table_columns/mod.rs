//! The roles of a table's columns, decided by their names: one rule for all formats.
//!
//! - names: `vx`, `vy`, `vz` are velocities, and `id`, `mass` and `type` mean what they say. Case is ignored unless that is
//!   ambiguous, and so is a unit after the name, as in `x [kpc]`
//! - coordinates: `x` and `y`, with `z` if there is one. Without these, longitude and latitude (`lon` and `lat`, or
//!   `RA` and `DEC`), with `z`. Without these, all columns of numbers except those whose names exclude coordinates
//!   ([`column_names`](super::column_names))
//! - no names: all columns are coordinates
//! - fields: all columns that hold numbers, or the chosen ones, whatever their names
//! - chosen columns, by name or by number from 1: these are the coordinates, in this order; names give other roles
//! - callers that use only coordinates: columns with other roles are noted, and not read

mod choice;
mod columns;
mod roles;

pub(super) use choice::choose;
pub(super) use columns::{ADVICE, Columns, CoordinateReason, FIELDS_ADVICE};
pub(super) use roles::own_coordinates;
