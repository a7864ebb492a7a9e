//! Structures with all nested structures included, as halos for measurements.

use super::Subhalos;
use crate::cluster::Halos;
use crate::cluster::Labels;
use crate::memory::{filled, zeroed};

impl Subhalos {
    /// Returns each structure with all nested structures included, in the order of [`Subhalos::rows`].
    ///
    /// A particle of a subhalo is also a member of every structure that contains the subhalo. So member lists overlap,
    /// and centres, catalogues and structure measured on them include substructure.
    ///
    /// Labels are those of the structures' own particles, numbered by the smallest own particle as for
    /// [`Fof`](crate::Fof). [`Halos::clusters`] has the label of each structure. Memory: 4 bytes for each pair of a
    /// particle and a structure that contains it.
    ///
    /// ```
    /// use ropewalk::AdaptaHop;
    ///
    /// // A wide clump of points in two dimensions, and a narrow one in it.
    /// let ring = |i: u32, width: f64, x: f64| {
    ///     let (r, turn) = (width * f64::from(i).powf(0.8), 2.4 * f64::from(i));
    ///     [x + r * turn.cos(), r * turn.sin()]
    /// };
    /// let points: Vec<[f64; 2]> = (0..2000).map(|i| ring(i, 0.1, 0.0)).chain((0..100).map(|i| ring(i, 0.02, 12.0))).collect();
    /// let found = AdaptaHop::new().density_threshold(0.1).run(&points)?;
    /// let nested = found.nested();
    /// assert_eq!(nested.members(0), found.members(0));
    /// assert!(nested.members(1).iter().all(|member| nested.members(0).binary_search(member).is_ok()));
    /// assert_eq!((nested.clusters(), nested.labels().get(2000)), (&[0, 1][..], Some(1)));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nested(&self) -> Halos {
        let (own, n) = (self.structures().labels().as_slice(), self.len());
        let mut clusters = filled(n, None);
        let mut offsets = zeroed(n + 1);
        let mut labels = filled(own.len(), -1);
        let mut count = 0;
        for (label, at) in labels.iter_mut().zip(own) {
            let Ok(at) = usize::try_from(*at) else { continue };
            *label = *clusters[at].get_or_insert_with(|| {
                count += 1;
                count - 1
            });
            self.ancestors(at).for_each(|structure| offsets[structure + 1] += 1);
        }
        let mut number = || {
            count += 1;
            count - 1
        };
        // Structures without own particles come last.
        let clusters: Vec<u32> = clusters.into_iter().map(|label| label.unwrap_or_else(&mut number) as u32).collect();
        (0..n).for_each(|at| offsets[at + 1] += offsets[at]);
        let mut next = offsets.clone();
        let mut members = zeroed(offsets[n]);
        for (particle, at) in own.iter().enumerate() {
            let Ok(at) = usize::try_from(*at) else { continue };
            for structure in self.ancestors(at) {
                members[next[structure]] = particle as u32;
                next[structure] += 1;
            }
        }
        let labels = Labels::from_parts(labels, n as u32, None);
        Halos::from_parts(labels, clusters, offsets, members, self.structures().boundary().clone())
    }

    /// Iterates over a structure, its parent, and so on up to its halo. Empty if there is no such structure.
    pub fn ancestors(&self, structure: usize) -> impl Iterator<Item = usize> {
        let rows = self.rows();
        let first = (structure < rows.len()).then_some(structure);
        std::iter::successors(first, |&at| rows[at].parent.map(|parent| parent as usize))
    }
}
