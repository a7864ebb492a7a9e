//! The box around the particles of all ranks.
//!
//! In: the particles of each rank. Out: two corners, equal on all ranks. Cost: one pass over the particles, and 48
//! bytes from each rank.

use crate::distributed::communicator::{Communicator, all_gather_v};
use crate::error::Result;
use crate::geometry::Scalar;
use crate::halo::Particles;
use crate::halo::particles::{Corners, box_around};

impl<S: Scalar> Particles<'_, S> {
    /// Returns the lower and the upper corner of the box around the particles of all ranks, zeros if there are none.
    /// Collective.
    ///
    /// ```
    /// use ropewalk::distributed::{Communicator, on_threads};
    /// use ropewalk::halo::Particles;
    ///
    /// let parts = [&[[-3.0f32, 1.0, 0.5]][..], &[], &[[2.0, 4.0, 0.5]]];
    /// let extents = on_threads(3, |ranks| Particles::new(parts[ranks.rank()]).extent_across(ranks))?;
    /// assert_eq!(extents, [([-3.0, 1.0, 0.5], [2.0, 4.0, 0.5]); 3]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if a rank has ended.
    pub fn extent_across(&self, ranks: &dyn Communicator) -> Result<([f64; 3], [f64; 3])> {
        let (lo, hi) = self.extent();
        let own: &[Corners] = if self.positions().is_empty() { &[] } else { &[[lo, hi]] };
        let [lo, hi] = box_around(all_gather_v(ranks, own)?.values());
        Ok((lo, hi))
    }
}
