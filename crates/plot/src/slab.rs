//! A part of the box between two planes.

use std::fmt;
use std::str::FromStr;

use ropewalk::{Error, Result};

use crate::errors;

/// The names of the axes.
pub const AXES: [&str; 3] = ["x", "y", "z"];

/// The space between two planes perpendicular to an axis, planes included. Pictures look along that axis.
///
/// Parsed from the axis and the two ends: `z:10..20`. In a periodic box, a slab may extend across the boundary.
///
/// ```
/// use ropewalk_plot::Slab;
///
/// let slab: Slab = "z:-1..2.5".parse()?;
/// assert_eq!(slab, Slab::new(2, [-1.0, 2.5])?);
/// assert!(slab.contains([9.0, 9.0, 2.5], None) && !slab.contains([0.0, 0.0, 9.5], None));
/// assert!(slab.contains([0.0, 0.0, 9.5], Some(10.0)));
/// assert!("z:2..1".parse::<Slab>().is_err());
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Slab {
    axis: usize,
    ends: [f64; 2],
}

impl Slab {
    /// Creates a slab from an axis, 0 for x, and the ends along it.
    ///
    /// # Errors
    /// Fails unless the axis is below 3, and the ends are finite and ascending.
    pub fn new(axis: usize, ends: [f64; 2]) -> Result<Self> {
        let is_slab = axis < 3 && ends[0] < ends[1] && ends.iter().all(|end| end.is_finite());
        if is_slab {
            return Ok(Self { axis, ends });
        }
        Err(errors::unknown_slab(&format!("{}:{}..{}", AXES.get(axis).unwrap_or(&"?"), ends[0], ends[1])))
    }

    /// Returns the axis, 0 for x.
    pub fn axis(&self) -> usize {
        self.axis
    }

    /// Returns the ends of the slab.
    pub fn ends(&self) -> [f64; 2] {
        self.ends
    }

    /// Returns `true` if a position is in the slab. `side` is that of a periodic box, `None` in open space.
    pub fn contains(&self, at: [f64; 3], side: Option<f64>) -> bool {
        let [from, to] = self.ends;
        let x = at[self.axis];
        match side {
            // The ends themselves are always inside, regardless of rounding in the remainder.
            Some(side) => x == from || x == to || (x - from).rem_euclid(side) <= to - from,
            None => (from..=to).contains(&x),
        }
    }

    /// Returns the slab in other units of length, with ends rounded to nine digits.
    pub(super) fn times(&self, factor: f64) -> Self {
        let end = |end: f64| format!("{:.8e}", end * factor).parse().unwrap_or(end * factor);
        let ends = if factor == 1.0 { self.ends } else { self.ends.map(end) };
        Self { ends, ..*self }
    }

    /// Describes the slab within a periodic box from 0 to `side`, or in open space.
    pub(super) fn within(&self, side: Option<f64>) -> String {
        let Some(side) = side.filter(|&side| side > 0.0 && side < f64::INFINITY) else { return self.to_string() };
        let [from, to] = self.ends;
        if to - from >= side {
            return Self { ends: [0.0, side], ..*self }.to_string();
        }
        // Rounded, since the remainder has the rounding errors of numbers of the size of the ends.
        let rounded = |x: f64| format!("{:.8e}", x).parse().unwrap_or(x);
        let start = if (0.0..side).contains(&from) { from } else { rounded(from.rem_euclid(side)) };
        let end = if start == from { to } else { rounded(start + (to - from)) };
        if end <= side {
            return Self { ends: [start, end], ..*self }.to_string();
        }
        format!("{axis} ≥ {start} or {axis} ≤ {}", rounded(end - side), axis = AXES[self.axis])
    }
}

impl fmt::Display for Slab {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [from, to] = self.ends.map(|end| end.to_string().replace('-', "\u{2212}"));
        write!(f, "{from} ≤ {} ≤ {to}", AXES[self.axis])
    }
}

impl FromStr for Slab {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parsed = || {
            let (axis, ends) = text.split_once(':')?;
            let axis = AXES.iter().position(|name| name.eq_ignore_ascii_case(axis.trim()))?;
            let (from, to) = ends.split_once("..")?;
            Some((axis, [from.trim().parse().ok()?, to.trim().parse().ok()?]))
        };
        let refused = || errors::unknown_slab(text);
        parsed().and_then(|(axis, ends)| Self::new(axis, ends).ok()).ok_or_else(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let slab: Slab = "y:10..20".parse().unwrap();
        assert_eq!((slab.axis(), slab.ends(), slab.to_string()), (1, [10.0, 20.0], "10 ≤ y ≤ 20".into()));
        assert_eq!(" Z: -1e3 .. -5 ".parse::<Slab>().unwrap().to_string(), "\u{2212}1000 ≤ z ≤ \u{2212}5");
        for bad in ["", "z", "z:", "w:1..2", "z:1..", "z:..2", "z:1..1", "z:NaN..1", "z:0..inf", "z:1..2..3", "1..2"] {
            let error = bad.parse::<Slab>().unwrap_err().to_string();
            assert!(error.contains("z:10..20"), "{bad}: {error}");
        }
    }

    #[test]
    fn described_within_the_box() {
        let shown = |slab: &str, side| slab.parse::<Slab>().unwrap().within(side);
        assert_eq!(shown("z:40..50", Some(32.0)), "8 ≤ z ≤ 18");
        assert_eq!(shown("z:-1..1", Some(10.0)), "z ≥ 9 or z ≤ 1");
        assert_eq!(shown("x:8..13.5", Some(10.0)), "x ≥ 8 or x ≤ 3.5");
        assert_eq!(shown("x:8..10", Some(10.0)), "8 ≤ x ≤ 10");
        assert_eq!(shown("y:-5..25", Some(10.0)), "0 ≤ y ≤ 10");
        assert_eq!(shown("y:19.45..19.8", Some(10.0)), "9.45 ≤ y ≤ 9.8");
        assert_eq!(shown("y:-1..2", None), "\u{2212}1 ≤ y ≤ 2");
    }

    #[test]
    fn around_the_boundary() {
        let slab = Slab::new(0, [8.0, 13.0]).unwrap();
        let inside = |x: f64| slab.contains([x, 0.0, 0.0], Some(10.0));
        assert_eq!([8.0, 9.9, 0.0, 3.0, 3.1, 7.9].map(inside), [true, true, true, true, false, false]);
        assert!([0.0, 5.0, 9.9].iter().all(|&x| Slab::new(0, [-1.0, 10.0]).unwrap().contains([x; 3], Some(10.0))));
        // A remainder that rounding turns into the whole side.
        assert!(Slab::new(2, [0.1, 0.3]).unwrap().contains([0.0, 0.0, 0.1], Some(0.1 + 0.2)));
    }
}
