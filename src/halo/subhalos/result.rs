//! The result: halos, and the subhalos in them.
//!
//! In: structures and the particles above the threshold. Out: [`Subhalos`], with what each structure is in.

use super::significance::Kept;
use super::tree::{NONE, Structure, Structures};
use crate::cancel::check_at;
use crate::cluster::Halos;
use crate::cluster::Labels;
use crate::cluster::labels::check_clusters;
use crate::error::Result;
use crate::geometry::Boundary;
use crate::memory::{filled, zeroed};

/// A halo or a subhalo.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Subhalo {
    /// The structure that it is directly in; `None` for a halo.
    pub parent: Option<u32>,
    /// The halo that it is in; its own number for a halo.
    pub host: u32,
    /// 1 for a halo, 2 for what is directly in one, and so on.
    pub level: u32,
    /// How many are directly in it.
    pub n_children: u32,
    /// The index of its densest particle.
    pub peak: u32,
    /// The density there.
    pub peak_density: f64,
    /// All its particles are denser than this: the density of the saddle to what it is in, or for a halo the threshold.
    pub saddle: f64,
    /// The mass of its particles with those of all subhalos in it.
    pub mass: f64,
}

/// Halos and the subhalos in them, found by [`AdaptaHop`](super::AdaptaHop). A *structure* is either; structures are numbered by how many
/// particles of their own they have, the largest first, ties by the smallest member.
#[derive(Clone, PartialEq)]
pub struct Subhalos {
    structures: Halos,
    rows: Vec<Subhalo>,
    density: Vec<f64>,
}

crate::brief::brief_debug!(Subhalos, lists: [rows, density], others: [structures]);

/// Numbers for `n` groups of `labels`: the largest first, ties by the smallest member.
pub(super) fn numbers(labels: &[i32], n: usize) -> Vec<u32> {
    let (mut sizes, mut smallest) = (zeroed::<usize>(n), filled(n, NONE));
    for (&label, index) in labels.iter().zip(0..) {
        if let Ok(group) = usize::try_from(label) {
            sizes[group] += 1;
            smallest[group] = smallest[group].min(index);
        }
    }
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_unstable_by_key(|&at| (std::cmp::Reverse(sizes[at as usize]), smallest[at as usize]));
    let mut numbers = zeroed(n);
    (0..).zip(&order).for_each(|(to, &from)| numbers[from as usize] = to);
    numbers
}

/// The same groups by their numbers.
pub(super) fn renumbered(labels: Vec<i32>, numbers: &[u32], boundary: Boundary) -> Halos {
    let number = |label: i32| usize::try_from(label).map_or(-1, |label| numbers[label] as i32);
    let labels = Labels::from_parts(labels.into_iter().map(number).collect(), numbers.len() as u32, None);
    Halos::found_in(boundary, labels, 1)
}

impl Subhalos {
    /// `peaks` has the index and the density of each chain's peak.
    pub(super) fn new(
        found: &Structures,
        particles: &[Kept],
        peaks: &[(u32, f64)],
        density: Vec<f64>,
        boundary: Boundary,
    ) -> Result<Self> {
        check_clusters(found.all.len())?;
        let mut labels = filled(density.len(), -1);
        for (at, particle) in particles.iter().enumerate() {
            check_at(at);
            if let Some(structure) = found.of(particle.chain, particle.density) {
                labels[particle.index as usize] = structure as i32;
            }
        }
        let row = |structure: &Structure| {
            let (peak, peak_density) = peaks[structure.peak as usize];
            let parent = Some(structure.parent).filter(|&parent| parent != NONE);
            let &Structure { saddle, mass, .. } = structure;
            Subhalo { parent, host: 0, level: 1, n_children: 0, peak, peak_density, saddle, mass }
        };
        let numbers = numbers(&labels, found.all.len());
        Ok(Self::numbered(labels, found.all.iter().map(row).collect(), &numbers, density, boundary))
    }

    /// Structures by their numbers. `labels` and the parents of `found`, which come first, have others; hosts, levels and children are
    /// found here.
    pub(super) fn numbered(
        labels: Vec<i32>,
        found: Vec<Subhalo>,
        numbers: &[u32],
        density: Vec<f64>,
        boundary: Boundary,
    ) -> Self {
        let mut rows = found.clone();
        for (row, &own) in found.into_iter().zip(numbers) {
            let parent = row.parent.map(|parent| numbers[parent as usize]);
            let (host, level) = parent.map_or((own, 1), |parent| {
                let row = &mut rows[parent as usize];
                row.n_children += 1;
                (row.host, row.level + 1)
            });
            rows[own as usize] = Subhalo { parent, host, level, n_children: 0, ..row };
        }
        Self { structures: renumbered(labels, numbers, boundary), rows, density }
    }

    /// How many structures there are, halos and subhalos.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Each structure's place in the tree.
    pub fn rows(&self) -> &[Subhalo] {
        &self.rows
    }

    /// The structures, each with the particles of its own: those that are in it, and in no structure within it. A particle's label is the
    /// number of its structure.
    pub fn structures(&self) -> &Halos {
        &self.structures
    }

    /// The halos with all that is in them: those of level 1.
    pub fn halos(&self) -> Halos {
        self.at_level(1)
    }

    /// The structures of one level with all that is in them, the largest first. [`Halos::clusters`] has their numbers. Particles that are
    /// in no structure of this level have none.
    pub fn at_level(&self, level: u32) -> Halos {
        let ancestor = |mut at: usize| {
            while self.rows[at].level > level {
                at = self.rows[at].parent? as usize;
            }
            (self.rows[at].level == level).then_some(at as i32)
        };
        let ancestors: Vec<i32> = (0..self.len()).map(|at| ancestor(at).unwrap_or(-1)).collect();
        let own = self.structures.labels().as_slice().iter();
        let labels = own.map(|&label| usize::try_from(label).map_or(-1, |label| ancestors[label])).collect();
        let labels = Labels::from_parts(labels, self.len() as u32, None);
        Halos::found_in(self.structures.boundary().clone(), labels, 1)
    }

    /// All members of a structure, with those of the structures in it, ascending; none if there is no such structure.
    pub fn members(&self, structure: usize) -> Vec<u32> {
        let is_in = |mut at: usize| {
            while at != structure {
                match self.rows[at].parent {
                    Some(parent) => at = parent as usize,
                    None => return false,
                }
            }
            true
        };
        let lists = (0..self.len()).filter(|&at| is_in(at)).map(|at| self.structures.members(at));
        let mut members: Vec<u32> = lists.flatten().copied().collect();
        members.sort_unstable();
        members
    }

    /// The density of each particle.
    pub fn density(&self) -> &[f64] {
        &self.density
    }

    /// The structures and the densities alone.
    pub fn into_parts(self) -> (Halos, Vec<Subhalo>, Vec<f64>) {
        (self.structures, self.rows, self.density)
    }
}
