//! The centres that were found.
//!
//! In: what was found of each halo. Out: rows, and what they add up to.

use std::fmt;

use crate::geometry::Boundary;
use crate::halo::Halos;

/// Why a halo has no centre. As text it is a part of a sentence: "the halo is 6 wide along axis 0, ..".
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum NoCenter {
    /// It is half as wide as the periodic box or wider. Members are nearest to each other around the boundary then, so that the
    /// halo has no shape.
    TooWide {
        /// Along this axis, the first of them.
        axis: usize,
        /// So wide, each member being taken at its image nearest to the first member.
        width: f64,
        /// The side of the box.
        size: f64,
    },
    /// It has no members.
    NoMembers,
}

impl fmt::Display for NoCenter {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::TooWide { axis, width, size } => write!(
                f,
                "the halo is {width} wide along axis {axis}, half the periodic box of {size} or more: members are nearest to each \
                 other around the boundary, so it has no shape to find a centre of"
            ),
            Self::NoMembers => f.write_str("the halo has no members"),
        }
    }
}

/// The centre of a halo. What a definition does not have is `None`, or 0.
#[derive(Clone, Copy, Debug)]
pub struct HaloCenter {
    /// Where it is, in the units of the points; within the box if that is periodic. Where a particle is the centre, this is its
    /// position. NaN if the halo has no centre: see [`HaloCenter::missing`].
    pub position: [f64; 3],
    /// Why there is none; `None` if there is one.
    pub missing: Option<NoCenter>,
    /// The index of the point that is the centre: for most bound and most connected particles.
    pub member: Option<u32>,
    /// Its potential, in units of mass by length (G is 1): for most bound particles.
    pub potential: Option<f64>,
    /// How many members are within the linking length, itself not counted: for most connected particles.
    pub friends: Option<u32>,
    /// How many members have as many friends, itself counted.
    pub ties: Option<u32>,
    /// How many pairs of members, out of all pairs of the halo that were looked at, have no distance: without softening they
    /// were left out. By [`MostBoundBrute`](crate::halo::centers::Center::MostBoundBrute), and without softening by
    /// [`MostBound`](crate::halo::centers::Center::MostBound), all are found.
    pub coincident: u64,
    /// How many ordered pairs of members were looked at to find the most bound particle; a node of a tree or a cell of a grid
    /// counts as a member. Brute force takes n (n - 1).
    pub pairs: u64,
    /// Whether the exact answer is the same: for [`Center::MostBoundPoisson`](crate::halo::centers::Center::MostBoundPoisson), if
    /// [asked](crate::halo::centers::CenterFinder::check).
    pub agrees: Option<bool>,
}

impl HaloCenter {
    /// A place that is no particle's.
    pub(crate) fn at(position: [f64; 3]) -> Self {
        Self {
            position,
            missing: None,
            member: None,
            potential: None,
            friends: None,
            ties: None,
            coincident: 0,
            pairs: 0,
            agrees: None,
        }
    }

    /// None, for a reason.
    pub(crate) fn none(reason: NoCenter) -> Self {
        Self { missing: Some(reason), ..Self::at([f64::NAN; 3]) }
    }
}

impl PartialEq for HaloCenter {
    /// Centres that are missing for the same reason are equal, though NaN is not.
    fn eq(&self, other: &Self) -> bool {
        let rest = |row: &Self| {
            (row.missing, row.member, row.potential, row.friends, row.ties, row.coincident, row.pairs, row.agrees)
        };
        rest(self) == rest(other) && (self.missing.is_some() || self.position == other.position)
    }
}

/// A centre for each halo, in the order of the halos.
///
/// They know the space they were found in, if the halos or [`CenterFinder`](crate::halo::centers::CenterFinder) did. Two are equal if their rows are,
/// whatever is known of their space.
#[derive(Clone, Debug)]
pub struct Centers {
    rows: Vec<HaloCenter>,
    /// Ordered pairs of members of the same halo.
    all_pairs: u64,
    boundary: Boundary,
}

impl PartialEq for Centers {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.all_pairs == other.all_pairs
    }
}

impl Centers {
    pub(super) fn new(rows: Vec<HaloCenter>, halos: &Halos, boundary: Boundary) -> Self {
        Self::of(rows, halos.iter().map(<[u32]>::len), boundary)
    }

    /// Of halos of these sizes.
    pub(crate) fn of(rows: Vec<HaloCenter>, sizes: impl Iterator<Item = usize>, boundary: Boundary) -> Self {
        let all_pairs = sizes.map(|size| size as u64 * (size as u64).saturating_sub(1)).sum();
        Self { rows, all_pairs, boundary }
    }

    /// The space they were found in; not known where neither the halos nor anyone else told it.
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
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
