//! Units of velocity.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::units::errors;
use crate::units::{is_about, split_number};

const NAMES: [(&str, f64); 3] = [("km/s", 1.0), ("m/s", 1e-3), ("cm/s", 1e-5)];

/// A unit of velocity.
///
/// Its text is `km/s`, `m/s` or `cm/s`, a number before it if need be; with `sqrt(a)` after it, as in `km/s sqrt(a)`, the numbers
/// are Gadget's internal ones, `u = v / sqrt(a)`. `gadget` is short for `km/s sqrt(a)`.
///
/// ```
/// let unit: ropewalk::units::VelocityUnit = "km/s sqrt(a)".parse()?;
/// assert_eq!((unit.km_s, unit.is_internal), (1.0, true));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VelocityUnit {
    /// How many km/s.
    pub km_s: f64,
    /// Whether numbers are to be multiplied by `sqrt(a)` to be peculiar velocities.
    pub is_internal: bool,
}

impl VelocityUnit {
    /// Peculiar velocities in km/s.
    pub const KM_S: Self = Self { km_s: 1.0, is_internal: false };
    /// Gadget's internal velocities: km/s, over the root of the scale factor.
    pub const GADGET: Self = Self { km_s: 1.0, is_internal: true };

    /// The name of what peculiar velocities are in, as astropy reads it.
    pub fn astropy_name(&self) -> String {
        match NAMES.into_iter().find(|&(_, km_s)| is_about(self.km_s, km_s)) {
            Some((name, _)) => name.replace('/', " / "),
            None => format!("{:e} km / s", self.km_s),
        }
    }
}

impl fmt::Display for VelocityUnit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match NAMES.into_iter().find(|&(_, km_s)| is_about(self.km_s, km_s)) {
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
            Some(rest) => (rest.trim_end().trim_end_matches('*'), true),
            None => (text, false),
        };
        let (times, name) = split_number(rest);
        let name: String = name.split_whitespace().collect();
        match NAMES.into_iter().find(|(known, _)| *known == name) {
            Some((_, km_s)) if times > 0.0 && times < f64::INFINITY => Ok(Self { km_s: times * km_s, is_internal }),
            _ => Err(errors::unknown_unit("velocity", text, "km/s, m/s, cm/s, or gadget (km/s sqrt(a))")),
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
        assert_eq!(unit("1e5 cm/s").to_string(), "km/s");
        assert_eq!(VelocityUnit::GADGET.to_string(), "km/s sqrt(a)");
        assert!("mph".parse::<VelocityUnit>().unwrap_err().to_string().contains("km/s"));
    }
}
