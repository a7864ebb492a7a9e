//! Units of length.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::units::approx_eq::approx_eq;
use crate::units::errors;
use crate::units::product::Product;

/// The metres per Mpc.
pub const MPC: f64 = 3.085_677_581_491_367e22;
const NAMES: [(&str, f64); 7] =
    [("Mpc", 1.0), ("kpc", 1e-3), ("pc", 1e-6), ("Gpc", 1e3), ("m", 1.0 / MPC), ("km", 1e3 / MPC), ("cm", 1e-2 / MPC)];

/// The frame of lengths: comoving or physical.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Frame {
    /// Lengths are divided by the scale factor: an object that follows the expansion keeps its coordinates.
    #[default]
    Comoving,
    /// Proper lengths at the time of the snapshot.
    Physical,
}

/// A unit of length.
///
/// Parsed from a name: `Mpc`, `kpc`, `pc`, `Gpc`, `m`, `km` or `cm`. A number before it and `/h` after it, for
/// lengths in units of 1/h, are optional. So are a `p` before the name for physical lengths, and a `c` for comoving
/// ones (the default). `h-1 Mpc`, `kpc littleh**-1`, `10^3 kpc` and other spellings of FITS, VOUnit, astropy and yt
/// are accepted too.
///
/// ```
/// use ropewalk::units::{Frame, LengthUnit};
///
/// let unit: LengthUnit = "kpc/h".parse()?;
/// assert_eq!((unit.mpc, unit.per_h, unit.frame), (1e-3, true, Frame::Comoving));
/// assert_eq!("pkpc".parse::<LengthUnit>()?.frame, Frame::Physical);
/// assert_eq!("3.085678e21 cm/h".parse::<LengthUnit>()?.to_string(), "kpc/h");
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LengthUnit {
    /// The size of the unit in Mpc, or in Mpc/h if `per_h`.
    pub mpc: f64,
    /// `true` if lengths are in units of 1/h.
    pub per_h: bool,
    /// The frame, comoving or physical.
    pub frame: Frame,
}

impl LengthUnit {
    /// Comoving Mpc/h.
    pub const MPC_H: Self = Self { mpc: 1.0, per_h: true, frame: Frame::Comoving };
    /// Comoving kpc/h.
    pub const KPC_H: Self = Self { mpc: 1e-3, ..Self::MPC_H };
    /// Comoving Mpc.
    pub const MPC: Self = Self { per_h: false, ..Self::MPC_H };
    /// Comoving kpc.
    pub const KPC: Self = Self { per_h: false, ..Self::KPC_H };

    /// Returns the name without the frame: `kpc/h`.
    pub fn name(&self) -> String {
        self.spelled("/h")
    }

    /// Returns the name in astropy's spelling, where a plain `h` is an hour: `kpc / littleh`.
    pub fn astropy_name(&self) -> String {
        self.spelled(" / littleh")
    }

    fn spelled(&self, per_h: &str) -> String {
        let per_h = if self.per_h { per_h } else { "" };
        match NAMES.into_iter().find(|&(_, mpc)| approx_eq(self.mpc, mpc)) {
            Some((name, _)) => format!("{name}{per_h}"),
            None => format!("{:e} Mpc{per_h}", self.mpc),
        }
    }
}

impl fmt::Display for LengthUnit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}{}", if self.frame == Frame::Physical { "physical " } else { "" }, self.name())
    }
}

impl FromStr for LengthUnit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let found = Product::parse(text).and_then(|mut product| {
            let per_h = product.take_per_h()?;
            let (mpc, frame) = named(product.only()?)?;
            Some((product.scale * mpc, per_h, frame))
        });
        match found {
            Some((mpc, per_h, frame)) => {
                // Files round the size of a parsec, so sizes close to that of a known unit become exact.
                let mpc = NAMES.into_iter().find(|&(_, own)| approx_eq(mpc, own)).map_or(mpc, |(_, own)| own);
                Ok(Self { mpc, per_h, frame })
            }
            _ => Err(errors::unknown_unit(
                "unit of length",
                text,
                "Mpc/h, kpc/h, Mpc, kpc, pc, Gpc, m, km or cm, with a p before it for physical lengths",
            )),
        }
    }
}

/// Returns the size of a named unit in Mpc, and its frame. Accepts a `c` or `p` before the name, and `cm` after it,
/// as yt writes comoving units.
fn named(name: &str) -> Option<(f64, Frame)> {
    let known = |name: &str| NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, mpc)| mpc);
    let comoving = known(name)
        .or_else(|| name.strip_prefix('c').and_then(known))
        .or_else(|| name.strip_suffix("cm").and_then(known));
    let physical = || name.strip_prefix('p').and_then(known);
    comoving.map(|mpc| (mpc, Frame::Comoving)).or_else(|| Some((physical()?, Frame::Physical)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let unit = |text: &str| text.parse::<LengthUnit>().unwrap();
        assert_eq!(unit("Mpc/h"), LengthUnit::MPC_H);
        assert_eq!(unit("cMpc/h"), LengthUnit::MPC_H);
        assert_eq!(unit("kpc / littleh"), LengthUnit::KPC_H);
        assert_eq!(unit("1000 kpc"), LengthUnit::MPC);
        assert_eq!(unit("pc").mpc, 1e-6);
        assert_eq!(unit("ppc").frame, Frame::Physical);
        assert_eq!(unit("10 kpc/h").to_string(), "1e-2 Mpc/h");
        assert_eq!(unit("pMpc/h").to_string(), "physical Mpc/h");
        assert_eq!(LengthUnit::KPC_H.astropy_name(), "kpc / littleh");
        for text in [
            "Mpc h-1",
            "h-1 Mpc",
            "h^-1 Mpc",
            "h**-1*Mpc",
            "Mpc.h-1",
            "Mpc littleh^-1",
            "Mpc littleh⁻¹",
            "Mpccm/h",
            "Mpc/littleh",
            "10**3 kpc h^{-1}",
            "1000 kpc / h",
            "10+3kpc.h-1",
            "10^3 littleh-1 kpc",
        ] {
            assert_eq!(unit(text), LengthUnit::MPC_H, "{text}");
        }
        assert_eq!(["10**3 kpc", "1000kpc", "10+3kpc", "Mpccm", "cMpc"].map(unit), [LengthUnit::MPC; 5]);
        assert_eq!(
            (unit("cm"), unit("pcm").frame),
            (LengthUnit { mpc: 1e-2 / MPC, ..LengthUnit::MPC }, Frame::Physical)
        );
        for bad in ["Mpc h", "Mpc/h/h", "Mpc2", "1/h Mpc", "Mpc s-1", "cm cm", "ccmcm", "Mpc/hour"] {
            assert!(bad.parse::<LengthUnit>().is_err(), "{bad}");
        }
        for bad in ["", "parsec", "mpc/h", "-1 Mpc", "0 kpc", "Msun", "nan Mpc", "é"] {
            let message = bad.parse::<LengthUnit>().unwrap_err().to_string();
            assert!(message.contains("Mpc/h"), "{message}");
        }
    }
}
