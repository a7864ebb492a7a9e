//! The space in which halos or centres were found, so that later measurements use the same space.

use std::fmt;

use super::Space;
use crate::error::Result;
use crate::geometry::BoxSize;
use crate::geometry::errors;

/// The space in which halos or centres were found: [`Halos::boundary`](crate::Halos::boundary),
/// [`Centers::boundary`](crate::halo::Centers::boundary).
///
/// Results carry their space along: centres of halos of a periodic box are computed in that box. A function for which
/// another space is specified returns an error.
///
/// ```
/// use ropewalk::geometry::Boundary;
/// use ropewalk::halo::CenterFinder;
/// use ropewalk::{Center, Fof};
///
/// let points = [[9.5f32, 5.0, 5.0], [0.25, 5.0, 5.0], [0.5, 5.0, 5.0]];
/// let halos = Fof::new(1.0).periodic(10.0).run(&points)?;
/// assert_eq!(*halos.boundary(), Boundary::Periodic(vec![10.0; 3]));
/// let error = CenterFinder::new(Center::CenterOfMass).periodic(20.0).run(&points, &halos).unwrap_err();
/// assert!(error.to_string().contains("a periodic box of 10") && error.to_string().contains("a periodic box of 20"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Boundary {
    /// Unknown, as for halos from other sources. Any space may be specified; without one, the space is open.
    #[default]
    Unknown,
    /// Space without boundaries.
    Open,
    /// A periodic box with these side lengths, one for each axis, in the units of the points.
    Periodic(Vec<f64>),
}

impl Boundary {
    #[doc(hidden)]
    pub fn new<const D: usize>(space: &Space<D>) -> Self {
        space.period().map_or(Self::Open, |period| Self::Periodic(period.to_vec()))
    }
}

impl Boundary {
    /// The three-dimensional space of a user-specified box; unknown if it has no sides.
    pub(crate) fn from_box_size(size: &BoxSize) -> Result<Self> {
        if size.is_open() { Ok(Self::Unknown) } else { Ok(Self::new(&Space::<3>::periodic(size.clone())?)) }
    }

    /// Returns the space on which all known boundaries agree; unknown if none is known.
    ///
    /// Each boundary comes with the beginning of a sentence for the error, such as "the halos were found in".
    ///
    /// # Errors
    /// Two boundaries are known and differ.
    #[doc(hidden)]
    pub fn common(known: &[(&'static str, &Self)]) -> Result<Self> {
        let mut known = known.iter().filter(|(_, boundary)| **boundary != Self::Unknown);
        let Some(&(what, boundary)) = known.next() else { return Ok(Self::Unknown) };
        match known.find(|(_, other)| *other != boundary) {
            None => Ok(boundary.clone()),
            Some(&(other_what, other)) => {
                let [of, other_of] = [boundary, other].map(ToString::to_string);
                Err(errors::spaces([what, other_what], [of, other_of]))
            }
        }
    }

    /// Returns the space; open if it is unknown.
    #[doc(hidden)]
    pub fn space(&self) -> Result<Space<3>> {
        match self {
            Self::Unknown | Self::Open => Ok(Space::OPEN),
            Self::Periodic(sides) => match <[f64; 3]>::try_from(sides.as_slice()) {
                Ok(sides) => Space::periodic(sides),
                Err(_) => Err(errors::box_dimension(sides.len(), 3)),
            },
        }
    }
}

impl fmt::Display for Boundary {
    /// Writes the space as part of a sentence: "a periodic box of 10".
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("an unknown space"),
            Self::Open => f.write_str("open space"),
            Self::Periodic(sides) => match sides.first() {
                // Only a three-dimensional cube is written as one side, so that a square stays distinct from a cube.
                Some(&side) if sides.len() == 3 && sides.iter().all(|&other| other == side) => {
                    write!(f, "a periodic box of {side}")
                }
                _ => write!(f, "a periodic box of {sides:?}"),
            },
        }
    }
}
