//! Particles of other types join the halos of the linked particles.
//!
//! In: [`Halos`], the positions in which they were found, and other positions. Out: a label for each other particle:
//! that of its nearest linked particle, if it is within the linking length.
//! Cost: a tree of the linked particles, and a nearest-neighbour search for each other particle.
//! Source: Springel et al. 2001, the SUBFIND paper, section 3, and `FOF_SECONDARY_LINK_TYPES` of Gadget-4 (Springel et
//! al. 2021, section 7.1).

use crate::bvh::Bvh;
use crate::cancel::guarded;
use crate::cluster::Halos;
use crate::error::{Error, Result};
use crate::geometry::Scalar;
use crate::search::Nearest;

/// The number of particles that are searched for at a time, which limits the memory for result lists.
const CHUNK: usize = 1 << 20;

impl Halos {
    /// Finds the label of each of `others`: that of the nearest of `positions` within `linking_length` (inclusive).
    ///
    /// `positions` are the points in which the halos were found. The label is -1 if no position is near enough, or if
    /// the nearest one is in no group. Among equally near positions the first decides. Distances are those of the
    /// space of the halos; if that is unknown, of open space.
    ///
    /// # Errors
    /// - A number of positions that differs from the number of labels.
    /// - Coordinates that are not finite.
    /// - A linking length that is negative or not finite.
    ///
    /// # Example
    ///
    /// ```
    /// use ropewalk::Fof;
    ///
    /// let dark_matter = [[1.0f32, 5.0, 5.0], [1.5, 5.0, 5.0], [7.0, 5.0, 5.0]];
    /// let halos = Fof::new(1.0).periodic(10.0).run(&dark_matter)?;
    /// // One near the pair, one near a particle without a group, one near the pair across the boundary.
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
        guarded(|| {
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
                if let Some((axis, value)) =
                    (0..).zip(point.map(Into::into)).find(|(_, x): &(usize, f64)| !x.is_finite())
                {
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
        })
    }
}
