//! From labels of groups to rows of the catalogue.
//!
//! In: the label of each row. Out: [`HaloRows`], which converts the labels of particles. Groups that are too small for
//! a halo have labels but no rows.
//! Cost: 8 bytes per halo of all ranks; a binary search per particle, in parallel.

use ropewalk::Result;
use ropewalk::internals::cancel::guarded;
use ropewalk::internals::distributed::broadcast;
use ropewalk::internals::parallel::map;
use ropewalk_table::Catalog;

use crate::Pipeline;

/// The number of labels that a thread converts at a time.
const CHUNK: usize = 1 << 12;

/// The row of the catalogue of each label of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct HaloRows {
    /// Labels with their rows, ascending.
    by_label: Vec<(u32, u32)>,
}

impl HaloRows {
    /// Creates the conversion from the label of each row.
    fn new(labels: &[u32]) -> Self {
        let mut by_label: Vec<(u32, u32)> = labels.iter().copied().zip(0..).collect();
        by_label.sort_unstable();
        Self { by_label }
    }

    /// Returns the row of each label; -1 for labels without a row, and for -1.
    ///
    /// # Errors
    /// Fails if memory cannot be allocated.
    pub fn of(&self, labels: &[i32]) -> Result<Vec<i32>> {
        guarded(|| Ok(map(labels.len(), CHUNK, &|at| self.row(labels[at]).unwrap_or(-1))))
    }

    fn row(&self, label: i32) -> Option<i32> {
        let label = u32::try_from(label).ok()?;
        let at = self.by_label.binary_search_by_key(&label, |pair| pair.0).ok()?;
        // Rows are halos, whose number is that of labels of 32 bits at most: `check_clusters`.
        Some(self.by_label[at].1 as i32)
    }
}

impl Pipeline<'_> {
    /// Returns the conversion of labels ([`FoundHalos::labels`](crate::FoundHalos::labels), [`Attached::labels`]) to
    /// rows of the catalogue of all ranks. `catalog` is that of [`Pipeline::gather`], or of [`Pipeline::measure`] of a
    /// single rank; only that of rank 0 is used. Collective.
    ///
    /// [`Attached::labels`]: crate::Attached::labels
    ///
    /// # Errors
    /// If a rank has ended.
    pub fn halo_rows(&self, catalog: Option<&Catalog>) -> Result<HaloRows> {
        let labels = catalog.map_or(&[][..], Catalog::labels);
        if self.ranks.size() == 1 {
            return Ok(HaloRows::new(labels));
        }
        Ok(HaloRows::new(&broadcast(self.ranks, labels, 0)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_become_rows() {
        let rows = HaloRows::new(&[7, 0, 3]);
        assert_eq!(rows.of(&[0, -1, 7, 3, 5, 8, 7, i32::MIN]).unwrap(), [1, -1, 0, 2, -1, -1, 0, -1]);
        assert_eq!(HaloRows::new(&[]).of(&[0, -1]).unwrap(), [-1, -1]);
    }
}
