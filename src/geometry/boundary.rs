//! Which space something was found in, so that what is measured on it later is measured in the same one.

use std::fmt;

use super::Space;
use crate::error::Result;
use crate::geometry::BoxSize;
use crate::geometry::errors;

/// The space that halos or centres were found in: [`Halos::boundary`](crate::Halos::boundary),
/// [`Centers::boundary`](crate::Centers::boundary).
///
/// What is known is handed on: centres of halos of a periodic box are found in that box, and a function that is told another one
/// refuses.
///
/// ```
/// use ropewalk::{Boundary, Center, CenterFinder, Fof};
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
    /// Not known, as for halos from elsewhere: any space will do, and open space if none is told.
    #[default]
    Unknown,
    /// Space without boundaries.
    Open,
    /// A periodic box with these side lengths, one for each axis, in the units of the points.
    Periodic(Vec<f64>),
}

impl Boundary {
    #[doc(hidden)]
    pub fn of<const D: usize>(space: &Space<D>) -> Self {
        space.period().map_or(Self::Open, |period| Self::Periodic(period.to_vec()))
    }
}

impl Boundary {
    /// The three-dimensional space that a user names; unknown if there are no sides.
    pub(crate) fn said(size: &BoxSize) -> Result<Self> {
        if size.is_open() { Ok(Self::Unknown) } else { Ok(Self::of(&Space::<3>::periodic(size.clone())?)) }
    }

    /// What is known by several, each of which comes with the beginning of a sentence such as "the halos were found in". An error
    /// if two know of different spaces.
    #[doc(hidden)]
    pub fn agree(known: &[(&'static str, &Self)]) -> Result<Self> {
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

    /// The space; open where nothing is known.
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
    /// As part of a sentence: "a periodic box of 10".
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("a space that is not known"),
            Self::Open => f.write_str("open space"),
            Self::Periodic(sides) => match sides.first() {
                // Halos of a plane are told from those of space.
                Some(&side) if sides.len() == 3 && sides.iter().all(|&other| other == side) => {
                    write!(f, "a periodic box of {side}")
                }
                _ => write!(f, "a periodic box of {sides:?}"),
            },
        }
    }
}
