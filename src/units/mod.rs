//! Units of snapshots, and physical constants in these units.
//!
//! In: units as given by a file or a user, as [`Units`]. Out: [`Conversion`], which holds factors to comoving Mpc/h,
//! 1e10 Msun/h and km/s, and the critical density and gravitational constant in the snapshot's own units.
//! [`Units::matching`] infers units from the mean density of matter.
//! Cost: negligible.
//!
//! # Powers of the scale factor
//!
//! With `a = 1 / (1 + z)`, a comoving length `x` is the physical length `r = a x`. Catalogues keep the snapshot's
//! lengths, so
//!
//! - a density in comoving units is `a^3` times the physical one: `rho_crit(z) a^3 = rho_crit(0) E(z)^2 a^3`;
//! - the mean density of matter in comoving units, `Omega_m rho_crit(0)`, does not depend on `a`;
//! - a circular velocity is `sqrt(G M / r) = sqrt((G / a) M / x)`: with comoving radii the gravitational constant is
//!   `G / a`;
//! - the spin of Bullock et al. 2001 is `J / (sqrt(2) M V R) = a J_x / (M sqrt(2 G M a R_x)) = J_x / (M sqrt(2 (G / a) M R_x))`,
//!   with `J_x = sum m x cross v` of comoving offsets and peculiar velocities: the same `G / a`;
//! - ratios (concentration, axis ratios, offsets in units of a radius) do not depend on `a`;
//! - Gadget stores velocities of comoving runs as `u = v / sqrt(a)`: `v = u sqrt(a)`.
//!
//! Spins use peculiar velocities. The Hubble flow `H a x` is parallel to `x`; its angular momentum about the centre
//! vanishes except for the offset between the centre and the centre of mass.

mod errors;
mod approx_eq;
pub(crate) mod length;
pub(crate) mod mass;
mod matching;
mod product;
mod quantity;
mod system;
mod velocity;

use std::fmt;

pub use length::{Frame, LengthUnit};
pub use mass::MassUnit;
pub use quantity::Quantity;
pub use system::{Factors, UnitSystem};
pub use velocity::VelocityUnit;

use crate::error::{Error, Result};

/// The gravitational constant in Mpc (km/s)^2 / Msun, from `G Msun` of IAU 2015 resolution B3, 1.3271244e20 m^3/s^2,
/// and a parsec of 648000/pi astronomical units.
pub const GRAVITY: f64 = 4.300_917_270_036_279e-9;

/// The critical density today in h^2 Msun/Mpc^3: `3 (100 km/s/Mpc)^2 / (8 pi G)`.
pub const CRITICAL_DENSITY: f64 = 3.0 * 1e4 / (8.0 * std::f64::consts::PI * GRAVITY);

/// The upper bound of Hubble constants in 100 km/s/Mpc. Values in km/s/Mpc exceed it.
const MAX_H: f64 = 10.0;

/// The units of a snapshot's numbers.
///
/// ```
/// use ropewalk::units::{LengthUnit, MassUnit, Units, VelocityUnit};
///
/// let units = Units { length: "kpc/h".parse()?, ..Units::GADGET };
/// assert_eq!(units.to_string(), "lengths in comoving kpc/h, masses in 1e10 Msun/h, velocities in km/s");
/// // At redshift 1. Only units without h need an `h`.
/// let conversion = units.conversion(1.0, None)?;
/// assert_eq!((conversion.length, conversion.mass, conversion.velocity), (1e-3, 1.0, 1.0));
/// assert!((conversion.critical_density() / 27.7536627e-9 - 1.0).abs() < 1e-8);
/// assert!((conversion.gravity() / (2.0 * 43009.1727) - 1.0).abs() < 1e-8);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Units {
    /// The unit of positions, radii and the box.
    pub length: LengthUnit,
    /// The unit of masses.
    pub mass: MassUnit,
    /// The unit of velocities.
    pub velocity: VelocityUnit,
}

