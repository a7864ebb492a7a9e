//! Groupings that come from elsewhere, as [`Halos`].
//!
//! In: offsets and members (CSR), or labels. Out: halos, as a finder of our own would give them.
//! Cost: O(points); members are sorted within each halo.

use rayon::prelude::*;

use super::Halos;
use crate::error::{Kind, Result};
use crate::geometry::Boundary;
use crate::labels::{Labels, check_clusters};

impl Halos {
    /// Halos that another finder has found, in the order given: halo `h` has the members `offsets[h]..offsets[h + 1]`, which
    /// are indices of `points` points in any order. Labels are the halos' numbers. The space they were found in is not known:
    /// what is measured on them is measured in open space, unless it is told a periodic box.
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
            return Err(Kind::NoOffsets { count: offsets.len() }.into());
        }
        if let Some(halo) = offsets.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(Kind::Offsets { halo, start: offsets[halo], end: offsets[halo + 1] }.into());
        }
        let end = offsets.last().copied().unwrap_or(0);
        if end != members.len() {
            return Err(Kind::LastOffset { end, members: members.len() }.into());
        }
        check_clusters(offsets.len() - 1)?;
        let mut labels = vec![-1; points];
        for (halo, list) in offsets.windows(2).map(|pair| &members[pair[0]..pair[1]]).enumerate() {
            for &point in list {
                match labels.get_mut(point as usize) {
                    None => return Err(Kind::Member { halo, point, points }.into()),
                    Some(label) if *label < 0 => *label = halo as i32,
                    Some(first) => return Err(Kind::MemberTwice { point, first: *first as usize, halo }.into()),
                }
            }
        }
        let labels = Labels::from_slice(&labels)?;
        let mut members = members.to_vec();
        let mut rest = members.as_mut_slice();
        let mut lists = vec![];
        for pair in offsets.windows(2) {
            let (list, others) = rest.split_at_mut(pair[1] - pair[0]);
            lists.push(list);
            rest = others;
        }
        lists.into_par_iter().for_each(<[u32]>::sort_unstable);
        let clusters = (0..offsets.len() as u32 - 1).collect();
        Ok(Self { labels, clusters, offsets: offsets.to_vec(), members, boundary: Boundary::Unknown })
    }
}
