//! The centres that were found.
//!
//! In: what was found of each halo. Out: rows, and what they add up to.

use crate::halo::Halos;

/// The centre of a halo. What a definition does not have is `None`, or 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HaloCenter {
    /// Where it is; within the box if that is periodic. Where a particle is the centre, this is its position.
    pub position: [f64; 3],
    /// The index of the point that is the centre: for most bound and most connected particles.
    pub member: Option<u32>,
    /// Its potential, in units of mass by length (G is 1): for most bound particles.
    pub potential: Option<f64>,
    /// How many members are within the linking length, itself not counted: for most connected particles.
    pub friends: Option<u32>,
    /// How many members have as many friends, itself counted.
    pub ties: Option<u32>,
    /// How many pairs of members, out of all pairs of the halo that were looked at, have no distance: without softening they
    /// were left out. By [`MostBoundBrute`](super::Center::MostBoundBrute), and without softening by
    /// [`MostBound`](super::Center::MostBound), all are found.
    pub coincident: u64,
    /// How many ordered pairs of members were looked at to find the most bound particle; a node of a tree or a cell of a grid
    /// counts as a member. Brute force takes n (n - 1).
    pub pairs: u64,
    /// Whether the exact answer is the same: for [`Center::MostBoundPoisson`](super::Center::MostBoundPoisson), if
    /// [asked](super::Centering::check).
    pub agrees: Option<bool>,
}

impl HaloCenter {
    /// A place that is no particle's.
    pub(crate) fn at(position: [f64; 3]) -> Self {
        Self {
            position,
            member: None,
            potential: None,
            friends: None,
            ties: None,
            coincident: 0,
            pairs: 0,
            agrees: None,
        }
    }
}

/// A centre for each halo, in the order of the halos.
#[derive(Clone, Debug, PartialEq)]
pub struct Centers {
    rows: Vec<HaloCenter>,
    /// Ordered pairs of members of the same halo.
    all_pairs: u64,
}

impl Centers {
    pub(super) fn new(rows: Vec<HaloCenter>, halos: &Halos) -> Self {
        Self::of(rows, halos.iter().map(<[u32]>::len))
    }

    /// Of halos of these sizes.
    pub(crate) fn of(rows: Vec<HaloCenter>, sizes: impl Iterator<Item = usize>) -> Self {
        let all_pairs = sizes.map(|size| size as u64 * (size as u64 - 1)).sum();
        Self { rows, all_pairs }
    }

    /// The centres.
    pub fn as_slice(&self) -> &[HaloCenter] {
        &self.rows
    }

    /// How many there are: as many as halos.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Ordered pairs that were looked at, as a part of those that brute force looks at; 0 where no pairs are.
    pub fn evaluated_fraction(&self) -> f64 {
        let pairs: u64 = self.rows.iter().map(|row| row.pairs).sum();
        if self.all_pairs > 0 { pairs as f64 / self.all_pairs as f64 } else { 0.0 }
    }
}
