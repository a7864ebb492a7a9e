//! The centres of halos, by the search of the options.
//!
//! In: halos of the pipeline's snapshot. Out: [`Centers`], found by the device that found the halos if it has the
//! search, otherwise by the CPU.

use ropewalk::Result;
use ropewalk::halo::{CenterFinder, Centers, Halos};
use ropewalk::reference::{PoissonGrid, most_bound_a_star, most_bound_poisson};

use super::group_set::OnDevice;
use super::state::with_particles;
use super::{CenterKind, FoundHalos, Pipeline};

impl Pipeline<'_> {
    /// Finds the centres of all halos, on the device that found them if there is one.
    pub(super) fn centers(
        &self,
        found: &FoundHalos<'_>,
        on_device: Option<&OnDevice<'_>>,
        kind: CenterKind,
    ) -> Result<Centers> {
        match on_device {
            // Devices do not have the searches of the module `reference`.
            Some(find) if !kind.is_reference() => {
                find(kind.center(self.options.softening, self.whole.scales.linking_length))
            }
            _ => self.centers_of(&found.halos, kind),
        }
    }

    /// Finds the centres of some halos of the snapshot, on the CPU.
    ///
    /// # Errors
    /// As [`CenterFinder::run`].
    pub fn centers_of(&self, halos: &Halos, kind: CenterKind) -> Result<Centers> {
        let center = kind.center(self.options.softening, self.whole.scales.linking_length);
        let mut finder = CenterFinder::new(center).periodic(self.whole.period);
        if let Some(masses) = self.masses() {
            finder = finder.masses(masses);
        }
        with_particles!(self, |positions, _particles| match kind {
            CenterKind::MostBoundAStar => most_bound_a_star(&finder, positions, halos),
            CenterKind::MostBoundPoisson => most_bound_poisson(&finder, PoissonGrid::default(), positions, halos),
            CenterKind::MostBound
            | CenterKind::MostBoundBrute
            | CenterKind::MostConnected
            | CenterKind::CenterOfMass
            | CenterKind::ShrinkingSphere => finder.run(positions, halos),
        })
    }
}
