//! The units of columns: powers of the scale factor and of h, and the size of the unit.
//!
//! In: the attributes of a dataset; where these are missing, the header; where that is missing, the conventions of
//! the code. Out: units as [`KnownUnits`], and the power of the scale factor that multiplies velocities.

use ropewalk::Result;
use ropewalk::units::{Frame, LengthUnit, MassUnit, VelocityUnit};

use crate::hdf5::attributes::Attributes;
use crate::hdf5::header::{Dialect, Header};

/// Returns the power of the scale factor by which SWIFT's conversion factors with and without cosmological
/// corrections differ. If the ratio is not a half-integer power, or agrees with `a`, returns `a`. This check is
/// needed because swiftsimio 12 writes 1 where it means 0.
fn checked_power(attributes: &Attributes, without: &str, a: f64, scale_factor: Option<f64>) -> Result<f64> {
    let with = attributes.number("Conversion factor to physical CGS (including cosmological corrections)")?;
    let (Some(with), Some(without), Some(scale_factor)) = (with, attributes.number(without)?, scale_factor) else {
        return Ok(a);
    };
    let power = (with / without).ln() / scale_factor.ln();
    // Round to a half-integer. At a = 1, the power is undefined.
    let half = (2.0 * power).round() / 2.0;
    Ok(if (power - a).abs() > 1e-3 && (power - half).abs() < 1e-3 { half } else { a })
}

/// The factor that makes the numbers of a dataset physical, in centimetres, grams and seconds: `cgs a^a h^h`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scaling {
    pub cgs: Option<f64>,
    pub a: f64,
    pub h: f64,
}

impl Scaling {
    const NONE: Self = Self { cgs: None, a: 0.0, h: 0.0 };

    /// Returns the scaling that the attributes of a data set state, without a default.
    pub(super) fn stated(attributes: &Attributes) -> Result<Self> {
        Self::own(attributes, Self::NONE, None)
    }

    /// Returns the scaling stated by attributes of SWIFT, of EAGLE, or of AREPO and GADGET-4, with `default` for
    /// missing values.
    fn own(attributes: &Attributes, default: Self, scale_factor: Option<f64>) -> Result<Self> {
        let first =
            |names: [&str; 3]| names.into_iter().find_map(|name| attributes.number(name).transpose()).transpose();
        // In such datasets of SWIFT, the numbers already include the scale factor.
        let is_physical = attributes.number("Value stored as physical")? == Some(1.0);
        let a = first(["a-scale exponent", "aexp-scale-exponent", "a_scaling"])?;
        let h = first(["h-scale exponent", "h-scale-exponent", "h_scaling"])?;
        let swift = "Conversion factor to CGS (not including cosmological corrections)";
        // AREPO writes 0 if it does not know the factor.
        let cgs = first([swift, "CGSConversionFactor", "to_cgs"])?.filter(|&cgs| cgs > 0.0 && cgs < f64::INFINITY);
        let a = a.filter(|a| a.is_finite()).map(|a| checked_power(attributes, swift, a, scale_factor)).transpose()?;
        Ok(Self {
            cgs: cgs.or(default.cgs),
            a: if is_physical { 0.0 } else { a.unwrap_or(default.a) },
            h: h.filter(|h| h.is_finite()).unwrap_or(default.h),
        })
    }

    pub(super) fn length(attributes: &Attributes, header: &Header) -> Result<Self> {
        let h = if header.dialect == Dialect::Gadget { -1.0 } else { 0.0 };
        Self::own(attributes, Self { cgs: header.cgs.length, a: 1.0, h }, header.epoch.scale_factor)
    }

    pub(super) fn mass(attributes: &Attributes, header: &Header) -> Result<Self> {
        let h = if header.dialect == Dialect::Gadget { -1.0 } else { 0.0 };
        Self::own(attributes, Self { cgs: header.cgs.mass, a: 0.0, h }, header.epoch.scale_factor)
    }

    /// Returns `true` if both scalings describe the same unit of mass, whose size may be rounded differently.
    pub(super) fn is_same_mass(self, other: Self) -> bool {
        let is_near = match (self.cgs, other.cgs) {
            (Some(a), Some(b)) => (a / b - 1.0).abs() < 1e-3,
            (a, b) => a == b,
        };
        is_near && self.a == other.a && self.h == other.h
    }

    pub(super) fn velocity(attributes: &Attributes, header: &Header) -> Result<Self> {
        let a = if header.dialect == Dialect::Gadget { 0.5 } else { 0.0 };
        Self::own(attributes, Self { cgs: header.cgs.velocity, a, h: 0.0 }, header.epoch.scale_factor)
    }

    /// Returns `true` if the unit contains 1/h, and `false` if it does not contain h; `None` for another power.
    fn per_h(self) -> Option<bool> {
        match self.h {
            -1.0 => Some(true),
            0.0 => Some(false),
            _ => None,
        }
    }

    pub(super) fn length_unit(self) -> Option<LengthUnit> {
        // The parser recognises that 3.085678e21 cm are a kpc.
        let unit: LengthUnit = format!("{:e} cm", self.cgs?).parse().ok()?;
        let frame = if self.a == 0.0 { Frame::Physical } else { Frame::Comoving };
        Some(LengthUnit { per_h: self.per_h()?, frame, ..unit })
    }

    pub(super) fn mass_unit(self) -> Option<MassUnit> {
        let unit: MassUnit = format!("{:e} g", self.cgs?).parse().ok()?;
        Some(MassUnit { per_h: self.per_h()?, ..unit })
    }

    /// Returns the unit of the stored velocities. In a run that is not comoving, they are peculiar velocities.
    /// Velocities of Gadget are in km/s by convention.
    pub(super) fn velocity_unit(self, header: &Header) -> Option<VelocityUnit> {
        let km_s = match (self.cgs, header.dialect) {
            // The unit may be computed from units of length and time, each of which is rounded.
            (Some(cgs), _) if (cgs / 1e5 - 1.0).abs() < 1e-6 => 1.0,
            (Some(cgs), _) => cgs / 1e5,
            (None, Dialect::Gadget) => 1.0,
            (None, Dialect::Swift) => return None,
        };
        Some(VelocityUnit { km_s, is_internal: self.a == 0.5 && header.epoch.scale_factor.is_some() })
    }

    /// Describes the scaling of a field as stated in the file, for users; empty if none is stated.
    pub(super) fn describe(attributes: &Attributes) -> Result<String> {
        for name in ["Expression for physical CGS units", "units", "unit", "Units", "Unit"] {
            if let Ok(Some(text)) = attributes.text(name) {
                return Ok(text.to_string());
            }
        }
        let own = Self::stated(attributes)?;
        if own == Self::NONE {
            return Ok(String::new());
        }
        let powers = [("a", own.a), ("h", own.h)].into_iter().filter(|(_, power)| *power != 0.0);
        let powers: String = powers.map(|(name, power)| format!(" {name}^{power}")).collect();
        Ok(format!("{}{powers}", own.cgs.map_or("cgs".into(), |cgs| format!("{cgs:e} cgs"))))
    }
}
