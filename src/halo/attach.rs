//! Particles of other types join the halos of those that were linked.
//!
//! In: [`Halos`], the positions that they were found among, and other positions. Out: a label for each of the others: that of its
//! nearest linked particle, if one is within the linking length.
//! Cost: a tree of the linked particles, and a search of the nearest one for each of the others.
//! Source: Springel et al. 2001, the SUBFIND paper, section 3, and `FOF_SECONDARY_LINK_TYPES` of Gadget-4 (Springel et al. 2021,
//! section 7.1).

use crate::bvh::Bvh;
use crate::cluster::Halos;
use crate::error::{Error, Result};
use crate::geometry::Scalar;
use crate::search::Nearest;

/// Particles that are searched for at a time, so that lists of all of them are never there at once.
const CHUNK: usize = 1 << 20;

impl Halos {
    /// The label of each of `others`: that of the nearest of `positions`, which the halos were found among, if it is within
    /// `linking_length` (inclusive); -1 where none is, or where that one is in no group. Of equally near ones the first decides.
    ///
    /// Distances are those of the space that the halos were found in; open space where that is not known.
    ///
    /// Errors: positions that are not as many as the labels; coordinates that are not finite; a length that is negative or not finite.
    ///
    /// ```
    /// use ropewalk::Fof;
    ///
    /// let dark_matter = [[1.0f32, 5.0, 5.0], [1.5, 5.0, 5.0], [7.0, 5.0, 5.0]];
    /// let halos = Fof::new(1.0).periodic(10.0).run(&dark_matter)?;
    /// // One near the pair, one near a particle in no group, one through the boundary.
    /// let stars = [[1.8f32, 5.0, 5.0], [7.0, 5.5, 5.0], [0.0, 5.0, 5.0]];
    /// assert_eq!(halos.attach(&dark_matter, &stars, 1.0)?, [0, -1, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn attach<S: Scalar>(
        &self,
        positions: &[[S; 3]],
        others: &[[S; 3]],
        linking_length: impl Into<f64>,
    ) -> Result<Vec<i32>> {
        let length = linking_length.into();
        let labels = self.labels().as_slice();
        if labels.len() != positions.len() {
            return Err(Error::length("labels", labels.len(), positions.len()));
        }
        if !(0.0..f64::INFINITY).contains(&length) {
            let must = "finite and not negative";
            return Err(Error::parameter_must("linking_length", length, must));
        }
        for (index, point) in others.iter().enumerate() {
            if let Some((axis, value)) = (0..).zip(point.map(Into::into)).find(|(_, x): &(usize, f64)| !x.is_finite()) {
                return Err(Error::not_finite(index, axis, value));
            }
        }
        let space = self.boundary().space()?;
        let tree = Bvh::build_in(positions, space)?;
        let mut found = Vec::with_capacity(others.len());
        for chunk in others.chunks(CHUNK) {
            let wrapped: Vec<[S; 3]> = chunk.iter().map(|&point| space.wrap(point)).collect();
            let nearest = tree.nearest_all(&wrapped, Nearest::new(1).within(length));
            found.extend(
                (0..chunk.len()).map(|row| nearest.of(row).first().map_or(-1, |near| labels[near.index as usize])),
            );
        }
        Ok(found)
    }
}
