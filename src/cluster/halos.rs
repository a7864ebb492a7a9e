//! Groups of points: the result of a halo finder.
//!
//! In: labels, or offsets and members (CSR) of another finder. Out: [`Halos`], the groups with their members, largest
//! first.
//! Cost: O(points). Members of lists from another finder are sorted within each halo.

use std::ops::Range;

use crate::cluster::errors;
use crate::cluster::labels::{Labels, check_clusters};
use crate::cluster::members::{ClusterLists, of_clusters};
use crate::csr::Csr;
use crate::error::Result;
use crate::geometry::Boundary;
use crate::memory::{append, collected, copy_of, filled, with_capacity};
use crate::parallel::{for_each, map};

/// Groups of points, largest first; ties are broken by the smallest member. Halos from [`Halos::from_lists`] keep the
/// given order.
///
/// The `Catalog` of `ropewalk-table` breaks ties by the smallest particle id instead. Its `order` maps its rows to
/// these groups.
///
/// Halos of a finder store the space in which they were found ([`Halos::boundary`]). Two values are equal if they
/// group the points alike, whatever their spaces.
#[derive(Clone)]
pub struct Halos {
    labels: Labels,
    clusters: Vec<u32>,
    members: Csr<u32>,
    boundary: Boundary,
}

crate::brief::brief_debug!(Halos, lists: [clusters], others: [labels, members, boundary]);

impl PartialEq for Halos {
    fn eq(&self, other: &Self) -> bool {
        self.labels == other.labels && self.clusters == other.clusters && self.members == other.members
    }
}

impl Eq for Halos {}

impl Halos {
    /// Creates halos from the clusters of `labels` with at least `min_members` members.
    ///
    /// Labels store no space, so [`Halos::boundary`] is unknown. Measurements assume open space unless a periodic box
    /// is given.
    pub fn new(labels: Labels, min_members: usize) -> Self {
        Self::new_in(Boundary::Unknown, labels, min_members)
    }

    /// Creates halos from the clusters of `labels` with at least `min_members` members, found in the space `boundary`.
    #[doc(hidden)]
    pub fn new_in(boundary: Boundary, labels: Labels, min_members: usize) -> Self {
        let sizes = labels.sizes_u32();
        Self::with_sizes(boundary, labels, &sizes, min_members)
    }

    /// Like [`Halos::new_in`], for clusters of known `sizes`.
    pub(crate) fn with_sizes(boundary: Boundary, labels: Labels, sizes: &[u32], min_members: usize) -> Self {
        let ClusterLists { clusters, offsets, members } = of_clusters(&labels, sizes, min_members.max(1));
        Self::from_parts(labels, clusters, offsets, members, boundary)
    }

    /// Adds members to the halos: indices of further points, from 0 and ascending, which `more` returns for each halo.
    /// In the result these points come after those of the halos, `points` of them, and have no labels.
    #[doc(hidden)]
    pub fn with_more_members<'m>(&self, points: usize, more: &dyn Fn(usize) -> &'m [u32]) -> Self {
        let own = self.labels.as_slice();
        let mut labels = filled(own.len() + points, -1);
        labels[..own.len()].copy_from_slice(own);
        let labels = Labels::from_parts(labels, self.labels.n_clusters() as u32, None);
        let mut offsets = with_capacity(self.len() + 1);
        let added: usize = (0..self.len()).map(|halo| more(halo).len()).sum();
        let mut members = with_capacity(self.all_members().len() + added);
        offsets.push(0);
        for (halo, own_members) in self.iter().enumerate() {
            append(&mut members, own_members.iter().copied());
            append(&mut members, more(halo).iter().map(|point| own.len() as u32 + point));
            offsets.push(members.len());
        }
        Self::from_parts(labels, self.clusters.clone(), offsets, members, self.boundary.clone())
    }

    /// Replaces the space of the halos.
    #[doc(hidden)]
    pub fn with_boundary(self, boundary: Boundary) -> Self {
        Self { boundary, ..self }
    }

    /// Halos of their parts: `clusters` holds the label of each halo, `offsets` and `members` the member lists (CSR).
    pub(crate) fn from_parts(
        labels: Labels,
        clusters: Vec<u32>,
        offsets: Vec<usize>,
        members: Vec<u32>,
        boundary: Boundary,
    ) -> Self {
        Self { labels, clusters, members: Csr::from_parts(offsets, members), boundary }
    }

    /// Returns the number of halos.
    pub fn len(&self) -> usize {
        self.clusters.len()
    }

    /// Returns `true` if there are no halos.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// Returns the members of halo `halo`, in ascending order; empty if there is no such halo.
    pub fn members(&self, halo: usize) -> &[u32] {
        self.members.of(halo)
    }

    /// Iterates over the halos in their order, and yields the members of each.
    pub fn iter(&self) -> HaloMembers<'_> {
        HaloMembers { halos: self, left: 0..self.len() }
    }

    /// Returns the CSR offsets of the member lists: halo `h` has the members `offsets[h]..offsets[h + 1]` of
    /// [`Halos::all_members`].
    pub fn offsets(&self) -> &[usize] {
        self.members.offsets()
    }

    /// Returns the members of all halos, concatenated in the order of the halos.
    pub fn all_members(&self) -> &[u32] {
        self.members.values()
    }

    /// Returns the member lists without copying them.
    ///
    /// ```
    /// use ropewalk::Fof;
    ///
    /// let halos = Fof::new(0.5).run(&[[7.0f32], [0.0], [7.5], [0.5], [1.0], [3.0]])?;
    /// assert_eq!((halos.halo_of_points(), halos.labels().as_slice()), (vec![1, 0, 1, 0, 0, -1], &[0, 1, 0, 1, 1, -1][..]));
    /// assert_eq!(halos.into_members().into_parts(), (vec![0, 3, 5], vec![1, 3, 4, 0, 2]));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn into_members(self) -> Csr<u32> {
        self.members
    }

    /// Computes the halo of each point, or -1. The numbers are the indices of [`Halos::members`], unlike those of
    /// [`Halos::labels`]. Points of groups with fewer than `min_members` members get -1.
    pub fn halo_of_points(&self) -> Vec<i32> {
        let halos = self.halo_of_clusters();
        let labels = self.labels.as_slice();
        map(labels.len(), 1 << 14, &|point| self.labels.get(point).map_or(-1, |cluster| halos[cluster as usize]))
    }

    /// Returns the halo of each label, or -1.
    #[doc(hidden)]
    pub fn halo_of_clusters(&self) -> Vec<i32> {
        let mut halos = filled(self.labels.n_clusters(), -1);
        for (halo, &cluster) in (0..).zip(&self.clusters) {
            halos[cluster as usize] = halo;
        }
        halos
    }

    /// Returns the label of each halo, as in [`Halos::labels`].
    pub fn clusters(&self) -> &[u32] {
        &self.clusters
    }

    /// Returns the space in which the halos were found: that of the finder or of its tree. Unknown for halos from
    /// labels or lists.
    ///
    /// ```
    /// use ropewalk::geometry::Boundary;
    /// use ropewalk::{Fof, Halos};
    ///
    /// let halos = Fof::new(0.5).run(&[[0.0f32, 0.0], [0.5, 0.0]])?;
    /// assert_eq!(*halos.boundary(), Boundary::Open);
    /// assert_eq!(*Halos::new(halos.labels().clone(), 2).boundary(), Boundary::Unknown);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// Returns the group of each point. Groups of two or more points have labels, even those with fewer than
    /// `min_members` members.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }
}

