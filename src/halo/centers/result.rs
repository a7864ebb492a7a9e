//! Centres as a table: a row for each halo.
//!
//! In: the rows. Out: [`Centers`], with the space they were found in and the fraction of pairs that was evaluated.

use std::fmt;

use crate::cluster::Halos;
use crate::geometry::Boundary;

/// Why a halo has no centre. As text it is a part of a sentence: "the halo is 6 wide along axis 0, ..".
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NoCenter {
    /// It is half as wide as the periodic box or wider. Members are nearest to each other around the boundary then, which leaves
    /// the halo without a shape.
    TooWide {
        /// The first axis along which it is.
        axis: usize,
        /// The width, with each member at its image nearest to the first member.
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct HaloCenter {
    /// Where it is, in the units of the points; within the box if that is periodic. The position of [`HaloCenter::member`], if a
    /// particle is the centre. NaN if the halo has no centre: see [`HaloCenter::missing`].
    pub position: [f64; 3],
    /// Why there is no centre; `None` if there is one.
    pub missing: Option<NoCenter>,
    /// The index of the point that is the centre: for most bound and most connected particles.
    pub member: Option<u32>,
    /// Its potential, in units of mass by length (G is 1): for most bound particles.
    pub potential: Option<f64>,
    /// How many members are within the linking length, itself not counted: for most connected particles.
    pub friends: Option<u32>,
    /// How many members have as many friends, this one included.
    pub ties: Option<u32>,
    /// The number of coincident pairs that were evaluated; their terms 1 / r are omitted when the softening is 0. Complete by
    /// [`MostBoundBrute`](crate::Center::MostBoundBrute), and by [`MostBound`](crate::Center::MostBound) with zero softening; otherwise
    /// a lower bound.
    pub coincident: u64,
    /// The number of ordered pairs of members that were evaluated to find the most bound particle; a node of a tree or a cell of a
    /// grid counts as a member. Brute force takes n (n - 1).
    pub pairs: u64,
}

impl HaloCenter {
    /// A place; the caller sets the rest.
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

    /// No centre, for a reason.
    pub(crate) fn none(reason: NoCenter) -> Self {
        Self { missing: Some(reason), ..Self::at([f64::NAN; 3]) }
    }
}

impl PartialEq for HaloCenter {
    /// Centres that are missing for the same reason are equal, though NaN is not.
    fn eq(&self, other: &Self) -> bool {
        let rest =
            |row: &Self| (row.missing, row.member, row.potential, row.friends, row.ties, row.coincident, row.pairs);
        rest(self) == rest(other) && (self.missing.is_some() || self.position == other.position)
    }
}

/// A centre for each halo, in the order of [`Halos`].
///
/// It knows the space of the halos, or the one that [`CenterFinder`](crate::CenterFinder) was told. Two are equal if their rows are,
/// whatever is known of the space.
#[derive(Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Centers {
    rows: Vec<HaloCenter>,
    /// Ordered pairs of members of the same halo.
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
        Self::of(rows, halos.iter().map(<[u32]>::len), boundary)
    }

    /// Of halos of these sizes.
    pub(crate) fn of(rows: Vec<HaloCenter>, sizes: impl Iterator<Item = usize>, boundary: Boundary) -> Self {
        let all_pairs = sizes.map(|size| size as u64 * (size as u64).saturating_sub(1)).sum();
        Self { rows, all_pairs, boundary }
    }

    /// The space the centres were found in, if it is known.
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// The centres.
    pub fn as_slice(&self) -> &[HaloCenter] {
        &self.rows
    }

    /// Each centre in turn.
    pub fn iter(&self) -> std::slice::Iter<'_, HaloCenter> {
        self.rows.iter()
    }

    /// How many there are: as many as halos.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The fraction of ordered pairs that were evaluated, out of those that brute force evaluates; 0 where no pairs are.
    pub fn evaluated_fraction(&self) -> f64 {
        let pairs: u64 = self.rows.iter().map(|row| row.pairs).sum();
        if self.all_pairs > 0 { pairs as f64 / self.all_pairs as f64 } else { 0.0 }
    }
}
