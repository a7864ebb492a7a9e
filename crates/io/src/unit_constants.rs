//! Units in centimetres, grams and seconds, as in the headers of Gadget and related codes.
//!
//! The unit of length is that of comoving lengths in units of 1/h, and the unit of mass that of masses in units of
//! 1/h. Units without h or the scale factor are written with h and the scale factor included in the number. A reader
//! that knows the convention and the header therefore needs no more information.

use ropewalk::internals::units::{GRAMS, MPC};
use ropewalk::units::{Conversion, Quantity};

use crate::hdf5_write::{Dataset, Group};

/// The units of length, mass and velocity, in CGS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cgs {
    length: f64,
    mass: f64,
    velocity: f64,
}

impl Cgs {
    pub fn new(conversion: &Conversion) -> Self {
        Self {
            length: conversion.length * MPC * 100.0,
            mass: conversion.mass * 1e10 * GRAMS,
            velocity: conversion.velocity * 1e5,
        }
    }

    /// Adds the units to a header group as attributes.
    pub fn describe(self, header: &mut Group<'_>) {
        header.attribute("UnitLength_in_cm", self.length);
        header.attribute("UnitMass_in_g", self.mass);
        header.attribute("UnitVelocity_in_cm_per_s", self.velocity);
    }

    /// Adds the scaling attributes of GADGET-4 and AREPO to a dataset. Values are physical when multiplied by `to_cgs
    /// a^a_scaling h^h_scaling`. `velocity_a` is the power of the scale factor in velocities.
    pub fn scale<'a>(self, values: Dataset<'a>, quantity: Quantity, velocity_a: f64) -> Dataset<'a> {
        let [length, mass, velocity, a, h, cgs] = match quantity {
            Quantity::Length => [1.0, 0.0, 0.0, 1.0, -1.0, self.length],
            Quantity::Mass => [0.0, 1.0, 0.0, 0.0, -1.0, self.mass],
            Quantity::Velocity => [0.0, 0.0, 1.0, velocity_a, 0.0, self.velocity],
            Quantity::Density => [-3.0, 1.0, 0.0, -3.0, 2.0, self.mass / self.length.powi(3)],
            Quantity::NumberDensity => [-3.0, 0.0, 0.0, -3.0, 3.0, self.length.powi(-3)],
            // Zero means no unit.
            Quantity::Dimensionless => [0.0; 6],
        };
        values
            .attribute("a_scaling", a)
            .attribute("h_scaling", h)
            .attribute("length_scaling", length)
            .attribute("mass_scaling", mass)
            .attribute("velocity_scaling", velocity)
            .attribute("to_cgs", cgs)
    }
}
