//! The mass of all particles of a snapshot, if this part reads only some of them.
//!
//! In: sums over masses in headers and in lists. Out: the two sums. Cost: that of the sums.

use ropewalk::halo::MassSum;

/// The mass of all particles, as two sums.
#[derive(Default)]
pub(super) struct TotalMass {
    /// The sum of masses in headers, which every part reads.
    pub known: MassSum,
    /// The sum of listed masses: of all lists, or of this part's share of them. `None` if there are no lists.
    pub share: Option<MassSum>,
}

impl TotalMass {
    /// Returns the sum for lists of masses that cannot be read.
    pub(super) fn broken() -> Self {
        Self { share: Some(MassSum::non_finite()), ..Self::default() }
    }

    /// Adds `sum` to this part's share.
    pub(super) fn share(&mut self, sum: &MassSum) {
        self.share.get_or_insert_default().merge(sum);
    }
}
