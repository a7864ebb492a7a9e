//! Groups of points: the result of a halo finder.
//!
//! In: labels, or offsets and members (CSR) of another finder. Out: [`Halos`], the groups with their members, largest first.
//! Cost: O(points); the members of foreign lists are sorted within each halo.

use std::ops::Range;

use crate::cluster::errors;
use crate::cluster::labels::{Labels, check_clusters};
use crate::cluster::members::{Members, of_clusters};
use crate::csr::Csr;
use crate::error::Result;
use crate::geometry::Boundary;
use crate::memory::{collected, copy_of, filled};
use crate::parallel::{for_each, map};

/// Groups of points, largest first, ties by the smallest member (those of [`Halos::from_lists`] in the order given). The
/// `Catalog` of `ropewalk-table` breaks ties by the smallest particle id instead, and its `order` leads from its rows to these groups.
///
/// A finder's halos know the space they were found in ([`Halos::boundary`]). Two are equal if they group the points alike, whatever
/// is known of their space.
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
    /// The clusters of `labels` that have at least `min_members` members.
    ///
    /// Labels do not know their space, and neither do these halos: measurements take them to be in open space, unless they are told a
    /// periodic box.
    pub fn new(labels: Labels, min_members: usize) -> Self {
        Self::found_in(Boundary::Unknown, labels, min_members)
    }

    /// The same, in a known space.
    #[doc(hidden)]
    pub fn found_in(boundary: Boundary, labels: Labels, min_members: usize) -> Self {
        let sizes = labels.sizes_u32();
        Self::of_sizes(boundary, labels, &sizes, min_members)
    }

    /// The same, of clusters whose sizes are known.
    pub(crate) fn of_sizes(boundary: Boundary, labels: Labels, sizes: &[u32], min_members: usize) -> Self {
        let Members { clusters, offsets, members } = of_clusters(&labels, sizes, min_members.max(1));
        Self::from_parts(labels, clusters, offsets, members, boundary)
    }

    /// The same halos, in a space that is known otherwise.
    #[doc(hidden)]
    pub fn in_boundary(self, boundary: Boundary) -> Self {
        Self { boundary, ..self }
    }

    /// Halos as a device has found them, or with all that is in them.
    pub(crate) fn from_parts(
        labels: Labels,
        clusters: Vec<u32>,
        offsets: Vec<usize>,
        members: Vec<u32>,
        boundary: Boundary,
    ) -> Self {
        Self { labels, clusters, members: Csr::from_parts(offsets, members), boundary }
    }

    /// How many halos there are.
    pub fn len(&self) -> usize {
        self.clusters.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// The members of halo `halo`, ascending; none if there is no such halo.
    pub fn members(&self, halo: usize) -> &[u32] {
        self.members.of(halo)
    }

    /// The members of each halo in turn.
    pub fn iter(&self) -> HaloMembers<'_> {
        HaloMembers { halos: self, left: 0..self.len() }
    }

    /// CSR offsets: halo `h` has the members `offsets[h]..offsets[h + 1]` of [`Halos::all_members`].
    pub fn offsets(&self) -> &[usize] {
        self.members.offsets()
    }

    /// The members of all halos, one halo after the other.
    pub fn all_members(&self) -> &[u32] {
        self.members.values()
    }

    /// The lists of members, without a copy.
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

    /// The halo of each point, -1 for none. Other than [`Halos::labels`] these numbers are those of [`Halos::members`], and points in groups
    /// with fewer members than a halo has at least have none.
    pub fn halo_of_points(&self) -> Vec<i32> {
        let halos = self.halo_of_clusters();
        let labels = self.labels.as_slice();
        map(labels.len(), 1 << 14, &|point| self.labels.get(point).map_or(-1, |cluster| halos[cluster as usize]))
    }

    /// The halo of each label, -1 for none.
    #[doc(hidden)]
    pub fn halo_of_clusters(&self) -> Vec<i32> {
        let mut halos = filled(self.labels.n_clusters(), -1);
        for (halo, &cluster) in (0..).zip(&self.clusters) {
            halos[cluster as usize] = halo;
        }
        halos
    }

    /// The label of each halo in [`Halos::labels`].
    pub fn clusters(&self) -> &[u32] {
        &self.clusters
    }

    /// The space the halos were found in: that of the finder or of the tree it ran on. Unknown for halos from labels and lists.
    ///
    /// ```
    /// use ropewalk::{Boundary, Fof, Halos};
    ///
    /// let halos = Fof::new(0.5).run(&[[0.0f32, 0.0], [0.5, 0.0]])?;
    /// assert_eq!(*halos.boundary(), Boundary::Open);
    /// assert_eq!(*Halos::new(halos.labels().clone(), 2).boundary(), Boundary::Unknown);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn boundary(&self) -> &Boundary {
        &self.boundary
    }

    /// The group of each point: all groups of two or more, also those with fewer members than a halo has at least.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }
}

/// The members of each halo in turn: see [`Halos::iter`].
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
    /// Halos of another finder, in the order given: halo `h` has the members `offsets[h]..offsets[h + 1]`, which are indices of
    /// `points` points in any order. Labels are the halos' numbers. The space is unknown: measurements take the halos to be in open
    /// space, unless they are told a periodic box.
    ///
    /// From labels, use [`Labels::from_slice`] and [`Halos::new`].
    ///
    /// Errors: offsets that do not begin with 0, do not ascend, or do not end with the number of members; an index out of
    /// range; a point that is named twice; more than 2^31 - 1 halos.
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