/// The units of a snapshot that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct KnownUnits {
    /// The unit of positions, radii and the box.
    pub length: Option<LengthUnit>,
    /// The unit of masses.
    pub mass: Option<MassUnit>,
    /// The unit of velocities.
    pub velocity: Option<VelocityUnit>,
}

impl KnownUnits {
    /// Returns these units, completed by those of `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            length: self.length.or(other.length),
            mass: self.mass.or(other.mass),
            velocity: self.velocity.or(other.velocity),
        }
    }

    /// Returns all units if those of length and mass are known. Default for velocities: km/s.
    #[doc(hidden)]
    pub fn complete(self) -> Option<Units> {
        let velocity = self.velocity.unwrap_or(VelocityUnit::KM_S);
        self.length.zip(self.mass).map(|(length, mass)| Units { length, mass, velocity })
    }
}

impl KnownUnits {
    /// Sets an unknown unit of velocities to km/s, if those of length and mass are known.
    #[doc(hidden)]
    #[must_use]
    pub fn completed(self) -> Self {
        self.complete().map_or(self, Self::from)
    }

    /// Returns `true` if no unit is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the unit of a quantity as spelled by [`Units::astropy_name`]; `None` if it is unknown.
    ///
    /// ```
    /// use ropewalk::units::{KnownUnits, LengthUnit, Quantity};
    ///
    /// let known = KnownUnits { length: Some(LengthUnit::MPC), ..KnownUnits::default() };
    /// assert_eq!(known.astropy_name(Quantity::NumberDensity).as_deref(), Some("1 / Mpc3"));
    /// assert_eq!(known.astropy_name(Quantity::Density), None);
    /// ```
    pub fn astropy_name(&self, quantity: Quantity) -> Option<String> {
        self.of(quantity)?.astropy_name(quantity)
    }

    /// Returns the frame of a quantity, empty if its unit is unknown: `comoving` or `physical` lengths, `peculiar`
    /// velocities.
    #[doc(hidden)]
    pub fn frame_of(&self, quantity: Quantity) -> &'static str {
        self.of(quantity).map_or("", |units| units.frame_of(quantity))
    }

    /// Returns units in which the unit of a quantity is right; `None` if it is unknown.
    fn of(&self, quantity: Quantity) -> Option<Units> {
        let is_known = match quantity {
            Quantity::Dimensionless => true,
            Quantity::Length | Quantity::NumberDensity => self.length.is_some(),
            Quantity::Mass => self.mass.is_some(),
            Quantity::Velocity => self.velocity.is_some(),
            Quantity::Density => self.length.is_some() && self.mass.is_some(),
        };
        self.or(Units::GADGET.into()).complete().filter(|_| is_known)
    }
}

/// Prints the known units: `lengths in comoving Mpc, velocities in km/s`. Prints nothing if no unit is known.
impl fmt::Display for KnownUnits {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let length = self.length.map(|unit| {
            let frame = if unit.frame == Frame::Comoving { "comoving" } else { "physical" };
            format!("lengths in {frame} {}", unit.name())
        });
        let mass = self.mass.map(|unit| format!("masses in {unit}"));
        let velocity = self.velocity.map(|unit| format!("velocities in {unit}"));
        let all: Vec<String> = [length, mass, velocity].into_iter().flatten().collect();
        f.write_str(&all.join(", "))
    }
}

impl From<Option<&Units>> for KnownUnits {
    fn from(units: Option<&Units>) -> Self {
        units.map_or(Self::default(), |units| Self::from(*units))
    }
}

impl From<Units> for KnownUnits {
    fn from(units: Units) -> Self {
        Self { length: Some(units.length), mass: Some(units.mass), velocity: Some(units.velocity) }
    }
}

impl Units {
    /// Comoving Mpc/h, 1e10 Msun/h, and peculiar velocities in km/s.
    pub const GADGET: Self =
        Self { length: LengthUnit::MPC_H, mass: MassUnit::MSUN_H_1E10, velocity: VelocityUnit::KM_S };

