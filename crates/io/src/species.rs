//! The particles of one type, as writers of snapshots take them.
//!
//! In: references to arrays of one length. Out: one [`Species`]. Cost: none; nothing is copied.

use crate::{Masses, Points};

/// The particles of one type. All parts have the same length.
#[derive(Debug, Clone, Copy)]
pub struct Species<'a> {
    /// 0 to 5.
    pub particle_type: u8,
    /// Three coordinates each; the precision is that of the file.
    pub positions: &'a Points,
    /// Peculiar velocities, three components each.
    pub velocities: Option<&'a Points>,
    /// Particle ids.
    pub ids: Option<&'a [u64]>,
    /// Masses: equal ones go to the header, others to a block in the precision of the positions.
    pub masses: &'a Masses,
}
