//! Conversion of results to common systems of units.

use std::str::FromStr;

use crate::error::{Error, Result};
use crate::units::errors;
use crate::units::{Frame, LengthUnit, MassUnit, Quantity, Units, VelocityUnit};

/// A system of units for results, independent of the units of the snapshot.
///
/// Parsed from `h` or `physical`.
///
/// ```
/// use ropewalk::units::UnitSystem;
///
/// let system: UnitSystem = "physical".parse()?;
/// assert_eq!(system.units().to_string(), "lengths in physical Mpc, masses in Msun, velocities in km/s");
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum UnitSystem {
    /// Comoving Mpc/h, Msun/h and km/s.
    H,
    /// Physical Mpc, Msun and km/s, without h and scale factor.
    Physical,
}

impl UnitSystem {
    /// Returns the units of the system.
    pub fn units(self) -> Units {
        let velocity = VelocityUnit::KM_S;
        match self {
            Self::H => Units { length: LengthUnit::MPC_H, mass: MassUnit::MSUN_H, velocity },
            Self::Physical => {
                let length = LengthUnit { frame: Frame::Physical, ..LengthUnit::MPC };
                Units { length, mass: MassUnit::MSUN, velocity }
            }
        }
    }
}

impl FromStr for UnitSystem {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "h" => Ok(Self::H),
            "physical" => Ok(Self::Physical),
            _ => Err(errors::unknown_unit("unit system", text, "h or physical")),
        }
    }
}

/// Factors from one set of units to another, for each quantity.
///
/// ```
/// use ropewalk::units::{Factors, Quantity, UnitSystem, Units};
///
/// // At redshift 1, with h = 0.5: a comoving Mpc/h is a physical Mpc, 1e10 Msun/h are 2e10 Msun.
/// let factors = Factors::new(&Units::GADGET, &UnitSystem::Physical.units(), 1.0, Some(0.5))?;
/// assert_eq!([Quantity::Length, Quantity::Mass, Quantity::Dimensionless].map(|quantity| factors.of(quantity)), [1.0, 2e10, 1.0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    length: f64,
    mass: f64,
    velocity: f64,
    to: Units,
}

impl Factors {
    /// Computes the factors from one set of units to another, at a redshift and for a Hubble constant of `h` 100
    /// km/s/Mpc.
    ///
    /// # Errors
    /// Fails as [`Units::conversion`]. `h` is required only if one set of units contains h and the other does not.
    pub fn new(from: &Units, to: &Units, redshift: f64, h: Option<f64>) -> Result<Self> {
        // If both units contain h or neither does, h cancels.
        let is_alike = from.length.per_h == to.length.per_h && from.mass.per_h == to.mass.per_h;
        let h = if is_alike { Some(1.0) } else { h };
        let (from, into) = (from.conversion(redshift, h)?, to.conversion(redshift, h)?);
        Ok(Self {
            length: from.length / into.length,
            mass: from.mass / into.mass,
            velocity: from.velocity / into.velocity,
            to: *to,
        })
    }

    /// Returns the factor for a quantity.
    pub fn of(&self, quantity: Quantity) -> f64 {
        match quantity {
            Quantity::Dimensionless => 1.0,
            Quantity::Length => self.length,
            Quantity::Mass => self.mass,
            Quantity::Velocity => self.velocity,
            Quantity::Density => self.mass / self.length.powi(3),
            Quantity::NumberDensity => self.length.powi(-3),
        }
    }

    /// Returns the units after the conversion.
    pub fn units(&self) -> &Units {
        &self.to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn h_is_needed_where_it_does_not_cancel() {
        let h = UnitSystem::H.units();
        let density = Factors::new(&Units::GADGET, &h, 3.0, None).unwrap().of(Quantity::Density);
        assert_eq!(density, 1e10);
        let physical = UnitSystem::Physical.units();
        assert!(Factors::new(&h, &physical, 3.0, None).unwrap_err().to_string().contains("Hubble constant"));
        let comoving = Units { length: LengthUnit::MPC, ..physical };
        let factors = Factors::new(&comoving, &physical, 3.0, None).unwrap();
        assert_eq!((factors.of(Quantity::Length), factors.of(Quantity::Density)), (0.25, 64.0));
        assert!("si".parse::<UnitSystem>().unwrap_err().to_string().contains("h or physical"));
    }
}
