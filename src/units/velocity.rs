//! Units of velocity.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::units::approx_eq::approx_eq;
use crate::units::errors;
use crate::units::product::Product;

const NAMES: [(&str, f64); 3] = [("km/s", 1.0), ("m/s", 1e-3), ("cm/s", 1e-5)];

/// A unit of velocity.
///
/// Parsed from `km/s`, `m/s` or `cm/s`, optionally with a number before it. With `sqrt(a)` after it, as in `km/s
/// sqrt(a)`, numbers are Gadget's internal velocities, `u = v / sqrt(a)`. `gadget` is short for `km/s sqrt(a)`. `km
/// s-1`, `km.s**-1` and other spellings of FITS, VOUnit, astropy and yt are accepted too.
///
/// ```
/// let unit: ropewalk::units::VelocityUnit = "km/s sqrt(a)".parse()?;
/// assert_eq!((unit.km_s, unit.is_internal), (1.0, true));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VelocityUnit {
    /// The size of the unit in km/s.
    pub km_s: f64,
    /// `true` if numbers must be multiplied by `sqrt(a)` to get peculiar velocities.
    pub is_internal: bool,
}

impl VelocityUnit {
    /// Peculiar velocities in km/s.
    pub const KM_S: Self = Self { km_s: 1.0, is_internal: false };
    /// Gadget's internal velocities: km/s over the square root of the scale factor.
    pub const GADGET: Self = Self { km_s: 1.0, is_internal: true };

    /// Returns the unit of the peculiar velocities in astropy's spelling.
    pub fn astropy_name(&self) -> String {
        match NAMES.into_iter().find(|&(_, km_s)| approx_eq(self.km_s, km_s)) {
            Some((name, _)) => name.replace('/', " / "),
            None => format!("{:e} km / s", self.km_s),
        }
    }
}

impl fmt::Display for VelocityUnit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match NAMES.into_iter().find(|&(_, km_s)| approx_eq(self.km_s, km_s)) {
            Some((name, _)) => f.write_str(name)?,
            None => write!(f, "{:e} km/s", self.km_s)?,
        }
        f.write_str(if self.is_internal { " sqrt(a)" } else { "" })
    }
}

impl FromStr for VelocityUnit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.trim() == "gadget" {
            return Ok(Self::GADGET);
        }
        let (rest, is_internal) = match text.trim().strip_suffix("sqrt(a)") {
            Some(rest) => (rest.trim_end_matches(['*', '.', ' ']), true),
            None => (text, false),
        };
        let found = Product::parse(rest).and_then(|mut product| {
            let per_second = product.take(&["s", "sec"]) == -1;
            let name = product.only().filter(|_| per_second)?;
            let (_, km_s) = NAMES.into_iter().find(|(known, _)| known.strip_suffix("/s") == Some(name))?;
            Some(product.scale * km_s)
        });
        match found {
            Some(km_s) => Ok(Self { km_s, is_internal }),
            _ => Err(errors::unknown_unit("unit of velocity", text, "km/s, m/s, cm/s, or gadget (km/s sqrt(a))")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let unit = |text: &str| text.parse::<VelocityUnit>().unwrap();
        assert_eq!((unit("km/s"), unit("km / s")), (VelocityUnit::KM_S, VelocityUnit::KM_S));
        assert_eq!((unit("gadget"), unit("km/s sqrt(a)")), (VelocityUnit::GADGET, VelocityUnit::GADGET));
        for text in [
            "km s-1",
            "km.s-1",
            "km s**-1",
            "km.s**-1",
            "km*s^-1",
            "km s^-1",
            "km s⁻¹",
            "km/sec",
            "10**5 cm s-1",
            "1000m.s-1",
        ] {
            assert_eq!(unit(text).to_string(), "km/s", "{text}");
        }
        assert_eq!((unit("m s-1").km_s, unit("cm s-1").km_s, unit("2.5km.s**-1").km_s), (1e-3, 1e-5, 2.5));
        assert_eq!(unit("km s-1 sqrt(a)"), VelocityUnit::GADGET);
        for bad in ["km s", "km", "s-1", "km s-2", "km/s/Mpc", "km h-1", "km s-1 h-1"] {
            assert!(bad.parse::<VelocityUnit>().is_err(), "{bad}");
        }
        assert_eq!(unit("1e5 cm/s").to_string(), "km/s");
        assert_eq!(VelocityUnit::GADGET.to_string(), "km/s sqrt(a)");
        assert!("mph".parse::<VelocityUnit>().unwrap_err().to_string().contains("km/s"));
    }
}
