//! The particles of one type, as input to snapshot writers.
//!
//! In: references to arrays of one length. Out: one [`Species`]. Cost: none; nothing is copied.

use crate::{Masses, Points};

/// The particles of one type. All arrays have the same length.
#[derive(Debug, Clone, Copy)]
pub struct Species<'a> {
    /// The particle type, from 0 to 5.
    pub particle_type: u8,
    /// Three coordinates per particle. The file stores them in the same precision.
    pub positions: &'a Points,
    /// Peculiar velocities, three components per particle.
    pub velocities: Option<&'a Points>,
    /// The ids of the particles.
    pub ids: Option<&'a [u64]>,
    /// Particle masses. Equal masses are written to the header, others to a block in the precision of the positions.
    pub masses: &'a Masses,
}