    /// Returns the factors that convert lengths, masses and velocities in these units to comoving Mpc/h, 1e10 Msun/h
    /// and peculiar km/s.
    ///
    /// `h` is the Hubble constant in units of 100 km/s/Mpc.
    ///
    /// # Errors
    /// - `h` is `None`, and the unit of length or of mass does not contain 1/h.
    /// - `h` is not above 0 and below 10.
    /// - The redshift is not finite and above -1.
    pub fn conversion(&self, redshift: f64, h: Option<f64>) -> Result<Conversion> {
        let scale_factor = scale_factor(redshift)?;
        h.map_or(Ok(()), check_h)?;
        let need = |unit: String| h.ok_or_else(|| errors::needs_h(&unit));
        let h_of = |per_h: bool, unit: &dyn fmt::Display| if per_h { Ok(1.0) } else { need(unit.to_string()) };
        let length = self.length.mpc * h_of(self.length.per_h, &self.length)?;
        let mass = self.mass.msun / 1e10 * h_of(self.mass.per_h, &self.mass)?;
        let frame = if self.length.frame == Frame::Comoving { 1.0 } else { 1.0 / scale_factor };
        let velocity = self.velocity.km_s * if self.velocity.is_internal { scale_factor.sqrt() } else { 1.0 };
        Ok(Conversion { length: length * frame, mass, velocity, scale_factor })
    }
}

impl fmt::Display for Units {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        KnownUnits::from(*self).fmt(f)
    }
}

/// Returns `1 / (1 + redshift)`.
fn scale_factor(redshift: f64) -> Result<f64> {
    let growth = 1.0 + redshift;
    if growth > 0.0 && growth < f64::INFINITY {
        return Ok(1.0 / growth);
    }
    Err(Error::parameter_must("the redshift", redshift, "finite and above -1"))
}

/// Checks a Hubble constant in 100 km/s/Mpc.
///
/// # Errors
/// Fails for values outside 0 to 10, which include Hubble constants in km/s/Mpc.
pub(crate) fn check_h(h: f64) -> Result<()> {
    if h > 0.0 && h < MAX_H {
        return Ok(());
    }
    let must = format!("above 0 and below {MAX_H}: h is the Hubble constant in units of 100 km/s/Mpc");
    Err(Error::parameter_must("h", h, &must))
}

impl Units {
    /// Returns the unit of a quantity in the `generic` format of `astropy.units`; `None` for quantities without a
    /// unit.
    ///
    /// h is spelled `littleh`, as a plain `h` is an hour. `astropy.units.add_enabled_units(astropy.cosmology.units)`
    /// enables it.
    ///
    /// ```
    /// use ropewalk::units::{Quantity, Units};
    ///
    /// let name = |quantity| Units::GADGET.astropy_name(quantity);
    /// assert_eq!(name(Quantity::Length).as_deref(), Some("Mpc / littleh"));
    /// assert_eq!(name(Quantity::Density).as_deref(), Some("1e10 solMass littleh2 / Mpc3"));
    /// assert_eq!(name(Quantity::NumberDensity).as_deref(), Some("littleh3 / Mpc3"));
    /// assert_eq!(name(Quantity::Dimensionless), None);
    /// ```
    pub fn astropy_name(&self, quantity: Quantity) -> Option<String> {
        match quantity {
            Quantity::Dimensionless => None,
            Quantity::Length => Some(self.length.astropy_name()),
            Quantity::Mass => Some(self.mass.astropy_name()),
            Quantity::Velocity => Some(self.velocity.astropy_name()),
            Quantity::Density => {
                let per_h = 3 * i32::from(self.length.per_h) - i32::from(self.mass.per_h);
                let h = match per_h {
                    0 => String::new(),
                    1 => " littleh".into(),
                    power => format!(" littleh{power}"),
                };
                let mass = MassUnit { per_h: false, ..self.mass };
                let length = LengthUnit { per_h: false, ..self.length };
                let name = length.astropy_name();
                // The cube of the number in a length such as `2 Mpc` is merged into the number of solar masses.
                if name.contains(' ') {
                    let mass = MassUnit { msun: mass.msun / length.mpc.powi(3), ..mass };
                    return Some(format!("{}{h} / Mpc3", mass.astropy_name()));
                }
                Some(format!("{}{h} / {name}3", mass.astropy_name()))
            }
            Quantity::NumberDensity => {
                let name = LengthUnit { per_h: false, ..self.length }.astropy_name();
                // The cube of the number in a length such as `2 Mpc` becomes the number of the unit.
                if name.contains(' ') {
                    let h = if self.length.per_h { " littleh3" } else { "" };
                    return Some(format!("{:e}{h} / Mpc3", self.length.mpc.powi(-3)));
                }
                let h = if self.length.per_h { "littleh3" } else { "1" };
                Some(format!("{h} / {name}3"))
            }
        }
    }
}

