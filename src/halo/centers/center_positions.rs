//! Positions around which halos are measured: centres of halos, or coordinates given by the caller.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::geometry::{Boundary, ScalarOps};
use crate::halo::centers::result::Centers;

/// Positions around which [`overdensities`](crate::halo::overdensities), [`profiles`](crate::halo::profiles) and
/// [`measure_structure`](crate::halo::measure_structure) measure.
///
/// They are created from `&Centers`, which store their space and which halos have no centre. They can also be created
/// from a slice, an array or a `Vec` of coordinates, which fit any space and must all be finite.
///
/// ```
/// use ropewalk::halo::{Particles, overdensities};
/// use ropewalk::{Center, Fof};
///
/// // A halo across a face of the box, which is specified once.
/// let points = [[9.5f64, 5.0, 5.0], [0.25, 5.0, 5.0], [0.5, 5.0, 5.0]];
/// let halos = Fof::new(1.0).periodic(10.0).run(&points)?;
/// let centers = halos.centers(&points, Center::MostBound { softening: 0.0 })?;
/// let spheres = overdensities(&Particles::new(&points), &centers, &[0.1])?;
/// assert_eq!(spheres[0][0].unwrap().count, 3);
/// assert!(overdensities(&Particles::new(&points).periodic(20.0), &centers, &[0.1]).is_err());
/// assert!(overdensities(&Particles::new(&points).periodic(10.0), &[[0.25, 5.0, 5.0]], &[0.1])? == spheres);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CenterPositions<'a> {
    positions: Cow<'a, [[f64; 3]]>,
    /// The centres of halos, some of which may be missing; `None` for coordinates.
    centers: Option<&'a Centers>,
}

impl<'a> From<&'a Centers> for CenterPositions<'a> {
    fn from(centers: &'a Centers) -> Self {
        let positions = centers.as_slice().iter().map(|center| center.position).collect();
        Self { positions: Cow::Owned(positions), centers: Some(centers) }
    }
}

impl<'a> From<&'a [[f64; 3]]> for CenterPositions<'a> {
    fn from(positions: &'a [[f64; 3]]) -> Self {
        Self { positions: Cow::Borrowed(positions), centers: None }
    }
}

impl<'a, const N: usize> From<&'a [[f64; 3]; N]> for CenterPositions<'a> {
    fn from(positions: &'a [[f64; 3]; N]) -> Self {
        positions.as_slice().into()
    }
}

impl<'a> From<&'a Vec<[f64; 3]>> for CenterPositions<'a> {
    fn from(positions: &'a Vec<[f64; 3]>) -> Self {
        positions.as_slice().into()
    }
}

impl CenterPositions<'_> {
    #[doc(hidden)]
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Returns `true` if there are no positions.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the position of an index; `None` if the halo has no centre.
    #[doc(hidden)]
    pub fn at(&self, index: usize) -> Option<[f64; 3]> {
        let is_missing = self.centers.is_some_and(|centers| centers.as_slice()[index].missing.is_some());
        (!is_missing).then(|| self.positions[index])
    }

    /// The space in which the centres were found; unknown for coordinates.
    pub(crate) fn boundary(&self) -> &Boundary {
        self.centers.map_or(&Boundary::Unknown, Centers::boundary)
    }

    /// Returns an error if a position is not finite, or so far away that squared distances overflow.
    #[doc(hidden)]
    pub fn check(&self) -> Result<()> {
        for (index, place) in (0..self.len()).filter_map(|index| Some((index, self.at(index)?))) {
            for (axis, value) in place.into_iter().enumerate() {
                let fits = value.abs() <= <f64 as ScalarOps>::LIMIT;
                if !fits {
                    return Err(Error::coordinate(index, axis, value, <f64 as ScalarOps>::LIMIT));
                }
            }
        }
        Ok(())
    }
}