/// Iterator over the members of each halo; see [`Halos::iter`].
#[derive(Clone, Debug)]
pub struct HaloMembers<'a> {
    halos: &'a Halos,
    left: Range<usize>,
}

impl<'a> Iterator for HaloMembers<'a> {
    type Item = &'a [u32];

    fn next(&mut self) -> Option<Self::Item> {
        self.left.next().map(|halo| self.halos.members(halo))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl ExactSizeIterator for HaloMembers<'_> {}

impl<'a> IntoIterator for &'a Halos {
    type Item = &'a [u32];
    type IntoIter = HaloMembers<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Halos {
    /// Creates halos from the member lists of another finder, in the given order.
    ///
    /// Halo `h` has the members `offsets[h]..offsets[h + 1]`: indices of the `points` points, in any order. The label
    /// of a point is the number of its halo. [`Halos::boundary`] is unknown; measurements assume open space unless a
    /// periodic box is given.
    ///
    /// To build halos from labels, use [`Labels::from_slice`] and [`Halos::new`].
    ///
    /// # Errors
    /// - Offsets that do not begin with 0, do not ascend strictly, or do not end with the number of members.
    /// - An index that is out of range, or a point that occurs twice.
    /// - More than 2^31 - 1 halos.
    ///
    /// # Example
    ///
    /// ```
    /// use ropewalk::Halos;
    ///
    /// let halos = Halos::from_lists(5, &[0, 2, 5], &[4, 1, 0, 2, 3])?;
    /// assert_eq!((halos.len(), halos.members(0), halos.members(1)), (2, &[1, 4][..], &[0, 2, 3][..]));
    /// assert_eq!(halos.labels().as_slice(), [1, 0, 1, 1, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn from_lists(points: usize, offsets: &[usize], members: &[u32]) -> Result<Self> {
        if offsets.first() != Some(&0) {
            return Err(errors::offset_count(offsets.len()));
        }
        if let Some(halo) = offsets.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(errors::offsets(halo, offsets[halo], offsets[halo + 1]));
        }
        let end = offsets.last().copied().unwrap_or(0);
        if end != members.len() {
            return Err(errors::last_offset(end, members.len()));
        }
        check_clusters(offsets.len() - 1)?;
        let mut labels = filled(points, -1);
        for (halo, list) in offsets.windows(2).map(|pair| &members[pair[0]..pair[1]]).enumerate() {
            for &point in list {
                match labels.get_mut(point as usize) {
                    None => return Err(errors::member(halo, point, points)),
                    Some(label) if *label < 0 => *label = halo as i32,
                    Some(first) => return Err(errors::member_twice(point, *first as usize, halo)),
                }
            }
        }
        let labels = Labels::from_slice(&labels)?;
        let mut members = copy_of(members);
        let mut rest = members.as_mut_slice();
        let mut lists = vec![];
        for pair in offsets.windows(2) {
            let (list, others) = rest.split_at_mut(pair[1] - pair[0]);
            lists.push(list);
            rest = others;
        }
        for_each(lists, &|_, list: &mut [u32]| list.sort_unstable());
        let clusters = collected(0..offsets.len() as u32 - 1);
        let members = Csr::from_parts(copy_of(offsets), members);
        Ok(Self { labels, clusters, members, boundary: Boundary::Unknown })
    }
}