impl Units {
    /// Returns the frame of a quantity: `comoving` or `physical` lengths, `peculiar` velocities.
    #[doc(hidden)]
    pub fn frame_of(&self, quantity: Quantity) -> &'static str {
        match (quantity, self.length.frame) {
            (Quantity::Dimensionless | Quantity::Mass, _) => "",
            (Quantity::Velocity, _) => "peculiar",
            (Quantity::Length | Quantity::Density | Quantity::NumberDensity, Frame::Comoving) => "comoving",
            (Quantity::Length | Quantity::Density | Quantity::NumberDensity, Frame::Physical) => "physical",
        }
    }
}

/// Factors that convert a snapshot's numbers, and physical constants in its units.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Conversion {
    /// The factor from lengths to comoving Mpc/h.
    pub length: f64,
    /// The factor from masses to 1e10 Msun/h.
    pub mass: f64,
    /// The factor from velocities to peculiar velocities in km/s.
    pub velocity: f64,
    /// The scale factor `a = 1 / (1 + z)`.
    pub scale_factor: f64,
}

impl Conversion {
    /// Returns the critical density today (at z = 0), in the snapshot's unit of mass over the cube of its unit of
    /// length.
    pub fn critical_density(&self) -> f64 {
        CRITICAL_DENSITY / 1e10 * self.length.powi(3) / self.mass
    }

    /// Returns the gravitational constant for which `sqrt(G M / r)` has the snapshot's unit of velocity, given masses
    /// and (comoving or physical) radii in its units. For comoving radii it is Newton's constant over `a`.
    pub fn gravity(&self) -> f64 {
        1e10 * GRAVITY * self.mass / (self.length * self.scale_factor * self.velocity * self.velocity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_critical_density_is_the_usual_one() {
        assert!((CRITICAL_DENSITY / 2.775_366_27e11 - 1.0).abs() < 1e-8, "{CRITICAL_DENSITY}");
    }

    #[test]
    fn physical_lengths_grow_with_the_scale_factor() {
        let length = LengthUnit { frame: Frame::Physical, ..LengthUnit::MPC_H };
        let physical = Units { length, ..Units::GADGET }.conversion(1.0, None).unwrap();
        let comoving = Units::GADGET.conversion(1.0, None).unwrap();
        assert_eq!(physical.length, 2.0);
        // A comoving radius in Mpc/h is twice the physical one.
        assert!((comoving.gravity() / physical.gravity() - 2.0).abs() < 1e-12);
        assert!((physical.critical_density() / comoving.critical_density() - 8.0).abs() < 1e-12);
    }

    #[test]
    fn bad_epochs() {
        for redshift in [-1.0, -2.0, f64::NAN, f64::INFINITY] {
            assert!(Units::GADGET.conversion(redshift, None).unwrap_err().to_string().contains("redshift"));
        }
        let without_h = Units { length: "Mpc".parse().unwrap(), ..Units::GADGET };
        assert!(without_h.conversion(0.0, None).unwrap_err().to_string().contains("Mpc needs the Hubble constant"));
        assert!(without_h.conversion(0.0, Some(0.0)).unwrap_err().to_string().contains("h is 0"));
        assert_eq!(without_h.conversion(0.0, Some(0.5)).unwrap().length, 0.5);
    }
}
