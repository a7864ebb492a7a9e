//! The centres of halos, one row per halo.
//!
//! In: the rows. Out: [`Centers`], with their space and the fraction of evaluated pairs.

use std::fmt;

use crate::cluster::Halos;
use crate::geometry::Boundary;

/// The reason why a halo has no centre. Formatted as a clause of a sentence: "the halo is 6 wide along axis 0, ..".
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NoCenter {
    /// The halo is at least half as wide as the periodic box. Its members are then nearest to each other across the
    /// boundary, so it has no defined shape.
    TooWide {
        /// The first axis along which the halo is too wide.
        axis: usize,
        /// The width of the halo, with each member at its image nearest to the first member.
        width: f64,
        /// The side of the box.
        size: f64,
    },
    /// The halo has no members.
    NoMembers,
}

impl fmt::Display for NoCenter {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::TooWide { axis, width, size } => write!(
                f,
                "the halo is {width} wide along axis {axis}, at least half the periodic box ({size}); its shape is undefined"
            ),
            Self::NoMembers => f.write_str("the halo has no members"),
        }
    }
}

/// The centre of a halo. Values that a definition does not provide are `None` or 0.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct HaloCenter {
    /// The position of the centre, in the units of the points; within the box if that is periodic. If a particle is
    /// the centre, the position of [`HaloCenter::member`]. NaN if the halo has no centre: see [`HaloCenter::missing`].
    pub position: [f64; 3],
    /// The reason why there is no centre; `None` if there is one.
    pub missing: Option<NoCenter>,
    /// The index of the point that is the centre. Only for most bound and most connected particles.
    pub member: Option<u32>,
    /// The potential of the member, in units of mass over length with G = 1. Only for most bound particles.
    pub potential: Option<f64>,
    /// The number of other members within the linking length. Only for most connected particles.
    pub friends: Option<u32>,
    /// The number of members with the same number of friends, this one included. Only for most connected particles.
    pub ties: Option<u32>,
    /// The number of evaluated coincident pairs; their terms 1 / r are omitted if the softening is 0. The count is
    /// complete for [`MostBoundBrute`](crate::Center::MostBoundBrute), and for [`MostBound`](crate::Center::MostBound)
    /// without softening. Otherwise it is a lower bound.
    pub coincident: u64,
    /// The number of ordered pairs of members that were evaluated to find the most bound particle. A node of a tree or
    /// a cell of a grid counts as a member. Brute force evaluates n (n - 1) pairs.
    pub pairs: u64,
}

impl HaloCenter {
    /// A centre at a position; the caller sets the other fields.
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
        }
    }

    /// A missing centre, with the reason.
    pub(crate) fn none(reason: NoCenter) -> Self {
        Self { missing: Some(reason), ..Self::at([f64::NAN; 3]) }
    }
}

impl PartialEq for HaloCenter {
    /// Centres that are missing for the same reason are equal, although NaN is not equal to itself.
    fn eq(&self, other: &Self) -> bool {
        let rest =
            |row: &Self| (row.missing, row.member, row.potential, row.friends, row.ties, row.coincident, row.pairs);
        rest(self) == rest(other) && (self.missing.is_some() || self.position == other.position)
    }
}

/// A centre for each halo, in the order of [`Halos`].
///
/// Stores the space of the halos, or the space given to [`CenterFinder`](crate::halo::CenterFinder). Two values are
/// equal if their rows are, whatever their spaces.
#[derive(Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Centers {
    rows: Vec<HaloCenter>,
    /// The number of ordered pairs of members in the same halo.
    all_pairs: u64,
    boundary: Boundary,
}

crate::brief::brief_debug!(Centers, lists: [rows], others: [all_pairs, boundary]);

impl PartialEq for Centers {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.all_pairs == other.all_pairs
    }
}

impl<'a> IntoIterator for &'a Centers {
    type Item = &'a HaloCenter;
    type IntoIter = std::slice::Iter<'a, HaloCenter>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}

impl Centers {
    pub(super) fn new(rows: Vec<HaloCenter>, halos: &Halos, boundary: Boundary) -> Self {
        Self::from_parts(rows, halos.iter().map(<[u32]>::len), boundary)
    }

    /// Centres of halos with the given sizes.
    pub(crate) fn from_parts(rows: Vec<HaloCenter>, sizes: impl Iterator<Item = usize>, boundary: Boundary) -> Self {
        let all_pairs = sizes.map(|size| size as u64 * (size as u64).saturating_sub(1)).sum();
        Self { rows, all_pairs, boundary }
    }

    /// Returns the space in which the centres were found; may be unknown.
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// Returns the centres as a slice, in the order of the halos.
    pub fn as_slice(&self) -> &[HaloCenter] {
        &self.rows
    }

    /// Iterates over the centres, in the order of the halos.
    pub fn iter(&self) -> std::slice::Iter<'_, HaloCenter> {
        self.rows.iter()
    }

    /// Returns the number of centres, which is the number of halos.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns `true` if there are no centres.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the fraction of ordered pairs that were evaluated, of those that brute force evaluates. 0 if no pairs
    /// were evaluated.
    pub fn evaluated_fraction(&self) -> f64 {
        let pairs: u64 = self.rows.iter().map(|row| row.pairs).sum();
        if self.all_pairs > 0 { pairs as f64 / self.all_pairs as f64 } else { 0.0 }
    }
}
