//! Gathers the catalogues of all ranks.
//!
//! In: on each rank, the catalogue of its halos. Out: on rank 0 all rows, in the order of one process.
//! Cost: each row is sent once.

use ropewalk::Result;
use ropewalk::distributed::Communicator;
use ropewalk::internals::distributed::gather;

use super::row_numbers;
use crate::columns::Values;
use crate::{Catalog, Halo, Motion};

/// The number of words per row, besides its columns: the fields of [`Halo`], the label, and the first member.
const NUMBERS: usize = 16;
/// The position of the label among these words.
const LABEL: usize = 13;
/// The position of the first member.
const FIRST: usize = 14;
/// The position of the mass including attached particles.
const TOTAL_MASS: usize = 15;

impl Catalog {
    /// Replaces [`Catalog::labels`] by the global ones; `labels` has one per halo, in the order of the halos.
    #[doc(hidden)]
    pub fn labelled(mut self, labels: &[u64]) -> Self {
        self.labels = self.order.iter().map(|&halo| labels[halo as usize] as u32).collect();
        self
    }

    /// Gathers the rows of all ranks on rank 0; returns `None` on other ranks. `labels` and `firsts` hold the label
    /// of each halo and the global index of its smallest member, in the order of the halos. Collective.
    #[doc(hidden)]
    pub fn gather(mut self, ranks: &dyn Communicator, labels: &[u64], firsts: &[u64]) -> Result<Option<Self>> {
        let own: Vec<[u64; NUMBERS]> = self
            .halos
            .iter()
            .zip(&self.order)
            .map(|(row, &halo)| packed(row, labels[halo as usize], firsts[halo as usize]))
            .collect();
        let (_, rows) = gather(ranks, &own, 0)?.into_parts();
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        // Rows with equal tags, which occur if ids are not unique, are ordered by their first members.
        order.sort_by_key(|&at| {
            let row = &rows[at as usize];
            (std::cmp::Reverse(row[1]), row[0], row[FIRST])
        });
        let label_column = self.name("label");
        let mut columns = std::mem::take(&mut self.columns);
        for column in &mut columns {
            column.values = if column.name == label_column {
                row_numbers(rows.len())
            } else {
                // On other ranks, `order` and the columns are empty.
                column.values.gather(ranks)?.at(&order)
            };
        }
        if ranks.rank() != 0 {
            return Ok(None);
        }
        let halos = order.iter().map(|&at| unpacked(&rows[at as usize])).collect();
        let labels = order.iter().map(|&at| rows[at as usize][LABEL] as u32).collect();
        let order = (0..rows.len() as u32).collect();
        Ok(Some(self.with_rows(halos, order, labels, columns)))
    }
}

impl Values {
    /// Gathers the values of all ranks on rank 0.
    fn gather(&self, ranks: &dyn Communicator) -> Result<Self> {
        Ok(match self {
            Self::Integers(values) => Self::Integers(gather(ranks, values, 0)?.into_parts().1),
            Self::Signed(values) => Self::Signed(gather(ranks, values, 0)?.into_parts().1),
            Self::Numbers(values) => Self::Numbers(gather(ranks, values, 0)?.into_parts().1),
        })
    }
}

fn packed(row: &Halo, label: u64, first: u64) -> [u64; NUMBERS] {
    let Motion { mean, dispersion } = row.motion.unwrap_or(Motion { mean: [0.0; 3], dispersion: 0.0 });
    let [x, y, z] = row.center.map(f64::to_bits);
    let [vx, vy, vz] = mean.map(f64::to_bits);
    let [mass, dispersion, rms, max] = [row.mass, dispersion, row.rms_radius, row.max_radius].map(f64::to_bits);
    let moves = row.motion.is_some().into();
    let total = row.total_mass.to_bits();
    [row.tag, row.count as u64, mass, x, y, z, rms, max, moves, vx, vy, vz, dispersion, label, first, total]
}

fn unpacked(row: &[u64; NUMBERS]) -> Halo {
    let number = |at: usize| f64::from_bits(row[at]);
    Halo {
        tag: row[0],
        count: row[1] as usize,
        mass: number(2),
        total_mass: number(TOTAL_MASS),
        center: [3, 4, 5].map(number),
        motion: (row[8] == 1).then(|| Motion { mean: [9, 10, 11].map(number), dispersion: number(12) }),
        rms_radius: number(6),
        max_radius: number(7),
    }
}
