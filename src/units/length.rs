//! Units of length.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;
use crate::units::errors;
use crate::units::{is_about, split_h, split_number};

/// Mpc in metres.
pub const MPC: f64 = 3.085_677_581_491_367e22;
const NAMES: [(&str, f64); 7] =
    [("Mpc", 1.0), ("kpc", 1e-3), ("pc", 1e-6), ("Gpc", 1e3), ("m", 1.0 / MPC), ("km", 1e3 / MPC), ("cm", 1e-2 / MPC)];

/// Whether lengths grow with the universe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Frame {
    /// Lengths are divided by the scale factor: a galaxy at rest keeps its coordinates.
    #[default]
    Comoving,
    /// Lengths as a ruler has them at the time.
    Physical,
}

/// A unit of length.
///
/// Its text is a name (`Mpc`, `kpc`, `pc`, `Gpc`, `m`, `km`, `cm`), a number before it if need be, `/h` after it where lengths are in
/// units of 1/h, and a `p` before the name for physical lengths; a `c` for comoving ones may be left out.
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
    /// How long it is in Mpc, or in Mpc/h.
    pub mpc: f64,
    /// Whether it is in units of 1/h.
    pub per_h: bool,
    /// Comoving or physical.
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

    /// The name without the frame: `kpc/h`.
    pub fn name(&self) -> String {
        self.spelled("/h")
    }

    /// The name as astropy reads it, where a plain h is an hour: `kpc / littleh`.
    pub fn astropy_name(&self) -> String {
        self.spelled(" / littleh")
    }

    fn spelled(&self, per_h: &str) -> String {
        let per_h = if self.per_h { per_h } else { "" };
        match NAMES.into_iter().find(|&(_, mpc)| is_about(self.mpc, mpc)) {
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
        let (rest, per_h) = split_h(text);
        let (times, name) = split_number(rest);
        let known = |name: &str| NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, mpc)| mpc);
        let framed = |prefix: char, frame| Some((known(name.strip_prefix(prefix)?)?, frame));
        let found = known(name).map(|mpc| (mpc, Frame::Comoving));
        match found.or_else(|| framed('c', Frame::Comoving)).or_else(|| framed('p', Frame::Physical)) {
            Some((mpc, frame)) if times > 0.0 && times < f64::INFINITY => {
                // Digits of a file are not the last word on a parsec.
                let mpc = times * mpc;
                let mpc = NAMES.into_iter().find(|&(_, own)| is_about(mpc, own)).map_or(mpc, |(_, own)| own);
                Ok(Self { mpc, per_h, frame })
            }
            _ => Err(errors::unknown_unit(
                "length",
                text,
                "Mpc/h, kpc/h, Mpc, kpc, pc, Gpc, m, km or cm, with a p before it for physical lengths",
            )),
        }
    }
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
        for bad in ["", "parsec", "mpc/h", "-1 Mpc", "0 kpc", "Msun", "nan Mpc", "é"] {
            let message = bad.parse::<LengthUnit>().unwrap_err().to_string();
            assert!(message.contains("Mpc/h"), "{message}");
        }
    }
}
