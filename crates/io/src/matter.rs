//! The mass of all particles of a snapshot, of which this part may have read a few.
//!
//! In: sums of what headers and lists say. Out: two sums. Cost: theirs.

use ropewalk::halo::MassSum;

/// The mass of all particles, in two halves.
#[derive(Default)]
pub(super) struct Matter {
    /// What headers say, which every part reads.
    pub known: MassSum,
    /// What is summed of lists: of all of them, or of this part's share. `None` if there are none.
    pub share: Option<MassSum>,
}

impl Matter {
    /// That of lists which cannot be read.
    pub(super) fn broken() -> Self {
        Self { share: Some(MassSum::broken()), ..Self::default() }
    }

    /// What is added to this part's share.
    pub(super) fn share(&mut self, sum: &MassSum) {
        self.share.get_or_insert_default().merge(sum);
    }
}
