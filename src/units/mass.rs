//! Units of mass.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::units::approx_eq::approx_eq;
use crate::units::errors;
use crate::units::product::Product;

/// The grams per solar mass: `G Msun` of the IAU over the `G` of CODATA 2018.
pub const GRAMS: f64 = 1.988_409_870_698_051e33;
const NAMES: [(&str, f64); 6] =
    [("Msun", 1.0), ("solMass", 1.0), ("M_sun", 1.0), ("Msol", 1.0), ("g", 1.0 / GRAMS), ("kg", 1e3 / GRAMS)];

/// A unit of mass.
///
/// Parsed from `Msun`, `g` or `kg`, optionally with a number before it, and `/h` after it for masses in units of 1/h.
/// `h-1 solMass`, `10**10 Msun` and other spellings of FITS, VOUnit, astropy and yt are accepted too.
///
/// ```
/// let unit: ropewalk::units::MassUnit = "1e10 Msun/h".parse()?;
/// assert_eq!((unit.msun, unit.per_h), (1e10, true));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MassUnit {
    /// The size of the unit in solar masses, or in solar masses over h if `per_h`.
    pub msun: f64,
    /// `true` if masses are in units of 1/h.
    pub per_h: bool,
}

impl MassUnit {
    /// 1e10 Msun/h.
    pub const MSUN_H_1E10: Self = Self { msun: 1e10, per_h: true };
    /// 1e10 Msun.
    pub const MSUN_1E10: Self = Self { msun: 1e10, per_h: false };
    /// Msun/h.
    pub const MSUN_H: Self = Self { msun: 1.0, per_h: true };
    /// Msun.
    pub const MSUN: Self = Self { msun: 1.0, per_h: false };

    /// Returns the name in astropy's spelling, where a plain `h` is an hour: `1e10 solMass / littleh`.
    pub fn astropy_name(&self) -> String {
        self.spelled("solMass", " / littleh")
    }

    fn spelled(&self, name: &str, per_h: &str) -> String {
        let per_h = if self.per_h { per_h } else { "" };
        if approx_eq(self.msun, 1.0) {
            return format!("{name}{per_h}");
        }
        format!("{:e} {name}{per_h}", self.msun)
    }
}

impl fmt::Display for MassUnit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.spelled("Msun", "/h"))
    }
}

impl FromStr for MassUnit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Product::parse(text).and_then(|mut product| {
            let per_h = product.take_per_h()?;
            let name = product.only()?;
            let (_, msun) = NAMES.into_iter().find(|(known, _)| *known == name)?;
            Some((product.scale * msun, per_h))
        });
        match found {
            Some((msun, per_h)) => {
                // Files give 1.989e43 g for 1e10 solar masses.
                let decade = 10f64.powf(msun.log10().round());
                Ok(Self { msun: if (msun / decade - 1.0).abs() < 1e-3 { decade } else { msun }, per_h })
            }
            _ => Err(errors::unknown_unit("unit of mass", text, "1e10 Msun/h, Msun/h, 1e10 Msun, Msun, g or kg")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let unit = |text: &str| text.parse::<MassUnit>().unwrap();
        assert_eq!(unit("1e10 Msun/h"), MassUnit::MSUN_H_1E10);
        assert_eq!(unit("1e10Msun"), MassUnit::MSUN_1E10);
        assert_eq!(unit("1e10 solMass / littleh"), MassUnit::MSUN_H_1E10);
        assert_eq!(unit("1.989e43 g/h"), MassUnit::MSUN_H_1E10);
        assert_eq!(unit("Msun").to_string(), "Msun");
        assert_eq!(unit("2.5e7 Msun/h").to_string(), "2.5e7 Msun/h");
        assert_eq!(MassUnit::MSUN_H_1E10.astropy_name(), "1e10 solMass / littleh");
        for text in [
            "10**10 solMass littleh-1",
            "10+10 Msun h-1",
            "10+10solMass.h-1",
            "1*10^10 solMass littleh^-1",
            "1×10¹⁰ M☉ littleh⁻¹",
            "1e+10solMass.littleh**-1",
            "10^10 h^-1 M_sun",
            "1.98841e+40 kg / h",
        ] {
            assert_eq!(unit(text), MassUnit::MSUN_H_1E10, "{text}");
        }
        assert_eq!(unit("solMass littleh-1"), MassUnit::MSUN_H);
        assert_eq!(["10**10 solMass", "10+10solMass", "1e+10solMass", "1×10¹⁰ M⊙"].map(unit), [MassUnit::MSUN_1E10; 4]);
        for bad in ["", "1e10", "Msun/hour", "-1 Msun", "inf Msun", "Msun h", "Msun Mpc-3", "Msun2"] {
            assert!(bad.parse::<MassUnit>().unwrap_err().to_string().contains("Msun/h"));
        }
    }
}
